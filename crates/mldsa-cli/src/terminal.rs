//! Text to the standard streams.

use core::fmt::Display;
use std::fs::File;
#[cfg(unix)]
use std::fs::{self, Metadata};
use std::io::{self, Write};

/// Opens standard output without the buffer of the standard library, which is never wiped.
#[cfg(unix)]
pub(crate) fn standard_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
pub(crate) fn standard_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    let stdout = io::stdout();
    stdout.as_handle().try_clone_to_owned().map(File::from)
}

pub(crate) fn print(bytes: impl AsRef<[u8]>) -> io::Result<()> {
    standard_output()
        .and_then(|mut file| file.write_all(bytes.as_ref()))
        .map_err(|error| output_error(&error))
}

/// Opens standard output for a result that is nowhere else: a signature or a key. The standard library
/// opens `/dev/null` for reading and writing where the stream is closed, and writing there would
/// lose the result without an error.
pub(crate) fn result_output() -> io::Result<File> {
    let file = standard_output()?;
    #[cfg(unix)]
    if is_substitute(&file) {
        return Err(io::Error::other("closed"));
    }
    Ok(file)
}

/// Returns whether the file is `/dev/null`, opened for reading too. A shell's `> /dev/null` is
/// opened for writing only.
#[cfg(unix)]
fn is_substitute(file: &File) -> bool {
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;
    let device = |metadata: Metadata| metadata.rdev();
    let null = fs::metadata("/dev/null").map(device);
    let is_null = null.is_ok_and(|null| file.metadata().map(device).is_ok_and(|own| own == null));
    let mut file = file;
    is_null && file.read(&mut [0]).is_ok()
}

/// Makes an error of standard output. The kind is kept: `main` ignores a closed pipe.
pub(crate) fn output_error(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

/// Writes one line to standard error. Characters that a terminal would execute or not show, of
/// file names for example, are escaped.
pub(crate) fn complain(what: impl Display) {
    let line = format!("mldsa: {}\n", escaped(&what.to_string(), |_| false));
    // A closed standard error changes nothing.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Prints errors of clap: with clap's colours, unless an argument has characters that
/// are escaped.
pub(crate) fn complain_of_arguments(error: &clap::Error) {
    let plain = error.to_string();
    let text = escaped(&plain, |character| character == '\n');
    let _ = if text == plain {
        error.print()
    } else {
        io::stderr().write_all(text.as_bytes())
    };
}

/// Escapes the characters that are not visible and not `allowed`.
pub(crate) fn escaped(text: &str, allowed: fn(char) -> bool) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if is_visible(character) || allowed(character) {
            out.push(character);
        } else {
            out.extend(character.escape_default());
        }
    }
    out
}

/// Returns whether a character is seen and leaves the order of its neighbours: no control or
/// format character, no space except the usual one, no blank letter or variation selector.
fn is_visible(character: char) -> bool {
    let blank = matches!(
        character,
        '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}'
            | '\u{e0100}'..='\u{e01ef}'
    );
    // The standard library escapes marks that follow no letter, and what is not printable.
    let text = String::from_iter(['a', character]);
    let quoted = matches!(character, '"' | '\'' | '\\');
    !blank && (quoted || text.escape_debug().eq(text.chars()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deceptive_characters_are_escaped() {
        let text = "a\u{1b}]0;x\u{7}\u{9b}b\u{202e}c\u{200b}\u{2066}d\u{ad}\u{feff}\u{a0}\u{3164}\u{2028}\u{e0041}";
        let shown = escaped(text, |_| false);
        assert!(shown.is_ascii(), "{shown}");
        assert!(shown.contains("b\\u{202e}c\\u{200b}\\u{2066}d"), "{shown}");
        let names = "caf\u{e9} cafe\u{301} \u{65e5}\u{672c} \u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940} \u{2013} '\"\\ \u{1f511}";
        assert_eq!(escaped(names, |_| false), names);
    }
}
