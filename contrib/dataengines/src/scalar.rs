//! `mldsa_verify`, `mldsa_reason` and `mldsa_mu`.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, AsArray, BinaryArray, DictionaryArray, Int32Array, new_empty_array,
};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use mldsa_arrow::batch_verify::Context;
use mldsa_arrow::{
    Column, ColumnError, ContextOf, Inputs, KeyOf, MessageOf, SetOf, Verdicts, Verifier,
};
use mldsa_core::{AnyVerifyingKey, MuBuilder};

use crate::refused;

/// What a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Output {
    Valid,
    Reason,
    Mu,
}

/// A function of columns.
#[derive(Debug)]
pub(crate) struct Function {
    output: Output,
    verifier: Arc<Verifier>,
    signature: Signature,
}

impl Function {
    pub(crate) fn new(output: Output, verifier: &Arc<Verifier>) -> Self {
        Self {
            output,
            verifier: Arc::clone(verifier),
            signature: Signature::variadic_any(Volatility::Immutable),
        }
    }

    /// Gives the arguments, which have the names of their expressions, their meaning.
    fn inputs<'a>(
        &self,
        fields: &'a [FieldRef],
        arrays: &'a [ArrayRef],
    ) -> Result<Inputs<'a, Column<'a>>> {
        let columns = fields.iter().zip(arrays);
        let columns: Vec<_> = columns
            .map(|(field, array)| Column::new(field.name(), array))
            .collect();
        let (set, key, message, context, signature) = match (self.output, &columns[..]) {
            // The types are those of `mldsa_verify`: the key stands for the signature.
            (Output::Mu, &[key, message]) => (None, key, message, None, key),
            (Output::Mu, &[key, message, context]) => (None, key, message, Some(context), key),
            (Output::Mu, _) => return Err(refused(self.name(), "it takes 2 or 3 arguments")),
            (_, &[key, message, signature]) => (None, key, message, None, signature),
            (_, &[key, message, context, signature]) => {
                (None, key, message, Some(context), signature)
            }
            (_, &[set, key, message, context, signature]) => {
                (Some(set), key, message, Some(context), signature)
            }
            _ => return Err(refused(self.name(), "it takes 3, 4 or 5 arguments")),
        };
        Ok(Inputs {
            set: set.map_or(SetOf::Key, SetOf::Column),
            key: KeyOf::Column(key),
            message: MessageOf::Message(
                message,
                context.map_or(ContextOf::All(Context::EMPTY), ContextOf::Column),
            ),
            signature,
        })
    }

    fn verify(&self, inputs: &Inputs<'_, Column<'_>>) -> Result<Verdicts> {
        let verdicts = self.verifier.verify(inputs);
        verdicts.map_err(|error| refused(self.name(), error))
    }

    fn kind(&self) -> DataType {
        match self.output {
            Output::Valid => DataType::Boolean,
            Output::Reason => DataType::Utf8,
            Output::Mu => DataType::Binary,
        }
    }
}

/// Computes `mu` (FIPS 204 algorithm 8, line 7) of each row; null if the key or the context has a wrong length.
fn mus(inputs: &Inputs<'_, Column<'_>>) -> Result<BinaryArray, ColumnError> {
    let (KeyOf::Column(key) | KeyOf::Table(key, _)) = inputs.key;
    let (message, contexts) = match inputs.message {
        MessageOf::Message(message, ContextOf::Column(context)) => (message, context.bytes()?),
        MessageOf::Message(message, _) | MessageOf::Mu(message) => (message, Vec::new()),
    };
    let of_row = |(row, (key, message)): (usize, (Option<&[u8]>, Option<&[u8]>))| {
        let context = contexts.get(row).copied().flatten().unwrap_or_default();
        mu(key?, message?, Context::new(context).ok()?)
    };
    let rows = key.bytes()?.into_iter().zip(message.bytes()?);
    Ok(rows.enumerate().map(of_row).collect())
}

fn mu(key: &[u8], message: &[u8], context: Context<'_>) -> Option<[u8; 64]> {
    let key = AnyVerifyingKey::from_bytes(key).ok()?;
    let mut mu = MuBuilder::from_tr(key.tr(), context);
    mu.update(message);
    Some(*mu.finish().as_bytes())
}

/// Makes a column of `rows` rows. A literal is in memory once, however many rows have it.
fn column(value: ColumnarValue, rows: usize) -> Result<ArrayRef> {
    let value = match value {
        ColumnarValue::Scalar(ScalarValue::Dictionary(_, value)) => *value,
        ColumnarValue::Scalar(value) => value,
        array => return array.into_array(rows),
    };
    if value.is_null() {
        return value.to_array_of_size(rows);
    }
    let keys = Int32Array::from_value(0, rows);
    let values = value.to_array_of_size(1)?;
    Ok(Arc::new(DictionaryArray::new(keys, values)))
}

// All functions have the same verifier.
impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.output == other.output
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.output.hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        match self.output {
            Output::Valid => "mldsa_verify",
            Output::Reason => "mldsa_reason",
            Output::Mu => "mldsa_mu",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.kind())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        // The types are checked without rows.
        let types = args.arg_fields.iter().map(|field| field.data_type());
        let arrays: Vec<_> = types.map(new_empty_array).collect();
        self.verify(&self.inputs(args.arg_fields, &arrays)?)?;
        let nullable = self.output != Output::Valid;
        Ok(Arc::new(Field::new(self.name(), self.kind(), nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.into_iter().map(|value| column(value, rows));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let inputs = self.inputs(&args.arg_fields, &arrays)?;
        Ok(ColumnarValue::Array(match self.output {
            Output::Valid => Arc::new(self.verify(&inputs)?.valid),
            Output::Reason => {
                let reason = self.verify(&inputs)?.reason;
                take(reason.values().as_string::<i32>(), reason.keys(), None)?
            }
            Output::Mu => Arc::new(mus(&inputs).map_err(|error| refused(self.name(), error))?),
        }))
    }
}
