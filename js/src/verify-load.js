// The verifier alone, for programs that wait for the module themselves.
import { plain } from "../dist/verify.js";
import { compile, Engine } from "./engine.js";
import { Verifier } from "./verifier.js";

export { MldsaError } from "./errors.js";

/** Makes the three parameter sets, with memory of their own. */
export async function loadVerifier() {
  const engine = new Engine(await compile(plain));
  return { ml_dsa44: new Verifier(engine, 44), ml_dsa65: new Verifier(engine, 65), ml_dsa87: new Verifier(engine, 87) };
}
