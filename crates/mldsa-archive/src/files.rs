//! Which names are of one file, and whether a file is still what it was.

use core::fmt;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::input::times;
use crate::output::{parts_of, temporary_of};
use crate::{Failure, named};

/// Bytes at each end of a file that identify it.
const ENDS: u64 = 1 << 16;

/// One file, whatever its names and the links to it.
#[cfg(unix)]
type Node = (u64, u64);
#[cfg(not(unix))]
type Node = PathBuf;

#[cfg(unix)]
fn node_of(metadata: &fs::Metadata) -> Node {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Returns the file to which a name leads.
pub(crate) fn node(path: &Path) -> io::Result<Node> {
    #[cfg(unix)]
    return Ok(node_of(&fs::metadata(path)?));
    #[cfg(not(unix))]
    fs::canonicalize(path)
}

/// Tells whether `path` still leads to the open file.
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        match node(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            found => Ok(found? == node_of(&file.metadata()?)),
        }
    }
    // An open file cannot be replaced there.
    #[cfg(not(unix))]
    {
        let _ = file;
        path.try_exists()
    }
}

/// Checks that an output is new or replaces a regular file: not a device, a folder or a link.
pub(crate) fn check_replaceable(out: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(out) {
        Ok(found) if !found.is_file() => {
            Err(named(out.display(), "it is there and is no regular file"))
        }
        _ => Ok(()),
    }
}

/// An output would replace an input.
#[derive(Debug)]
pub(crate) struct Overlap {
    output: PathBuf,
    input: PathBuf,
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (output, input) = (self.output.display(), self.input.display());
        write!(f, "{output}: writing it would destroy the input {input}")
    }
}

impl core::error::Error for Overlap {}

/// Checks that nothing that is written for `out` is an input, through whatever links: the output, its
/// temporary file, the folder of the parts and what is in it.
///
/// # Errors
/// The first input that would be destroyed.
pub(crate) fn check_outputs<'a>(
    out: &Path,
    inputs: impl Iterator<Item = &'a Path>,
) -> Result<(), Overlap> {
    let folder = parts_of(out);
    let mut outputs = vec![out.to_owned(), temporary_of(out), folder.clone()];
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    outputs.extend(entries.map(|entry| entry.path()));
    // What is not there is no input.
    let outputs = outputs
        .into_iter()
        .filter_map(|path| Some((node(&path).ok()?, path)));
    let outputs: HashMap<Node, PathBuf> = outputs.collect();
    let folder_node = node(&folder).ok();
    // Whether a folder of inputs lies in the folder of the parts.
    let mut inside = HashMap::<PathBuf, bool>::new();
    for input in inputs {
        let overlap = |output: &Path| Overlap {
            output: output.to_owned(),
            input: input.to_owned(),
        };
        let output = node(input).ok().and_then(|found| outputs.get(&found));
        if let Some(output) = output {
            return Err(overlap(output));
        }
        if folder_node.is_none() {
            continue;
        }
        let whole = fs::canonicalize(input).unwrap_or_default();
        let parent = whole.parent().unwrap_or(Path::new("")).to_owned();
        let is_inside = inside.entry(parent).or_insert_with_key(|parent| {
            let mut folders = parent.ancestors();
            folders.any(|path| node(path).ok() == folder_node)
        });
        if *is_inside {
            return Err(overlap(&folder));
        }
    }
    Ok(())
}

/// Describes a file by its length, its times of change and the hash of its ends, which has the footer
/// of Parquet. A file that cannot be read has the kind of the error.
pub(crate) fn fingerprint(path: &Path) -> String {
    let read = || {
        let found = fs::metadata(path)?;
        // It is not opened later either.
        if !found.is_file() {
            return Ok("no regular file".to_owned());
        }
        let mut file = File::open(path)?;
        let mut hash = Sha256::new();
        update(&mut hash, (&mut file).take(ENDS))?;
        file.seek(SeekFrom::Start(found.len().saturating_sub(ENDS)))?;
        update(&mut hash, file.take(ENDS))?;
        let hash = base16ct::lower::encode_string(&hash.finalize());
        let [written, changed] = times(&found)?;
        Ok(format!("{} {written} {changed} {hash}", found.len()))
    };
    read().unwrap_or_else(|error: io::Error| format!("unreadable: {:?}", error.kind()))
}

fn update(hash: &mut Sha256, mut input: impl Read) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(len) => hash.update(&buffer[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
