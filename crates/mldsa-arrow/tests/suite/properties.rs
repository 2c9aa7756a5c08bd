//! Columns have the verdicts of their rows, whatever the encoding.

use mldsa_arrow::batch_verify::{Context, Threads};
use mldsa_arrow::{Column, ContextOf, Inputs, KeyOf, MessageOf, Options, SetOf, Verifier};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;

use crate::encodings::{ENCODINGS, encode, text};
use crate::rows::{Form, Row, VALID, reasons};

/// A valid row, or one with some change.
fn row() -> impl Strategy<Value = Row> {
    (0..VALID.len(), 0..14u8, any::<Index>(), any::<u8>()).prop_map(|(n, change, at, byte)| {
        let mut row = VALID[n].clone();
        let other = &VALID[(n + 1) % VALID.len()];
        match change {
            0 => row.set = None,
            1 => row.set = Some("ML-DSA-99".to_owned()),
            2 => row.set = other.set.clone(),
            3 => row.key = None,
            4 => row.key = other.key.clone(),
            5 => row.message = None,
            6 => row.message = Some(vec![byte; 64]),
            7 => row.context = Some(vec![byte; 256]),
            8 => row.signature = None,
            9 => {
                let signature = row.signature.as_mut().unwrap();
                let at = at.index(signature.len());
                signature[at] ^= byte;
            }
            10 => {
                let value = match byte & 1 {
                    0 => &mut row.key,
                    _ => &mut row.signature,
                };
                let value = value.as_mut().unwrap();
                value.truncate(at.index(value.len() + 1));
            }
            // An unordered hint, and a coefficient of z that is out of range.
            11 => row
                .signature
                .as_mut()
                .unwrap()
                .iter_mut()
                .rev()
                .take(90)
                .for_each(|b| *b = byte),
            12 => row.signature.as_mut().unwrap()[64..400].fill(byte & 1),
            _ => {}
        }
        row
    })
}

fn verifier(threads: bool) -> Verifier {
    let threads = if threads {
        Threads::Dedicated(2)
    } else {
        Threads::Inline
    };
    Options::default().threads(threads).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn columns_have_the_verdicts_of_their_rows(
        rows in prop::collection::vec(row(), 0..60),
        encodings in prop::array::uniform4(0..ENCODINGS),
        (before, after) in (0..9usize, 0..9usize),
        (has_set, mu, threads) in any::<(bool, bool, bool)>(),
    ) {
        let form = if mu { Form::Mu } else { Form::Message };
        let column = |of: fn(&Row) -> Option<Vec<u8>>, n: usize| {
            let values: Vec<_> = rows.iter().map(of).collect();
            encode(&values, encodings[n], before, after)
        };
        let sets = text(&rows.iter().map(|row| row.set.clone()).collect::<Vec<_>>());
        let keys = column(|row| row.key.clone(), 0);
        let messages = column(|row| row.message.clone(), 1);
        let contexts = column(|row| row.context.clone(), 2);
        let signatures = column(|row| row.signature.clone(), 3);
        let message = Column::new("message", &*messages);
        let inputs = Inputs {
            set: match has_set {
                true => SetOf::Column(Column::new("set", &*sets)),
                false => SetOf::Key,
            },
            key: KeyOf::Column(Column::new("key", &*keys)),
            message: match form {
                Form::Mu => MessageOf::Mu(message),
                Form::Message => MessageOf::Message(
                    message,
                    ContextOf::Column(Column::new("context", &*contexts)),
                ),
            },
            signature: Column::new("signature", &*signatures),
        };
        let expected: Vec<_> = rows.iter().map(|row| row.reason(has_set, form)).collect();
        let verifier = verifier(threads);
        // The second time keys are in the cache.
        for _ in 0..3 {
            let verdicts = verifier.verify(&inputs).unwrap();
            prop_assert_eq!(reasons(&verdicts), expected.clone());
        }
    }
}

/// The change of a row reaches every reason that the core has.
#[test]
fn rows_have_every_reason() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..800 {
        let row = row().new_tree(&mut runner).unwrap().current();
        seen.extend(row.reason(true, Form::Message));
    }
    for name in [
        "missing_set",
        "unknown_set",
        "missing_key",
        "missing_message",
        "missing_signature",
        "context_too_long",
        "public_key_length",
        "signature_length",
        "hint_encoding",
        "response_norm",
        "challenge_mismatch",
    ] {
        assert!(seen.contains(name), "{name} is not among {seen:?}");
    }
}

/// 0 rows and 10^6 rows, of which every thousandth is bad: more than fit into a chunk.
#[test]
fn batches_have_any_number_of_rows() {
    use arrow_array::types::Int32Type;
    use arrow_array::{BinaryArray, DictionaryArray, Int32Array};
    use std::sync::Arc;

    let verifier = verifier(true);
    let row = &VALID[0];
    let values = |value: &Option<Vec<u8>>| Arc::new(BinaryArray::from_iter([value.clone(), None]));
    for rows in [0, 1, 16_384, 16_385, 1_000_000] {
        let all = |value, bad: i32| {
            let keys = (0..rows).map(|row| if row % 1000 == 999 { bad } else { 0 });
            let keys: Int32Array = keys.collect();
            DictionaryArray::<Int32Type>::new(keys, values(value))
        };
        let (key, message, signature) = (
            all(&row.key, 0),
            all(&row.message, 0),
            all(&row.signature, 1),
        );
        let verdicts = verifier
            .verify(&Inputs {
                set: SetOf::Key,
                key: KeyOf::Column(Column::new("key", &key)),
                message: MessageOf::Message(
                    Column::new("message", &message),
                    ContextOf::All(Context::EMPTY),
                ),
                signature: Column::new("signature", &signature),
            })
            .unwrap();
        let reasons = reasons(&verdicts);
        assert_eq!(reasons.len(), rows);
        for (row, reason) in reasons.iter().enumerate() {
            let expected = (row % 1000 == 999).then_some("missing_signature");
            assert_eq!(*reason, expected, "row {row}");
        }
    }
}
