//! Text to the standard streams.

use core::fmt::Display;
use std::fs::File;
use std::io::{self, Write};

/// Standard output without the buffer of the standard library, which is never wiped.
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

/// Writes to standard output.
pub(crate) fn print(bytes: impl AsRef<[u8]>) -> io::Result<()> {
    standard_output()
        .and_then(|mut file| file.write_all(bytes.as_ref()))
        .map_err(|error| output_error(&error))
}

/// An error of standard output. The kind is kept: `main` ignores a closed pipe.
pub(crate) fn output_error(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

/// Writes one line to standard error. Control characters, of file names for example, are escaped:
/// a terminal would execute them.
pub(crate) fn complain(what: impl Display) {
    let line = format!("mldsa: {}\n", escaped(&what.to_string(), |_| false));
    // A closed standard error changes nothing.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// [`complain`] for errors of clap: with clap's colours, unless an argument has control characters.
pub(crate) fn complain_of_arguments(error: &clap::Error) {
    let plain = error.to_string();
    let text = escaped(&plain, |character| character == '\n');
    let _ = if text == plain {
        error.print()
    } else {
        io::stderr().write_all(text.as_bytes())
    };
}

/// Escapes the control characters that are not `allowed`.
fn escaped(text: &str, allowed: fn(char) -> bool) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if character.is_control() && !allowed(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}
