//! Test rows: valid ones, and each kind of a rejected one.

use mldsa_arrow::Set;

/// A signed row, as it is written.
pub(crate) struct Row {
    pub(crate) set: Option<String>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) message: Option<Vec<u8>>,
    pub(crate) context: Option<Vec<u8>>,
    pub(crate) signature: Option<Vec<u8>>,
    /// The reason that it is to have.
    pub(crate) expected: Option<&'static str>,
}

/// A reason, and the change of a valid row that leads to it.
type Class = (&'static str, fn(&mut Row, Set));

/// The classes of rejected rows.
pub(crate) const CLASSES: [Class; 11] = [
    ("missing_set", |row, _| row.set = None),
    ("unknown_set", |row, _| {
        row.set = Some("ML-DSA-99".to_owned())
    }),
    ("missing_key", |row, _| row.key = None),
    ("missing_message", |row, _| row.message = None),
    ("missing_signature", |row, _| row.signature = None),
    ("context_too_long", |row, _| {
        row.context = Some(vec![0; 256])
    }),
    ("public_key_length", |row, _| {
        row.key
            .iter_mut()
            .for_each(|key| key.truncate(key.len() - 1));
    }),
    ("signature_length", |row, _| {
        row.signature
            .iter_mut()
            .for_each(|signature| signature.push(0));
    }),
    // More ones than any set has.
    ("hint_encoding", |row, _| {
        let last = row
            .signature
            .iter_mut()
            .filter_map(|signature| signature.last_mut());
        last.for_each(|last| *last = u8::MAX);
    }),
    // The first coefficient of z is gamma1.
    ("response_norm", |row, set| {
        let start = match set {
            Set::MlDsa44 => 32,
            Set::MlDsa65 => 48,
            Set::MlDsa87 => 64,
        };
        let signature = row.signature.iter_mut();
        signature.for_each(|signature| signature[start..start + 3].fill(0));
    }),
    ("challenge_mismatch", |row, _| {
        row.message.iter_mut().for_each(|message| message.push(0));
    }),
];
