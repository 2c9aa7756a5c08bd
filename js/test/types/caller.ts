// A caller that TypeScript has to accept, and lines that it has to refuse.
import { type Bytes, fromModule, load, ml_dsa65, type Mldsa, MldsaError, module, moduleBytes } from "mldsa-wasm";
import { loadKeyFiles } from "mldsa-wasm/keys";
import { loadVerifier } from "mldsa-wasm/verify/load";

export async function caller(message: Uint8Array): Promise<boolean> {
  const { publicKey, secretKey } = ml_dsa65.keygen();
  const context = new TextEncoder().encode("bank v1");
  const signature: Bytes = ml_dsa65.sign(message, secretKey, { context, extraEntropy: false });
  // What this package returns is a source of buffers.
  await crypto.subtle.digest("SHA-256", publicKey);
  await fetch("https://example.invalid", { method: "POST", body: signature });
  new Blob([signature, secretKey, moduleBytes(module)]);
  using committee = ml_dsa65.committee([publicKey], { context });
  const reasons = committee.verifyBatch([{ member: 0, message, signature }]);
  const signer = ml_dsa65.prepareSigning(secretKey);
  new Blob([signer.publicKey, signer.sign(message)]);
  const sets: { readonly ml_dsa44: Mldsa } = await load("plain");
  const { ml_dsa44 } = await loadVerifier();
  const files = await loadKeyFiles();
  const pem: string = files.writeSecretKey(65, secretKey, "pem");
  const der: Bytes = files.writePublicKey(files.readSecretKey(pem).set, publicKey, "der");
  new Blob([files.readPublicKey(der).publicKey]);
  try {
    // @ts-expect-error: a misspelt name
    ml_dsa65.verify(message, signature, publicKey, { ctx: context });
    // @ts-expect-error: the context where the options belong
    ml_dsa65.verify(message, signature, publicKey, context);
    // @ts-expect-error: a reason that is none
    if (reasons[0] === "challenge-mismatch") return false;
  } catch (error) {
    if (error instanceof MldsaError && error.code === "type") return false;
  }
  const other = fromModule(await WebAssembly.compile(moduleBytes("simd")));
  return sets.ml_dsa44.verify(message, signature, publicKey) && ml_dsa44.verify(message, signature, publicKey)
    && other.ml_dsa87.explain(message, signature, publicKey) === null && reasons[0] === "challenge_mismatch";
}
