//! Slices: their lengths, the bytes at the end, power cuts, hostile states, writes by others.

extern crate std;

use std::vec::Vec;

use mldsa_core::internals::signature_parts_mut;
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87};

use super::*;
use crate::key::ExpandedSigningKey;
use crate::packed::packed_row_mut;
use crate::signer::MlDsaSigner;
use crate::tier::{Balanced, CacheMatrix, CacheW0, Minimal};

const XI: [u8; SEED_LEN] = [9; SEED_LEN];
const RND: [u8; SEED_LEN] = [6; SEED_LEN];
const STAINED: u8 = 0xa5;

/// Returns the encodings of a key.
fn keys<P: ParameterSet>() -> (P::PublicKeyBytes, P::SecretKeyBytes) {
    let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
    SigningKey::<P>::keygen_into(&XI, &mut pk, &mut sk);
    (pk, sk)
}

fn mu(n: u8) -> Mu {
    Mu::from_bytes([n; CRH_LEN])
}

/// Returns the first messages whose first attempt is rejected, and that have few attempts.
fn messages<P: ParameterSet>(count: usize) -> Vec<(Mu, P::SignatureBytes)> {
    let key = mldsa_core::SigningKey::<P>::from_seed(&XI);
    let mut found = Vec::new();
    for n in 0..=u8::MAX {
        let (mut attempts, mut signature) = (1, P::SignatureBytes::zeroed());
        let hedge = Randomness::Hedged(&RND);
        let observe = &mut |_| attempts += 1;
        let out = signature.as_mut();
        mldsa_core::internals::sign_mu_observed(&key, &mu(n), hedge, out, observe)
            .expect("a signature");
        if (2..4).contains(&attempts) && found.len() < count {
            found.push((mu(n), signature));
        }
    }
    assert_eq!(found.len(), count);
    found
}

/// A started or resumed signature, and its end.
struct Run<P: ParameterSet, K: SlicedKey<P>, T: Tier<P>> {
    memory: SliceMemory<P, K, T>,
    out: P::SignatureBytes,
    /// The state before each step.
    states: Vec<[u8; STATE_LEN]>,
    /// The most permutations in a step.
    longest: usize,
}

fn permutations() -> usize {
    #[cfg(target_arch = "x86_64")]
    return crate::packed::count::PERMUTATIONS.get();
    #[cfg(not(target_arch = "x86_64"))]
    0
}

impl<P: ParameterSet, K: SlicedKey<P>, T: Tier<P>> Run<P, K, T> {
    /// Returns memory and buffer as a reset may leave them.
    fn new() -> Self {
        let mut run = Self {
            memory: SliceMemory::ZERO,
            out: P::SignatureBytes::zeroed(),
            states: Vec::new(),
            longest: 0,
        };
        run.out.as_mut().fill(STAINED);
        run.memory.workspace.bytes.as_mut().fill(STAINED);
        run.memory.shared.acc.fill(0x0101_0101);
        run
    }

    /// Makes at most `steps` steps, from `state` if there is one; `write` is called before each.
    fn go(
        &mut self,
        key: &K,
        mu: &Mu,
        state: Option<&[u8]>,
        steps: usize,
        mut write: impl FnMut(usize, &mut SlicedSigner<'_, P, K, T>),
    ) -> Result<bool, SignError> {
        let mut before = permutations();
        let longest = &mut self.longest;
        let mut lap = || {
            let now = permutations();
            *longest = (*longest).max(now - before);
            before = now;
        };
        let (memory, out) = (&mut self.memory, self.out.as_mut());
        let mut signer = match state {
            None => SlicedSigner::new(key, memory, mu, Randomness::Hedged(&RND), out)?,
            Some(state) => SlicedSigner::resume(key, memory, mu, state, out)?,
        };
        lap();
        for step in 0..steps {
            self.states.push(signer.state());
            lap();
            write(step, &mut signer);
            let slice = signer.step();
            lap();
            if slice? == Slice::Finished {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn holds_no_secret(&self) -> bool {
        let zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
        let hints = match &self.memory.shared.kept {
            Kept::Hints(hints) => zero(hints.as_flattened()),
            Kept::KeyHash(_) => false,
        };
        hints
            && self.memory.shared.hash.is_none()
            && self.memory.shared.acc == [0; N]
            && self.memory.shared.rnd == [0; SEED_LEN]
            && *self.memory.shared.mu.as_bytes() == [0; CRH_LEN]
            && zero(self.memory.shared.row.as_ref())
            && (T::Keeps::MATRIX || zero(self.memory.workspace.bytes.as_ref()))
    }
}

/// Signatures without interruption, then with a power cut after every `every` steps, resumed in
/// another signer. Returns the longest slice.
fn cut<P: ParameterSet, K: SlicedKey<P>, T: Tier<P>>(key: &K, count: usize, every: usize) -> usize {
    let mut longest = 0;
    for (mu, expected) in messages::<P>(count) {
        let mut whole = Run::<P, K, T>::new();
        let done = whole.go(key, &mu, None, usize::MAX, |_, _| {});
        assert_eq!(done, Ok(true));
        assert!(
            whole.out == expected && whole.holds_no_secret(),
            "{}",
            P::NAME
        );
        longest = longest.max(whole.longest);
        let distinct: std::collections::BTreeSet<_> = whole.states.iter().collect();
        assert!(distinct.len() > 1, "no attempt was rejected");
        for (cut, state) in whole.states.iter().enumerate().step_by(every) {
            let mut run = Run::<P, K, T>::new();
            assert_eq!(run.go(key, &mu, None, cut, |_, _| {}), Ok(false));
            assert!(run.holds_no_secret(), "{} cut at {cut}", P::NAME);
            assert!(run.out.as_ref().iter().all(|&byte| byte == 0));
            let mut run = Run::<P, K, T>::new();
            let done = run.go(key, &mu, Some(state), usize::MAX, |_, _| {});
            assert_eq!(done, Ok(true));
            assert!(run.out == expected, "{} cut at {cut}", P::NAME);
            longest = longest.max(run.longest);
        }
    }
    longest
}

/// Every key form and tier, in the smallest one at every slice.
fn every_tier<P: ParameterSet>(slices: [usize; 2])
where
    CacheW0: Tier<P>,
    Balanced: Tier<P>,
    CacheMatrix: Tier<P>,
{
    let (pk, sk) = keys::<P>();
    let expanded = ExpandedSigningKey::<P>::from_trusted_bytes(sk.as_ref()).expect("a key");
    let expanded = expanded.with_public_key(pk.as_ref()).expect("a key");
    let seed = SigningKey::<P>::from_seed(&XI);
    let of_expanded = [
        cut::<P, _, Minimal>(&expanded, 2, 1),
        cut::<P, _, CacheW0>(&expanded, 1, 9),
        cut::<P, _, Balanced>(&expanded, 1, 19),
        cut::<P, _, CacheMatrix>(&expanded, 1, 19),
    ];
    let of_seed = [
        cut::<P, _, Minimal>(&seed, 1, 9),
        cut::<P, _, CacheW0>(&seed, 1, 19),
    ];
    if cfg!(target_arch = "x86_64") {
        let longest = [of_expanded.iter().max(), of_seed.iter().max()];
        assert_eq!(longest, [Some(&slices[0]), Some(&slices[1])], "{}", P::NAME);
        assert!(slices[1] <= SlicedSigner::<P, SigningKey<P>, Minimal>::MAX_PERMUTATIONS);
    }
}

#[test]
fn cut_at_every_slice_44() {
    every_tier::<MlDsa44>([7, 9]);
}

#[test]
fn cut_at_every_slice_65() {
    every_tier::<MlDsa65>([7, 9]);
}

#[test]
fn cut_at_every_slice_87() {
    every_tier::<MlDsa87>([7, 9]);
}

/// Power that lasts for one to a few attempts at a time, and a state that is written late or
/// brought back: the bytes are the same.
#[test]
fn repeated_cuts_and_old_states_give_the_same_bytes() {
    let key = SigningKey::<MlDsa44>::from_seed(&XI);
    for (mu, expected) in messages::<MlDsa44>(3) {
        let mut whole = Run::<_, _, Minimal>::new();
        assert_eq!(whole.go(&key, &mu, None, usize::MAX, |_, _| {}), Ok(true));
        // An attempt that is accepted takes 112 steps.
        for length in [112, 120, whole.states.len() - 1] {
            let (mut state, mut cuts) = (whole.states[0], 0);
            loop {
                let mut run = Run::<_, _, Minimal>::new();
                let done = run.go(&key, &mu, Some(&state), length, |_, _| {});
                if done == Ok(true) {
                    assert!(run.out == expected);
                    break;
                }
                assert_eq!(done, Ok(false));
                cuts += 1;
                // Every second time the state of the step before was written.
                state = run.states[run.states.len() - 1 - cuts % 2];
            }
            assert!((1..=8).contains(&cuts), "{length}: {cuts}");
        }
    }
}

/// Every other value of every byte, every other length, and states of something else.
fn foreign_states_are_refused<P: ParameterSet>()
where
    CacheW0: Tier<P>,
{
    let key = SigningKey::<P>::from_seed(&XI);
    let other = SigningKey::<P>::from_seed(&[8; SEED_LEN]);
    let wrong_tr = SigningKey::<P>::from_seed_and_tr(&XI, other.tr());
    let mut run = Run::<P, _, Minimal>::new();
    assert_eq!(run.go(&key, &mu(1), None, 1, |_, _| {}), Ok(false));
    let state = run.states[0];
    let refused = |key: &SigningKey<P>, mu: &Mu, state: &[u8]| {
        let mut run = Run::<P, _, Minimal>::new();
        run.go(key, mu, Some(state), 0, |_, _| {}) == Err(SignError::State)
    };
    assert!(!refused(&key, &mu(1), &state));
    assert!(refused(&key, &mu(2), &state));
    assert!(refused(&other, &mu(1), &state));
    assert!(refused(&wrong_tr, &mu(1), &state));
    for at in 0..STATE_LEN {
        for change in 1..=u8::MAX {
            let mut bad = state;
            bad[at] ^= change;
            assert!(refused(&key, &mu(1), &bad), "byte {at} ^ {change}");
        }
    }
    let long = [state, state].concat();
    for len in (0..STATE_LEN).chain(STATE_LEN + 1..=long.len()) {
        assert!(refused(&key, &mu(1), &long[..len]), "{len} bytes");
    }
    // A tag over a head that no signer writes.
    for (at, value) in [(0, 2), (1, 1), (2, 9), (3, 1), (5, 4)] {
        let mut head = [0; HEAD_LEN];
        head.copy_from_slice(&state[..HEAD_LEN]);
        head[at] = value;
        let mut tag = [0; TAG_LEN];
        seal::<P, _>(&key, &mu(1), &head, &mut tag);
        let sealed: Vec<u8> = head.into_iter().chain(tag).collect();
        assert!(refused(&key, &mu(1), &sealed), "byte {at} = {value}");
    }
    let mut run = Run::<P, _, CacheW0>::new();
    let done = run.go(&key, &mu(1), Some(&state), 0, |_, _| {});
    assert_eq!(done, Err(SignError::State), "of another tier");
}

#[test]
fn foreign_and_altered_states_are_refused() {
    foreign_states_are_refused::<MlDsa44>();
    foreign_states_are_refused::<MlDsa65>();
    foreign_states_are_refused::<MlDsa87>();
}

/// Places that others may write to: the parts of the buffer, all rows of z at once and each, and
/// of the memory the workspace.
fn place<'a>(n: usize, out: &'a mut [u8], workspace: &'a mut [u8]) -> &'a mut [u8] {
    let p = &MlDsa44::PARAMS;
    let (c_tilde, z, hint) = signature_parts_mut(p, out).expect("a signature");
    match n {
        0 => c_tilde,
        1 => hint,
        2 => z,
        3 => workspace,
        _ => packed_row_mut(z, n - 4, p.z_poly_len()),
    }
}

const WRITES: [fn(&mut [u8]); 3] = [
    |memory| memory.fill(0),
    |memory| memory.fill(0xff),
    |memory| memory.iter_mut().take(1).for_each(|byte| *byte ^= 1),
];

/// Writes of another device before every step: an error and no bytes, or the same signature. While
/// it is verified the buffer holds the signature alone, and a write may damage what is released.
fn writes_release_nothing<T: Tier<MlDsa44>>() {
    let (pk, sk) = keys::<MlDsa44>();
    let key = ExpandedSigningKey::from_trusted_bytes(&sk).expect("a key");
    let key = key.with_public_key(&pk).expect("a key");
    let (mu, expected) = messages::<MlDsa44>(1).remove(0);
    let mut whole = Run::<_, _, T>::new();
    assert_eq!(whole.go(&key, &mu, None, usize::MAX, |_, _| {}), Ok(true));
    let mut detected = 0;
    for at in 0..whole.states.len() {
        for (n, write) in (0..4 + MlDsa44::L).flat_map(|n| WRITES.map(|write| (n, write))) {
            let mut run = Run::<_, _, T>::new();
            let mut damaged = expected;
            let signed = run.go(&key, &mu, None, usize::MAX, |step, signer| {
                if step == at {
                    write(place(n, signer.out, signer.memory.workspace.bytes.as_mut()));
                    if signer.at.phase == Phase::Verify {
                        write(place(n, &mut damaged, &mut []));
                    }
                }
            });
            match signed {
                Err(error) => {
                    assert_eq!(error, SignError::SelfVerification);
                    assert!(run.holds_no_secret() && run.out == [0; MlDsa44::SIG_LEN]);
                    detected += 1;
                }
                // If an attempt is rejected that would be accepted, a later one is accepted.
                Ok(_) if run.states.len() > whole.states.len() => {
                    let key = mldsa_core::VerifyingKey::<MlDsa44>::from_bytes(&pk);
                    let verdict = key.expect("a key").verify_mu(&mu, &run.out);
                    assert!(verdict.is_ok(), "step {at} place {n}");
                }
                Ok(_) => assert!(
                    run.out == expected || run.out == damaged,
                    "step {at} place {n}"
                ),
            }
        }
    }
    assert!(detected > 0);
}

#[test]
fn writes_of_others_release_nothing() {
    writes_release_nothing::<Minimal>();
    writes_release_nothing::<CacheW0>();
}

/// Another phase before each step, the last one too: an error and no bytes, or a valid signature.
#[test]
fn changed_phases_release_nothing() {
    let (pk, sk) = keys::<MlDsa44>();
    let key = ExpandedSigningKey::<MlDsa44>::from_trusted_bytes(&sk).expect("a key");
    let key = key.with_public_key(&pk).expect("a key");
    let public = mldsa_core::VerifyingKey::<MlDsa44>::from_bytes(&pk).expect("a key");
    let (mu, _) = messages::<MlDsa44>(1).remove(0);
    let mut whole = Run::<_, _, Minimal>::new();
    assert_eq!(whole.go(&key, &mu, None, usize::MAX, |_, _| {}), Ok(true));
    let phases = [
        Phase::Mask,
        Phase::Commit,
        Phase::CheckZ,
        Phase::Respond,
        Phase::Write,
        Phase::Verify,
        Phase::Finished,
    ];
    let (mut detected, mut valid) = (0, 0);
    for at in 0..whole.states.len() {
        for phase in phases {
            let mut run = Run::<_, _, Minimal>::new();
            let signed = run.go(&key, &mu, None, 2_000, |step, signer| {
                if step == at {
                    signer.at.phase = phase;
                }
            });
            assert!(run.holds_no_secret());
            if signed == Ok(true) {
                let verdict = public.verify_mu(&mu, &run.out);
                assert!(verdict.is_ok(), "step {at} {phase:?}");
                valid += 1;
            } else {
                assert_eq!(run.out, [0; MlDsa44::SIG_LEN]);
                detected += 1;
            }
        }
    }
    assert!(detected > 0 && valid > 0);
}

/// Keys that are damaged, or whose `tr` or public key is of another key, and missing parts.
#[test]
fn keys_that_lie_release_nothing() {
    let (pk, sk) = keys::<MlDsa44>();
    let (mu, _) = messages::<MlDsa44>(1).remove(0);
    let run = |pk: &[u8], sk: &[u8]| {
        let key = ExpandedSigningKey::<MlDsa44>::from_trusted_bytes(sk).expect("a key");
        let key = key.with_public_key(pk).expect("a key");
        let mut run = Run::<_, _, Minimal>::new();
        let done = run.go(&key, &mu, None, usize::MAX, |_, _| {});
        assert!(run.holds_no_secret());
        assert!(done == Ok(true) || run.out == [0; MlDsa44::SIG_LEN]);
        done
    };
    let failed = Err(SignError::SelfVerification);
    assert_eq!(run(&pk, &sk), Ok(true));
    for at in [0, 40, pk.len() - 1] {
        let mut bad = pk;
        bad[at] ^= 1;
        assert_eq!(run(&bad, &sk), failed, "pk {at}");
    }
    // rho, tr, a coefficient of s1 and of s2 (a code word in range), the last one of t0.
    for (at, change) in [(3, 1), (70, 1), (128, 1), (128 + 4 * 96, 1)] {
        let mut bad = sk;
        bad[at] ^= change;
        let range = ExpandedSigningKey::<MlDsa44>::from_trusted_bytes(&bad);
        if range.is_ok() {
            assert_eq!(run(&pk, &bad), failed, "sk {at}");
        }
    }
    let other = SigningKey::<MlDsa44>::from_seed(&[8; SEED_LEN]);
    let wrong_tr = SigningKey::<MlDsa44>::from_seed_and_tr(&XI, other.tr());
    let mut run = Run::<_, _, Minimal>::new();
    let done = run.go(&wrong_tr, &mu, None, usize::MAX, |_, _| {});
    assert_eq!(done, failed);
    for len in [0, MlDsa44::SIG_LEN - 1, MlDsa44::SIG_LEN + 1] {
        let mut out = std::vec![7; len];
        let mut memory = SliceMemory::<_, _, Minimal>::ZERO;
        let rnd = Randomness::Deterministic;
        let signer = SlicedSigner::new(&other, &mut memory, &mu, rnd, &mut out);
        assert_eq!(signer.err(), Some(SignError::BufferLength));
        assert_eq!(out, std::vec![7; len]);
    }
}

/// The one-shot signer and the sliced one agree, deterministic signing included.
#[test]
fn same_bytes_as_in_one_call() {
    let key = SigningKey::<MlDsa65>::from_seed(&XI);
    for n in 0..8 {
        let mut one = [0; MlDsa65::SIG_LEN];
        let mut workspace = Workspace::<MlDsa65, Minimal>::new();
        MlDsaSigner::new(&key, &mut workspace)
            .sign_mu_into(&mu(n), Randomness::Deterministic, &mut one)
            .expect("a signature");
        let mut two = [0; MlDsa65::SIG_LEN];
        let mut memory = SliceMemory::<_, _, Minimal>::ZERO;
        let rnd = Randomness::Deterministic;
        let signer = SlicedSigner::new(&key, &mut memory, &mu(n), rnd, &mut two);
        let mut signer = signer.expect("a signer");
        while signer.step().expect("no fault") != Slice::Finished {}
        assert_eq!(signer.step(), Ok(Slice::Finished));
        drop(signer);
        assert_eq!(one, two);
    }
}
