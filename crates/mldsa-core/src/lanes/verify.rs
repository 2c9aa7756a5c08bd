//! Algorithm 8 for one, four or eight signatures side by side, written over what a backend
//! supplies. Everything here is public data.

use crate::coding::encode::SignatureParts;
use crate::error::VerifyError;
use crate::hash::keccak::Permutation;
use crate::hash::transcript::mu_head;
use crate::lanes::interleaved::{BegunHash, InterleavedHash};
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

/// Algorithm 8 ML-DSA.Verify_internal of jobs `0..results.len()`, in any number, up to `LANES` at
/// a time. Writes every result.
///
/// Jobs share permutations; the next one takes the place of a rejected one, so that
/// bad signatures do not slow good ones.
///
/// To be inlined into entries that have the backend's features, one for a lone
/// signature and one for several, so that a lone one does without the memory of
/// eight.
#[inline(always)]
pub(crate) fn verify_internal<'a, B: LaneBackend, const LANES: usize>(
    backend: B,
    p: &Params,
    job: &dyn Fn(usize) -> Job<'a>,
    results: &mut [Result<(), VerifyError>],
) {
    let width = LANES.min(B::Wide::LANES);
    let mut commitments = Commitments::<LANES>::new(p);
    let mut next = 0;
    while next < results.len() {
        let parsed: [_; LANES] = parse_next(backend, p, job, width, &mut next, results);
        let hashes = hash_inputs(backend, &parsed);
        for (parsed, (mu, ball)) in parsed.iter().flatten().zip(&hashes) {
            let c_tilde = parsed.parts.c_tilde;
            let c = Challenge::from_block(p.tau, ball).unwrap_or_else(|| {
                Challenge::sample_in_ball_vartime(Permutation::PORTABLE, p.tau, c_tilde)
            });
            let inputs = CommitmentInputs {
                p,
                parts: &parsed.parts,
                c: &c,
            };
            let w1 = commitments.next_w1();
            let committed = if LANES == 1 {
                commit_and_hash(backend, &parsed.job, &inputs, w1, mu)
            } else {
                let mut no_hash = InterleavedHash::empty_with(w1);
                let in_range = backend.commitment(&parsed.job.key, &inputs, &mut no_hash);
                in_range.then_some((*mu, None))
            };
            match committed {
                Some((mu, begun)) => commitments.push(parsed.index, &mu, begun, c_tilde),
                None => results[parsed.index] = Err(VerifyError::ResponseNorm),
            }
            if commitments.count == width {
                commitments.compare(backend, results);
            }
        }
    }
    commitments.compare(backend, results);
}

/// Lines 1 to 4 of algorithm 8: parses signatures from job `next` on until `width` are well
/// formed. Writes the results of the others.
#[inline(always)]
fn parse_next<'a, B: LaneBackend, const LANES: usize>(
    backend: B,
    p: &Params,
    job: &dyn Fn(usize) -> Job<'a>,
    width: usize,
    next: &mut usize,
    results: &mut [Result<(), VerifyError>],
) -> [Option<Parsed<'a>>; LANES] {
    if LANES > 1 {
        for n in (*next..results.len()).take(width) {
            backend.announce(job(n).signature);
        }
    }
    let mut parsed = [const { None::<Parsed<'_>> }; LANES];
    let mut count = 0;
    while count < width && *next < results.len() {
        let job = job(*next);
        match job.parts(p) {
            Ok(parts) => {
                parsed[count] = Some(Parsed {
                    index: *next,
                    job,
                    parts,
                });
                count += 1;
            }
            Err(error) => results[*next] = Err(error),
        }
        *next += 1;
    }
    parsed
}

/// `mu` and the begun hash of the commitment of a lone signature, `None` if a coefficient of z is too
/// large; `known` is `mu` if the key is prepared. The scalar units, which ExpandA leaves idle, hash at the
/// same time: `tr` and `mu` under an encoded key, and the rows of w1 that are there. Without, a lone
/// verification with an encoded key costs 1.4 (Intel Xeon, model 207) to 8 % more.
#[inline(always)]
fn commit_and_hash<'a, B: LaneBackend>(
    backend: B,
    job: &Job<'a>,
    inputs: &CommitmentInputs<'_>,
    w1: &'a mut [u8],
    known: &[u8; CRH_LEN],
) -> Option<([u8; CRH_LEN], Option<BegunHash>)> {
    let mut interleaved = InterleavedHash::commitment_of(job, w1);
    if !backend.commitment(&job.key, inputs, &mut interleaved) {
        return None;
    }
    let (hashed, begun) = interleaved.finish(&mut |state| backend.permute(state));
    Some((hashed.unwrap_or(*known), Some(begun)))
}

/// Lines 6 to 8 of algorithm 8: `mu` and the first block for SampleInBall of every parsed
/// signature. [`commit_and_hash`] computes the `mu` of a lone signature under an encoded key.
fn hash_inputs<'a, B: LaneBackend, const LANES: usize>(
    backend: B,
    parsed: &[Option<Parsed<'a>>; LANES],
) -> [([u8; CRH_LEN], [u8; RATE]); LANES] {
    let alone = LANES == 1;
    let mut tr = [[0; CRH_LEN]; LANES];
    let mut queue = Queue::new(backend);
    for (parsed, tr) in parsed.iter().flatten().zip(&mut tr) {
        match parsed.job.key {
            JobKey::Prepared(_, known) | JobKey::Encoded(_, Some(known)) => *tr = *known,
            JobKey::Encoded(_, None) if alone => {}
            JobKey::Encoded(pk, None) => queue.push(Input::joined([pk.rho, pk.t1]), tr),
        }
    }
    queue.run();
    let mut hashes = [([0; CRH_LEN], [0; RATE]); LANES];
    let mut queue = Queue::new(backend);
    for ((parsed, tr), (mu, ball)) in parsed.iter().flatten().zip(&tr).zip(&mut hashes) {
        match (parsed.job.message, parsed.job.key) {
            (JobMessage::Mu(known), _) => *mu = *known.as_bytes(),
            (JobMessage::Pure(..), JobKey::Encoded(..)) if alone => {}
            (JobMessage::Pure(ctx, message), _) => {
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
    /// The beginning of the hash of the first one, if it is the only one.
    begun: BegunHash,
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

    fn push(
        &mut self,
        index: usize,
        mu: &[u8; CRH_LEN],
        begun: Option<BegunHash>,
        c_tilde: &'a [u8],
    ) {
        if let Some(begun) = begun {
            self.begun = begun;
        }
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
