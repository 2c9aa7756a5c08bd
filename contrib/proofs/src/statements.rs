//! Checks of value and range of the entries of a kernel table.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::bounds;
use crate::exhaust::{Checker, Cuts, Target};
use crate::forms::Vector;
use crate::keccak;
use crate::reference::{
    D, Module, Q, centred, decompose, inverse, inverse_ntt, ntt, power, power_2_round, use_hint,
};
use crate::row::{Checked, Cut, Execution, check_fields, domains, feature};
use crate::terms::{Lit, WordId};

/// Value, range, number of cases tried; or why both are open.
pub(crate) type Outcome = Result<(Checked, Checked, usize), String>;

pub(crate) const QI: i128 = Q as i128;

fn both(a: Checked, b: Checked) -> Checked {
    let (a, b) = (a?, b?);
    Ok(format!("{a}; {b}"))
}

pub(crate) fn linear(
    e: &mut Execution<'_>,
    output: usize,
    wanted: &[Vector],
    (low, high): (i128, i128),
) -> Outcome {
    let words = e.polynomial(output)?;
    Ok((e.equal(&words, wanted), e.within(&words, low, high), 0))
}

/// Of a result that may have all bits.
pub(crate) fn all_bits(value: Checked, cases: usize) -> Outcome {
    Ok((value, Ok("all bits".into()), cases))
}

/// Algorithm 42 times 2^32.
pub(crate) fn inverse_times_r(values: &[Vector]) -> Vec<Vector> {
    inverse_ntt(values)
        .iter()
        .map(|v| v.scaled(power(2, 32)))
        .collect()
}

/// Sums of products of the polynomials of two arguments, times 2^-32.
pub(crate) fn product(e: &mut Execution<'_>, a: usize, b: usize) -> Vec<Vector> {
    let (x, y) = (e.variables(a), e.variables(b));
    let scale = inverse(power(2, 32));
    let mut out: Vec<Vector> = (0..256).map(|_| Rc::default()).collect();
    for (n, (x, y)) in x.iter().zip(&y).enumerate() {
        let variable = e.machine.terms.product_variable(x[0].0, y[0].0);
        out[n % 256] = out[n % 256].add_scaled(&Rc::new(vec![(variable, 1)]), scale);
    }
    out
}

/// `top` minus the fields of an argument.
pub(crate) fn offset(e: &Execution<'_>, argument: usize, top: u32) -> Vec<Vector> {
    let constant: Vector = Rc::new(vec![(0, top)]);
    e.variables(argument)
        .iter()
        .map(|v| constant.add_scaled(v, Q - 1))
        .collect()
}

/// Whether the result says that all fields are good.
fn field_verdict(
    e: &Execution<'_>,
    argument: usize,
    width: u8,
    good: &dyn Fn(u64) -> bool,
) -> Checked {
    let domain: Rc<Vec<u64>> = Rc::new((0..1 << width).collect());
    let is_good = (0..1u64 << width).map(|field| good(field).into());
    let features = Rc::new(is_good.collect::<Vec<_>>());
    let words = e.inputs(argument).iter();
    let cuts: Cuts = words.clone().map(|&word| (word, domain.clone())).collect();
    let wanted: Vec<_> = words.map(|&word| (word, features.clone())).collect();
    Checker::new(&e.machine.terms, &cuts).verdict(e.verdict()?, &wanted)?;
    Ok("verdict".into())
}

/// The transform of `top` minus fields, and the verdict that all of them are good.
pub(crate) fn unpacked(
    e: &mut Execution<'_>,
    kernel: &str,
    (argument, width): (usize, u8),
    top: u32,
    good: &dyn Fn(u64) -> bool,
) -> Outcome {
    let wanted = ntt(&offset(e, argument, top));
    let range = bounds::of(kernel, "out");
    let (value, range, n) = linear(e, argument + 1, &wanted, range)?;
    Ok((
        both(value, field_verdict(e, argument, width, good)),
        range,
        n,
    ))
}

pub(crate) fn pack_eta(e: &mut Execution<'_>, eta: u64, width: u8) -> Outcome {
    let eta = eta as i64;
    let domain: Rc<Vec<u64>> = Rc::new((-eta..=eta).map(|s| u64::from(s as u32)).collect());
    let features = Rc::new((-eta..=eta).map(|s| (eta - s) as u64).collect::<Vec<_>>());
    let inputs = e.inputs(1).to_vec();
    let cuts: Cuts = inputs.iter().map(|&word| (word, domain.clone())).collect();
    let bits = e.output(2)?;
    let mut checker = Checker::new(&e.machine.terms, &cuts);
    let packed = check_fields(&mut checker, &bits, width.into(), &inputs, &features)?;
    all_bits(Ok(packed), checker.exhausted)
}

/// A check that needs cuts, and counts the cases that it tried.
fn with_cuts(
    e: &Execution<'_>,
    cuts: &[Cut],
    check: impl Fn(&mut Checker<'_>) -> Checked,
) -> (Checked, usize) {
    let domains = domains(cuts);
    let mut checker = Checker::new(&e.machine.terms, &domains);
    let result = check(&mut checker);
    (result, checker.exhausted)
}

/// Packed fields, field n a function of coefficient n.
pub(crate) fn packed(
    e: &Execution<'_>,
    cuts: &[Cut],
    bits: &[Lit],
    width: usize,
    of: impl Fn(u32) -> i64,
) -> (Checked, usize) {
    let features = feature(|r| of(r) as u64);
    with_cuts(e, cuts, |checker| {
        check_fields(checker, bits, width, &words(cuts), &features)
    })
}

fn words(cuts: &[Cut]) -> Vec<WordId> {
    cuts.iter().map(|cut| cut.word).collect()
}

/// Sums of polynomials, the second times a factor.
fn sums(a: &[Vector], b: &[Vector], factor: u32) -> Vec<Vector> {
    a.iter()
        .zip(b)
        .map(|(a, b)| a.add_scaled(b, factor))
        .collect()
}

/// Whether the result says that all coefficients are good.
fn verdict(
    e: &Execution<'_>,
    cuts: &[Cut],
    lit: Lit,
    good: impl Fn(u32) -> bool,
) -> (Checked, usize) {
    let good = feature(|r| good(r).into());
    let features: Vec<_> = cuts.iter().map(|cut| (cut.word, good.clone())).collect();
    with_cuts(e, cuts, |checker| {
        checker.verdict(lit, &features).map(|()| "verdict".into())
    })
}

pub(crate) fn commit_row(e: &mut Execution<'_>, gamma2: u64, width: usize) -> Outcome {
    let wanted = inverse_times_r(&product(e, 1, 2));
    let (value, range, _) = linear(e, 3, &wanted, bounds::of("commit_row", "w"))?;
    let (cuts, bits) = (e.cuts(&wanted)?, e.output(4)?);
    let high = |r| decompose(r, gamma2 as i64).0;
    let (packed, n) = packed(e, &cuts, &bits, width, high);
    Ok((both(value, packed), range, n))
}

pub(crate) fn low_bits(e: &mut Execution<'_>, gamma2: u64, bound: u64) -> Outcome {
    let w = e.variables(4);
    let product = inverse_times_r(&product(e, 2, 3));
    let wanted = sums(&w, &product, Q - 1);
    let (value, range, _) = linear(e, 4, &wanted, bounds::of("low_bits_row", "w"))?;
    let (cuts, lit) = (e.cuts(&wanted)?, e.verdict()?);
    let low = |r| decompose(r, gamma2 as i64).1.unsigned_abs();
    let (verdict, n) = verdict(e, &cuts, lit, |r| low(r) < bound);
    Ok((both(value, verdict), range, n))
}

pub(crate) fn respond(e: &mut Execution<'_>, bits: u8, bound: u64) -> Outcome {
    // (c s1 2^-32 + y 2^-32) 2^32 in coefficients.
    let scale = inverse(power(2, 32));
    let y = e.variables(4);
    let wanted = inverse_times_r(&sums(&product(e, 2, 3), &y, scale));
    let (cuts, out) = (e.cuts(&wanted)?, e.output(5)?);
    let is_small = |r| centred(r).unsigned_abs() < bound;
    let (verdict, n) = verdict(e, &cuts, e.verdict()?, is_small);
    // The bytes mean something for small coefficients only.
    let small: Vec<u32> = (0..Q).filter(|&r| is_small(r)).collect();
    let field = |&r: &u32| ((1i64 << bits) - centred(r)) as u64;
    let fields = Rc::new(small.iter().map(field).collect::<Vec<_>>());
    let all = domains(&cuts);
    let restrict = |domain: &Vec<u64>| small.iter().map(|&r| domain[r as usize]).collect();
    let mut known: FxHashMap<_, Rc<Vec<u64>>> = FxHashMap::default();
    let short = all.iter().map(|(&word, domain)| {
        let short = known.entry(Rc::as_ptr(domain));
        let short = short.or_insert_with(|| Rc::new(restrict(domain)));
        (word, short.clone())
    });
    let restricted: Cuts = short.collect();
    let mut checker = Checker::new(&e.machine.terms, &restricted);
    let width = usize::from(bits) + 1;
    let packed = check_fields(&mut checker, &out, width, &words(&cuts), &fields);
    all_bits(both(packed, verdict), n + checker.exhausted)
}

pub(crate) fn use_hints(e: &mut Execution<'_>, gamma2: u64, hint: bool, width: usize) -> Outcome {
    let wanted = inverse_times_r(&e.variables(1));
    let (cuts, bits) = (e.cuts(&wanted)?, e.output(3)?);
    let high = |r| use_hint(hint, r, gamma2 as i64);
    let (packed, n) = packed(e, &cuts, &bits, width, high);
    all_bits(packed, n)
}

pub(crate) fn public_row(e: &mut Execution<'_>, eta: u64) -> Outcome {
    let s2 = offset(e, 3, eta as u32);
    let product = inverse_times_r(&product(e, 1, 2));
    let wanted = sums(&product, &s2, 1);
    let (cuts, t1, t0) = (e.cuts(&wanted)?, e.output(4)?, e.output(5)?);
    let (t1, n) = packed(e, &cuts, &t1, 10, |r| power_2_round(r).0);
    let low = |r| (1 << (D - 1)) - power_2_round(r).1;
    let (t0, m) = packed(e, &cuts, &t0, 13, low);
    all_bits(both(t1, t0), n + m)
}

pub(crate) fn hint_row(e: &mut Execution<'_>, gamma2: u64) -> Outcome {
    let gamma = gamma2 as i64;
    let w = e.variables(3);
    let ct0 = inverse_times_r(&product(e, 1, 2));
    let sums = sums(&w, &ct0, 1);
    let (ct0, sums, bits) = (e.cuts(&ct0)?, e.cuts(&sums)?, e.output(4)?);
    let before = e.inputs(3).iter();
    let before: Vec<_> = before.map(|&word| Cut::canonical(word)).collect();
    let is_small = |r| centred(r).unsigned_abs() < gamma2;
    let (verdict, n) = verdict(e, &ct0, e.verdict()?, is_small);
    let high = feature(|r| decompose(r, gamma).0 as u64);
    // Algorithm 39 compares the high bits of r = sum and r + z = w.
    let all: Vec<_> = before.iter().chain(&sums).copied().collect();
    let (hints, m) = with_cuts(e, &all, |checker| {
        for n in 0..256 {
            let target = Target {
                bits: vec![bits[n]],
                features: vec![(before[n].word, high.clone()), (sums[n].word, high.clone())],
                combine: &|features| (features[0] != features[1]).into(),
            };
            let result = checker.check(&target, 1);
            result.map_err(|text| format!("hint {n}: {text}"))?;
        }
        Ok("256 hints".into())
    });
    all_bits(both(hints, verdict), n + m)
}

/// Whether an argument of interleaved states is permuted.
pub(crate) fn permutation(e: &mut Execution<'_>, argument: usize, lanes: usize) -> Checked {
    let out = e.output(argument)?;
    let inputs = e.inputs(argument).to_vec();
    for lane in 0..lanes {
        let input: Vec<_> = (0..25)
            .flat_map(|n| e.machine.terms.bits(inputs[n * lanes + lane]))
            .collect();
        let output: Vec<_> = (0..25)
            .flat_map(|n| out[64 * (n * lanes + lane)..64 * (n * lanes + lane + 1)].to_vec())
            .collect();
        keccak::check(&e.machine.terms, &input, &output)?;
    }
    let states = if lanes == 1 { "state" } else { "states" };
    Ok(format!("{lanes} {states} of 1600 bits, 24 rounds"))
}
