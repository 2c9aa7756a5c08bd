//! Another Rust archive, which has its own copy of the standard library.

#[unsafe(no_mangle)]
pub extern "C" fn other_sum(count: u64) -> u64 {
    let sum = std::thread::spawn(move || (0..count).sum());
    sum.join().unwrap_or(0)
}

#[unsafe(no_mangle)]
pub extern "C" fn other_catches() -> bool {
    std::panic::set_hook(Box::new(|_| ()));
    std::panic::catch_unwind(|| panic!("{}", String::from("caught"))).is_err()
}
