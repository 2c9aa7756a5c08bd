import { bytes, checked, MldsaError, verdict } from "./errors.js";
import { contextOf } from "./engine.js";
import { Verifier } from "./verifier.js";

/** Votes that are verified together, and bytes of the window for each. */
const VOTES = 8;
const PLACE = 8192;

const random = (length) => crypto.getRandomValues(new Uint8Array(length));

/** Keys, signing and verification of one parameter set, as in noble-post-quantum. */
export class Mldsa extends Verifier {
  /** Makes a key pair of a seed of 32 bytes, or of a new one. */
  keygen(seed) {
    const secret = seed === undefined ? random(32) : bytes(seed, "seed", 32);
    return this.#with(secret, true, false, (slot) => ({
      publicKey: this.#part(slot, 0),
      secretKey: this.#part(slot, 1),
    }));
  }

  /** Computes the public key of a private one. */
  getPublicKey(secretKey) {
    return this.#with(bytes(secretKey, "secret key", this.lengths.secretKey), false, false, (slot) => this.#part(slot, 0));
  }

  /** Signs with new randomness, or with `extraEntropy`; `false` makes the signature deterministic. */
  sign(message, secretKey, options) {
    const secret = bytes(secretKey, "secret key", this.lengths.secretKey);
    return this.#with(secret, false, false, (slot) => this.#sign(slot, message, options));
  }

  /** Expands a public key once, for many signatures. */
  prepareVerifying(publicKey) {
    return new PreparedVerifyingKey(this, this.openPublic(publicKey, true));
  }

  /** Expands a private key once, given as 32 bytes of a seed or in expanded form. */
  prepareSigning(secretKey) {
    const secret = bytes(secretKey, "secret key");
    const seed = secret.length === 32;
    if (!seed) bytes(secretKey, "secret key", this.lengths.secretKey);
    return new PreparedSigningKey(this, this.#open(secret, seed, true), {
      sign: (slot, message, options) => this.#sign(slot, message, options),
      publicKey: (slot) => this.#part(slot, 0),
    });
  }

  /** Expands the keys of a committee, for many votes under one context. */
  committee(publicKeys, options) {
    return new Committee(this, publicKeys, contextOf(options).slice());
  }

  /**
   * Verifies many signatures, each `{ publicKey, message, signature }`, under one context. Returns `null`
   * or a reason for each. A key that comes more than once is expanded once.
   */
  verifyBatch(items, options) {
    const numbers = new Map();
    const keys = [];
    const list = [...items];
    const votes = list.map(({ publicKey, message, signature }) => {
      const key = bytes(publicKey, "public key", this.lengths.publicKey);
      const name = String.fromCharCode(...key);
      if (!numbers.has(name)) numbers.set(name, keys.push(key) - 1);
      return { member: numbers.get(name), message, signature };
    });
    // Expanding pays from the second signature of a key on.
    if (keys.length === list.length) {
      return list.map(({ publicKey, message, signature }) => this.explain(signature, message, publicKey, options));
    }
    const committee = this.committee(keys, options);
    try {
      return committee.verify(votes);
    } finally {
      committee.free();
    }
  }

  #open(secret, seed, prepare) {
    const { engine } = this;
    return checked(engine.call("private_key", this.set, engine.put(secret), Number(seed), Number(prepare)));
  }

  #with(secret, seed, prepare, step) {
    const slot = this.#open(secret, seed, prepare);
    const { generation } = this.engine;
    try {
      return step(slot);
    } finally {
      this.engine.close(slot, generation);
    }
  }

  #part(slot, part) {
    return this.engine.take(checked(this.engine.call("private_part", slot, part)));
  }

  #sign(slot, message, options) {
    const { engine } = this;
    const entropy = options?.extraEntropy;
    const hedged = entropy !== false;
    const randomness = entropy === undefined ? random(32) : hedged && bytes(entropy, "extraEntropy", 32);
    this.hashed(engine, slot, bytes(message, "message"), contextOf(options));
    if (hedged) engine.put(randomness);
    return engine.take(checked(engine.call("sign", slot, Number(hedged))));
  }
}

/** What owns a slot of the module. */
class Owner {
  constructor(set, slot) {
    this.set = set;
    this.owned = set.engine.own(this, slot);
  }

  /** Wipes and frees what the module holds. Later calls throw `freed`. */
  free() {
    this.owned.free();
  }
}
if (Symbol.dispose) Owner.prototype[Symbol.dispose] = Owner.prototype.free;

class PreparedVerifyingKey extends Owner {
  explain(signature, message, options) {
    return this.set.verdict(this.owned.use(), signature, message, options);
  }

  verify(signature, message, options) {
    return this.explain(signature, message, options) === null;
  }
}

class PreparedSigningKey extends Owner {
  #steps;

  constructor(set, slot, steps) {
    super(set, slot);
    this.#steps = steps;
    this.publicKey = steps.publicKey(slot);
  }

  sign(message, options) {
    return this.#steps.sign(this.owned.use(), message, options);
  }
}

class Committee extends Owner {
  #context;

  constructor(set, publicKeys, context) {
    super(set, checked(set.engine.call("committee", set.set)));
    this.#context = context;
    this.length = 0;
    try {
      for (const key of publicKeys) {
        const length = set.engine.put(bytes(key, "public key", set.lengths.publicKey));
        checked(set.engine.call("committee_add", this.owned.use(), length));
        this.length += 1;
      }
    } catch (error) {
      this.free();
      throw error;
    }
  }

  /** Verifies votes, each `{ member, message, signature }`. Returns `null` or a reason for each. */
  verify(votes) {
    const slot = this.owned.use();
    const { engine, lengths } = this.set;
    const list = [...votes].map(({ member, message, signature }) => {
      if (!Number.isInteger(member) || member < 0 || member >= this.length) throw new MldsaError("unknown-member");
      return { member, message: bytes(message, "message"), signature: bytes(signature, "signature") };
    });
    const results = list.map(({ signature }) => (signature.length === lengths.signature ? null : "signature-length"));
    const rest = [...list.keys()].filter((n) => results[n] === null);
    for (let first = 0; first < rest.length; first += VOTES) {
      const group = rest.slice(first, first + VOTES);
      group.forEach((n, place) => {
        const { member, message, signature } = list[n];
        engine.message(slot, member, message, this.#context);
        checked(engine.call("vote", slot, member, engine.put(signature, place * PLACE)));
      });
      checked(engine.call("committee_verify", slot));
      const numbers = new DataView(engine.take(4 * group.length).buffer);
      group.forEach((n, place) => (results[n] = verdict(numbers.getInt32(4 * place, true))));
    }
    return results;
  }
}
