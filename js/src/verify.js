// The verifier alone, in the smallest module.
import { loadVerifier } from "./verify-load.js";

export { MldsaError } from "./errors.js";
export const { ml_dsa44, ml_dsa65, ml_dsa87 } = await loadVerifier();
