//! Tests of the reader of lines. The suite `hostile_lines` of both commands has the fields.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn lines(source: &[u8], max_line: usize, max_lines: usize, buffer: usize) -> Vec<Option<Vec<u8>>> {
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
fn lines_do_not_depend_on_buffer_and_chunk_size() {
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
fn the_last_line_needs_no_end() {
    assert!(lines(b"", 8, 4, 10).is_empty());
    assert_eq!(lines(b"\n", 8, 4, 10), [Some(vec![])]);
    assert_eq!(lines(b"a", 8, 4, 10), [Some(b"a".to_vec())]);
    assert_eq!(lines(b"a\r", 8, 4, 10), [Some(b"a".to_vec())]);
    // Too long without an end of line, at and around the size of the buffer.
    for len in 9..40 {
        assert_eq!(lines(&vec![b'x'; len], 8, 4, 10), [None], "{len}");
    }
}
