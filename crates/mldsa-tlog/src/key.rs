//! Keys of logs and witnesses.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use mldsa_core::{Context, MlDsa44, PreparedVerifyingKey, Randomness, SigningKey, VerifyingKey};

use crate::checkpoint::{Checkpoint, Subtree};
use crate::error::Error;
use crate::message::{Cosignature, SignedMessage};
use crate::note::{Note, TYPE, id_of, is_name, key_id};

/// The public key of a cosigner (a log or a witness), prepared for many verifications: 22 kB.
pub struct CosignerKey {
    name: String,
    id: [u8; 4],
    key: VerifyingKey<MlDsa44>,
    prepared: PreparedVerifyingKey<MlDsa44>,
}

impl CosignerKey {
    /// Makes the key of the cosigner `name`.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a name that is empty, longer than 255 bytes or has spaces or `+`.
    pub fn new(name: &str, key: VerifyingKey<MlDsa44>) -> Result<Self, Error> {
        if !is_name(name) || name.len() > 255 {
            return Err(Error::Malformed("name"));
        }
        let (id, prepared) = (key_id(name, key.as_bytes()), key.prepare());
        Ok(Self {
            name: name.into(),
            id,
            key,
            prepared,
        })
    }

    /// Parses a verifier key: `name+ID+base64`.
    ///
    /// # Errors
    /// [`Error::Algorithm`] for a key of another type, [`Error::KeyId`], [`Error::Key`] and
    /// [`Error::Malformed`].
    pub fn parse(vkey: &str) -> Result<Self, Error> {
        let vkey = Vkey::parse(vkey)?;
        if vkey.bytes[0] != TYPE {
            return Err(Error::Algorithm);
        }
        Self::new(
            vkey.name,
            VerifyingKey::from_bytes(&vkey.bytes[1..]).map_err(Error::Key)?,
        )
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the ID.
    #[must_use]
    pub fn id(&self) -> [u8; 4] {
        self.id
    }

    /// Returns the key.
    #[must_use]
    pub fn verifying_key(&self) -> &VerifyingKey<MlDsa44> {
        &self.key
    }

    /// Verifies a cosignature of a part of the log `origin`.
    ///
    /// # Errors
    /// [`Error::Signature`], and those of [`SignedMessage::new`].
    pub fn verify(
        &self,
        origin: &str,
        tree: &Subtree,
        cosignature: &Cosignature,
    ) -> Result<(), Error> {
        let message = SignedMessage::new(&self.name, cosignature.time, origin, tree)?;
        let verdict = self.prepared.verify_with_context(
            message.as_ref(),
            Context::EMPTY,
            &cosignature.signature,
        );
        verdict.map_err(|_| Error::Signature)
    }

    /// Verifies the checkpoint of a note, and returns it with the time of the signature.
    ///
    /// # Errors
    /// [`Error::NotSigned`] if the note has no signature of this key, those of [`Checkpoint::parse`]
    /// and [`Self::verify`].
    pub fn verify_note<'a>(&self, note: &Note<'a>) -> Result<(Checkpoint<'a>, u64), Error> {
        let checkpoint = Checkpoint::parse(note.text())?;
        let line = note
            .signature_of(&self.name, self.id)
            .ok_or(Error::NotSigned)?;
        let cosignature = line.cosignature()?;
        self.verify(checkpoint.origin, &checkpoint.tree(), &cosignature)?;
        Ok((checkpoint, cosignature.time))
    }
}

/// Writes the verifier key: `name+ID+base64`.
impl fmt::Display for CosignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::with_capacity(1313);
        bytes.push(TYPE);
        bytes.extend_from_slice(self.key.as_bytes());
        let id = u32::from_be_bytes(self.id);
        write!(f, "{}+{id:08x}+{}", self.name, BASE64.encode(&bytes))
    }
}

impl fmt::Debug for CosignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "CosignerKey({}+{:08x})",
            self.name,
            u32::from_be_bytes(self.id)
        )
    }
}

/// A verifier key of any type whose ID is right.
pub(crate) struct Vkey<'a> {
    pub(crate) name: &'a str,
    /// The type and the key.
    pub(crate) bytes: Vec<u8>,
}

impl<'a> Vkey<'a> {
    pub(crate) fn parse(vkey: &'a str) -> Result<Self, Error> {
        let malformed = Error::Malformed("verifier key");
        // A key of ML-DSA-87 after a name of 255 bytes is shorter.
        if vkey.len() > 4096 {
            return Err(Error::TooLarge);
        }
        let mut parts = vkey.splitn(3, '+');
        let mut part = || parts.next().ok_or(malformed);
        let (name, id, key) = (part()?, part()?, part()?);
        let bytes = BASE64.decode(key).map_err(|_| malformed)?;
        if !is_name(name) || bytes.len() < 2 {
            return Err(malformed);
        }
        let small = id.len() == 8
            && id
                .bytes()
                .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        let id = u32::from_str_radix(id, 16)
            .ok()
            .filter(|_| small)
            .ok_or(malformed)?;
        if id_of(name, bytes[0], &bytes[1..]) != id.to_be_bytes() {
            return Err(Error::KeyId);
        }
        Ok(Self { name, bytes })
    }
}

/// The private key of a log or a witness. What may be signed is the caller's decision: a cosigner
/// that signs two inconsistent checkpoints of a log cannot take it back.
pub struct Cosigner {
    public: CosignerKey,
    key: SigningKey<MlDsa44>,
}

impl Cosigner {
    /// Makes a cosigner.
    ///
    /// # Errors
    /// Those of [`CosignerKey::new`].
    pub fn new(name: &str, key: SigningKey<MlDsa44>) -> Result<Self, Error> {
        let public = CosignerKey::new(name, key.verifying_key().clone())?;
        Ok(Self { public, key })
    }

    /// Returns the public key.
    #[must_use]
    pub fn public(&self) -> &CosignerKey {
        &self.public
    }

    /// Signs a part of the log `origin`, and returns the line for a note. The answer to a request for a checkpoint
    /// has a time, which is not 0.
    ///
    /// # Errors
    /// [`Error::Sign`], and those of [`SignedMessage::new`].
    pub fn sign(
        &self,
        time: u64,
        origin: &str,
        tree: &Subtree,
        randomness: Randomness<'_>,
    ) -> Result<String, Error> {
        let message = SignedMessage::new(&self.public.name, time, origin, tree)?;
        let signature = self
            .key
            .sign_with_context(message.as_ref(), Context::EMPTY, randomness);
        let signature = signature.map_err(Error::Sign)?;
        let bytes = [&self.public.id[..], &time.to_be_bytes(), signature.as_ref()].concat();
        Ok(alloc::format!(
            "\u{2014} {} {}\n",
            self.public.name,
            BASE64.encode(&bytes)
        ))
    }
}

impl fmt::Debug for Cosigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cosigner({:?})", self.public)
    }
}
