// Everything, for programs that wait for the module themselves.
import { plain, simd } from "../dist/full.js";
import { compile, hasSimd, unpack } from "./engine.js";
import { MldsaError } from "./errors.js";
import { fromModule } from "./module.js";

export { fromModule, MldsaError };

const packed = { plain, simd };

/** Name of the module that this host uses: `simd` or `plain`. */
export const module = hasSimd() ? "simd" : "plain";

function named(kind) {
  if (!Object.hasOwn(packed, kind)) throw new MldsaError("type", "the module is neither \"simd\" nor \"plain\"");
  return packed[kind];
}

/** The bytes of a module. */
export const moduleBytes = (kind) => unpack(named(kind));

/** Makes the parameter sets of a module, with memory of their own. */
export const load = async (kind = module) => fromModule(await compile(named(kind)));
