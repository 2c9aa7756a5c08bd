//! Instructions whose results have lanes of another width, or one lane for all.

use super::decode::Instruction;
use super::general::immediate;
use super::lanes::{Binary, Shape};
use crate::machine::Machine;
use crate::memory::{Bits, Step};
use crate::terms::{Extreme, Lit, Terms, WordId};
use crate::vector_arithmetic::Shift;

impl Machine<'_> {
    /// Destinations of lanes of twice the width.
    pub(super) fn widening(&mut self, i: &Instruction, m: &str, to: Shape) -> Step<bool> {
        let (stem, upper) = m.strip_suffix('2').map_or((m, false), |stem| (stem, true));
        let half = (to.count, upper);
        let signed = stem.starts_with('s');
        let narrow = to.lane / 2;
        match stem {
            "smull" | "smlal" => {
                let (a, b) = (
                    self.half_operand(i, 1, half)?,
                    self.half_operand(i, 2, half)?,
                );
                let (a, b) = (self.words(&a, narrow), self.words(&b, narrow));
                let t = &mut self.terms;
                let mut out: Vec<WordId> = a
                    .into_iter()
                    .zip(b)
                    .map(|(a, b)| t.wide(a, b, signed))
                    .collect();
                if !stem.ends_with("mull") {
                    let d = self.vector_operand(i, 0, 1)?;
                    let d = self.words(&d, to.lane);
                    let t = &mut self.terms;
                    for (product, d) in out.iter_mut().zip(d) {
                        *product = t.add(d, *product);
                    }
                }
                self.put_words(i, &out)
            }
            "saddw" | "uaddw" => {
                let a = self.vector_operand(i, 1, 1)?;
                let b = extended(&self.half_operand(i, 2, half)?, narrow, signed);
                let (a, b) = (self.words(&a, to.lane), self.words(&b, to.lane));
                let t = &mut self.terms;
                let out: Vec<WordId> = a.into_iter().zip(b).map(|(a, b)| t.add(a, b)).collect();
                self.put_words(i, &out)
            }
            "sshll" | "ushll" => {
                let a = extended(&self.half_operand(i, 1, half)?, narrow, signed);
                let by = immediate(i, 2)?;
                let bits = a
                    .chunks(to.lane)
                    .flat_map(|a| Shift::Left.of(a, by))
                    .collect();
                self.put_vector(i, bits)
            }
            "uaddlp" | "uadalp" if !upper => {
                let a = self.vector_operand(i, 1, 1)?;
                let a = self.words(&extended(&a, narrow, signed), to.lane);
                let t = &mut self.terms;
                let mut out: Vec<WordId> = a.chunks(2).map(|p| t.add(p[0], p[1])).collect();
                if stem.ends_with("alp") {
                    let d = self.vector_operand(i, 0, 1)?;
                    let d = self.words(&d, to.lane);
                    let t = &mut self.terms;
                    out.iter_mut()
                        .zip(d)
                        .for_each(|(sum, d)| *sum = t.add(d, *sum));
                }
                self.put_words(i, &out)
            }
            _ => Ok(false),
        }
    }

    /// Destinations of lanes of half the width; the forms on upper halves keep the lower one.
    pub(super) fn narrowing(&mut self, i: &Instruction, m: &str, to: Shape) -> Step<bool> {
        let (stem, upper) = m.strip_suffix('2').map_or((m, false), |stem| (stem, true));
        let wide = 2 * to.lane;
        if !matches!(stem, "xtn" | "shrn" | "addhn") {
            return Ok(false);
        }
        let a = self.vector_operand(i, 1, 1)?;
        let mut out: Bits = Vec::new();
        for (n, lane) in a.chunks(wide).enumerate() {
            out.extend(match stem {
                "xtn" => lane[..to.lane].to_vec(),
                "shrn" => Shift::Right.of(lane, immediate(i, 2)?)[..to.lane].to_vec(),
                _ => {
                    let b = self.vector_operand(i, 2, 1)?;
                    let t = &mut self.terms;
                    let (a, b) = (t.gather(lane), t.gather(&b[n * wide..(n + 1) * wide]));
                    let word = t.add(a, b);
                    t.bits(word)[to.lane..].to_vec()
                }
            });
        }
        if upper {
            let number = self.number_of(i, 0)?;
            let mut bits = self.vectors[number][..64].to_vec();
            bits.extend(out);
            return self.put_vector(i, bits);
        }
        self.put_vector(i, out)
    }

    /// One result of all lanes.
    pub(super) fn across(&mut self, i: &Instruction, m: &str, to: Shape) -> Step<bool> {
        let f: Binary = match m {
            "addv" => Terms::add,
            "smaxv" => |t, a, b| t.extreme(Extreme::MaxSigned, a, b),
            "umaxv" => |t, a, b| t.extreme(Extreme::MaxUnsigned, a, b),
            _ => return Ok(false),
        };
        let bits = self.vector_operand(i, 1, 1)?;
        let words = self.words(&bits, to.lane);
        let t = &mut self.terms;
        let all = words[1..]
            .iter()
            .fold(words[0], |all, &word| f(t, all, word));
        self.put_words(i, &[all])
    }
}

/// Lanes of twice the width.
pub(super) fn extended(bits: &[Lit], lane: usize, signed: bool) -> Bits {
    let mut out = Vec::with_capacity(2 * bits.len());
    for lane in bits.chunks(lane) {
        let top = if signed { lane[lane.len() - 1] } else { 0 };
        out.extend(lane);
        out.resize(out.len() + lane.len(), top);
    }
    out
}
