//! Random bytes of the operating system.

use core::fmt::Display;
use std::io;

use zeroize::Zeroizing;

/// Draws `N` fresh random bytes.
pub(crate) fn random<const N: usize>() -> io::Result<Zeroizing<[u8; N]>> {
    random_from(getrandom::fill)
}

/// Draws random bytes from `fill`. A generator that leaves zeros is an error: a working one does so with
/// a chance of 2^-256 for 32 bytes.
fn random_from<const N: usize, E: Display>(
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> io::Result<Zeroizing<[u8; N]>> {
    let mut bytes = Zeroizing::new([0; N]);
    let failed = |why: &dyn Display| {
        io::Error::other(format!(
            "the system's random number generator failed: {why}"
        ))
    };
    fill(&mut *bytes).map_err(|error| failed(&error))?;
    // Whether the bytes are zeros is public: they are not used if they are.
    if bytes.iter().fold(0, |all, byte| all | byte) == 0 {
        return Err(failed(&"it returned zeros"));
    }
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn generator_errors_and_zeros_are_rejected() {
        let error = random_from::<32, _>(|_| Err("no entropy")).unwrap_err();
        let start = "the system's random number generator failed: ";
        assert_eq!(error.to_string(), format!("{start}no entropy"));
        let error = random_from::<32, &str>(|_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), format!("{start}it returned zeros"));
        let one = random_from::<32, &str>(|bytes| {
            bytes[31] = 1;
            Ok(())
        });
        assert_eq!(one.unwrap()[31], 1);
        assert_ne!(*random::<32>().unwrap(), *random::<32>().unwrap());
    }
}
