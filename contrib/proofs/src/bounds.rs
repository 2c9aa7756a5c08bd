//! Ranges that the comments of the kernel table state: rows take their arguments and the ranges
//! of their results from them, and what one kernel returns has to be what the next one takes.

use std::collections::BTreeMap;

use crate::reference::Q;

/// The source of the table, whose comments are read.
const SOURCE: &str = include_str!("../../../crates/mldsa-core/src/backend/kernels.rs");

pub(crate) type Range = (i128, i128);

/// Kernel and result, kernel and argument that receives it.
const SEAMS: [[(&str, &str); 2]; 17] = [
    [("unpack_mask_ntt", "out"), ("commit_row", "y_hat")],
    [("unpack_mask_ntt", "out"), ("respond_row", "y_hat")],
    [("unpack_eta_ntt", "out"), ("public_row", "s1_hat")],
    [("unpack_eta_ntt", "out"), ("respond_row", "s1_hat")],
    [("unpack_eta_ntt", "out"), ("low_bits_row", "s2_hat")],
    [("unpack_t0_ntt", "out"), ("hint_row", "t0_hat")],
    [("unpack_z_ntt", "out"), ("row_product", "b")],
    [("expand_a", "out"), ("public_row", "a")],
    [("expand_a", "out"), ("commit_row", "a")],
    [("expand_a", "out"), ("row_product", "a")],
    [("commit_row", "w"), ("low_bits_row", "w")],
    [("low_bits_row", "w"), ("hint_row", "w - c s2")],
    [("row_product", "out"), ("inv_ntt", "in")],
    [("prepare", "out"), ("row_product", "a")],
    [("inv_ntt", "out"), ("ntt", "in")],
    [("unpack_mask_ntt", "out"), ("product_inv_ntt", "a")],
    [("unpack_eta_ntt", "out"), ("product_inv_ntt", "b")],
];

/// The range of a name in the comment of a kernel.
///
/// # Panics
/// Where the comment states none: the row is open then.
pub(crate) fn of(kernel: &str, name: &str) -> Range {
    match documented(kernel).get(name) {
        Some(&range) => range,
        None => panic!("the comment of {kernel} states no range of {name}"),
    }
}

/// All ranges that the comment of a kernel states.
fn documented(kernel: &str) -> BTreeMap<String, Range> {
    let mut comment = String::new();
    for line in SOURCE.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            comment.push_str(text);
        } else if line.starts_with(&format!("pub(crate) {kernel}:")) {
            return ranges(&comment);
        } else if line.starts_with("pub(crate)") || line.starts_with('}') {
            comment.clear();
        }
    }
    BTreeMap::new()
}

/// `|x|`, a word, a number or a sign.
fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let mut token = c.to_string();
        if c == '|' {
            token.extend(rest.by_ref().take_while(|&c| c != '|'));
        } else if c == '<' && rest.next_if_eq(&'=').is_some() {
            token.push('=');
        } else if c.is_ascii_digit() {
            while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                token.push(digit);
            }
        } else if c.is_ascii_alphabetic() {
            while let Some(letter) = rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                token.push(letter);
            }
        } else if c.is_whitespace() {
            continue;
        }
        out.push(token);
    }
    out
}

/// `n`, `n q`, `q`, `2^n` or `max|x|`, and what is left.
fn term<'a>(tokens: &'a [String], known: &BTreeMap<String, Range>) -> Option<(i128, &'a [String])> {
    let text = |n: usize| tokens.get(n).map(String::as_str);
    match (text(0)?, text(1)) {
        ("q", _) => Some((Q.into(), &tokens[1..])),
        ("max", Some(name)) => Some((known.get(name.strip_prefix('|')?)?.1 + 1, &tokens[2..])),
        (number, Some("q")) => Some((number.parse::<i128>().ok()? * i128::from(Q), &tokens[2..])),
        ("2", Some("^")) => Some((1 << text(2)?.parse::<u32>().ok()?, &tokens[3..])),
        (number, _) => Some((number.parse().ok()?, &tokens[1..])),
    }
}

fn sum<'a>(tokens: &'a [String], known: &BTreeMap<String, Range>) -> Option<(i128, &'a [String])> {
    let (mut value, mut rest) = term(tokens, known)?;
    while let Some(sign @ ("+" | "-")) = rest.first().map(String::as_str) {
        let Some((next, after)) = term(&rest[1..], known) else {
            break;
        };
        value += if sign == "+" { next } else { -next };
        rest = after;
    }
    Some((value, rest))
}

/// Reads `|x|, |y| < E` and `0 <= x < E`.
fn ranges(comment: &str) -> BTreeMap<String, Range> {
    let all = tokens(comment);
    let mut known = BTreeMap::new();
    let mut magnitudes: Vec<String> = Vec::new();
    let mut rest = &all[..];
    while let Some((first, mut after)) = rest.split_first() {
        if let Some(name) = first.strip_prefix('|') {
            magnitudes.push(name.to_owned());
        } else if first == "<" && !magnitudes.is_empty() {
            if let Some((end, left)) = sum(after, &known) {
                for name in magnitudes.drain(..) {
                    known.insert(name, (1 - end, end - 1));
                }
                after = left;
            }
        } else if first == "0" && after.first().is_some_and(|t| t == "<=") {
            if let Some(at) = after.iter().position(|t| t == "<")
                && let Some((end, left)) = sum(&after[at + 1..], &known)
            {
                known.insert(after[1..at].join(" "), (0, end - 1));
                after = left;
            }
        } else if first != "," {
            magnitudes.clear();
        }
        rest = after;
    }
    known
}

/// Whether every result is in the range of the argument that receives it.
pub(crate) fn check() -> bool {
    let mut bad = 0;
    for [(from, result), (to, argument)] in SEAMS {
        let (made, taken) = (
            documented(from).get(result).copied(),
            documented(to).get(argument).copied(),
        );
        let holds = made
            .zip(taken)
            .is_some_and(|(made, taken)| made.0 >= taken.0 && made.1 <= taken.1);
        if !holds {
            println!("{result} of {from} ({made:?}) is not in {argument} of {to} ({taken:?})");
            bad += 1;
        }
    }
    println!(
        "seams between kernels: {}, that do not fit: {bad}",
        SEAMS.len()
    );
    bad == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_read_as_ranges() {
        let q = i128::from(Q);
        let text = "Any |in| < 2^31 - 10q gives |out| < max|in| + 10q; |a|, |b| < 11q and |a b| \
                    under 3; 0 <= w - c s2 < q, |s| <= eta.";
        let found = ranges(text);
        assert_eq!(found["in"].1, (1 << 31) - 10 * q - 1);
        assert_eq!(found["out"], (1 - (1 << 31), (1 << 31) - 1));
        assert_eq!(found["a"], (1 - 11 * q, 11 * q - 1));
        assert_eq!(found["b"], found["a"]);
        assert_eq!(found["w - c s2"], (0, q - 1));
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn seams_fit() {
        assert!(check());
    }
}
