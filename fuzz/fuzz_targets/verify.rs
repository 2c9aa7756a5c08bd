//! `mldsa_interop::verify::verify` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mldsa_interop::verify::verify(data));
