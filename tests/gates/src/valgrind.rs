//! Valgrind's client requests: a sequence of instructions that does nothing on a
//! CPU and is recognised by Valgrind (its manual, "The client request mechanism").
#![allow(unsafe_code, reason = "client requests are inline assembly")]

const fn tool(a: u8, b: u8, n: u64) -> u64 {
    ((a as u64) << 24 | (b as u64) << 16) + n
}

const RUNNING_ON_VALGRIND: u64 = 0x1001;
const COUNT_ERRORS: u64 = 0x1201;
const MAKE_MEM_UNDEFINED: u64 = tool(b'M', b'C', 1);
const MAKE_MEM_DEFINED: u64 = tool(b'M', b'C', 2);
const GET_VBITS: u64 = tool(b'M', b'C', 8);
const ZERO_STATS: u64 = tool(b'C', b'T', 1);
const DUMP_STATS_AT: u64 = tool(b'C', b'T', 3);

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[inline(always)]
fn request(code: u64, a: u64, b: u64, c: u64) -> u64 {
    let arguments = [code, a, b, c, 0, 0];
    let result;
    // SAFETY: outside Valgrind the rotations sum to 128 bits and the exchange is
    // with itself, so nothing changes but the flags; inside, only `rdx` is
    // written and, by `GET_VBITS`, the buffer that `secrecy` passes, which has the
    // length it says.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") arguments.as_ptr(), inout("rdx") 0u64 => result,
        );
    }
    result
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn request(_: u64, _: u64, _: u64, _: u64) -> u64 {
    0
}

/// Whether Valgrind runs this program.
pub fn is_running() -> bool {
    request(RUNNING_ON_VALGRIND, 0, 0, 0) != 0
}

/// The errors that Valgrind has reported so far.
pub fn count_errors() -> u64 {
    request(COUNT_ERRORS, 0, 0, 0)
}

/// Marks `bytes` as secret: memcheck reports every branch and every address that
/// comes to depend on them.
pub fn poison(bytes: &mut [u8]) {
    request(
        MAKE_MEM_UNDEFINED,
        bytes.as_mut_ptr() as u64,
        bytes.len() as u64,
        0,
    );
}

/// Marks memory as public.
pub fn unpoison(place: *mut u8, len: usize) {
    request(MAKE_MEM_DEFINED, place as u64, len as u64, 0);
}

/// Whether each of `bytes` is marked as secret.
pub fn secrecy(bytes: &[u8]) -> Vec<bool> {
    let mut bits = vec![0u8; bytes.len()];
    let (from, to) = (bytes.as_ptr() as u64, bits.as_mut_ptr() as u64);
    request(GET_VBITS, from, to, bytes.len() as u64);
    core::hint::black_box(bits)
        .into_iter()
        .map(|bits| bits != 0)
        .collect()
}

/// Callgrind: counts `operation` alone, in a dump of that name.
pub fn count_instructions(name: &str, operation: impl FnOnce()) {
    let name = std::ffi::CString::new(name).unwrap_or_default();
    request(ZERO_STATS, 0, 0, 0);
    operation();
    request(DUMP_STATS_AT, name.as_ptr() as u64, 0, 0);
}
