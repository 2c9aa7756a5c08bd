export { fromModule, MldsaError } from "./index.js";
export type * from "./index.js";
