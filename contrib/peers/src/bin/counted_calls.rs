//! Calls of every operation, each between two marks, for an emulator that counts instructions
//! (`contrib/peers/instructions.py`). The inputs are written to files for other programs.

use std::rc::Rc;

use benches::{Inputs, Op, Part, Set, Stream, contenders};
use mldsa_core::Backend;

/// Implementations with assembly, or ours.
const PEERS: [&str; 3] = ["ours", "aws-lc-rs", "mldsa-native-rs"];
/// Number of messages. Among so many, some signature needs one attempt only.
const CASES: usize = 32;
const SEED: u64 = 1;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let backends = ["default", "portable", Backend::detect().name()];
    for set in Set::ALL {
        let inputs = Rc::new(Inputs::random(set, 8, CASES, &mut Stream::new(SEED)));
        std::fs::write(format!("{folder}/{}", set.name()), inputs.encoded())?;
        let parts = [Part::Keygen, Part::Sign, Part::Verify];
        let all = parts.map(|part| contenders(part, &inputs));
        for mut contender in all.into_iter().flatten() {
            let chosen = PEERS.contains(&contender.peer) && backends.contains(&contender.backend);
            if !chosen || !Op::SINGLE.contains(&contender.op) {
                continue;
            }
            // Initialisation is not counted.
            contender.call(0);
            let mut row = format!(
                "# {} {} {}",
                set.name(),
                contender.op.name(),
                contender.title()
            );
            if !contender.deterministic {
                row += " hedged";
            }
            for case in 0..CASES {
                println!("{row}");
                mark();
                contender.call(case);
                mark();
            }
        }
    }
    Ok(())
}

/// A system call without effect that the plugin of the emulator recognises.
fn mark() {
    #[cfg(unix)]
    let _ = std::os::unix::process::parent_id();
}
