//! Signing in slices, in memory of the caller.

use core::ptr;

use mldsa_lowmem::{
    ExpandedKeyPair, Minimal, Mu, ParameterSet, Randomness, STATE_LEN, Slice, SliceMemory,
    SlicedSigner,
};

use crate::Status;
use crate::boundary::{array, bytes, checked, output};
use crate::set::pair;

type Pair<P> = ExpandedKeyPair<'static, P>;

/// A signer that refers to its own key and memory, and so stays where it was started.
#[derive(Debug)]
#[repr(C)]
pub struct SignerMemory<P: ParameterSet> {
    /// [`started`] for this set while the rest is initialised.
    mark: u32,
    signer: SlicedSigner<'static, P, Pair<P>, Minimal>,
    key: Pair<P>,
    memory: SliceMemory<P, Pair<P>, Minimal>,
}

const fn mark<P: ParameterSet>() -> u32 {
    0x7369_0000 | P::CATEGORY as u32
}

/// Beginning of a signature: fresh randomness, or a saved state.
pub(crate) enum From {
    Randomness(*const u8),
    State(*const u8),
}

/// # Safety
/// The contract of the crate.
pub(crate) unsafe fn start<P: ParameterSet>(
    signer: *mut SignerMemory<P>,
    (sk, pk): (*const u8, *const u8),
    mu: *const u8,
    from: From,
    signature: *mut u8,
) -> Result<(), Status> {
    // SAFETY: the contract of the crate. Key, memory and signature are valid and not moved until the
    // end of the signer; references to the fields do not overlap.
    unsafe {
        let signer = checked(signer)?;
        (&raw mut (*signer).mark).write(0);
        let key = pair::<P>(sk, pk)?;
        let mu = Mu::from_bytes(*array(mu)?);
        let out = output::<P::SignatureBytes>(signature)?.as_mut();
        (&raw mut (*signer).key).write(key);
        (&raw mut (*signer).memory).write(SliceMemory::ZERO);
        let (key, memory) = (&(*signer).key, &mut (*signer).memory);
        let made = match from {
            From::Randomness(rnd) => {
                SlicedSigner::new(key, memory, &mu, Randomness::Hedged(array(rnd)?), out)
            }
            From::State(state) => {
                SlicedSigner::resume(key, memory, &mu, bytes(state, STATE_LEN)?, out)
            }
        };
        (&raw mut (*signer).signer).write(made?);
        (&raw mut (*signer).mark).write(mark::<P>());
        Ok(())
    }
}

/// # Safety
/// The contract of the crate.
unsafe fn started<'a, P: ParameterSet>(
    signer: *mut SignerMemory<P>,
) -> Result<&'a mut SlicedSigner<'static, P, Pair<P>, Minimal>, Status> {
    let signer = checked(signer)?;
    // SAFETY: the contract of the crate; the mark is there while the signer is initialised.
    unsafe {
        if (&raw const (*signer).mark).read() != mark::<P>() {
            return Err(Status::Argument);
        }
        Ok(&mut (*signer).signer)
    }
}

/// # Safety
/// The contract of the crate.
pub(crate) unsafe fn step<P: ParameterSet>(signer: *mut SignerMemory<P>) -> Result<(), Status> {
    // SAFETY: the contract of the crate.
    match unsafe { started(signer)? }.step()? {
        Slice::Finished => Ok(()),
        Slice::Rejected => Err(Status::WorkingState),
        Slice::Working => Err(Status::Working),
    }
}

/// # Safety
/// The contract of the crate.
pub(crate) unsafe fn state<P: ParameterSet>(
    signer: *mut SignerMemory<P>,
    state: *mut u8,
) -> Result<(), Status> {
    // SAFETY: the contract of the crate.
    unsafe {
        let signer = started(signer)?;
        *output::<[u8; STATE_LEN]>(state)? = signer.state();
    }
    Ok(())
}

/// # Safety
/// The contract of the crate.
pub(crate) unsafe fn end<P: ParameterSet>(signer: *mut SignerMemory<P>) -> Result<(), Status> {
    // SAFETY: the contract of the crate. Nothing is used again after the mark is removed.
    unsafe {
        ptr::drop_in_place(started(signer)?);
        (&raw mut (*signer).mark).write(0);
        ptr::drop_in_place(&raw mut (*signer).memory);
    }
    Ok(())
}
