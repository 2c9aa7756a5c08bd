//! Which form of expanded keys this machine verifies faster under.

use core::array;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use mldsa_core::internals::{
    Element, Expansion, JobMessage, NttPoly, PackedPoly, Verification, verify_lanes,
};
use mldsa_core::{
    Backend, Context, ParameterSet, Randomness, Signature, SigningKey, VerifyError, VerifyingKey,
};

/// Signatures verified together: as many as the widest lanes hold.
const GROUP: usize = 8;
/// Bytes of wide keys that are at hand: more than the caches next to a core hold.
const SAMPLE: usize = 16 << 20;
/// How long a pass over some of them takes, at most about.
const PASS: Duration = Duration::from_millis(2);
/// Passes over either form, in turn; the fastest counts.
const PASSES: usize = 3;

/// What was measured in this process, by parameter set and backend.
static MEASURED: Mutex<Vec<(&str, &str, bool)>> = Mutex::new(Vec::new());

/// Whether verification under many keys is faster if they are packed. Measured once in
/// a process for each parameter set and backend; a verdict does not depend on it.
pub(super) fn packed_is_faster<P: ParameterSet>(backend: Backend) -> bool {
    // Held while measuring: whoever asks meanwhile would disturb.
    let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = |(set, name, _): &&(&str, &str, bool)| *set == P::NAME && *name == backend.name();
    if let Some((_, _, packed)) = measured.iter().find(known) {
        return *packed;
    }
    let packed = measure::<P>(backend).is_some_and(|[wide, packed]| packed < wide);
    measured.push((P::NAME, backend.name(), packed));
    packed
}

/// The time for a signature, wide and packed; `None` if nothing can be measured.
fn measure<P: ParameterSet>(backend: Backend) -> Option<[Duration; 2]> {
    let key = SigningKey::<P>::from_seed(&[0; 32]).with_backend(backend);
    let signature = key
        .sign(b"", Context::EMPTY, Randomness::Deterministic)
        .ok()?;
    let key = key.verifying_key();
    let len = VerifyingKey::<P>::PREPARED_POLYS;
    let mut expanded = Vec::with_capacity(len);
    expanded.resize_with(len, || NttPoly::ZERO);
    key.prepare_polys(&mut expanded);
    // One key in many places: the work is that of many keys.
    let keys = (SAMPLE / size_of_val(&*expanded)).max(GROUP);
    let mut wide = Vec::with_capacity(keys * len);
    let mut packed = Vec::with_capacity(keys * len);
    for _ in 0..keys {
        wide.extend(expanded.iter().map(|poly| NttPoly(poly.0)));
        packed.extend(expanded.iter().map(PackedPoly::from));
    }
    let of = |place: usize| place % keys * len..(place % keys + 1) * len;
    let at_wide = |place| Expansion::Wide(&wide[of(place)]);
    let at_packed = |place| Expansion::Packed(&packed[of(place)]);
    let mut best = [Duration::MAX; 2];
    let mut start = 0;
    for _ in 0..PASSES {
        let (time, count) = pass(key, &signature, start, keys, at_wide)?;
        best[0] = best[0].min(time);
        let (time, _) = pass(key, &signature, start, count, at_packed)?;
        best[1] = best[1].min(time);
        // On from there, to keys that have been out of use for longest.
        start += count;
    }
    Some(best)
}

/// Verifies under `count` keys from the place `start` on, or as many as there is time
/// for; the time for each, and how many they were.
fn pass<'a, P: ParameterSet>(
    key: &'a VerifyingKey<P>,
    signature: &'a Signature<P>,
    start: usize,
    count: usize,
    at: impl Fn(usize) -> Expansion<'a>,
) -> Option<(Duration, usize)> {
    let begin = Instant::now();
    let mut done = 0;
    while done < count && (done == 0 || begin.elapsed() < PASS) {
        let lane = |place| {
            let key = key.prepared_at(at(place))?;
            let message = JobMessage::Pure(Context::EMPTY, b"");
            Some(Verification::prepared(key, message, signature.as_ref()))
        };
        let first = lane(start + done)?;
        let lanes: [_; GROUP] = array::from_fn(|n| lane(start + done + n).unwrap_or(first));
        let mut results = [Err(VerifyError::ChallengeMismatch); GROUP];
        verify_lanes(|n| lanes[n], &mut results);
        results.iter().all(Result::is_ok).then_some(())?;
        done += GROUP;
    }
    Some((begin.elapsed() / u32::try_from(done).ok()?, done))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mldsa_core::{MlDsa44, MlDsa87};

    /// On every backend there is something to measure, and it is measured
    /// once.
    #[test]
    fn measured_once() {
        fn check<P: ParameterSet>() {
            for backend in Backend::available() {
                let [wide, packed] = measure::<P>(backend).unwrap();
                assert!(wide < Duration::MAX && packed < Duration::MAX);
                let choice = packed_is_faster::<P>(backend);
                for _ in 0..100 {
                    assert_eq!(packed_is_faster::<P>(backend), choice);
                }
                // Every measurement leaves an entry.
                let measured = MEASURED.lock().unwrap();
                let known = measured.iter();
                let known =
                    known.filter(|(set, name, _)| (*set, *name) == (P::NAME, backend.name()));
                assert_eq!(known.count(), 1);
            }
        }
        check::<MlDsa44>();
        check::<MlDsa87>();
    }
}
