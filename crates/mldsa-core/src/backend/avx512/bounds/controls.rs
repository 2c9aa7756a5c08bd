//! Negative controls: what the bounds exclude is detected.

use super::*;

macro_rules! controls {
    ($($name:ident, $expected:literal, $body:block)+) => {$(
        #[test]
        #[should_panic(expected = $expected)]
        fn $name() $body
    )+};
}
controls! {
    a_wrong_ratio_is_noticed, "the ratio of another factor", {
        Intervals::new(-1, 1).nearest(Intervals::point(1_753), [1_753.0 / 8_380_415.0; 16]);
    }
    a_ratio_of_the_wrong_sign_is_noticed, "the ratio of another factor", {
        Intervals::new(-1, 1).nearest(Intervals::point(1_753), [-1_753.0 / Q as f32; 16]);
    }
    a_last_level_of_too_much_is_noticed, "too far for `scaled_ends`", {
        let (a, b) = (Intervals::point(200 * Q), Intervals::point(56 * Q + 1));
        a.scaled_ends(b, [(1, 0); 2], EvenLanes::new());
    }
    a_transform_of_too_much_is_noticed, "i32::MAX", {
        let bound = i64::from(i32::MAX) - 8 * Q64;
        ntt_registers(&mut [Intervals::new(-bound, bound); 16]);
    }
    an_inverse_transform_without_reduction_is_noticed, "i32::MAX", {
        inv_ntt_registers::<_, Nearest>(&mut [Intervals::new(-2 * Q64, 2 * Q64); 16]);
    }
    an_inverse_transform_of_a_secret_without_reduction_is_noticed, "i32::MAX", {
        inv_ntt_registers::<_, Shoup>(&mut [Intervals::new(-2 * Q64, 2 * Q64); 16]);
    }
    a_signed_product_of_too_much_is_noticed, "contract", {
        let a = Intervals::new(-17 * Q64, 17 * Q64);
        a.montgomery(a.product(a), EvenLanes::new());
    }
    a_wrong_table_is_noticed, "the quotient of another factor", {
        let (w, quotient) = (Intervals::point(1_753), Intervals::point(1_754));
        Intervals::new(-1, 1).shoup(w, quotient, quotient, EvenLanes::new());
    }
    a_transform_made_canonical_without_reduction_is_noticed, "too far for `canonical`", {
        transformed(Intervals::new(-1, 1))[0].canonical();
    }
    a_product_of_two_biased_entries_is_noticed, "beyond 52 bits", {
        let biased = Intervals::new(0, 22 * Q64 - 1);
        row(7, Intervals::new(0, Q64 - 1), (biased, biased));
    }
    // 2^32 q / 22 q^2 is 23 and some.
    a_row_of_too_many_terms_is_noticed, "in (", {
        let entry = Intervals::new(0, Q64 - 1);
        let biased = Intervals::new(0, 22 * Q64 - 1);
        within(&[row(30, entry, (entry, biased)); 16], -Q64 - 1, Q64);
    }
    a_negative_entry_is_noticed, "an entry of unsigned products", {
        row(
            1,
            Intervals::new(-1, 1),
            (Intervals::point(0), Intervals::point(0)),
        );
    }
}
