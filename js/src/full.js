import { bytes, checked, fieldsOf, listOf, MldsaError, none, optionsOf, verdict } from "./errors.js";
import { contextOf } from "./engine.js";
import { Verifier } from "./verifier.js";

/** Votes that are verified together, and bytes of the window for each. */
const VOTES = 8;
const PLACE = 8192;

/** 32 bytes of the host's generator. One that returns zeros is broken. */
function random() {
  const drawn = crypto.getRandomValues(new Uint8Array(32));
  if (drawn.every((byte) => byte === 0)) throw new MldsaError("randomness");
  return drawn;
}

/** Keys, signing and verification of one parameter set. */
export class Mldsa extends Verifier {
  /** Makes a key pair of a seed of 32 bytes, or of a new one. */
  keygen(seed, ...more) {
    none(more);
    const secret = seed === undefined ? random() : bytes(seed, "seed", 32);
    try {
      return this.#with(secret, true, (slot) => ({ publicKey: this.#part(slot, 0), secretKey: this.#part(slot, 1) }));
    } finally {
      if (seed === undefined) secret.fill(0);
    }
  }

  /** Computes the public key of a private one. */
  getPublicKey(secretKey, ...more) {
    none(more);
    return this.#with(bytes(secretKey, "secret key", this.lengths.secretKey), false, (slot) => this.#part(slot, 0));
  }

  /** Signs with new randomness, or with `extraEntropy`; `false` makes the signature deterministic. */
  sign(message, secretKey, options, ...more) {
    none(more);
    const job = this.#job(message, options);
    const secret = bytes(secretKey, "secret key", this.lengths.secretKey);
    return this.#hedged(job, () => this.#with(secret, false, (slot) => this.#sign(slot, job)));
  }

  /** Expands a public key once, for many signatures. */
  prepareVerifying(publicKey, ...more) {
    none(more);
    const key = bytes(publicKey, "public key", this.lengths.publicKey);
    return this.engine.run(() => new PreparedVerifyingKey(this, this.openPublic(key, true)));
  }

  /** Expands a private key once, given as 32 bytes of a seed or in expanded form. */
  prepareSigning(secretKey, ...more) {
    none(more);
    const { secret, seed } = this.#secret(secretKey);
    const steps = {
      job: (message, options) => this.#job(message, options),
      sign: (job, use) => this.#hedged(job, () => this.engine.run(() => this.#sign(use(), job))),
      publicKey: (slot) => this.#part(slot, 0),
    };
    return this.engine.run(() => new PreparedSigningKey(this, this.#open(secret, seed, true), steps));
  }

  /** Expands the keys of a committee, for many votes under one context. */
  committee(publicKeys, options, ...more) {
    none(more);
    const context = contextOf(optionsOf(options, "context"));
    const keys = listOf(publicKeys, "public keys", (key) => bytes(key, "public key", this.lengths.publicKey).slice());
    return this.engine.run(() => new Committee(this, keys, context));
  }

  /**
   * Verifies many signatures, each `{ publicKey, message, signature }`, under one context. Returns `null`
   * or a reason for each. A key that comes more than once is expanded once.
   */
  verifyBatch(items, options, ...more) {
    none(more);
    const fixed = { context: contextOf(optionsOf(options, "context")) };
    const numbers = new Map();
    const keys = [];
    const votes = listOf(items, "items", (item) => {
      const { publicKey, message, signature } = fieldsOf(item, "item", "publicKey", "message", "signature");
      const key = bytes(publicKey, "public key", this.lengths.publicKey).slice();
      const name = String.fromCharCode(...key);
      if (!numbers.has(name)) numbers.set(name, keys.push(key) - 1);
      return { member: numbers.get(name), message, signature };
    });
    // Expanding pays from the second signature of a key on.
    if (keys.length === votes.length) {
      return votes.map(({ member, message, signature }) => this.explain(message, signature, keys[member], fixed));
    }
    const committee = this.committee(keys, fixed);
    try {
      return committee.verifyBatch(votes);
    } finally {
      committee.free();
    }
  }

  /** A private key that is a seed or in expanded form. */
  #secret(secretKey) {
    const secret = bytes(secretKey, "secret key");
    const seed = secret.length === 32;
    return { secret: seed ? secret : bytes(secretKey, "secret key", this.lengths.secretKey), seed };
  }

  #open(secret, seed, prepare) {
    const { engine } = this;
    return checked(engine.call("private_key", this.set, engine.put(secret), Number(seed), Number(prepare)));
  }

  #with(secret, seed, step) {
    return this.engine.run(() => this.engine.using(this.#open(secret, seed, false), step));
  }

  #part(slot, part) {
    return this.engine.take(checked(this.engine.call("key_part", slot, part)));
  }

  /** What is to be signed. Getters and the hash function, which are code of the caller, run here. */
  #job(message, options) {
    const given = optionsOf(options, "context", "extraEntropy");
    const [context, own, entropy] = [contextOf(given), !("extraEntropy" in given), given.extraEntropy];
    const text = this.hashed(bytes(message, "message"));
    const hedged = entropy !== false;
    const randomness = hedged && !own && bytes(entropy, "extraEntropy", 32);
    return { context, text, hedged, own, randomness };
  }

  /** Runs a step that signs. Randomness that the caller does not give is drawn for it, and wiped. */
  #hedged(job, step) {
    if (!job.own) return step();
    job.randomness = random();
    try {
      return step();
    } finally {
      job.randomness.fill(0);
    }
  }

  #sign(slot, { context, text, hedged, randomness }) {
    const { engine } = this;
    engine.message(slot, 0, text, context);
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
  explain(message, signature, options, ...more) {
    none(more);
    const job = this.set.job(message, signature, options);
    return this.set.engine.run(() => this.set.verdict(this.owned.use(), job));
  }

  verify(message, signature, options, ...more) {
    return this.explain(message, signature, options, ...more) === null;
  }
}

class PreparedSigningKey extends Owner {
  #steps;

  constructor(set, slot, steps) {
    super(set, slot);
    this.#steps = steps;
    this.publicKey = steps.publicKey(slot);
  }

  sign(message, options, ...more) {
    none(more);
    const job = this.#steps.job(message, options);
    return this.#steps.sign(job, this.owned.use);
  }
}

/** Puts the keys of a committee into a new slot. */
function expand({ engine, set }, keys) {
  const slot = checked(engine.call("committee", set));
  try {
    for (const key of keys) checked(engine.call("committee_add", slot, engine.put(key)));
  } catch (error) {
    engine.call("close", slot);
    throw error;
  }
  return slot;
}

class Committee extends Owner {
  #context;

  constructor(set, keys, context) {
    super(set, expand(set, keys));
    this.#context = context;
    this.length = keys.length;
  }

  /** Verifies votes, each `{ member, message, signature }`. Returns `null` or a reason for each. */
  verifyBatch(votes, ...more) {
    none(more);
    // Getters and the hash function are code of the caller: all of it runs before the module's calls.
    const raw = listOf(votes, "votes", (vote) => {
      const { member, message, signature } = fieldsOf(vote, "vote", "member", "message", "signature");
      if (!Number.isInteger(member) || member < 0 || member >= this.length) throw new MldsaError("unknown_member");
      return { member, message, signature };
    });
    const texts = raw.map(({ message }) => this.set.hashed(bytes(message, "message")));
    const list = raw.map(({ member, signature }, n) => ({ member, text: texts[n], signature: bytes(signature, "signature") }));
    return this.set.engine.run(() => this.#verify(this.owned.use(), list));
  }

  #verify(slot, list) {
    const { engine } = this.set;
    const results = [];
    for (let first = 0; first < list.length; first += VOTES) {
      const group = list.slice(first, first + VOTES);
      group.forEach(({ member, text, signature }, place) => {
        engine.message(slot, member, text, this.#context);
        // A signature that is longer than its place has a wrong length there too.
        const length = engine.put(signature.subarray(0, PLACE), place * PLACE);
        checked(engine.call("vote", slot, place, member, length));
      });
      checked(engine.call("committee_verify", slot, group.length));
      const numbers = new DataView(engine.take(4 * group.length).buffer);
      group.forEach((_, place) => results.push(verdict(numbers.getInt32(4 * place, true))));
    }
    return results;
  }
}
