//! `mldsa_interop::differential::differential` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mldsa_interop::differential::differential(data));
