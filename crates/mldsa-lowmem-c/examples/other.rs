//! Another Rust archive, with a panic handler of its own.
#![no_std]

#[unsafe(no_mangle)]
pub extern "C" fn other_rust_archive() -> i32 {
    // A call into the compiler's library.
    (core::hint::black_box(84u64) / core::hint::black_box(2)) as i32
}

#[panic_handler]
fn halt(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
