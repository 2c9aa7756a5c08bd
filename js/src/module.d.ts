export { fromModule, MldsaError } from "./index.js";
export type {
  Bytes, Code, Committee, Item, Mldsa, NamedHash, Owner, PreparedSigningKey, PreparedVerifyingKey, Reason, Sets, SignOptions, Verifier,
  VerifyOptions, Vote,
} from "./index.js";
