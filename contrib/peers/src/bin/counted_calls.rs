//! Calls of every operation, each between two marks, for an emulator that counts instructions
//! (`contrib/peers/arm-instructions.py`).

use std::rc::Rc;

use benches::{Inputs, Op, Part, Set, Stream, contenders};
use mldsa_core::Backend;

/// Implementations with assembly, or ours.
const PEERS: [&str; 3] = ["ours", "aws-lc-rs", "mldsa-native-rs"];
/// Number of messages. Among so many, some signature needs one attempt only.
const CASES: usize = 32;
const SEED: u64 = 1;

fn main() {
    for set in Set::ALL {
        let inputs = Rc::new(Inputs::random(set, 8, CASES, &mut Stream::new(SEED)));
        let parts = [Part::Keygen, Part::Sign, Part::Verify];
        let all = parts.map(|part| contenders(part, &inputs));
        for mut contender in all.into_iter().flatten() {
            let chosen = contender.peer != "ours" || contender.backend == Backend::detect().name();
            if !chosen || !PEERS.contains(&contender.peer) || !Op::SINGLE.contains(&contender.op) {
                continue;
            }
            // Initialisation is not counted.
            contender.call(0);
            let signers = contender.op.reference() == Op::Sign;
            for case in 0..if signers { CASES } else { CASES / 4 } {
                println!(
                    "# {} {} {} {} {case}",
                    set.name(),
                    contender.op.name(),
                    contender.peer,
                    if signers && !contender.deterministic {
                        "hedged"
                    } else {
                        contender.backend
                    }
                );
                mark();
                contender.call(case);
                mark();
            }
        }
    }
}

/// A system call without effect that the plugin of the emulator recognises.
fn mark() {
    #[cfg(unix)]
    let _ = std::os::unix::process::parent_id();
}
