//! Conversions at the boundary: pointers to slices, results to statuses, panics to a status.

use core::panic::AssertUnwindSafe;
use core::slice;
use std::panic::catch_unwind;

use crate::Status;

/// Runs `call` and returns its status; [`Status::Internal`] after a panic.
pub(crate) fn guard(call: impl FnOnce() -> Result<(), Status>) -> Status {
    // State that a panic may leave inconsistent has a lock or a `OnceLock`, which stay usable.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(status)) => status,
        Err(panic) => {
            // The message of a panic may itself panic when it is dropped.
            core::mem::forget(panic);
            Status::Internal
        }
    }
}

/// Borrows an array of the caller.
///
/// # Safety
/// `pointer` is valid for reads of `count` items that do not change during `'a`, or is null.
pub(crate) unsafe fn items<'a, T>(pointer: *const T, count: usize) -> Result<&'a [T], Status> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, count)?;
    // SAFETY: the contract of this function; not null, aligned, at most `isize::MAX` bytes.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// Borrows an output array of the caller.
///
/// # Safety
/// `pointer` is valid for reads and writes of `count` initialised items that are not used
/// otherwise during `'a`, or is null.
pub(crate) unsafe fn output<'a, T>(pointer: *mut T, count: usize) -> Result<&'a mut [T], Status> {
    if count == 0 {
        return Ok(&mut []);
    }
    check(pointer, count)?;
    // SAFETY: the contract of this function; not null, aligned, at most `isize::MAX` bytes.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, count) })
}

fn check<T>(pointer: *const T, count: usize) -> Result<(), Status> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Status::NullPointer);
    }
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        _ => Err(Status::TooLarge),
    }
}

/// Borrows the value of a handle.
///
/// # Safety
/// `handle` is null, or comes from [`store`], was not freed and is not freed during `'a`.
pub(crate) unsafe fn handle<'a, T>(handle: *const T) -> Result<&'a T, Status> {
    // SAFETY: the contract of this function.
    unsafe { handle.as_ref() }.ok_or(Status::NullPointer)
}

/// Writes `value` through a pointer.
///
/// # Safety
/// `pointer` is null or valid for a write.
pub(crate) unsafe fn write<T>(pointer: *mut T, value: T) -> Result<(), Status> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Status::NullPointer);
    }
    // SAFETY: the contract of this function; not null, aligned.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Makes a handle of the value of `make` and writes it through `pointer`: null if `make` fails.
///
/// # Safety
/// `pointer` is null or valid for a write.
pub(crate) unsafe fn store<T>(
    pointer: *mut *mut T,
    make: impl FnOnce() -> Result<T, Status>,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this function.
        unsafe { write(pointer, core::ptr::null_mut()) }?;
        let made = Box::into_raw(Box::new(make()?));
        // SAFETY: the contract of this function.
        unsafe { write(pointer, made) }
    })
}

/// Drops the value of a handle; nothing for null.
///
/// # Safety
/// `handle` is null, or comes from [`store`] and was not freed; the caller does not use it again.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if handle.is_null() {
        return;
    }
    let _ = guard(|| {
        // SAFETY: the contract of this function.
        drop(unsafe { Box::from_raw(handle) });
        Ok(())
    });
}

/// Copies `bytes` into a buffer of the caller of `*len` bytes and writes their number to `len`.
/// After an error the buffer stays as it is, and `*len` too, except if the buffer is too small:
/// then it is the needed size. Null with a `*len` of 0 is a query.
///
/// # Safety
/// `len` is null or valid for reads and writes, `buffer` for writes of `*len` bytes.
pub(crate) unsafe fn copy_out(
    bytes: &[u8],
    buffer: *mut u8,
    len: *mut usize,
) -> Result<(), Status> {
    let copy = |out: &mut [u8]| {
        out.copy_from_slice(bytes);
        Ok(())
    };
    // SAFETY: the contract of this function.
    unsafe { fill_out(bytes.len(), buffer, len, copy) }
}

/// Copies `needed` bytes that `fill` makes, as [`copy_out`] does. A `fill` that fails has to leave
/// the buffer as it is.
///
/// # Safety
/// As [`copy_out`].
pub(crate) unsafe fn fill_out(
    needed: usize,
    buffer: *mut u8,
    len: *mut usize,
    fill: impl FnOnce(&mut [u8]) -> Result<(), Status>,
) -> Result<(), Status> {
    // SAFETY: the contract of this function; `buffer` is valid for `*len` bytes, of which the
    // output is a part.
    unsafe {
        if *handle(len)? < needed {
            write(len, needed)?;
            return Err(Status::BufferLength);
        }
        fill(output(buffer, needed)?)?;
        write(len, needed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A payload whose drop panics.
    struct Payload;

    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("the drop of a payload");
        }
    }

    #[test]
    fn a_panic_ends_at_the_boundary() {
        assert_eq!(guard(|| panic!("a text")), Status::Internal);
        assert_eq!(
            guard(|| std::panic::panic_any(Payload)),
            Status::Internal,
            "a payload that panics when it is dropped"
        );
        let mut handle = core::ptr::dangling_mut::<u8>();
        // SAFETY: a valid output.
        let status = unsafe { store(&raw mut handle, || panic!("in the constructor")) };
        assert_eq!((status, handle.is_null()), (Status::Internal, true));
    }
}
