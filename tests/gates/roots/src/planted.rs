//! Leaks as they are written by mistake. The effect that hangs on each branch is a
//! write elsewhere, so that no target can do without a jump.

/// A reduction by comparison, which counts.
#[inline(never)]
pub fn sign_of_a_sum(row: &mut [i32; 256], other: &[i32; 256], count: &mut [u32; 2]) {
    for (a, b) in row.iter_mut().zip(other) {
        *a -= *b;
        if *a < 0 {
            note(count);
        }
    }
}

/// A norm check that stops at the first coefficient.
#[inline(never)]
pub fn early_end(row: &[i32; 256], bound: i32) -> bool {
    row.iter().any(|a| a.abs() >= bound)
}

/// A hint that is compared with zero.
#[inline(never)]
pub fn zero_or_not(row: &[i32; 256], count: &mut [u32; 2]) {
    for a in row {
        if a >> 13 != 0 {
            note(count);
        }
    }
}

/// A code word that is compared with its limit.
#[inline(never)]
pub fn code_word_range(bytes: &[u8; 128], count: &mut [u32; 2]) {
    for byte in bytes {
        if byte & 15 > 8 {
            note(count);
        }
    }
}

/// Packed secrets that are compared by `==`.
#[inline(never)]
pub fn equal_bytes(a: &[u8; 416], b: &[u8; 416]) -> bool {
    a == b
}

#[inline(never)]
fn note(count: &mut [u32; 2]) {
    count[0] = count[0].wrapping_add(count[1]);
}
