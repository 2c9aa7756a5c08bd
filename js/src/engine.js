import { bytes, checked, MldsaError } from "./errors.js";
import { inflate } from "./inflate.js";

/** Bytes of each of the module's two windows. */
const WINDOW = 65536;
const EMPTY = new Uint8Array(0);

/** A module of one function that uses a vector. */
const PROBE = Uint8Array.of(
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
);

/** Whether this host has WebAssembly's vectors. */
export const hasSimd = () => globalThis.WebAssembly?.validate(PROBE) === true;

/** The bytes of a module, which the package has deflated and in base64. Nothing is fetched. */
export function unpack({ size, text }) {
  const deflated = atob(text);
  return inflate(new Uint8Array(deflated.length).map((_, n) => deflated.charCodeAt(n)), size);
}

/** Compiles a module. A policy of the page may forbid it. */
export async function compile(packed) {
  const bytes = unpack(packed);
  try {
    return await WebAssembly.compile(bytes);
  } catch (error) {
    throw new MldsaError("no_webassembly", undefined, error);
  }
}

/** One instance of the module, and its windows. */
export class Engine {
  #module;
  #exports;
  #views;
  #running = false;
  /** Number of instances before this one: a key of an earlier one is gone. */
  generation = 0;
  #registry = new FinalizationRegistry((held) => this.run(() => this.#release(held)));

  /** @param {WebAssembly.Module} module */
  constructor(module) {
    this.#module = module;
    this.#start();
  }

  #start() {
    this.#views = undefined;
    this.#exports = new WebAssembly.Instance(this.#module, {}).exports;
  }

  /** Wipes the memory of this instance and makes another, if each step succeeds. */
  #restart() {
    this.generation += 1;
    new Uint8Array(this.#exports.memory.buffer).fill(0);
    this.#start();
    this.#running = false;
  }

  /**
   * Runs the calls of one operation, in which no code of the caller may run. Any exception but a typed
   * one ends the instance: a trap, and a stack overflow in the module or in the functions that call it,
   * which leave its state, its slots and its windows as they are. The stack may be too short to wipe
   * them at once: the next operation then does.
   */
  run(step) {
    if (this.#running) this.#restart();
    this.#running = true;
    let result;
    try {
      result = step();
    } catch (error) {
      if (error instanceof MldsaError && error.code !== "internal") {
        this.#running = false;
        throw error;
      }
      this.#restart();
      throw new MldsaError("internal", "the module failed and was restarted", error);
    }
    this.#running = false;
    return result;
  }

  /** Calls an export, within `run`. */
  call(name, ...numbers) {
    return this.#exports[name](...numbers);
  }

  /** Runs a step on a new slot, within `run`, and frees the slot. */
  using(slot, step) {
    try {
      return step(slot);
    } finally {
      checked(this.call("close", slot));
    }
  }

  /** The windows. Memory that has grown has a new buffer. */
  #windows() {
    const { memory, data, message } = this.#exports;
    if (this.#views?.data.buffer !== memory.buffer) {
      const view = (at) => new Uint8Array(memory.buffer, at, WINDOW);
      this.#views = { data: view(data()), message: view(message()) };
    }
    return this.#views;
  }

  /** Writes to the window of keys and signatures. Returns the number of bytes. */
  put(view, at = 0) {
    if (at + view.length > WINDOW) throw new MldsaError("length");
    this.#windows().data.set(view, at);
    return view.length;
  }

  /** A copy of the first bytes of that window, which are wiped. */
  take(length) {
    const { data } = this.#windows();
    const copy = data.slice(0, length);
    data.fill(0, 0, length);
    return copy;
  }

  /** Hashes a message of any length, or takes its digest or its mu, for a key or for a member of a committee. */
  message(slot, member, { hash, text }, context) {
    const window = () => this.#windows().message;
    if (hash === "mu") {
      if (context.length > 0) throw new MldsaError("context_length", "mu contains a context already");
      window().set(text);
      checked(this.call("message_mu"));
      window().fill(0, 0, text.length);
      return;
    }
    if (hash !== undefined) {
      window().set(text);
      window().set(context, text.length);
      checked(this.call("message_digest", slot, member, hash, text.length, context.length));
      window().fill(0, 0, text.length + context.length);
      return;
    }
    window().set(context);
    checked(this.call("message_start", slot, member, context.length));
    for (let at = 0; at < text.length; at += WINDOW) {
      const piece = text.subarray(at, at + WINDOW);
      window().set(piece);
      checked(this.call("message_update", piece.length));
    }
    checked(this.call("message_end"));
    window().fill(0, 0, Math.min(WINDOW, Math.max(text.length, context.length)));
  }

  #release(held) {
    if (held.slot >= 0 && held.generation === this.generation) checked(this.call("close", held.slot));
    held.slot = -1;
  }

  /** An owner of a slot, which frees it when it is collected at the latest. `use` is called within `run`. */
  own(owner, slot) {
    const held = { slot, generation: this.generation };
    this.#registry.register(owner, held, held);
    return {
      use: () => {
        if (held.slot < 0 || held.generation !== this.generation) throw new MldsaError("freed");
        return held.slot;
      },
      free: () => {
        this.run(() => this.#release(held));
        this.#registry.unregister(held);
      },
    };
  }
}

/** A copy of the context among options, at most 255 bytes. One that is named has a value. */
export function contextOf(options) {
  if (!("context" in options)) return EMPTY;
  const view = bytes(options.context, "context");
  if (view.length > 255) throw new MldsaError("context_length");
  return view.slice();
}
