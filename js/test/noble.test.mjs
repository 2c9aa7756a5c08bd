// Keys and signatures equal those of noble-post-quantum byte by byte. MLDSA_NOBLE_CASES: cases a set.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import process from "node:process";
import { test } from "node:test";
import * as noble from "@noble/post-quantum/ml-dsa.js";
import { load } from "../src/index.js";

const cases = Number(process.env.MLDSA_NOBLE_CASES ?? 1000);
const plain = await load("plain");
const simd = await load("simd");
const stream = (name, length) => Uint8Array.from(createHash("shake256", { outputLength: length }).update(name).digest());
const same = (a, b) => Buffer.compare(a, b) === 0;

for (const name of ["ml_dsa44", "ml_dsa65", "ml_dsa87"]) {
  test(`${cases} cases of ${name}`, () => {
    for (let n = 0; n < cases; n += 1) {
      const seed = stream(`seed ${n}`, 32);
      const message = stream(`message ${n}`, 1 + (n % 400));
      const context = stream("context", n % 256);
      const options = { context, extraEntropy: n % 3 ? stream(`random ${n}`, 32) : false };
      const expected = noble[name].keygen(seed);
      const signature = noble[name].sign(message, expected.secretKey, options);
      const ours = n % 2 ? plain[name] : simd[name];
      const key = ours.keygen(seed);
      assert(same(key.publicKey, expected.publicKey) && same(key.secretKey, expected.secretKey), `key ${n}`);
      assert(same(ours.sign(message, key.secretKey, options), signature), `signature ${n}`);
      for (const library of [plain, simd]) assert(library[name].verify(message, signature, key.publicKey, { context }));
      signature[n % signature.length] ^= 1 << (n % 8);
      for (const library of [plain, simd]) assert(!library[name].verify(message, signature, key.publicKey, { context }));
    }
  });
}
