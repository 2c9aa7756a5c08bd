// Decompression of the modules (RFC 1951). `DecompressionStream` and `Response` are not in every host.

/** A table of a Huffman code: at the next bits of a stream, the lowest first, 16 times the symbol and its length. */
function codeOf(lengths) {
  const most = Math.max(...lengths);
  const table = new Uint16Array(1 << most);
  // The next code, whose bits are reversed: a longer code begins with the same number.
  let next = 0;
  for (let length = 1; length <= most; length += 1) {
    for (let symbol = 0; symbol < lengths.length; symbol += 1) {
      if (lengths[symbol] !== length) continue;
      for (let at = next; at < table.length; at += 1 << length) table[at] = 16 * symbol + length;
      // Adds one to a number whose bits are reversed.
      let bit = 1 << (length - 1);
      for (; next & bit; bit >>= 1) next ^= bit;
      next |= bit;
    }
  }
  return { table, most };
}

const FIXED = [codeOf(Array.from({ length: 288 }, (_, n) => 8 + (n > 143) - (n > 255) - (n > 255 && n < 280))), codeOf(Array(30).fill(5))];
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** Decompresses a stream of `size` bytes. Throws a `RangeError` if it is not one. */
export function inflate(bytes, size) {
  const out = new Uint8Array(size);
  let [at, written, held, count] = [0, 0, 0, 0];
  const need = (condition) => {
    if (!condition) throw new RangeError("no deflate stream");
  };
  const fill = (wanted) => {
    for (; count < wanted && at < bytes.length; count += 8) held |= bytes[at++] << count;
  };
  const drop = (used) => {
    need(used <= count);
    held >>>= used;
    count -= used;
  };
  const bits = (wanted) => {
    fill(wanted);
    const value = held & ((1 << wanted) - 1);
    drop(wanted);
    return value;
  };
  const symbol = ({ table, most }) => {
    fill(most);
    const entry = table[held & ((1 << most) - 1)];
    need(entry > 0);
    drop(entry & 15);
    return entry >> 4;
  };
  const dynamic = () => {
    const [literals, distances, used] = [bits(5) + 257, bits(5) + 1, bits(4) + 4];
    const lengths = Array(19).fill(0);
    for (let n = 0; n < used; n += 1) lengths[ORDER[n]] = bits(3);
    const code = codeOf(lengths);
    const all = [];
    while (all.length < literals + distances) {
      const found = symbol(code);
      if (found < 16) all.push(found);
      else {
        need(found > 16 || all.length > 0);
        const times = found === 16 ? 3 + bits(2) : found === 17 ? 3 + bits(3) : 11 + bits(7);
        all.push(...Array(times).fill(found === 16 ? all.at(-1) : 0));
      }
    }
    return [codeOf(all.slice(0, literals)), codeOf(all.slice(literals))];
  };
  const blocks = [
    () => {
      // What is left of a byte is skipped.
      at -= count >> 3;
      [held, count] = [0, 0];
      const length = bytes[at] | (bytes[at + 1] << 8);
      need(at + 4 + length <= bytes.length && written + length <= size);
      out.set(bytes.subarray(at + 4, at + 4 + length), written);
      [at, written] = [at + 4 + length, written + length];
    },
    () => compressed(FIXED),
    () => compressed(dynamic()),
    () => need(false),
  ];
  const compressed = ([literals, distances]) => {
    for (;;) {
      const found = symbol(literals);
      if (found === 256) return;
      if (found < 256) {
        need(written < size);
        out[written++] = found;
        continue;
      }
      const n = found - 257;
      const more = n < 8 || n === 28 ? 0 : (n >> 2) - 1;
      const length = n === 28 ? 258 : n < 8 ? n + 3 : 3 + ((4 + (n & 3)) << more) + bits(more);
      const d = symbol(distances);
      const far = d < 4 ? 0 : (d >> 1) - 1;
      const distance = d < 4 ? d + 1 : 1 + ((2 + (d & 1)) << far) + bits(far);
      need(n < 29 && d < 30 && distance <= written && written + length <= size);
      // A copy that overlaps itself repeats bytes.
      for (let left = length; left > 0; ) {
        const step = Math.min(left, distance);
        out.copyWithin(written, written - distance, written - distance + step);
        [written, left] = [written + step, left - step];
      }
    }
  };
  for (let last = 0; !last; ) {
    last = bits(1);
    blocks[bits(2)]();
  }
  need(written === size);
  return out;
}
