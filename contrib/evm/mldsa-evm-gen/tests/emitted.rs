//! Bounds hold on intervals; keys and words convert both ways.

use mldsa_core::internals::{Q, rounding};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};
use mldsa_evm_gen::key::{self, ExpandedKey};
use mldsa_evm_gen::lanes::{Layout, ones};
use mldsa_evm_gen::ntt::{self, Kernel, Range};
use mldsa_evm_gen::{keccak, tables, verifier};

/// The range of every word after `kernels`, if all words begin in `start`.
fn through(kernels: &[Kernel], start: Range, name: &str) -> Result<Range, String> {
    kernels.iter().try_fold(start, |range, kernel| {
        let ranges = kernel.bounds(&vec![range; kernel.words])?;
        let low = ranges.iter().map(|range| range.low).min().unwrap();
        let high = ranges.iter().map(|range| range.high).max().unwrap();
        let [from, to] = [low, high].map(|end| end as f64 / f64::from(Q));
        println!("{name}: [{from:.3} q, {to:.3} q]");
        Ok(Range { low, high })
    })
}

/// The range of z, shifted by the bias of its transform.
fn start_of(layout: &Layout) -> Range {
    let gamma1 = layout.p.gamma1() as u128;
    let bias = u128::from(layout.start_bias) * Q as u128;
    Range {
        low: bias - gamma1,
        high: bias + gamma1,
    }
}

/// No lane overflows for any z that passes the norm check and any matrix of 23 bits.
#[test]
fn bounds_hold_on_intervals() {
    for layout in Layout::all() {
        let set = layout.name;
        let start = start_of(&layout);
        let z = through(&ntt::forward(&layout), start, &format!("{set} forward")).unwrap();
        // Every lane of the product is a sum of at most all columns of a group; the
        // groups are added before the sum is cut off.
        let sum = layout.columns() as u128 * z.high * ((1 << 23) - 1);
        let (bits, width) = ((sum as f64).log2(), layout.forward.width);
        println!("{set} product: 2^{bits:.2} of 2^{width}");
        assert!(sum < 1 << width);

        let high = Q as u128 - 1;
        let start = Range { low: 0, high };
        let w = through(&ntt::inverse(&layout), start, &format!("{set} inverse")).unwrap();
        // Inputs of HighBits and the hints.
        assert!(w.high < 1 << 31);
    }
}

/// A bound that does not hold is found: one bit less for the lanes.
#[test]
fn narrower_lanes_are_rejected() {
    for mut layout in Layout::all() {
        let holds = |layout: &Layout| {
            through(&ntt::forward(layout), start_of(layout), "narrower lanes").is_ok()
        };
        assert!(holds(&layout));
        layout.forward.width = layout.forward.shoup + layout.forward.quotient - 1;
        assert!(!holds(&layout));
    }
}

/// HighBits by product and shift, for every value that the fold leaves, and the fold
/// for every value of the bits above.
#[test]
fn high_bits_of_every_value() {
    for layout in [Layout::of(44), Layout::of(65)] {
        let division = verifier::division(&layout);
        let gamma2 = layout.p.gamma2;
        let values = layout.w1_values();
        let fold = |v: u64| v - ((v >> 23) & verifier::HIGH_FOLD) * Q as u64;
        let highest = (1 << 23) - 1 + verifier::HIGH_FOLD.min(255) * ((1 << 23) - Q as u64);
        for v in 0..=highest {
            let t = (v + (1 << 24) - Q as u64) >> 24 & 1;
            let high = ((v - t + gamma2 as u64 - 1) * division.factor) >> division.shift;
            let high = (high & if values == 44 { 63 } else { 15 }) % values;
            let want = rounding::high_bits(gamma2, (v % Q as u64) as i32);
            assert_eq!(high, want as u64, "{v}");
        }
        for above in 0..256u64 {
            for below in [0, 1, (1 << 23) - 1] {
                let v = above << 23 | below;
                assert!(fold(v) <= highest && fold(v) % Q as u64 == v % Q as u64);
            }
        }
    }
}

fn keys() -> [(Layout, Vec<u8>); 3] {
    fn of<P: ParameterSet>(set: u8) -> (Layout, Vec<u8>) {
        let key = SigningKey::<P>::from_seed(&[1; 32]);
        (Layout::of(set), key.verifying_key().as_ref().to_vec())
    }
    [of::<MlDsa44>(44), of::<MlDsa65>(65), of::<MlDsa87>(87)]
}

#[test]
fn words_hold_a_key_and_nothing_else() {
    for (layout, pk) in keys() {
        let key = ExpandedKey::new(layout, &pk).unwrap();
        let words = key.words();
        assert_eq!(words.len(), layout.words_len());
        let read = |words: &[u8]| ExpandedKey::from_words(layout, key.rho, key.tr, words);
        assert!(read(&words).unwrap().rows == key.rows);
        assert!(read(&words[1..]).is_none());
        // A bit between the coefficients, and a coefficient that is not below q.
        for word in [0, words.len() / 64] {
            let at = 32 * word;
            let value = ruint::aliases::U256::from_be_slice(&words[at..at + 32]);
            for other in [
                value | ones(24) << layout.lift(),
                value | (ruint::aliases::U256::ONE << (layout.lift() + 23)),
            ] {
                let mut words = words.clone();
                words[at..at + 32].copy_from_slice(&other.to_be_bytes::<32>());
                assert!(read(&words).is_none());
            }
        }
    }
}

#[test]
fn codes_fit_and_are_cut_at_words() {
    assert_eq!(tables::code().len(), key::CODE_LIMIT);
    assert_eq!(tables::code()[0], 0);
    for (layout, pk) in keys() {
        let key = ExpandedKey::new(layout, &pk).unwrap();
        let codes = key.codes(&vec![[3; 20]; key::parts(&layout) - 1]);
        assert!(
            codes
                .iter()
                .all(|code| code.len() <= key::CODE_LIMIT && code[0] == 0)
        );
        let mut words: Vec<u8> = Vec::new();
        for segment in key::segments(&layout) {
            assert_eq!(segment.len % 32, 0);
            words.extend(&codes[segment.part][segment.from..segment.from + segment.len]);
        }
        assert_eq!(words, key.words());
    }
}

#[test]
fn round_constants_of_fips_202() {
    let constants = keccak::round_constants();
    assert_eq!(constants[0], 1);
    assert_eq!(constants[1], 0x8082);
    assert_eq!(constants[23], 0x8000_0000_8000_8008);
}
