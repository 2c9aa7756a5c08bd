/** Codes of the module's statuses (`wasm/src/status.rs`), by their number. */
const CODES = [
  "", "signature-length", "hint-encoding", "response-norm", "challenge-mismatch", "key-length", "secret-range",
  "inconsistent-key", "context-length", "digest-length", "weak-hash", "unknown-hash", "signing-failed", "unknown-set",
  "freed", "unknown-member", "length", "order", "memory", "internal",
];

/** Number of the last reason for which a signature is rejected, all others being errors of the caller. */
const LAST_REASON = 4;

/** An error with a `code` that names the reason. */
export class MldsaError extends Error {
  /** @param {string} code @param {string} [what] @param {unknown} [cause] */
  constructor(code, what, cause) {
    super(what ? `${what}: ${code}` : code, cause === undefined ? undefined : { cause });
    this.name = "MldsaError";
    this.code = code;
  }
}

/** The result of a call that is not negative. Throws otherwise. */
export function checked(result) {
  if (result >= 0) return result;
  throw new MldsaError(CODES[-result] ?? "internal");
}

/** `null` of a valid signature, or the reason. Throws an error of the caller. */
export function verdict(result) {
  return result < 0 && -result <= LAST_REASON ? CODES[-result] : (checked(result), null);
}

const typed = Object.getPrototypeOf(Uint8Array.prototype);
const getter = (name) => Object.getOwnPropertyDescriptor(typed, name).get;
const [tagOf, bufferOf, offsetOf, lengthOf] = [Symbol.toStringTag, "buffer", "byteOffset", "length"].map(getter);
const { keys } = typed;

/** Whether a value is a `Uint8Array`, whatever it says of itself. */
export const isBytes = (value) => tagOf.call(value) === "Uint8Array";

/**
 * A view of the caller's bytes that none of its own properties can change. Throws if they are no
 * `Uint8Array`, or one whose buffer was transferred away or has become too short.
 */
export function bytes(value, what, length) {
  if (!isBytes(value)) throw new MldsaError("type", `${what} is no Uint8Array`);
  let view;
  try {
    // Throws where the buffer has no longer what the view shows, which has a length of 0 then.
    keys.call(value);
    view = new Uint8Array(bufferOf.call(value), offsetOf.call(value), lengthOf.call(value));
  } catch {
    throw new MldsaError("detached", what);
  }
  if (length !== undefined && view.length !== length) {
    throw new MldsaError("length", `${what} has ${view.length} bytes, not ${length}`);
  }
  return view;
}

/** Takes what is needed of each item of a caller's list, whose iterator and getters are code of the caller. */
export function listOf(list, what, take) {
  if (typeof list?.[Symbol.iterator] !== "function") throw new MldsaError("type", `${what} are not iterable`);
  const taken = [];
  for (const item of list) {
    if (typeof item !== "object" || item === null) throw new MldsaError("type", `one of ${what} is no object`);
    taken.push(take(item));
  }
  return taken;
}
