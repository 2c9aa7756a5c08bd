import { bytes, checked, isBytes, MldsaError, none, optionsOf, verdict } from "./errors.js";
import { contextOf } from "./engine.js";

const LENGTHS = {
  44: { publicKey: 1312, secretKey: 2560, signature: 2420, seed: 32, signRand: 32 },
  65: { publicKey: 1952, secretKey: 4032, signature: 3309, seed: 32, signRand: 32 },
  87: { publicKey: 2592, secretKey: 4896, signature: 4627, seed: 32, signRand: 32 },
};

/** The object identifier of a hash of FIPS 204 section 5.4, without its last number. */
const HASHES = [6, 9, 96, 134, 72, 1, 101, 3, 4, 2];

/** What the module is given of a message: itself, or the digest of a function such as those of @noble/hashes. */
const PURE = (message) => ({ hash: undefined, text: message });
const EXTERNAL_MU = (message) => ({ hash: "mu", text: bytes(message, "mu", 64) });
function digestOf(hash) {
  const given = typeof hash === "function" ? hash.oid : undefined;
  const oid = isBytes(given) ? bytes(given, "oid") : [];
  if (oid.length !== 11 || !HASHES.every((number, n) => oid[n] === number)) {
    throw new MldsaError("unknown_hash");
  }
  const number = oid[10];
  // SHAKE has the length that FIPS 204 gives it.
  const options = { 11: { dkLen: 32 }, 12: { dkLen: 64 } }[number];
  return (message) => {
    // The function may use the memory of its result again.
    const digest = bytes(hash(message, options), "digest");
    if (digest.length > 64) throw new MldsaError("digest_length");
    return { hash: number, text: digest.slice() };
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
  explain(message, signature, publicKey, options, ...more) {
    none(more);
    const job = this.job(message, signature, options);
    const key = bytes(publicKey, "public key", this.lengths.publicKey);
    return this.engine.run(() => this.engine.using(this.openPublic(key, false), (slot) => this.verdict(slot, job)));
  }

  /** Verifies one signature. */
  verify(message, signature, publicKey, options, ...more) {
    return this.explain(message, signature, publicKey, options, ...more) === null;
  }

  /** HashML-DSA with a hash function that has `oid`. */
  prehash(hash, ...more) {
    none(more);
    return new this.constructor(this.engine, this.set, digestOf(hash));
  }

  /** The same, with `mu` in the place of a message. */
  externalMu(...more) {
    none(more);
    return new this.constructor(this.engine, this.set, EXTERNAL_MU);
  }

  openPublic(key, prepare) {
    const { engine } = this;
    return checked(engine.call("public_key", this.set, engine.put(key), Number(prepare)));
  }

  /** What is to be verified. Getters and the hash function, which are code of the caller, run here. */
  job(message, signature, options) {
    const view = bytes(signature, "signature");
    const context = contextOf(optionsOf(options, "context"));
    return { context, text: this.hashed(bytes(message, "message")), signature: view };
  }

  verdict(slot, { context, text, signature }) {
    const { engine } = this;
    engine.message(slot, 0, text, context);
    if (signature.length !== this.lengths.signature) return "signature_length";
    return verdict(engine.call("verify", slot, engine.put(signature)));
  }
}
