//! JSON lines in: bounded reading, strict objects of strings, hex.

use core::fmt;
use core::ops::Range;
use std::io::{self, Read};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use zeroize::{Zeroize, Zeroizing};

/// Text without the byte order mark that some editors put before it.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Why a line cannot be used. The text never repeats a value of the line, which
/// may be a secret.
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

/// Cuts a stream into lines, a chunk of them at a time, in bounded memory: one
/// buffer, allocated once and wiped at the end.
pub(crate) struct LineReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// What has been read and not yet given out.
    pending: Range<usize>,
    /// How much of `pending` is known to hold no end of line.
    searched: usize,
    /// The furthest byte ever filled.
    used: usize,
    at_end: bool,
    /// Before the first line, which a byte order mark may begin.
    at_start: bool,
    /// Inside a line that filled the whole buffer and was dropped.
    dropping: bool,
    max_line: usize,
    max_lines: usize,
    lines: Vec<Option<Range<usize>>>,
}

/// Some consecutive lines.
pub(crate) struct Chunk<'a> {
    bytes: &'a [u8],
    lines: &'a [Option<Range<usize>>],
    max_line: usize,
}

/// Least size of the buffer: a few hundred lines of the largest set.
const BUFFER_LEN: usize = 8 << 20;

impl<R: Read> LineReader<R> {
    /// Reads `source`; lines above `max_line` bytes (end of line not counted)
    /// become errors, chunks have at most `max_lines` lines.
    pub(crate) fn new(source: R, max_line: usize, max_lines: usize) -> Self {
        // Room for a line of `max_line` bytes, CR and LF: a full buffer without
        // an end of line is therefore a line too long.
        Self::with_buffer(
            source,
            max_line,
            max_lines,
            BUFFER_LEN.max(max_line.saturating_add(2)),
        )
    }

    fn with_buffer(source: R, max_line: usize, max_lines: usize, len: usize) -> Self {
        Self {
            source,
            buffer: vec![0; len],
            pending: 0..0,
            searched: 0,
            used: 0,
            at_end: false,
            at_start: true,
            dropping: false,
            max_line,
            max_lines,
            lines: Vec::new(),
        }
    }

    /// The next lines, or `None` at the end. The last line needs no end of
    /// line; a CR before the LF is not part of the line.
    pub(crate) fn next_chunk(&mut self) -> io::Result<Option<Chunk<'_>>> {
        loop {
            self.cut();
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
                self.pending = 0..0;
                self.searched = 0;
            }
            self.fill()?;
        }
    }

    /// Moves the started line to the front and reads once: what the source has
    /// now, so that lines that are there need not wait for more.
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

    /// Takes complete lines out of `pending`.
    fn cut(&mut self) {
        self.lines.clear();
        while self.lines.len() < self.max_lines {
            let rest = &mut self.buffer[self.pending.clone()];
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
            let line = match &mut rest[..len] {
                [line @ .., b'\r'] => line,
                line => line,
            };
            let mark = if core::mem::take(&mut self.at_start) {
                line.len() - without_mark(line).len()
            } else {
                0
            };
            let line = &mut line[mark..];
            let fits = !self.dropping && line.len() <= self.max_line;
            let start = self.pending.start + mark;
            self.lines.push(fits.then(|| start..start + unescape(line)));
            self.searched = 0;
            self.dropping = false;
            self.pending.start += after;
        }
    }
}

impl<R> Drop for LineReader<R> {
    fn drop(&mut self) {
        self.buffer[..self.used].zeroize();
    }
}

impl<'a> Chunk<'a> {
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The line at `index` of the chunk as an object with the fields `known`.
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

/// Turns escapes in strings into the characters that they stand for, in place, as
/// far as names and values have such characters; the length of the result. The
/// parser would make unwiped copies of strings with escapes.
fn unescape(line: &mut [u8]) -> usize {
    let Some(first) = memchr::memchr(b'\\', line) else {
        return line.len();
    };
    let mut in_string = line[..first].iter().filter(|&&byte| byte == b'"').count() % 2 == 1;
    let (mut from, mut to) = (first, first);
    while from < line.len() {
        let (character, len) = match &line[from..] {
            [b'\\', rest @ ..] if in_string => match plain(rest) {
                Some((character, len)) => (character, 1 + len),
                // Stays, with what it escapes, and makes the line unusable.
                None if !rest.is_empty() => {
                    line[to] = b'\\';
                    to += 1;
                    (line[from + 1], 2)
                }
                None => (b'\\', 1),
            },
            rest => {
                in_string ^= rest[0] == b'"';
                (rest[0], 1)
            }
        };
        line[to] = character;
        to += 1;
        from += len;
    }
    to
}

/// The printable character that an escape stands for and the length of the escape
/// behind its backslash; without branches on the digits.
fn plain(escape: &[u8]) -> Option<(u8, usize)> {
    match escape {
        [b'/', ..] => Some((b'/', 1)),
        [b'u', a, b, c, d, ..] => {
            let mut code = [0; 2];
            base16ct::mixed::decode([*a, *b, *c, *d], &mut code).ok()?;
            match code {
                [0, b'"' | b'\\'] => None,
                [0, character @ b' '..=b'~'] => Some((character, 5)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The fields of one line: an object whose values are all strings.
pub(crate) struct Fields<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Fields<'a> {
    /// Parses one line. Fields outside `known`, fields given twice and values
    /// that are not strings are errors.
    pub(crate) fn parse(line: &'a [u8], known: &'static [&'static str]) -> Result<Self, LineError> {
        if line.trim_ascii().is_empty() {
            return Err(LineError::new("empty line"));
        }
        if !line.trim_ascii_start().starts_with(b"{") {
            return Err(LineError::new("not a JSON object"));
        }
        if let Some(place) = memchr::memchr(b'\\', line) {
            return Err(LineError::new(format!(
                "bad JSON at column {}: an escape that no name and no value has",
                place + 1
            )));
        }
        let mut json = serde_json::Deserializer::from_slice(line);
        ObjectOf(known)
            .deserialize(&mut json)
            .and_then(|fields| json.end().map(|()| fields))
            .map_err(|error| LineError::new(without_line_number(&error)))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(field, _)| *field == name)
            .map(|(_, value)| *value)
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, LineError> {
        self.text(name)
            .ok_or_else(|| LineError::new(format!("field \"{name}\" is missing")))
    }

    /// The bytes of a hex field, wiped when dropped.
    pub(crate) fn hex(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, LineError> {
        self.text(name).map(|text| decode(name, text)).transpose()
    }

    pub(crate) fn required_hex(&self, name: &str) -> Result<Zeroizing<Vec<u8>>, LineError> {
        decode(name, self.required(name)?)
    }

    /// The bytes of a hex field that has exactly `N` of them.
    pub(crate) fn hex_array<const N: usize>(
        &self,
        name: &str,
    ) -> Result<Option<Zeroizing<[u8; N]>>, LineError> {
        let Some(bytes) = self.hex(name)? else {
            return Ok(None);
        };
        let mut array = Zeroizing::new([0; N]);
        if bytes.len() != N {
            return Err(LineError::new(format!(
                "field \"{name}\" has {} bytes, not {N}",
                bytes.len()
            )));
        }
        array.copy_from_slice(&bytes);
        Ok(Some(array))
    }
}

/// Hex, without branches or look-ups on the digits unless there is something else among
/// them: they may be a private key.
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

/// `serde_json` counts lines inside the one line it was given; only the column
/// means anything here.
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
        while let Some(key) = map.next_key_seed(Text("name"))? {
            let Some(name) = self.0.iter().copied().find(|name| *name == key) else {
                return Err(A::Error::custom(format_args!(
                    "unknown field in position {}",
                    fields.len() + 1
                )));
            };
            if fields.iter().any(|(field, _)| *field == name) {
                return Err(A::Error::custom(format_args!(
                    "field \"{name}\" is given twice"
                )));
            }
            fields.push((name, map.next_value_seed(Text(name))?));
        }
        Ok(Fields(fields))
    }
}

/// A string, borrowed from the line: the value of the field with this name.
struct Text(&'static str);

impl Text {
    fn refuse<T, E: serde::de::Error>(&self) -> Result<T, E> {
        Err(E::custom(format_args!(
            "field \"{}\" is not a string",
            self.0
        )))
    }
}

impl<'de> DeserializeSeed<'de> for Text {
    type Value = &'de str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = &'de str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a string in field \"{}\"", self.0)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(text)
    }

    // serde's own messages repeat the string or the number; it may be secret.

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Self::Value, E> {
        self.refuse()
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<Self::Value, E> {
        self.refuse()
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Self::Value, E> {
        self.refuse()
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Self::Value, E> {
        self.refuse()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn lines(
        source: &[u8],
        max_line: usize,
        max_lines: usize,
        buffer: usize,
    ) -> Vec<Option<Vec<u8>>> {
        let mut reader = LineReader::with_buffer(source, max_line, max_lines, buffer);
        let mut all = Vec::new();
        while let Some(chunk) = reader.next_chunk().unwrap() {
            assert!(chunk.len() <= max_lines);
            all.extend(
                chunk
                    .lines
                    .iter()
                    .map(|line| line.clone().map(|range| chunk.bytes[range].to_vec())),
            );
        }
        all
    }

    #[test]
    fn lines_are_the_same_for_every_buffer_and_chunk_size() {
        let source = b"one\r\n\ntwo and a half\nthree\r\n\r\nexactly8\nfour";
        let expected: Vec<Option<Vec<u8>>> = [
            Some("one"),
            Some(""),
            None,
            Some("three"),
            Some(""),
            Some("exactly8"),
            Some("four"),
        ]
        .into_iter()
        .map(|line| line.map(|text| text.as_bytes().to_vec()))
        .collect();
        for buffer in 10..60 {
            for max_lines in 1..9 {
                assert_eq!(
                    lines(source, 8, max_lines, buffer),
                    expected,
                    "{buffer} {max_lines}"
                );
            }
        }
    }

    #[test]
    fn ends_of_files() {
        assert!(lines(b"", 8, 4, 10).is_empty());
        assert_eq!(lines(b"\n", 8, 4, 10), [Some(vec![])]);
        assert_eq!(lines(b"a", 8, 4, 10), [Some(b"a".to_vec())]);
        assert_eq!(lines(b"a\r", 8, 4, 10), [Some(b"a".to_vec())]);
        // Too long without an end of line, at and around the size of the buffer.
        for len in 9..40 {
            assert_eq!(lines(&vec![b'x'; len], 8, 4, 10), [None], "{len}");
        }
    }

    fn error(line: &[u8]) -> String {
        Fields::parse(line, &["set", "seed"])
            .map(|_| ())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn objects_of_strings_only() {
        let fields = Fields::parse(br#" {"seed":"0A" , "set":"x"} "#, &["set", "seed"]).unwrap();
        assert_eq!(fields.text("set"), Some("x"));
        assert_eq!(fields.hex("seed").unwrap().unwrap().as_slice(), [0x0a]);

        assert_eq!(error(b"  "), "empty line");
        assert_eq!(error(b"[\"set\"]"), "not a JSON object");
        assert_eq!(error(b"{\"seed\":12345}"), "field \"seed\" is not a string");
        assert_eq!(error(b"{\"seed\":-5}"), "field \"seed\" is not a string");
        assert_eq!(error(b"{\"seed\":1.5e3}"), "field \"seed\" is not a string");
        assert_eq!(
            error(b"{\"set\":\"a\",\"set\":\"a\"}"),
            "field \"set\" is given twice"
        );
        assert_eq!(error(b"{\"sets\":\"a\"}"), "unknown field in position 1");
        for bad in [
            b"{\"seed\":null}".as_slice(),
            b"{\"seed\":[[[[\"a\"]]]]}",
            b"{\"seed\":{\"a\":1}}",
            b"{\"seed\":true}",
            b"{\"seed\":1e99999}",
            b"{\"seed\":\"a\"} {",
            b"{\"seed\":\"a\"",
            b"{\"seed\":\"\xff\"}",
            b"{\"seed\":\"\\ud800\"}",
            b"{\"seed\":\"a\",}",
            b"{\"seed\":\"a\0\"}",
            b"\xef\xbb\xbf{}",
            b"{\xff}",
            b"{",
        ] {
            assert!(!error(bad).is_empty());
        }
    }

    #[test]
    fn what_is_not_hex_is_named_for_what_it_is() {
        for (value, why) in [
            ("c3 ", "bad character"),
            ("c3 0", "bad character"),
            ("xyz", "bad character"),
            ("c30", "odd number of digits"),
        ] {
            let line = format!("{{\"seed\":\"{value}\"}}");
            let fields = Fields::parse(line.as_bytes(), &["seed"]).unwrap();
            let error = fields.hex("seed").unwrap_err().to_string();
            assert_eq!(error, format!("field \"seed\" is not hex: {why}"));
        }
    }

    #[test]
    fn errors_do_not_repeat_secrets() {
        let seed = "1234567890123456";
        for line in [
            format!("{{\"seed\":{seed}}}"),
            format!("{{\"seed\":\"{seed}g\"}}"),
            format!("\"{seed}\""),
            format!("{{\"seed\":[\"{seed}\"]}}"),
            format!("{{\"{seed}\":\"seed\"}}"),
            format!("{{\"seed\":\"\\u0031{seed}\"}}"),
        ] {
            let error = match Fields::parse(line.as_bytes(), &["seed"]) {
                Ok(fields) => fields.hex_array::<32>("seed").map(|_| ()).unwrap_err(),
                Err(error) => error,
            };
            assert!(!error.to_string().contains("12345678"), "{error}");
        }
    }

    #[test]
    fn escapes_are_undone_where_a_value_can_have_them() {
        let undone = |text: &str| {
            let mut line = text.as_bytes().to_vec();
            let len = unescape(&mut line);
            String::from_utf8(line[..len].to_vec()).unwrap()
        };
        for (line, expected) in [
            (r#"{"a":"b"}"#, r#"{"a":"b"}"#),
            (
                r#"{"\u0061\u007A":"SHA2-512\/256"}"#,
                r#"{"az":"SHA2-512/256"}"#,
            ),
            (r#"{"a":"\u0020~\u007e"}"#, r#"{"a":" ~~"}"#),
            // What would end the string, and what no value has, stays.
            (
                r#"{"a":"\u0022\u005c\u005C"}"#,
                r#"{"a":"\u0022\u005c\u005C"}"#,
            ),
            (r#"{"a":"\"\\\u0061"}"#, r#"{"a":"\"\\a"}"#),
            (
                r#"{"a":"\n\u001f\u007f\u00e9\ud83d\u0161"}"#,
                r#"{"a":"\n\u001f\u007f\u00e9\ud83d\u0161"}"#,
            ),
            // No escapes outside strings.
            (r#"\u007b"a":"\u0061"\u007d"#, r#"\u007b"a":"a"\u007d"#),
            // Cut off.
            (r#"{"a":"\u006"#, r#"{"a":"\u006"#),
            (r#"{"a":"\"#, r#"{"a":"\"#),
            (r#"{"a":"\u00g1"}"#, r#"{"a":"\u00g1"}"#),
        ] {
            assert_eq!(undone(line), expected);
        }
    }
}
