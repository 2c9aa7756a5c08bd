//! Rearrangements of the lanes of vectors.

use iced_x86::Instruction;

use crate::machine::Machine;
use crate::memory::{Bits, Step, as_number, unknown};
use crate::terms::Lit;
use crate::vector::{broadcast_lane, lane_of_shuffle, width_of};

impl Machine<'_> {
    /// Rearrangements of one source.
    pub(crate) fn one_source(
        &mut self,
        i: &Instruction,
        name: &str,
        to: usize,
        sources: u32,
        immediate: u64,
    ) -> Step<Option<Bits>> {
        let pick = |bits: &[Lit], lane: usize, from: &dyn Fn(usize) -> usize| -> Bits {
            (0..to / lane)
                .flat_map(|n| bits[from(n) * lane..(from(n) + 1) * lane].to_vec())
                .collect()
        };
        let selector = |n: usize| (immediate >> (2 * n) & 3) as usize;
        let last = sources - 1;
        Ok(Some(match name {
            "pshufd" => pick(&self.operand(i, last, to)?, 32, &|n| {
                n / 4 * 4 + selector(n % 4)
            }),
            "pshuflw" => pick(&self.operand(i, last, to)?, 16, &|n| {
                if n % 8 < 4 {
                    n / 8 * 8 + selector(n % 8)
                } else {
                    n
                }
            }),
            "pshufhw" => pick(&self.operand(i, last, to)?, 16, &|n| {
                if n % 8 < 4 {
                    n
                } else {
                    n / 8 * 8 + 4 + selector(n % 8 - 4)
                }
            }),
            "permq" | "permpd" if sources == 2 => pick(&self.operand(i, last, to)?, 64, &|n| {
                n / 4 * 4 + selector(n % 4)
            }),
            "movshdup" => pick(&self.operand(i, last, to)?, 32, &|n| n | 1),
            "movddup" => {
                let mut bits = self.operand(i, last, to)?;
                bits.resize(to.max(bits.len()), 0);
                pick(&bits, 64, &|n| n & !1)
            }
            _ if name.starts_with("pbroadcast") || name.starts_with("broadcast") => {
                let lane = broadcast_lane(name);
                let bits = self.operand(i, last, lane)?;
                bits[..lane].iter().copied().cycle().take(to).collect()
            }
            "pabsd" | "pabsw" | "pabsb" | "pabsq" => {
                let (bits, lane) = (self.operand(i, last, to)?, width_of(name));
                self.each(&bits.clone(), &bits, lane, |t, a, _| t.abs(a))
            }
            _ => return Ok(None),
        }))
    }

    /// Rearrangements of two sources, one of which may be a table of indices.
    pub(crate) fn two_sources(
        &mut self,
        i: &Instruction,
        name: &str,
        (a, b): (&[Lit], &[Lit]),
        immediate: u64,
    ) -> Step<Option<Bits>> {
        let to = a.len();
        let selector = |n: usize| (immediate >> (2 * n) & 3) as usize;
        let lane = lane_of_shuffle(name);
        let unpack = |lane: usize, high: bool| -> Bits {
            let half = 64 / lane;
            let from = if high { half } else { 0 };
            (0..to / 128)
                .flat_map(|block| (0..2 * half).map(move |n| (block, n)))
                .flat_map(|(block, n)| {
                    let source = if n % 2 == 0 { a } else { b };
                    let at = 128 * block + lane * (from + n / 2);
                    source[at..at + lane].to_vec()
                })
                .collect()
        };
        let indices = |bits: &[Lit], lane: usize| -> Step<Vec<usize>> {
            let index = |lane: &[Lit]| as_number(lane).map(|n| n as usize);
            bits.chunks(lane)
                .map(|lane| index(lane).map_or_else(|| unknown("an index that is data"), Ok))
                .collect()
        };
        let table = |table: &[Lit], lane: usize, at: &[usize]| -> Bits {
            let count = table.len() / lane;
            at.iter()
                .flat_map(|&n| table[n % count * lane..(n % count + 1) * lane].to_vec())
                .collect()
        };
        Ok(Some(match name {
            "punpckldq" | "unpcklps" => unpack(32, false),
            "punpckhdq" | "unpckhps" => unpack(32, true),
            "punpcklqdq" | "unpcklpd" | "movlhps" => unpack(64, false),
            "punpckhqdq" | "unpckhpd" => unpack(64, true),
            "punpcklbw" => unpack(8, false),
            "punpckhbw" => unpack(8, true),
            "punpcklwd" => unpack(16, false),
            "punpckhwd" => unpack(16, true),
            "shufps" => (0..to / 32)
                .flat_map(|n| {
                    let source = if n % 4 < 2 { a } else { b };
                    let at = 32 * (n / 4 * 4 + selector(n % 4));
                    source[at..at + 32].to_vec()
                })
                .collect(),
            "shufi64x2" => {
                let parts = to / 128;
                let bits = if parts == 4 { 2 } else { 1 };
                (0..parts)
                    .flat_map(|n| {
                        let source = if n < parts / 2 { a } else { b };
                        let at = 128 * (immediate >> (bits * n) & ((1 << bits) - 1)) as usize;
                        source[at..at + 128].to_vec()
                    })
                    .collect()
            }
            "perm2i128" | "perm2f128" => [immediate, immediate >> 4]
                .into_iter()
                .flat_map(|code| {
                    let source = if code & 2 == 0 { a } else { b };
                    let at = 128 * (code & 1) as usize;
                    if code & 8 == 0 {
                        source[at..at + 128].to_vec()
                    } else {
                        vec![0; 128]
                    }
                })
                .collect(),
            "pblendd" | "blendps" | "pblendw" | "blendpd" => (0..to / lane)
                .flat_map(|n| {
                    let source = if immediate >> (n % 8) & 1 == 1 { b } else { a };
                    source[n * lane..(n + 1) * lane].to_vec()
                })
                .collect(),
            "pshufb" if to == 128 && a.iter().all(|&bit| bit < 2) && is_nibbles(b) => {
                self.look_up(a, b, 8)
            }
            "pshufb" => {
                let mut out = Vec::with_capacity(to);
                for (n, control) in b.chunks(8).enumerate() {
                    let at =
                        as_number(control).map_or_else(|| unknown("an index that is data"), Ok)?;
                    let from = n / 16 * 128 + 8 * (at as usize & 15);
                    if at & 0x80 == 0 {
                        out.extend(&a[from..from + 8])
                    } else {
                        out.extend([0; 8])
                    }
                }
                out
            }
            "permd" | "permps" | "permq" | "permpd" | "permb" => {
                let constant = a.iter().all(|&bit| bit < 2);
                if constant {
                    table(b, lane, &indices(a, lane)?)
                } else {
                    self.look_up(b, a, lane)
                }
            }
            "permt2d" | "permt2q" | "permt2w" | "permt2b" => {
                let d = self.operand(i, 0, to)?;
                let both: Bits = d.iter().chain(b).copied().collect();
                table(&both, lane, &indices(a, lane)?)
            }
            "permi2d" | "permi2q" | "permi2w" | "permi2b" => {
                let d = self.operand(i, 0, to)?;
                let both: Bits = a.iter().chain(b).copied().collect();
                table(&both, lane, &indices(&d, lane)?)
            }
            _ => return Ok(None),
        }))
    }

    /// A table look-up inside a register by indices that are data: a selection by each bit of
    /// the index.
    fn look_up(&mut self, entries: &[Lit], indices: &[Lit], lane: usize) -> Bits {
        let count = entries.len() / lane;
        let key = (entries.to_vec(), indices.to_vec());
        if let Some(known) = self.looked_up.get(&key) {
            return known.clone();
        }
        let mut out = Vec::with_capacity(entries.len());
        for index in indices.chunks(lane) {
            let mut rest = entries.to_vec();
            for &bit in &index[..count.trailing_zeros() as usize] {
                let pairs: Vec<_> = rest.chunks(2 * lane).map(<[Lit]>::to_vec).collect();
                rest = pairs
                    .iter()
                    .flat_map(|pair| {
                        (0..lane)
                            .map(|n| (pair[n], pair[lane + n]))
                            .collect::<Vec<_>>()
                    })
                    .map(|(low, high)| self.terms.mux(bit, high, low))
                    .collect();
            }
            out.extend(rest);
        }
        self.looked_up.insert(key, out.clone());
        out
    }
}

/// Whether the indices are data below 16.
fn is_nibbles(indices: &[Lit]) -> bool {
    indices.iter().any(|&bit| bit > 1)
        && indices
            .chunks(8)
            .all(|index| index[4..].iter().all(|&bit| bit == 0))
}
