import type { Verifiers } from "./verify.js";
export { MldsaError } from "./verify.js";
export type { Bytes, Code, NamedHash, Reason, Verifier, Verifiers, VerifyOptions } from "./verify.js";

/** Makes the parameter sets of the verifier, with memory of their own. */
export function loadVerifier(): Promise<Verifiers>;
