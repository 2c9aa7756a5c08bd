//! Target `jsonl`: the line reader of the tool and the request of a line.

use crate::json_request::{LineRequest, Set};
use crate::jsonl::{Fields, LineReader};
use crate::split;

const KNOWN: &[&str] = &[
    "set", "pk", "cert", "sig", "seed", "sk", "msg", "mu", "prehash", "digest", "ctx", "rnd",
];

/// The first byte chooses the largest line and the lines a chunk, the rest is
/// the input: every line is one answer, and an accepted one has valid JSON of
/// strings with known names.
pub fn jsonl(data: &[u8]) {
    let (limits, input) = split(data);
    let max_line = match limits % 4 {
        0 => 8,
        1 => 100,
        2 => 5000,
        _ => 1 << 20,
    };
    let mut reader = LineReader::new(input, max_line, 1 + usize::from(limits / 4));
    let mut lines = 0;
    while let Some(chunk) = reader.next_chunk().expect("memory cannot fail") {
        for index in 0..chunk.len() {
            lines += 1;
            let Ok(fields) = chunk.parse(index, KNOWN) else {
                continue;
            };
            for name in KNOWN {
                if let (Some(text), Ok(Some(bytes))) = (fields.text(name), fields.hex(name)) {
                    assert_eq!(text.len(), 2 * bytes.len());
                }
            }
            if let Ok(set) = Set::from_fields(&fields)
                && let Ok(Some(request)) = LineRequest::from_fields(&fields, set, limits > 127)
            {
                assert!(request.context.len() <= input.len() / 2);
            }
        }
    }
    let ends = input.iter().filter(|&&byte| byte == b'\n').count();
    let open = input.last().is_some_and(|&last| last != b'\n');
    assert_eq!(lines, ends + usize::from(open));

    // A line that is accepted is accepted by a general JSON parser too.
    let line = input
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    if Fields::parse(line, KNOWN).is_ok() {
        let value: serde_json::Value = serde_json::from_slice(line).expect("valid JSON");
        let object = value.as_object().expect("an object");
        assert!(
            object
                .iter()
                .all(|(name, value)| KNOWN.contains(&name.as_str()) && value.is_string())
        );
    }
}
