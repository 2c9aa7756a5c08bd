//! JSON lines: bounded reading, strict objects of strings, hex.

use core::fmt;
use core::ops::Range;
use std::io::{self, Read};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use zeroize::{Zeroize, Zeroizing};

/// An unusable line. The text never repeats a value of the line, which may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineError(String);

impl LineError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Splits a stream into chunks of lines, in one buffer that is wiped at the end.
pub(crate) struct LineReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// The bytes read and not yet returned.
    pending: Range<usize>,
    /// Length of the beginning of `pending` without an end of line.
    searched: usize,
    /// The furthest byte ever filled.
    used: usize,
    /// Bytes of `source` in the lines returned so far.
    taken: u64,
    at_end: bool,
    /// Before the first line, which may begin with a byte order mark.
    at_start: bool,
    /// Inside a line that filled the whole buffer and was dropped.
    dropping: bool,
    max_line: usize,
    max_lines: usize,
    lines: Vec<Option<Range<usize>>>,
}

/// Consecutive lines; `None` for a line that is too long.
pub(crate) struct Chunk<'a> {
    bytes: &'a [u8],
    lines: &'a [Option<Range<usize>>],
    max_line: usize,
}

/// Least size of the buffer for each 1024 lines of a chunk: a few hundred lines of the largest set.
const BUFFER_LEN: usize = 8 << 20;

impl<R: Read> LineReader<R> {
    /// Reads `source`. Lines above `max_line` bytes without their end are errors; chunks have at
    /// most `max_lines` lines.
    pub(crate) fn new(source: R, max_line: usize, max_lines: usize) -> Self {
        // A line of `max_line` bytes, CR and LF fit: a full buffer without an end of line is a
        // line that is too long.
        let least = BUFFER_LEN * max_lines.div_ceil(1024);
        let len = least.max(max_line.saturating_add(2));
        Self::with_buffer(source, max_line, max_lines, len)
    }

    fn with_buffer(source: R, max_line: usize, max_lines: usize, len: usize) -> Self {
        Self {
            source,
            buffer: vec![0; len],
            pending: 0..0,
            searched: 0,
            used: 0,
            taken: 0,
            at_end: false,
            at_start: true,
            dropping: false,
            max_line,
            max_lines,
            lines: Vec::new(),
        }
    }

    /// Returns the next lines, or `None` at the end. The last line needs no end of line; a CR before the
    /// LF is not part of the line.
    pub(crate) fn next_chunk(&mut self) -> io::Result<Option<Chunk<'_>>> {
        loop {
            self.split();
            if !self.lines.is_empty() {
                return Ok(Some(Chunk {
                    bytes: &self.buffer,
                    lines: &self.lines,
                    max_line: self.max_line,
                }));
            }
            if self.at_end {
                return Ok(None);
            }
            if self.pending.len() == self.buffer.len() {
                self.dropping = true;
                self.taken += self.pending.len() as u64;
                self.pending = 0..0;
                self.searched = 0;
            }
            self.fill()?;
        }
    }

    /// Returns the number of bytes in the lines returned so far.
    #[cfg(feature = "progress")]
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Moves the started line to the front and reads once: lines that have arrived do not wait
    /// for more.
    fn fill(&mut self) -> io::Result<()> {
        if self.pending.start > 0 {
            self.buffer.copy_within(self.pending.clone(), 0);
            self.pending = 0..self.pending.len();
        }
        match self.source.read(&mut self.buffer[self.pending.end..]) {
            Ok(0) => self.at_end = true,
            Ok(count) => self.pending.end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        self.used = self.used.max(self.pending.end);
        Ok(())
    }

    /// Moves complete lines from `pending` to `lines`.
    fn split(&mut self) {
        self.lines.clear();
        while self.lines.len() < self.max_lines {
            let rest = &self.buffer[self.pending.clone()];
            let found = memchr::memchr(b'\n', &rest[self.searched..]);
            let (len, after) = match found.map(|len| self.searched + len) {
                Some(len) => (len, len + 1),
                None if self.at_end && (self.dropping || !rest.is_empty()) => {
                    (rest.len(), rest.len())
                }
                None => {
                    self.searched = rest.len();
                    break;
                }
            };
            let line = match &rest[..len] {
                [line @ .., b'\r'] => line,
                line => line,
            };
            let has_mark = core::mem::take(&mut self.at_start) && line.starts_with(MARK);
            let mark = if has_mark { MARK.len() } else { 0 };
            let fits = !self.dropping && line.len() - mark <= self.max_line;
            let start = self.pending.start;
            self.lines
                .push(fits.then(|| start + mark..start + line.len()));
            self.searched = 0;
            self.dropping = false;
            self.pending.start += after;
            self.taken += after as u64;
        }
    }
}

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

impl<R> Drop for LineReader<R> {
    fn drop(&mut self) {
        self.buffer[..self.used].zeroize();
    }
}

impl<'a> Chunk<'a> {
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Parses the line at `index` as an object with the fields `known`.
    pub(crate) fn parse(
        &self,
        index: usize,
        known: &'static [&'static str],
    ) -> Result<Fields<'a>, LineError> {
        let range = self.lines[index]
            .clone()
            .ok_or_else(|| LineError::new(format!("line longer than {} bytes", self.max_line)))?;
        Fields::parse(&self.bytes[range], known)
    }
}

/// The field in which answers number their lines: the only one whose value may be a number.
pub(crate) const LINE: &str = "line";

/// The fields of one line: an object whose values are strings.
pub(crate) struct Fields<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Fields<'a> {
    /// Parses one line. Fields outside `known`, fields given twice and values that are not strings
    /// are errors.
    pub(crate) fn parse(line: &'a [u8], known: &'static [&'static str]) -> Result<Self, LineError> {
        if line.trim_ascii().is_empty() {
            return Err(LineError::new("empty line"));
        }
        if !line.trim_ascii_start().starts_with(b"{") {
            return Err(LineError::new("not a JSON object"));
        }
        // The parser would decode escapes into memory that is not wiped.
        if let Some(at) = memchr::memchr(b'\\', line) {
            let why = "an escape, which names and values do not need";
            let why = format!("bad JSON at column {}: {why}", at + 1);
            return Err(LineError::new(why));
        }
        let mut json = serde_json::Deserializer::from_slice(line);
        ObjectOf(known)
            .deserialize(&mut json)
            .and_then(|fields| json.end().map(|()| fields))
            .map_err(|error| LineError::new(without_line_number(&error)))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let mut fields = self.0.iter();
        fields
            .find(|(field, _)| *field == name)
            .map(|field| field.1)
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, LineError> {
        self.text(name)
            .ok_or_else(|| LineError::new(format!("field \"{name}\" is missing")))
    }

    /// Decodes a hex field to bytes that are wiped when dropped.
    pub(crate) fn hex(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, LineError> {
        self.text(name).map(|text| decode(name, text)).transpose()
    }

    pub(crate) fn required_hex(&self, name: &str) -> Result<Zeroizing<Vec<u8>>, LineError> {
        decode(name, self.required(name)?)
    }

    /// Decodes a hex field of exactly `N` bytes.
    pub(crate) fn hex_array<const N: usize>(
        &self,
        name: &str,
    ) -> Result<Option<Zeroizing<[u8; N]>>, LineError> {
        let Some(bytes) = self.hex(name)? else {
            return Ok(None);
        };
        let mut array = Zeroizing::new([0; N]);
        if bytes.len() != N {
            let len = bytes.len();
            let why = format!("field \"{name}\" has {len} bytes, not {N}");
            return Err(LineError::new(why));
        }
        array.copy_from_slice(&bytes);
        Ok(Some(array))
    }
}

/// Decodes hex, which may be a private key: without branches or table lookups that depend on the
/// digits, unless a character is no digit.
fn decode(name: &str, text: &str) -> Result<Zeroizing<Vec<u8>>, LineError> {
    let mut bytes = Zeroizing::new(vec![0; text.len() / 2]);
    if base16ct::mixed::decode(text, &mut bytes).is_ok() {
        return Ok(bytes);
    }
    let why = if text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        "odd number of digits"
    } else {
        "bad character"
    };
    let why = format!("field \"{name}\" is not hex: {why}");
    Err(LineError::new(why))
}

/// Formats an error of `serde_json` with the column only: each line is parsed as line 1.
fn without_line_number(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&suffix).unwrap_or(&text);
    if error.is_data() {
        text.to_owned()
    } else {
        format!("bad JSON at column {}: {text}", error.column())
    }
}

/// An object with the given names.
struct ObjectOf(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for ObjectOf {
    type Value = Fields<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Fields<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectOf {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Vec::with_capacity(self.0.len());
        // Values as they are written: serde's own errors would repeat them.
        while let Some((key, value)) = map.next_entry::<&str, &RawValue>()? {
            let Some(name) = self.0.iter().copied().find(|name| *name == key) else {
                let position = fields.len() + 1;
                let known = self.0.join(", ");
                let why = format_args!("unknown field in position {position}, none of {known}");
                return Err(A::Error::custom(why));
            };
            if fields.iter().any(|(field, _)| *field == name) {
                let why = format_args!("field \"{name}\" is given twice");
                return Err(A::Error::custom(why));
            }
            let text = value.get().strip_prefix('"');
            let text = text.and_then(|text| text.strip_suffix('"'));
            let digits = value.get().bytes().all(|byte| byte.is_ascii_digit());
            let number = (name == LINE && digits).then(|| value.get());
            let Some(text) = text.or(number) else {
                let why = format_args!("field \"{name}\" is not a string");
                return Err(A::Error::custom(why));
            };
            fields.push((name, text));
        }
        Ok(Fields(fields))
    }
}

#[cfg(test)]
#[path = "fields/tests.rs"]
mod tests;
