/** Bytes that this package returns. */
export type Bytes = ReturnType<Uint8Array["slice"]>;

/** A hash function of FIPS 204 section 5.4 with its object identifier, as those of @noble/hashes. */
export interface NamedHash {
  (message: Uint8Array, options?: { dkLen?: number }): Uint8Array;
  readonly oid?: Uint8Array;
}

/** Names of what is wrong, as `MldsaError.code`. The first four are reasons for which a signature is rejected. */
export type Reason = "signature_length" | "hint_encoding" | "response_norm" | "challenge_mismatch";
export type Code =
  | Reason | "type" | "length" | "detached" | "key_length" | "key_encoding" | "secret_range"
  | "inconsistent_key" | "constant_k" | "context_length" | "digest_length" | "weak_prehash" | "unknown_hash" | "signing_failed"
  | "randomness" | "unknown_set" | "unknown_member" | "freed" | "order" | "memory" | "internal" | "no_webassembly";

/** Thrown for arguments that no signature could be right with, and for faults. Never for a wrong signature. */
export class MldsaError extends Error {
  readonly code: Code;
  constructor(code: Code, text?: string, cause?: unknown);
}

/** Options: a plain object with these names only, each of which has a value. */
export interface VerifyOptions {
  /** At most 255 bytes; none without this name. */
  readonly context?: Uint8Array;
}

/** Verification of one parameter set (FIPS 204 algorithms 3 and 5). Sees public data alone. */
export interface Verifier {
  /** Lengths in bytes. */
  readonly lengths: Readonly<Record<"publicKey" | "secretKey" | "signature" | "seed" | "signRand", number>>;
  /** Returns whether the signature is valid. One of a wrong length is not. */
  verify(message: Uint8Array, signature: Uint8Array, publicKey: Uint8Array, options?: VerifyOptions): boolean;
  /** Returns `null` for a valid signature, or the reason for which it is rejected. */
  explain(message: Uint8Array, signature: Uint8Array, publicKey: Uint8Array, options?: VerifyOptions): Reason | null;
  /**
   * HashML-DSA, for signatures, prepared keys, batches and committees. A hash weaker than the set is
   * refused when a message is hashed: `weak_prehash`.
   */
  prehash(hash: NamedHash): this;
  /** The same, with `mu` of 64 bytes (FIPS 204 algorithm 7, line 6) in the place of a message. It takes no context. */
  externalMu(): this;
}

/** The three parameter sets. */
export interface Verifiers {
  readonly ml_dsa44: Verifier;
  readonly ml_dsa65: Verifier;
  readonly ml_dsa87: Verifier;
}
export const ml_dsa44: Verifier;
export const ml_dsa65: Verifier;
export const ml_dsa87: Verifier;
