//! Key files: SubjectPublicKeyInfo and PKCS#8 (RFC 9881), in DER or PEM.

use alloc::boxed::Box;

use mldsa_core::pkcs8::{EncodePrivateKey, LineEnding};
use mldsa_core::spki::EncodePublicKey;
use mldsa_core::{AnySigningKey, AnyVerifyingKey, Set, zeroize_stack};

use crate::private::{Private, STACK, put};
use crate::status::{Status, room_for_a_key};
use crate::{DATA, Slot, window, with_state};

/// Takes a key file of `len` bytes, and wipes the window: a public key (`private` 0) as
/// SubjectPublicKeyInfo or a private one as PKCS#8, in DER (`pem` 0) or PEM. Returns its slot.
#[unsafe(no_mangle)]
pub extern "C" fn key_file(len: usize, private: u32, pem: u32) -> i32 {
    with_state(|state| {
        let bytes = window(&DATA, len)?;
        let read = || match (private != 0, pem != 0) {
            (false, false) => public(AnyVerifyingKey::from_public_key_der(bytes).ok()),
            (false, true) => public(AnyVerifyingKey::from_public_key_pem(&*bytes).ok()),
            (true, false) => plain(AnySigningKey::from_pkcs8_der(bytes).ok()),
            (true, true) => plain(AnySigningKey::from_pkcs8_pem(&*bytes).ok()),
        };
        let key = room_for_a_key().map(|()| zeroize_stack::<STACK, _>(read));
        bytes.fill(0);
        state.keep(key?.ok_or(Status::KeyEncoding)?)
    })
}

fn public(key: Option<AnyVerifyingKey>) -> Option<Slot> {
    Some(Slot::Public(Box::new(key?)))
}

fn plain(key: Option<AnySigningKey>) -> Option<Slot> {
    Some(Slot::Private(Private::Plain(key?)))
}

/// Returns the number of the set of the key in a slot.
#[unsafe(no_mangle)]
pub extern "C" fn key_set(slot: usize) -> i32 {
    with_state(|state| {
        let (set, _) = state.tr(slot, 0)?;
        Ok(match set {
            Set::MlDsa44 => 44,
            Set::MlDsa65 => 65,
            Set::MlDsa87 => 87,
        })
    })
}

/// Writes a part of [`key_part`](crate::private::key_part) that is a file.
pub(crate) fn put_part(
    public: &AnyVerifyingKey,
    private: Result<&AnySigningKey, Status>,
    part: u32,
) -> Result<usize, Status> {
    let spki = |_| Status::Internal;
    let pkcs8 = |_| Status::Internal;
    match part {
        2 => put(public.to_public_key_der().map_err(spki)?.as_bytes()),
        3 => put(public
            .to_public_key_pem(LineEnding::LF)
            .map_err(spki)?
            .as_bytes()),
        4 => put(private?.to_pkcs8_der().map_err(pkcs8)?.as_bytes()),
        5 => put(private?
            .to_pkcs8_pem(LineEnding::LF)
            .map_err(pkcs8)?
            .as_bytes()),
        _ => Err(Status::Length),
    }
}
