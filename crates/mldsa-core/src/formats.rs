//! Keys and signatures in the formats of other systems. Every module is a
//! feature; none changes anything outside itself.

#[cfg(any(
    feature = "unstable-internals",
    all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87")
))]
pub(crate) mod joined;
#[cfg(feature = "pem")]
pub(crate) mod pem;
#[cfg(feature = "serde")]
pub(crate) mod serde;
#[cfg(feature = "spki")]
pub(crate) mod spki;
#[cfg(feature = "pkcs8")]
pub(crate) mod pkcs8;
