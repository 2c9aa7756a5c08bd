// Key files in each form: read as `mldsa` reads them, and written for other programs.
import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { MldsaError, ml_dsa44, ml_dsa65, ml_dsa87 } from "../src/index.js";
import { loadKeyFiles } from "../src/keys.js";

const files = await loadKeyFiles();
const sets = { 44: ml_dsa44, 65: ml_dsa65, 87: ml_dsa87 };
const seed = new Uint8Array(32).fill(7);
const utf8 = (text) => new TextEncoder().encode(text);
const refused = (step, code) => assert.throws(step, (error) => error instanceof MldsaError && error.code === code, code);

const escapes = { n: "\n", r: "\r", t: "\t", "\\": "\\" };
const unescaped = (text) => text.replace(/\\(?:x(..)|(.))/g, (_, hex, letter) => (hex ? String.fromCharCode(parseInt(hex, 16)) : escapes[letter]));

test("the table of PEM texts that all interfaces share", () => {
  const rows = readFileSync(new URL("../../crates/mldsa-core/tests/data/pem.txt", import.meta.url), "utf8").trim().split("\n");
  const { publicKey, secretKey } = ml_dsa44.keygen(Uint8Array.from({ length: 32 }, (_, n) => n));
  let count = 0;
  for (const [label, result, name, escaped] of rows.filter((row) => !row.startsWith("#")).map((row) => row.split("\t"))) {
    const [read, expected] =
      label === "public" ? [files.readPublicKey, { set: 44, publicKey }] : [files.readSecretKey, { set: 44, publicKey, secretKey }];
    const bytes = Uint8Array.from(Buffer.from(unescaped(escaped), "latin1"));
    const forms = isUtf8(bytes) ? [bytes, Buffer.from(bytes).toString()] : [bytes];
    for (const text of forms) {
      if (result === "key") assert.deepEqual(read(text), expected, name);
      else refused(() => read(text), "key_encoding");
    }
    count += 1;
  }
  assert(count >= 131);
});

for (const [number, set] of Object.entries(sets)) {
  test(`key files of ML-DSA-${number}`, () => {
    const key = set.keygen(seed);
    const expected = { set: Number(number), publicKey: key.publicKey };
    const der = files.writePublicKey(Number(number), key.publicKey, "der");
    const pem = files.writePublicKey(Number(number), key.publicKey, "pem");
    assert.equal(Buffer.from(pem.replace(/-----.*?-----/g, ""), "base64").compare(der), 0);
    assert.deepEqual(files.readPublicKey(pem), expected);
    assert.deepEqual(files.readPublicKey(der), expected);
    for (const secret of [seed, key.secretKey]) {
      const written = Uint8Array.from(secret);
      const der = files.writeSecretKey(Number(number), secret, "der");
      assert.equal(der.length < 100, secret === seed);
      assert.deepEqual(files.readSecretKey(der), { ...expected, secretKey: key.secretKey });
      const text = files.writeSecretKey(Number(number), secret, "pem");
      assert.deepEqual(files.readSecretKey(text), { ...expected, secretKey: key.secretKey });
      assert.deepEqual(secret, written);
      refused(() => files.readPublicKey(der), "key_encoding");
    }
    // What is wrong in one byte, or cut off, is another key or an error.
    for (let at = 0; at < 40; at += 1) {
      const bad = Uint8Array.from(der);
      bad[at] ^= 1;
      try {
        assert.notDeepEqual(files.readPublicKey(bad), expected);
      } catch (error) {
        assert(error instanceof MldsaError && error.code === "key_encoding", `${at}: ${error}`);
      }
      refused(() => files.readPublicKey(der.subarray(0, at)), "key_encoding");
    }
  });
}

test("files that are none, and wrong arguments", () => {
  const { publicKey, secretKey } = ml_dsa44.keygen(seed);
  const pem = files.writePublicKey(44, publicKey, "pem");
  for (const text of ["", "no PEM", `${pem}${pem}`, pem.replace("PUBLIC", "PRIVATE"), pem.slice(0, -30), "\0".repeat(65536)]) {
    for (const read of [files.readPublicKey, files.readSecretKey]) for (const encoded of [text, utf8(text)]) refused(() => read(encoded), "key_encoding");
  }
  for (const long of ["x".repeat(65537), new Uint8Array(2 ** 20)]) refused(() => files.readSecretKey(long), "length");
  for (const wrong of [undefined, null, 5, {}, [48], new ArrayBuffer(9)]) {
    refused(() => files.readPublicKey(wrong), "type");
    refused(() => files.readSecretKey(wrong), "type");
    refused(() => files.writePublicKey(44, wrong, "pem"), "type");
    refused(() => files.writeSecretKey(44, wrong, "pem"), "type");
    refused(() => files.writePublicKey(44, publicKey, wrong), "type");
  }
  for (const set of [0, 2, 43, 66, undefined, "44", 44.5, Symbol("x")]) refused(() => files.writePublicKey(set, publicKey, "pem"), "unknown_set");
  refused(() => files.writePublicKey(65, publicKey, "pem"), "key_length");
  refused(() => files.writeSecretKey(65, secretKey, "pem"), "key_length");
  refused(() => files.readPublicKey(pem, {}), "type");
  const bad = Uint8Array.from(secretKey).fill(1, 200, 300);
  assert.throws(() => files.writeSecretKey(44, bad, "der"), (error) => ["secret_range", "inconsistent_key"].includes(error.code));
  assert.deepEqual(files.readPublicKey(pem).publicKey, publicKey);
});
