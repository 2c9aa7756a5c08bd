//! What is committed is what the generator writes; bounds hold on intervals; keys and
//! words convert both ways.

use std::path::Path;

use mldsa_core::hazmat::{Q, rounding};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, SigningKey};
use mldsa_evm_gen::key::{self, ExpandedKey};
use mldsa_evm_gen::lanes::{Layout, ones};
use mldsa_evm_gen::ntt::{self, Kernel, Range};
use mldsa_evm_gen::{contracts, keccak, tables, verifier};

#[test]
fn committed_contracts_are_the_emitted_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contracts/yul");
    let emitted = contracts();
    for (name, code) in &emitted {
        let path = folder.join(format!("{name}.yul"));
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            *code == committed,
            "{name}.yul differs: cargo run --bin emit contracts/yul"
        );
    }
    let files = std::fs::read_dir(folder).unwrap().count();
    assert_eq!(files, emitted.len());
}

/// The range of every word after a stage whose words all begin in `range`.
fn after(kernel: &Kernel, range: Range) -> Range {
    let ranges = kernel.bounds(&vec![range; kernel.words]).expect("bounds");
    Range {
        low: ranges.iter().map(|range| range.low).min().unwrap(),
        high: ranges.iter().map(|range| range.high).max().unwrap(),
    }
}

/// No lane overflows for any z that passes the norm check and any matrix of 23 bits.
#[test]
fn bounds_hold_on_intervals() {
    let q = Q as u128;
    for layout in Layout::all() {
        let gamma1 = layout.p.gamma1() as u128;
        let bias = u128::from(layout.start_bias) * q;
        let start = Range {
            low: bias - gamma1,
            high: bias + gamma1,
        };
        let z = ntt::forward(&layout).iter().fold(start, |range, kernel| {
            let range = after(kernel, range);
            println!(
                "ML-DSA-{} forward: [{:.3} q, {:.3} q]",
                layout.name,
                range.low as f64 / q as f64,
                range.high as f64 / q as f64
            );
            range
        });
        // Every lane of the product is a sum of at most all columns of a group; the
        // groups are added before the sum is cut off.
        let sum = layout.columns() as u128 * z.high * ((1 << 23) - 1);
        println!(
            "ML-DSA-{} product: 2^{:.2} of 2^{}",
            layout.name,
            (sum as f64).log2(),
            layout.forward.width
        );
        assert!(sum < 1 << layout.forward.width);

        let start = Range {
            low: 0,
            high: q - 1,
        };
        let w = ntt::inverse(&layout).iter().fold(start, |range, kernel| {
            let range = after(kernel, range);
            println!(
                "ML-DSA-{} inverse: [{:.3} q, {:.3} q]",
                layout.name,
                range.low as f64 / q as f64,
                range.high as f64 / q as f64
            );
            range
        });
        // Inputs of HighBits and the hints.
        assert!(w.high < 1 << 31);
    }
}

/// A bound that does not hold is found: one bit less for the lanes.
#[test]
fn narrower_lanes_are_refused() {
    for mut layout in Layout::all() {
        let q = Q as u128;
        let bias = u128::from(layout.start_bias) * q;
        let range = Range {
            low: bias - (1 << 19),
            high: bias + (1 << 19),
        };
        let fails = |layout: &Layout| {
            ntt::forward(layout)
                .iter()
                .try_fold(range, |range, kernel| {
                    kernel
                        .bounds(&vec![range; kernel.words])
                        .map(|ranges| Range {
                            low: ranges.iter().map(|r| r.low).min().unwrap(),
                            high: ranges.iter().map(|r| r.high).max().unwrap(),
                        })
                })
                .is_err()
        };
        assert!(!fails(&layout));
        layout.forward.width = layout.forward.shoup + layout.forward.quotient - 1;
        assert!(fails(&layout));
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
    [
        (
            44,
            SigningKey::<MlDsa44>::from_seed(&[1; 32])
                .verifying_key()
                .as_ref()
                .to_vec(),
        ),
        (
            65,
            SigningKey::<MlDsa65>::from_seed(&[1; 32])
                .verifying_key()
                .as_ref()
                .to_vec(),
        ),
        (
            87,
            SigningKey::<MlDsa87>::from_seed(&[1; 32])
                .verifying_key()
                .as_ref()
                .to_vec(),
        ),
    ]
    .map(|(set, pk)| (Layout::of(set), pk))
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
