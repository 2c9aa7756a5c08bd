//! How public encodings compare, hash and convert: by their bytes.

/// For a type with `as_ref` and `from_bytes`.
macro_rules! bytewise {
    ($name:ident, $error:ident) => {
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

        impl<P: ParameterSet> TryFrom<&[u8]> for $name<P> {
            type Error = $error;

            /// `from_bytes`.
            fn try_from(bytes: &[u8]) -> Result<Self, $error> {
                Self::from_bytes(bytes)
            }
        }
    };
}
pub(super) use bytewise;
