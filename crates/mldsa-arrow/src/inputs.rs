//! Columns of one batch, row by row.

use arrow_array::RecordBatch;
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

    /// Returns the message representative of a row, if it has a well-formed one.
    pub(crate) fn mu(&self, row: usize) -> Option<Mu> {
        let MessageOf::Mu(column) = &self.message else {
            return None;
        };
        let bytes = <[u8; 64]>::try_from(column.get(row)?).ok()?;
        Some(Mu::from_bytes(bytes))
    }

    /// Returns the signature of a row, with `mu` as of [`mu`](Self::mu).
    pub(crate) fn item<'r>(
        &'r self,
        row: usize,
        mu: Option<&'r Mu>,
    ) -> Result<(Set, Item<'r>), Reason> {
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
        let (message, context) = match &self.message {
            MessageOf::Message(column, context) => (
                column,
                match context {
                    ContextOf::All(context) => Ok(*context),
                    ContextOf::Column(column) => Context::new(column.get(row).unwrap_or_default()),
                },
            ),
            MessageOf::Mu(column) => (column, Ok(Context::EMPTY)),
        };
        let message = message.get(row).ok_or(Reason::MissingMessage)?;
        if mu.is_none() && matches!(self.message, MessageOf::Mu(_)) {
            return Err(Reason::MuLength);
        }
        let signature = self.signature.get(row).ok_or(Reason::MissingSignature)?;
        let context = context.map_err(|_| Reason::ContextTooLong)?;
        let set = known_set
            .or_else(|| Set::from_public_key_len(key.len()))
            .ok_or(Reason::Rejected(RejectReason::PublicKeyLength))?;
        let item = match mu {
            Some(mu) => Item::from_mu(key, mu, signature),
            None => Item::new(key, message, context, signature),
        };
        Ok((set, item))
    }
}
