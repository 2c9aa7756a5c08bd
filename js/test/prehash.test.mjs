// Every way to verify and to sign is that of the set's form: pure, or HashML-DSA with one hash function.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { sha3_512, shake256, shake256_64 } from "@noble/hashes/sha3.js";
import * as noble from "@noble/post-quantum/ml-dsa.js";
import { load, MldsaError } from "../src/index.js";

const sets = await load("plain");
const names = ["ml_dsa44", "ml_dsa65", "ml_dsa87"];
const context = Uint8Array.of(3, 1, 4);
const options = { context };
const FORMS = { pure: undefined, sha512, sha3_512, shake256 };
const form = (set, name) => (FORMS[name] ? set.prehash(FORMS[name]) : set);
// That of noble-post-quantum has the length of FIPS 204 in its name.
const reference = (set, name) => (name === "shake256" ? set.prehash(shake256_64) : form(set, name));
const paths = {
  explain: (set, items) => items.map((item) => set.explain(item.message, item.signature, item.publicKey, options)),
  prepared: (set, items) =>
    items.map((item) => {
      const key = set.prepareVerifying(item.publicKey);
      try {
        return key.explain(item.message, item.signature, options);
      } finally {
        key.free();
      }
    }),
  "batch of one": (set, items) => items.map((item) => set.verifyBatch([item], options)[0]),
  batch: (set, items) => set.verifyBatch(items, options),
  "batch with repeated keys": (set, items) => set.verifyBatch([...items, ...items], options).slice(items.length),
  committee: (set, items) => {
    const committee = set.committee(items.map((item) => item.publicKey), options);
    try {
      return committee.verifyBatch(items.map(({ message, signature }, member) => ({ member, message, signature })));
    } finally {
      committee.free();
    }
  },
};

for (const name of names) {
  test(`forms of ${name}`, () => {
    // More votes than are verified together, each of another key.
    const pairs = Array.from({ length: 9 }, (_, n) => noble[name].keygen(new Uint8Array(32).fill(n)));
    const made = {};
    for (const signed of Object.keys(FORMS)) {
      made[signed] = pairs.map(({ publicKey, secretKey }, n) => {
        const message = new Uint8Array(100 + n).fill(n);
        const signing = { context, extraEntropy: false };
        const signature = reference(noble[name], signed).sign(message, secretKey, signing);
        const ours = form(sets[name], signed);
        assert.deepEqual(ours.sign(message, secretKey, signing), signature);
        for (const secret of [secretKey, new Uint8Array(32).fill(n)]) {
          const key = ours.prepareSigning(secret);
          assert.deepEqual(key.sign(message, signing), signature);
          key.free();
        }
        return { publicKey, message, signature };
      });
    }
    let count = 0;
    for (const [signed, items] of Object.entries(made)) {
      const wrong = items.map((item) => ({ ...item, message: item.message.subarray(1) }));
      for (const used of Object.keys(FORMS)) {
        const set = form(sets[name], used);
        const expected = items.map(() => (signed === used ? null : "challenge_mismatch"));
        for (const [path, verify] of Object.entries(paths)) {
          assert.deepEqual(verify(set, items), expected, `${path}: ${signed} as ${used}`);
          assert.deepEqual(verify(set, wrong), items.map(() => "challenge_mismatch"), `${path}: ${signed} as ${used}`);
          count += 2 * items.length;
        }
        assert.equal(set.verify(items[0].message, items[0].signature, items[0].publicKey, options), signed === used);
      }
    }
    assert.equal(count, 4 * 4 * 6 * 2 * 9);
  });
}

test("every path refuses a weak hash, and a digest of a wrong length", () => {
  const { publicKey, secretKey } = sets.ml_dsa87.keygen();
  const message = new Uint8Array(5);
  const item = { publicKey, message, signature: sets.ml_dsa87.sign(message, secretKey) };
  const short = Object.assign(() => new Uint8Array(63), { oid: sha512.oid });
  const long = Object.assign(() => new Uint8Array(65), { oid: sha512.oid });
  for (const [hash, code] of [[sha256, "weak_prehash"], [short, "digest_length"], [long, "digest_length"]]) {
    const set = sets.ml_dsa87.prehash(hash);
    for (const [path, verify] of Object.entries(paths)) {
      assert.throws(() => verify(set, [item]), (error) => error instanceof MldsaError && error.code === code, path);
      assert.throws(() => verify(set, [{ ...item, signature: new Uint8Array(3) }]), { code }, path);
    }
    assert.throws(() => set.sign(message, secretKey), { code });
    assert.throws(() => set.prepareSigning(secretKey).sign(message), { code });
  }
});

test("a hash function that calls the module, frees keys and uses its memory again", () => {
  const set = sets.ml_dsa44;
  const [one, two] = [set.keygen(), set.keygen()];
  const digest = new Uint8Array(64);
  let step = () => {};
  const hash = Object.assign((message) => (step(), digest.set(sha512(message)), digest), { oid: sha512.oid });
  const hashed = set.prehash(hash);
  const messages = Array.from({ length: 10 }, (_, n) => new Uint8Array(n + 1));
  const items = messages.map((message) => ({ publicKey: one.publicKey, message, signature: hashed.sign(message, one.secretKey) }));
  const votes = (items) => items.map(({ message, signature }) => ({ member: 0, message, signature }));
  const other = set.committee([two.publicKey]);
  const vote = { member: 0, message: messages[0], signature: set.sign(messages[0], two.secretKey) };
  const committee = hashed.committee([one.publicKey]);
  step = () => assert.deepEqual(other.verifyBatch([vote, { ...vote, message: messages[1] }]), [null, "challenge_mismatch"]);
  assert.deepEqual(committee.verifyBatch(votes(items)), items.map(() => null));
  assert.deepEqual(hashed.verifyBatch(items), items.map(() => null));
  const crossed = items.map((item, n) => ({ ...item, signature: items[(n + 1) % 10].signature }));
  assert.deepEqual(committee.verifyBatch(votes(crossed)), items.map(() => "challenge_mismatch"));

  // The slot of the freed key has another one when the hash function returns.
  const swap = (free, open) => (step = () => { step = () => {}; free(); opened.push(open()); });
  const opened = [];
  const prepared = hashed.prepareVerifying(two.publicKey);
  swap(() => prepared.free(), () => set.prepareVerifying(one.publicKey));
  assert.throws(() => prepared.verify(messages[0], items[0].signature), { code: "freed" });
  const signer = hashed.prepareSigning(two.secretKey);
  swap(() => signer.free(), () => set.prepareSigning(one.secretKey));
  assert.throws(() => signer.sign(messages[0]), { code: "freed" });
  const members = hashed.committee([two.publicKey]);
  swap(() => members.free(), () => set.committee([one.publicKey]));
  assert.throws(() => members.verifyBatch(votes(items.slice(0, 1))), { code: "freed" });
});
