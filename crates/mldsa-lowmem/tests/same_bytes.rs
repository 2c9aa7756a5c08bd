//! Equality of keys, signatures and verdicts with those of mldsa-core, in every tier and
//! set. Digests are in the suites of `mldsa-kat`.

use core::ops::ControlFlow;

use mldsa_core::ParameterSet;
use mldsa_core::internals;
use mldsa_lowmem::*;

/// Reproducible bytes.
fn bytes<const LEN: usize>(label: u8, n: u32) -> [u8; LEN] {
    let mut out = [0; LEN];
    let seed = [label, n as u8, (n >> 8) as u8, (n >> 16) as u8];
    internals::Shake256::digest(
        mldsa_core::Backend::PORTABLE.permutation(),
        &[&seed],
        &mut out,
    );
    out
}

struct Case<P: ParameterSet> {
    core: mldsa_core::SigningKey<P>,
    xi: [u8; 32],
    mu: Mu,
    rnd: [u8; 32],
}

impl<P: ParameterSet> Case<P> {
    fn new(n: u32) -> Self {
        let xi = bytes(0, n);
        Self {
            core: mldsa_core::SigningKey::from_seed(&xi),
            xi,
            mu: Mu::from_bytes(bytes(1, n)),
            rnd: bytes(2, n),
        }
    }

    fn expected(&self) -> Vec<u8> {
        let signature = self.core.sign_mu(&self.mu, Randomness::Hedged(&self.rnd));
        signature.expect("a signature").as_ref().to_vec()
    }
}

/// Signs in tier `T` from the expanded key and from the seed, with and without
/// the public key at hand, and counts the rejections.
fn check_tier<P: ParameterSet, T: Tier<P>>(case: &Case<P>, rejections: &mut u32) {
    let expected = case.expected();
    let sk = case.core.expanded().as_ref();
    let pk = case.core.verifying_key().as_bytes().as_ref();
    let mut workspace = Workspace::<P, T>::new();
    let mut buffer = vec![0xaa; P::SIG_LEN];
    let hedge = Randomness::Hedged(&case.rnd);

    let key = ExpandedSigningKey::<P>::from_trusted_bytes(sk).expect("an expanded key");
    let mut watch = |progress| {
        *rejections += u32::from(progress == Progress::Rejected);
        ControlFlow::Continue(())
    };
    MlDsaSigner::new(&key, &mut workspace)
        .with_progress(&mut watch)
        .sign_mu_into(&case.mu, hedge, &mut buffer)
        .expect("a signature");
    assert!(buffer == expected, "{} from an expanded key", P::NAME);

    let key = key.with_public_key(pk).expect("a public key");
    MlDsaSigner::new(&key, &mut workspace)
        .sign_mu_into(&case.mu, hedge, &mut buffer)
        .expect("a signature");
    assert!(buffer == expected, "{} with its public key", P::NAME);

    let key = SigningKey::<P>::from_seed(&case.xi);
    assert_eq!(key.tr(), case.core.verifying_key().tr());
    MlDsaSigner::new(&key, &mut workspace)
        .sign_mu_into(&case.mu, hedge, &mut buffer)
        .expect("a signature");
    assert!(buffer == expected, "{} from a seed", P::NAME);
}

fn check_set<P: ParameterSet>(cases: u32)
where
    CacheW0: Tier<P>,
    Balanced: Tier<P>,
    CacheMatrix: Tier<P>,
{
    let mut rejections = 0;
    for n in 0..cases {
        let case = Case::<P>::new(n);
        check_tier::<P, Minimal>(&case, &mut rejections);
        check_tier::<P, CacheW0>(&case, &mut rejections);
        check_tier::<P, Balanced>(&case, &mut rejections);
        check_tier::<P, CacheMatrix>(&case, &mut rejections);
    }
    assert!(rejections > 4 * cases);
}

#[test]
fn signatures_of_every_tier_ml_dsa_44() {
    check_set::<MlDsa44>(25);
}

#[test]
fn signatures_of_every_tier_ml_dsa_65() {
    check_set::<MlDsa65>(20);
}

#[test]
fn signatures_of_every_tier_ml_dsa_87() {
    check_set::<MlDsa87>(15);
}

fn check_keys<P: ParameterSet>() {
    fn writer(memory: &mut (Vec<u8>, usize)) -> impl FnMut(usize, &[u8]) -> Result<(), ()> {
        |offset, bytes| {
            memory.0[offset..][..bytes.len()].copy_from_slice(bytes);
            memory.1 += bytes.len();
            Ok(())
        }
    }
    for n in 0..10 {
        let case = Case::<P>::new(n);
        let (mut pk, mut sk) = (
            case.core.verifying_key().as_bytes().clone(),
            case.core.expanded().clone(),
        );
        pk.as_mut().fill(0xaa);
        sk.as_mut().fill(0xaa);
        mldsa_lowmem::SigningKey::<P>::keygen_into(&case.xi, &mut pk, &mut sk);
        assert_eq!(&pk, case.core.verifying_key().as_bytes());
        assert_eq!(&sk, case.core.expanded());
        assert!(ExpandedSigningKey::<P>::from_expanded_bytes(sk.as_ref()).is_ok());

        let mut pk_sink = (vec![0; P::PK_LEN], 0);
        let mut sk_sink = (vec![0; P::SK_LEN], 0);
        let tr = SigningKey::<P>::keygen_to_writers(
            &case.xi,
            &mut writer(&mut pk_sink),
            Some(&mut writer(&mut sk_sink)),
        )
        .unwrap();
        assert_eq!(tr, *case.core.verifying_key().tr());
        assert!(pk_sink.0 == pk.as_ref() && pk_sink.1 == P::PK_LEN);
        assert!(sk_sink.0 == sk.as_ref() && sk_sink.1 == P::SK_LEN);
        assert_eq!(
            SigningKey::<P>::keygen_to_writers(&case.xi, &mut writer(&mut pk_sink), None),
            Ok(tr)
        );
    }
}

#[test]
fn keys_of_every_set() {
    check_keys::<MlDsa44>();
    check_keys::<MlDsa65>();
    check_keys::<MlDsa87>();
}

/// An external memory that counts reads; one read can return other bytes or fail.
struct Chip<'a> {
    bytes: &'a [u8],
    reads: usize,
    wrong_at: usize,
    fail_at: usize,
}

impl<'a> Chip<'a> {
    fn honest(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            reads: 0,
            wrong_at: usize::MAX,
            fail_at: usize::MAX,
        }
    }
}

impl Reader for Chip<'_> {
    type Error = &'static str;

    fn size(&self) -> usize {
        self.bytes.len()
    }

    fn read(&mut self, offset: usize, out: &mut [u8]) -> Result<(), Self::Error> {
        let bytes = self.bytes.get(offset..offset + out.len());
        out.copy_from_slice(bytes.ok_or("past the end")?);
        if self.reads == self.fail_at {
            return Err("broken");
        }
        if self.reads == self.wrong_at {
            out[0] ^= 1;
        }
        self.reads += 1;
        Ok(())
    }
}

fn check_verdicts<P: ParameterSet>() {
    for n in 0..6 {
        let case = Case::<P>::new(n);
        let vk = case.core.verifying_key();
        let pk = VerifyingKey::<P>::from_bytes(vk.as_ref()).unwrap();
        assert_eq!(&pk.tr(), vk.tr());
        let signature = case.expected();
        let mut verdicts = [0; 5];
        // Every byte of a small part, one byte in many of the rest.
        for at in (0..P::SIG_LEN)
            .step_by(61)
            .chain(P::SIG_LEN - 20..P::SIG_LEN)
        {
            let mut changed = signature.clone();
            changed[at] ^= 1 << (at % 8);
            compare::<P>(vk, &pk, &case.mu, &changed, &mut verdicts);
        }
        for value in [0, 0xff] {
            let mut changed = signature.clone();
            changed[P::C_TILDE_LEN..][..12].fill(value);
            compare::<P>(vk, &pk, &case.mu, &changed, &mut verdicts);
        }
        compare::<P>(vk, &pk, &case.mu, &signature[1..], &mut verdicts);
        compare::<P>(vk, &pk, &Mu::from_bytes([0; 64]), &signature, &mut verdicts);
        compare::<P>(vk, &pk, &case.mu, &signature, &mut verdicts);
        assert!(verdicts.iter().all(|&count| count > 0), "{verdicts:?}");
    }
}

fn compare<P: ParameterSet>(
    vk: &mldsa_core::VerifyingKey<P>,
    pk: &VerifyingKey<'_, P>,
    mu: &Mu,
    signature: &[u8],
    verdicts: &mut [u32; 5],
) {
    let expected = vk.verify_mu(mu, signature);
    assert_eq!(pk.verify_mu(mu, signature), expected);
    let remote = VerifyingKey::<P>::verify_mu_from(
        &mut Chip::honest(vk.as_ref()),
        vk.tr(),
        mu,
        &mut Chip::honest(signature),
    );
    assert_eq!(remote, expected.map_err(ReaderError::Invalid));
    verdicts[match expected {
        Ok(()) => 0,
        Err(error) => 1 + error as usize,
    }] += 1;
}

#[test]
fn verdicts_of_every_set() {
    check_verdicts::<MlDsa44>();
    check_verdicts::<MlDsa65>();
    check_verdicts::<MlDsa87>();
}

#[test]
fn wrong_bytes_or_an_error_at_any_read_never_verify() {
    let case = Case::<MlDsa44>::new(99);
    let vk = case.core.verifying_key();
    let signature = case.expected();
    let run = |pk: Chip<'_>, signature: Chip<'_>| {
        let (mut pk, mut signature) = (pk, signature);
        let verdict =
            VerifyingKey::<MlDsa44>::verify_mu_from(&mut pk, vk.tr(), &case.mu, &mut signature);
        (verdict, pk.reads, signature.reads)
    };
    let honest = run(Chip::honest(vk.as_ref()), Chip::honest(&signature));
    let (verdict, key_reads, signature_reads) = honest;
    assert_eq!(verdict, Ok(()));
    assert_eq!((key_reads, signature_reads), (5, 2 + 16));
    for at in 0..signature_reads {
        let wrong = Chip {
            wrong_at: at,
            ..Chip::honest(&signature)
        };
        let verdict = run(Chip::honest(vk.as_ref()), wrong).0;
        // Wrong bytes in the first pass are detected in the second at the latest.
        if at >= 2 {
            assert_eq!(verdict, Err(ReaderError::Changed), "read {at}");
        } else {
            assert!(matches!(verdict, Err(ReaderError::Invalid(_))), "read {at}");
        }
        let failing = Chip {
            fail_at: at,
            ..Chip::honest(&signature)
        };
        let verdict = run(Chip::honest(vk.as_ref()), failing).0;
        assert_eq!(verdict, Err(ReaderError::Read("broken")));
    }
    for at in 0..key_reads {
        let wrong = Chip {
            wrong_at: at,
            ..Chip::honest(vk.as_ref())
        };
        assert_eq!(
            run(wrong, Chip::honest(&signature)).0,
            Err(ReaderError::Changed)
        );
    }
    assert_eq!(
        VerifyingKey::<MlDsa44>::tr_from(&mut Chip::honest(vk.as_ref())),
        Ok(*vk.tr())
    );
    assert_eq!(
        VerifyingKey::<MlDsa44>::tr_from(&mut Chip::honest(&vk.as_ref()[1..])),
        Err(ReaderError::KeyLength)
    );
}

fn check_modes<P: ParameterSet>() {
    let case = Case::<P>::new(7);
    let core = &case.core;
    let pk = VerifyingKey::<P>::from_bytes(core.verifying_key().as_ref()).unwrap();
    let key = ExpandedSigningKey::<P>::from_trusted_bytes(core.expanded().as_ref()).unwrap();
    let mut workspace = Workspace::<P, Minimal>::new();
    let mut buffer = vec![0xaa; P::SIG_LEN];
    let ctx = Context::new(b"a context").unwrap();
    let message = bytes::<1000>(9, 0);
    for hedge in [Randomness::Deterministic, Randomness::Hedged(&[3; 32])] {
        let expected = core.sign_with_context(&message, ctx, hedge).unwrap();
        let mut signer = MlDsaSigner::new(&key, &mut workspace);
        signer.sign_into(&message, ctx, hedge, &mut buffer).unwrap();
        assert_eq!(buffer, expected.as_ref());
        let mut mu = signer.mu_builder(ctx);
        message.chunks(77).for_each(|piece| mu.update(piece));
        signer
            .sign_mu_into(&mu.finish(), hedge, &mut buffer)
            .unwrap();
        assert_eq!(buffer, expected.as_ref());
        assert_eq!(pk.verify_with_context(&message, ctx, &buffer), Ok(()));
        let mut mu = pk.mu_builder(ctx);
        message.chunks(13).for_each(|piece| mu.update(piece));
        assert_eq!(pk.verify_mu(&mu.finish(), &buffer), Ok(()));
        assert_eq!(
            pk.verify_with_context(&message, Context::EMPTY, &buffer),
            Err(VerifyError::ChallengeMismatch)
        );
    }
}

#[test]
fn messages_and_streams_of_every_set() {
    check_modes::<MlDsa44>();
    check_modes::<MlDsa65>();
    check_modes::<MlDsa87>();
}
