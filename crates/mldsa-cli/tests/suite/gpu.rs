//! `--gpu`: the output is that of the CPU, with a device and without one.

use std::fs;
use std::path::Path;

use crate::tool::mldsa;

#[test]
fn output_does_not_depend_on_the_device() {
    for name in ["votes.jsonl", "forged-votes.jsonl"] {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data");
        // A line of another set, an unusable one, and all lines again.
        let lines = fs::read_to_string(data.join(name)).unwrap();
        let input = format!("{lines}{{}}\n{lines}");
        for mode in ["full", "first-invalid"] {
            let run = |options: &[&str]| {
                let command = ["batch-verify", "-", "--mode", mode];
                mldsa(&[&command[..], options].concat(), input.as_bytes())
            };
            let cpu = run(&[]);
            for option in ["--gpu", "--gpu=cuda", "--gpu=opencl", "--gpu=opencl-cpu"] {
                // The pool of one worker is the thread that waits.
                let gpu = run(&[option, "--threads", "1"]);
                assert_eq!(
                    (gpu.code, gpu.stdout),
                    (cpu.code, cpu.stdout.clone()),
                    "{option}"
                );
                let required = std::env::var_os("MLDSA_GPU").is_some();
                if option == "--gpu=opencl-cpu" && required {
                    assert!(!gpu.stderr.contains("on the CPU"), "{}", gpu.stderr);
                }
            }
        }
    }
}
