//! Columns of one batch, row by row.

use core::ops::Range;
use std::collections::HashMap;

use arrow_array::RecordBatch;
use batch_verify::mldsa_core::{AnyVerifyingKey, MuBuilder};
use batch_verify::{Context, Item, Mu, RejectReason};

use crate::bytes::{Bytes, Column, Kind};
use crate::keys::{Id, KeyTable, column};
use crate::{ColumnError, Reason, Set};

/// Source of the parameter set of a row.
#[derive(Clone, Copy, Debug)]
pub enum SetOf<C> {
    /// The set whose encoded public keys have the length of the key.
    Key,
    /// One set for all rows.
    All(Set),
    /// Names as of [`Set::name`], in a text column.
    Column(C),
}

/// Source of the public key of a row.
#[derive(Clone, Copy, Debug)]
pub enum KeyOf<'a, C> {
    /// Encoded public keys, in a binary column.
    Column(C),
    /// Ids of keys in a table.
    Table(C, &'a KeyTable),
}

/// Source of the signed message of a row.
#[derive(Clone, Copy, Debug)]
pub enum MessageOf<'a, C> {
    /// Messages, in a binary or text column, under a context.
    Message(C, ContextOf<'a, C>),
    /// Message representatives `mu` of 64 bytes (FIPS 204 algorithm 8, line 7), in a binary column. They
    /// contain key and context already: only for `mu` that was computed from a trusted key.
    Mu(C),
}

/// Source of the context of a row.
#[derive(Clone, Copy, Debug)]
pub enum ContextOf<'a, C> {
    /// One context for all rows.
    All(Context<'a>),
    /// Contexts in a binary or text column; null is the empty context.
    Column(C),
}

/// What is to be verified: columns `C` that are [`Column`]s, or names of columns of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a, C> {
    /// The parameter sets.
    pub set: SetOf<C>,
    /// The public keys.
    pub key: KeyOf<'a, C>,
    /// The messages.
    pub message: MessageOf<'a, C>,
    /// The signatures, in a binary column.
    pub signature: C,
}

impl<'a> Inputs<'a, &'a str> {
    /// Takes the columns with these names from a batch.
    ///
    /// # Errors
    /// [`ColumnError::Missing`] if there is no such column, [`ColumnError::Ambiguous`] if there are two.
    pub fn of(self, batch: &'a RecordBatch) -> Result<Inputs<'a, Column<'a>>, ColumnError> {
        let of = |name| column(batch, name);
        Ok(Inputs {
            set: match self.set {
                SetOf::Key => SetOf::Key,
                SetOf::All(set) => SetOf::All(set),
                SetOf::Column(name) => SetOf::Column(of(name)?),
            },
            key: match self.key {
                KeyOf::Column(name) => KeyOf::Column(of(name)?),
                KeyOf::Table(name, table) => KeyOf::Table(of(name)?, table),
            },
            message: match self.message {
                MessageOf::Mu(name) => MessageOf::Mu(of(name)?),
                MessageOf::Message(name, ContextOf::All(context)) => {
                    MessageOf::Message(of(name)?, ContextOf::All(context))
                }
                MessageOf::Message(name, ContextOf::Column(context)) => {
                    MessageOf::Message(of(name)?, ContextOf::Column(of(context)?))
                }
            },
            signature: of(self.signature)?,
        })
    }
}

/// Rows of a batch: columns of nulls need no memory, and verdicts do.
const MAX_ROWS: usize = 1 << 28;

/// [`Inputs`] whose types and lengths are checked.
pub(crate) struct Rows<'a> {
    pub(crate) count: usize,
    set: SetOf<Bytes<'a>>,
    key: Keys<'a>,
    message: MessageOf<'a, Bytes<'a>>,
    signature: Bytes<'a>,
}

enum Keys<'a> {
    Encoded(Bytes<'a>),
    Named(Vec<Option<Id<'a>>>, &'a KeyTable),
}

impl<'a> Rows<'a> {
    pub(crate) fn new(inputs: &Inputs<'a, Column<'a>>) -> Result<Self, ColumnError> {
        let (KeyOf::Column(key) | KeyOf::Table(key, _)) = inputs.key;
        let count = key.array.len();
        if count > MAX_ROWS {
            return Err(ColumnError::TooManyRows { found: count });
        }
        let bytes = |column: Column<'a>, kind| {
            column.expect_rows(count)?;
            Bytes::new(column, kind)
        };
        Ok(Self {
            count,
            set: match inputs.set {
                SetOf::Key => SetOf::Key,
                SetOf::All(set) => SetOf::All(set),
                SetOf::Column(column) => SetOf::Column(bytes(column, Kind::Text)?),
            },
            key: match inputs.key {
                KeyOf::Column(column) => Keys::Encoded(bytes(column, Kind::Binary)?),
                KeyOf::Table(column, table) => Keys::Named(column.ids()?, table),
            },
            message: match inputs.message {
                MessageOf::Mu(column) => MessageOf::Mu(bytes(column, Kind::Binary)?),
                MessageOf::Message(column, context) => MessageOf::Message(
                    bytes(column, Kind::BinaryOrText)?,
                    match context {
                        ContextOf::All(context) => ContextOf::All(context),
                        ContextOf::Column(column) => {
                            ContextOf::Column(bytes(column, Kind::BinaryOrText)?)
                        }
                    },
                ),
            },
            signature: bytes(inputs.signature, Kind::Binary)?,
        })
    }

    /// Returns `mu` of rows: that of the column, or that of a long message which other rows share with key and
    /// context. It is computed once for them.
    pub(crate) fn mus(&self, rows: Range<usize>) -> Vec<Option<Mu>> {
        if let MessageOf::Mu(column) = &self.message {
            let of_row = |row| Some(Mu::from_bytes(column.get(row)?.try_into().ok()?));
            return rows.map(of_row).collect();
        }
        let mut shared = HashMap::new();
        for signed in rows.clone().filter_map(|row| self.long(row)) {
            shared.entry(signed.place()).or_insert((0_usize, None)).0 += 1;
        }
        let of_row = |row| {
            let signed = self.long(row)?;
            match shared.get_mut(&signed.place())? {
                (1, _) => None,
                (_, mu) => *mu.get_or_insert_with(|| signed.mu()),
            }
        };
        rows.map(of_row).collect()
    }

    /// Returns what the signature of a row is of, if the message is long.
    fn long(&self, row: usize) -> Option<Signed<'_>> {
        let signed = self.row(row).ok()?.1;
        (signed.message.len() >= LONG).then_some(signed)
    }

    /// Returns the signature of a row, with `mu` as of [`mus`](Self::mus).
    pub(crate) fn item<'r>(
        &'r self,
        row: usize,
        mu: Option<&'r Mu>,
    ) -> Result<(Set, Item<'r>), Reason> {
        let (signature, signed) = self.row(row)?;
        let item = match mu {
            Some(mu) => Item::from_mu(signed.key, mu, signature),
            None if matches!(self.message, MessageOf::Mu(_)) => return Err(Reason::MuLength),
            None => Item::new(signed.key, signed.message, signed.context, signature),
        };
        Ok((signed.set, item))
    }

    /// Returns the signature of a row and what it is of.
    fn row(&self, row: usize) -> Result<(&[u8], Signed<'_>), Reason> {
        let known_set = match &self.set {
            SetOf::Key => None,
            SetOf::All(set) => Some(*set),
            SetOf::Column(column) => {
                let name = column.get(row).ok_or(Reason::MissingSet)?;
                let name = core::str::from_utf8(name).ok();
                let set = name.and_then(|name| name.parse().ok());
                Some(set.ok_or(Reason::UnknownSet)?)
            }
        };
        let key = match &self.key {
            Keys::Encoded(column) => column.get(row).ok_or(Reason::MissingKey)?,
            Keys::Named(ids, table) => {
                let id = ids[row].ok_or(Reason::MissingKey)?;
                table.get(id).ok_or(Reason::UnknownKey)?
            }
        };
        let (column, context) = match &self.message {
            MessageOf::Message(column, ContextOf::All(context)) => (column, Ok(*context)),
            MessageOf::Message(column, ContextOf::Column(of)) => {
                (column, Context::new(of.get(row).unwrap_or_default()))
            }
            MessageOf::Mu(column) => (column, Ok(Context::EMPTY)),
        };
        let message = column.get(row).ok_or(Reason::MissingMessage)?;
        if matches!(self.message, MessageOf::Mu(_)) && message.len() != 64 {
            return Err(Reason::MuLength);
        }
        let signature = self.signature.get(row).ok_or(Reason::MissingSignature)?;
        let signed = Signed {
            context: context.map_err(|_| Reason::ContextTooLong)?,
            set: known_set
                .or_else(|| Set::from_public_key_len(key.len()))
                .ok_or(Reason::Rejected(RejectReason::PublicKeyLength))?,
            key,
            message,
        };
        Ok((signature, signed))
    }
}

/// Bytes of a message from which on rows that share it have it hashed once.
const LONG: usize = 4096;

/// What a signature is of.
struct Signed<'a> {
    set: Set,
    key: &'a [u8],
    message: &'a [u8],
    context: Context<'a>,
}

impl Signed<'_> {
    /// Returns where the bytes are: rows of dictionaries and views share them.
    fn place(&self) -> [(usize, usize); 3] {
        let bytes = [self.key, self.message, self.context.as_bytes()];
        bytes.map(|bytes| (bytes.as_ptr() as usize, bytes.len()))
    }

    /// Computes `mu`; `None` if the key has a wrong length.
    fn mu(&self) -> Option<Mu> {
        let key = AnyVerifyingKey::from_bytes_of(self.set, self.key).ok()?;
        let mut mu = MuBuilder::from_tr(key.tr(), self.context);
        mu.update(self.message);
        Some(mu.finish())
    }
}
