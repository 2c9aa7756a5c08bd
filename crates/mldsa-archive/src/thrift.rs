//! Structs of Parquet in the compact protocol of Thrift.
//!
//! The parser of the crate `parquet` reserves memory and recurses as a footer states, and passes over unknown fields. A
//! footer is walked here from end to end before: each field is known and occurs once, in order, and each element of a
//! list is there.

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
pub(crate) enum Note {
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
    Number(u8),
    Double,
    Binary,
    Struct(&'static [Field]),
    /// A struct with exactly one of its fields.
    Union(&'static [Field]),
    List(&'static Self),
}

#[derive(Clone, Copy)]
struct Field {
    id: i16,
    is_required: bool,
    kind: Kind,
    note: Note,
}

impl Field {
    const fn noted(self, note: Note) -> Self {
        Self { note, ..self }
    }
}

const fn may(id: i16, kind: Kind) -> Field {
    Field {
        id,
        is_required: false,
        kind,
        note: Note::Nothing,
    }
}

const fn must(id: i16, kind: Kind) -> Field {
    Field {
        is_required: true,
        ..may(id, kind)
    }
}

const N32: Kind = Kind::Number(I32);
const N64: Kind = Kind::Number(I64);
const EMPTY: Kind = Kind::Struct(&[]);

static FILE: [Field; 9] = [
    must(1, N32),
    must(2, Kind::List(&Kind::Struct(&SCHEMA_ELEMENT))),
    must(3, N64),
    must(4, Kind::List(&Kind::Struct(&ROW_GROUP))),
    may(5, Kind::List(&KEY_VALUE)),
    may(6, Kind::Binary),
    may(7, Kind::List(&Kind::Union(&[may(1, EMPTY), may(2, EMPTY)]))),
    may(8, EMPTY).noted(Note::Encrypted),
    may(9, Kind::Binary).noted(Note::Encrypted),
];

static SCHEMA_ELEMENT: [Field; 10] = [
    may(1, N32),
    may(2, N32),
    may(3, N32),
    must(4, Kind::Binary).noted(Note::Name),
    may(5, N32).noted(Note::Children),
    may(6, N32),
    may(7, N32),
    may(8, N32),
    may(9, N32),
    may(10, Kind::Union(&LOGICAL_TYPE)),
];

static LOGICAL_TYPE: [Field; 17] = [
    may(1, EMPTY),
    may(2, EMPTY),
    may(3, EMPTY),
    may(4, EMPTY),
    may(5, Kind::Struct(&[must(1, N32), must(2, N32)])),
    may(6, EMPTY),
    may(7, TIME),
    may(8, TIME),
    may(
        10,
        Kind::Struct(&[must(1, Kind::Number(BYTE)), must(2, Kind::Bool)]),
    ),
    may(11, EMPTY),
    may(12, EMPTY),
    may(13, EMPTY),
    may(14, EMPTY),
    may(15, EMPTY),
    may(16, Kind::Struct(&[may(1, Kind::Number(BYTE))])),
    may(17, Kind::Struct(&[may(1, Kind::Binary)])),
    may(18, Kind::Struct(&[may(1, Kind::Binary), may(2, N32)])),
];

const TIME: Kind = Kind::Struct(&[
    must(1, Kind::Bool),
    must(
        2,
        Kind::Union(&[may(1, EMPTY), may(2, EMPTY), may(3, EMPTY)]),
    ),
]);

static ROW_GROUP: [Field; 7] = [
    must(1, Kind::List(&Kind::Struct(&COLUMN_CHUNK))),
    must(2, N64),
    must(3, N64),
    may(
        4,
        Kind::List(&Kind::Struct(&[
            must(1, N32),
            must(2, Kind::Bool),
            must(3, Kind::Bool),
        ])),
    ),
    may(5, N64),
    may(6, N64),
    may(7, Kind::Number(I16)),
];

static COLUMN_CHUNK: [Field; 9] = [
    may(1, Kind::Binary),
    must(2, N64),
    must(3, Kind::Struct(&COLUMN)),
    may(4, N64),
    may(5, N32),
    may(6, N64),
    may(7, N32),
    may(8, EMPTY).noted(Note::Encrypted),
    may(9, Kind::Binary).noted(Note::Encrypted),
];

static COLUMN: [Field; 17] = [
    must(1, N32),
    must(2, Kind::List(&N32)),
    must(3, Kind::List(&Kind::Binary)),
    must(4, N32),
    must(5, N64),
    must(6, N64),
    must(7, N64),
    may(8, Kind::List(&KEY_VALUE)),
    must(9, N64),
    may(10, N64),
    may(11, N64),
    may(12, Kind::Struct(&STATISTICS)),
    may(
        13,
        Kind::List(&Kind::Struct(&[must(1, N32), must(2, N32), must(3, N32)])),
    ),
    may(14, N64),
    may(15, N32),
    may(
        16,
        Kind::Struct(&[
            may(1, N64),
            may(2, Kind::List(&N64)),
            may(3, Kind::List(&N64)),
        ]),
    ),
    may(
        17,
        Kind::Struct(&[may(1, Kind::Struct(&BOX)), may(2, Kind::List(&N32))]),
    ),
];

static BOX: [Field; 8] = [
    must(1, Kind::Double),
    must(2, Kind::Double),
    must(3, Kind::Double),
    must(4, Kind::Double),
    may(5, Kind::Double),
    may(6, Kind::Double),
    may(7, Kind::Double),
    may(8, Kind::Double),
];

static STATISTICS: [Field; 9] = [
    may(1, Kind::Binary),
    may(2, Kind::Binary),
    may(3, N64),
    may(4, N64),
    may(5, Kind::Binary),
    may(6, Kind::Binary),
    may(7, Kind::Bool),
    may(8, Kind::Bool),
    may(9, N64),
];

static KEY_VALUE: Kind = Kind::Struct(&[must(1, Kind::Binary), may(2, Kind::Binary)]);

static PAGE: [Field; 8] = [
    must(1, N32).noted(Note::PageType),
    must(2, N32).noted(Note::Size),
    must(3, N32).noted(Note::Stored),
    may(4, N32).noted(Note::Crc),
    may(
        5,
        Kind::Struct(&[
            must(1, N32).noted(Note::Values),
            must(2, N32).noted(Note::Encoding),
            must(3, N32).noted(Note::DefinitionLevels),
            must(4, N32).noted(Note::RepetitionLevels),
            may(5, Kind::Struct(&STATISTICS)),
        ]),
    ),
    may(6, EMPTY),
    may(
        7,
        Kind::Struct(&[
            must(1, N32).noted(Note::Values),
            must(2, N32).noted(Note::Encoding),
            may(3, Kind::Bool),
        ]),
    ),
    may(
        8,
        Kind::Struct(&[
            must(1, N32).noted(Note::Values),
            must(2, N32).noted(Note::Nulls),
            must(3, N32).noted(Note::Rows),
            must(4, N32).noted(Note::Encoding),
            must(5, N32).noted(Note::DefinitionLevels),
            must(6, N32).noted(Note::RepetitionLevels),
            may(7, Kind::Bool).noted(Note::IsCompressed),
            may(8, Kind::Struct(&STATISTICS)),
        ]),
    ),
];

/// Bytes that are left.
#[derive(Clone)]
pub(crate) struct Rest<'a>(pub(crate) &'a [u8]);

impl<'a> Rest<'a> {
    fn byte(&mut self) -> Option<u8> {
        self.0.split_off_first().copied()
    }

    pub(crate) fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        self.0.split_off(..usize::try_from(len).ok()?)
    }

    /// Reads a number of at most 64 bits.
    pub(crate) fn number(&mut self) -> Option<u64> {
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

    pub(crate) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Walks the struct of the header of a page.
    pub(crate) fn page(&mut self, visit: &mut dyn FnMut(Note, i64)) -> Option<()> {
        self.fields(&PAGE, visit).map(drop)
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
            (Kind::Bool, 1 | 2) => (wire == 1).into(),
            (Kind::Number(BYTE), BYTE) => self.byte()?.into(),
            (Kind::Number(of), I16 | I32 | I64) if of == wire => {
                let number = self.signed()?;
                let bits = [16, 32, 64][usize::from(wire - I16)];
                let is_short = number >> (bits - 1) == number >> 63;
                is_short.then_some(number)?
            }
            (Kind::Double, DOUBLE) => self.take(8).map(|_| 0)?,
            (Kind::Binary, BINARY) => {
                let len = self.number()?;
                self.take(len).map(|_| 0)?
            }
            (Kind::Struct(_) | Kind::Union(_), STRUCT) | (Kind::List(_), LIST) => 0,
            _ => return None,
        };
        visit(note, number);
        match kind {
            Kind::Struct(fields) => self.fields(fields, visit).map(drop),
            Kind::Union(fields) => (self.fields(fields, visit)? == 1).then_some(()),
            Kind::List(of) => self.elements(*of, visit),
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

/// Levels of groups in a schema: the parser recurses.
const MAX_DEPTH: usize = 64;

/// Checks a footer.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check_footer(footer: &[u8]) -> Result<(), &'static str> {
    let mut is_encrypted = false;
    let mut children = Vec::new();
    let mut rest = Rest(footer);
    let walked = rest.fields(&FILE, &mut |note, number| match note {
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
