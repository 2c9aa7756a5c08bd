import { bytes, checked, MldsaError, verdict } from "./errors.js";
import { contextOf } from "./engine.js";

const LENGTHS = {
  44: { publicKey: 1312, secretKey: 2560, signature: 2420, seed: 32, signRand: 32 },
  65: { publicKey: 1952, secretKey: 4032, signature: 3309, seed: 32, signRand: 32 },
  87: { publicKey: 2592, secretKey: 4896, signature: 4627, seed: 32, signRand: 32 },
};

/** The object identifier of a hash of FIPS 204 section 5.4, without its last number. */
const HASHES = [6, 9, 96, 134, 72, 1, 101, 3, 4, 2];

/** What a message is: itself, or the digest of a function such as those of @noble/hashes. */
export const PURE = (engine, slot, message, context) => engine.message(slot, 0, message, context);
export function digestOf(hash) {
  const oid = typeof hash === "function" ? hash.oid : undefined;
  if (!(oid instanceof Uint8Array) || oid.length !== 11 || !HASHES.every((number, n) => oid[n] === number)) {
    throw new MldsaError("unknown-hash", "a hash function with `oid` is needed");
  }
  // SHAKE has the length that FIPS 204 gives it.
  const options = { 11: { dkLen: 32 }, 12: { dkLen: 64 } }[oid[10]];
  return (engine, slot, message, context) => {
    const digest = bytes(hash(message, options), "digest");
    engine.digest(slot, oid[10], digest, context);
  };
}

/** Verification under public keys of one parameter set. */
export class Verifier {
  /** @param {import("./engine.js").Engine} engine @param {44 | 65 | 87} set */
  constructor(engine, set, hashed = PURE) {
    this.engine = engine;
    this.set = set;
    this.hashed = hashed;
    this.lengths = LENGTHS[set];
  }

  /** Verifies one signature. Returns `null`, or the reason for which it is rejected. */
  explain(signature, message, publicKey, options) {
    const slot = this.openPublic(publicKey, false);
    const { generation } = this.engine;
    try {
      return this.verdict(slot, signature, message, options);
    } finally {
      this.engine.close(slot, generation);
    }
  }

  /** Verifies one signature. */
  verify(signature, message, publicKey, options) {
    return this.explain(signature, message, publicKey, options) === null;
  }

  /** HashML-DSA with a hash function that has `oid`. */
  prehash(hash) {
    return new this.constructor(this.engine, this.set, digestOf(hash));
  }

  openPublic(publicKey, prepare) {
    const { engine } = this;
    const length = engine.put(bytes(publicKey, "public key", this.lengths.publicKey));
    return checked(engine.call("public_key", this.set, length, Number(prepare)));
  }

  verdict(slot, signature, message, options) {
    const { engine } = this;
    const view = bytes(signature, "signature");
    this.hashed(engine, slot, bytes(message, "message"), contextOf(options));
    if (view.length !== this.lengths.signature) return "signature-length";
    return verdict(engine.call("verify", slot, engine.put(view)));
  }
}
