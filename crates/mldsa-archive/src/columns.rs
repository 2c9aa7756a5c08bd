//! The columns that a run reads, by options.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use bytes::Bytes;
use mldsa_arrow::batch_verify::Context;
use mldsa_arrow::{Column, ContextOf, Id, Inputs, KeyOf, KeyTable, MessageOf, Set, SetOf};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::input::Input;
use crate::source::Source;
use crate::{Failure, named, names};

#[derive(clap::Args, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ColumnArgs {
    /// Parameter set of all rows [default: the one whose keys have the length of the key]
    #[arg(long, value_name = "NAME", conflicts_with = "set_column", value_parser = names::checked::<Set>)]
    set: Option<String>,

    /// Column of the names of parameter sets
    #[arg(long, value_name = "COLUMN")]
    set_column: Option<String>,

    /// Column of the encoded public keys
    #[arg(long, value_name = "COLUMN", default_value = "key")]
    key_column: String,

    /// File with a table of keys; the rows have ids of keys
    #[arg(long, value_name = "FILE", requires = "id_column")]
    #[serde(skip)]
    pub(crate) keys: Option<PathBuf>,

    /// Column of the ids, in the rows or the names of their folders, and in the table of keys
    #[arg(long, value_name = "COLUMN", requires = "keys")]
    id_column: Option<String>,

    /// Column of the messages
    #[arg(long, value_name = "COLUMN", default_value = "message")]
    message_column: String,

    /// Column of message representatives of 64 bytes, instead of messages
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["context", "context_column"])]
    mu_column: Option<String>,

    /// Context of all rows, a text [default: empty]
    #[arg(long, value_name = "TEXT", conflicts_with = "context_column")]
    context: Option<String>,

    /// Column of the contexts
    #[arg(long, value_name = "COLUMN")]
    context_column: Option<String>,

    /// Column of the signatures
    #[arg(long, value_name = "COLUMN", default_value = "signature")]
    signature_column: String,
}

impl ColumnArgs {
    pub(crate) fn inputs<'a>(
        &'a self,
        table: Option<&'a KeyTable>,
    ) -> Result<Inputs<'a, &'a str>, Failure> {
        let context = match &self.context_column {
            Some(column) => ContextOf::Column(column.as_str()),
            None => {
                let text = self.context.as_deref().unwrap_or_default();
                let context = Context::new(text.as_bytes());
                ContextOf::All(context.map_err(|error| named("--context", error))?)
            }
        };
        Ok(Inputs {
            set: match (&self.set_column, &self.set) {
                (Some(column), _) => SetOf::Column(column.as_str()),
                (None, Some(set)) => SetOf::All(set.parse()?),
                (None, None) => SetOf::Key,
            },
            key: match table {
                Some(table) => KeyOf::Table(self.signer_column(), table),
                None => KeyOf::Column(self.signer_column()),
            },
            message: match &self.mu_column {
                Some(column) => MessageOf::Mu(column.as_str()),
                None => MessageOf::Message(self.message_column.as_str(), context),
            },
            signature: &self.signature_column,
        })
    }

    /// Returns the file with the table of keys.
    pub(crate) fn table_file(&self) -> Option<&Path> {
        self.keys.as_deref()
    }

    /// Reads the table of keys from the bytes of its file.
    pub(crate) fn table(&self, bytes: Bytes) -> Result<Option<Table>, Failure> {
        let (Some(file), Some(id)) = (&self.keys, &self.id_column) else {
            return Ok(None);
        };
        let key = &self.key_column;
        let read = || {
            let wanted = Wanted {
                bytes: vec![key.clone()],
                texts: vec![id.clone()],
                required: None,
            };
            let mut table = Table::default();
            let source = Source::open(Input::Memory(bytes), file, wanted, false)?;
            for n in 0..source.units().len() {
                for read in source.read(source.group(n)?.as_ref(), 1024)? {
                    let read = read?;
                    if let Some(row) = read.malformed.iter().position(|malformed| *malformed) {
                        return Err(format!("row {row} is malformed").into());
                    }
                    table.keys.add(&read.batch, id, key)?;
                    let ids = read.batch.column_by_name(id);
                    table.has_integers = ids.is_some_and(|ids| ids.data_type().is_integer());
                }
            }
            Ok::<_, Failure>(table)
        };
        read()
            .map(Some)
            .map_err(|error| named(file.display(), error))
    }

    /// Returns the column that identifies the signer.
    pub(crate) fn signer_column(&self) -> &str {
        self.id_column.as_ref().unwrap_or(&self.key_column)
    }

    /// Returns the signers of a batch: ids, or the first half of the SHA-256 of an encoded key in
    /// hex.
    pub(crate) fn signers(&self, batch: &RecordBatch) -> Result<Signers, Failure> {
        let name = self.signer_column();
        let array = batch.column_by_name(name).ok_or("no signers")?;
        let mut signers = Signers::default();
        let mut known = ahash::HashMap::<Id<'_>, u32>::default();
        for id in Column::new(name, array).ids()? {
            signers.rows.push(id.map(|id| {
                *known.entry(id).or_insert_with(|| {
                    signers.names.push(self.label(id));
                    signers.names.len() as u32 - 1
                })
            }));
        }
        Ok(signers)
    }

    fn label(&self, id: Id<'_>) -> String {
        match id {
            Id::Integer(id) => id.to_string(),
            Id::Bytes(key) if self.id_column.is_none() => {
                base16ct::lower::encode_string(&Sha256::digest(key)[..16])
            }
            // What begins as a number in hex is one.
            Id::Bytes(id) => match core::str::from_utf8(id) {
                Ok(text) if !text.starts_with("0x") => text.to_owned(),
                _ => format!("0x{}", base16ct::lower::encode_string(id)),
            },
        }
    }
}

/// The table of keys.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) keys: KeyTable,
    /// Whether its ids are integers.
    pub(crate) has_integers: bool,
}

/// Names of the columns that are read.
#[derive(Clone)]
pub(crate) struct Wanted {
    /// Hex in files of text.
    pub(crate) bytes: Vec<String>,
    pub(crate) texts: Vec<String>,
    /// The one of which null is a value: an object of JSON that lacks it is malformed.
    pub(crate) required: Option<String>,
}

impl Wanted {
    /// Returns the columns that are verified.
    pub(crate) fn of(inputs: &Inputs<'_, &str>) -> Self {
        let mut wanted = Self {
            bytes: vec![inputs.signature.to_owned()],
            texts: Vec::new(),
            required: None,
        };
        if let SetOf::Column(name) = inputs.set {
            wanted.texts.push(name.to_owned());
        }
        match inputs.key {
            KeyOf::Column(name) => wanted.bytes.push(name.to_owned()),
            KeyOf::Table(name, _) => wanted.texts.push(name.to_owned()),
        }
        let (MessageOf::Message(message, _) | MessageOf::Mu(message)) = inputs.message;
        wanted.bytes.push(message.to_owned());
        if let MessageOf::Message(_, ContextOf::Column(name)) = inputs.message {
            wanted.bytes.push(name.to_owned());
            wanted.required = Some(name.to_owned());
        }
        wanted
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.bytes.iter().chain(&self.texts)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names().any(|one| one == name)
    }

    /// Tells whether a column was wanted, which no longer is.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let was = self.has(name);
        self.bytes.retain(|one| one != name);
        self.texts.retain(|one| one != name);
        self.required.take_if(|one| one == name);
        was
    }
}

/// The signers of rows, each name once.
#[derive(Default)]
pub(crate) struct Signers {
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<Option<u32>>,
}

/// Computes the SHA-256 of bytes, in hex.
pub(crate) fn digest(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}
