//! The footer of a Parquet file, in the compact protocol of Thrift.
//!
//! The parser reserves memory for as many row groups as the footer states. What precedes that number is
//! checked here, with the types that the parser expects, so that both find it at one place.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use crate::Failure;

const BYTE: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct, as far as its fields matter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    File,
    SchemaElement,
    LogicalType,
    Decimal,
    Time,
    TimeUnit,
    Integer,
    Variant,
    Geography,
    Empty,
}

/// Bytes that are left.
pub(crate) struct Rest<'a>(pub(crate) &'a [u8]);

impl Rest<'_> {
    fn byte(&mut self) -> Option<u8> {
        self.0.split_off_first().copied()
    }

    pub(crate) fn skip(&mut self, len: u64) -> Option<()> {
        self.0.split_off(..usize::try_from(len).ok()?).map(drop)
    }

    /// Reads a number of at most 63 bits.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Reads the number of structs in a list, each of which has a byte at least.
    fn structs(&mut self) -> Option<usize> {
        let header = self.byte()?;
        let count = match header >> 4 {
            15 => usize::try_from(self.number()?).ok()?,
            count => count.into(),
        };
        let is_list = header == 0 || header & 15 == STRUCT;
        (is_list && count <= self.0.len()).then_some(count)
    }

    /// Reads a struct; of the file, what precedes the first row group.
    fn structure(&mut self, shape: Shape) -> Option<()> {
        let mut id = 0_u8;
        loop {
            let header = self.byte()?;
            if header & 15 == 0 {
                return (shape != Shape::File).then_some(());
            }
            // Each writer has the fields in order, so that none occurs twice.
            id = id.checked_add(Some(header >> 4).filter(|step| *step > 0)?)?;
            match (shape, id, header & 15) {
                (Shape::File, 4, LIST) => return self.structs().map(drop),
                (Shape::File, 2, LIST) => {
                    for _ in 0..self.structs()? {
                        self.structure(Shape::SchemaElement)?;
                    }
                }
                (Shape::File, 1, I32)
                | (Shape::File, 3, I64)
                | (Shape::SchemaElement, 1..=3 | 5..=9, I32)
                | (Shape::Decimal, 1 | 2, I32)
                | (Shape::Geography, 2, I32) => drop(self.number()?),
                (Shape::SchemaElement, 4, BINARY) | (Shape::Geography, 1, BINARY) => {
                    let len = self.number()?;
                    self.skip(len)?;
                }
                (Shape::Integer | Shape::Variant, 1, BYTE) => drop(self.byte()?),
                // The type of a field has its value if it is a bool.
                (Shape::Time, 1, 1 | 2) | (Shape::Integer, 2, 1 | 2) => {}
                (of, _, STRUCT) => self.structure(match (of, id) {
                    (Shape::SchemaElement, 10) => Shape::LogicalType,
                    (Shape::LogicalType, 5) => Shape::Decimal,
                    (Shape::LogicalType, 7 | 8) => Shape::Time,
                    (Shape::LogicalType, 10) => Shape::Integer,
                    (Shape::LogicalType, 16) => Shape::Variant,
                    (Shape::LogicalType, 17 | 18) => Shape::Geography,
                    (Shape::Time, 2) => Shape::TimeUnit,
                    (Shape::LogicalType | Shape::TimeUnit, _) => Shape::Empty,
                    _ => return None,
                })?,
                _ => return None,
            }
        }
    }
}

/// Reads the footer.
pub(crate) fn read(mut file: &File) -> Result<ParquetMetaData, Failure> {
    let cut = "it is no whole Parquet file";
    let size = file.seek(SeekFrom::End(0))?;
    let mut end = [0; 8];
    file.seek(SeekFrom::Start(size.checked_sub(12).ok_or(cut)? + 4))?;
    file.read_exact(&mut end)?;
    let [a, b, c, d, magic @ ..] = end;
    let len = u32::from_le_bytes([a, b, c, d]).into();
    let start = (size - 8).checked_sub(len).filter(|_| magic == *b"PAR1");
    file.seek(SeekFrom::Start(start.ok_or(cut)?))?;
    let mut footer = Vec::new();
    file.take(len).read_to_end(&mut footer)?;
    let checked = Rest(&footer).structure(Shape::File);
    checked.ok_or("the footer is damaged")?;
    Ok(ParquetMetaDataReader::decode_metadata(&footer)?)
}
