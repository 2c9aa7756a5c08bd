//! Message representatives of messages that arrive in pieces.

use core::ptr;

use mldsa_lowmem::{Context, Mu, MuBuilder};

use crate::Status;
use crate::boundary::{array, bytes, checked, output, status};

/// A message representative in the making, in memory of the caller.
#[derive(Debug)]
#[repr(C)]
pub struct MuState {
    mark: u32,
    builder: MuBuilder,
}

/// Mark of memory that holds a started builder.
const STARTED: u32 = 0x6d75_0001;

/// Begins a message representative under the key whose `tr` is given, 64 bytes.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_lowmem_mu_start(
    mu: *mut MuState,
    tr: *const u8,
    context: *const u8,
    context_len: usize,
) -> Status {
    // SAFETY: the contract of the crate.
    status((|| unsafe {
        let mu = checked(mu)?;
        let context = Context::new(bytes(context, context_len)?)?;
        mu.write(MuState {
            mark: STARTED,
            builder: MuBuilder::from_tr(array(tr)?, context),
        });
        Ok(())
    })())
}

/// Appends a piece of the message.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_lowmem_mu_update(
    mu: *mut MuState,
    message: *const u8,
    message_len: usize,
) -> Status {
    // SAFETY: the contract of the crate.
    status((|| unsafe {
        let mu = started(mu)?;
        (*mu).builder.update(bytes(message, message_len)?);
        Ok(())
    })())
}

/// Ends the message and writes the representative, 64 bytes.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_lowmem_mu_finish(mu: *mut MuState, out: *mut u8) -> Status {
    // SAFETY: the contract of the crate. The builder is not used again after the mark is removed.
    status((|| unsafe {
        let mu = started(mu)?;
        let out = output::<[u8; 64]>(out)?;
        (*mu).mark = 0;
        *out = *ptr::read(&raw const (*mu).builder).finish().as_bytes();
        ptr::write_bytes(&raw mut (*mu).builder, 0, 1);
        Ok(())
    })())
}

/// # Safety
/// `mu` is null or was started.
unsafe fn started(mu: *mut MuState) -> Result<*mut MuState, Status> {
    let mu = checked(mu)?;
    // SAFETY: the contract of this function.
    if unsafe { (*mu).mark } != STARTED {
        return Err(Status::Argument);
    }
    Ok(mu)
}

/// `mu` of a message in one piece.
///
/// # Safety
/// As [`bytes`] for message and context.
pub(crate) unsafe fn mu_of(
    tr: &[u8; 64],
    (message, message_len): (*const u8, usize),
    (context, context_len): (*const u8, usize),
) -> Result<Mu, Status> {
    // SAFETY: the contract of this function.
    let (message, context) =
        unsafe { (bytes(message, message_len)?, bytes(context, context_len)?) };
    let mut mu = MuBuilder::from_tr(tr, Context::new(context)?);
    mu.update(message);
    Ok(mu.finish())
}
