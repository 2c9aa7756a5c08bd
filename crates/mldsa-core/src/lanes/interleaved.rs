//! Scalar SHAKE256 state interleaved with the vector permutation, which leaves scalar
//! execution units idle. Public data.
//!
//! The permutation body is generic over its word, and a pair of words is a word: `(X8, u64)`
//! permutes eight states in vector registers and a ninth in scalar ones.
//!
//! A backend that is about to permute calls [`InterleavedHash::absorb`]. If that gives a state, the
//! backend permutes it too and calls [`InterleavedHash::permuted`]. `tr`, `mu` and the commitment follow
//! each other in the one state.

use crate::hash::keccak::Permutation;
use crate::hash::lane;
use crate::hash::transcript::{Context, mu_head};
use crate::lanes::job::{Job, JobKey, JobMessage};
use crate::lanes::sponge::{Block, Input, RATE};
use crate::params::CRH_LEN;

/// One hash computed in parallel with vector permutations: `tr` and `mu` of a single verification
/// from the encoded key and the beginning of its `c_tilde`, or a part of `tr` of a key
/// that is being made.
pub(crate) struct InterleavedHash<'a> {
    state: [u64; 25],
    input: Option<Input<'a>>,
    message: Option<(Context<'a>, &'a [u8])>,
    mu: Option<[u8; CRH_LEN]>,
    // no padding after the input
    unpadded: bool,
    w1: &'a mut [u8],
    // bytes of it that are there
    packed: usize,
    // blocks of `mu || w1` that the state has absorbed
    absorbed: usize,
}

/// The hash of a commitment: the state, and how many blocks of `mu || w1` it has absorbed.
pub(crate) type BegunHash = ([u64; 25], usize);

impl<'a> InterleavedHash<'a> {
    /// Nothing to hash.
    pub(crate) fn empty() -> Self {
        Self::empty_with(&mut [])
    }

    /// Nothing to hash; `w1` is written all the same.
    pub(crate) fn empty_with(w1: &'a mut [u8]) -> Self {
        Self {
            state: [0; 25],
            input: None,
            message: None,
            mu: None,
            unpadded: false,
            w1,
            packed: 0,
            absorbed: 0,
        }
    }

    /// Further blocks of a hash whose state is `state`, without its end.
    pub(crate) fn blocks(state: [u64; 25], blocks: &'a [Block]) -> Self {
        Self {
            state,
            input: (!blocks.is_empty()).then(|| Input::new(blocks.as_flattened())),
            unpadded: true,
            ..Self::empty()
        }
    }

    /// The state after [`Self::blocks`], and the number of bytes not absorbed.
    pub(crate) fn state(&self) -> (&[u64; 25], usize) {
        (&self.state, self.input.as_ref().map_or(0, Input::len))
    }

    /// The `mu` of a job whose key is encoded, followed by the commitment, whose w1 will be
    /// written to `w1`; empty for other jobs.
    pub(crate) fn commitment_of(job: &Job<'a>, w1: &'a mut [u8]) -> Self {
        let mut interleaved = Self::empty_with(w1);
        match (job.key, job.message) {
            (JobKey::Prepared(..), _) => {}
            (JobKey::Encoded(..), JobMessage::Mu(mu)) => interleaved.mu = Some(*mu.as_bytes()),
            (JobKey::Encoded(_, Some(tr)), JobMessage::Pure(ctx, message)) => {
                interleaved.input = Some(Input::mu(mu_head(tr, 0, ctx), ctx.as_bytes(), message));
            }
            (JobKey::Encoded(pk, None), JobMessage::Pure(ctx, message)) => {
                interleaved.input = Some(Input::joined([pk.rho, pk.t1]));
                interleaved.message = Some((ctx, message));
            }
        }
        interleaved
    }

    /// Whether no input is left: `mu` is there, or there was none to hash. A commitment
    /// may still follow.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn is_empty(&self) -> bool {
        self.input.is_none()
    }

    /// Buffer for the next rows of w1, `len` bytes, to be packed before the next block is
    /// absorbed.
    #[inline]
    pub(crate) fn next_w1(&mut self, len: usize) -> &mut [u8] {
        let begin = self.packed;
        self.packed += len;
        &mut self.w1[begin..self.packed]
    }

    /// Absorbs the next block, if there is one: of the input, and after it of `mu || w1` as far as its
    /// rows are packed. The state returned is to be permuted, after which [`Self::permuted`] must be
    /// called.
    #[inline]
    pub(crate) fn absorb(&mut self) -> Option<&mut [u64; 25]> {
        let mut block = [0; RATE];
        if let Some(input) = &mut self.input {
            input.next_block(&mut block);
        } else {
            let mu = self.mu.as_ref()?;
            // Whole blocks only: the caller of `finish` absorbs the rest.
            let end = RATE * (self.absorbed + 1) - CRH_LEN;
            let packed = self.w1[..self.packed].get(..end)?;
            match end.checked_sub(RATE) {
                Some(begin) => block.copy_from_slice(&packed[begin..]),
                None => {
                    block[..CRH_LEN].copy_from_slice(mu);
                    block[CRH_LEN..].copy_from_slice(packed);
                }
            }
            self.absorbed += 1;
        }
        lane::add_block(&mut self.state, &block);
        Some(&mut self.state)
    }

    /// Takes the digest after the last block; after `tr` starts `mu`.
    #[inline]
    pub(crate) fn permuted(&mut self) {
        let has_ended =
            |input: &Input<'_>| input.is_finished() || self.unpadded && input.len() == 0;
        if !self.input.as_ref().is_some_and(has_ended) {
            return;
        }
        self.input = None;
        if self.unpadded {
            return;
        }
        let digest = squeeze(&self.state);
        self.state = [0; 25];
        match self.message.take() {
            Some((ctx, message)) => {
                let head = mu_head(&digest, 0, ctx);
                self.input = Some(Input::mu(head, ctx.as_bytes(), message));
            }
            None => self.mu = Some(digest),
        }
    }

    /// Permutes until `mu` is there, if it is to be hashed. Returns `mu` and the hash of the
    /// commitment.
    pub(crate) fn finish(
        mut self,
        permute: &mut impl FnMut(&mut [u64; 25]),
    ) -> (Option<[u8; CRH_LEN]>, BegunHash) {
        while self.input.is_some() {
            if let Some(state) = self.absorb() {
                permute(state);
            }
            self.permuted();
        }
        (self.mu, (self.state, self.absorbed))
    }
}

/// The digest of a hash whose state is `state` and whose input ends with `rest`.
pub(crate) fn finish_hash(
    mut state: [u64; 25],
    rest: &[u8],
    permutation: Permutation,
) -> [u8; CRH_LEN] {
    let mut input = Input::new(rest);
    while !input.is_finished() {
        let mut block = [0; RATE];
        input.next_block(&mut block);
        lane::add_block(&mut state, &block);
        permutation.permute(&mut state);
    }
    squeeze(&state)
}

#[inline]
fn squeeze(state: &[u64; 25]) -> [u8; CRH_LEN] {
    let mut digest = [0; CRH_LEN];
    for (n, bytes) in digest.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *bytes = lane::value(state, n).to_le_bytes();
    }
    digest
}

#[cfg(test)]
#[cfg(feature = "ml-dsa-44")]
mod tests {
    use super::*;
    use crate::coding::encode::PublicKeyParts;
    use crate::hash::keccak::keccak_f1600;
    use crate::hash::transcript::{self, MuBuilder};
    use crate::hash::xof::Shake256;
    use crate::params::MlDsa44;
    use crate::random::Random;

    /// A commitment whose rows come in any steps, with any number of permutations between
    /// them, hashed after a `mu` that is known or arrives late.
    #[test]
    fn a_commitment_whose_rows_come_late() {
        let w1: [u8; 1024] = core::array::from_fn(|n| (n * 11 + n / 256) as u8);
        let mut random = Random::new(14);
        let pk = core::array::from_fn(|n| (n * 5 + n / 256) as u8);
        let tr = &transcript::tr(Permutation::PORTABLE, &pk);
        for (rows, len) in [(4, 192), (6, 128), (8, 128)] {
            for round in 0..200 {
                let message = &w1[..random.next() as usize % 700];
                let mut mu = MuBuilder::from_tr(tr, Context::EMPTY);
                mu.update(message);
                let mu = mu.finish();
                let pk = PublicKeyParts::of::<MlDsa44>(&pk);
                let (key, message) = match round % 3 {
                    0 => (
                        JobKey::Encoded(pk, None),
                        JobMessage::Pure(Context::EMPTY, message),
                    ),
                    1 => (
                        JobKey::Encoded(pk, Some(tr)),
                        JobMessage::Pure(Context::EMPTY, message),
                    ),
                    _ => (JobKey::Encoded(pk, None), JobMessage::Mu(&mu)),
                };
                let job = Job::new(key, message, &[]);
                let mut written = [0; 1024];
                let mut interleaved =
                    InterleavedHash::commitment_of(&job, &mut written[..rows * len]);
                for row in w1[..rows * len].chunks(len) {
                    interleaved.next_w1(len).copy_from_slice(row);
                    for _ in 0..random.next() % 8 {
                        if let Some(state) = interleaved.absorb() {
                            keccak_f1600(state);
                            interleaved.permuted();
                        }
                    }
                }
                let (hashed, (state, absorbed)) = interleaved.finish(&mut keccak_f1600);
                assert_eq!(hashed.as_ref(), Some(mu.as_bytes()), "{rows} {round}");
                assert_eq!(written[..rows * len], w1[..rows * len]);
                let whole = [&mu.as_bytes()[..], &w1[..rows * len]].concat();
                assert!(absorbed * RATE <= whole.len());
                let digest = finish_hash(state, &whole[absorbed * RATE..], Permutation::PORTABLE);
                let mut expected = [0; 64];
                Shake256::digest(Permutation::PORTABLE, &[&whole], &mut expected);
                assert_eq!(digest, expected, "{rows} {round}");
            }
        }
    }
}
