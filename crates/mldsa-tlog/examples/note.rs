//! Keys, cosignatures and verification of checkpoints, from standard input to standard output.
//!
//! ```sh
//! cargo run --release -p mldsa-tlog --example note -- keygen witness.example/1 witness.pem >witness.vkey
//! cargo run --release -p mldsa-tlog --example note -- cosign witness.example/1 witness.pem <checkpoint >note
//! cargo run --release -p mldsa-tlog --example note -- verify policy <note
//! cargo run --release -p mldsa-tlog --example note -- proof policy entry <proof
//! ```
//!
//! `cosign` takes a checkpoint with or without signatures, and adds one with the time of the clock. It keeps no state: what
//! a witness has to remember is in the documentation of `AddCheckpoint::check`.

use core::error::Error;
use std::io::Read;
use std::time::SystemTime;

use mldsa_core::pkcs8::{EncodePrivateKey, LineEnding};
use mldsa_core::rand_core::TryRng;
use mldsa_core::{Randomness, SigningKey, SysRng};
use mldsa_tlog::{Checkpoint, Cosigner, Note, Policy, Proof, Verified, leaf_hash};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut input = String::new();
    match arguments[..] {
        ["keygen", name, file] => {
            let key = SigningKey::generate()?;
            let pem = key.to_pkcs8_pem(LineEnding::LF)?;
            let cosigner = Cosigner::new(name, key)?;
            let mut options = std::fs::OpenOptions::new();
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            std::io::Write::write_all(
                &mut options.write(true).create_new(true).open(file)?,
                pem.as_bytes(),
            )?;
            println!("{}", cosigner.public());
        }
        ["cosign", name, file] => {
            let cosigner = Cosigner::new(
                name,
                SigningKey::from_pkcs8_pem(&std::fs::read_to_string(file)?)?,
            )?;
            std::io::stdin().read_to_string(&mut input)?;
            let text = Note::parse(input.as_bytes()).map_or(&*input, |note| note.text());
            let checkpoint = Checkpoint::parse(text)?;
            let time = SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)?
                .as_secs();
            let mut fresh = [0; 32];
            SysRng.try_fill_bytes(&mut fresh)?;
            let line = cosigner.sign(
                time,
                checkpoint.origin,
                &checkpoint.tree(),
                Randomness::Hedged(&fresh),
            )?;
            let separator = if text.len() == input.len() { "\n" } else { "" };
            print!("{input}{separator}{line}");
        }
        ["verify", policy] => {
            let policy = Policy::parse(&std::fs::read(policy)?)?;
            std::io::stdin().read_to_string(&mut input)?;
            print(&policy.verify(&Note::parse(input.as_bytes())?)?);
        }
        ["proof", policy, entry] => {
            let policy = Policy::parse(&std::fs::read(policy)?)?;
            std::io::stdin().read_to_string(&mut input)?;
            let leaf = leaf_hash(&std::fs::read(entry)?);
            print(&Proof::parse(input.as_bytes())?.verify(&policy, &leaf)?);
        }
        _ => {
            return Err(
                "usage: keygen NAME FILE | cosign NAME FILE | verify POLICY | proof POLICY ENTRY"
                    .into(),
            );
        }
    }
    Ok(())
}

fn print(verified: &Verified<'_>) {
    println!(
        "{} {}",
        verified.checkpoint.origin, verified.checkpoint.size
    );
    for (name, time) in &verified.witnesses {
        println!("{name} {time}");
    }
}
