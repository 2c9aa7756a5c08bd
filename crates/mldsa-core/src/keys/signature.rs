//! A signature whose possession means that its form was checked.

use core::fmt;

use crate::error::VerifyError;
use crate::keys::byte_traits::impl_byte_traits;
use crate::memory::array::Zeroed;
use crate::params::ParameterSet;
use crate::scheme::verify::check_signature;

/// A signature of `SIG_LEN` bytes. Made by signing, or by a decoder that checked
/// its length, its hint and the norm of z.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature<P: ParameterSet>(pub(crate) P::SignatureBytes);

impl<P: ParameterSet> Signature<P> {
    /// Reads a signature (FIPS 204 algorithm 27).
    ///
    /// # Errors
    /// [`VerifyError::SignatureLength`], [`VerifyError::HintEncoding`],
    /// [`VerifyError::ResponseNorm`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, VerifyError> {
        check_signature(&P::PARAMS, bytes)?;
        let mut signature = Self(P::SignatureBytes::zeroed());
        signature.0.as_mut().copy_from_slice(bytes);
        Ok(signature)
    }

    /// Returns the encoding.
    pub fn as_bytes(&self) -> &P::SignatureBytes {
        &self.0
    }
}

/// The set and the first eight bytes.
impl<P: ParameterSet> fmt::Debug for Signature<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({}, ", P::NAME)?;
        let mut bytes = self.as_ref().iter().take(8);
        bytes.try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("..)")
    }
}

impl<P: ParameterSet> AsRef<[u8]> for Signature<P> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl_byte_traits!(Signature, SignatureBytes, VerifyError::SignatureLength);
