//! The columns that a run reads, by options.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use mldsa_arrow::batch_verify::Context;
use mldsa_arrow::{Column, ContextOf, Id, Inputs, KeyOf, KeyTable, MessageOf, Set, SetOf};
use sha2::{Digest, Sha256};

use crate::reading::Wanted;
use crate::source;
use crate::{Failure, named};

#[derive(clap::Args, Debug)]
pub(crate) struct ColumnArgs {
    /// Parameter set of all rows [default: the one whose keys have the length of the key]
    #[arg(long, value_name = "NAME", conflicts_with = "set_column")]
    set: Option<Set>,

    /// Column of the names of parameter sets
    #[arg(long, value_name = "COLUMN")]
    set_column: Option<String>,

    /// Column of the encoded public keys
    #[arg(long, value_name = "COLUMN", default_value = "key")]
    key_column: String,

    /// File with a table of keys; the rows have ids of keys
    #[arg(long, value_name = "FILE", requires = "id_column")]
    keys: Option<PathBuf>,

    /// Column of the ids, in the rows and in the table of keys
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
            set: match (&self.set_column, self.set) {
                (Some(column), _) => SetOf::Column(column.as_str()),
                (None, Some(set)) => SetOf::All(set),
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

    /// Returns the columns of the rows.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        let mut bytes = vec![self.signature_column.as_str()];
        bytes.push(self.mu_column.as_ref().unwrap_or(&self.message_column));
        bytes.extend(self.context_column.as_deref());
        let mut texts = Vec::from_iter(self.set_column.as_deref());
        match &self.id_column {
            Some(column) => texts.push(column),
            None => bytes.push(&self.key_column),
        }
        let required = self.context_column.as_deref();
        Wanted {
            bytes,
            texts,
            required,
        }
    }

    /// Returns the file with the table of keys.
    pub(crate) fn table_file(&self) -> Option<&Path> {
        self.keys.as_deref()
    }

    /// Reads the table of keys.
    pub(crate) fn table(&self) -> Result<Option<KeyTable>, Failure> {
        let (Some(file), Some(id)) = (&self.keys, &self.id_column) else {
            return Ok(None);
        };
        let name = file.display();
        let key = &self.key_column;
        let wanted = Wanted {
            bytes: vec![key],
            texts: vec![id],
            required: None,
        };
        let mut table = KeyTable::default();
        for unit in source::open(file)?.units() {
            for batch in unit
                .read(&wanted, 1024)
                .map_err(|error| named(&name, error))?
            {
                let read = batch.map_err(|error| named(&name, error))?;
                if let Some(row) = read.malformed.iter().position(|malformed| *malformed) {
                    return Err(named(&name, format!("row {row} is malformed")));
                }
                let added = table.add(&read.batch, id, key);
                added.map_err(|error| named(&name, error))?;
            }
        }
        Ok(Some(table))
    }

    /// Returns the column that identifies the signer.
    fn signer_column(&self) -> &str {
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
            Id::Bytes(id) => match core::str::from_utf8(id) {
                Ok(text) => text.to_owned(),
                Err(_) => base16ct::lower::encode_string(id),
            },
        }
    }
}

/// The signers of rows, each name once.
#[derive(Default)]
pub(crate) struct Signers {
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<Option<u32>>,
}
