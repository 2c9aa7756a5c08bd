//! Files that commands read and write.

#[cfg(feature = "files")]
pub(crate) mod commit;
pub(crate) mod input;
#[cfg(all(unix, feature = "files"))]
pub(crate) mod interrupt;
#[cfg(all(unix, feature = "files"))]
pub(crate) mod leftovers;
#[cfg(feature = "files")]
pub(crate) mod output;
pub(crate) mod paths;
#[cfg(feature = "files")]
pub(crate) mod text;
