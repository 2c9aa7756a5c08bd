//! `mldsa_interop::encodings::pem` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mldsa_interop::encodings::pem(data));
