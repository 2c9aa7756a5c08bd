// Everything, with vectors where the host has them.
import { plain, simd } from "../dist/full.js";
import { compile, hasSimd, inflate } from "./engine.js";
import { fromModule } from "./module.js";

export { MldsaError } from "./errors.js";
export { fromModule };

const text = (kind) => (kind === "plain" ? plain : simd);

/** Decodes the bytes of a module, "simd" or "plain". */
export const moduleBytes = async (kind) => new Uint8Array(await inflate(text(kind)));

/** Compiles a module, "simd" or "plain". */
export const load = (kind) => compile(text(kind));

/** Name of the module in use: `simd` or `plain`. */
export const module = hasSimd() ? "simd" : "plain";
export const { ml_dsa44, ml_dsa65, ml_dsa87 } = fromModule(await load(module));
