//! Writes every contract into a folder: `emit FOLDER`.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: emit FOLDER");
        return ExitCode::FAILURE;
    };
    for (name, code) in mldsa_evm_gen::contracts() {
        let path = folder.join(name + ".yul");
        if let Err(error) = std::fs::write(&path, code) {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
