//! `mldsa_interop::aggregate::aggregate` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mldsa_interop::aggregate::aggregate(data));
