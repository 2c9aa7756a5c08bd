//! Two independent implementations of FIPS 204 that have to agree with ours.
#![allow(unreachable_pub, reason = "a module of several test programs")]

/// The verdict of both, which must be the same, on an ML-DSA-87 signature.
pub fn verify(pk: &[u8], message: &[u8], ctx: &[u8], signature: &[u8]) -> bool {
    let fips204 = {
        use fips204::ml_dsa_87::PublicKey;
        use fips204::traits::{SerDes, Verifier};
        PublicKey::try_from_bytes(pk.try_into().unwrap())
            .unwrap()
            .verify(message, signature.try_into().unwrap(), ctx)
    };
    let libcrux = {
        use libcrux_ml_dsa::ml_dsa_87::{MLDSA87Signature, MLDSA87VerificationKey, verify};
        let key = MLDSA87VerificationKey::new(pk.try_into().unwrap());
        let signature = MLDSA87Signature::new(signature.try_into().unwrap());
        verify(&key, message, ctx, &signature).is_ok()
    };
    assert_eq!(fips204, libcrux);
    fips204
}
