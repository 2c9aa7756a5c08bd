// Lines of votes get the verdicts of `mldsa batch-verify`, and no line breaks the page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { eachLine, LONGEST_LINE, verdictOf as verdict, verdictOn } from "../page/votes.js";
import { work } from "../page/worker.js";

const verdictOf = (line) => verdict(new TextEncoder().encode(line));
const data = (name) => readFileSync(new URL(`../../examples/data/${name}`, import.meta.url), "utf8");
const lines = (name) => data(name).trimEnd().split("\n");

test("the example votes", () => {
  const expected = lines("forged-votes.expected.jsonl").map((line) => JSON.parse(line));
  const found = lines("forged-votes.jsonl").map((line, n) => {
    const { verdict, reason } = verdictOf(line);
    return { line: n + 1, valid: verdict === "valid", ...(reason && { reason }) };
  });
  assert.deepEqual(found, expected);
  for (const line of lines("votes.jsonl")) assert.equal(verdictOf(line).verdict, "valid");
});

test("parts have their sizes", () => {
  const { parts } = verdictOf(lines("votes.jsonl").find((line) => line.includes("ML-DSA-65")));
  assert.deepEqual(parts().map(({ of, part, at, size }) => [of, part, at, size]), [
    ["public key", "rho", 0, 32], ["public key", "t1", 32, 1920],
    ["signature", "c~", 0, 48], ["signature", "z", 48, 3200], ["signature", "hints", 3248, 61],
  ]);
});

test("unusable lines", () => {
  const good = lines("votes.jsonl")[0];
  const without = (name) => good.replace(new RegExp(`"${name}":"[^"]*",?`), "");
  const cases = [
    "", "{", "null", "[]", "{}", '{"set":1}', '{"__proto__":"x"}', '{"set":"ML-DSA-44","set":"ML-DSA-44"}',
    '{"set":"constructor","pk":"","sig":"","msg":""}', '{"set":"toString"}', "{".repeat(1000), '"'.repeat(100_000),
    "\u{202e}\0", `${good}${good}`, good.replace('"pk":"', '"pk":"g'), good.replace('"pk":"', '"pk":"0'),
    good.replace('"msg":"', '"mu":"'), `${good.slice(0, -1)},}`, `${good.slice(0, -1)},"mu":"00"}`,
    `${good.slice(0, -1)},"x":"${"a".repeat(LONGEST_LINE)}"}`, without("sig"), without("pk"), without("set"),
    good.replace(/"msg":"[^"]*"/, '"prehash":"__proto__","digest":""'), good.replace(/"msg":"[^"]*"/, '"prehash":"SHA2-512","digest":"00"'),
    good.replace(/"set":"[^"]*"/, '"set":"ML-DSA-87","prehash":"SHA2-256","digest":""').replace(/"msg":"[^"]*",?/, ""),
  ];
  for (const line of cases) assert.equal(verdictOf(line).verdict, "unusable", line.slice(0, 80));
  const long = good.replace(/"ctx":"[^"]*"/, `"ctx":"${"00".repeat(256)}"`);
  assert.deepEqual(verdictOf(long).reason, "context_too_long");
});

test("lines are read as `mldsa` reads them", async () => {
  const good = lines("votes.jsonl")[0];
  const bytes = (...parts) => Buffer.concat(parts.map((part) => Buffer.from(part)));
  const cut = (at, piece) => bytes(good.slice(0, at), piece, good.slice(at));
  const named = (id) => bytes(good.replace(/"id":"[^"]*",?/, "").slice(0, -1), ',"id":"', id, '"}');
  const end = good.length;
  for (const space of [" ", "\t", "\r"]) for (const at of [0, 1, end - 1, end]) assert.equal(verdict(cut(at, space)).verdict, "valid");
  for (const space of ["\v", "\f", "\0", "\u00a0", "\ufeff", "\u2028", "\u3000", "\u0085", "\u180e"]) {
    for (const at of [0, 1, end - 1, end]) assert.equal(verdict(cut(at, space)).verdict, "unusable", `${JSON.stringify(space)} ${at}`);
  }
  for (const id of ["\x7f", "\u0080", "\u009f", "\ufeff", "\u{1f600}"]) assert.equal(verdict(named(id)).verdict, "valid", id);
  for (const id of ["\0", "\x1f", [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82]]) assert.equal(verdict(named(id)).verdict, "unusable", `${id}`);
  for (const [number, expected] of [["0", "valid"], ["1", "valid"], ["01", "unusable"], ["-1", "unusable"], ["1.0", "unusable"]]) {
    assert.equal(verdictOf(`${good.slice(0, -1)},"line":${number}}`.replace(/"line":\d+,/, "")).verdict, expected, number);
  }
  // A weak hash is an unusable line, also where the key has a wrong length.
  const weak = good.replace(/"set":"[^"]*"/, '"set":"ML-DSA-87"').replace(/"msg":"[^"]*"/, `"prehash":"SHA2-256","digest":"${"00".repeat(32)}"`);
  assert.match(verdictOf(weak).reason, /too weak/);
  // A mark of the byte order belongs to no line, at the beginning only.
  const mark = [0xef, 0xbb, 0xbf];
  const found = [];
  await eachLine(new Blob([bytes(mark, good, "\n", mark, good)]), (line) => { found.push(verdict(line).verdict); });
  assert.deepEqual(found, ["valid", "unusable"]);
});

test("three files", () => {
  const empty = new Uint8Array(0);
  assert.equal(verdictOn(empty, empty, empty, empty).verdict, "unusable");
  assert.equal(verdictOn(new Uint8Array(1952), empty, empty, empty).reason, "signature_length");
  assert.equal(verdictOn(new Uint8Array(1952), empty, new Uint8Array(3309), empty).verdict, "rejected");
});

test("lines of a file in pieces, and one that is endless", async () => {
  const texts = async (parts) => {
    const found = [];
    await eachLine(new Blob(parts), (line) => { found.push(new TextDecoder().decode(line)); });
    return found;
  };
  assert.deepEqual(await texts([]), []);
  assert.deepEqual(await texts(["a\n\nb"]), ["a", "", "b"]);
  assert.deepEqual(await texts(["\u{20ac}".repeat(70_000), "\n"]), ["\u{20ac}".repeat(70_000)]);
  const endless = await texts(Array(40).fill("a".repeat(LONGEST_LINE / 8)).concat("\nb"));
  assert.deepEqual(endless.map((text) => text.length), [LONGEST_LINE + 1, 1]);
});

test("rows are bounded, counts are not", async () => {
  const reports = [];
  await work({ votes: new Blob(["x\n".repeat(30_000)]) }, (report) => reports.push(report));
  assert.equal(reports.flatMap(({ rows }) => rows).length, 1000);
  assert.deepEqual(reports.at(-1).progress.counts, { valid: 0, rejected: 0, unusable: 30_000 });
  await work({ votes: { stream: () => { throw new Error("gone"); } } }, (report) => reports.push(report));
  assert.deepEqual(reports.at(-1), { fault: "gone" });
});
