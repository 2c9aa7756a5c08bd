//! One state beside the lanes: a vector permutation leaves room for a scalar one, so
//! that a hash which is needed anyway costs little. Everything here is public data.

use crate::hash::keccak::Permutation;
use crate::hash::transcript::{Context, mu_head};
use crate::lanes::job::{Job, JobKey, JobMessage};
use crate::lanes::sponge::{Block, Input, RATE};
use crate::params::CRH_LEN;

/// One scalar hash computed beside vector permutations: `tr` and `mu` of a single
/// verification from the encoded key, or a part of `tr` of a key that is being made.
pub(crate) struct SideHash<'a> {
    state: [u64; 25],
    input: Option<Input<'a>>,
    message: Option<(Context<'a>, &'a [u8])>,
    digest: Option<[u8; CRH_LEN]>,
    // no padding behind the input
    goes_on: bool,
}

impl<'a> SideHash<'a> {
    /// Nothing to hash.
    pub(crate) fn idle() -> Self {
        Self {
            state: [0; 25],
            input: None,
            message: None,
            digest: None,
            goes_on: false,
        }
    }

    /// Blocks of a hash that has come to `state` and does not end with them.
    pub(crate) fn blocks(state: [u64; 25], blocks: &'a [Block]) -> Self {
        Self {
            state,
            input: (!blocks.is_empty()).then(|| Input::new(blocks.as_flattened())),
            goes_on: true,
            ..Self::idle()
        }
    }

    /// What [`Self::blocks`] has come to, and how many bytes were not absorbed.
    pub(crate) fn state(&self) -> (&[u64; 25], usize) {
        (&self.state, self.input.as_ref().map_or(0, Input::len))
    }

    /// The `mu` of a job whose key is cold; otherwise nothing.
    pub(crate) fn mu_of(job: &Job<'a>) -> Self {
        let mut side = Self::idle();
        if let (JobKey::Cold(pk, tr), JobMessage::Pure(ctx, message)) = (job.key, job.message) {
            match tr {
                Some(tr) => {
                    side.input = Some(Input::mu(mu_head(tr, 0, ctx), ctx.as_bytes(), message))
                }
                None => {
                    side.input = Some(Input::joined([pk.rho, pk.t1]));
                    side.message = Some((ctx, message));
                }
            }
        }
        side
    }

    /// Whether there is nothing (more) to absorb.
    #[cfg(target_arch = "aarch64")]
    pub(crate) fn is_idle(&self) -> bool {
        self.input.is_none()
    }

    /// Absorbs the next block, if there is one. The state returned is to be
    /// permuted, after which [`Self::permuted`] must be called.
    #[inline]
    pub(crate) fn absorb(&mut self) -> Option<&mut [u64; 25]> {
        absorb_block(&mut self.state, self.input.as_mut()?);
        Some(&mut self.state)
    }

    /// Takes the digest after the last block and goes on from `tr` to `mu`.
    #[inline]
    pub(crate) fn permuted(&mut self) {
        match &self.input {
            Some(input) if self.goes_on && input.len() == 0 => {
                self.input = None;
                return;
            }
            Some(input) if input.is_finished() => {}
            _ => return,
        }
        let digest = squeeze(&self.state);
        self.state = [0; 25];
        self.input = self
            .message
            .take()
            .map(|(ctx, message)| Input::mu(mu_head(&digest, 0, ctx), ctx.as_bytes(), message));
        self.digest = Some(digest);
    }

    /// Permutes until the digest is there; `None` if there was nothing to hash.
    pub(crate) fn finish(
        mut self,
        permute: &mut impl FnMut(&mut [u64; 25]),
    ) -> Option<[u8; CRH_LEN]> {
        while let Some(state) = self.absorb() {
            permute(state);
            self.permuted();
        }
        self.digest
    }
}

/// The digest of a hash that has come to `state` and ends with `rest`.
pub(crate) fn finish_hash(
    mut state: [u64; 25],
    rest: &[u8],
    permutation: Permutation,
) -> [u8; CRH_LEN] {
    let mut input = Input::new(rest);
    while !input.is_finished() {
        absorb_block(&mut state, &mut input);
        permutation.permute(&mut state);
    }
    squeeze(&state)
}

#[inline]
fn absorb_block(state: &mut [u64; 25], input: &mut Input<'_>) {
    let mut block = [0; RATE];
    input.next_block(&mut block);
    for (word, bytes) in state.iter_mut().zip(block.as_chunks::<8>().0) {
        *word ^= u64::from_le_bytes(*bytes);
    }
}

#[inline]
fn squeeze(state: &[u64; 25]) -> [u8; CRH_LEN] {
    let mut digest = [0; CRH_LEN];
    for (bytes, word) in digest.as_chunks_mut::<8>().0.iter_mut().zip(state) {
        *bytes = word.to_le_bytes();
    }
    digest
}
