/** A hash function of FIPS 204 section 5.4 with its object identifier, as those of @noble/hashes. */
export interface NamedHash {
  (message: Uint8Array, options?: { dkLen?: number }): Uint8Array;
  readonly oid?: Uint8Array;
}

/** Names of what is wrong, as `MldsaError.code`. The first four are reasons for which a signature is rejected. */
export type Reason = "signature-length" | "hint-encoding" | "response-norm" | "challenge-mismatch";
export type Code =
  | Reason | "type" | "length" | "detached" | "key-length" | "secret-range" | "inconsistent-key" | "context-length"
  | "digest-length" | "weak-hash" | "unknown-hash" | "signing-failed" | "unknown-set" | "unknown-member" | "freed"
  | "order" | "memory" | "internal";

/** Thrown for arguments that no signature could be right with, and for faults. Never for a wrong signature. */
export class MldsaError extends Error {
  readonly code: Code;
  constructor(code: Code, what?: string, cause?: unknown);
}

/** At most 255 bytes. */
export interface VerifyOptions {
  readonly context?: Uint8Array;
}

/** Verification of one parameter set (FIPS 204 algorithms 3 and 5). Sees public data alone. */
export interface Verifier {
  /** Lengths in bytes. */
  readonly lengths: Readonly<Record<"publicKey" | "secretKey" | "signature" | "seed" | "signRand", number>>;
  /** Returns whether the signature is valid. One of a wrong length is not. */
  verify(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array, options?: VerifyOptions): boolean;
  /** Returns `null` for a valid signature, or the reason for which it is rejected. */
  explain(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array, options?: VerifyOptions): Reason | null;
  /**
   * HashML-DSA, for signatures, prepared keys, batches and committees. A hash weaker than the set is
   * refused when a message is hashed: `weak-hash`.
   */
  prehash(hash: NamedHash): this;
  /** The same, with `mu` of 64 bytes (FIPS 204 algorithm 7, line 6) in the place of a message. It takes no context. */
  externalMu(): this;
}

export const ml_dsa44: Verifier;
export const ml_dsa65: Verifier;
export const ml_dsa87: Verifier;
