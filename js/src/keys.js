// Key files: SubjectPublicKeyInfo and PKCS#8 (RFC 9881), in PEM or DER. A module of its own, for programs that have such files.
import { plain } from "../dist/keys.js";
import { compile, Engine } from "./engine.js";
import { bytes, checked, MldsaError, none } from "./errors.js";

export { MldsaError } from "./errors.js";

const PEM = { der: false, pem: true };

/** Whether bytes are DER: one SEQUENCE from the first byte to the last. Anything else is a text. */
function isDer(encoded) {
  const [tag, first, ...more] = encoded.subarray(0, 6);
  const count = first > 0x80 ? first - 0x80 : 0;
  const length = count ? more.slice(0, count).reduce((value, byte) => value * 256 + byte, 0) : first;
  return tag === 0x30 && encoded.length === 2 + count + length;
}

/** Loads the module. Returns functions that read and write keys. */
export async function loadKeyFiles(...more) {
  none(more);
  const engine = new Engine(await compile(plain));
  const part = (slot, number) => engine.take(checked(engine.call("key_part", slot, number)));

  /** Reads a file for a step on the slot of its key. A copy that is made of a text is wiped. */
  function read(encoded, secret, step) {
    const copy = typeof encoded === "string" ? new TextEncoder().encode(encoded) : undefined;
    const file = copy ?? bytes(encoded, "key");
    try {
      const open = () => checked(engine.call("key_file", engine.put(file), Number(secret), Number(copy !== undefined || !isDer(file))));
      return engine.run(() => engine.using(open(), (slot) => ({ set: checked(engine.call("key_set", slot)), ...step(slot) })));
    } finally {
      copy?.fill(0);
    }
  }

  /** Writes a key that `open` puts into a slot, in DER or, with the next number, in PEM. */
  function write(set, format, number, open) {
    if (![44, 65, 87].includes(set)) throw new MldsaError("unknown_set");
    if (!Object.hasOwn(PEM, format)) throw new MldsaError("type", "the format is neither \"pem\" nor \"der\"");
    const encoded = engine.run(() => engine.using(open(), (slot) => part(slot, number + Number(PEM[format]))));
    if (!PEM[format]) return encoded;
    const text = new TextDecoder().decode(encoded);
    encoded.fill(0);
    return text;
  }

  return {
    readPublicKey(encoded, ...more) {
      none(more);
      return read(encoded, false, (slot) => ({ publicKey: part(slot, 0) }));
    },
    readSecretKey(encoded, ...more) {
      none(more);
      return read(encoded, true, (slot) => ({ publicKey: part(slot, 0), secretKey: part(slot, 1) }));
    },
    writePublicKey(set, publicKey, format, ...more) {
      none(more);
      const key = bytes(publicKey, "public key");
      return write(set, format, 2, () => checked(engine.call("public_key", set, engine.put(key), 0)));
    },
    writeSecretKey(set, secretKey, format, ...more) {
      none(more);
      const key = bytes(secretKey, "secret key");
      return write(set, format, 4, () => checked(engine.call("private_key", set, engine.put(key), Number(key.length === 32), 0)));
    },
  };
}
