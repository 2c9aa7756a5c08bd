// Everything except the modules, for hosts that compile no WebAssembly at run time.
import { Engine } from "./engine.js";
import { Mldsa } from "./full.js";

export { MldsaError } from "./errors.js";

/** Makes the three parameter sets of a compiled module. */
export function fromModule(module) {
  const engine = new Engine(module);
  return { ml_dsa44: new Mldsa(engine, 44), ml_dsa65: new Mldsa(engine, 65), ml_dsa87: new Mldsa(engine, 87) };
}
