//! Batches of rows from lines of text: JSON objects, or CSV with a header. Bytes are hex.

use core::fmt;
use std::borrow::Cow;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use csv_core::ReadRecordResult;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};

use crate::columns::Wanted;
use crate::source::Read as Rows;
use crate::{Failure, named};

/// Upper bound on the bytes of a line; a longer one is a malformed row.
const MAX_LINE: usize = 1 << 24;

/// Upper bound on the columns of CSV.
const MAX_FIELDS: usize = 1 << 16;

/// Bytes of lines that end a batch. An array of bytes has at most 2 GiB.
const MAX_BATCH: usize = 1 << 27;

/// The byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Csv,
}

/// Reads batches of at most `rows` lines.
pub(crate) struct Lines<R> {
    input: R,
    format: Format,
    names: Vec<String>,
    /// The name that each JSON object has.
    required: Option<String>,
    /// How many of the names are of bytes; the others are of texts.
    bytes: usize,
    rows: usize,
    /// Fields of a CSV line, by the position of the column.
    header: Vec<Option<usize>>,
    line: Vec<u8>,
    has_begun: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(
        input: R,
        format: Format,
        wanted: &Wanted,
        rows: usize,
    ) -> Result<Self, Failure> {
        let names = wanted.names().cloned().collect();
        let mut lines = Self {
            input,
            format,
            names,
            required: wanted.required.clone(),
            bytes: wanted.bytes.len(),
            rows,
            header: Vec::new(),
            line: Vec::new(),
            has_begun: false,
        };
        if format == Format::Csv && lines.next_line()? != Line::End {
            let header = csv_fields(&lines.line, MAX_FIELDS).ok_or("the header is malformed")?;
            let position = |field: &String| lines.names.iter().position(|name| name == field);
            lines.header = header.iter().map(position).collect();
            for (n, name) in lines.names.iter().enumerate() {
                let count = lines.header.iter().filter(|at| **at == Some(n)).count();
                if count != 1 {
                    let error = format!("the header has {count} columns \"{name}\", expected 1");
                    return Err(error.into());
                }
            }
        }
        Ok(lines)
    }

    fn next_line(&mut self) -> io::Result<Line> {
        self.line.clear();
        let limit = MAX_LINE as u64 + 2;
        if (&mut self.input)
            .take(limit)
            .read_until(b'\n', &mut self.line)?
            == 0
        {
            return Ok(Line::End);
        }
        let ended = self.line.pop_if(|last| *last == b'\n').is_some();
        self.line.pop_if(|last| *last == b'\r');
        // A text may begin with a mark, and a line may not.
        if !core::mem::replace(&mut self.has_begun, true) && self.line.starts_with(MARK) {
            self.line.drain(..MARK.len());
        }
        if self.line.len() <= MAX_LINE {
            return Ok(Line::Read);
        }
        self.line.clear();
        if !ended {
            self.input.skip_until(b'\n')?;
        }
        Ok(Line::TooLong)
    }

    /// Returns the values of the wanted fields; `None` if the line is malformed.
    fn values(&self) -> Option<Vec<Option<Cow<'_, str>>>> {
        match self.format {
            Format::Json => {
                let mut read = serde_json::Deserializer::from_slice(&self.line);
                let values = Fields(&self.names, self.required.as_ref())
                    .deserialize(&mut read)
                    .ok()?;
                read.end().ok()?;
                Some(values)
            }
            Format::Csv => {
                let fields = csv_fields(&self.line, self.header.len())?;
                if fields.len() != self.header.len() {
                    return None;
                }
                let mut values = vec![None; self.names.len()];
                for (field, at) in fields.into_iter().zip(&self.header) {
                    if let Some(at) = at {
                        values[*at] = Some(field)
                            .filter(|field| !field.is_empty())
                            .map(Cow::Owned);
                    }
                }
                Some(values)
            }
        }
    }

    fn next_batch(&mut self) -> Result<Option<Rows>, Failure> {
        let mut bytes: Vec<_> = (0..self.bytes).map(|_| BinaryBuilder::new()).collect();
        let mut texts: Vec<_> = (self.bytes..self.names.len())
            .map(|_| StringBuilder::new())
            .collect();
        let mut malformed = Vec::new();
        let mut size = 0;
        while malformed.len() < self.rows && size < MAX_BATCH {
            let values = match self.next_line()? {
                Line::End => break,
                Line::TooLong => None,
                Line::Read => self.values(),
            };
            size += self.line.len();
            let decoded = values.as_ref().and_then(|values| {
                let of_bytes = values[..self.bytes].iter();
                let decode = |value: &Option<Cow<'_, str>>| match value {
                    Some(hex) => base16ct::mixed::decode_vec(hex.as_bytes()).ok().map(Some),
                    None => Some(None),
                };
                of_bytes.map(decode).collect::<Option<Vec<_>>>()
            });
            malformed.push(decoded.is_none());
            for (n, builder) in bytes.iter_mut().enumerate() {
                builder.append_option(decoded.as_ref().and_then(|all| all[n].as_ref()));
            }
            for (n, builder) in texts.iter_mut().enumerate() {
                let value = values.as_ref().and_then(|all| all[self.bytes + n].as_ref());
                builder.append_option(value);
            }
        }
        if malformed.is_empty() {
            return Ok(None);
        }
        let bytes = bytes
            .iter_mut()
            .map(|one| Arc::new(one.finish()) as ArrayRef);
        let texts = texts
            .iter_mut()
            .map(|one| Arc::new(one.finish()) as ArrayRef);
        let columns = self.names.iter().zip(bytes.chain(texts));
        let columns = columns.map(|(name, array)| (name.clone(), array, true));
        Ok(Some(Rows {
            batch: RecordBatch::try_from_iter_with_nullable(columns)
                .map_err(|error| named("lines", error))?,
            malformed,
        }))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Rows, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

#[derive(PartialEq, Eq)]
enum Line {
    Read,
    TooLong,
    End,
}

/// Returns the fields of a line; `None` if it is empty, has more than `most`, or is not one whole record in UTF-8.
fn csv_fields(line: &[u8], most: usize) -> Option<Vec<String>> {
    let mut reader = csv_core::Reader::new();
    let mut output = vec![0; line.len() + 1];
    let mut ends = vec![0; most + 1];
    // The reader drops one mark, which would be part of the first value.
    if line.starts_with(MARK) {
        reader.read_record(MARK, &mut output, &mut ends);
    }
    let (result, read, written, mut fields) = reader.read_record(line, &mut output, &mut ends);
    if line.is_empty() || result != ReadRecordResult::InputEmpty || read != line.len() {
        return None;
    }
    // The end of the input ends the record, unless a quote is open.
    let open = line.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
    let rest = reader.read_record(&[], &mut output[written..], &mut ends[fields..]);
    fields += rest.3;
    if open || fields > most || rest.0 != ReadRecordResult::Record {
        return None;
    }
    let text = core::str::from_utf8(&output[..written + rest.2]).ok()?;
    let starts = core::iter::once(&0).chain(&ends[..fields]);
    starts
        .zip(&ends[..fields])
        .map(|(start, end)| text.get(*start..*end).map(str::to_owned))
        .collect()
}

/// Reads the named fields of a JSON object: strings or null. A name that occurs twice is an error, and so is an
/// object without the second name.
struct Fields<'n>(&'n [String], Option<&'n String>);

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = Vec<Option<Cow<'de, str>>>;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Vec<Option<Cow<'de, str>>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut seen = vec![false; self.0.len()];
        let mut values = vec![None; self.0.len()];
        while let Some(name) = map.next_key::<Cow<'_, str>>()? {
            let Some(at) = self.0.iter().position(|wanted| *wanted == name) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if core::mem::replace(&mut seen[at], true) {
                return Err(serde::de::Error::custom("a name occurs twice"));
            }
            values[at] = map.next_value::<Option<String>>()?.map(Cow::Owned);
        }
        let mut absent = self.0.iter().zip(seen).filter(|(_, seen)| !seen);
        match absent.find(|(name, _)| Some(*name) == self.1) {
            Some((name, _)) => Err(serde::de::Error::custom(format!("there is no {name}"))),
            None => Ok(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_csv_are_whole_records() {
        let fields = |line: &str| csv_fields(line.as_bytes(), 3);
        assert_eq!(fields("a,b").unwrap(), ["a", "b"]);
        assert_eq!(fields("a,\"b,\"\"c\"").unwrap(), ["a", "b,\"c"]);
        assert_eq!(fields("a,,").unwrap(), ["a", "", ""]);
        assert_eq!(fields(","), Some(vec![String::new(), String::new()]));
        for malformed in ["", "a,\"b", "\"", "a,b,c,d", ",,,,,,"] {
            assert_eq!(fields(malformed), None, "{malformed}");
        }
        assert_eq!(csv_fields(b"a,\xff", 3), None);
        assert_eq!(fields("\u{feff}a,b").unwrap(), ["\u{feff}a", "b"]);
    }

    #[test]
    fn every_line_is_a_row() {
        let text =
            b"{\"key\":\"0aFF\",\"id\":\"x\",\"other\":[1]}\n\n{\"key\":\"0\"}\n{\"key\":null}\r\n\
                     {\"key\":\"00\",\"key\":\"00\"}\n{\"key\":7}\n{} {}\n{}";
        for required in [None, Some("key")] {
            let wanted = Wanted {
                bytes: vec!["key".to_owned()],
                texts: vec!["id".to_owned()],
                required: required.map(str::to_owned),
            };
            let mut malformed = Vec::new();
            for rows in Lines::new(&text[..], Format::Json, &wanted, 3).unwrap() {
                let rows = rows.unwrap();
                assert_eq!(rows.batch.num_rows(), rows.malformed.len());
                malformed.extend(rows.malformed);
            }
            // The last object has no name at all.
            let last = required.is_some();
            assert_eq!(
                malformed,
                [false, true, true, false, true, true, true, last]
            );
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_a_row() {
        let mut text = b"key\n".to_vec();
        text.extend(vec![b'0'; 3 * MAX_LINE]);
        text.extend(b"\n00\n");
        let wanted = Wanted {
            bytes: vec!["key".to_owned()],
            texts: vec![],
            required: None,
        };
        let mut lines = Lines::new(&text[..], Format::Csv, &wanted, 9).unwrap();
        assert_eq!(lines.next().unwrap().unwrap().malformed, [true, false]);
        let missing = Lines::new(&b"a,b\n"[..], Format::Csv, &wanted, 9)
            .err()
            .unwrap();
        assert_eq!(
            missing.to_string(),
            "the header has 0 columns \"key\", expected 1"
        );
    }
}
