//! `mldsa_interop::lines::jsonl` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mldsa_interop::lines::jsonl(data));
