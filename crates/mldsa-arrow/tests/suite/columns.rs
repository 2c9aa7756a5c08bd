//! Names and types of columns, and tables of keys.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, NullArray, RecordBatch, StringArray, UInt8Array,
};
use arrow_schema::DataType;
use mldsa_arrow::batch_verify::Context;
use mldsa_arrow::{
    Column, ColumnError, ContextOf, Inputs, KeyOf, KeyTable, MessageOf, Options, SetOf,
};

use crate::encodings::encode;
use crate::rows::{Row, VALID, reasons};

fn binary(of: impl Fn(&Row) -> Option<Vec<u8>>) -> ArrayRef {
    encode(&VALID.iter().map(of).collect::<Vec<_>>(), 0, 0, 0)
}

fn batch() -> RecordBatch {
    let names = VALID.iter().map(|row| row.set.clone());
    let sets: ArrayRef = Arc::new(StringArray::from_iter(names));
    RecordBatch::try_from_iter_with_nullable([
        ("set", sets, true),
        ("key", binary(|row| row.key.clone()), true),
        ("message", binary(|row| row.message.clone()), true),
        ("context", binary(|row| row.context.clone()), true),
        ("signature", binary(|row| row.signature.clone()), true),
    ])
    .unwrap()
}

const NAMES: Inputs<'_, &str> = Inputs {
    set: SetOf::Column("set"),
    key: KeyOf::Column("key"),
    message: MessageOf::Message("message", ContextOf::Column("context")),
    signature: "signature",
};

#[test]
fn columns_are_taken_by_name() {
    let verifier = Options::default().build().unwrap();
    let verdicts = verifier.verify_batch(&batch(), NAMES).unwrap();
    assert!(verdicts.valid.iter().all(|valid| valid == Some(true)));
    let signature = "sig";
    let error = verifier.verify_batch(&batch(), Inputs { signature, ..NAMES });
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "there is no column \"sig\"");
    // The second column of a name could have other values.
    let batch = batch();
    let columns = batch.schema_ref().fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, array)| (field.name().as_str(), Arc::clone(array)));
    let twice = columns.chain([("message", binary(|row| row.key.clone()))]);
    let twice = RecordBatch::try_from_iter(twice).unwrap();
    let error = verifier.verify_batch(&twice, NAMES).unwrap_err();
    let text = "several columns have the name \"message\"";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_column_of_another_type_is_named() {
    let verifier = Options::default().build().unwrap();
    let batch = batch();
    let good = NAMES.of(&batch).unwrap();
    let numbers = Int32Array::from(vec![1; VALID.len()]);
    let texts = StringArray::from(vec!["ML-DSA-44"; VALID.len()]);
    let number = Column::new("height", &numbers);
    let text = Column::new("hex", &texts);
    let context = ContextOf::All(Context::EMPTY);
    let wrong = |inputs: Inputs<'_, Column<'_>>| verifier.verify(&inputs).unwrap_err();
    let with_set = |set| wrong(Inputs { set, ..good });
    let with_key = |key| wrong(Inputs { key, ..good });
    let with_message = |message| wrong(Inputs { message, ..good });
    let with_signature = |signature| wrong(Inputs { signature, ..good });
    let message = MessageOf::Message(number, context);
    let (height, hex) = (("height", DataType::Int32), ("hex", DataType::Utf8));
    for (error, (column, found), words) in [
        (with_set(SetOf::Column(number)), &height, "Utf8"),
        (with_key(KeyOf::Column(number)), &height, "BinaryView"),
        (with_key(KeyOf::Column(text)), &hex, "BinaryView"),
        (with_message(MessageOf::Mu(text)), &hex, "Binary"),
        (with_message(message), &height, "LargeUtf8"),
        (with_signature(text), &hex, "FixedSizeBinary"),
    ] {
        let text = error.to_string();
        let start = format!("column \"{column}\" has type {found}, expected ");
        assert!(text.starts_with(&start) && text.contains(words), "{text}");
    }
    let short = binary(|row| row.signature.clone()).slice(1, 3);
    let error = with_signature(Column::new("short", &*short));
    assert!(
        matches!(error, ColumnError::Length { found: 3, .. }),
        "{error}"
    );
}

/// The type of SQL's NULL, and a dictionary without values.
#[test]
fn columns_of_nulls_have_reasons() {
    let verifier = Options::default().build().unwrap();
    let batch = batch();
    let good = NAMES.of(&batch).unwrap();
    let nulls = NullArray::new(VALID.len());
    let none = encode(&vec![None; VALID.len()], 4, 0, 0);
    let endless = NullArray::new((1 << 28) + 1);
    let key = KeyOf::Column(Column::new("nothing", &endless));
    let error = verifier.verify(&Inputs { key, ..good }).unwrap_err();
    assert!(matches!(error, ColumnError::TooManyRows { .. }), "{error}");
    for array in [&nulls as &dyn Array, &*none] {
        let column = Column::new("nothing", array);
        let (key, message) = (KeyOf::Column(column), MessageOf::Mu(column));
        let signature = column;
        for (inputs, reason) in [
            (Inputs { key, ..good }, "missing_key"),
            (Inputs { message, ..good }, "missing_message"),
            (Inputs { signature, ..good }, "missing_signature"),
        ] {
            let verdicts = verifier.verify(&inputs).unwrap();
            assert_eq!(reasons(&verdicts), vec![Some(reason); VALID.len()]);
        }
    }
}

#[test]
fn ids_are_resolved_by_a_table() {
    let verifier = Options::default().build().unwrap();
    let batch = batch();
    let good = NAMES.of(&batch).unwrap();
    // The rows of one set and seed have one key, and so one id.
    let id = |n: usize| (n % 3 + n / 6 * 3) as u8;
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..VALID.len()).map(|n| format!("key {}", id(n))),
    ));
    let small: ArrayRef = Arc::new(UInt8Array::from_iter_values((0..VALID.len()).map(id)));
    let large: ArrayRef = Arc::new(Int64Array::from_iter_values(
        (0..VALID.len()).map(|n| id(n).into()),
    ));
    for (of_table, of_rows) in [(&texts, &texts), (&small, &large), (&large, &small)] {
        let mut table = KeyTable::default();
        let pairs = [
            ("id", of_table.clone()),
            ("key", binary(|row| row.key.clone())),
        ];
        table
            .add(&RecordBatch::try_from_iter(pairs).unwrap(), "id", "key")
            .unwrap();
        assert_eq!(table.len(), 6);
        let key = KeyOf::Table(Column::new("id", &**of_rows), &table);
        let verdicts = verifier.verify(&Inputs { key, ..good }).unwrap();
        assert!(verdicts.valid.iter().all(|valid| valid == Some(true)));

        let empty = KeyTable::default();
        let key = KeyOf::Table(Column::new("id", &**of_rows), &empty);
        let verdicts = verifier.verify(&Inputs { key, ..good }).unwrap();
        assert_eq!(reasons(&verdicts), vec![Some("unknown_key"); VALID.len()]);

        // One id for all keys contradicts itself.
        let ids: ArrayRef = Arc::new(UInt8Array::from(vec![1; VALID.len()]));
        let pairs = [("id", ids), ("key", binary(|row| row.key.clone()))];
        let error = table.add(&RecordBatch::try_from_iter(pairs).unwrap(), "id", "key");
        assert!(matches!(error, Err(ColumnError::ConflictingKey { .. })));
    }
    let pairs: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(UInt8Array::from(vec![None]))),
        ("key", binary(|row| row.key.clone()).slice(0, 1)),
    ];
    let incomplete = RecordBatch::try_from_iter(pairs).unwrap();
    let error = KeyTable::default().add(&incomplete, "id", "key");
    assert_eq!(error, Err(ColumnError::IncompleteKey { row: 0 }));
}
