//! Verification of many signatures, hashing in lanes: algorithm 8 written over
//! what a backend supplies. Everything here is public data.

use crate::coding::encode::SignatureParts;
use crate::error::VerifyError;
use crate::hash::keccak::Permutation;
use crate::hash::transcript::mu_head;
use crate::lanes::interleaved::InterleavedHash;
use crate::lanes::job::{CommitmentInputs, Job, JobKey, JobMessage};
use crate::lanes::sponge::{Block, Input, LaneSponge, MAX_LANES, Queue, RATE, Widths, pad};
use crate::params::{CRH_LEN, Params};
use crate::sample::Challenge;

/// The parts of verification that a backend supplies.
pub(crate) trait LaneBackend: Widths {
    /// Lines 9 and 10 of algorithm 8 and w1Encode: the commitment of the
    /// signature, k packed rows to the buffer of `interleaved`. False if a coefficient of z
    /// is too large.
    ///
    /// `interleaved` may be given one permutation with each of the backend's own.
    fn commitment(
        self,
        key: &JobKey<'_>,
        inputs: &CommitmentInputs<'_>,
        interleaved: &mut InterleavedHash<'_>,
    ) -> bool;

    /// A signature is parsed soon.
    #[inline(always)]
    fn announce(self, _signature: &[u8]) {}
}

/// A signature whose length and hint are right, in parts.
struct Parsed<'a> {
    index: usize,
    job: Job<'a>,
    parts: SignatureParts<'a>,
}

/// Verifies jobs `0..results.len()`, in any number, up to `LANES` at a time, and
/// writes every result.
///
/// Jobs share permutations; the next one takes the place of a rejected one, so that
/// bad signatures do not slow good ones.
///
/// To be inlined into entries that have the backend's features, one for a lone
/// signature and one for several, so that a lone one does without the memory of
/// eight.
#[inline(always)]
pub(crate) fn verify_lanes<'a, B: LaneBackend, const LANES: usize>(
    backend: B,
    p: &Params,
    job: &dyn Fn(usize) -> Job<'a>,
    results: &mut [Result<(), VerifyError>],
) {
    let width = LANES.min(B::Wide::LANES);
    let mut commitments = Commitments::<LANES>::new(p);
    let mut next = 0;
    while next < results.len() {
        let mut parsed = [const { None::<Parsed<'_>> }; LANES];
        let mut count = 0;
        if LANES > 1 {
            for n in (next..results.len()).take(width) {
                backend.announce(job(n).signature);
            }
        }
        while count < width && next < results.len() {
            let job = job(next);
            match SignatureParts::parse(p, job.signature) {
                Ok(parts) => {
                    parsed[count] = Some(Parsed {
                        index: next,
                        job,
                        parts,
                    });
                    count += 1;
                }
                Err(error) => results[next] = Err(error),
            }
            next += 1;
        }
        // The hashes of a single encoded key are interleaved with its matrix, those of several
        // keys run in lanes.
        let mu_interleaved = LANES == 1;
        let hashes = hash_inputs(backend, &parsed, mu_interleaved);
        for (parsed, (mu, ball)) in parsed.iter().flatten().zip(&hashes) {
            let c = Challenge::from_block(p.tau, ball).unwrap_or_else(|| {
                Challenge::sample_in_ball_vartime(
                    Permutation::PORTABLE,
                    p.tau,
                    parsed.parts.c_tilde,
                )
            });
            let w1 = commitments.next_w1();
            let mut interleaved = if mu_interleaved {
                InterleavedHash::commitment_of(&parsed.job, w1)
            } else {
                InterleavedHash::empty_with(w1)
            };
            let inputs = CommitmentInputs {
                p,
                parts: &parsed.parts,
                c: &c,
            };
            if !backend.commitment(&parsed.job.key, &inputs, &mut interleaved) {
                results[parsed.index] = Err(VerifyError::ResponseNorm);
                continue;
            }
            let (hashed, state, absorbed) = interleaved.finish(&mut |state| backend.permute(state));
            commitments.push(parsed.index, &hashed.unwrap_or(*mu), parsed.parts.c_tilde);
            commitments.begun = (state, absorbed);
            if commitments.count == width {
                commitments.compare(backend, results);
            }
        }
    }
    commitments.compare(backend, results);
}

/// `mu` and the first block for SampleInBall of every parsed signature.
fn hash_inputs<'a, B: LaneBackend, const LANES: usize>(
    backend: B,
    parsed: &[Option<Parsed<'a>>; LANES],
    mu_interleaved: bool,
) -> [([u8; CRH_LEN], [u8; RATE]); LANES] {
    let mut tr = [[0; CRH_LEN]; LANES];
    let mut queue = Queue::new(backend);
    for (parsed, tr) in parsed.iter().flatten().zip(&mut tr) {
        match parsed.job.key {
            JobKey::Prepared(_, known) | JobKey::Encoded(_, Some(known)) => *tr = *known,
            JobKey::Encoded(pk, None) if !mu_interleaved => {
                queue.push(Input::joined([pk.rho, pk.t1]), tr)
            }
            JobKey::Encoded(_, None) => {}
        }
    }
    queue.run();
    let mut hashes = [([0; CRH_LEN], [0; RATE]); LANES];
    let mut queue = Queue::new(backend);
    for ((parsed, tr), (mu, ball)) in parsed.iter().flatten().zip(&tr).zip(&mut hashes) {
        match parsed.job.message {
            JobMessage::Mu(known) => *mu = *known.as_bytes(),
            JobMessage::Pure(..)
                if mu_interleaved && matches!(parsed.job.key, JobKey::Encoded(..)) => {}
            JobMessage::Pure(ctx, message) => {
                queue.push(Input::mu(mu_head(tr, 0, ctx), ctx.as_bytes(), message), mu)
            }
        }
        queue.push(Input::new(parsed.parts.c_tilde), ball);
    }
    queue.run();
    hashes
}

/// Bytes of `mu || w1Encode(w1)`, padded: at most 64 + 8 * 128.
const COMMITMENT_LEN: usize = 9 * RATE;

/// Signatures that wait for the hash of their commitment.
struct Commitments<'a, const LANES: usize> {
    inputs: [[u8; COMMITMENT_LEN]; LANES],
    expected: [(usize, &'a [u8]); LANES],
    count: usize,
    len: usize,
    /// Of a lone one: a state, and how many blocks it has absorbed.
    begun: ([u64; 25], usize),
}

impl<'a, const LANES: usize> Commitments<'a, LANES> {
    fn new(p: &Params) -> Self {
        let len = CRH_LEN + p.k * p.w1_poly_len();
        let mut inputs = [[0; COMMITMENT_LEN]; LANES];
        for input in &mut inputs {
            pad(&mut input[len / RATE * RATE..][..RATE], len % RATE);
        }
        Self {
            inputs,
            expected: [(0, &[]); LANES],
            count: 0,
            len,
            begun: ([0; 25], 0),
        }
    }

    /// Buffer for the packed w1 of the next signature.
    fn next_w1(&mut self) -> &mut [u8] {
        &mut self.inputs[self.count][CRH_LEN..self.len]
    }

    fn push(&mut self, index: usize, mu: &[u8; CRH_LEN], c_tilde: &'a [u8]) {
        self.inputs[self.count][..CRH_LEN].copy_from_slice(mu);
        self.expected[self.count] = (index, c_tilde);
        self.count += 1;
    }

    /// Lines 12 and 13 of algorithm 8 for all that wait.
    fn compare<B: LaneBackend>(&mut self, backend: B, results: &mut [Result<(), VerifyError>]) {
        match self.count {
            0 => {}
            1 => {
                let (state, absorbed) = &self.begun;
                let blocks = &self.inputs[0].as_chunks().0[*absorbed..=self.len / RATE];
                self.decide(0, &backend.digest(state, blocks), results);
            }
            n if n > B::Narrow::LANES => self.compare_with(backend.wide(), results),
            _ => self.compare_with(backend.narrow(), results),
        }
        self.count = 0;
    }

    fn compare_with<S: LaneSponge>(&self, mut sponge: S, results: &mut [Result<(), VerifyError>]) {
        for block in 0..=self.len / RATE {
            let mut blocks: [&Block; MAX_LANES] = [&[0; RATE]; MAX_LANES];
            for (slot, input) in blocks.iter_mut().zip(&self.inputs).take(self.count) {
                *slot = &input.as_chunks().0[block];
            }
            sponge.absorb(&blocks);
        }
        for n in 0..self.count {
            let mut digest = [0; CRH_LEN];
            sponge.squeeze(n, &mut digest);
            self.decide(n, &digest, results);
        }
    }

    /// The verdict on commitment number `n`.
    fn decide(&self, n: usize, digest: &[u8; CRH_LEN], results: &mut [Result<(), VerifyError>]) {
        let (index, c_tilde) = self.expected[n];
        results[index] = if digest[..c_tilde.len()] == *c_tilde {
            Ok(())
        } else {
            Err(VerifyError::ChallengeMismatch)
        };
    }
}
