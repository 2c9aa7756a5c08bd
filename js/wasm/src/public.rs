//! Public keys of any parameter set.

use alloc::boxed::Box;

use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, PreHash, PreHashed, PreparedVerifyingKey,
    VerifyingKey,
};

use crate::status::Status;

/// A public key without its type.
pub(crate) trait Public {
    fn tr(&self) -> &[u8; 64];
    fn verify(&self, mu: &Mu, signature: &[u8]) -> Result<(), Status>;
    fn prehashed(&self, hash: PreHash, digest: &[u8], context: Context<'_>) -> Result<Mu, Status>;
}

macro_rules! public {
    ($($key:ident)+) => { $(
        impl<P: ParameterSet> Public for $key<P> {
            fn tr(&self) -> &[u8; 64] {
                self.tr()
            }

            fn verify(&self, mu: &Mu, signature: &[u8]) -> Result<(), Status> {
                Ok(self.verify_mu(mu, signature)?)
            }

            fn prehashed(
                &self,
                hash: PreHash,
                digest: &[u8],
                context: Context<'_>,
            ) -> Result<Mu, Status> {
                Ok(PreHashed::<P>::new(hash, digest)?.mu(self.tr(), context))
            }
        }
    )+ };
}

public!(VerifyingKey PreparedVerifyingKey);

/// Calls a function of a parameter set by its number.
macro_rules! with_set {
    ($set:expr, $call:ident($($argument:expr),*)) => {
        match $set {
            44 => $call::<MlDsa44>($($argument),*),
            65 => $call::<MlDsa65>($($argument),*),
            87 => $call::<MlDsa87>($($argument),*),
            _ => Err(Status::Set),
        }
    };
}
#[cfg(feature = "full")]
pub(crate) use with_set;

pub(crate) fn open(set: u32, bytes: &[u8], prepare: bool) -> Result<Box<dyn Public>, Status> {
    fn open<P: ParameterSet>(bytes: &[u8], prepare: bool) -> Result<Box<dyn Public>, Status> {
        let key = VerifyingKey::<P>::from_bytes(bytes)?;
        if prepare && cfg!(feature = "full") {
            return Ok(Box::new(key.prepare()));
        }
        Ok(Box::new(key))
    }
    with_set!(set, open(bytes, prepare))
}
