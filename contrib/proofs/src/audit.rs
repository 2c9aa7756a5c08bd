//! The domain against concrete values: on random inputs each word has to be congruent to its
//! form, inside its range and congruent to its vector modulo q, and each atom what its definition
//! says.

use rustc_hash::FxHashMap;

use crate::evaluate::{Item, Values, evaluate, literal, order};
use crate::forms::{Definition, Form, UNKNOWN};
use crate::reference::Q;
use crate::semantics::Random;
use crate::terms::{Lit, Op, Terms};

const CASES: usize = 12;

/// Values of a word or an atom in each case; `None` where 128 bits do not hold what is computed.
type Column = Vec<Option<i128>>;
/// Residues of a variable in each case, if they are known.
type Residues = Option<Vec<u64>>;

/// Compares all words and atoms on the ends of the ranges of the inputs and on random values; the
/// number of comparisons.
pub(crate) fn audit(terms: &Terms, seed: u64) -> Result<usize, String> {
    let mut random = Random(seed | 1);
    let mut inputs = Values::default();
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
        inputs.insert(Item::Word(word), list);
    }
    let bits = terms.atoms.iter().filter_map(|atom| match atom.definition {
        Definition::Bool(lit) => Some(lit),
        _ => None,
    });
    let values = values(terms, inputs, bits, CASES);
    audit_cases(terms, &values, CASES)
}

/// The values of all words and of these literals.
pub(crate) fn values(
    terms: &Terms,
    inputs: Values,
    bits: impl Iterator<Item = Lit>,
    cases: usize,
) -> Values {
    let is_input = |item: Item| matches!(item, Item::Word(word) if matches!(terms.words[word as usize].op, Op::Input(_)));
    let words = (0..terms.words.len() as u32).map(Item::Word);
    let bits = bits.filter(|&lit| lit > 1).map(|lit| Item::Node(lit >> 1));
    let targets: Vec<Item> = words.chain(bits).collect();
    let plan = order(terms, &targets, &is_input);
    let mut values = inputs;
    evaluate(terms, &plan, &mut values, cases);
    values
}

/// Compares forms, ranges and vectors with these values; the number of comparisons.
pub(crate) fn audit_cases(terms: &Terms, values: &Values, cases: usize) -> Result<usize, String> {
    let atoms = atoms(terms, values, cases)?;
    let variables = variables(terms, &atoms);
    let mut checked = 0;
    for (id, atom) in terms.atoms.iter().enumerate() {
        if let Some(q) = &atom.q {
            checked += modulo_q(q, &variables, &atoms[id]).map_err(|n| {
                format!(
                    "atom {id} is {:?} and not its vector in case {n}: {atom:?}",
                    atoms[id][n]
                )
            })?;
        }
        if let Some((of, k, greater)) = atom.order {
            for (bit, of) in atoms[id].iter().zip(&atoms[of as usize]) {
                if let (Some(bit), Some(of)) = (bit, of)
                    && (*bit == 1) != ((*of > k) == greater)
                {
                    return Err(format!(
                        "atom {id} is {bit}, and {of} > {k} is not {greater}"
                    ));
                }
                checked += 1;
            }
        }
    }
    for (id, w) in terms.words.iter().enumerate() {
        let column: Column = (0..cases).map(|n| value(&w.form, &atoms, n)).collect();
        for (form, &got) in column.iter().zip(&values[&Item::Word(id as u32)]) {
            let Some(form) = form else { continue };
            if form.rem_euclid(1i128 << w.width) != i128::from(got) {
                return Err(format!(
                    "word {id} is {got}, and its form {form}: {:?}",
                    w.op
                ));
            }
            if w.high < UNKNOWN && (*form < w.low || *form > w.high) {
                return Err(format!("word {id} is out of its range: {:?}", w.op));
            }
            checked += 1;
        }
        if let Some(q) = terms.mod_q(&w.form) {
            checked += modulo_q(&q, &variables, &column)
                .map_err(|n| format!("word {id} is not its vector in case {n}: {:?}", w.op))?;
        }
    }
    Ok(checked)
}

/// The values of all atoms, each of which has to be what its definition says and in its range.
fn atoms(terms: &Terms, values: &Values, cases: usize) -> Result<Vec<Column>, String> {
    let mut owners: FxHashMap<u32, u32> = FxHashMap::default();
    for (id, w) in terms.words.iter().enumerate() {
        if let Some(atom) = w.form.as_atom() {
            owners.entry(atom).or_insert(id as u32);
        }
    }
    let mut atoms: Vec<Column> = Vec::with_capacity(terms.atoms.len());
    for (id, atom) in terms.atoms.iter().enumerate() {
        // The only number of the range that is congruent to the word, if it has one.
        let of_word = |word: u32| -> Result<Column, String> {
            let full = 1i128 << terms.words[word as usize].width;
            if atom.high - atom.low >= full {
                return Ok(vec![None; cases]);
            }
            let above = |v: &u64| atom.low + (i128::from(*v) - atom.low).rem_euclid(full);
            let column: Column = values[&Item::Word(word)]
                .iter()
                .map(|v| Some(above(v)))
                .collect();
            match column.iter().flatten().all(|v| *v <= atom.high) {
                true => Ok(column),
                false => Err(format!("the value of word {word} is out of its range")),
            }
        };
        let column: Column = match &atom.definition {
            Definition::Input(n) => of_word(terms.inputs[*n as usize])?,
            Definition::Opaque => match owners.get(&(id as u32)) {
                Some(&word) => of_word(word)?,
                None => vec![None; cases],
            },
            Definition::Form(form) => (0..cases).map(|n| value(form, &atoms, n)).collect(),
            &Definition::Residue(ref form, bits, signed) => (0..cases)
                .map(|n| {
                    let rest = value(form, &atoms, n)?.rem_euclid(1 << bits);
                    let is_negative = signed && rest >> (bits - 1) == 1;
                    Some(rest - (i128::from(is_negative) << bits))
                })
                .collect(),
            &Definition::Product(a, b) => (0..cases)
                .map(|n| atoms[a as usize][n]?.checked_mul(atoms[b as usize][n]?))
                .collect(),
            &Definition::Bool(lit) => {
                let bits = literal(values, lit, cases).into_iter();
                bits.map(|bit| Some(bit.into())).collect()
            }
        };
        for v in column.iter().flatten() {
            if atom.high < UNKNOWN && (*v < atom.low || *v > atom.high) {
                return Err(format!("atom {id} is {v}, out of its range"));
            }
        }
        atoms.push(column);
    }
    Ok(atoms)
}

/// Residues of the variables over Z_q: of inputs, and of products of variables.
fn variables(terms: &Terms, atoms: &[Column]) -> Vec<Residues> {
    let residues = |column: &Column| -> Residues {
        let residues = column
            .iter()
            .map(|v| Some((*v)?.rem_euclid(Q.into()) as u64));
        residues.collect()
    };
    let mut known: Vec<Residues> = vec![None; terms.variables as usize];
    for (atom, column) in terms.atoms.iter().zip(atoms) {
        if let (Definition::Input(_), Some(vector)) = (&atom.definition, &atom.q) {
            known[vector[0].0 as usize] = residues(column);
        }
    }
    // A product has a later variable than its factors.
    let mut products: Vec<_> = terms.product_variables.iter().collect();
    products.sort_unstable_by_key(|&(_, product)| product);
    for (&(x, y), &product) in products {
        let factors = known[x as usize].iter().zip(&known[y as usize]);
        let products = factors.map(|(x, y)| x.iter().zip(y).map(|(x, y)| x * y % u64::from(Q)));
        known[product as usize] = products.map(Iterator::collect).next();
    }
    known
}

/// The number of cases in which values are congruent to a vector; the first one in which they are
/// not.
fn modulo_q(
    vector: &[(u32, u32)],
    variables: &[Residues],
    column: &Column,
) -> Result<usize, usize> {
    let mut checked = 0;
    for (n, value) in column.iter().enumerate() {
        let Some(value) = value else { continue };
        let terms = vector.iter().map(|&(variable, k)| match variable {
            0 => Some(u64::from(k)),
            _ => Some(u64::from(k) * variables[variable as usize].as_ref()?[n] % u64::from(Q)),
        });
        let Some(sum) = terms.sum::<Option<u64>>() else {
            continue;
        };
        if value.rem_euclid(Q.into()) != i128::from(sum % u64::from(Q)) {
            return Err(n);
        }
        checked += 1;
    }
    Ok(checked)
}

/// The value of a form in case `n`; an odd numerator is no integer, which is an error of the
/// domain that the comparison with the word shows.
fn value(form: &Form, atoms: &[Column], n: usize) -> Option<i128> {
    let mut sum = form.constant;
    for &(atom, k) in &form.terms {
        sum = sum.checked_add(atoms[atom as usize][n]?.checked_mul(k)?)?;
    }
    let whole = sum >> form.shift;
    assert!(whole << form.shift == sum, "a form that is no integer");
    Some(whole)
}
