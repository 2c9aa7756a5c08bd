// Builds the WebAssembly modules and puts them, compressed, into dist/*.js: node build.mjs
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { constants, deflateRawSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.env.CARGO_TARGET_DIR ?? join(here, "../target");
mkdirSync(join(here, "dist"), { recursive: true });

/** Optimises a module for size: wasm-opt of binaryen. */
function smaller(file) {
  const options = ["-Oz", "--enable-bulk-memory", "--enable-sign-ext", "--enable-mutable-globals", "--enable-nontrapping-float-to-int"];
  const name = join(here, "node_modules/.bin/wasm-opt");
  return execFileSync(name, [...options, file, "-o", "-"], { maxBuffer: 1 << 24 });
}

// Of a verifier and of key files the size matters, of everything else the speed.
const SIMD = "-Ctarget-feature=+simd128";
for (const [name, features, level, kinds] of [
  ["verify", "", "z", { plain: "" }],
  ["full", "full", "2", { plain: "", simd: SIMD }],
  ["keys", "files", "z", { plain: "" }],
]) {
  const lines = [`// Made by build.mjs: WebAssembly, deflated, in base64.`];
  for (const [kind, flags] of Object.entries(kinds)) {
    execFileSync(
      "cargo",
      ["build", "--locked", "--quiet", "--release", "--target", "wasm32-unknown-unknown", "--features", features],
      {
        cwd: join(here, "wasm"),
        stdio: "inherit",
        env: {
          ...process.env,
          CARGO_TARGET_DIR: target,
          CARGO_PROFILE_RELEASE_OPT_LEVEL: level,
          RUSTFLAGS: `-Clink-arg=-zstack-size=524288 ${flags}`,
        },
      },
    );
    const file = join(target, "wasm32-unknown-unknown/release/mldsa_wasm.wasm");
    // Another optimiser makes the verifier a quarter smaller. It does not see code that has secrets.
    const wasm = name === "verify" ? smaller(file) : readFileSync(file);
    const deflated = deflateRawSync(wasm, { level: constants.Z_BEST_COMPRESSION });
    lines.push(`export const ${kind} = { size: ${wasm.length}, text: "${deflated.toString("base64")}" };`);
    console.log(`${name} ${kind}: ${wasm.length} bytes, deflated ${deflated.length}`);
  }
  writeFileSync(join(here, "dist", `${name}.js`), lines.join("\n") + "\n");
}

// The page has the verifier in it.
await import("./page/build.mjs");
