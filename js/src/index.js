// Everything, with vectors where the host has them.
import { plain, simd } from "../dist/full.js";
import { compile, Engine, hasSimd } from "./engine.js";
import { Mldsa } from "./full.js";

export { MldsaError } from "./errors.js";

/** Makes the three parameter sets of a compiled module, for hosts that compile none at run time. */
export function fromModule(module) {
  const engine = new Engine(module);
  return { ml_dsa44: new Mldsa(engine, 44), ml_dsa65: new Mldsa(engine, 65), ml_dsa87: new Mldsa(engine, 87) };
}

/** The module's bytes, "simd" or "plain". */
export const load = (kind) => compile(kind === "plain" ? plain : simd);

/** Name of the module in use: `simd` or `plain`. */
export const module = hasSimd() ? "simd" : "plain";
export const { ml_dsa44, ml_dsa65, ml_dsa87 } = fromModule(await load(module));
