//! Entries of the load: honest ones, and one of every reject class and form.

use batch_verify::{Item, Message, RejectReason};
use mldsa_core::{
    Context, Mu, MuBuilder, ParameterSet, PreHash, PreHashed, Randomness, SigningKey, VerifyingKey,
};

use super::{CONTEXT, MEMBERS};
use crate::fixture::Verdict;

#[derive(Clone, PartialEq)]
pub(super) enum Form {
    Bytes,
    Parts,
    Mu,
    Digest,
}

/// Parts of an item or a vote.
#[derive(Clone)]
pub(super) struct Entry {
    /// `Ok` is an index in the committee, or beyond it; `Err` the seed of a key that the item
    /// carries.
    pub(super) signer: Result<u32, u8>,
    pub(super) key: Vec<u8>,
    pub(super) form: Form,
    pub(super) message: Vec<u8>,
    parts: Vec<Vec<u8>>,
    mu: Mu,
    pub(super) signature: Vec<u8>,
}

/// An entry with what borrows from it.
pub(super) struct Shown<'a> {
    pub(super) entry: &'a Entry,
    parts: Vec<&'a [u8]>,
}

impl<'a> Shown<'a> {
    pub(super) fn new(entry: &'a Entry) -> Self {
        let parts = entry.parts.iter().map(Vec::as_slice).collect();
        Self { entry, parts }
    }

    /// `None` for a message representative.
    pub(super) fn message(&self) -> Option<Message<'_>> {
        Some(match self.entry.form {
            Form::Bytes => Message::Bytes(&self.entry.message),
            Form::Parts => Message::Parts(&self.parts),
            Form::Mu => return None,
            Form::Digest => Message::PreHashed {
                hash: PreHash::Sha2_512,
                digest: &self.entry.message,
            },
        })
    }

    pub(super) fn item(&self) -> Item<'_> {
        let entry = self.entry;
        match self.message() {
            Some(message) => Item::new(&entry.key, message, context(), &entry.signature),
            None => Item::from_mu(&entry.key, &entry.mu, &entry.signature),
        }
    }
}

fn context() -> Context<'static> {
    Context::new(CONTEXT).unwrap()
}

fn mu<P: ParameterSet>(key: &VerifyingKey<P>, message: &[u8]) -> Mu {
    let mut mu = MuBuilder::from_tr(key.tr(), context());
    mu.update(message);
    mu.finish()
}

/// The verdict of the core on one entry, by its key.
pub(super) fn alone<P: ParameterSet>(entry: &Entry) -> Verdict {
    let Ok(key) = VerifyingKey::<P>::from_bytes(&entry.key) else {
        return Err(RejectReason::PublicKeyLength);
    };
    let result = match entry.form {
        Form::Bytes | Form::Parts => {
            key.verify_with_context(&entry.message, context(), &entry.signature)
        }
        Form::Mu => key.verify_mu(&entry.mu, &entry.signature),
        Form::Digest => match PreHashed::new(PreHash::Sha2_512, &entry.message) {
            Ok(digest) => key.verify_prehashed(&digest, context(), &entry.signature),
            Err(error) if entry.signature.len() == P::SIG_LEN => {
                return Err(error.into());
            }
            Err(_) => return Err(RejectReason::SignatureLength),
        },
    };
    result.map_err(RejectReason::from)
}

pub(super) fn entries<P: ParameterSet>() -> Vec<Entry> {
    let honest = |n: usize| {
        // Members by id, members by key, other keys.
        let seed = (n % 9) as u8;
        let key = SigningKey::<P>::from_seed(&[seed; 32]);
        let len = [0, 1, 32, 64, 136, 137, 1000, 5000][n % 8];
        let mut message: Vec<u8> = (0..len).map(|at| (at * 31 + n) as u8).collect();
        let form = match n % 5 {
            0 | 1 => Form::Bytes,
            2 => Form::Parts,
            3 => Form::Mu,
            _ => Form::Digest,
        };
        if let Form::Digest = form {
            message.resize(64, 9);
        }
        let hedge = Randomness::Deterministic;
        let signature = match form {
            Form::Digest => {
                let digest = PreHashed::new(PreHash::Sha2_512, &message).unwrap();
                key.sign_prehashed(&digest, context(), hedge)
            }
            _ => key.sign_with_context(&message, context(), hedge),
        };
        let cut = message.len() / 3;
        Entry {
            signer: if seed < MEMBERS && n % 4 != 1 {
                Ok(seed.into())
            } else {
                Err(seed)
            },
            key: key.verifying_key().as_bytes().as_ref().to_vec(),
            form,
            parts: vec![message[..cut].to_vec(), Vec::new(), message[cut..].to_vec()],
            mu: mu(key.verifying_key(), &message),
            message,
            signature: signature.unwrap().as_ref().to_vec(),
        }
    };
    let mut entries: Vec<Entry> = (0..40).map(honest).collect();
    let z_at = P::C_TILDE_LEN;
    let hint_at = P::SIG_LEN - P::PARAMS.omega - P::PARAMS.k;
    let mut bad = |n: usize, tamper: &dyn Fn(&mut Entry)| {
        let mut entry = honest(n);
        tamper(&mut entry);
        entries.push(entry);
    };
    for n in 0..9 {
        bad(n, &|e| e.signature.truncate(P::SIG_LEN - 1));
        bad(n, &|e| e.signature.push(0));
        bad(n, &|e| e.signature.clear());
        // A counter above omega; unused hint bytes that are not zero.
        bad(n, &|e| *e.signature.last_mut().unwrap() = 0xff);
        bad(n, &|e| e.signature[P::SIG_LEN - P::PARAMS.k - 1] = 1);
        bad(n, &|e| e.signature[z_at..z_at + 8].fill(0));
        bad(n, &|e| e.signature[hint_at - 8..hint_at].fill(0));
        bad(n, &|e| e.signature[0] ^= 1);
        bad(n, &|e| e.signature[z_at + 40] ^= 4);
        bad(n, &|e| {
            e.message.push(b'!');
            e.parts.push(b"!".to_vec());
            e.mu = Mu::from_bytes([n as u8; 64]);
        });
        bad(n, &|e| match &mut e.signer {
            Ok(id) => *id += u32::from(MEMBERS),
            Err(_) => e.key.truncate(P::PK_LEN - 1),
        });
        bad(n, &|e| {
            if e.signer.is_err() {
                *e.key.last_mut().unwrap() ^= 1;
            } else {
                e.signature[1] ^= 1;
            }
        });
    }
    entries
}

impl Entry {
    /// The signer apart: two entries may differ in it only, and be one item.
    pub(super) fn is_one_item_with(&self, other: &Self) -> bool {
        let message = |entry: &Self| match entry.form {
            Form::Mu => entry.mu.as_bytes().to_vec(),
            _ => entry.message.clone(),
        };
        (&self.key, &self.form, &self.signature) == (&other.key, &other.form, &other.signature)
            && message(self) == message(other)
    }
}
