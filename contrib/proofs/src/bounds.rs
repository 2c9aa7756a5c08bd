//! Ranges of arguments and results of the kernels, as the library states them next to its table:
//! what one kernel returns has to be what the next one takes.

use mldsa_core::internals::kernels::RANGES;

pub(crate) type Range = (i128, i128);

/// Kernel and result, kernel and argument that receives it.
const SEAMS: [[(&str, &str); 2]; 21] = [
    [("unpack_mask_ntt", "out"), ("commit_row", "y_hat")],
    [("unpack_mask_ntt", "out"), ("respond_row", "y_hat")],
    [("unpack_eta_ntt", "out"), ("public_row", "s1_hat")],
    [("unpack_eta_ntt", "out"), ("respond_row", "s1_hat")],
    [("unpack_eta_ntt", "out"), ("low_bits_row", "s2_hat")],
    [("unpack_t0_ntt", "out"), ("hint_row", "t0_hat")],
    [("unpack_z_ntt", "out"), ("row_product", "b")],
    [("expand_a", "out"), ("public_row", "a")],
    [("expand_a", "out"), ("commit_row", "a")],
    [("expand_a", "out"), ("row_product", "a")],
    [("commit_row", "w"), ("low_bits_row", "w")],
    [("low_bits_row", "w"), ("hint_row", "w - c s2")],
    [("row_product", "out"), ("inv_ntt", "in")],
    [("row_product", "out"), ("inv_ntt_use_hint", "w_hat")],
    [("prepare", "out"), ("row_product", "a")],
    [("inv_ntt", "out"), ("ntt", "in")],
    [("unpack_mask_ntt", "out"), ("product_inv_ntt", "a")],
    [("unpack_eta_ntt", "out"), ("product_inv_ntt", "b")],
    [("ntt", "c_hat"), ("respond_row", "c_hat")],
    [("ntt", "c_hat"), ("low_bits_row", "c_hat")],
    [("ntt", "c_hat"), ("hint_row", "c_hat")],
];

fn stated(kernel: &str, name: &str) -> Option<Range> {
    let mut all = RANGES.iter();
    let found = all.find(|(entry, argument, ..)| *entry == kernel && *argument == name)?;
    Some((found.2.into(), found.3.into()))
}

/// The range of an argument or a result of a kernel.
///
/// # Panics
/// Where the library states none: the row is open then.
pub(crate) fn of(kernel: &str, name: &str) -> Range {
    match stated(kernel, name) {
        Some(range) => range,
        None => panic!("no range of {name} of {kernel} is stated"),
    }
}

fn fits(made: Range, taken: Range) -> bool {
    made.0 <= made.1 && made.0 >= taken.0 && made.1 <= taken.1
}

/// Whether every result is in the range of the argument that receives it.
pub(crate) fn check() -> bool {
    let mut bad = 0;
    for [(from, result), (to, argument)] in SEAMS {
        let (made, taken) = (stated(from, result), stated(to, argument));
        let holds = made
            .zip(taken)
            .is_some_and(|(made, taken)| fits(made, taken));
        if !holds {
            println!("{result} of {from} ({made:?}) is not in {argument} of {to} ({taken:?})");
            bad += 1;
        }
    }
    println!(
        "seams between kernels: {}, that do not fit: {bad}",
        SEAMS.len()
    );
    bad == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Q;

    #[test]
    fn seams_fit() {
        assert!(check());
    }

    #[test]
    fn a_larger_growth_of_the_transform_does_not_fit() {
        let (made, taken) = (of("ntt", "c_hat"), of("respond_row", "c_hat"));
        assert!(fits(made, taken));
        let more = 190 * i128::from(Q);
        assert!(!fits((made.0 - more, made.1 + more), taken));
        assert!(!fits((1, 0), taken));
    }
}
