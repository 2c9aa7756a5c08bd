// The verifier alone, in the smallest module.
import { plain } from "../dist/verify.js";
import { compile, Engine } from "./engine.js";
import { Verifier } from "./verifier.js";

export { MldsaError } from "./errors.js";

const engine = new Engine(await compile(plain));
export const ml_dsa44 = new Verifier(engine, 44);
export const ml_dsa65 = new Verifier(engine, 65);
export const ml_dsa87 = new Verifier(engine, 87);
