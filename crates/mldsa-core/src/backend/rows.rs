//! The rows of verification, spelled out from fine kernels: A, t1 and the
//! commitment that a signature claims. Public data.

use core::marker::PhantomData;

use super::kernels::Kernels;
use crate::coding::encode::PublicKeyParts;
use crate::coding::pack;
use crate::error::VerifyError;
use crate::hash::keccak::Permutation;
use crate::lanes::interleaved::InterleavedHash;
use crate::lanes::job::{CommitmentInputs, Job, JobKey};
use crate::lanes::sponge::{Single, Widths};
use crate::lanes::verify::{LaneBackend, verify_internal};
use crate::memory::array::Zeroed;
use crate::params::{ParameterSet, Params, T1_POLY_LEN};
use crate::ring::field::canonical;
use crate::ring::poly::{NttPoly, Poly};

/// Fine kernels and one state of Keccak: a backend without an entry `verify`, or any backend where
/// A is known.
struct Rows<'m, P> {
    kernels: &'static Kernels,
    permutation: Permutation,
    /// The k l entries of A, instead of their expansion.
    a_hat: Option<&'m [NttPoly]>,
    set: PhantomData<P>,
}

impl<P> Clone for Rows<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Rows<'_, P> {}

impl<P> Widths for Rows<'_, P> {
    type Wide = Single<Self>;
    type Narrow = Single<Self>;

    fn wide(self) -> Single<Self> {
        Single([0; 25], self)
    }

    fn narrow(self) -> Single<Self> {
        self.wide()
    }

    fn permute(self, state: &mut [u64; 25]) {
        self.permutation.permute(state);
    }
}

impl<P: ParameterSet> LaneBackend for Rows<'_, P> {
    fn commitment(
        self,
        key: &JobKey<'_>,
        inputs: &CommitmentInputs<'_>,
        interleaved: &mut InterleavedHash<'_>,
    ) -> bool {
        let CommitmentInputs { p, parts, c } = *inputs;
        let kernels = self.kernels;
        let mut z_c_hat = <P::VerifyRow<NttPoly>>::zeroed();
        let (z_hat, c_hat) = z_c_hat.as_mut().split_at_mut(p.l);
        for (z_hat, bytes) in z_hat.iter_mut().zip(parts.z.chunks_exact(p.z_poly_len())) {
            if !(kernels.unpack_z_ntt)(p.gamma1_bits, p.gamma1() - p.beta(), bytes, z_hat) {
                return false;
            }
        }
        let mut c_poly = Poly::zeroed();
        c.to_poly(&mut c_poly);
        (kernels.ntt)(&c_poly, &mut c_hat[0]);
        let mut memory = <P::VerifyRow<NttPoly>>::zeroed();
        let mut w_hat = NttPoly::zeroed();
        for i in 0..p.k {
            let memory = memory.as_mut();
            let row = match key {
                JobKey::Encoded(pk, _) => {
                    expand_row(kernels, p, pk, i, self.a_hat, memory);
                    memory
                }
                JobKey::Prepared(all, _) => all.polys(i * (p.l + 1), memory),
            };
            (kernels.row_product)(row, z_c_hat.as_ref(), &mut w_hat);
            let w1 = interleaved.next_w1(p.w1_poly_len());
            (kernels.inv_ntt_use_hint)(p.gamma2, &w_hat, parts.hint.row(i), w1);
        }
        true
    }
}

/// Verifies jobs one by one. `a_hat` has the k l entries of A, if they are known, of the key of all
/// jobs.
// Not inlined: its frame is not for backends that have a body of their own.
#[inline(never)]
pub(crate) fn verify_by_rows<'a, P: ParameterSet>(
    kernels: &'static Kernels,
    permutation: Permutation,
    a_hat: Option<&[NttPoly]>,
    job: &dyn Fn(usize) -> Job<'a>,
    results: &mut [Result<(), VerifyError>],
) {
    let rows = Rows::<P> {
        kernels,
        permutation,
        a_hat,
        set: PhantomData,
    };
    verify_internal::<_, 1>(rows, &P::PARAMS, job, results);
}

/// Row `i` of A, followed by NTT(-t1[i] 2^13), so that one product of l + 1
/// terms gives `A z - c t1 2^13`. `a_hat` has all entries of A, if they are known. `out` has l + 1
/// entries; 0 <= out < q.
pub(crate) fn expand_row(
    kernels: &Kernels,
    p: &Params,
    pk: &PublicKeyParts<'_>,
    i: usize,
    a_hat: Option<&[NttPoly]>,
    out: &mut [NttPoly],
) {
    let Some((t1_hat, a_row)) = out.split_last_mut() else {
        return;
    };
    match a_hat {
        Some(a_hat) => {
            for (to, from) in a_row.iter_mut().zip(&a_hat[i * p.l..]) {
                to.0 = from.0;
            }
        }
        None => (kernels.expand_a)(pk.rho, p.l, i * p.l, a_row),
    }
    t1_column(kernels, &pk.t1[i * T1_POLY_LEN..][..T1_POLY_LEN], t1_hat);
}

/// NTT(-t1[i] 2^13) from the 320 packed bytes of t1[i]; 0 <= out < q.
pub(crate) fn t1_column(kernels: &Kernels, bytes: &[u8], out: &mut NttPoly) {
    let mut t1 = Poly::zeroed();
    pack::unpack_t1_2d(bytes, &mut t1);
    (kernels.ntt)(&t1, out);
    for a in &mut out.0 {
        *a = canonical(-*a);
    }
}
