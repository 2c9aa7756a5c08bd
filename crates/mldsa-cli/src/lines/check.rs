//! What fuzzing checks of the reader of lines.

use super::fields::{Fields, LineReader};
use super::request::{LineRequest, set_from_fields};
use super::{sign, verify};

/// Reads `input` as the commands do, and returns the number of lines.
///
/// # Panics
/// If a line is accepted that is not a JSON object of strings with known names.
#[doc(hidden)]
pub fn check_lines(input: &[u8], max_line: usize, max_lines: usize) -> usize {
    let mut reader = LineReader::new(input, max_line, max_lines);
    let mut lines = 0;
    while let Ok(Some(chunk)) = reader.next_chunk() {
        assert!(chunk.len() <= max_lines);
        lines += chunk.len();
        for (index, known) in
            (0..chunk.len()).flat_map(|n| [(n, verify::FIELDS), (n, sign::FIELDS)])
        {
            if let Ok(fields) = chunk.parse(index, known) {
                check_fields(&fields, known);
            }
        }
    }
    // A line that is accepted is accepted by a general JSON parser too.
    let first = input
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    if Fields::parse(first, sign::FIELDS).is_ok() {
        let value = serde_json::from_slice::<serde_json::Value>(first);
        let object = value.as_ref().map(serde_json::Value::as_object);
        let object = object.ok().flatten().expect("a JSON object");
        let is_known = |(name, value): (&String, &serde_json::Value)| {
            sign::FIELDS.contains(&&**name) && value.is_string()
        };
        assert!(object.iter().all(is_known));
    }
    lines
}

fn check_fields(fields: &Fields<'_>, known: &[&str]) {
    for name in known {
        if let (Some(text), Ok(Some(bytes))) = (fields.text(name), fields.hex(name)) {
            assert_eq!(text.len(), 2 * bytes.len());
        }
    }
    let Ok(set) = set_from_fields(fields) else {
        return;
    };
    for allow_weak in [false, true] {
        if let Ok(Some(request)) = LineRequest::from_fields(fields, set, allow_weak) {
            let digits = fields.text("ctx").map_or(0, str::len);
            assert_eq!(digits, 2 * request.context.len());
        }
    }
}
