//! Comparison, hashing and conversion of public encodings by their bytes.

use crate::error::ParseError;

/// Reads as many hexadecimal digits as there are places; `None` if the text has
/// another length. Public data.
pub(super) fn digits<E>(text: &str, to: &mut [u8]) -> Option<Result<(), ParseError<E>>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        return None;
    };
    if pairs.len() != to.len() {
        return None;
    }
    for (to, pair) in to.iter_mut().zip(pairs) {
        let digit = |n: usize| char::from(pair[n]).to_digit(16);
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return Some(Err(ParseError::Digit));
        };
        *to = (high << 4 | low) as u8;
    }
    Some(Ok(()))
}

/// For a type with `as_ref` and `from_bytes`, which rejects bytes of another length
/// than `$bytes` with `$error::$length`.
macro_rules! impl_byte_traits {
    ($name:ident, $bytes:ident, $error:ident::$length:ident) => {
        impl<P: ParameterSet> core::hash::Hash for $name<P> {
            fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
                self.as_ref().hash(state);
            }
        }

        /// In the order of the encodings.
        impl<P: ParameterSet> Ord for $name<P> {
            fn cmp(&self, other: &Self) -> core::cmp::Ordering {
                self.as_ref().cmp(other.as_ref())
            }
        }

        impl<P: ParameterSet> PartialOrd for $name<P> {
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        /// In hexadecimal, all of it.
        impl<P: ParameterSet> core::fmt::Display for $name<P> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let mut bytes = self.as_ref().iter();
                bytes.try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl<P: ParameterSet> core::str::FromStr for $name<P> {
            type Err = crate::error::ParseError<$error>;

            /// From hexadecimal digits, small or capital.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let mut bytes = <P::$bytes as crate::memory::array::Zeroed>::zeroed();
                let length = crate::error::ParseError::Rejected($error::$length);
                crate::keys::byte_traits::digits(text, bytes.as_mut()).ok_or(length)??;
                Self::from_bytes(bytes.as_ref()).map_err(crate::error::ParseError::Rejected)
            }
        }

        impl<P: ParameterSet> TryFrom<&[u8]> for $name<P> {
            type Error = $error;

            /// `from_bytes`.
            fn try_from(bytes: &[u8]) -> Result<Self, $error> {
                Self::from_bytes(bytes)
            }
        }
    };
}
pub(super) use impl_byte_traits;
