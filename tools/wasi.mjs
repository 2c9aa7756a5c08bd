// Runs a WebAssembly program of the target wasm32-wasip1, a test binary for instance, with
// Node's WASI, which sees the whole file system:
//
//   CARGO_TARGET_WASM32_WASIP1_RUNNER='node --no-warnings tools/wasi.mjs' cargo test --target wasm32-wasip1 ...
import { readFile } from "node:fs/promises";
import process from "node:process";
import { WASI } from "node:wasi";

const [program, ...rest] = process.argv.slice(2);
const wasi = new WASI({
  version: "preview1",
  args: [program, ...rest],
  env: process.env,
  preopens: { "/": "/" },
  returnOnExit: true,
});
const module = await WebAssembly.compile(await readFile(program));
process.exitCode = wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
