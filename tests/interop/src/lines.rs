//! Target `jsonl`: the line reader of the tool and the request of a line.

use crate::split;

/// The first byte chooses the largest line and the lines of a chunk, the rest is the input: every
/// line is one answer.
pub fn jsonl(data: &[u8]) {
    let (limits, input) = split(data);
    let max_line = [8, 100, 5000, 1 << 20][usize::from(limits % 4)];
    let lines = mldsa_cli::check_lines(input, max_line, 1 + usize::from(limits / 4));
    let ends = input.iter().filter(|&&byte| byte == b'\n').count();
    let open = input.last().is_some_and(|&last| last != b'\n');
    assert_eq!(lines, ends + usize::from(open));
}
