// Lines of votes and their verdicts, as `mldsa batch-verify` gives them.
import { MldsaError } from "../src/errors.js";
import { ml_dsa44, ml_dsa65, ml_dsa87 } from "../src/verify.js";

/** Bytes of the shortest digest that is strong enough, and of the parts of keys and signatures (FIPS 204 section 7.2). */
const SETS = {
  "ML-DSA-44": { verifier: ml_dsa44, digest: 32, key: { rho: 32, t1: 1280 }, signature: { "c~": 32, z: 2304, hints: 84 } },
  "ML-DSA-65": { verifier: ml_dsa65, digest: 48, key: { rho: 32, t1: 1920 }, signature: { "c~": 48, z: 3200, hints: 61 } },
  "ML-DSA-87": { verifier: ml_dsa87, digest: 64, key: { rho: 32, t1: 2560 }, signature: { "c~": 64, z: 4480, hints: 83 } },
};

/** Hash functions of FIPS 204 section 5.4: last number of the object identifier, and bytes of a digest. */
const DIGESTS = {
  "SHA2-256": [1, 32], "SHA2-384": [2, 48], "SHA2-512": [3, 64], "SHA2-224": [4, 28], "SHA2-512/224": [5, 28],
  "SHA2-512/256": [6, 32], "SHA3-224": [7, 28], "SHA3-256": [8, 32], "SHA3-384": [9, 48], "SHA3-512": [10, 64],
  "SHAKE-128": [11, 32], "SHAKE-256": [12, 64],
};

const FIELDS = ["line", "id", "set", "pk", "sig", "msg", "mu", "prehash", "digest", "ctx"];

/** Bytes of the longest line that is read. */
export const LONGEST_LINE = 1 << 20;

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What makes a line unusable. */
class LineError extends Error {}

const need = (condition, what) => {
  if (!condition) throw new LineError(what);
};

/** The text of a line in UTF-8. */
function textOf(line) {
  need(line.length <= LONGEST_LINE, "the line is too long");
  try {
    return UTF8.decode(line);
  } catch {
    throw new LineError("no UTF-8");
  }
}

/** The values of a line: an object of strings without escapes, each name once. White space is that of JSON. */
function valuesOf(line) {
  need(/[^ \t\r\n]/.test(line), "the line is empty");
  const object = /^[ \t\r\n]*\{(.*)\}[ \t\r\n]*$/s.exec(line);
  need(object, "no JSON object");
  const field = /[ \t\r\n]*"([^"\\\0-\x1f]*)"[ \t\r\n]*:[ \t\r\n]*(?:"([^"\\\0-\x1f]*)"|(0|[1-9]\d{0,19}))[ \t\r\n]*(,|$)/uy;
  const fields = new Map();
  for (let more = true; more; ) {
    const found = field.exec(object[1]);
    need(found, "bad JSON, or a value that is no string");
    const [, name, text, number, comma] = found;
    need(FIELDS.includes(name), `unknown field "${name.slice(0, 40)}"`);
    need(number === undefined || name === "line", `field "${name}" is no string`);
    need(!fields.has(name), `field "${name}" is given twice`);
    fields.set(name, text);
    more = comma === ",";
  }
  return fields;
}

function bytesOf(fields, name) {
  const hex = fields.get(name);
  need(hex !== undefined, `field "${name}" is missing`);
  need(hex.length % 2 === 0 && !/[^0-9a-fA-F]/.test(hex), `field "${name}" is no hex`);
  const bytes = new Uint8Array(hex.length / 2);
  for (let n = 0; n < bytes.length; n++) bytes[n] = parseInt(hex.slice(2 * n, 2 * n + 2), 16);
  return bytes;
}

/** The verifier and the message of a line. */
function messageOf(fields, { verifier, digest: least }) {
  const forms = ["msg", "mu", "prehash"].filter((name) => fields.has(name));
  need(forms.length === 1, 'one of "msg", "mu" and "prehash" is needed');
  const [form] = forms;
  need(form === "prehash" || !fields.has("digest"), '"digest" without "prehash"');
  if (form === "msg") return [verifier, bytesOf(fields, "msg")];
  if (form === "mu") {
    need(!fields.has("ctx"), '"ctx" and "mu", which contains a context already');
    const mu = bytesOf(fields, "mu");
    need(mu.length === 64, 'field "mu" has not 64 bytes');
    return [verifier.externalMu(), mu];
  }
  const name = fields.get("prehash");
  need(Object.hasOwn(DIGESTS, name), "unknown hash");
  const [number, length] = DIGESTS[name];
  const digest = bytesOf(fields, "digest");
  need(digest.length === length, `field "digest" has not the ${length} bytes of ${name}`);
  const oid = Uint8Array.of(6, 9, 96, 134, 72, 1, 101, 3, 4, 2, number);
  need(length >= least, `${name} is too weak for the set`);
  return [verifier.prehash(Object.assign((bytes) => bytes, { oid })), digest];
}

/** Verifies, with `null` or the reason for which the signature is rejected. */
function judge(verifier, key, message, signature, context) {
  if (context.length > 255) return "context_too_long";
  if (key.length !== verifier.lengths.publicKey) return "public_key_length";
  try {
    return verifier.explain(message, signature, key, { context });
  } catch (error) {
    if (error instanceof MldsaError && error.code !== "internal") throw new LineError(error.message);
    throw error;
  }
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");

/** The parts of a key and a signature that have the lengths of their set. */
function partsOf(set, key, signature) {
  return [["public key", key, SETS[set].key], ["signature", signature, SETS[set].signature]].flatMap(([of, bytes, sizes]) => {
    let at = 0;
    const parts = Object.entries(sizes).map(([part, size]) => {
      at += size;
      return { of, part, at: at - size, size, head: hex(bytes.subarray(at - size, at - size + 8)) };
    });
    return at === bytes.length ? parts : [{ of, part: "of a wrong length", at: 0, size: bytes.length, head: hex(bytes.subarray(0, 8)) }];
  });
}

/** The verdict on the bytes of a line: `valid`, `rejected` with its reason, or `unusable` with what is wrong. */
export function verdictOf(line) {
  let set = "";
  let id = "";
  try {
    const fields = valuesOf(textOf(line));
    id = fields.get("id") ?? "";
    need(Object.hasOwn(SETS, fields.get("set") ?? ""), "unknown set");
    set = fields.get("set");
    const [key, signature] = [bytesOf(fields, "pk"), bytesOf(fields, "sig")];
    const context = fields.has("ctx") ? bytesOf(fields, "ctx") : new Uint8Array(0);
    const reason = judge(...first(messageOf(fields, SETS[set]), key), signature, context);
    return { id, set, verdict: reason === null ? "valid" : "rejected", reason: reason ?? "", parts: () => partsOf(set, key, signature) };
  } catch (error) {
    if (!(error instanceof LineError)) throw error;
    return { id, set, verdict: "unusable", reason: error.message, parts: () => [] };
  }
}

const first = ([verifier, message], key) => [verifier, key, message];

/** The verdict on three files. The key's length tells the set. */
export function verdictOn(key, message, signature, context) {
  const set = Object.keys(SETS).find((name) => SETS[name].verifier.lengths.publicKey === key.length);
  if (set === undefined) return { set: "", verdict: "unusable", reason: `no public key has ${key.length} bytes`, parts: [] };
  const reason = judge(SETS[set].verifier, key, message, signature, context);
  return { set, verdict: reason === null ? "valid" : "rejected", reason: reason ?? "", parts: partsOf(set, key, signature) };
}

/** Calls `take` with the bytes of each line of a file. Of a line that is too long only so much is kept as shows it. */
export async function eachLine(file, take) {
  const reader = file.stream().getReader();
  const rest = new Uint8Array(LONGEST_LINE + 1);
  let [read, kept, open, first] = [0, 0, false, true];
  const keep = (piece) => {
    rest.set(piece.subarray(0, rest.length - kept), kept);
    kept = Math.min(rest.length, kept + piece.length);
    open ||= piece.length > 0;
  };
  const end = async () => {
    // A mark of the byte order is no part of the first line.
    const mark = first && kept >= 3 && rest[0] === 0xef && rest[1] === 0xbb && rest[2] === 0xbf;
    await take(rest.slice(mark ? 3 : 0, kept), read);
    [kept, open, first] = [0, false, false];
  };
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    read += value.length;
    let at = 0;
    for (let next; (next = value.indexOf(10, at)) >= 0; at = next + 1) {
      keep(value.subarray(at, next));
      await end();
    }
    keep(value.subarray(at));
  }
  if (open) await end();
}
