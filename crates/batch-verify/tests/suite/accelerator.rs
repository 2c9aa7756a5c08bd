//! Accelerators: honest, lying, failing ones give the same reports.

use core::error::Error;
use core::sync::atomic::{AtomicUsize, Ordering};

use batch_verify::{
    Accelerator, AcceleratorJob, AcceleratorMessage, BatchVerifier, CommitteeVerifier, Item, Mode,
    Report,
};
use mldsa_core::{Context, MlDsa44, Mu, MuBuilder, VerifyingKey};

use crate::fixture::{COMMITTEE, KEYS, VOTES, context, public};

/// Behaviour of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    Right,
    RejectsAll,
    /// Says the opposite of each verdict.
    Lies,
    /// Answers for every second signature.
    Shy,
    Fails,
    Panics,
    Busy,
    PanicsWhenAsked,
}

impl Device {
    /// Whether the device is not given any signature.
    fn is_idle(self) -> bool {
        matches!(self, Self::Busy | Self::PanicsWhenAsked)
    }
}

struct Counting(Device, &'static AtomicUsize);

impl Accelerator<MlDsa44> for Counting {
    fn min_batch(&self) -> usize {
        match self.0 {
            Device::Busy => usize::MAX,
            Device::PanicsWhenAsked => panic!("the device's fault"),
            _ => 20,
        }
    }

    fn verify(
        &self,
        jobs: &[AcceleratorJob<'_>],
        answers: &mut [Option<bool>],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        assert!(answers.iter().all(Option::is_none) && answers.len() == jobs.len());
        self.1.fetch_add(jobs.len(), Ordering::Relaxed);
        for (n, (job, answer)) in jobs.iter().zip(answers).enumerate() {
            if let Some(member) = job.member {
                assert_eq!(member.committee_digest(), COMMITTEE.digest());
                assert_eq!(
                    COMMITTEE.key(member).unwrap().as_bytes().as_slice(),
                    job.key
                );
            }
            let key = VerifyingKey::<MlDsa44>::from_bytes(job.key).unwrap();
            let verdict = match job.message {
                AcceleratorMessage::Pure { context, message } => {
                    key.verify_with_context(message, context, job.signature)
                }
                AcceleratorMessage::Mu(mu) => key.verify_mu(mu, job.signature),
            };
            *answer = match self.0 {
                Device::RejectsAll => Some(false),
                Device::Lies => Some(verdict.is_err()),
                Device::Shy if n % 2 == 0 => None,
                // What it wrote before does not count.
                Device::Fails | Device::Panics => Some(true),
                _ => Some(verdict.is_ok()),
            };
        }
        match self.0 {
            Device::Fails => Err("no device".into()),
            Device::Panics => panic!("the device's fault"),
            _ => Ok(()),
        }
    }

    fn on_wrong_rejection(&self) {
        assert!(matches!(self.0, Device::RejectsAll | Device::Lies));
        self.1.fetch_add(WRONG, Ordering::Relaxed);
    }
}

/// Counted for a wrong rejection that the device hears of.
const WRONG: usize = 1 << 20;

fn assert_equal(found: &Report, expected: &Report) {
    assert_eq!(found.verdicts(), expected.verdicts());
    assert_eq!(found.duplicates(), expected.duplicates());
}

#[test]
fn reports_do_not_depend_on_the_device() {
    let mus: Vec<Mu> = KEYS
        .iter()
        .map(|key| {
            let mut mu = MuBuilder::from_tr(key.verifying_key().tr(), Context::EMPTY);
            mu.update(b"m");
            mu.finish()
        })
        .collect();
    let signatures: Vec<_> = KEYS
        .iter()
        .map(|key| key.sign_hedged(b"m", Context::EMPTY).unwrap())
        .collect();
    let items = || {
        let keys = KEYS.iter().zip(&signatures).zip(&mus);
        keys.flat_map(|((key, signature), mu)| {
            let (key, signature) = (public(key), signature.as_ref());
            [
                Item::new(key, b"m", Context::EMPTY, signature),
                Item::new(key, b"m", context(), signature),
                Item::from_mu(key, mu, signature),
                Item::new(key, b"m", Context::EMPTY, &signature[1..]),
                Item::new(key, b"m", Context::EMPTY, signature),
            ]
        })
    };
    let votes = || VOTES.iter().chain(&VOTES[..3]).map(|vote| vote.as_vote());
    for mode in [Mode::Full, Mode::FirstInvalid] {
        let plain = || BatchVerifier::<MlDsa44>::builder().mode(mode);
        let members = || CommitteeVerifier::builder().mode(mode);
        let of_items = plain().build().unwrap().verify_batch(items());
        let of_votes = members()
            .build(COMMITTEE.clone())
            .unwrap()
            .verify_batch(votes());
        for device in [
            Device::Right,
            Device::RejectsAll,
            Device::Lies,
            Device::Shy,
            Device::Fails,
            Device::Panics,
            Device::Busy,
            Device::PanicsWhenAsked,
        ] {
            let calls: &'static AtomicUsize = Box::leak(Box::default());
            let report = plain()
                .accelerator(Counting(device, calls))
                .build()
                .unwrap()
                .verify_batch(items());
            assert_equal(&report, &of_items);
            let asked = calls.swap(0, Ordering::Relaxed);
            assert_eq!(asked == 0, device.is_idle(), "{device:?} {mode:?}");
            let is_liar = matches!(device, Device::RejectsAll | Device::Lies);
            assert_eq!(asked >= WRONG, is_liar, "{device:?} {mode:?}");
            let verifier = members().accelerator(Counting(device, calls));
            let verifier = verifier.build(COMMITTEE.clone()).unwrap();
            assert_equal(&verifier.verify_batch(votes()), &of_votes);
            let asked = calls.load(Ordering::Relaxed);
            assert_eq!(asked == 0, device.is_idle(), "{device:?} {mode:?}");
        }
    }
}
