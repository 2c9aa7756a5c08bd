import { bytes, checked, MldsaError } from "./errors.js";

/** Bytes of each of the module's two windows. */
const WINDOW = 65536;
const EMPTY = new Uint8Array(0);

/** A module of one function that uses a vector. */
const PROBE = Uint8Array.of(
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
);

/** Whether this host has WebAssembly's vectors. */
export const hasSimd = () => WebAssembly.validate(PROBE);

/** Compiles a module from its base64. Nothing is fetched. */
export async function compile(text) {
  const deflated = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** One instance of the module, and its windows. */
export class Engine {
  #module;
  #exports;
  #views;
  /** Number of instances before this one: a key of an earlier one is gone. */
  generation = 0;
  #registry = new FinalizationRegistry(({ slot, generation }) => this.close(slot, generation));

  /** @param {WebAssembly.Module} module */
  constructor(module) {
    this.#module = module;
    this.#start();
  }

  #start() {
    this.#exports = new WebAssembly.Instance(this.#module, {}).exports;
    this.#views = undefined;
  }

  /** Calls an export. A trap ends the instance, and the next call has a new one. */
  call(name, ...numbers) {
    try {
      return this.#exports[name](...numbers);
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      for (const view of Object.values(this.#windows())) view.fill(0);
      this.generation += 1;
      this.#start();
      throw new MldsaError("internal", "the module was restarted");
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

  /** Hashes a message of any length for a key, or for a member of a committee. */
  message(slot, member, message, context) {
    const window = () => this.#windows().message;
    checkContext(context);
    window().set(context);
    checked(this.call("message_start", slot, member, context.length));
    for (let at = 0; at < message.length; at += WINDOW) {
      const piece = message.subarray(at, at + WINDOW);
      window().set(piece);
      checked(this.call("message_update", piece.length));
    }
    checked(this.call("message_end"));
    window().fill(0, 0, Math.min(WINDOW, Math.max(message.length, context.length)));
  }

  /** Takes a digest in place of a message. */
  digest(slot, hash, digest, context) {
    checkContext(context);
    if (digest.length > 64) throw new MldsaError("digest-length");
    const { message } = this.#windows();
    message.set(digest);
    message.set(context, digest.length);
    checked(this.call("message_digest", slot, hash, digest.length, context.length));
  }

  /** Frees a slot of this instance. */
  close(slot, generation) {
    if (generation === this.generation) this.call("close", slot);
  }

  /** An owner of a slot, which frees it when it is collected at the latest. */
  own(owner, slot) {
    const held = { slot, generation: this.generation };
    this.#registry.register(owner, held, held);
    return {
      get slot() {
        return held.slot;
      },
      use: () => {
        if (held.slot < 0 || held.generation !== this.generation) throw new MldsaError("freed");
        return held.slot;
      },
      free: () => {
        if (held.slot >= 0) this.close(held.slot, held.generation);
        held.slot = -1;
        this.#registry.unregister(held);
      },
    };
  }
}

function checkContext(context) {
  if (context.length > 255) throw new MldsaError("context-length");
}

/** The context of an options object, at most 255 bytes. */
export function contextOf(options) {
  const context = options?.context;
  return context === undefined ? EMPTY : bytes(context, "context");
}
