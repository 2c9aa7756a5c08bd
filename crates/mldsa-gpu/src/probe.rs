//! Items whose verdicts are known: the self-test, and what is planted into every launch.

use core::hash::BuildHasher;
use std::hash::RandomState;

use batch_verify::RejectReason;
use mldsa_core::{Context, ParameterSet, Randomness, SigningKey, VerifyingKey};

use crate::error::GpuError;

/// Random numbers (xorshift64*) from a seed of the standard library. They need not be secret: they
/// choose the items that find faults, and no fault predicts them.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self::from_seed(RandomState::new().hash_one(0))
    }

    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound.max(1)
    }
}

pub(crate) const CONTEXT: &[u8] = b"mldsa-gpu";

/// A signature under the key of [`Probes`], and the CPU's verdict.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) message: Vec<u8>,
    pub(crate) signature: Vec<u8>,
    pub(crate) verdict: Result<(), RejectReason>,
}

/// One key, whose seed is public, with items of every class of verdict that a device gives.
pub(crate) struct Probes<P: ParameterSet> {
    pub(crate) key: VerifyingKey<P>,
    pub(crate) all: Vec<Probe>,
    /// Indices of the valid ones of `all`, and of the others.
    pub(crate) by_class: [Vec<usize>; 2],
    /// Different valid signatures, for measurements.
    pub(crate) valid: Vec<Probe>,
}

/// Replaces coefficient `n` of all of z.
pub(crate) fn set_z<P: ParameterSet>(signature: &mut [u8], n: usize, value: i32) {
    let params = &P::PARAMS;
    let bits = 1 + params.gamma1_bits as usize;
    let packed = (params.gamma1() - value) as u32;
    for bit in 0..bits {
        let at = n * bits + bit;
        let byte = &mut signature[params.c_tilde_len + at / 8];
        *byte &= !(1 << (at % 8));
        *byte |= ((packed >> bit & 1) as u8) << (at % 8);
    }
}

impl<P: ParameterSet> Probes<P> {
    /// Signs `valid` messages and makes the others of the first signature.
    pub(crate) fn new(valid: usize) -> Result<Self, GpuError> {
        let signer = SigningKey::<P>::from_seed(&[0x47; 32]);
        let key = signer.verifying_key().clone();
        let context = Context::new(CONTEXT).map_err(|_| GpuError::WrongVerdict)?;
        let probe = |message: Vec<u8>, signature: Vec<u8>| {
            let verdict = key
                .verify_with_context(&message, context, &signature)
                .map_err(RejectReason::from);
            Probe {
                message,
                signature,
                verdict,
            }
        };
        let mut valid_ones = Vec::new();
        for n in 0..valid.max(1) {
            // Lengths around the ends of words and of the first two blocks of the hash.
            let message = vec![n as u8; if n < 300 { n } else { 32 }];
            let signature = signer.sign_with_context(&message, context, Randomness::Deterministic);
            let signature = signature.map_err(|_| GpuError::WrongVerdict)?;
            valid_ones.push(probe(message, signature.as_ref().to_vec()));
        }
        let first = &valid_ones[valid_ones.len() / 2];
        let (p, hint) = (&P::PARAMS, P::SIG_LEN - P::PARAMS.omega - P::PARAMS.k);
        let (omega, bound) = (p.omega, p.gamma1() - p.beta());
        let edit = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut signature = first.signature.clone();
            change(&mut signature);
            probe(first.message.clone(), signature)
        };
        let mut all = vec![
            first.clone(),
            edit(&|s| s[0] ^= 1),
            edit(&|s| s[p.c_tilde_len - 1] ^= 0x80),
            edit(&|s| set_z::<P>(s, 0, bound - 1)),
            edit(&|s| set_z::<P>(s, 256 * p.l - 1, 1 - bound)),
            edit(&|s| set_z::<P>(s, 0, bound)),
            edit(&|s| set_z::<P>(s, 256 * p.l - 1, -bound)),
            edit(&|s| set_z::<P>(s, 100, p.gamma1())),
            edit(&|s| set_z::<P>(s, 300, 1 - p.gamma1())),
            // A counter above omega, the last one too large, one below the one before it.
            edit(&|s| s[hint + omega] = omega as u8 + 1),
            edit(&|s| s[hint + omega + p.k - 1] = 255),
            edit(&|s| s[hint + omega + 1] = 0),
            edit(&|s| s[hint + omega + p.k - 1] = 0),
            // Positions: equal, decreasing, and not zero behind the last.
            edit(&|s| s[hint + 1] = s[hint]),
            edit(&|s| s.swap(hint, hint + 1)),
            edit(&|s| {
                s[hint..hint + omega].fill(0);
                s[hint + omega..].fill(0);
                s[hint + omega - 1] = 1;
            }),
            // An empty hint is well formed, and so is a full one.
            edit(&|s| s[hint..].fill(0)),
            edit(&|s| {
                (0..omega).for_each(|n| s[hint + n] = (255 - omega + n) as u8);
                s[hint + omega..].fill(omega as u8);
            }),
            // The hint is checked before z.
            edit(&|s| {
                set_z::<P>(s, 0, bound);
                s[hint + omega] = 255;
            }),
            edit(&|s| s.fill(0)),
            edit(&|s| s.fill(0xff)),
            probe([&first.message[..], &[0]].concat(), first.signature.clone()),
        ];
        all.extend(valid_ones.iter().take(4).cloned());
        let reasons = [
            Ok(()),
            Err(RejectReason::HintEncoding),
            Err(RejectReason::ResponseNorm),
            Err(RejectReason::ChallengeMismatch),
        ];
        // A CPU that does not tell them apart cannot check a device.
        match reasons
            .iter()
            .all(|reason| all.iter().any(|probe| probe.verdict == *reason))
        {
            true => Ok(Self {
                key,
                by_class: [true, false].map(|is_valid| {
                    let is_of_class = |n: &usize| all[*n].verdict.is_ok() == is_valid;
                    (0..all.len()).filter(is_of_class).collect()
                }),
                all,
                valid: valid_ones,
            }),
            false => Err(GpuError::WrongVerdict),
        }
    }
}
