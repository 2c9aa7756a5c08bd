//! `mldsa_interop::encodings::pkcs8` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mldsa_interop::encodings::pkcs8(data));
