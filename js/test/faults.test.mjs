// After any exception between two calls of the module, or in one, later results are right and no secret
// is left in its memory.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { sha512 } from "@noble/hashes/sha2.js";
import { fromModule, MldsaError, moduleBytes } from "../src/index.js";

const module = new WebAssembly.Module(moduleBytes("plain"));
const text = Uint8Array.of(1, 2, 3);

/** Sets of a module whose exports call `hook(name, call)`, and the memories of its instances. */
function hooked(hook) {
  const memories = [];
  const { Instance } = WebAssembly;
  const step = (body) => {
    const before = WebAssembly.Instance;
    WebAssembly.Instance = class extends Instance {
      constructor(...values) {
        hook("Instance", () => {});
        super(...values);
        const exports = {};
        for (const [name, value] of Object.entries(this.exports)) {
          exports[name] = typeof value === "function" ? (...numbers) => hook(name, () => value(...numbers)) : value;
        }
        Object.defineProperty(this, "exports", { value: exports });
        memories.push(exports.memory);
      }
    };
    try {
      return body();
    } finally {
      WebAssembly.Instance = before;
    }
  };
  return { sets: step(() => fromModule(module)), memories, step };
}

/** Operations of a set and the values that they have to return. */
function operations(set) {
  const [one, two] = [1, 2].map((n) => set.keygen(new Uint8Array(32).fill(n)));
  const hashed = set.prehash(sha512);
  const signing = { extraEntropy: new Uint8Array(32).fill(7) };
  const signature = set.sign(text, one.secretKey, signing);
  const hashedSignature = hashed.sign(text, one.secretKey, signing);
  const good = { message: text, signature };
  // Of the first member, as a vote of the second on another message.
  const forged = { message: Uint8Array.of(9), signature };
  const items = [good, forged, good].map((vote, n) => ({ publicKey: [one, two, one][n].publicKey, ...vote }));
  const owning = (open, use) => () => {
    const owner = open();
    try {
      return use(owner);
    } finally {
      owner.free();
    }
  };
  const votes = [{ ...good, member: 0 }, { ...forged, member: 1 }, { ...good, member: 0 }];
  const bad = "challenge_mismatch";
  const committee = () => set.committee([one.publicKey, two.publicKey]);
  return {
    keygen: [() => set.keygen(new Uint8Array(32).fill(1)), one],
    getPublicKey: [() => set.getPublicKey(one.secretKey), one.publicKey],
    sign: [() => set.sign(text, one.secretKey, signing), signature],
    "sign prehashed": [() => hashed.sign(text, one.secretKey, signing), hashedSignature],
    "sign prepared": [owning(() => set.prepareSigning(one.secretKey), (key) => key.sign(text, signing)), signature],
    verify: [() => set.explain(text, signature, one.publicKey), null],
    "verify wrong": [() => set.explain(text, signature, two.publicKey), bad],
    "verify prehashed": [() => hashed.explain(text, hashedSignature, one.publicKey), null],
    "verify prepared": [owning(() => set.prepareVerifying(one.publicKey), (key) => key.explain(text, signature)), null],
    batch: [() => set.verifyBatch(items), [null, bad, null]],
    committee: [owning(committee, (keys) => keys.verifyBatch(votes)), [null, bad, null]],
    "forged alone": [owning(committee, (keys) => keys.verifyBatch(votes.slice(1, 2))), [bad]],
    "forged first": [owning(committee, (keys) => keys.verifyBatch([votes[1], votes[0]])), [bad, null]],
  };
}

const typed = (error) => error instanceof MldsaError && error.code === "internal";
const empty = (memory) => !Buffer.from(memory.buffer).some((byte) => byte !== 0);

test("an exception at every call of every operation", (context) => {
  let [left, after, failing, unwiped] = [-1, false, 0, 0];
  const { fill } = Uint8Array.prototype;
  context.after(() => (Uint8Array.prototype.fill = fill));
  Uint8Array.prototype.fill = function (...values) {
    if (left === -2 && unwiped > 0 && this.length > 65536) {
      unwiped -= 1;
      throw new kind("no stack to wipe");
    }
    return fill.apply(this, values);
  };
  class Foreign extends Error {}
  let kind = RangeError;
  const { sets, memories, step } = hooked((name, call) => {
    if (name === "Instance" && left === -2 && failing > 0) {
      failing -= 1;
      throw new kind("no stack for an instance");
    }
    if (name === "Instance" || left < 0) return call();
    left -= 1;
    if (left >= 0) return call();
    left = -2;
    if (after) call();
    throw new kind("injected");
  });
  const list = operations(sets.ml_dsa44);
  let faults = 0;
  step(() => {
    for (const [name, [run, expected]] of Object.entries(list)) {
      for (let at = 1; ; at += 1) {
        [kind, after, failing] = [[RangeError, Foreign, WebAssembly.RuntimeError][at % 3], faults % 2 === 1, faults % 5 === 0 ? 1 : 0];
        unwiped = faults % 5 === 2 ? 1 : 0;
        const repaired = failing + unwiped === 0;
        const held = sets.ml_dsa44.prepareVerifying(new Uint8Array(1312));
        const instances = memories.length;
        left = at;
        let result;
        try {
          result = run();
        } catch (error) {
          assert(typed(error) || error instanceof kind, `${name} ${at}: ${error}`);
          result = undefined;
        }
        const reached = left === -2;
        left = reached ? -2 : -1;
        if (!reached) {
          assert.deepEqual(result, expected, name);
          held.free();
          break;
        }
        faults += 1;
        assert.equal(result, undefined, `${name} ${at}`);
        assert.equal(unwiped + failing, 0, `${name} ${at}: no restart was tried`);
        if (repaired) assert.equal(memories.length, instances + 1, `${name} ${at}: no new instance`);
        if (repaired) assert(empty(memories[instances - 1]), `${name} ${at}: memory of the old instance`);
        // Once at least, the results of all operations are compared.
        for (const other of at === 3 ? Object.keys(list) : [name, "forged alone"]) {
          assert.deepEqual(list[other][0](), list[other][1], `${other} after ${name} ${at}`);
        }
        // At the latest now, where the first attempt to wipe the memory failed.
        assert(empty(memories[instances - 1]), `${name} ${at}: memory of the old instance`);
        assert.throws(() => held.explain(text, new Uint8Array(2420)), { code: "freed" });
        held.free();
        left = -1;
      }
    }
  });
  console.log(`${faults} exceptions`);
  assert(faults > 80, `${faults}`);
});

test("votes of an exception are not judged in a later group", () => {
  // The exception is thrown by the method of JavaScript that writes a signature.
  const set = fromModule(module).ml_dsa44;
  const list = operations(set);
  const { set: original } = Uint8Array.prototype;
  for (let at = 1; at < 12; at += 1) {
    let left = at;
    Uint8Array.prototype.set = function (...values) {
      if ((left -= 1) === 0) throw new RangeError("Maximum call stack size exceeded");
      return original.apply(this, values);
    };
    try {
      list.committee[0]();
    } catch (error) {
      assert(typed(error) || error instanceof RangeError, `${error}`);
    } finally {
      Uint8Array.prototype.set = original;
    }
    for (const name of ["forged alone", "forged first", "committee"]) assert.deepEqual(list[name][0](), list[name][1], `${name} ${at}`);
  }
});

test("operations at the bottom of a recursion", () => {
  const set = fromModule(module).ml_dsa44;
  const list = operations(set);
  let [failed, succeeded] = [0, 0];
  const at = (height, run) => {
    // Runs the step where `height` functions of the deepest recursion have returned.
    let left = height;
    let outcome = { error: new RangeError("nothing was run") };
    const down = () => {
      try {
        down();
      } catch (error) {
        if (left < 0) throw error;
      }
      left -= 1;
      if (left !== -1) return;
      try {
        outcome = { result: run() };
      } catch (error) {
        outcome = { error };
      }
    };
    try {
      down();
    } catch (error) {
      return { error };
    }
    return outcome;
  };
  for (const name of ["verify", "verify wrong", "sign", "keygen", "sign prepared", "committee", "batch", "sign prehashed"]) {
    const [run, expected] = list[name];
    for (let height = 2; height < 400; height += 1 + (height >> 4)) {
      const { result, error } = at(height, run);
      if (error === undefined) {
        succeeded += 1;
        assert.deepEqual(result, expected, `${name} ${height}`);
      } else {
        failed += 1;
        assert(typed(error) || error instanceof RangeError, `${name} ${height}: ${error}`);
      }
      for (const other of [name, "forged alone"]) assert.deepEqual(list[other][0](), list[other][1], `${other} after ${name} ${height}`);
    }
  }
  console.log(`${failed} operations failed, ${succeeded} succeeded`);
  assert(failed > 50 && succeeded > 50, `${failed} of ${failed + succeeded} failed`);
});

test("a private key for which there is no memory does not stay in the window", () => {
  const { sets, memories } = hooked((_, call) => call());
  const [memory] = memories;
  const seed = Uint8Array.from(randomBytes(32));
  const { secretKey } = sets.ml_dsa44.keygen(seed);
  // Pages that nobody writes to, up to the limit of the address space.
  memory.grow(65536 - memory.buffer.byteLength / 65536);
  const keys = [];
  assert.throws(() => {
    for (let n = 0; n < 100; n += 1) keys.push(sets.ml_dsa44.prepareSigning(secretKey));
  }, { code: "memory" });
  for (const key of keys) key.free();
  // Holds the memory that the keys had, so that there is no room for another.
  const rest = [];
  assert.throws(() => {
    for (let n = 0; n < 100; n += 1) rest.push(sets.ml_dsa44.prepareVerifying(new Uint8Array(1312)));
  }, { code: "memory" });
  const used = Buffer.from(memory.buffer, 0, 4 << 20);
  for (const [step, secret] of [[() => sets.ml_dsa44.sign(text, secretKey), secretKey.subarray(32, 64)], [() => sets.ml_dsa44.keygen(seed), seed]]) {
    assert.throws(step, { code: "memory" });
    assert(!used.includes(secret), "a secret stays");
  }
});
