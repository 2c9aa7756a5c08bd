//! Structs of Parquet in the compact protocol of Thrift.
//!
//! The parser of the crate `parquet` reserves memory and recurses as a footer states, and passes over unknown fields. A
//! footer is walked here from end to end before: each field is known and occurs once, in order, and each element of a
//! list is there. Programs of this project that read files share it.

const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// What a walk reports, with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    Nothing,
    /// A field of the schema begins.
    Name,
    Children,
    Encrypted,
    PageType,
    Size,
    Stored,
    Crc,
    Values,
    Rows,
    Nulls,
    Encoding,
    DefinitionLevels,
    RepetitionLevels,
    IsCompressed,
}

/// Type of a field.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    /// A bool in a list, which has a byte.
    Flag,
    Number(u8),
    Double,
    Binary,
    Struct(&'static [Field]),
    /// A struct with exactly one of its fields.
    Union(&'static [Field]),
    List(&'static Self),
}

use Kind::{Binary, Bool, Double, Flag, List, Struct, Union};

struct Field {
    id: i16,
    is_required: bool,
    kind: Kind,
    note: Note,
}

/// Makes a table of fields: numbers, `!` for one that has to be there or `?`, types, and notes.
macro_rules! fields {
    ($($id:literal $required:tt $kind:expr $(=> $note:ident)?),*) => {
        &[$(Field {
            id: $id,
            is_required: fields!(@ $required),
            kind: $kind,
            note: fields!(@ $($note)?),
        }),*]
    };
    (@ !) => { true };
    (@ ?) => { false };
    (@) => { Note::Nothing };
    (@ $note:ident) => { Note::$note };
}

const N8: Kind = Kind::Number(BYTE);
const N16: Kind = Kind::Number(I16);
const N32: Kind = Kind::Number(I32);
const N64: Kind = Kind::Number(I64);
const EMPTY: Kind = Struct(&[]);

const FILE: &[Field] = fields! {
    1 ! N32, 2 ! List(&Struct(SCHEMA_ELEMENT)), 3 ! N64, 4 ! List(&Struct(ROW_GROUP)), 5 ? List(&KEY_VALUE),
    6 ? Binary, 7 ? List(&Union(fields! { 1 ? EMPTY, 2 ? EMPTY })), 8 ? EMPTY => Encrypted, 9 ? Binary => Encrypted
};

const SCHEMA_ELEMENT: &[Field] = fields! {
    1 ? N32, 2 ? N32, 3 ? N32, 4 ! Binary => Name, 5 ? N32 => Children, 6 ? N32, 7 ? N32, 8 ? N32, 9 ? N32,
    10 ? Union(LOGICAL_TYPE)
};

const LOGICAL_TYPE: &[Field] = fields! {
    1 ? EMPTY, 2 ? EMPTY, 3 ? EMPTY, 4 ? EMPTY, 5 ? Struct(fields! { 1 ! N32, 2 ! N32 }), 6 ? EMPTY, 7 ? TIME,
    8 ? TIME, 10 ? Struct(fields! { 1 ! N8, 2 ! Bool }), 11 ? EMPTY, 12 ? EMPTY, 13 ? EMPTY, 14 ? EMPTY, 15 ? EMPTY,
    16 ? Struct(fields! { 1 ? N8 }), 17 ? Struct(fields! { 1 ? Binary }),
    18 ? Struct(fields! { 1 ? Binary, 2 ? N32 })
};

const TIME: Kind =
    Struct(fields! { 1 ! Bool, 2 ! Union(fields! { 1 ? EMPTY, 2 ? EMPTY, 3 ? EMPTY }) });

const ROW_GROUP: &[Field] = fields! {
    1 ! List(&Struct(COLUMN_CHUNK)), 2 ! N64, 3 ! N64,
    4 ? List(&Struct(fields! { 1 ! N32, 2 ! Bool, 3 ! Bool })), 5 ? N64, 6 ? N64, 7 ? N16
};

const COLUMN_CHUNK: &[Field] = fields! {
    1 ? Binary, 2 ! N64, 3 ! Struct(COLUMN), 4 ? N64, 5 ? N32, 6 ? N64, 7 ? N32, 8 ? EMPTY => Encrypted,
    9 ? Binary => Encrypted
};

const COLUMN: &[Field] = fields! {
    1 ! N32, 2 ! List(&N32), 3 ! List(&Binary), 4 ! N32, 5 ! N64, 6 ! N64, 7 ! N64, 8 ? List(&KEY_VALUE), 9 ! N64,
    10 ? N64, 11 ? N64, 12 ? STATISTICS, 13 ? List(&Struct(fields! { 1 ! N32, 2 ! N32, 3 ! N32 })), 14 ? N64,
    15 ? N32, 16 ? Struct(fields! { 1 ? N64, 2 ? List(&N64), 3 ? List(&N64) }),
    17 ? Struct(fields! { 1 ? BOX, 2 ? List(&N32) })
};

const BOX: Kind = Struct(fields! {
    1 ! Double, 2 ! Double, 3 ! Double, 4 ! Double, 5 ? Double, 6 ? Double, 7 ? Double, 8 ? Double
});

const STATISTICS: Kind = Struct(fields! {
    1 ? Binary, 2 ? Binary, 3 ? N64, 4 ? N64, 5 ? Binary, 6 ? Binary, 7 ? Bool, 8 ? Bool, 9 ? N64
});

const KEY_VALUE: Kind = Struct(fields! { 1 ! Binary, 2 ? Binary });

const COLUMN_INDEX: &[Field] = fields! {
    1 ! List(&Flag), 2 ! List(&Binary), 3 ! List(&Binary), 4 ! N32, 5 ? List(&N64), 6 ? List(&N64), 7 ? List(&N64)
};

const OFFSET_INDEX: &[Field] = fields! {
    1 ! List(&Struct(fields! { 1 ! N64, 2 ! N32, 3 ! N64 })), 2 ? List(&N64)
};

const PAGE: &[Field] = fields! {
    1 ! N32 => PageType, 2 ! N32 => Size, 3 ! N32 => Stored, 4 ? N32 => Crc,
    5 ? Struct(fields! {
        1 ! N32 => Values, 2 ! N32 => Encoding, 3 ! N32 => DefinitionLevels, 4 ! N32 => RepetitionLevels, 5 ? STATISTICS
    }),
    6 ? EMPTY,
    7 ? Struct(fields! { 1 ! N32 => Values, 2 ! N32 => Encoding, 3 ? Bool }),
    8 ? Struct(fields! {
        1 ! N32 => Values, 2 ! N32 => Nulls, 3 ! N32 => Rows, 4 ! N32 => Encoding, 5 ! N32 => DefinitionLevels,
        6 ! N32 => RepetitionLevels, 7 ? Bool => IsCompressed, 8 ? STATISTICS
    })
};

/// Bytes that are left.
#[derive(Clone, Debug)]
pub struct Rest<'a>(pub &'a [u8]);

impl<'a> Rest<'a> {
    fn byte(&mut self) -> Option<u8> {
        self.0.split_off_first().copied()
    }

    pub fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        self.0.split_off(..usize::try_from(len).ok()?)
    }

    /// Reads a number of at most 64 bits.
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Walks fields, and returns how many there are.
    fn fields(&mut self, fields: &[Field], visit: &mut dyn FnMut(Note, i64)) -> Option<usize> {
        let (mut last, mut count, mut missing) = (0, 0, fields);
        loop {
            let header = self.byte()?;
            if header == 0 {
                let is_whole = !missing.iter().any(|field| field.is_required);
                return is_whole.then_some(count);
            }
            let id = match header >> 4 {
                0 => i16::try_from(self.signed()?).ok()?,
                step => last + i16::from(step),
            };
            // Fields are in the order of their numbers, so that none occurs twice.
            let at = missing.iter().position(|field| field.id == id)?;
            let (passed, rest) = missing.split_at(at);
            if passed.iter().any(|field| field.is_required) {
                return None;
            }
            let (field, rest) = rest.split_first()?;
            self.value(field.kind, header & 15, field.note, visit)?;
            (last, count, missing) = (id, count + 1, rest);
        }
    }

    fn value(
        &mut self,
        kind: Kind,
        wire: u8,
        note: Note,
        visit: &mut dyn FnMut(Note, i64),
    ) -> Option<()> {
        let number = match (kind, wire) {
            // The type of a field has its value if it is a bool.
            (Bool, 1 | 2) => (wire == 1).into(),
            (Flag, 1 | 2) => self.byte()?.into(),
            (Kind::Number(BYTE), BYTE) => self.byte()?.into(),
            (Kind::Number(of), I16 | I32 | I64) if of == wire => {
                let number = self.signed()?;
                let bits = [16, 32, 64][usize::from(wire - I16)];
                let is_short = number >> (bits - 1) == number >> 63;
                is_short.then_some(number)?
            }
            (Double, DOUBLE) => self.take(8).map(|_| 0)?,
            (Binary, BINARY) => {
                let len = self.number()?;
                self.take(len).map(|_| 0)?
            }
            (Struct(_) | Union(_), STRUCT) | (List(_), LIST) => 0,
            _ => return None,
        };
        visit(note, number);
        match kind {
            Struct(fields) => self.fields(fields, visit).map(drop),
            Union(fields) => (self.fields(fields, visit)? == 1).then_some(()),
            List(of) => self.elements(*of, visit),
            _ => Some(()),
        }
    }

    fn elements(&mut self, of: Kind, visit: &mut dyn FnMut(Note, i64)) -> Option<()> {
        let header = self.byte()?;
        let count = match header >> 4 {
            15 => usize::try_from(self.number()?).ok()?,
            count => count.into(),
        };
        // An element has a byte at least.
        if count > self.0.len() {
            return None;
        }
        (0..count).try_for_each(|_| self.value(of, header & 15, Note::Nothing, visit))
    }
}

/// Bytes of the header of a page, which has statistics.
const MAX_HEADER: u64 = 1 << 24;

/// The numbers of the header of a page.
#[derive(Debug)]
pub struct Header([Option<i64>; Note::IsCompressed as usize + 1]);

impl Header {
    /// Reads the header at `at` of a page that ends at `end` at most, and returns it with where it ends. `read` returns as
    /// many bytes as it is asked for.
    pub fn read<B: AsRef<[u8]>>(
        at: u64,
        end: u64,
        mut read: impl FnMut(u64, u64) -> Option<B>,
    ) -> Option<(Self, u64)> {
        let mut window = 1 << 10;
        loop {
            let len = end.checked_sub(at)?.min(window);
            let bytes = read(at, len)?;
            let mut rest = Rest(bytes.as_ref());
            let mut numbers = [None; Note::IsCompressed as usize + 1];
            // A page has one header of its kind, which alone has fields of values.
            let mut is_single = true;
            let walked = rest.fields(PAGE, &mut |note, number| {
                let before = numbers[note as usize].replace(number);
                is_single &= before.is_none() || note == Note::Nothing;
            });
            if walked.is_some() {
                let behind = at + len - rest.0.len() as u64;
                return is_single.then_some((Self(numbers), behind));
            }
            if len < window || window >= MAX_HEADER {
                return None;
            }
            window = (window << 4).min(MAX_HEADER);
        }
    }

    /// Returns the number of a field that is there.
    pub fn number(&self, note: Note) -> Option<i64> {
        self.0[note as usize]
    }

    /// Returns the number of a field that is there and is not negative.
    pub fn natural(&self, note: Note) -> Option<u32> {
        u32::try_from(self.number(note)?).ok()
    }
}

/// Levels of groups in a schema: the parser recurses.
const MAX_DEPTH: usize = 64;

/// Checks a footer.
///
/// # Errors
/// What is wrong with it.
pub fn check_footer(footer: &[u8]) -> Result<(), &'static str> {
    let mut is_encrypted = false;
    let mut children = Vec::new();
    let mut rest = Rest(footer);
    let walked = rest.fields(FILE, &mut |note, number| match note {
        Note::Name => children.push(0),
        Note::Children => {
            let _ = children.last_mut().map(|last| *last = number);
        }
        Note::Encrypted => is_encrypted = true,
        _ => {}
    });
    match walked {
        _ if is_encrypted => Err("it is an encrypted Parquet file"),
        Some(_) if rest.0.is_empty() && is_tree(&children) => Ok(()),
        _ => Err("the footer is damaged, or has fields that this program does not know"),
    }
}

/// Checks an index of the pages of a column.
///
/// # Errors
/// It is damaged.
pub fn check_column_index(index: &[u8]) -> Result<(), &'static str> {
    check_index(index, COLUMN_INDEX)
}

/// Checks an index of where the pages of a column are.
///
/// # Errors
/// It is damaged.
pub fn check_offset_index(index: &[u8]) -> Result<(), &'static str> {
    check_index(index, OFFSET_INDEX)
}

fn check_index(index: &[u8], fields: &[Field]) -> Result<(), &'static str> {
    let walked = Rest(index).fields(fields, &mut |_, _| {});
    walked.map(drop).ok_or("an index of pages is damaged")
}

/// Tells whether numbers of children, each before those of its children, are of one tree that is not too deep.
fn is_tree(children: &[i64]) -> bool {
    let mut open = vec![1];
    for &count in children {
        let Some(left) = open.last_mut() else {
            return false;
        };
        *left -= 1;
        open.push(count);
        if count < 0 || open.len() > MAX_DEPTH {
            return false;
        }
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    open.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_at_most_64_bits() {
        let number = |bytes: &[u8]| Rest(bytes).number();
        assert_eq!(number(&[0x80, 1]), Some(128));
        let most = [[0xff; 9].as_slice(), &[1]].concat();
        assert_eq!(number(&most), Some(u64::MAX));
        assert_eq!(number(&[[0xff; 9].as_slice(), &[2]].concat()), None);
        assert_eq!(number(&[0x80; 11]), None);
        assert_eq!(Rest(&most).signed(), Some(i64::MIN));
    }

    #[test]
    fn children_make_one_tree() {
        for (children, expected) in [
            (&[0][..], true),
            (&[2, 0, 0], true),
            (&[2, 1, 0, 0], true),
            (&[], false),
            (&[2, 0], false),
            (&[1, 0, 0], false),
            (&[1, i64::MAX, 0], false),
            (&[-1], false),
        ] {
            assert_eq!(is_tree(children), expected, "{children:?}");
        }
        let deep = |depth| [vec![1; depth], vec![0]].concat();
        assert!(is_tree(&deep(MAX_DEPTH - 2)) && !is_tree(&deep(MAX_DEPTH - 1)));
    }
}
