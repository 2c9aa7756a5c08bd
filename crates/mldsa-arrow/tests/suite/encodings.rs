//! The encodings of one column.

use std::sync::Arc;

use arrow_array::builder::{BinaryDictionaryBuilder, FixedSizeBinaryBuilder};
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, DictionaryArray, LargeBinaryArray, StringArray,
};

/// Number of encodings.
pub(crate) const ENCODINGS: usize = 15;

/// Encodes values. The array is a slice with an offset if `before` or `after` is not 0.
pub(crate) fn encode(
    values: &[Option<Vec<u8>>],
    encoding: usize,
    before: usize,
    after: usize,
) -> ArrayRef {
    let junk = Some(&b"outside of the slice"[..]);
    let inside = values.iter().map(Option::as_deref);
    let all: Vec<Option<&[u8]>> = core::iter::repeat_n(junk, before)
        .chain(inside)
        .chain(core::iter::repeat_n(junk, after))
        .collect();
    let array: ArrayRef = match encoding {
        0 => Arc::new(BinaryArray::from_iter(all)),
        1 => Arc::new(LargeBinaryArray::from_iter(all)),
        2 => Arc::new(BinaryViewArray::from_iter(all)),
        3 => return fixed(values).unwrap_or_else(|| encode(values, 0, before, after)),
        4 => dictionary::<Int8Type>(&all),
        5 => dictionary::<Int16Type>(&all),
        6 => dictionary::<Int32Type>(&all),
        7 => dictionary::<Int64Type>(&all),
        8 => dictionary::<UInt8Type>(&all),
        9 => dictionary::<UInt16Type>(&all),
        10 => dictionary::<UInt32Type>(&all),
        11 => dictionary::<UInt64Type>(&all),
        12 => of_values(&all, |values| Arc::new(LargeBinaryArray::from_iter(values))),
        13 => of_values(&all, |values| Arc::new(BinaryViewArray::from_iter(values))),
        _ => of_values(&all, |values| Arc::new(BinaryArray::from_iter(values))),
    };
    array.slice(before, values.len())
}

/// A fixed-size column, if the values have one length.
fn fixed(values: &[Option<Vec<u8>>]) -> Option<ArrayRef> {
    let len = values.iter().flatten().next()?.len();
    let mut builder = FixedSizeBinaryBuilder::new(i32::try_from(len).ok()?);
    builder.append_value(vec![0; len]).ok()?;
    for value in values {
        match value {
            Some(value) => builder.append_value(value).ok()?,
            None => builder.append_null(),
        }
    }
    Some(Arc::new(builder.finish().slice(1, values.len())))
}

fn dictionary<K: ArrowDictionaryKeyType>(all: &[Option<&[u8]>]) -> ArrayRef {
    let mut builder = BinaryDictionaryBuilder::<K>::new();
    all.iter().for_each(|value| builder.append_option(*value));
    Arc::new(builder.finish())
}

/// A dictionary with one value a row, among them nulls.
fn of_values(all: &[Option<&[u8]>], values: impl Fn(Vec<Option<&[u8]>>) -> ArrayRef) -> ArrayRef {
    let keys = (0..all.len() as u32).rev();
    let values = values(all.iter().rev().copied().collect());
    Arc::new(DictionaryArray::<UInt32Type>::new(keys.collect(), values))
}

/// Encodes texts.
pub(crate) fn text(values: &[Option<String>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}
