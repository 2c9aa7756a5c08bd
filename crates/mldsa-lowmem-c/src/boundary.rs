//! Conversions at the boundary: pointers to references, results to statuses.

use core::slice;

use crate::Status;

pub(crate) fn status(result: Result<(), Status>) -> Status {
    match result {
        Ok(()) => Status::Ok,
        Err(status) => status,
    }
}

/// Returns a pointer that is not null and aligned.
pub(crate) fn checked<T>(pointer: *mut T) -> Result<*mut T, Status> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Status::NullPointer);
    }
    Ok(pointer)
}

/// Borrows bytes of the caller.
///
/// # Safety
/// `pointer` is null, or valid for reads of `len` bytes that do not change during `'a`.
pub(crate) unsafe fn bytes<'a>(pointer: *const u8, len: usize) -> Result<&'a [u8], Status> {
    if len == 0 {
        return Ok(&[]);
    }
    let pointer = checked(pointer.cast_mut())?;
    if isize::try_from(len).is_err() {
        return Err(Status::TooLarge);
    }
    // SAFETY: the contract of this function; not null, at most `isize::MAX` bytes.
    Ok(unsafe { slice::from_raw_parts(pointer, len) })
}

/// Borrows an array of the caller.
///
/// # Safety
/// As [`bytes`], for `LEN` bytes.
pub(crate) unsafe fn array<'a, const LEN: usize>(
    pointer: *const u8,
) -> Result<&'a [u8; LEN], Status> {
    // SAFETY: the contract of this function; an array of bytes has alignment 1.
    Ok(unsafe { &*checked(pointer.cast_mut())?.cast() })
}

/// Borrows an output of the caller, an array of bytes.
///
/// # Safety
/// `pointer` is null, or valid for reads and writes of a `T` that nothing else uses during `'a`.
pub(crate) unsafe fn output<'a, T: AsMut<[u8]>>(pointer: *mut u8) -> Result<&'a mut T, Status> {
    const { assert!(align_of::<T>() == 1) };
    // SAFETY: the contract of this function; `T` is an array of bytes.
    Ok(unsafe { &mut *checked(pointer)?.cast() })
}
