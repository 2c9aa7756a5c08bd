//! The Solidity compiler against the committed code.

use std::process::Command;

use evm_bench::contracts::folder;

/// Compiles the contracts and compares them with the committed code, if node is
/// installed.
pub(crate) fn check_compiler() -> Result<(), Box<dyn std::error::Error>> {
    let there = |program: &str| {
        Command::new(program)
            .arg("--version")
            .output()
            .is_ok_and(|o| o.status.success())
    };
    if !there("node") || !there("npm") {
        println!("solc: not run, there is no node: the committed code is used");
        return Ok(());
    }
    let folder = folder();
    let out = std::env::temp_dir().join(format!("mldsa-evm-{}", std::process::id()));
    // Fails if another user has made it.
    std::fs::create_dir(&out)?;
    let node = |program: &str, arguments: &[&str]| {
        Command::new(program)
            .current_dir(&folder)
            .args(arguments)
            .output()
    };
    let installed = folder.join("node_modules/solc").is_dir()
        || node("npm", &["ci", "--silent", "--no-audit", "--no-fund"])?
            .status
            .success();
    if !installed {
        println!("solc: not run, npm ci failed: the committed code is used");
        return Ok(());
    }
    let built = node("node", &["build.mjs", &out.to_string_lossy()])?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into());
    }
    let mut count = 0;
    for entry in std::fs::read_dir(&out)? {
        let entry = entry?;
        let committed = std::fs::read(folder.join("artifacts").join(entry.file_name()))?;
        if std::fs::read(entry.path())? != committed {
            return Err(format!(
                "{:?} compiles to other code than is committed",
                entry.file_name()
            )
            .into());
        }
        count += 1;
    }
    std::fs::remove_dir_all(&out)?;
    println!("solc: {count} contracts compile to the committed code");
    Ok(())
}
