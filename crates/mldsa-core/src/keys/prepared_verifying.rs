//! Public keys with A and t1 expanded: on the heap, in caller memory, in arenas.

use core::fmt;
use core::marker::PhantomData;

use crate::backend::Backend;
use crate::backend::rows::expand_row;
use crate::coding::encode::PublicKeyParts;
use crate::coding::expansion::Expansion;
use crate::keys::decoded::verification;
use crate::keys::verifying::VerifyingKey;
use crate::lanes::job::JobKey;
use crate::memory::array::Zeroed;
use crate::params::{CRH_LEN, ParameterSet};
use crate::ring::poly::NttPoly;

/// Memory for [`VerifyingKey::prepare_in`]: 20, 36 or 64 KiB, for a static or a
/// caller's arena.
#[derive(Debug)]
pub struct PreparedVerifyingKeyStorage<P: ParameterSet>(P::VerifyMatrix<NttPoly>);

impl<P: ParameterSet> PreparedVerifyingKeyStorage<P> {
    /// Zeros, as a constant: can initialise a static.
    pub const ZERO: Self = Self(<P::VerifyMatrix<NttPoly> as Zeroed>::ZEROED);
    /// Bytes: 20480, 36864 or 65536.
    pub const LEN: usize = core::mem::size_of::<Self>();
}

/// A public key with A and t1 expanded, on the heap. Made only from a
/// [`VerifyingKey`], so it is always the expansion of an encoded key.
#[cfg(feature = "alloc")]
pub struct PreparedVerifyingKey<P: ParameterSet> {
    rows: alloc::boxed::Box<[NttPoly]>,
    tr: [u8; CRH_LEN],
    backend: Backend,
    set: PhantomData<P>,
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> PreparedVerifyingKey<P> {
    /// Computes `tr = H(pk, 64)`.
    #[must_use]
    pub fn tr(&self) -> &[u8; CRH_LEN] {
        &self.tr
    }

    /// Returns the borrowed form.
    #[must_use]
    pub fn as_prepared_ref(&self) -> PreparedVerifyingKeyRef<'_, P> {
        PreparedVerifyingKeyRef {
            rows: Expansion::Wide(&self.rows),
            tr: &self.tr,
            backend: self.backend,
            set: PhantomData,
        }
    }

    fn job_key(&self) -> JobKey<'_> {
        self.as_prepared_ref().job_key()
    }

    /// Returns the number of bytes held, on the heap and in the value itself.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        core::mem::size_of_val(&*self.rows) + core::mem::size_of::<Self>()
    }

    /// Returns the backend whose order the expansion has.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    verification!();
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> fmt::Debug for PreparedVerifyingKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedVerifyingKey({})", P::NAME)
    }
}

/// A public key expanded in caller memory.
#[derive(Clone, Copy)]
pub struct PreparedVerifyingKeyRef<'a, P: ParameterSet> {
    rows: Expansion<'a>,
    tr: &'a [u8; CRH_LEN],
    backend: Backend,
    set: PhantomData<P>,
}

impl<'a, P: ParameterSet> PreparedVerifyingKeyRef<'a, P> {
    /// Computes `tr = H(pk, 64)`.
    #[must_use]
    pub fn tr(&self) -> &[u8; CRH_LEN] {
        self.tr
    }

    /// Returns the backend whose order the expansion has.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    pub(crate) fn job_key(&self) -> JobKey<'a> {
        JobKey::Prepared(self.rows, self.tr)
    }

    verification!();
}

impl<P: ParameterSet> fmt::Debug for PreparedVerifyingKeyRef<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedVerifyingKeyRef({})", P::NAME)
    }
}

impl<P: ParameterSet> VerifyingKey<P> {
    fn prepare_rows(&self, rows: &mut [NttPoly]) {
        let p = &P::PARAMS;
        let kernels = self.backend.kernels();
        let pk = PublicKeyParts::of::<P>(&self.encoded);
        if let Some(prepare) = kernels.prepare {
            return prepare(p, &pk, rows);
        }
        for (i, row) in rows.chunks_exact_mut(p.l + 1).enumerate() {
            expand_row(kernels, p, &pk, i, None, row);
        }
    }

    /// Expands A and t1 into caller memory: allocation-free preparation.
    pub fn prepare_in<'a>(
        &'a self,
        memory: &'a mut PreparedVerifyingKeyStorage<P>,
    ) -> PreparedVerifyingKeyRef<'a, P> {
        self.prepare_rows(memory.0.as_mut());
        PreparedVerifyingKeyRef {
            rows: Expansion::Wide(memory.0.as_ref()),
            tr: &self.tr,
            backend: self.backend,
            set: PhantomData,
        }
    }

    /// Expands A and t1 once, for a key that verifies often: 20, 36 or 64 KiB on
    /// the heap. Pays from the second signature on.
    #[cfg(feature = "alloc")]
    pub fn prepare(&self) -> PreparedVerifyingKey<P> {
        let len = P::K * (P::L + 1);
        let mut rows = alloc::vec::Vec::with_capacity(len);
        rows.resize_with(len, NttPoly::zeroed);
        self.prepare_rows(&mut rows);
        PreparedVerifyingKey {
            rows: rows.into_boxed_slice(),
            tr: self.tr,
            backend: self.backend,
            set: PhantomData,
        }
    }
}

/// Prepared keys side by side in one arena of the caller's.
#[cfg(feature = "unstable-internals")]
impl<P: ParameterSet> VerifyingKey<P> {
    /// Polynomials of one prepared key: 20, 36 or 64.
    #[doc(hidden)]
    pub const PREPARED_POLYS: usize = P::K * (P::L + 1);

    /// Expands A and t1 into `polys`; false, and nothing written, unless there
    /// are [`Self::PREPARED_POLYS`] of them.
    #[doc(hidden)]
    pub fn prepare_polys(&self, polys: &mut [NttPoly]) -> bool {
        let fits = polys.len() == Self::PREPARED_POLYS;
        if fits {
            self.prepare_rows(polys);
        }
        fits
    }

    /// Returns the prepared key with that expansion; `None` unless it has
    /// [`Self::PREPARED_POLYS`] polynomials. They must come from
    /// [`Self::prepare_polys`] of an equal key on the same backend, packed or not:
    /// nothing here can check that, and verdicts are wrong otherwise.
    #[doc(hidden)]
    pub fn prepared_at<'a>(
        &'a self,
        rows: Expansion<'a>,
    ) -> Option<PreparedVerifyingKeyRef<'a, P>> {
        (rows.len() == Self::PREPARED_POLYS).then_some(PreparedVerifyingKeyRef {
            rows,
            tr: &self.tr,
            backend: self.backend,
            set: PhantomData,
        })
    }
}
