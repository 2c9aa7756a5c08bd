// Everything, with vectors where the host has them.
import { load } from "./load.js";

export { fromModule, load, MldsaError, module, moduleBytes } from "./load.js";
export const { ml_dsa44, ml_dsa65, ml_dsa87 } = await load();
