//! Programs of calls of the C interface (`crates/mldsa-c/tests/c/calls.c`) under libFuzzer.
#![no_main]

// Links the library.
use mldsa_c as _;

unsafe extern "C" {
    fn mldsa_calls(data: *const u8, len: usize);
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // SAFETY: the function reads these bytes.
    unsafe { mldsa_calls(data.as_ptr(), data.len()) }
});
