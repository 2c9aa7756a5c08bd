//! Lanes at both ends of their ranges: the emitted code computes the same as plain
//! arithmetic computes.

use evm_bench::contracts::Deployed;
use mldsa_core::internals::{NttPoly, Poly, Q, ntt};
use mldsa_evm_gen::key::ExpandedKey;
use mldsa_evm_gen::lanes::{Lanes, Layout, ones};
use revm::primitives::U256;

/// Words of lanes from polynomials; lane i is `lanes[i]`.
fn words(shape: Lanes, lanes: &[Vec<u64>]) -> Vec<u8> {
    (0..256)
        .flat_map(|j| {
            let word = lanes
                .iter()
                .enumerate()
                .fold(U256::ZERO, |word, (i, lane)| {
                    word | (U256::from(lane[j]) << (shape.width * i))
                });
            word.to_be_bytes::<32>()
        })
        .collect()
}

fn lanes(shape: Lanes, words: &[u8]) -> Vec<Vec<u64>> {
    (0..shape.count)
        .map(|i| {
            words
                .chunks_exact(32)
                .map(|word| {
                    let lane = (U256::from_be_slice(word) >> (shape.width * i))
                        & U256::from_limbs(ones(shape.width).into_limbs());
                    u64::try_from(lane).unwrap()
                })
                .collect()
        })
        .collect()
}

fn residues(lane: &[u64]) -> Vec<i32> {
    lane.iter().map(|&a| (a % Q as u64) as i32).collect()
}

fn forward(lane: &[u64]) -> Vec<i32> {
    let (mut from, mut to) = (Poly([0; 256]), NttPoly([0; 256]));
    from.0.copy_from_slice(&residues(lane));
    ntt::ntt(&from, &mut to);
    to.0.iter().map(|&a| a.rem_euclid(Q)).collect()
}

/// Patterns of largest and smallest values: all of one, alternating in every period.
fn patterns(low: u64, high: u64) -> Vec<Vec<u64>> {
    let alternating = |bit: usize, first: u64, second: u64| {
        let value = |j: usize| if j >> bit & 1 == 0 { first } else { second };
        (0..256).map(value).collect()
    };
    let mut list = vec![vec![low; 256], vec![high; 256]];
    for bit in 0..8 {
        list.extend([alternating(bit, low, high), alternating(bit, high, low)]);
    }
    list
}

/// Patterns of the extremes of z.
fn z_patterns(layout: &Layout) -> Vec<Vec<u64>> {
    let bias = layout.start_bias * Q as u64;
    let gamma1 = layout.p.gamma1() as u64;
    patterns(bias - gamma1, bias + gamma1)
}

#[test]
fn transforms_at_their_extremes() {
    for layout in Layout::all() {
        let mut deployed = Deployed::new(layout);
        let kernels = deployed.deploy_with_tables("Kernels");
        let patterns = z_patterns(&layout);
        for shift in 0..patterns.len() {
            // Another pattern in every lane, so that a carry would show.
            let input: Vec<_> = (0..layout.forward.count)
                .map(|i| patterns[(i * 7 + shift) % patterns.len()].clone())
                .collect();
            let call = [&[0][..], &words(layout.forward, &input)].concat();
            let receipt = deployed.chain.call(kernels, call);
            assert!(receipt.success);
            for (out, lane) in lanes(layout.forward, &receipt.output).iter().zip(&input) {
                assert_eq!(
                    residues(out),
                    forward(lane),
                    "ML-DSA-{} forward",
                    layout.name
                );
            }
        }
        let patterns = self::patterns(0, Q as u64 - 1);
        for shift in 0..patterns.len() {
            let input: Vec<_> = (0..layout.inverse.count)
                .map(|i| patterns[(i * 5 + shift) % patterns.len()].clone())
                .collect();
            let call = [&[1][..], &words(layout.inverse, &input)].concat();
            let receipt = deployed.chain.call(kernels, call);
            for (out, lane) in lanes(layout.inverse, &receipt.output).iter().zip(&input) {
                assert!(out.iter().all(|&a| a < 1 << 31));
                // The inverse transform leaves out 256^-1.
                let scaled: Vec<u64> = residues(lane)
                    .iter()
                    .map(|&a| a as u64 * 256 % Q as u64)
                    .collect();
                assert_eq!(
                    forward(out),
                    scaled.iter().map(|&a| a as i32).collect::<Vec<_>>()
                );
            }
        }
    }
}

/// Both transforms around the product, with every coefficient of the matrix and of z
/// at its largest; a stranger's matrix may have 23 bits, and anything between them.
#[test]
fn product_at_its_extremes() {
    for layout in Layout::all() {
        let mut deployed = Deployed::new(layout);
        let kernels = deployed.deploy_with_tables("Kernels");
        let patterns = z_patterns(&layout);
        const ALL_BITS: i32 = (1 << 23) - 1;
        for (n, a) in [Q - 1, Q - 1, ALL_BITS, ALL_BITS, 1, 0]
            .into_iter()
            .enumerate()
        {
            let key = ExpandedKey {
                layout,
                rho: [0; 32],
                tr: [0; 64],
                // Words hold entries times 256^-1, so these are q - 1 there.
                rows: vec![
                    vec![[(i64::from(a) * 256 % i64::from(Q)) as i32; 256]; layout.columns()];
                    layout.p.k
                ],
            };
            let column = |column: usize| patterns[(column * (n + 1) + n) % patterns.len()].clone();
            let mut call = vec![2];
            if a == ALL_BITS {
                call.extend(vec![0xff; layout.group_len()]);
            } else {
                call.extend(&key.words()[..layout.group_len()]);
            }
            let count = layout.forward.count;
            for group in 0..layout.forward_groups() {
                // Column j of a group is in the mirrored lane.
                let mirrored: Vec<_> = (0..count)
                    .rev()
                    .map(|i| column(group * count + i))
                    .collect();
                call.extend(words(layout.forward, &mirrored));
            }
            let receipt = deployed.chain.call(kernels, call);
            assert!(receipt.success);
            let sum: Vec<i32> = (0..256)
                .map(|j| {
                    let sum: i64 = (0..layout.columns())
                        .map(|c| i64::from(forward(&column(c))[j]))
                        .sum();
                    (sum % i64::from(Q) * i64::from(a) % i64::from(Q) * 256 % i64::from(Q)) as i32
                })
                .collect();
            for out in lanes(layout.inverse, &receipt.output) {
                assert_eq!(forward(&out), sum, "ML-DSA-{}", layout.name);
            }
        }
    }
}
