//! The public API from outside. `tests/kat` has every form of verification, import and context, on
//! every backend, against other implementations.

#![allow(clippy::unwrap_used)]

use mldsa_core::{
    AnySigningKey, AnyVerifyingKey, Context, KeyError, MlDsa44, MlDsa65, MlDsa87, MuBuilder,
    ParameterSet, ParseError, PreHash, PreHashed, Randomness, SignError, Signature, SigningKey,
    VerifyError, VerifyingKey, no_alloc::PreparedVerifyingKeyStorage, no_alloc::SignInto,
    no_alloc::SigningKeyStorage,
};
use rand_core::{TryCryptoRng, TryRng};

macro_rules! for_all_sets {
    ($($test:ident),+ $(,)?) => {$(
        #[test]
        fn $test() {
            generic::$test::<MlDsa44>();
            generic::$test::<MlDsa65>();
            generic::$test::<MlDsa87>();
        }
    )+};
}

for_all_sets! {
    every_form_of_signing_gives_the_same_bytes,
    generators_are_used_and_their_failure_is_reported,
    keys_in_caller_memory_equal_those_by_value,
    zero_seeds_of_a_generator_are_rejected,
    constant_k_is_rejected,
    self_verification_changes_no_signature,
    values_can_be_sent_and_print_no_secret,
    encodings_compare_and_hash_by_their_bytes,
}

/// Yields bytes `next`, `next + step`, ... until `left` calls were made, then fails.
struct Counting {
    next: u8,
    step: u8,
    left: u32,
}

impl Counting {
    fn new(next: u8, step: u8, left: u32) -> Self {
        Self { next, step, left }
    }
}

/// The failure of a [`Counting`].
type Empty = core::fmt::Error;

impl TryRng for Counting {
    type Error = Empty;

    fn try_next_u32(&mut self) -> Result<u32, Empty> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Empty> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Empty> {
        self.left = self.left.checked_sub(1).ok_or(core::fmt::Error)?;
        for byte in bytes {
            *byte = self.next;
            self.next = self.next.wrapping_add(self.step);
        }
        Ok(())
    }
}

impl TryCryptoRng for Counting {}

mod generic {
    use super::*;

    fn key<P: ParameterSet>() -> SigningKey<P> {
        SigningKey::from_seed(&[0x42; 32])
    }

    fn ctx() -> Context<'static> {
        Context::new(b"chain/7").unwrap()
    }

    fn signed<P: ParameterSet>(key: &SigningKey<P>, message: &[u8]) -> Signature<P> {
        let signature = key.sign_with_context(message, ctx(), Randomness::Deterministic);
        signature.unwrap()
    }

    pub(super) fn every_form_of_signing_gives_the_same_bytes<P: ParameterSet>() {
        let key = key::<P>();
        let prepared = key.prepare();
        let rnd = [3; 32];
        for randomness in [Randomness::Deterministic, Randomness::Hedged(&rnd)] {
            let expected = key
                .sign_with_context(b"message", ctx(), randomness)
                .unwrap();
            assert_eq!(expected.as_ref().len(), P::SIG_LEN);
            assert_eq!(
                prepared
                    .sign_with_context(b"message", ctx(), randomness)
                    .unwrap(),
                expected
            );

            let mut buffer = vec![0xaa; P::SIG_LEN];
            key.sign_into(b"message", ctx(), randomness, &mut buffer)
                .unwrap();
            assert_eq!(buffer, expected.as_ref());

            let mut builder = MuBuilder::from_tr(key.verifying_key().tr(), ctx());
            builder.update(b"mess");
            builder.update(b"");
            builder.update(b"age");
            let mu = builder.finish();
            assert_eq!(key.sign_mu(&mu, randomness).unwrap(), expected);
            prepared.sign_mu_into(&mu, randomness, &mut buffer).unwrap();
            assert_eq!(buffer, expected.as_ref());
        }
        // Zero bytes are the deterministic variant.
        assert_eq!(
            key.sign_with_context(b"", ctx(), Randomness::Hedged(&[0; 32]))
                .unwrap(),
            signed(&key, b"")
        );
        assert_ne!(
            key.sign_with_context(b"", ctx(), Randomness::Hedged(&rnd))
                .unwrap(),
            signed(&key, b"")
        );

        let digest = PreHashed::new(PreHash::Sha3_512, &[5; 64]).unwrap();
        let expected = key
            .sign_prehashed(&digest, ctx(), Randomness::Deterministic)
            .unwrap();
        let mut buffer = vec![0; P::SIG_LEN];
        prepared
            .sign_prehashed_into(&digest, ctx(), Randomness::Deterministic, &mut buffer)
            .unwrap();
        assert_eq!(buffer, expected.as_ref());
    }

    pub(super) fn zero_seeds_of_a_generator_are_rejected<P: ParameterSet>() {
        let mut zeros = Counting::new(0, 0, 2);
        let by_value = SigningKey::<P>::generate_with_rng(&mut zeros);
        assert_eq!(by_value.err(), Some(KeyError::ZeroSeed));
        let mut storage = SigningKeyStorage::<P>::new();
        let in_place = SigningKey::generate_with_rng_in(&mut zeros, &mut storage);
        assert_eq!(in_place.err(), Some(KeyError::ZeroSeed));
        // A caller who wants this key has it.
        let key = SigningKey::<P>::from_seed(&[0; 32]);
        assert_eq!(key.seed(), Some(&[0; 32]));
        let failed = SigningKey::generate_with_rng_in(&mut zeros, &mut storage);
        assert_eq!(failed.err(), Some(KeyError::Rng));
        // Nor are zeros the hedge of a signature.
        let zero = Randomness::hedged(&[0; 32]).err();
        assert_eq!(zero, Some(SignError::ZeroRandomness));
        assert!(matches!(
            Randomness::hedged(&[1; 32]),
            Ok(Randomness::Hedged(_))
        ));
        // One bit is enough: only a generator that does nothing is detected.
        zeros = Counting::new(1, 0, 1);
        assert!(SigningKey::<P>::generate_with_rng(&mut zeros).is_ok());
    }

    pub(super) fn constant_k_is_rejected<P: ParameterSet>() {
        let mut sk = key::<P>().expanded().as_ref().to_vec();
        for byte in [0, 0xff, 7] {
            sk[32..64].fill(byte);
            let by_value = SigningKey::<P>::from_expanded_bytes(&sk).err();
            assert_eq!(by_value, Some(KeyError::ConstantK));
            let mut storage = SigningKeyStorage::<P>::new();
            let in_place = SigningKey::from_expanded_bytes_in(&sk, &mut storage).err();
            assert_eq!(in_place, Some(KeyError::ConstantK));
            assert!(storage.key().is_none());
            let any = AnySigningKey::from_expanded_bytes(&sk).err();
            assert_eq!(any, Some(KeyError::ConstantK));
            // Every other K is accepted: nothing tells which K belongs to a key.
            sk[32 + usize::from(byte) % 32] ^= 1;
            assert!(SigningKey::<P>::from_expanded_bytes(&sk).is_ok());
        }
    }

    pub(super) fn keys_in_caller_memory_equal_those_by_value<P: ParameterSet>() {
        let seed = [7; 32];
        let by_value = SigningKey::<P>::from_seed(&seed);
        let sk = by_value.expanded().as_ref();
        let mut storage = Box::new(SigningKeyStorage::new());
        let key = SigningKey::from_seed_in(&seed, &mut storage);
        assert_eq!(key, &by_value);
        assert_eq!(key.seed(), Some(&seed));
        assert_eq!(key.verifying_key(), by_value.verifying_key());
        assert_eq!(key.verifying_key().tr(), by_value.verifying_key().tr());
        key.set_self_verification(false);
        let signature = key.sign_with_context(b"m", ctx(), Randomness::Deterministic);
        assert_eq!(
            signature,
            by_value.sign_with_context(b"m", ctx(), Randomness::Deterministic)
        );

        // The next key inherits nothing.
        let key = SigningKey::from_expanded_bytes_in(sk, &mut storage).unwrap();
        assert_eq!((key.seed(), &*key), (None, &by_value));
        let failed = SigningKey::from_expanded_bytes_in(&sk[1..], &mut storage);
        assert_eq!(failed.err(), Some(KeyError::Length));
        let mut rng = Counting::new(7, 0, 1);
        let key = SigningKey::generate_with_rng_in(&mut rng, &mut storage).unwrap();
        assert_eq!((key.seed(), &*key), (Some(&seed), &by_value));
    }

    pub(super) fn generators_are_used_and_their_failure_is_reported<P: ParameterSet>() {
        let seed: [u8; 32] = core::array::from_fn(|n| n as u8);
        let mut rng = Counting::new(0, 1, 1);
        let key = SigningKey::<P>::generate_with_rng(&mut rng).unwrap();
        assert_eq!(key.seed(), Some(&seed));
        assert!(SigningKey::<P>::generate_with_rng(&mut rng).is_err());

        let [one, other] = [(); 2].map(|()| key.sign_hedged(b"m", ctx()).unwrap());
        assert!(one != other);
        for signature in [one, other, key.prepare().sign_hedged(b"m", ctx()).unwrap()] {
            let verdict = key
                .verifying_key()
                .verify_with_context(b"m", ctx(), &signature);
            assert_eq!(verdict, Ok(()));
        }

        let [a, b] = [(); 2].map(|()| SigningKey::<P>::generate().unwrap());
        assert!(a != b);
    }

    pub(super) fn self_verification_changes_no_signature<P: ParameterSet>() {
        let mut key = key::<P>();
        let expected = signed(&key, b"m");
        key.set_self_verification(false);
        let again = key.sign_with_context(b"m", ctx(), Randomness::Deterministic);
        assert_eq!(again.unwrap(), expected);
        let prepared = key.prepare();
        let again = prepared.sign_with_context(b"m", ctx(), Randomness::Deterministic);
        assert_eq!(again.unwrap(), expected);
    }

    pub(super) fn values_can_be_sent_and_print_no_secret<P: ParameterSet>() {
        fn sendable<T: Send + Sync + 'static>(_: &T) {}
        let key = key::<P>();
        sendable(&key);
        sendable(&key.prepare());
        let prepared = key.verifying_key().prepare();
        sendable(&prepared);
        assert!(prepared.memory_bytes() >= PreparedVerifyingKeyStorage::<P>::LEN);
        let printed = format!(
            "{key:?} {:?} {:?}",
            key.prepare(),
            Randomness::Hedged(&[0x42; 32])
        );
        assert!(!printed.contains("42"), "{printed}");
        assert!(printed.contains(P::NAME));
    }

    pub(super) fn encodings_compare_and_hash_by_their_bytes<P: ParameterSet>() {
        fn check<T: Ord + core::hash::Hash + AsRef<[u8]>>(values: [T; 3]) {
            let hash = |value: &T| BuildHasherDefault::<DefaultHasher>::new().hash_one(value);
            let [first, other, again] = &values;
            assert!(first == again && first != other);
            assert!(hash(first) == hash(again) && hash(first) != hash(other));
            for (a, b) in [(first, other), (other, first), (first, again)] {
                assert_eq!(a.cmp(b), a.as_ref().cmp(b.as_ref()));
                assert_eq!(a.partial_cmp(b), Some(a.cmp(b)));
            }
        }
        use core::hash::{BuildHasher, BuildHasherDefault};
        use std::hash::DefaultHasher;

        let keys = [1, 2, 1].map(|n| SigningKey::<P>::from_seed(&[n; 32]));
        let public = keys.each_ref().map(|key| key.verifying_key().clone());
        let signatures = keys.each_ref().map(|key| signed(key, b"m"));
        check(public.clone());
        check(signatures.clone());

        let bytes = signatures[0].as_ref();
        assert_eq!(Signature::<P>::try_from(bytes).as_ref(), Ok(&signatures[0]));
        let short = Signature::<P>::try_from(&bytes[1..]);
        assert_eq!(short, Err(VerifyError::SignatureLength));
        let bytes: &[u8] = public[0].as_ref();
        assert_eq!(VerifyingKey::<P>::try_from(bytes).as_ref(), Ok(&public[0]));
        let short = VerifyingKey::<P>::try_from(&bytes[1..]);
        assert_eq!(short.err(), Some(KeyError::Length));

        // As text.
        let text = public[0].to_string();
        assert_eq!(text.len(), 2 * P::PK_LEN);
        assert!(
            text.bytes()
                .all(|digit| digit.is_ascii_hexdigit() && !digit.is_ascii_uppercase())
        );
        assert_eq!(u8::from_str_radix(&text[2..4], 16), Ok(bytes[1]));
        assert_eq!(text.parse().as_ref(), Ok(&public[0]));
        assert_eq!(text.to_uppercase().parse().as_ref(), Ok(&public[0]));
        let wrong = Err(ParseError::Rejected(KeyError::Length));
        assert_eq!(text[2..].parse::<VerifyingKey<P>>(), wrong);
        assert_eq!(text[1..].parse::<VerifyingKey<P>>(), wrong);
        let text = signatures[0].to_string();
        assert_eq!(text.parse().as_ref(), Ok(&signatures[0]));
        for (from, to, error) in [
            (0, "+", ParseError::Digit),
            (text.len() - 1, "g", ParseError::Digit),
            // The hint ends with its counts: there are no 255.
            (
                text.len() - 2,
                "ff",
                ParseError::Rejected(VerifyError::HintEncoding),
            ),
        ] {
            let mut text = text.clone();
            text.replace_range(from..from + to.len(), to);
            assert_eq!(text.parse::<Signature<P>>(), Err(error));
            assert!(!error.to_string().is_empty());
        }
    }
}

/// Keys whose set is found from their length, and conversions from and to arrays.
#[test]
fn keys_of_any_set_and_arrays() {
    let length = Some(ParseError::Rejected(KeyError::Length));
    assert_eq!("".parse::<AnyVerifyingKey>().err(), length);
    macro_rules! of {
        ($set:ident, $pk:literal, $sig:literal) => {{
            let key = SigningKey::<$set>::from_seed(&[7; 32]);
            let any = AnySigningKey::from_expanded_bytes(key.expanded()).unwrap();
            let expected = key
                .sign_with_context(b"m", Context::EMPTY, Randomness::Deterministic)
                .unwrap();
            let signature = any.sign_with_context(b"m", Context::EMPTY, Randomness::Deterministic);
            assert_eq!(signature.unwrap(), expected.as_ref());
            let public = any.verifying_key();
            assert_eq!(public.set(), $set::SET);
            assert_eq!(
                AnyVerifyingKey::from_bytes(public.as_ref()),
                Ok(public.clone())
            );
            let text = public.to_string();
            assert_eq!(text, key.verifying_key().to_string());
            assert_eq!(text.to_uppercase().parse(), Ok(public.clone()));
            assert_eq!(text[1..].parse::<AnyVerifyingKey>().err(), length);
            let wrong = text.replacen(|_| true, "g", 1).parse::<AnyVerifyingKey>();
            assert_eq!(wrong.err(), Some(ParseError::Digit));
            let verdict = public.verify_with_context(b"m", Context::EMPTY, &expected);
            assert_eq!(verdict, Ok(()));
            let rejected = public.verify_with_context(b"n", Context::EMPTY, &expected);
            assert_eq!(rejected, Err(VerifyError::ChallengeMismatch));
            let bytes: [u8; $pk] = key.verifying_key().clone().into();
            assert_eq!(&VerifyingKey::<$set>::from(bytes), key.verifying_key());
            let bytes: [u8; $sig] = expected.clone().into();
            assert_eq!(Signature::<$set>::try_from(bytes), Ok(expected));
            let zeros = Signature::<$set>::try_from([0xff; $sig]);
            assert_eq!(zeros, Err(VerifyError::HintEncoding));
        }};
    }
    of!(MlDsa44, 1312, 2420);
    of!(MlDsa65, 1952, 3309);
    of!(MlDsa87, 2592, 4627);
    // As long as a public key of ML-DSA-87.
    let seed = [7; 32];
    let expanded = *SigningKey::<MlDsa44>::from_seed(&seed).expanded();
    let joined = [&seed[..], &expanded].concat();
    assert_eq!(AnyVerifyingKey::from_bytes(&joined), Err(KeyError::Private));
    let text = joined.iter().map(|byte| format!("{byte:02x}"));
    let parsed = text.collect::<String>().parse::<AnyVerifyingKey>();
    assert_eq!(parsed, Err(ParseError::Rejected(KeyError::Private)));
    for len in [0, 32, 1311, 1313, 2560, 4032] {
        let rejected = AnyVerifyingKey::from_bytes(&vec![0; len]).err();
        assert_eq!(rejected, Some(KeyError::Length), "{len}");
    }
    assert_eq!(
        AnySigningKey::from_expanded_bytes(&[0; 1312]).err(),
        Some(KeyError::Length)
    );
}
