//! The functions in SQL.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use mldsa_core::{Context, MlDsa44, MuBuilder, Randomness, SigningKey};

const CONTEXT: &[u8] = b"votes";

fn key(n: u8) -> SigningKey<MlDsa44> {
    SigningKey::from_seed(&[n; 32])
}

fn binary<'a>(values: impl IntoIterator<Item = Option<&'a [u8]>>) -> ArrayRef {
    Arc::new(BinaryArray::from_iter(values))
}

/// Adds a table of two partitions, each of which has the rows.
fn add(context: &SessionContext, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let table = MemTable::try_new(batch.schema(), vec![vec![batch.clone()], vec![batch]]);
    context
        .register_table(name, Arc::new(table.unwrap()))
        .unwrap();
}

/// A table `votes` of signed texts, each row twice, and `members` with their keys.
///
/// Of four members, the votes of 0 and 1 are good. That of 2 is on another text, and that of 3 has no signature.
fn votes() -> SessionContext {
    let mut context = SessionContext::new();
    dataengines::register(&mut context).unwrap();
    let keys: Vec<_> = (0..4).map(key).collect();
    let of = Context::new(CONTEXT).unwrap();
    let sign = |n: usize, text: &[u8]| {
        let signature = keys[n].sign_with_context(text, of, Randomness::Deterministic);
        signature.unwrap().as_ref().to_vec()
    };
    let signatures = [sign(0, b"yes"), sign(1, b"yes"), sign(2, b"no")];
    let signatures = [0, 1, 2, 3].map(|n| signatures.get(n).map(Vec::as_slice));
    let encoded = || keys.iter().map(|key| Some(key.verifying_key().as_ref()));
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..4));
    let votes = vec![
        ("member", Arc::clone(&ids)),
        (
            "name",
            Arc::new(StringArray::from(vec!["ML-DSA-44"; 4])) as ArrayRef,
        ),
        ("key", binary(encoded())),
        ("text", Arc::new(StringArray::from(vec!["yes"; 4]))),
        ("context", binary([Some(CONTEXT); 4])),
        ("signature", binary(signatures)),
    ];
    add(&context, "votes", votes);
    let members = vec![
        ("id", ids),
        ("key", binary(encoded())),
        ("weight", Arc::new(Int64Array::from(vec![5, 3, 2, 1]))),
    ];
    add(&context, "members", members);
    context
}

/// Returns the rows of an answer, in their order as texts.
async fn rows(context: &SessionContext, sql: &str) -> Result<Vec<String>, String> {
    let frame = context.sql(sql).await.map_err(|error| error.to_string())?;
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let columns = batch.columns().iter();
            let values = columns.map(|column| array_value_to_string(column, row).unwrap());
            rows.push(values.collect::<Vec<_>>().join(" "));
        }
    }
    rows.sort();
    Ok(rows)
}

async fn answer(context: &SessionContext, sql: &str) -> Vec<String> {
    rows(context, sql).await.unwrap()
}

async fn refusal(context: &SessionContext, sql: &str) -> String {
    rows(context, sql).await.unwrap_err()
}

const GOOD: &[&str] = &[
    "0 true ",
    "1 true ",
    "2 false challenge_mismatch",
    "3 false missing_signature",
];

/// A query of verdicts, with the arguments.
fn verdicts(arguments: &str) -> String {
    format!(
        "SELECT DISTINCT member, mldsa_verify({arguments}), mldsa_reason({arguments}) FROM votes"
    )
}

#[tokio::test]
async fn verdicts_do_not_depend_on_encodings() {
    let context = votes();
    let bytes = [
        "Binary",
        "LargeBinary",
        "BinaryView",
        "Dictionary(Int32, Binary)",
        "Dictionary(UInt8, Binary)",
    ];
    let texts = [
        "Utf8",
        "LargeUtf8",
        "Utf8View",
        "Dictionary(Int16, Utf8)",
        "Binary",
    ];
    for (bytes, text) in bytes.into_iter().zip(texts) {
        let cast = |column: &str, kind| format!("arrow_cast({column}, '{kind}')");
        let [key, of, signature] =
            ["key", "context", "signature"].map(|column| cast(column, bytes));
        let name = cast("name", if text == "Binary" { "Utf8" } else { text });
        let text = cast("text", text);
        let sql = verdicts(&format!("{key}, {text}, {of}, {signature}"));
        assert_eq!(answer(&context, &sql).await, GOOD, "{bytes}");
        let sql = verdicts(&format!("{name}, {key}, {text}, {of}, {signature}"));
        assert_eq!(answer(&context, &sql).await, GOOD, "{bytes}");
        // `mu` is that of the row, and so is the weight.
        let sql = format!(
            "SELECT DISTINCT mldsa_mu({key}, {text}, {of}) = mldsa_mu(key, text, context) FROM votes"
        );
        assert_eq!(answer(&context, &sql).await, ["true"], "{bytes}");
        let sql = format!("SELECT mldsa_weight({key}, member, true, {text}) FROM votes");
        assert_eq!(answer(&context, &sql).await, ["6"], "{bytes}");
    }
    // A constant, and a context that is not the signer's.
    let sql = verdicts("key, 'yes', 'votes', signature");
    assert_eq!(answer(&context, &sql).await, GOOD);
    let sql = "SELECT count(*) FROM votes WHERE mldsa_verify(key, text, signature)";
    assert_eq!(answer(&context, sql).await, ["0"]);
}

/// A literal is not copied for each row: 8,192 rows with 262,145 bytes each would exceed offsets of 32 bits.
#[tokio::test]
async fn a_long_literal_is_in_memory_once() {
    let context = votes();
    let message = vec![7; 262_145];
    let signed = key(1).sign_with_context(&message, Context::EMPTY, Randomness::Deterministic);
    let (signed, public) = (signed.unwrap(), key(1));
    let columns = vec![
        ("key", binary([Some(public.verifying_key().as_ref()); 8192])),
        ("signature", binary([Some(signed.as_ref()); 8192])),
    ];
    add(&context, "many", columns);
    let literal = "07".repeat(message.len());
    let sql = format!("SELECT DISTINCT mldsa_verify(key, X'{literal}', signature) FROM many");
    assert_eq!(answer(&context, &sql).await, ["true"]);
}

#[tokio::test]
async fn nulls_and_other_sets_are_reasons_of_their_rows() {
    let context = votes();
    let sql = "SELECT DISTINCT mldsa_reason(NULL, text, signature), mldsa_reason(key, NULL, NULL, signature), \
               mldsa_reason('ML-DSA-65', key, text, context, signature), \
               mldsa_reason('Kyber', key, text, context, signature), \
               mldsa_reason(NULL, key, text, context, signature), mldsa_verify(NULL, NULL, NULL), \
               mldsa_mu(NULL, text), mldsa_mu(key, NULL), mldsa_mu(signature, text), \
               mldsa_mu(key, text, repeat('c', 256)) FROM votes WHERE member = 0";
    let expected =
        "missing_key missing_message public_key_length unknown_set missing_set false    ";
    assert_eq!(answer(&context, sql).await, [expected]);
}

#[tokio::test]
async fn mu_is_that_of_the_key() {
    let context = votes();
    let hex = |of: &[u8]| {
        let mut mu = MuBuilder::from_tr(key(0).verifying_key().tr(), Context::new(of).unwrap());
        mu.update(b"yes");
        let bytes = mu.finish();
        bytes
            .as_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let sql = "SELECT DISTINCT mldsa_mu(key, text, context), mldsa_mu(key, text), mldsa_mu(key, text, NULL) \
               FROM votes WHERE member = 0";
    let expected = [hex(CONTEXT), hex(b""), hex(b"")].join(" ");
    assert_eq!(answer(&context, sql).await, [expected]);
}

#[tokio::test]
async fn a_wrong_type_is_an_error_that_names_the_column_and_what_is_expected() {
    let context = votes();
    for (call, column, found, expected) in [
        (
            "mldsa_verify(member, text, signature)",
            "votes.member",
            "Int64",
            "BinaryView",
        ),
        (
            "mldsa_verify(key, text, name)",
            "votes.name",
            "Utf8",
            "BinaryView",
        ),
        (
            "mldsa_reason(key, member, signature)",
            "votes.member",
            "Int64",
            "Utf8View",
        ),
        (
            "mldsa_reason(key, text, member, signature)",
            "votes.member",
            "Int64",
            "Utf8View",
        ),
        (
            "mldsa_reason(key, key, text, context, signature)",
            "votes.key",
            "Binary",
            "Utf8View",
        ),
        ("mldsa_mu(name, text)", "votes.name", "Utf8", "BinaryView"),
        ("mldsa_mu(key, member)", "votes.member", "Int64", "Utf8View"),
        (
            "mldsa_weight(1.5, member, true, text)",
            "Float64(1.5)",
            "Float64",
            "an integer type",
        ),
        (
            "mldsa_weight(key, name, true, text)",
            "votes.name",
            "Utf8",
            "an integer type",
        ),
        (
            "mldsa_weight(key, member, member, text)",
            "votes.member",
            "Int64",
            "Boolean",
        ),
        (
            "mldsa_weight(key, member, true, member)",
            "votes.member",
            "Int64",
            "Utf8View",
        ),
    ] {
        let error = refusal(&context, &format!("SELECT {call} FROM votes")).await;
        let column = column.trim_start_matches("votes.");
        let function = call.split('(').next().unwrap();
        assert!(
            error.contains(&format!(
                "{function}: column \"{column}\" has type {found}, expected "
            )),
            "{error}"
        );
        assert!(error.contains(expected), "{error}");
    }
    for call in [
        "mldsa_verify(key, text)",
        "mldsa_mu(key)",
        "mldsa_weight(key)",
        "mldsa_weight(key, member, true)",
        "mldsa_weight(key, member, true, text, text, text)",
        "mldsa_reason()",
    ] {
        let error = refusal(&context, &format!("SELECT {call} FROM votes")).await;
        assert!(error.contains("argument"), "{error}");
    }
}

#[tokio::test]
async fn a_quorum_counts_each_member_once() {
    let context = votes();
    // Each vote and each member is there twice.
    let valid = "mldsa_verify(members.key, text, context, signature)";
    let weight = format!("mldsa_weight(votes.key, weight, {valid}, text, context)");
    let from = "FROM votes JOIN members ON member = id GROUP BY text";
    for (sql, expected) in [
        (format!("SELECT {weight} {from}"), vec!["8"]),
        (
            format!("SELECT text {from} HAVING {weight} > 7"),
            vec!["yes"],
        ),
        (format!("SELECT text {from} HAVING {weight} > 8"), vec![]),
    ] {
        assert_eq!(answer(&context, &sql).await, expected);
    }
}

#[tokio::test]
async fn weights() {
    let context = votes();
    let of = |rows: &str| {
        format!(
            "SELECT block, mldsa_weight(member, weight, valid, 'yes') FROM (VALUES {rows}) AS v(block, member, weight, valid) GROUP BY block"
        )
    };
    for (rows, expected) in [
        // Text and integers, nulls, and a block without a valid vote.
        (
            "(1, 'a', 2, true), (1, 'a', 2, true), (1, 'b', 3, true), (2, 'b', 3, false)",
            vec!["1 5", "2 0"],
        ),
        (
            "(1, 10, 2, true), (1, 10, 2, false), (1, 11, 0, true)",
            vec!["1 2"],
        ),
        (
            "(1, NULL, 2, true), (1, 'a', NULL, true), (1, 'b', 3, NULL), (1, 'c', 4, true)",
            vec!["1 4"],
        ),
        // An invalid vote may claim what it likes.
        (
            "(1, 'a', 2, true), (1, 'a', 9, false), (1, 'b', -1, false)",
            vec!["1 2"],
        ),
        // The sum of 64 bits is exceeded.
        (
            "(1, 'a', 18446744073709551615, true), (1, 'b', 18446744073709551615, true)",
            vec!["1 36893488147419103230"],
        ),
    ] {
        assert_eq!(answer(&context, &of(rows)).await, expected, "{rows}");
    }
    for (rows, expected) in [
        (
            "(1, 'a', 2, true), (1, 'a', 3, true)",
            "a member has the weights 2 and 3",
        ),
        (
            "(1, 'a', -2, true), (2, 'a', 3, true)",
            "the weight -2 is negative",
        ),
    ] {
        let error = refusal(&context, &of(rows)).await;
        assert!(error.contains(expected), "{error}");
    }
}

/// Votes for different texts never add up, in one partition or in several.
#[tokio::test]
async fn a_quorum_is_of_one_message_and_context() {
    let context = votes();
    let mut keys = (0..2).map(key);
    let [yes, no] = ["yes", "no"].map(|text| {
        let (key, of) = (keys.next().unwrap(), Context::new(CONTEXT).unwrap());
        let signature = key.sign_with_context(text.as_bytes(), of, Randomness::Deterministic);
        let key = key.verifying_key().as_ref().to_vec();
        (key, text, signature.unwrap().as_ref().to_vec())
    });
    let columns = vec![
        ("block", Arc::new(Int64Array::from(vec![7, 7])) as ArrayRef),
        ("key", binary([Some(&yes.0[..]), Some(&no.0)])),
        ("message", Arc::new(StringArray::from(vec![yes.1, no.1]))),
        ("signature", binary([Some(&yes.2[..]), Some(&no.2)])),
    ];
    add(&context, "split", columns);
    let weight = "mldsa_weight(key, 1, mldsa_verify(key, message, 'votes', signature), message)";
    let of = |group: &str| format!("SELECT {group}, {weight} FROM split GROUP BY {group}");
    let error = refusal(&context, &of("block")).await;
    assert!(error.contains("two messages or contexts"), "{error}");
    let rows = answer(&context, &of("block, message")).await;
    assert_eq!(rows, ["7 no 1", "7 yes 1"]);
    let of = |rows: &str| {
        format!(
            "SELECT mldsa_weight(member, 1, valid, message, context) FROM (VALUES {rows}) AS v(member, valid, message, context)"
        )
    };
    for rows in [
        "(1, true, 'm', 'a'), (2, true, 'm', 'b')",
        "(1, true, 'ma', ''), (1, true, 'm', 'a')",
    ] {
        let error = refusal(&context, &of(rows)).await;
        assert!(error.contains("two messages or contexts"), "{error}");
    }
    // A null context is the empty one, and an invalid vote decides nothing.
    let rows =
        "(1, true, 'm', NULL), (2, true, 'm', ''), (3, false, 'n', 'a'), (4, true, NULL, '')";
    assert_eq!(answer(&context, &of(rows)).await, ["2"]);
}

#[tokio::test]
async fn no_rows_and_a_million_rows() {
    let context = votes();
    let sql = "SELECT mldsa_verify(key, text, signature), mldsa_mu(key, text) FROM votes WHERE member > 9";
    assert!(answer(&context, sql).await.is_empty());
    let sql = "SELECT mldsa_weight(key, member, mldsa_verify(key, text, signature), text) FROM votes WHERE member > 9";
    assert_eq!(answer(&context, sql).await, ["0"]);
    let sql = "SELECT mldsa_reason(key, text, context, 'no'), count(*) FROM votes CROSS JOIN range(250000) \
               WHERE member < 2 GROUP BY 1"
        .replace("'no'", "x'00'");
    assert_eq!(answer(&context, &sql).await, ["signature_length 1000000"]);
}

#[tokio::test]
async fn two_queries_at_once() {
    let context = votes();
    let sql = verdicts("key, text, context, signature");
    let (one, other) = tokio::join!(rows(&context, &sql), rows(&context, &sql));
    assert_eq!(one.unwrap(), GOOD);
    assert_eq!(other.unwrap(), GOOD);
}
