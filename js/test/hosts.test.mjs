// The package in other hosts: the tests in Deno, and a Worker of workerd, which compiles no module at run time.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { moduleBytes } from "../src/index.js";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const run = (name, options) => execFileSync(here(`../node_modules/.bin/${name}`), options, { cwd: here(".."), stdio: "pipe", encoding: "utf8" });
const nested = process.versions.deno !== undefined && "this is Deno already";

test("tests in Deno", { skip: nested }, () => {
  const files = ["misuse", "prehash", "faults", "votes", "vectors"].map((name) => `test/${name}.test.mjs`);
  const text = run("deno", ["test", "--no-check", "--allow-read", "--allow-env", ...files]);
  assert.match(text, /passed.* 0 failed/);
});

/** What the Worker runs: its only failure is an exception. */
const WORKER = `
import simd from "simd.wasm";
import { fromModule, MldsaError } from "src/module.js";
const sets = fromModule(simd);
const text = new TextEncoder().encode("transfer 5");
export default {
  async test() {
    for (const set of Object.values(sets)) {
      const { publicKey, secretKey } = set.keygen();
      const signature = set.sign(text, secretKey);
      const committee = set.committee([publicKey]);
      const other = text.slice(1);
      const right = set.verify(signature, text, publicKey) && !set.verify(signature, other, publicKey);
      const [one, two] = committee.verifyBatch([text, other].map((message) => ({ member: 0, message, signature })));
      let code;
      try { set.sign(text, secretKey.slice(1)); } catch (error) { code = error instanceof MldsaError && error.code; }
      if (!right || one !== null || two === null || code !== "length") throw new Error("wrong result");
    }
    console.log("sets: " + Object.keys(sets).join(" "));
  },
};`;

test("a Worker", async () => {
  const folder = mkdtempSync(join(tmpdir(), "worker-"));
  try {
    writeFileSync(join(folder, "simd.wasm"), await moduleBytes("simd"));
    writeFileSync(join(folder, "worker.js"), WORKER);
    const sources = ["module", "engine", "errors", "full", "verifier"].map((name) => `src/${name}.js`);
    for (const name of sources) writeFileSync(join(folder, name.slice(4)), readFileSync(here(`../${name}`)));
    const modules = sources.map((name) => `(name = "${name}", esModule = embed "${name.slice(4)}")`).join(", ");
    writeFileSync(join(folder, "config.capnp"), `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = .worker)]);
const worker :Workerd.Worker = (compatibilityDate = "2026-01-01", modules = [
  (name = "worker", esModule = embed "worker.js"), (name = "simd.wasm", wasm = embed "simd.wasm"), ${modules}]);`);
    run("workerd", ["test", join(folder, "config.capnp")]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
