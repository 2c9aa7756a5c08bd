// Microseconds of CPU time a call, lower quartile of rounds in turn, in one process: npm run bench
import process from "node:process";
import { webcrypto } from "node:crypto";
import * as noble from "@noble/post-quantum/ml-dsa.js";
import * as ours from "./src/index.js";

const ROUNDS = 25;
const MESSAGES = Array.from({ length: 16 }, (_, n) => new Uint8Array(100).fill(n));
const plain = await ours.load("plain");
console.log(`Node ${process.version}, module ${ours.module}, microseconds of CPU time a call`);

for (const set of ["44", "65", "87"]) {
  const name = `ml_dsa${set}`;
  const [a, p, b] = [ours[name], plain[name], noble[name]];
  const { publicKey, secretKey } = a.keygen(new Uint8Array(32).fill(7));
  const options = { extraEntropy: false };
  const signatures = MESSAGES.map((message) => a.sign(message, secretKey, options));
  const prepared = { verify: a.prepareVerifying(publicKey), sign: a.prepareSigning(secretKey) };
  const committee = a.committee([publicKey]);
  const votes = MESSAGES.map((message, n) => ({ member: 0, message, signature: signatures[n] }));
  const each = (step) => () => MESSAGES.forEach((message, n) => step(message, signatures[n]));
  const rows = {
    "sign, noble": each((message) => b.sign(message, secretKey, options)),
    "sign, plain": each((message) => p.sign(message, secretKey, options)),
    "sign": each((message) => a.sign(message, secretKey, options)),
    "sign, prepared": each((message) => prepared.sign.sign(message, options)),
    "verify, noble": each((message, signature) => b.verify(signature, message, publicKey)),
    "verify, plain": each((message, signature) => p.verify(message, signature, publicKey)),
    "verify": each((message, signature) => a.verify(message, signature, publicKey)),
    "verify, prepared": each((message, signature) => prepared.verify.verify(message, signature)),
    "verify, committee": () => committee.verifyBatch(votes),
  };
  const algorithm = { name: `ML-DSA-${set}` };
  try {
    const key = await webcrypto.subtle.importKey("raw-public", publicKey, algorithm, false, ["verify"]);
    rows["verify, WebCrypto"] = async () => {
      for (let n = 0; n < MESSAGES.length; n += 1) await webcrypto.subtle.verify(algorithm, key, signatures[n], MESSAGES[n]);
    };
    const pair = await webcrypto.subtle.generateKey(algorithm, false, ["sign", "verify"]);
    rows["sign, WebCrypto"] = async () => {
      for (const message of MESSAGES) await webcrypto.subtle.sign(algorithm, pair.privateKey, message);
    };
  } catch {
    console.log(`ML-DSA-${set}: this Node has no WebCrypto ML-DSA`);
  }
  const times = Object.fromEntries(Object.keys(rows).map((row) => [row, []]));
  // The engine compiles what runs often anew: rounds before these are not counted.
  for (let round = -40; round < ROUNDS; round += 1) {
    for (const [row, step] of Object.entries(rows)) {
      if (round < -3 && row.includes("noble")) continue;
      const start = process.cpuUsage();
      await step();
      const { user, system } = process.cpuUsage(start);
      if (round >= 0) times[row].push((user + system) / MESSAGES.length);
    }
  }
  const result = (row) => times[row].sort((x, y) => x - y)[ROUNDS >> 2];
  for (const row of Object.keys(rows)) console.log(`ML-DSA-${set} ${row.padEnd(20)} ${result(row).toFixed(1).padStart(9)}`);
  const ratio = (one, other) => (result(one) / result(other)).toFixed(2);
  console.log(
    `ML-DSA-${set} ratios: sign noble/ours ${ratio("sign, noble", "sign")}, prepared ${ratio("sign, noble", "sign, prepared")};`,
    `verify noble/ours ${ratio("verify, noble", "verify")}, prepared ${ratio("verify, noble", "verify, prepared")};`,
    `verify plain/simd ${ratio("verify, plain", "verify")}`,
  );
}
