//! The rounding functions over all of `0..q`: the model against the digest
//! that C2SP CCTV publishes, ours against the model.

use mldsa_core::internals::field::{add_q_if_negative, canonical, centred};
use mldsa_core::internals::rounding::{
    decompose, high_bits, low_bits, make_hint, power2round, use_hint_vartime,
};
use mldsa_kat::hash::Sink;
use mldsa_kat::model::{self, Q};
use mldsa_kat::set::{ML_DSA_44, ML_DSA_65};

const DIGEST: &str = "f930663417278156ab05d940294a77210a809c924d8ab63ec72f4526247602c7";

#[test]
fn model_gives_the_published_digest() {
    let (mut sink, mut lines) = (Sink::default(), Vec::new());
    for r in 0..Q {
        lines.clear();
        twelve_lines(r)
            .into_iter()
            .for_each(|number| write_line(&mut lines, number));
        sink.write(&lines);
    }
    assert_eq!(sink.hex(), DIGEST);
}

#[test]
fn ours_agree_with_the_model() {
    for r in 0..Q {
        let own = r as i32;
        let wide = |(high, low): (i32, i32)| (i64::from(high), i64::from(low));
        assert_eq!(wide(power2round(own)), model::power2round(r), "{r}");
        assert_eq!(i64::from(centred(own)), model::centered(r, Q), "{r}");
        assert_eq!(i64::from(add_q_if_negative(own - Q as i32)), r, "{r}");
        // Representatives, the first and the last that the bounds admit among them.
        for turns in [-255, -254, -128, -1, 0, 1, 127, 254] {
            assert_eq!(canonical(own + turns * Q as i32), own, "{r} {turns}");
        }
        for gamma2 in [ML_DSA_44.gamma2, ML_DSA_65.gamma2] {
            let own_gamma2 = gamma2 as i32;
            let (high, low) = model::decompose(gamma2, r);
            assert_eq!(wide(decompose(own_gamma2, own)), (high, low), "{r}");
            assert_eq!(i64::from(high_bits(own_gamma2, own)), high, "{r}");
            assert_eq!(i64::from(low_bits(own_gamma2, own)), low, "{r}");
            for hint in [false, true] {
                let got = use_hint_vartime(own_gamma2, hint.into(), own);
                assert_eq!(i64::from(got), model::use_hint(gamma2, hint, r), "{r}");
            }
            for z in [1, gamma2 - 1, gamma2, Q - 1] {
                let moved = (r + z) % Q;
                let changes = model::decompose(gamma2, moved).0 != high;
                let hint = make_hint(own_gamma2, own, moved as i32);
                assert_eq!(hint, i32::from(changes), "{r} + {z}");
            }
        }
    }
}

fn twelve_lines(r: i64) -> [i64; 12] {
    let centered = model::centered(r, Q);
    let (r1, r0) = model::power2round(r);
    let mut lines = [
        centered,
        centered.abs(),
        r1,
        r0.rem_euclid(Q),
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
    for (own, gamma2) in lines[4..]
        .chunks_mut(4)
        .zip([ML_DSA_44.gamma2, ML_DSA_65.gamma2])
    {
        let (high, low) = model::decompose(gamma2, r);
        own.copy_from_slice(&[high, model::use_hint(gamma2, true, r), low, low.abs()]);
    }
    lines
}

/// A hundred million numbers: faster than `write!`.
fn write_line(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    let (mut digits, mut rest, mut at) = ([0; 20], number.unsigned_abs(), 20);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
    out.push(b'\n');
}
