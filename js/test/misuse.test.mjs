// Wrong arguments get typed errors, and the module works afterwards.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { constants, deflateRawSync } from "node:zlib";
import { fromModule, load, MldsaError, ml_dsa44, moduleBytes } from "../src/index.js";
import { ml_dsa44 as small } from "../src/verify.js";
import { Engine } from "../src/engine.js";
import { inflate } from "../src/inflate.js";

const message = new Uint8Array(10);
const key = ml_dsa44.keygen();
const signature = ml_dsa44.sign(message, key.secretKey);
const works = () => assert(ml_dsa44.verify(message, signature, key.publicKey) && small.verify(message, signature, key.publicKey));
const fails = (step, code) => {
  assert.throws(step, (error) => error instanceof MldsaError && error.code === code, code);
  works();
};
/** Sets of a new module, and the memories of its instances. */
const watched = async () => {
  const module = new WebAssembly.Module(moduleBytes("plain"));
  const memories = [];
  const { Instance } = WebAssembly;
  WebAssembly.Instance = class extends Instance {
    constructor(...values) {
      super(...values);
      memories.push(this.exports.memory);
    }
  };
  const sets = fromModule(module);
  WebAssembly.Instance = Instance;
  return { sets, memories };
};
const detached = () => {
  const bytes = new Uint8Array(1312);
  structuredClone(bytes, { transfer: [bytes.buffer] });
  return bytes;
};

test("wrong types", () => {
  for (const value of [undefined, null, 1, "text", [], {}, new ArrayBuffer(1312), new Uint16Array(656), new DataView(new ArrayBuffer(1312)), { length: 1312 }]) {
    fails(() => ml_dsa44.verify(message, signature, value), "type");
    fails(() => ml_dsa44.verify(message, value, key.publicKey), "type");
    fails(() => ml_dsa44.verify(value, signature, key.publicKey), "type");
    fails(() => ml_dsa44.sign(message, value), "type");
    fails(() => ml_dsa44.sign(value, key.secretKey), "type");
    fails(() => small.verify(message, signature, value), "type");
    fails(() => ml_dsa44.prepareVerifying(value), "type");
    if (value !== undefined) {
      fails(() => ml_dsa44.keygen(value), "type");
      fails(() => ml_dsa44.verify(message, signature, key.publicKey, { context: value }), "type");
      fails(() => ml_dsa44.sign(message, key.secretKey, { extraEntropy: value }), "type");
    }
    fails(() => ml_dsa44.prehash(value), "unknown_hash");
  }
});

/** Every method that takes options, and every one that takes none. */
const methods = (set) => {
  const vote = { member: 0, message, signature };
  const item = { publicKey: key.publicKey, message, signature };
  const owned = [set.prepareVerifying(key.publicKey), set.prepareSigning(key.secretKey), set.committee([key.publicKey])];
  const [verifying, signing, committee] = owned;
  return {
    context: {
      verify: (...more) => set.verify(message, signature, key.publicKey, ...more),
      explain: (...more) => set.explain(message, signature, key.publicKey, ...more),
      "verify small": (...more) => small.verify(message, signature, key.publicKey, ...more),
      "verify prepared": (...more) => verifying.verify(message, signature, ...more),
      "explain prepared": (...more) => verifying.explain(message, signature, ...more),
      batch: (...more) => set.verifyBatch([item], ...more),
      "batch of more": (...more) => set.verifyBatch([item, item], ...more),
      "empty batch": (...more) => set.verifyBatch([], ...more),
      committee: (...more) => set.committee([key.publicKey], ...more).free(),
      sign: (...more) => set.sign(message, key.secretKey, ...more),
      "sign prepared": (...more) => signing.sign(message, ...more),
    },
    none: {
      keygen: (...more) => set.keygen(undefined, ...more),
      getPublicKey: (...more) => set.getPublicKey(key.secretKey, ...more),
      prehash: (...more) => set.prehash(Object.assign(() => {}, { oid: Uint8Array.of(6, 9, 96, 134, 72, 1, 101, 3, 4, 2, 1) }), ...more),
      externalMu: (...more) => set.externalMu(...more),
      prepareVerifying: (...more) => set.prepareVerifying(key.publicKey, ...more),
      prepareSigning: (...more) => set.prepareSigning(key.secretKey, ...more),
      "votes of a committee": (...more) => committee.verifyBatch([vote], ...more),
    },
    items: {
      batch: (more) => set.verifyBatch([item, { ...item, ...more }]),
      committee: (more) => committee.verifyBatch([{ ...vote, ...more }]),
    },
    free: () => owned.forEach((owner) => owner.free()),
  };
};

test("options that a method does not have", () => {
  const context = new TextEncoder().encode("bank v1");
  const list = methods(ml_dsa44);
  class Options {
    context = context;
  }
  const wrong = [
    null, 5, "bank v1", true, 1n, Symbol(), context, [context], () => {}, new Map([["context", context]]), new Options(),
    Object.create({ context }), new Proxy(context, {}), Object.assign(Object.create(Object.create(null)), { context }),
  ];
  for (const [name, method] of Object.entries(list.context)) {
    for (const value of wrong) fails(() => method(value), "type");
    for (const unknown of ["ctx", "Context", "contex", "0", "__proto__", Symbol("context")]) {
      const options = Object.defineProperty({ context }, unknown, { value: context, enumerable: false });
      assert.throws(() => method(options), ({ code, message }) => code === "type" && message.includes(`"${String(unknown)}"`) && message.includes("allowed: context"), name);
    }
    if (!name.startsWith("sign")) assert.throws(() => method({ extraEntropy: false }), { code: "type" }, name);
    // A name that is there has a value: one that was misspelt elsewhere is undefined.
    for (const value of [undefined, null, "bank v1", 5]) fails(() => method({ context: value }), "type");
    // More arguments than the method has: with the options in the last place.
    fails(() => method(undefined, { context }), "type");
    method(undefined);
    method({});
    method(Object.assign(Object.create(null), { context }));
    method(runInNewContext("({})"));
    method(Object.assign(runInNewContext("({})"), { context }));
  }
  for (const method of Object.values(list.none)) {
    for (const value of [...wrong, { context }, {}]) fails(() => method(value), "type");
  }
  for (const method of Object.values(list.items)) {
    for (const name of ["context", "ctx", "Message", Symbol("x")]) fails(() => method({ [name]: context }), "type");
  }
  list.free();
  assert.equal(ml_dsa44.verify(message, signature, key.publicKey, Object.assign(runInNewContext("({})"), { context })), false);
});

test("a polluted prototype is no option", () => {
  Object.prototype.context = new Uint8Array(3);
  try {
    works();
    assert(ml_dsa44.verify(message, signature, key.publicKey, {}));
  } finally {
    delete Object.prototype.context;
  }
});

test("codes have texts, which do not repeat them", () => {
  const { code, message: text, cause } = new MldsaError("unknown_member");
  assert.deepEqual([code, text, cause], ["unknown_member", "the committee has no such member", undefined]);
  const names = readFileSync(new URL("../src/verify.d.ts", import.meta.url), "utf8").match(/export type Reason[^;]*;|export type Code[^;]*;/g).join().match(/"\w+"/g);
  assert.equal(new Set(names).size, 25);
  for (const name of names) assert.match(new MldsaError(JSON.parse(name)).message, /^[a-zA-Z][^_]* /, name);
});

test("the host's generator returns zeros", () => {
  const draw = crypto.getRandomValues;
  crypto.getRandomValues = (array) => array;
  try {
    const signer = ml_dsa44.prepareSigning(key.secretKey);
    for (const step of [() => ml_dsa44.keygen(), () => ml_dsa44.sign(message, key.secretKey), () => signer.sign(message)]) {
      fails(step, "randomness");
    }
    signer.sign(message, { extraEntropy: false });
    signer.free();
  } finally {
    crypto.getRandomValues = draw;
  }
});

test("modules are decompressed as zlib does", () => {
  for (let n = 0; n < 300; n += 1) {
    // Of few different bytes, of many, and of repeated ones.
    const size = n * n;
    const drawn = randomBytes(size);
    const bytes = Uint8Array.from({ length: size }, (_, k) => (n % 4 ? drawn[k] % (1 + n) : (k * k) >> 7));
    const strategy = [constants.Z_DEFAULT_STRATEGY, constants.Z_FIXED, constants.Z_HUFFMAN_ONLY][n % 3];
    const deflated = deflateRawSync(bytes, { level: n % 10, strategy });
    assert(Buffer.compare(inflate(deflated, size), bytes) === 0, `${n}`);
    assert.throws(() => inflate(deflated, size + 1), RangeError);
    assert.throws(() => inflate(deflated.subarray(0, -1), size), RangeError);
  }
  // Bytes of nobody end with an error or a result.
  for (let n = 0; n < 3000; n += 1) {
    try {
      inflate(randomBytes(1 + (n % 90)), 100);
    } catch (error) {
      assert(error instanceof RangeError, `${error}`);
    }
  }
  assert.throws(() => moduleBytes("smid"), { code: "type" });
});

test("wrong lengths", () => {
  for (const length of [0, 1, 31, 33, 1311, 1313, 2419, 2421, 65536, 65537, 1 << 20]) {
    const bytes = new Uint8Array(length);
    fails(() => ml_dsa44.verify(message, signature, bytes), "length");
    fails(() => ml_dsa44.sign(message, bytes), "length");
    fails(() => ml_dsa44.keygen(bytes), "length");
    fails(() => ml_dsa44.getPublicKey(bytes), "length");
    fails(() => ml_dsa44.sign(message, key.secretKey, { extraEntropy: bytes }), "length");
    assert.equal(ml_dsa44.explain(message, bytes, key.publicKey), "signature_length");
    if (length > 255) fails(() => ml_dsa44.sign(message, key.secretKey, { context: bytes }), "context_length");
  }
});

test("views that change under their owner", () => {
  fails(() => ml_dsa44.verify(message, signature, detached()), "detached");
  fails(() => ml_dsa44.verify(detached(), signature, key.publicKey), "detached");
  fails(() => ml_dsa44.keygen(detached()), "detached");
  // Own properties are not asked.
  const liar = Uint8Array.from(key.publicKey);
  Object.defineProperty(liar, "length", { get: () => { throw new Error("asked"); } });
  Object.defineProperty(liar, "subarray", { value: () => "nothing" });
  assert(ml_dsa44.verify(message, signature, liar));
  // A hash that calls back, and takes the signature away.
  const lent = Uint8Array.from(signature);
  const hash = Object.assign(
    () => {
      works();
      structuredClone(lent, { transfer: [lent.buffer] });
      return new Uint8Array(32);
    },
    { oid: Uint8Array.of(6, 9, 96, 134, 72, 1, 101, 3, 4, 2, 1) },
  );
  assert(!ml_dsa44.prehash(hash).verify(message, lent, key.publicKey));
  for (const digest of [new Uint8Array(31), new Uint8Array(64)]) {
    fails(() => ml_dsa44.prehash(Object.assign(() => digest, { oid: hash.oid })).sign(message, key.secretKey), "digest_length");
  }
});

test("views that their buffer has become too short for", () => {
  const short = (bytes) => {
    const buffer = new ArrayBuffer(8 + bytes.length, { maxByteLength: 8 + bytes.length });
    const view = new Uint8Array(buffer, 8, bytes.length);
    view.set(bytes);
    return { view, cut: () => buffer.resize(8) };
  };
  // None of them is the empty array, though `length` says so.
  for (const step of [
    (view) => ml_dsa44.sign(view, key.secretKey),
    (view) => ml_dsa44.verify(view, signature, key.publicKey),
    (view) => ml_dsa44.verify(message, view, key.publicKey),
    (view) => ml_dsa44.sign(message, key.secretKey, { context: view }),
    (view) => ml_dsa44.committee([key.publicKey, view]),
  ]) {
    const { view, cut } = short(message);
    cut();
    fails(() => step(view), "detached");
  }
  // Between the check and the use: by a getter, by the hash function, by the iterator of a list.
  const lent = short(signature);
  const options = { get context() { lent.cut(); return new Uint8Array(0); } };
  assert.equal(ml_dsa44.explain(message, lent.view, key.publicKey, options), "signature_length");
  const given = short(key.publicKey);
  const keys = function* () {
    yield given.view;
    given.cut();
    yield key.publicKey;
  };
  const committee = ml_dsa44.committee(keys());
  assert.deepEqual(committee.verifyBatch([0, 1].map((member) => ({ member, message, signature }))), [null, null]);
  committee.free();
  // Memory that other threads share, and that grows.
  const shared = new SharedArrayBuffer(signature.length, { maxByteLength: 1 << 16 });
  const growing = new Uint8Array(shared);
  growing.set(signature);
  assert(ml_dsa44.verify(message, growing, key.publicKey));
  shared.grow(1 << 16);
  assert(!ml_dsa44.verify(message, growing, key.publicKey));
  works();
});

test("lists that are none, or have wrong items", () => {
  const committee = ml_dsa44.committee([key.publicKey]);
  // Some have 2^32 - 1 places, and no item.
  for (const list of [undefined, null, 1, {}, () => {}, "text", [undefined], [null], [1], [() => {}], new Array(2 ** 32 - 1)]) {
    fails(() => ml_dsa44.committee(list), "type");
    fails(() => ml_dsa44.verifyBatch(list), "type");
    fails(() => committee.verifyBatch(list), "type");
  }
  class Own extends Error {}
  const throwing = function* () {
    yield { member: 0, message, signature };
    throw new Own();
  };
  assert.throws(() => committee.verifyBatch(throwing()), Own);
  assert.deepEqual(committee.verifyBatch([{ member: 0, message, signature }]), [null]);
  committee.free();
});

test("identifiers of hashes that are no bytes", () => {
  const held = ml_dsa44.prepareVerifying(key.publicKey);
  const sha256 = Uint8Array.of(6, 9, 96, 134, 72, 1, 101, 3, 4, 2, 1);
  const called = { valueOf: () => assert.fail("called within an operation") };
  for (const last of [5n, Symbol(), called, 2 ** 40, NaN]) {
    const oid = new Proxy(sha256, { get: (bytes, name) => (name === "10" ? last : bytes[name]) });
    fails(() => ml_dsa44.prehash(Object.assign(() => new Uint8Array(32), { oid })), "unknown_hash");
    // Its own properties are not asked.
    const lying = Object.defineProperty(Uint8Array.from(sha256), "length", { get: () => assert.fail("asked") });
    assert(ml_dsa44.prehash(Object.assign(() => new Uint8Array(32), { oid: lying })));
  }
  const long = new Uint8Array(2 ** 31);
  fails(() => ml_dsa44.prehash(Object.assign(() => long, { oid: sha256 })).sign(message, key.secretKey), "digest_length");
  // No instance has been replaced.
  assert(held.verify(message, signature));
  held.free();
});

test("100,000 calls that fail leave nothing in the module", async () => {
  const { sets, memories } = await watched();
  const set = sets.ml_dsa44;
  const one = set.prepareVerifying(key.publicKey);
  const weak = set.prehash(Object.assign(() => new Uint8Array(28), { oid: Uint8Array.of(6, 9, 96, 134, 72, 1, 101, 3, 4, 2, 4) }));
  const cheap = [
    [() => set.keygen(new Uint8Array(31)), "length"],
    [() => set.sign(message, new Uint8Array(2560)), "constant_k"],
    [() => set.prepareSigning(new Uint8Array(2560).fill(255)), "secret_range"],
    [() => weak.verify(message, signature, key.publicKey), "weak_prehash"],
    [() => set.externalMu().verify(new Uint8Array(64), signature, key.publicKey, { context: message }), "context_length"],
    [() => set.committee([key.publicKey, message]), "length"],
  ];
  const bytes = () => memories[0].buffer.byteLength;
  let before;
  for (let n = 0; n < 100_000; n += 1) {
    const [step, code] = cheap[n % cheap.length];
    assert.throws(step, { code });
    if (n === 100) before = bytes();
  }
  assert.equal(bytes(), before);
  assert.equal(memories.length, 1);
  assert(one.verify(message, signature));
});

test("seeds and randomness that the library draws are wiped", () => {
  const drawn = [];
  const draw = crypto.getRandomValues;
  crypto.getRandomValues = (array) => {
    drawn.push(draw.call(crypto, array));
    return array;
  };
  try {
    const made = ml_dsa44.keygen();
    assert(ml_dsa44.verify(message, ml_dsa44.sign(message, made.secretKey), made.publicKey));
    const prepared = ml_dsa44.prepareSigning(made.secretKey);
    prepared.sign(message);
    prepared.free();
    fails(() => prepared.sign(message), "freed");
    fails(() => ml_dsa44.sign(message, new Uint8Array(made.secretKey.length)), "constant_k");
  } finally {
    delete crypto.getRandomValues;
  }
  assert.equal(drawn.length, 5);
  for (const array of drawn) assert(array.every((byte) => byte === 0));
  // What the caller gives stays.
  const given = new Uint8Array(32).fill(7);
  ml_dsa44.sign(message, ml_dsa44.keygen(given).secretKey, { extraEntropy: given });
  assert(given.every((byte) => byte === 7));
});

test("hostile bytes", () => {
  for (let n = 0; n < 300; n += 1) {
    const bytes = Uint8Array.from(randomBytes(2560));
    assert(!ml_dsa44.verify(message, bytes.subarray(0, 2420), bytes.subarray(0, 1312)));
    assert.throws(() => ml_dsa44.sign(message, bytes), (error) => ["secret_range", "inconsistent_key"].includes(error.code));
  }
  // The secret from which masks are derived: no such key signs, and no other key is lost by it.
  const held = ml_dsa44.prepareVerifying(key.publicKey);
  for (const byte of [0, 255]) {
    const constant = Uint8Array.from(key.secretKey).fill(byte, 32, 64);
    for (const step of [ml_dsa44.sign.bind(ml_dsa44, message), ml_dsa44.prepareSigning.bind(ml_dsa44), ml_dsa44.getPublicKey.bind(ml_dsa44)]) {
      fails(() => step(constant), "constant_k");
    }
  }
  assert(held.verify(message, signature));
  held.free();
  const inconsistent = Uint8Array.from(key.secretKey);
  inconsistent[2559] ^= 1;
  fails(() => ml_dsa44.sign(message, inconsistent), "inconsistent_key");
  works();
});

test("a message of 2^31 bytes", () => {
  const long = new Uint8Array(2 ** 31);
  fails(() => ml_dsa44.keygen(long), "length");
  assert.equal(ml_dsa44.explain(message, long, key.publicKey), "signature_length");
  const whole = ml_dsa44.sign(long.subarray(0, 200_001), key.secretKey, { extraEntropy: false });
  assert(ml_dsa44.verify(new Uint8Array(200_001), whole, key.publicKey));
  assert(!ml_dsa44.verify(new Uint8Array(200_000), whole, key.publicKey));
});

test("freed keys, and memory that grows between calls", () => {
  const prepared = ml_dsa44.prepareVerifying(key.publicKey);
  const signer = ml_dsa44.prepareSigning(key.secretKey);
  assert.deepEqual(signer.publicKey, key.publicKey);
  // Each of these keys takes 20 KiB or more: the memory has to grow, and views of it are detached.
  const keys = Array.from({ length: 200 }, () => ml_dsa44.prepareVerifying(key.publicKey));
  assert(prepared.verify(message, signer.sign(message)));
  for (const one of keys) one.free();
  prepared.free();
  prepared.free();
  fails(() => prepared.verify(message, signature), "freed");
  signer.free();
  fails(() => signer.sign(message), "freed");
});

test("committees and batches", () => {
  const keys = Array.from({ length: 5 }, (_, n) => ml_dsa44.keygen(new Uint8Array(32).fill(n)));
  const context = Uint8Array.of(1, 2);
  const committee = ml_dsa44.committee(keys.map((one) => one.publicKey), { context });
  const votes = Array.from({ length: 20 }, (_, n) => {
    const text = Uint8Array.of(n, 1, 2);
    return { member: n % 5, message: text, signature: ml_dsa44.sign(text, keys[n % 5].secretKey, { context }) };
  });
  const expected = votes.map(() => null);
  assert.deepEqual(committee.verifyBatch(votes), expected);
  votes[3].signature[2419] = 255;
  votes[9].message = new Uint8Array(70_000);
  votes[11].signature = new Uint8Array(0);
  votes[17].member = 0;
  Object.assign(expected, { 3: "hint_encoding", 9: "challenge_mismatch", 11: "signature_length", 17: "challenge_mismatch" });
  assert.deepEqual(committee.verifyBatch(votes), expected);
  const items = votes.map(({ member, ...vote }) => ({ publicKey: keys[member].publicKey, ...vote }));
  assert.deepEqual(ml_dsa44.verifyBatch(items, { context }), expected);
  assert.deepEqual(ml_dsa44.verifyBatch(items.slice(0, 4), { context }), expected.slice(0, 4));
  assert.deepEqual(committee.verifyBatch([]), []);
  assert.deepEqual(ml_dsa44.verifyBatch([]), []);
  for (const member of [-1, 5, 0.5, NaN, "0", 2 ** 32]) {
    fails(() => committee.verifyBatch([{ ...votes[0], member }]), "unknown_member");
  }
  fails(() => ml_dsa44.committee([keys[0].publicKey, new Uint8Array(3)]), "length");
  committee.free();
  fails(() => committee.verifyBatch([]), "freed");
});

test("a trap ends one instance, and its keys", () => {
  // Exports like those of the module, and one that traps.
  const text = "AGFzbQEAAAABCAJgAAF/YAAAAwUEAAABAAUDAQACBygFBm1lbW9yeQIABGRhdGEAAAdtZXNzYWdlAAEEdHJhcAACA29uZQADChYEBABBAAsGAEGAgAQLAwAACwQAQQEL";
  const engine = new Engine(new WebAssembly.Module(Buffer.from(text, "base64")));
  const owned = engine.own({}, 0);
  assert.equal(engine.put(Uint8Array.of(1, 2, 3)), 3);
  assert.equal(owned.use(), 0);
  assert.throws(() => engine.run(() => engine.call("trap")), (error) => error instanceof MldsaError && error.code === "internal");
  assert.throws(() => owned.use(), (error) => error.code === "freed");
  owned.free();
  assert.equal(engine.call("one"), 1);
  assert.deepEqual(engine.take(3), new Uint8Array(3));
});

test("numbers of no key, no window and no order", async () => {
  const engine = new Engine(new WebAssembly.Module(moduleBytes("plain")));
  for (const [name, ...numbers] of [["close", 7], ["close", -1], ["public_key", 45, 1312, 0], ["public_key", 44, 2 ** 31, 0], ["verify", 0, 1], ["message_start", 9, 9, 9], ["message_update", 2 ** 31], ["message_end"], ["sign", 1, 1], ["vote", 0, 0, 0, 9000], ["vote", 0, 8, 0, 1], ["committee_add", 3, 3], ["committee_verify", 0, 0], ["key_part", 0, 0], ["key_part", 0, 9], ["key_part", 0, 5], ["private_key", 44, 31, 1, 0], ["message_digest", 0, 0, 99, 2 ** 31, 2 ** 31]]) {
    assert(engine.call(name, ...numbers) < 0, name);
  }
  assert.equal(engine.generation, 0);
});

test("secrets leave the memory", async () => {
  const { sets, memories } = await watched();
  const { ml_dsa65 } = sets;
  const seed = Uint8Array.from(randomBytes(32));
  const pair = ml_dsa65.keygen(seed);
  const entropy = Uint8Array.from(randomBytes(32));
  const signer = ml_dsa65.prepareSigning(pair.secretKey);
  const memory = () => Buffer.from(memories[0].buffer);
  // K, 32 bytes of the private key that are not in the public one, and s1, which a prepared key has in another form.
  const parts = [pair.secretKey.subarray(32, 64), pair.secretKey.subarray(128, 192)];
  assert(memory().includes(parts[0]));
  ml_dsa65.sign(message, pair.secretKey, { extraEntropy: entropy });
  signer.sign(message, { extraEntropy: entropy });
  signer.free();
  for (const part of [seed, entropy, ...parts]) assert(!memory().includes(part));
});
