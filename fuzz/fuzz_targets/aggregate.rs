//! `mldsa_interop::aggregate::aggregate` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(init: mldsa_interop::choose_backend(), |data: &[u8]| mldsa_interop::aggregate::aggregate(data));
