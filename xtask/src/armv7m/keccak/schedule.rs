//! What the program of Keccak is made from: where words come from, and by how much they are rotated.

/// The halves of a lane: even bits, odd bits.
pub(super) const HALVES: [usize; 2] = [0, 1];

/// A lane of the state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lane {
    pub(super) x: usize,
    pub(super) y: usize,
}

impl Lane {
    pub(super) const fn index(self) -> usize {
        self.x + 5 * self.y
    }

    /// The lane in whose cell a result is stored.
    pub(super) fn moved(self) -> Self {
        Self {
            x: (2 * self.x + self.y) % 5,
            y: (2 * self.x + 3 * self.y) % 5,
        }
    }
}

/// A lane and one of its halves.
pub(super) type Word = (Lane, usize);

pub(super) const LANES: [Lane; 25] = {
    let mut lanes = [Lane { x: 0, y: 0 }; 25];
    let mut n = 0;
    while n < 25 {
        lanes[n] = Lane { x: n % 5, y: n / 5 };
        n += 1;
    }
    lanes
};

/// The input of a word of chi: a half of a lane, rotated left by `bits`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Source {
    pub(super) lane: Lane,
    pub(super) half: usize,
    bits: i32,
}

pub(super) struct Schedule {
    /// Rotations of the words of the state, by lane and half: a value is the stored word rotated right.
    pub(super) stored: [[u32; 2]; 25],
    /// Rotations of the column parities.
    pub(super) parity: [[u32; 2]; 5],
    /// The row whose rotation a parity has.
    pub(super) row_of_parity: [[usize; 2]; 5],
    /// Rotations of the inputs of chi, by row, place and half.
    pub(super) chi: [[[u32; 2]; 5]; 5],
    /// Whether a result of chi has the rotation of the masked word.
    pub(super) masked_first: [[[bool; 2]; 5]; 5],
    /// Inputs by row, half and place.
    pub(super) sources: [[[Source; 5]; 2]; 5],
    /// The order of rows.
    pub(super) order: [usize; 5],
}

/// How a parity gets its rotation: that of a row, of whose result the first operand is the input at
/// the same place or the masked one two places on. Its rotation is that of the parity `to`, plus `bits`.
#[derive(Clone, Copy)]
struct Choice {
    row: usize,
    masked: bool,
    to: (usize, usize),
    bits: i32,
}

impl Schedule {
    pub(super) fn new() -> Self {
        let sources = sources();
        let choices = |(x, half): (usize, usize)| {
            (0..5).flat_map(move |row| {
                [false, true].map(|masked| {
                    let source = sources[row][half][(x + 2 * usize::from(masked)) % 5];
                    // An addend of theta has the rotation of the parity to the left.
                    let to = ((source.lane.x + 4) % 5, source.half);
                    let bits = -source.bits;
                    Choice {
                        row,
                        masked,
                        to,
                        bits,
                    }
                })
            })
        };
        let nodes: Vec<(usize, usize)> = HALVES
            .into_iter()
            .flat_map(|half| (0..5).map(move |x| (x, half)))
            .collect();
        let find = |&start: &(usize, usize)| {
            let mut path = Vec::new();
            cycle(start, start, 0, &mut path, &choices).then_some(path)
        };
        let cycle = nodes.iter().find_map(find).expect("there is a cycle");

        let mut parity = [[None; 2]; 5];
        let mut chosen = [[None; 2]; 5];
        let (x, half) = cycle[0].0;
        parity[x][half] = Some(0);
        for &((x, half), choice) in cycle.iter().rev() {
            chosen[x][half] = Some(choice);
            if parity[x][half].is_none() {
                let to = parity[choice.to.0][choice.to.1].expect("the cycle backwards");
                parity[x][half] = Some((to + choice.bits).rem_euclid(32));
            }
        }
        while chosen.as_flattened().contains_none() {
            for &(x, half) in &nodes {
                if chosen[x][half].is_some() {
                    continue;
                }
                let mut known = choices((x, half));
                let known =
                    known.find_map(|choice| Some((choice, parity[choice.to.0][choice.to.1]?)));
                if let Some((choice, to)) = known {
                    chosen[x][half] = Some(choice);
                    parity[x][half] = Some((to + choice.bits).rem_euclid(32));
                }
            }
        }
        let parity = parity.map(|halves| halves.map(|bits| bits.expect("all are known") as u32));
        let chosen = chosen.map(|halves| halves.map(|choice| choice.expect("all are known")));

        let mut schedule = Self {
            stored: [[0; 2]; 25],
            parity,
            row_of_parity: chosen.map(|halves| halves.map(|choice| choice.row)),
            chi: [[[0; 2]; 5]; 5],
            masked_first: [[[false; 2]; 5]; 5],
            sources,
            order: [0, 1, 2, 3, 4],
        };
        for &(x, half) in &nodes {
            schedule.masked_first[chosen[x][half].row][x][half] = chosen[x][half].masked;
        }
        for (row, halves) in sources.iter().enumerate() {
            for half in HALVES {
                let rotations = halves[half].map(|source| {
                    let addend = schedule.addend(source.lane.x, source.half) as i32;
                    (addend - source.bits).rem_euclid(32) as u32
                });
                for x in 0..5 {
                    schedule.chi[row][x][half] = rotations[x];
                    let masked = schedule.masked_first[row][x][half];
                    schedule.stored[Lane { x, y: row }.index()][half] =
                        rotations[(x + 2 * usize::from(masked)) % 5];
                }
            }
        }
        // Rows that take the same half of column 0 follow each other.
        schedule.order.sort_by_key(|&row| {
            let mut words = sources[row][0].iter();
            words
                .find(|word| word.lane.x == 0)
                .expect("every column")
                .half
                != 0
        });
        schedule
    }

    /// The rotation of an addend of theta: that of the parity to its left.
    fn addend(&self, x: usize, half: usize) -> u32 {
        self.parity[(x + 4) % 5][half]
    }

    /// The rotations of the addend and of the word of an input.
    pub(super) fn rotations_of(&self, source: &Source) -> [u32; 2] {
        let addend = self.addend(source.lane.x, source.half);
        [addend, self.stored[source.lane.index()][source.half]]
    }

    /// A half of a lane as it is stored.
    #[cfg(test)]
    pub(super) fn store(&self, value: u64, lane: Lane, half: usize) -> u32 {
        let bits = (0..32).fold(0, |bits, n| {
            bits | ((value >> (2 * n + half) & 1) as u32) << n
        });
        bits.rotate_left(self.stored[lane.index()][half])
    }

    /// Places of the ten addends such that many rows take two neighbours: the path through all
    /// of them whose neighbours are in most rows together.
    pub(super) fn slots(&self, held_column: usize) -> [usize; 10] {
        let mut together = [[0u32; 10]; 10];
        for row in &self.sources {
            for words in row {
                let words: Vec<usize> = words
                    .iter()
                    .filter(|word| word.lane.x != held_column)
                    .map(|word| 2 * word.lane.x + word.half)
                    .collect();
                for &a in &words {
                    for &b in words.iter().filter(|&&b| b != a) {
                        together[a][b] += 1;
                    }
                }
            }
        }
        // The best path through a set that ends at a given place.
        let mut best = vec![[None::<(u32, usize)>; 10]; 1 << 10];
        for set in 1usize..1 << 10 {
            for end in (0..10).filter(|end| set >> end & 1 == 1) {
                let rest = set & !(1 << end);
                let ways = (0..10)
                    .filter_map(|from| Some((best[rest][from]?.0 + together[from][end], from)));
                best[set][end] = if rest == 0 {
                    Some((0, end))
                } else {
                    ways.max()
                };
            }
        }
        let mut set = (1 << 10) - 1;
        let mut end = (0..10)
            .max_by_key(|&end| best[set][end])
            .expect("ten of them");
        let mut slots = [0; 10];
        for place in 0..10 {
            slots[end] = place;
            let from = best[set][end].expect("a path").1;
            set &= !(1 << end);
            end = from;
        }
        slots
    }
}

trait ContainsNone {
    fn contains_none(&self) -> bool;
}

impl<T> ContainsNone for [Option<T>] {
    fn contains_none(&self) -> bool {
        self.iter().any(Option::is_none)
    }
}

/// Finds a cycle of at most five choices whose rotations add up to zero.
fn cycle<I: Iterator<Item = Choice>>(
    start: (usize, usize),
    node: (usize, usize),
    total: i32,
    path: &mut Vec<((usize, usize), Choice)>,
    choices: &impl Fn((usize, usize)) -> I,
) -> bool {
    if path.len() > 4 {
        return false;
    }
    for choice in choices(node) {
        let total = (total + choice.bits).rem_euclid(32);
        let visited = path.iter().any(|step| step.0 == choice.to) || choice.to == node;
        path.push((node, choice));
        if choice.to == start && total == 0
            || !visited && choice.to != start && cycle(start, choice.to, total, path, choices)
        {
            return true;
        }
        path.pop();
    }
    false
}

/// The offsets of rho.
fn rho() -> [u32; 25] {
    let mut offsets = [0; 25];
    let (mut x, mut y) = (1, 0);
    for t in 0..24 {
        offsets[x + 5 * y] = (t + 1) * (t + 2) / 2 % 64;
        (x, y) = (y, (2 * x + 3 * y) % 5);
    }
    offsets
}

/// Where the words of each row after rho and pi come from.
fn sources() -> [[[Source; 5]; 2]; 5] {
    let rho = rho();
    core::array::from_fn(|row| {
        HALVES.map(|half| {
            core::array::from_fn(|place| {
                let mut lanes = LANES.into_iter();
                let goes = |lane: &Lane| (lane.y, (2 * lane.x + 3 * lane.y) % 5) == (place, row);
                let lane = lanes.find(goes).expect("pi is a permutation");
                let bits = rho[lane.index()] as i32;
                // An odd rotation exchanges the halves.
                let odd = bits & 1;
                let more = odd * if half == 0 { 1 } else { -1 };
                Source {
                    lane,
                    half: half ^ odd as usize,
                    bits: (bits + more) / 2,
                }
            })
        })
    })
}

#[cfg(test)]
pub(super) fn round_constants() -> [u64; 24] {
    let mut lfsr = 1u32;
    core::array::from_fn(|_| {
        let mut constant = 0;
        for j in 0..7 {
            if lfsr & 1 == 1 {
                constant |= 1 << ((1 << j) - 1);
            }
            lfsr = (lfsr << 1) ^ if lfsr & 0x80 == 0 { 0 } else { 0x171 };
        }
        constant
    })
}

/// The permutation on plain lanes.
#[cfg(test)]
pub(super) fn keccak(a: &mut [u64; 25]) {
    for constant in round_constants() {
        let parity: [u64; 5] =
            core::array::from_fn(|x| (0..5).fold(0, |sum, y| sum ^ a[x + 5 * y]));
        let mut b = [0; 25];
        for (lane, bits) in LANES.into_iter().zip(rho()) {
            let addend = parity[(lane.x + 4) % 5] ^ parity[(lane.x + 1) % 5].rotate_left(1);
            let to = Lane {
                x: lane.y,
                y: (2 * lane.x + 3 * lane.y) % 5,
            };
            b[to.index()] = (a[lane.index()] ^ addend).rotate_left(bits);
        }
        for Lane { x, y } in LANES {
            a[x + 5 * y] = b[x + 5 * y] ^ (!b[(x + 1) % 5 + 5 * y] & b[(x + 2) % 5 + 5 * y]);
        }
        a[0] ^= constant;
    }
}
