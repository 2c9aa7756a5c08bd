import type { Bytes } from "./verify.js";
export { MldsaError } from "./verify.js";
export type { Bytes, Code } from "./verify.js";

/** Number in the name of a parameter set. */
export type SetNumber = 44 | 65 | 87;

/** Key files: SubjectPublicKeyInfo and PKCS#8 (RFC 9881). A PEM text or bytes of PEM or DER, at most 64 KiB, are read. */
export interface KeyFiles {
  readPublicKey(encoded: Uint8Array | string): { set: SetNumber; publicKey: Bytes };
  /** Reads a private key with every check. It is returned in expanded form. */
  readSecretKey(encoded: Uint8Array | string): { set: SetNumber; publicKey: Bytes; secretKey: Bytes };
  writePublicKey(set: SetNumber, publicKey: Uint8Array, format: "pem"): string;
  writePublicKey(set: SetNumber, publicKey: Uint8Array, format: "der"): Bytes;
  /** Writes a seed of 32 bytes, the form that RFC 9881 recommends, or an expanded key. */
  writeSecretKey(set: SetNumber, secretKey: Uint8Array, format: "pem"): string;
  writeSecretKey(set: SetNumber, secretKey: Uint8Array, format: "der"): Bytes;
}

/** Loads the module for key files. */
export function loadKeyFiles(): Promise<KeyFiles>;
