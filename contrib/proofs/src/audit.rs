//! The domain against concrete values: on random inputs each word has to be congruent to its
//! form and inside its range, and each atom what its definition says.

use rustc_hash::FxHashMap;

use crate::evaluate::{Item, Values, evaluate, literal, order};
use crate::forms::{Definition, Form};
use crate::semantics::Random;
use crate::terms::{Op, Terms};

const CASES: usize = 12;

/// Compares all words and atoms; their number.
pub(crate) fn audit(terms: &Terms, seed: u64) -> Result<usize, String> {
    let mut random = Random(seed | 1);
    let is_input = |item: Item| matches!(item, Item::Word(word) if matches!(terms.words[word as usize].op, Op::Input(_)));
    let mut values = Values::default();
    for &word in &terms.inputs {
        let w = &terms.words[word as usize];
        let of = |n: usize, r: u64| match n {
            0 => w.low,
            1 => w.high,
            _ => w.low + (i128::from(r) * 7919).rem_euclid(w.high - w.low + 1),
        };
        let list = (0..CASES)
            .map(|n| of(n, random.next()) as u64 & crate::terms::mask(w.width))
            .collect();
        values.insert(Item::Word(word), list);
    }
    let mut targets: Vec<Item> = (0..terms.words.len() as u32).map(Item::Word).collect();
    for atom in &terms.atoms {
        if let Definition::Bool(lit) = atom.definition {
            targets.push(Item::Node(lit >> 1));
        }
    }
    let plan = order(terms, &targets, &is_input);
    evaluate(terms, &plan, &mut values, CASES);
    let mut owners: FxHashMap<u32, u32> = FxHashMap::default();
    for (id, w) in terms.words.iter().enumerate() {
        if let Some(atom) = w.form.as_atom() {
            owners.entry(atom).or_insert(id as u32);
        }
    }
    // Values of atoms; `None` where 128 bits do not hold what is computed.
    let mut atoms: Vec<Vec<Option<i128>>> = Vec::with_capacity(terms.atoms.len());
    for (id, atom) in terms.atoms.iter().enumerate() {
        let of_word = |word: u32, low: i128, high: i128| -> Vec<Option<i128>> {
            let w = &terms.words[word as usize];
            let fits = |v: &u64| {
                [i128::from(*v), i128::from(*v) - (1i128 << w.width)]
                    .into_iter()
                    .find(|v| (low..=high).contains(v))
            };
            values[&Item::Word(word)].iter().map(fits).collect()
        };
        let column: Vec<Option<i128>> = match &atom.definition {
            Definition::Input(n) => of_word(terms.inputs[*n as usize], atom.low, atom.high),
            Definition::Opaque => match owners.get(&(id as u32)) {
                Some(&word) => {
                    let column = of_word(word, atom.low, atom.high);
                    if column.contains(&None) {
                        return Err(format!("the value of word {word} is out of its range"));
                    }
                    column
                }
                None => vec![None; CASES],
            },
            Definition::Form(form) => (0..CASES).map(|n| value(form, &atoms, n)).collect(),
            &Definition::Residue(ref form, bits, signed) => (0..CASES)
                .map(|n| {
                    let rest = value(form, &atoms, n)?.rem_euclid(1 << bits);
                    let is_negative = signed && rest >> (bits - 1) == 1;
                    Some(rest - (i128::from(is_negative) << bits))
                })
                .collect(),
            &Definition::Product(a, b) => (0..CASES)
                .map(|n| atoms[a as usize][n]?.checked_mul(atoms[b as usize][n]?))
                .collect(),
            &Definition::Bool(lit) => {
                let bits = literal(&values, lit, CASES).into_iter();
                bits.map(|bit| Some(bit.into())).collect()
            }
        };
        for v in column.iter().flatten() {
            if *v < atom.low || *v > atom.high {
                return Err(format!("atom {id} is {v}, out of its range"));
            }
        }
        atoms.push(column);
    }
    let mut checked = 0;
    for (id, w) in terms.words.iter().enumerate() {
        for (n, &got) in values[&Item::Word(id as u32)].iter().enumerate() {
            let Some(form) = value(&w.form, &atoms, n) else {
                continue;
            };
            if form.rem_euclid(1i128 << w.width) != i128::from(got) {
                return Err(format!(
                    "word {id} is {got}, and its form {form}: {:?}",
                    w.op
                ));
            }
            if form < w.low || form > w.high {
                return Err(format!("word {id} is out of its range: {:?}", w.op));
            }
            checked += 1;
        }
    }
    Ok(checked)
}

/// The value of a form in case `n`; an odd numerator is no integer, which is an error of the
/// domain that the comparison with the word shows.
fn value(form: &Form, atoms: &[Vec<Option<i128>>], n: usize) -> Option<i128> {
    let mut sum = form.constant;
    for &(atom, k) in &form.terms {
        sum = sum.checked_add(atoms[atom as usize][n]?.checked_mul(k)?)?;
    }
    let whole = sum >> form.shift;
    assert!(whole << form.shift == sum, "a form that is no integer");
    Some(whole)
}
