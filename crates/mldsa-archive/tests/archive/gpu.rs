//! `--gpu`: verdicts and summary are those of the CPU, with a device and without one.

use std::fs;

use crate::tool::{Folder, VERIFY, errors};

#[test]
fn verdicts_do_not_depend_on_the_device() {
    let sets = "ML-DSA-44,ML-DSA-65,ML-DSA-87";
    let folder = Folder::new(900, &["--bad", "100", "--sets", sets]);
    let run = |options: &[&str]| {
        let end = ["--out", "out.parquet", "data.parquet"];
        let run = folder.run(&[&VERIFY[..], options, &end].concat());
        let verdicts = fs::read(folder.path("out.parquet")).unwrap();
        let said = errors(&run);
        ((run.status.code(), run.stdout, verdicts), said)
    };
    let (cpu, _) = run(&[]);
    assert_eq!(cpu.0, Some(2));
    for option in ["--gpu", "--gpu=cuda", "--gpu=opencl", "--gpu=opencl-cpu"] {
        let (gpu, said) = run(&[option]);
        assert!(gpu == cpu, "{option}: {said}");
        let required = std::env::var_os("MLDSA_GPU").is_some();
        if option == "--gpu=opencl-cpu" && required {
            assert!(!said.contains("on the CPU"), "{said}");
        }
    }
}
