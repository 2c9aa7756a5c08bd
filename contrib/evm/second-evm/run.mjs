// The contracts in ethereumjs instead of revm, verdicts against the vectors and against
// @noble/post-quantum: `node run.mjs VECTORS.json` (written by the binary `vectors`).
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Common, Hardfork, Mainnet } from '@ethereumjs/common';
import { createEVM } from '@ethereumjs/evm';
import { SimpleStateManager } from '@ethereumjs/statemanager';
import { createAddressFromString, hexToBytes } from '@ethereumjs/util';
import { keccak_256, shake128, shake256 } from '@noble/hashes/sha3.js';
import { ml_dsa44, ml_dsa65, ml_dsa87 } from '@noble/post-quantum/ml-dsa.js';

const here = path.dirname(fileURLToPath(import.meta.url));
const vectors = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const noble = { 44: ml_dsa44, 65: ml_dsa65, 87: ml_dsa87 };
const common = new Common({ chain: Mainnet, hardfork: Hardfork.Osaka });
const evm = await createEVM({ common, stateManager: new SimpleStateManager({ common }) });
const bytes = (hex) => hexToBytes(`0x${hex}`);
const address = (hex) => createAddressFromString(`0x${hex}`);
const tables = 'aa'.repeat(20);
await evm.stateManager.putCode(address(tables), bytes(vectors.tables));

async function deploy(name, ...args) {
  const code = fs.readFileSync(path.join(here, `../contracts/artifacts/${name}.hex`), 'utf8').trim();
  const data = bytes(code + args.map((a) => a.padStart(64, '0')).join(''));
  const result = await evm.runCall({ data, gasLimit: 16777216n, skipBalance: true });
  if (result.execResult.exceptionError) throw new Error(`${name}: ${result.execResult.exceptionError.error}`);
  return result.createdAddress;
}

async function call(to, input) {
  evm.journal.cleanJournal();
  const result = await evm.runCall({ to, data: bytes(input), gasLimit: 16777216n });
  if (result.execResult.exceptionError) throw new Error(result.execResult.exceptionError.error);
  return { word: hex(result.execResult.returnValue), gas: result.execResult.executionGasUsed };
}

const hex = (b) => Buffer.from(b).toString('hex');
const Q = 8380417n;
const power = (base, e) => { let r = 1n; for (; e > 0n; e >>= 1n) { if (e & 1n) r = (r * base) % Q; base = (base * base) % Q; } return r; };
const reversed = (i) => { let r = 0; for (let b = 0; b < 8; b += 1) r |= ((i >> b) & 1) << (7 - b); return r; };
const zetas = Array.from({ length: 256 }, (_, i) => power(1753n, BigInt(reversed(i))));

// The PreA form from the encoded key: algorithms 30, 32, 18 and 41 once more.
function prea(set, pk) {
  const [k, l] = { 44: [4, 4], 65: [6, 5], 87: [8, 7] }[set];
  const coefficients = [];
  for (let r = 0; r < k; r += 1) {
    for (let s = 0; s < l; s += 1) {
      const stream = shake128(new Uint8Array([...pk.slice(0, 32), s, r]), { dkLen: 168 * 8 });
      for (let at = 0, n = 0; n < 256; at += 3) {
        const a = stream[at] | (stream[at + 1] << 8) | ((stream[at + 2] & 0x7f) << 16);
        if (a < Number(Q)) { coefficients.push(a); n += 1; }
      }
    }
  }
  for (let r = 0; r < k; r += 1) {
    const t = [];
    for (let j = 0; j < 256; j += 1) {
      const bit = 10 * j;
      const at = 32 + 320 * r + (bit >> 3);
      t.push(BigInt((((pk[at] | (pk[at + 1] << 8)) >> (bit & 7)) & 1023) << 13));
    }
    for (let len = 128, m = 0; len > 0; len >>= 1) {
      for (let start = 0; start < 256; start += 2 * len) {
        m += 1;
        for (let j = start; j < start + len; j += 1) {
          const product = (zetas[m] * t[j + len]) % Q;
          t[j + len] = (t[j] + Q - product) % Q;
          t[j] = (t[j] + product) % Q;
        }
      }
    }
    coefficients.push(...t.map(Number));
  }
  const body = coefficients.map((a) => a.toString(16).padStart(8, '0')).join('');
  return hex(Buffer.from('MLDSA-PREA/v1')) + set.toString(16) + hex(pk.slice(0, 32)) + hex(shake256(pk, { dkLen: 64 })) + body;
}

const hex20 = (a) => a.toString().slice(2);
const yes = '01'.padStart(64, '0');
const no = '00'.padStart(64, '0');
let failed = 0;
for (const v of vectors.sets) {
  for (const [n, code] of v.codes.entries()) {
    await evm.stateManager.putCode(address((0x10 + n).toString(16).repeat(20)), bytes(code));
  }
  const reference = '10'.repeat(20) + hex(keccak_256(bytes(v.codes[0])));
  const keyVerifier = await deploy(`KeyVerifier${v.set}`, tables);
  const core = await deploy(`Core${v.set}`, tables);
  const expand = await deploy(`Expand${v.set}`, tables);
  const registry = await deploy(`Registry${v.set}`, hex20(expand), hex20(core));
  const stateless = await deploy(`Stateless${v.set}`, hex20(expand), hex20(core));
  if (prea(v.set, bytes(v.pk)) !== v.packed) { failed += 1; console.log(v.set, 'PreA form differs'); }
  if ((await call(registry, v.pk)).word !== v.commit) { failed += 1; console.log(v.set, 'commitment differs'); }
  // Set, rho and tr as the PreA form has them, after its tag.
  const [rho, tr] = [v.packed.slice(28, 92), v.packed.slice(92, 220)];
  let agreed = 0; let valid = 0; let gas = 0n;
  for (const c of v.cases) {
    const tail = (c.ctx.length / 2).toString(16).padStart(2, '0') + c.ctx + c.msg;
    let judged = false;
    try { judged = noble[v.set].verify(bytes(c.sig), bytes(c.msg), bytes(v.pk), { context: bytes(c.ctx) }); } catch { judged = false; }
    const answers = [
      await call(keyVerifier, reference + c.sig + tail),
      await call(registry, v.commit + rho + tr + v.words + c.sig + tail),
      await call(stateless, v.pk + c.sig + tail),
    ];
    const right = answers.every((a) => a.word === (c.valid ? yes : no)) && judged === c.valid;
    if (right) agreed += 1; else { failed += 1; console.log(v.set, c.name, c.valid, judged, answers.map((a) => a.word.slice(-1))); }
    if (c.valid) { valid += 1; gas = answers[0].gas; }
  }
  console.log(`ML-DSA-${v.set}: ${agreed} of ${v.cases.length} cases agree in 3 variants and with noble, ${valid} valid; last valid by key in code: ${gas} gas of execution`);
}

// The committed vectors of the form.
for (const v of JSON.parse(fs.readFileSync(path.join(here, '../vectors/prea.json'), 'utf8'))) {
  const form = prea(v.set, bytes(v.pk));
  const same = hex(keccak_256(bytes(form))) === v.packed_keccak256 && (v.packed === '' || v.packed === form);
  let judged = false;
  try { judged = noble[v.set].verify(bytes(v.sig), bytes(v.msg), bytes(v.pk), { context: bytes(v.ctx) }); } catch { judged = false; }
  if (!same || judged !== v.valid) { failed += 1; console.log('prea.json', v.set, same, judged, v.valid); }
}
process.exit(failed === 0 ? 0 : 1);
