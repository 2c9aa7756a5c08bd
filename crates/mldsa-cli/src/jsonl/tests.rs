//! Tests of the reader of JSON lines.
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

fn error(line: &[u8]) -> String {
    Fields::parse(line, &["set", "seed"])
        .map(|_| ())
        .unwrap_err()
        .to_string()
}

#[test]
fn only_objects_of_strings_are_accepted() {
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
    assert_eq!(
        error(b"{\"sets\":\"a\"}"),
        "unknown field in position 1, none of set, seed"
    );
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
fn errors_of_hex_are_distinguished() {
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
