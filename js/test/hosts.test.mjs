// The package in other hosts: the tests in Deno, a Worker of workerd, which compiles no module at run time,
// a document of jsdom; and for TypeScript.
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
import { load } from "src/load.js";
const sets = fromModule(simd);
const text = new TextEncoder().encode("transfer 5");
export default {
  async test() {
    for (const set of Object.values(sets)) {
      const { publicKey, secretKey } = set.keygen();
      const signature = set.sign(text, secretKey);
      const committee = set.committee([publicKey]);
      const other = text.slice(1);
      const right = set.verify(text, signature, publicKey) && !set.verify(other, signature, publicKey);
      const [one, two] = committee.verifyBatch([text, other].map((message) => ({ member: 0, message, signature })));
      let code;
      try { set.sign(text, secretKey.slice(1)); } catch (error) { code = error instanceof MldsaError && error.code; }
      if (!right || one !== null || two === null || code !== "length") throw new Error("wrong result");
    }
    const refused = await load().catch((error) => error);
    if (!(refused instanceof MldsaError) || refused.code !== "no_webassembly" || !refused.message.includes("'wasm-unsafe-eval'")) throw refused;
    console.log("sets: " + Object.keys(sets).join(" "));
  },
};`;

test("a Worker", async () => {
  const folder = mkdtempSync(join(tmpdir(), "worker-"));
  try {
    writeFileSync(join(folder, "simd.wasm"), await moduleBytes("simd"));
    writeFileSync(join(folder, "worker.js"), WORKER);
    const sources = ["load", "module", "engine", "errors", "full", "inflate", "verifier"].map((name) => [`src/${name}.js`, `${name}.js`]);
    sources.push(["dist/full.js", "modules.js"]);
    for (const [name, file] of sources) writeFileSync(join(folder, file), readFileSync(here(`../${name}`)));
    const modules = sources.map(([name, file]) => `(name = "${name}", esModule = embed "${file}")`).join(", ");
    writeFileSync(join(folder, "config.capnp"), `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = .worker)]);
const worker :Workerd.Worker = (compatibilityDate = "2026-01-01", modules = [
  (name = "worker", esModule = embed "worker.js"), (name = "simd.wasm", wasm = embed "simd.wasm"), ${modules}]);`);
    run("workerd", ["test", join(folder, "config.capnp")]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** What a document runs, as a script of a bundler. */
const DOCUMENT = `
import { load } from "../src/load.js";
import { loadVerifier } from "../src/verify-load.js";
globalThis.verdicts = (async () => {
  const [{ ml_dsa44 }, verifiers] = await Promise.all([load(), loadVerifier()]);
  const { publicKey, secretKey } = ml_dsa44.keygen();
  const message = Uint8Array.of(1, 2, 3);
  const options = { context: Uint8Array.of(4) };
  const signature = ml_dsa44.sign(message, secretKey, options);
  return [ml_dsa44, verifiers.ml_dsa44].flatMap((set) => [options, {}].map((given) => set.verify(message, signature, publicKey, given)));
})();`;

test("a document of jsdom, by a script of a bundler", { skip: nested }, async () => {
  const { build } = await import("esbuild");
  const { JSDOM } = await import("jsdom");
  // Neither a module nor an await at its top: what older bundles need.
  const { outputFiles } = await build({
    stdin: { contents: DOCUMENT, resolveDir: here(".") }, bundle: true, format: "iife", target: "es2022", write: false,
  });
  const { window } = new JSDOM("", { runScripts: "outside-only" });
  window.eval(outputFiles[0].text);
  assert.deepEqual([...await window.verdicts], [true, false, true, false]);
});

test("a host without WebAssembly", { skip: nested }, () => {
  const script = `import("${here("../src/load.js")}").then(({ load }) => load()).catch(({ name, code }) => console.log(name, code))`;
  assert.equal(execFileSync(process.execPath, ["--jitless", "-e", script], { encoding: "utf8" }).trim(), "MldsaError no_webassembly");
});

test("declarations: a caller, and the names of each entry", { skip: nested }, async () => {
  const { exports } = JSON.parse(readFileSync(here("../package.json"), "utf8"));
  const lines = [];
  for (const [entry, { default: file }] of Object.entries(exports).filter(([, target]) => target.types)) {
    const names = Object.keys(await import(`../${file}`)).map((name) => `${name}: true`);
    // An object that lacks a name, or has one too many, is no such record.
    lines.push(`({ ${names} }) satisfies Record<keyof typeof import("mldsa-wasm${entry.slice(1)}"), true>;`);
  }
  assert.equal(lines.length, 6);
  writeFileSync(here("../dist/names.ts"), lines.join("\n"));
  run("tsc", ["--project", "test/types"]);
});
