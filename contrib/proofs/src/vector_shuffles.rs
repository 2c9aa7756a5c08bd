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
        let selector = |n: usize| (immediate >> (2 * n) & 3) as usize;
        let last = sources - 1;
        let from: &dyn Fn(usize) -> usize = match name {
            "pshufd" => &|n| n / 4 * 4 + selector(n % 4),
            "permq" | "permpd" if sources == 2 => &|n| n / 4 * 4 + selector(n % 4),
            "pshuflw" => &|n| match n % 8 {
                low @ 0..4 => n - low + selector(low),
                _ => n,
            },
            "pshufhw" => &|n| match n % 8 {
                high @ 4.. => n - high + 4 + selector(high - 4),
                _ => n,
            },
            "movshdup" => &|n| n | 1,
            "movddup" => &|n| n & !1,
            "pbroadcastb" | "pbroadcastw" | "pbroadcastd" | "pbroadcastq" | "broadcastss"
            | "broadcastsd" | "broadcasti128" | "broadcastf128" => {
                let lane = broadcast_lane(name);
                let bits = self.operand(i, last, lane)?;
                return Ok(Some(
                    bits[..lane].iter().copied().cycle().take(to).collect(),
                ));
            }
            "pabsd" | "pabsw" | "pabsb" | "pabsq" => {
                let (bits, lane) = (self.operand(i, last, to)?, width_of(name));
                return Ok(Some(self.each(&bits, &bits, lane, |t, a, _| t.abs(a))));
            }
            _ => return Ok(None),
        };
        let (mut bits, lane) = (self.operand(i, last, to)?, lane_of_shuffle(name));
        // A source in memory may have half of the lanes.
        bits.resize(to.max(bits.len()), 0);
        Ok(Some(picked(lane, to / lane, |n| (&bits, from(n)))))
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
        let indices = |bits: &[Lit]| -> Step<Vec<usize>> {
            let index = |lane| as_number(lane).map_or_else(|| unknown("an index that is data"), Ok);
            bits.chunks(lane)
                .map(|lane| Ok(index(lane)? as usize))
                .collect()
        };
        let table = |table: &[Lit], at: &[usize]| -> Bits {
            let count = table.len() / lane;
            picked(lane, at.len(), |n| (table, at[n] % count))
        };
        let of = [a, b];
        Ok(Some(match name {
            _ if name.contains("unpck") || name == "movlhps" => {
                let (lanes, half) = (128 / lane, 64 / lane);
                let from = if name.contains("pckh") { half } else { 0 };
                picked(lane, to / lane, |n| {
                    (of[n % 2], n / lanes * lanes + from + n % lanes / 2)
                })
            }
            "shufps" => picked(32, to / 32, |n| {
                (of[n % 4 / 2], n / 4 * 4 + selector(n % 4))
            }),
            "shufi64x2" => {
                let (parts, bits) = (to / 128, to / 256);
                picked(128, parts, |n| {
                    let at = immediate >> (bits * n) & ((1 << bits) - 1);
                    (of[2 * n / parts], at as usize)
                })
            }
            "perm2i128" | "perm2f128" => picked(128, 2, |n| {
                let code = (immediate >> (4 * n)) as usize;
                let zero = &[0; 256][..];
                let source = if code & 8 == 0 {
                    of[code >> 1 & 1]
                } else {
                    zero
                };
                (source, code & 1)
            }),
            "pblendd" | "blendps" | "pblendw" | "blendpd" => picked(lane, to / lane, |n| {
                (of[(immediate >> (n % 8) & 1) as usize], n)
            }),
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
                    table(b, &indices(a)?)
                } else {
                    self.look_up(b, a, lane)
                }
            }
            "permt2d" | "permt2q" | "permt2w" | "permt2b" => {
                let d = self.operand(i, 0, to)?;
                let both: Bits = d.iter().chain(b).copied().collect();
                table(&both, &indices(a)?)
            }
            "permi2d" | "permi2q" | "permi2w" | "permi2b" => {
                let d = self.operand(i, 0, to)?;
                let both: Bits = a.iter().chain(b).copied().collect();
                table(&both, &indices(&d)?)
            }
            _ => return Ok(None),
        }))
    }

    /// A table look-up inside a register by indices that are data: a selection by each bit of
    /// the index.
    pub(crate) fn look_up(&mut self, entries: &[Lit], indices: &[Lit], lane: usize) -> Bits {
        let count = entries.len() / lane;
        let key = (entries.to_vec(), indices.to_vec());
        if let Some(known) = self.looked_up.get(&key) {
            return known.clone();
        }
        let mut out = Vec::with_capacity(entries.len());
        for index in indices.chunks(lane) {
            let mut rest = entries.to_vec();
            for &bit in &index[..count.trailing_zeros() as usize] {
                let pairs = rest.chunks(2 * lane).flat_map(|pair| {
                    let (low, high) = pair.split_at(lane);
                    low.iter().zip(high)
                });
                let mux = |(&low, &high)| self.terms.mux(bit, high, low);
                rest = pairs.map(mux).collect();
            }
            out.extend(rest);
        }
        self.looked_up.insert(key, out.clone());
        out
    }
}

/// Lanes, each of a source and with a number there.
pub(crate) fn picked<'a>(
    lane: usize,
    count: usize,
    from: impl Fn(usize) -> (&'a [Lit], usize),
) -> Bits {
    let one = |n| {
        let (source, at) = from(n);
        &source[at * lane..(at + 1) * lane]
    };
    (0..count).flat_map(one).copied().collect()
}

/// Whether the indices are data below 16.
pub(crate) fn is_nibbles(indices: &[Lit]) -> bool {
    indices.iter().any(|&bit| bit > 1)
        && indices
            .chunks(8)
            .all(|index| index[4..].iter().all(|&bit| bit == 0))
}
