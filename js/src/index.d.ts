/// <reference lib="esnext.disposable" />
import type { Bytes, Reason, Verifier, VerifyOptions } from "./verify.js";
export { MldsaError } from "./verify.js";
export type { Bytes, Code, NamedHash, Reason, Verifier, VerifyOptions } from "./verify.js";

export interface SignOptions extends VerifyOptions {
  /** 32 random bytes in place of new ones, or `false` for a deterministic signature. */
  readonly extraEntropy?: Uint8Array | false;
}

/** Memory of the module that is freed when the object is collected, or at once. Secrets in it are wiped. */
export interface Owner {
  /** Frees it. Later calls throw `freed`. */
  free(): void;
  /** Does what `free` does, where the host has `Symbol.dispose`. */
  [Symbol.dispose](): void;
}

/** A public key that is expanded once. 20, 36 or 64 KiB. */
export interface PreparedVerifyingKey extends Owner {
  /** Returns whether the signature is valid. */
  verify(message: Uint8Array, signature: Uint8Array, options?: VerifyOptions): boolean;
  /** Returns `null`, or the reason for which the signature is rejected. */
  explain(message: Uint8Array, signature: Uint8Array, options?: VerifyOptions): Reason | null;
}

/** A private key that is expanded once. */
export interface PreparedSigningKey extends Owner {
  readonly publicKey: Bytes;
  /** Signs (FIPS 204 algorithms 2 and 4). Does not check the private key again. */
  sign(message: Uint8Array, options?: SignOptions): Bytes;
}

export interface Vote {
  /** Number of the member, from 0 on. */
  readonly member: number;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** Expanded public keys whose votes are verified together. */
export interface Committee extends Owner {
  /** Number of members. */
  readonly length: number;
  /** Returns `null` or a reason for each vote. A bad vote does not affect others. */
  verifyBatch(votes: Iterable<Vote>): (Reason | null)[];
}

export interface Item {
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** One parameter set. Private keys are in expanded form. */
export interface Mldsa extends Verifier {
  /** Makes a key pair of a seed of 32 bytes, or of a new one (FIPS 204 algorithms 1 and 6). */
  keygen(seed?: Uint8Array): { publicKey: Bytes; secretKey: Bytes };
  /** Checks a private key and returns its public key. */
  getPublicKey(secretKey: Uint8Array): Bytes;
  /** Signs (FIPS 204 algorithms 2 and 4). Checks the private key, which costs a key generation. */
  sign(message: Uint8Array, secretKey: Uint8Array, options?: SignOptions): Bytes;
  /** Expands a public key once, for many signatures. */
  prepareVerifying(publicKey: Uint8Array): PreparedVerifyingKey;
  /** Takes a private key in expanded form or its seed of 32 bytes. */
  prepareSigning(secretKey: Uint8Array): PreparedSigningKey;
  /** Expands the keys of a committee, whose votes are under one context and in the form of the set. */
  committee(publicKeys: Iterable<Uint8Array>, options?: VerifyOptions): Committee;
  /** Returns `null` or a reason for each signature. A key that comes more than once is expanded once. */
  verifyBatch(items: Iterable<Item>, options?: VerifyOptions): (Reason | null)[];
}

/** The three parameter sets. */
export interface Sets {
  readonly ml_dsa44: Mldsa;
  readonly ml_dsa65: Mldsa;
  readonly ml_dsa87: Mldsa;
}
export const ml_dsa44: Mldsa;
export const ml_dsa65: Mldsa;
export const ml_dsa87: Mldsa;

/** The WebAssembly module in use: with vectors where the host has them. */
export const module: "simd" | "plain";
/** Makes the parameter sets, with memory of their own, of the module in use or of the other. */
export function load(kind?: "simd" | "plain"): Promise<Sets>;
/** Decodes the bytes of one of the two modules, for a file that a build step writes. */
export function moduleBytes(kind: "simd" | "plain"): Bytes;
/** Makes the parameter sets of a compiled module, with memory of their own. */
export function fromModule(module: WebAssembly.Module): Sets;
