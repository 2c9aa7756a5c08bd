/** What is wrong, by code. The first ones are those of the module's statuses, in the order of `wasm/src/status.rs`. */
const TEXTS = {
  "": "",
  signature_length: "the signature has a wrong length",
  hint_encoding: "the hints are not encoded canonically",
  response_norm: "a coefficient of z is out of range",
  challenge_mismatch: "the signature is for another message, context or key, or damaged",
  key_length: "the key has a wrong length",
  secret_range: "a coefficient of the private key is out of range",
  inconsistent_key: "the parts of the private key do not fit each other",
  context_length: "the context has more than 255 bytes",
  digest_length: "the digest has not the length of its hash",
  weak_prehash: "the hash is too weak for the parameter set",
  unknown_hash: "a hash function of FIPS 204 with its identifier `oid` is needed",
  signing_failed: "no signature could be made",
  unknown_set: "there is no such parameter set",
  freed: "the key was freed, or lost when the module was restarted",
  unknown_member: "the committee has no such member",
  length: "a length is wrong",
  order: "the module was called in a wrong order",
  memory: "there is no memory",
  internal: "the module failed",
  key_encoding: "the key is no PEM or DER of a key of ML-DSA",
  constant_k: "all bytes of K are equal: signatures would reveal the key",
  type: "an argument has a wrong type",
  detached: "the memory of an argument was transferred away or has become too short",
  randomness: "the host's generator returned zeros",
  no_webassembly: "the host compiles no WebAssembly; a Content-Security-Policy has to allow script-src 'wasm-unsafe-eval'",
};
const CODES = Object.keys(TEXTS);

/** Number of the last reason for which a signature is rejected, all others being errors of the caller. */
const LAST_REASON = CODES.indexOf("challenge_mismatch");

/** An error with a `code` that names the reason. */
export class MldsaError extends Error {
  /** @param {string} code @param {string} [text] @param {unknown} [cause] */
  constructor(code, text = TEXTS[code], cause = undefined) {
    super(text, cause === undefined ? undefined : { cause });
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
    throw new MldsaError("detached", `${what}: its memory was transferred away or has become too short`);
  }
  if (length !== undefined && view.length !== length) {
    throw new MldsaError("length", `${what} has ${view.length} bytes, not ${length}`);
  }
  return view;
}

/** Whether a value is a plain object, of this realm or another. */
function isPlain(value) {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf"));
}

/**
 * The fields of a plain object of the caller, each of which is read once. A name that is not allowed is an
 * error: a misspelt context would be the empty one.
 */
export function fieldsOf(object, what, ...allowed) {
  if (!isPlain(object)) throw new MldsaError("type", `${what}: no plain object`);
  const fields = Object.create(null);
  for (const name of Reflect.ownKeys(object)) {
    if (!allowed.includes(name)) {
      throw new MldsaError("type", `${what}: unknown name "${String(name)}"; allowed: ${allowed.join(", ")}`);
    }
    fields[name] = object[name];
  }
  return fields;
}

/** The options of a call, of which it has those that are allowed. */
export const optionsOf = (options, ...allowed) => fieldsOf(options === undefined ? {} : options, "options", ...allowed);

/** Throws if a call has more arguments than it takes: they may be options that it does not have. */
export function none(more) {
  if (more.some((value) => value !== undefined)) throw new MldsaError("type", "more arguments than this method has");
}

/** The items of a caller's list, whose iterator is code of the caller. */
export function listOf(list, what, take) {
  if (typeof list?.[Symbol.iterator] !== "function") throw new MldsaError("type", `${what} are not iterable`);
  const taken = [];
  for (const item of list) taken.push(take(item));
  return taken;
}
