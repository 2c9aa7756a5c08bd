//! The table of a backend whose kernels take eight coefficients at a time.

use super::keccak::Cpu;
use super::{
    hint_row, pack, product, registers, reject, rows, secret_rows, secret_streams, verify,
};
use crate::backend::kernels::{
    Counter, ExpandAInterleaved, HashKernel, Kernels, VerifyKernel, entry, secret_entry,
};
use crate::lanes::interleaved::InterleavedHash;

/// What is not the same for every CPU that has the kernels of this folder.
pub(super) struct Own {
    pub(super) name: &'static str,
    pub(super) dispatched: Counter,
    pub(super) keccak_f1600: fn(&mut [u64; 25]),
    pub(super) expand_a_interleaved: Option<ExpandAInterleaved>,
    pub(super) mask_lanes: usize,
    pub(super) shake256: HashKernel,
    pub(super) verify: VerifyKernel,
}

/// The kernels of this folder for the CPU of the proof `C`, and those of `own`.
///
/// # Safety
/// Only CPUs that have the features of `C` may run what is in the table.
pub(super) const unsafe fn kernels<C: Cpu>(own: Own) -> Kernels {
    Kernels {
        name: own.name,
        dispatched: own.dispatched,
        keccak_f1600: own.keccak_f1600,
        ntt: secret_entry!(|src, dst| rows::transform(src, dst)),
        inv_ntt: secret_entry!(|src, dst| rows::inverse_transform(src, dst)),
        row_product: secret_entry!(|a, b, out| product::row_product(a, b, out)),
        product_inv_ntt: secret_entry!(|a, b, out| secret_rows::product_inv_ntt(a, b, out)),
        expand_a: entry!(|rho, l, first, out| {
            reject::expand_a(C::here(), rho, l, first, out, &mut InterleavedHash::empty())
        }),
        expand_a_interleaved: own.expand_a_interleaved,
        expand_s: secret_entry!(|rho_p, eta, first, out| {
            secret_streams::expand_s(C::here(), rho_p, eta, first, out)
        }),
        expand_masks: secret_entry!(|seeds, len, out| {
            secret_streams::expand_masks(C::here(), seeds, len, out)
        }),
        mask_lanes: own.mask_lanes,
        unpack_mask_ntt: secret_entry!(|gamma1_bits, bytes, out| {
            secret_rows::unpack_mask_ntt(gamma1_bits, bytes, out)
        }),
        pack_eta: secret_entry!(|eta, s, out| pack::pack_eta(eta, s, out)),
        unpack_eta_ntt: secret_entry!(|eta, bytes, out| {
            secret_rows::unpack_eta_ntt(eta, bytes, out)
        }),
        unpack_t0_ntt: secret_entry!(|bytes, out| secret_rows::unpack_t0_ntt(bytes, out)),
        public_row: secret_entry!(|eta, a_row, s1_hat, s2, t1, t0| {
            secret_rows::public_row(eta, a_row, s1_hat, s2, t1, t0)
        }),
        commit_row: secret_entry!(|gamma2, a_row, y_hat, w, w1| {
            secret_rows::commit_row(gamma2, a_row, y_hat, w, w1)
        }),
        respond_row: secret_entry!(|gamma1_bits, bound, c_hat, s1_hat, y_hat, out| {
            secret_rows::respond_row(gamma1_bits, bound, c_hat, s1_hat, y_hat, out)
        }),
        low_bits_row: secret_entry!(|gamma2, bound, c_hat, s2_hat, w| {
            secret_rows::low_bits_row(gamma2, bound, c_hat, s2_hat, w)
        }),
        hint_row: secret_entry!(|gamma2, c_hat, t0_hat, w, bitmap| {
            hint_row::hint_row(gamma2, c_hat, t0_hat, w, bitmap)
        }),
        unpack_z_ntt: entry!(|gamma1_bits, bound, bytes, out| {
            rows::unpack_z_ntt(gamma1_bits, bound, bytes, out)
        }),
        inv_ntt_use_hint: entry!(|gamma2, w_hat, hint, w1| {
            rows::inv_ntt_use_hint(gamma2, w_hat, hint, w1)
        }),
        prepare: Some(entry!(|p, pk, rows| verify::prepare(
            C::here(),
            p,
            pk,
            rows
        ))),
        clear_registers: entry!(|| registers::clear_registers()),
        shake256: Some(own.shake256),
        verify: Some(own.verify),
    }
}
