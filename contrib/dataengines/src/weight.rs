//! `mldsa_weight`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem::size_of;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, new_empty_array};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, UInt64Type};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use datafusion::scalar::ScalarValue;
use mldsa_arrow::{Column, ColumnError, Id};
use sha2::{Digest, Sha256};

use crate::refused;

const NAME: &str = "mldsa_weight";

/// Digits of the sum: to exceed them, more than 10^18 members would have to be in memory.
const DIGITS: u8 = 38;

/// The aggregate.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Weight {
    signature: Signature,
}

impl Weight {
    pub(crate) fn new() -> Self {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Self { signature }
    }
}

impl AggregateUDFImpl for Weight {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Decimal128(DIGITS, 0))
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        let expect = |field: &FieldRef, is: bool, expected| {
            let error = ColumnError::Type {
                column: field.name().clone(),
                found: field.data_type().clone(),
                expected,
            };
            if is {
                Ok(())
            } else {
                Err(refused(NAME, error))
            }
        };
        let [member, weight, valid, signed @ ..] = fields else {
            return Err(refused(NAME, "it takes 4 or 5 arguments"));
        };
        if !matches!(signed, [_] | [_, _]) {
            return Err(refused(NAME, "it takes 4 or 5 arguments"));
        }
        for field in signed {
            let empty = new_empty_array(field.data_type());
            let bytes = Column::new(field.name(), &empty).bytes().map(drop);
            bytes.map_err(|error| refused(NAME, error))?;
        }
        let empty = new_empty_array(member.data_type());
        let ids = Column::new(member.name(), &empty).ids().map(drop);
        ids.map_err(|error| refused(NAME, error))?;
        expect(weight, weight.data_type().is_integer(), "an integer type")?;
        expect(valid, valid.data_type() == &DataType::Boolean, "Boolean")?;
        Ok(Arc::new(Field::new(NAME, self.return_type(&[])?, false)))
    }

    fn is_nullable(&self) -> bool {
        false
    }

    fn default_value(&self, _: &DataType) -> Result<ScalarValue> {
        Signers::default().evaluate()
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Signers::default()))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let list = |name: &str, kind| {
            let kind = DataType::List(Arc::new(Field::new_list_field(kind, true)));
            Arc::new(Field::new(format!("{} {name}", args.name), kind, false))
        };
        Ok(vec![
            list("members", DataType::Binary),
            list("weights", DataType::UInt64),
            Arc::new(Field::new(
                format!("{} signed", args.name),
                DataType::Binary,
                true,
            )),
        ])
    }
}

/// A hash of an id: a group has a row of 2 kB for each key, and many groups are in memory.
type Member = [u8; 32];

/// A hash of a message and its context.
type Signed = [u8; 32];

fn signed(message: &[u8], context: &[u8]) -> Signed {
    let hash = Sha256::new().chain_update((context.len() as u64).to_le_bytes());
    let hash = hash.chain_update(context).chain_update(message);
    hash.finalize().into()
}

fn member(id: Id<'_>) -> Member {
    let hash = match id {
        Id::Bytes(bytes) => Sha256::new().chain_update([0]).chain_update(bytes),
        Id::Integer(n) => Sha256::new()
            .chain_update([1])
            .chain_update(n.to_le_bytes()),
    };
    hash.finalize().into()
}

fn ids(column: &ArrayRef) -> Result<Vec<Option<Id<'_>>>> {
    let ids = Column::new("argument", column).ids();
    ids.map_err(|error| refused(NAME, error))
}

fn bytes(column: &ArrayRef) -> Result<Vec<Option<&[u8]>>> {
    let bytes = Column::new("argument", column).bytes();
    bytes.map_err(|error| refused(NAME, error))
}

fn hash(state: &[u8]) -> Result<[u8; 32]> {
    let wrong = |_| DataFusionError::Internal(format!("{NAME}: a state of another length"));
    state.try_into().map_err(wrong)
}

/// The members with a valid row, and their weights.
#[derive(Debug, Default)]
struct Signers {
    weights: HashMap<Member, u64>,
    /// What all of them have signed.
    signed: Option<Signed>,
}

impl Signers {
    fn add(&mut self, member: Member, weight: u64, signed: Signed) -> Result<()> {
        if *self.signed.get_or_insert(signed) != signed {
            let why = format!("{NAME}: a group has votes for two messages or contexts");
            return Err(DataFusionError::Execution(why));
        }
        match self.weights.entry(member) {
            Entry::Occupied(known) if *known.get() != weight => {
                let known = known.get();
                let why = format!("{NAME}: a member has the weights {known} and {weight}");
                return Err(DataFusionError::Execution(why));
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(entry) => {
                entry.insert(weight);
            }
        }
        Ok(())
    }
}

impl Accumulator for Signers {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = ids(&values[0])?.into_iter().zip(ids(&values[1])?);
        let messages = bytes(&values[3])?;
        let contexts = values.get(4).map(bytes).transpose()?.unwrap_or_default();
        for (row, ((id, weight), valid)) in rows.zip(values[2].as_boolean()).enumerate() {
            let (Some(id), Some(Id::Integer(weight)), Some(true), Some(message)) =
                (id, weight, valid, messages[row])
            else {
                continue;
            };
            let context = contexts.get(row).copied().flatten().unwrap_or_default();
            let negative =
                |_| DataFusionError::Execution(format!("{NAME}: the weight {weight} is negative"));
            let weight = u64::try_from(weight).map_err(negative)?;
            self.add(member(id), weight, signed(message, context))?;
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (members, weights) = (states[0].as_list::<i32>(), states[1].as_list::<i32>());
        let groups = members.iter().zip(weights.iter()).zip(bytes(&states[2])?);
        for ((members, weights), signed) in groups {
            let (Some(members), Some(weights)) = (members, weights) else {
                continue;
            };
            let members = members.as_binary::<i32>().iter().flatten();
            let weights = weights.as_primitive::<UInt64Type>().values();
            for (member, weight) in members.zip(weights) {
                self.add(hash(member)?, *weight, hash(signed.unwrap_or_default())?)?;
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let pair = |(member, weight): (&Member, &u64)| {
            let member = ScalarValue::Binary(Some(member.to_vec()));
            (member, ScalarValue::UInt64(Some(*weight)))
        };
        let (members, weights): (Vec<_>, Vec<_>) = self.weights.iter().map(pair).unzip();
        let list = |values: &[ScalarValue], kind| {
            ScalarValue::List(ScalarValue::new_list_nullable(values, &kind))
        };
        Ok(vec![
            list(&members, DataType::Binary),
            list(&weights, DataType::UInt64),
            ScalarValue::Binary(self.signed.map(Vec::from)),
        ])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.weights.values().copied().map(i128::from).sum();
        Ok(ScalarValue::Decimal128(Some(sum), DIGITS, 0))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.weights.capacity() * size_of::<(Member, u64)>()
    }
}
