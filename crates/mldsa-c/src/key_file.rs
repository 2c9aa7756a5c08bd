//! Key files: DER or PEM, and the place of a fault in a PEM text.

use mldsa_core::{KeyError, PemError};

use crate::Status;

/// Where a PEM text is wrong: 88 bytes without padding. Zeros after a success, and where there is no place.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PemPlace {
    /// Line from 1.
    pub line: u64,
    /// Column from 1, in bytes.
    pub column: u64,
    /// The label that was found instead of the wanted one: at most 64 characters of printable ASCII, then zeros.
    pub label: [u8; 72],
}

const _: () = assert!(size_of::<PemPlace>() == 88);

const NOWHERE: PemPlace = PemPlace {
    line: 0,
    column: 0,
    label: [0; 72],
};

/// Writes that there is no place, before anything can fail.
///
/// # Safety
/// `place` is null or valid for a write.
pub(crate) unsafe fn clear(place: *mut PemPlace) {
    if !place.is_null() {
        // SAFETY: the contract of this function.
        let _ = unsafe { crate::boundary::write(place, NOWHERE) };
    }
}

/// Reads a key in DER or in PEM. The reason of a text with `-----BEGIN`, or of one that cannot be DER,
/// is that of PEM.
///
/// # Safety
/// `place` is null or valid for a write.
pub(crate) unsafe fn read<'a, T>(
    file: &'a [u8],
    der: impl FnOnce(&'a [u8]) -> Result<T, KeyError>,
    pem: impl FnOnce(&'a [u8]) -> Result<T, PemError>,
    place: *mut PemPlace,
) -> Result<T, Status> {
    const SEQUENCE: u8 = 0x30;
    const BEGIN: &[u8] = b"-----BEGIN";
    let mut found = NOWHERE;
    let is_der = file.first() == Some(&SEQUENCE);
    let key = der(file).or_else(|reason| {
        if is_der && !file.windows(BEGIN.len()).any(|part| part == BEGIN) {
            return Err(reason.into());
        }
        pem(file).map_err(|reason| status(&reason, &mut found))
    });
    if !place.is_null() {
        // SAFETY: the contract of this function.
        unsafe { crate::boundary::write(place, found) }?;
    }
    key
}

/// Returns the status of a fault, and writes its place.
fn status(reason: &PemError, place: &mut PemPlace) -> Status {
    let mut at = |line: usize, column: usize| {
        (place.line, place.column) = (line as u64, column as u64);
    };
    match reason {
        PemError::Missing => Status::PemMissing,
        PemError::Several { line } => {
            at(*line, 0);
            Status::PemSeveral
        }
        PemError::Boundary { line } => {
            at(*line, 0);
            Status::PemBoundary
        }
        PemError::Label { found, .. } => {
            for (to, from) in place.label.iter_mut().zip(found.bytes().take(64)) {
                *to = from;
            }
            Status::PemLabel
        }
        PemError::End => Status::PemEnd,
        PemError::EndLabel { line } => {
            at(*line, 0);
            Status::PemEndLabel
        }
        PemError::Headers => Status::PemHeaders,
        PemError::Base64 { line, column } => {
            at(*line, *column);
            Status::PemBase64
        }
        PemError::Padding => Status::PemPadding,
        PemError::Content(reason) => (*reason).into(),
    }
}
