//! FIPS 204 algorithm 8 on lanes: from the packed signature and the words of the
//! matrix to the verdict. The contracts differ in where the words come from.

use mldsa_core::hazmat::Q;
use ruint::aliases::U256;

use crate::asm::{Asm, Op};
use crate::key;
use crate::lanes::{Layout, Q256, literal, ones, repeat};
use crate::ntt::{self, TABLE_LEN, ZETA_OFFSET};
use crate::tables;
use crate::yul::{FAIL, RATE, fill, memory, object, shake256};

/// Where the words of the matrix come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Code of key contracts. Input: address and code hash of the first, then
    /// signature, length of the context, context, message.
    Code,
    /// Input: `tr`, words, signature, length of the context, context, message. Says
    /// nothing about where `tr` and the words come from.
    Calldata,
}

/// Bytes of address and code hash in front of the signature.
pub const KEY_REFERENCE_LEN: usize = 52;

/// Names of the parts whose gas a profile shows.
pub const PARTS: [&str; 10] = [
    "tables and key",
    "mu",
    "z: decode, norm",
    "challenge",
    "transform of z and c",
    "A z - c t1",
    "inverse transform",
    "HighBits, packing",
    "hints",
    "final hash",
];

/// Places in memory that depend on the set.
#[derive(Clone, Copy, Debug)]
pub struct Map {
    /// Vector words, group after group.
    pub z: usize,
    /// Product words, group after group.
    pub w: usize,
    /// mu as lanes; the lanes of w1 follow.
    pub mu: usize,
    /// Quotients and zetas.
    pub table: usize,
    /// Matrix words of a group; first, what mu hashes.
    pub data: usize,
    /// Gas left at the marks of a profile.
    marks: usize,
}

impl Map {
    /// The map of a set.
    pub fn of(layout: &Layout) -> Self {
        let z = memory::FREE;
        let w = z + 8192 * layout.forward_groups();
        let mu = w + 8192 * layout.inverse_groups();
        let marks = mu + 256 + 32 * (layout.p.k * layout.w1_lanes() + RATE);
        let table = marks + 32 * (PARTS.len() + 1);
        Self {
            z,
            w,
            mu,
            table,
            data: table + TABLE_LEN,
            marks,
        }
    }

    fn w1(&self) -> usize {
        self.mu + 256
    }
}

/// The contract; with `profile` it returns the gas left at every mark instead.
pub fn contract(layout: &Layout, words: Words, profile: bool) -> String {
    let name = match (words, profile) {
        (Words::Code, false) => "KeyVerifier",
        (Words::Code, true) => "KeyVerifierProfile",
        (Words::Calldata, _) => "Core",
    };
    let verifier = Verifier {
        layout,
        map: Map::of(layout),
        words,
        profile,
    };
    object(
        &format!("{name}{}", layout.name),
        &[("tables", Some(tables::code_hash()))],
        &verifier.code(),
    )
}

/// The transforms and the product alone, for tests of their bounds: op 0 the forward
/// transform of the 256 words behind it, op 1 the inverse one; op 2 both around the
/// product, of the words of one inverse group and the vector behind them.
pub fn kernels(layout: &Layout) -> String {
    let map = Map::of(layout);
    let verifier = Verifier {
        layout,
        map,
        words: Words::Calldata,
        profile: false,
    };
    let vector = 8192 * layout.forward_groups();
    let transforms: String = (0..layout.forward_groups())
        .map(|group| format!(" ntt({})", map.z + 8192 * group))
        .collect();
    let code = fill(
        "$LOAD
switch byte(0, calldataload(0))
case 0 { calldatacopy($Z, 1, 8192) ntt($Z) return($Z, 8192) }
case 1 { calldatacopy($Z, 1, 8192) $INVERSE intt($Z) return($Z, 8192) }
default {
    calldatacopy($DATA, 1, $LEN)
    calldatacopy($Z, $START, $VECTOR)
    $TRANSFORMS
    product($W)
    $INVERSE
    intt($W)
    return($W, 8192)
}
$FUNCTIONS",
        &[
            ("LOAD", verifier.load_tables()),
            ("TRANSFORMS", transforms),
            ("INVERSE", verifier.inverse_table()),
            ("DATA", map.data.to_string()),
            ("LEN", layout.group_len().to_string()),
            ("START", (1 + layout.group_len()).to_string()),
            ("VECTOR", vector.to_string()),
            (
                "FUNCTIONS",
                format!(
                    "{}\n{}",
                    ntt::functions(layout, map.table),
                    verifier.product()
                ),
            ),
            ("Z", map.z.to_string()),
            ("W", map.w.to_string()),
        ],
    );
    object(
        &format!("Kernels{}", layout.name),
        &[("tables", Some(tables::code_hash()))],
        &code,
    )
}

struct Verifier<'a> {
    layout: &'a Layout,
    map: Map,
    words: Words,
    profile: bool,
}

impl Verifier<'_> {
    /// Where the signature begins in the calldata.
    fn signature(&self) -> usize {
        match self.words {
            Words::Code => KEY_REFERENCE_LEN,
            Words::Calldata => 64 + self.layout.words_len(),
        }
    }

    fn tail(&self) -> usize {
        self.signature() + self.layout.p.sig_len()
    }

    fn code(&self) -> String {
        let layout = self.layout;
        let map = &self.map;
        let parts = [
            format!("{}\n{}", self.load_tables(), self.open_key()),
            self.mu(),
            self.decode(),
            self.challenge(),
            (0..layout.forward_groups())
                .map(|group| format!("ntt({})\n", map.z + 8192 * group))
                .collect(),
            (0..layout.inverse_groups())
                .map(|group| {
                    self.load_words(group) + &format!("product({})\n", map.w + 8192 * group)
                })
                .collect(),
            self.inverse_table()
                + &(0..layout.inverse_groups())
                    .map(|group| format!("intt({})\n", map.w + 8192 * group))
                    .collect::<String>(),
            self.pack(),
            self.hints(),
            self.final_hash(),
        ];
        let mut code = String::new();
        let mark = |code: &mut String, n: usize| {
            if self.profile {
                code.push_str(&format!("mstore({}, gas())\n", map.marks + 32 * n));
            }
        };
        mark(&mut code, 0);
        for (n, (part, name)) in parts.iter().zip(PARTS).enumerate() {
            code.push_str(&format!("// {name}\n{part}\n"));
            mark(&mut code, n + 1);
        }
        if self.profile {
            code.push_str(&format!(
                "return({}, {})\n",
                map.marks,
                32 * (PARTS.len() + 1)
            ));
        } else {
            code.push_str("mstore(0, iszero(different)) return(0, 32)\n");
        }
        [
            code.as_str(),
            &shake256(),
            &self.bswap(),
            &ntt::functions(layout, map.table),
            &self.product(),
            &self.high(),
            FAIL,
        ]
        .join("\n")
    }

    fn bswap(&self) -> String {
        let half = literal(repeat(ones(64), 2, 128));
        format!(
            "function bswap(x) -> v {{
    v := swap64(x)
    v := or(and(shr(64, v), {half}), shl(64, and(v, {half})))
    v := or(shr(128, v), shl(128, v))
}}"
        )
    }

    /// Checks lengths, then loads round constants, zetas and the quotients of the
    /// forward transform.
    fn load_tables(&self) -> String {
        let quotients = if self.layout.forward.shoup == 25 {
            tables::QUOTIENTS_25
        } else {
            tables::QUOTIENTS_32
        };
        fill(
            "let tables := loadimmutable(\"tables\")
extcodecopy(tables, $CONSTANTS, $FROM, 768)
extcodecopy(tables, $TABLE, $QUOTIENTS, $LEN)
extcodecopy(tables, $AFTER, $ZETAS, $LEN)",
            &[
                ("CONSTANTS", memory::CONSTANTS.to_string()),
                ("FROM", tables::CONSTANTS.to_string()),
                ("TABLE", self.map.table.to_string()),
                ("QUOTIENTS", quotients.to_string()),
                ("AFTER", (self.map.table + ZETA_OFFSET).to_string()),
                ("ZETAS", tables::ZETAS.to_string()),
                ("LEN", ZETA_OFFSET.to_string()),
            ],
        )
    }

    /// The quotients of the inverse transform, where they are others.
    fn inverse_table(&self) -> String {
        if self.layout.forward.shoup == self.layout.inverse.shoup {
            return String::new();
        }
        format!(
            "extcodecopy(loadimmutable(\"tables\"), {}, {}, {ZETA_OFFSET})\n",
            self.map.table,
            tables::QUOTIENTS_32
        )
    }

    /// Checks the lengths of the calldata and the key contracts; `tr` to where mu is
    /// hashed.
    fn open_key(&self) -> String {
        let tail = self.tail();
        let mut text = format!(
            "if iszero(gt(calldatasize(), {tail})) {{ fail() }}
if lt(sub(calldatasize(), {}), byte(0, calldataload({tail}))) {{ fail() }}\n",
            tail + 1
        );
        match self.words {
            Words::Calldata => {
                text.push_str(&format!("calldatacopy({}, 0, 64)\n", self.map.data));
            }
            Words::Code => {
                text.push_str(&fill(
                    "let part0 := shr(96, calldataload(0))
if iszero(eq(extcodehash(part0), calldataload(20))) { fail() }
extcodecopy(part0, 0, 0, 32)
if iszero(eq(shr(144, mload(0)), $HEAD)) { fail() }
extcodecopy(part0, $DATA, $TR, 64)\n",
                    &[
                        ("HEAD", literal(key::head(self.layout))),
                        ("DATA", self.map.data.to_string()),
                        ("TR", key::HEAD_LEN.to_string()),
                    ],
                ));
                for part in 1..key::parts(self.layout) {
                    text.push_str(&fill(
                        "let part$N
{
    extcodecopy(part0, 0, $AT, 64)
    part$N := shr(96, mload(32))
    if iszero(eq(extcodehash(part$N), mload(0))) { fail() }
}\n",
                        &[
                            ("N", part.to_string()),
                            ("AT", key::reference_at(part).to_string()),
                        ],
                    ));
                }
            }
        }
        text
    }

    /// mu = H(tr || 0 || |ctx| || ctx || M): the tail of the calldata is what follows
    /// the domain byte.
    fn mu(&self) -> String {
        fill(
            "{
    let n := sub(calldatasize(), $TAIL)
    mstore8($ZERO, 0)
    calldatacopy($REST, $TAIL, n)
    shake($DATA, add(n, 65))
    squeeze($MU)
}",
            &[
                ("TAIL", self.tail().to_string()),
                ("ZERO", (self.map.data + 64).to_string()),
                ("REST", (self.map.data + 65).to_string()),
                ("DATA", self.map.data.to_string()),
                ("MU", self.map.mu.to_string()),
            ],
        )
    }

    /// z into its lanes, with the bias, and its norm: algorithm 19 and line 13 of
    /// algorithm 8.
    fn decode(&self) -> String {
        let layout = self.layout;
        let p = &layout.p;
        let bits = p.gamma1_bits as usize + 1;
        let (gamma1, beta) = (p.gamma1() as u64, p.beta() as u64);
        let bias = layout.start_bias * Q as u64;
        let mut text = String::from("let norms := not(0)\n");
        for group in 0..layout.forward_groups() {
            let polys: Vec<usize> = (0..p.l)
                .filter(|&column| layout.vector_place(column).0 == group)
                .collect();
            let shift = |poly: usize| layout.vector_place(poly).1;
            let each = polys
                .iter()
                .fold(U256::ZERO, |word, &poly| word | (U256::ONE << shift(poly)));
            // f = gamma1 - z; a bit above it, the guard, shows beta < f and
            // f < 2 gamma1 - beta.
            let guard = 1u64 << (bits + 1);
            let low = each * U256::from(guard - beta - 1);
            let high = each * U256::from(guard + 2 * gamma1 - beta - 1);
            let base = ntt::word(layout.forward, bias) + each * U256::from(gamma1);

            let chunk = |count: usize, target: &str| {
                let values = polys.iter().map(|poly| format!("v{poly}"));
                let masks = polys.iter().map(|poly| format!("m{poly}"));
                let rest = ["low", "high", "base", "norms"].map(String::from);
                let inputs: Vec<String> = [String::from("target")]
                    .into_iter()
                    .chain(values)
                    .chain(masks)
                    .chain(rest)
                    .collect();
                let mut a = Asm::new(inputs.clone());
                for i in 0..count {
                    for (n, &poly) in polys.iter().enumerate() {
                        a.dup(&format!("v{poly}"));
                        let (from, to) = (bits * i, shift(poly));
                        if from > to {
                            a.push(from - to).op(&[Op::Shr]);
                        } else if to > from {
                            a.push(to - from).op(&[Op::Shl]);
                        }
                        a.dup(&format!("m{poly}")).op(&[Op::And]);
                        if n > 0 {
                            a.op(&[Op::Or]);
                        }
                    }
                    a.name("f");
                    a.dup("f").dup("low").op(&[Op::Add]);
                    a.dup("f").dup("high").op(&[Op::Sub, Op::And]);
                    a.dup("norms").op(&[Op::And]).swap_into("norms").pop(1);
                    a.dup("base").op(&[Op::Sub]).dup("target");
                    if i > 0 {
                        a.push(32 * i).op(&[Op::Add]);
                    }
                    a.op(&[Op::Mstore]);
                }
                a.pop(inputs.len() - 1);
                let loads = polys
                    .iter()
                    .map(|&poly| format!("bswap(calldataload(add(s, {})))", poly * p.z_poly_len()));
                let masks = polys.iter().map(|&poly| literal(ones(bits) << shift(poly)));
                let arguments: Vec<String> = [target.to_owned()]
                    .into_iter()
                    .chain(loads)
                    .chain(masks)
                    .chain([low, high, base].map(literal))
                    .chain([String::from("norms")])
                    .collect();
                a.verbatim(&arguments)
            };
            let start = self.map.z + 8192 * group;
            text.push_str(&fill(
                "{
    let s := $FROM
    for { let d := $START } lt(d, $LAST) { d := add(d, 384) } {
        norms := $TWELVE
        s := add(s, $STEP)
    }
    norms := $FOUR
}
if iszero(eq(and(norms, $GUARDS), $GUARDS)) { fail() }
norms := not(0)\n",
                &[
                    ("FROM", (self.signature() + p.c_tilde_len).to_string()),
                    ("STEP", (12 * bits / 8).to_string()),
                    ("START", start.to_string()),
                    ("LAST", (start + 252 * 32).to_string()),
                    ("TWELVE", chunk(12, "d")),
                    ("FOUR", chunk(4, &(start + 252 * 32).to_string())),
                    ("GUARDS", literal(each * U256::from(guard))),
                ],
            ));
        }
        text
    }

    /// Algorithm 29 SampleInBall into the lane of c, which is the lowest of the last
    /// group.
    fn challenge(&self) -> String {
        let p = &self.layout.p;
        let group = self.layout.forward_groups() - 1;
        fill(
            "calldatacopy($DATA, $SIGNATURE, $CLEN)
shake($DATA, $CLEN)
squeeze($BLOCK)
{
    let signs := mload($BLOCK)
    let bytes := mload($SECOND)
    let n := 8
    for { let i := $FIRST } lt(i, 256) { i := add(i, 1) } {
        let j
        for {} 1 {} {
            j := and(bytes, 0xff)
            bytes := shr(8, bytes)
            n := add(n, 1)
            if iszero(and(n, 7)) {
                if eq(n, 136) { keccakf() squeeze($BLOCK) n := 0 }
                bytes := mload(add($BLOCK, shl(2, n)))
            }
            if iszero(gt(j, i)) { break }
        }
        let at := add($Z, shl(5, i))
        let from := add($Z, shl(5, j))
        mstore(at, add(mload(at), sub(and(mload(from), $LANE), $BIAS)))
        let old := mload(from)
        mstore(from, add(sub(old, sub(and(old, $LANE), $BIAS)), sub(1, shl(1, and(signs, 1)))))
        signs := shr(1, signs)
    }
}",
            &[
                ("DATA", self.map.data.to_string()),
                ("SIGNATURE", self.signature().to_string()),
                ("CLEN", p.c_tilde_len.to_string()),
                ("BLOCK", memory::BLOCK.to_string()),
                ("SECOND", (memory::BLOCK + 32).to_string()),
                ("FIRST", (256 - p.tau).to_string()),
                ("Z", (self.map.z + 8192 * group).to_string()),
                ("LANE", literal(ones(self.layout.forward.width))),
                (
                    "BIAS",
                    literal(U256::from(self.layout.start_bias * Q as u64)),
                ),
            ],
        )
    }

    /// The matrix words of an inverse group to memory.
    fn load_words(&self, group: usize) -> String {
        let len = self.layout.group_len();
        match self.words {
            Words::Calldata => {
                format!(
                    "calldatacopy({}, {}, {len})\n",
                    self.map.data,
                    64 + group * len
                )
            }
            Words::Code => key::segments(self.layout)
                .into_iter()
                .filter(|segment| segment.group == group)
                .map(|segment| {
                    format!(
                        "extcodecopy(part{}, {}, {}, {})\n",
                        segment.part,
                        self.map.data + segment.to,
                        segment.from,
                        segment.len
                    )
                })
                .collect(),
        }
    }

    /// `product(w)`: the rows of a group times z and c, each lane below q.
    fn product(&self) -> String {
        let layout = self.layout;
        let steps = layout.steps;
        let halves = 256 / steps;
        let mut a = Asm::new(["z", "a", "w", "mask"]);
        let slots = layout.slots();
        let mut loaded = 0;
        for half in 0..halves {
            for group in 0..layout.forward_groups() {
                let offset = 8192 * group + 32 * steps * half;
                a.dup("z");
                if offset > 0 {
                    a.push(offset).op(&[Op::Add]);
                }
                a.op(&[Op::Mload]).name(format!("z{group}"));
                loaded += 1;
            }
            for row in 0..layout.inverse.count {
                a.push(Q256);
                let mut terms = 0;
                for (word, word_slots) in slots.iter().enumerate() {
                    for (slot, &(r, group, h)) in word_slots.iter().enumerate() {
                        if (r, h) != (row, half) {
                            continue;
                        }
                        a.dup("a");
                        if word > 0 {
                            a.push(32 * word).op(&[Op::Add]);
                        }
                        a.op(&[Op::Mload]);
                        if slot > 0 {
                            a.push(layout.spacing * slot).op(&[Op::Shr]);
                        }
                        a.dup("mask").op(&[Op::And]);
                        a.dup(&format!("z{group}")).op(&[Op::Mul]);
                        if terms > 0 {
                            a.op(&[Op::Add]);
                        }
                        terms += 1;
                    }
                }
                a.push(layout.sum_shift()).op(&[Op::Shr, Op::Mod]);
                if row > 0 {
                    a.push(layout.inverse.width * row).op(&[Op::Shl, Op::Or]);
                }
            }
            a.dup("w");
            if half > 0 {
                a.push(32 * steps * half).op(&[Op::Add]);
            }
            a.op(&[Op::Mstore]);
        }
        a.pop(loaded + 4);
        let mask = repeat(ones(23), layout.forward.count, layout.forward.width) << layout.lift();
        let call = a.verbatim(
            &["z", "a", "w"]
                .map(String::from)
                .into_iter()
                .chain([literal(mask)])
                .collect::<Vec<_>>(),
        );
        fill(
            "function product(w) {
    let a := $DATA
    for { let z := $Z } lt(z, $END) { z := add(z, 32) } {
        $CALL
        a := add(a, $STRIDE)
        w := add(w, 32)
    }
}",
            &[
                ("DATA", self.map.data.to_string()),
                ("Z", self.map.z.to_string()),
                ("END", (self.map.z + 32 * steps).to_string()),
                ("CALL", call),
                ("STRIDE", (32 * layout.words).to_string()),
            ],
        )
    }

    /// Where the packed coefficients of w1 lie before the hints: words of 192 bits
    /// for 44 (over the tables), lanes of 64 bits for the others.
    fn packed(&self) -> (usize, usize) {
        if self.layout.w1_bits() == 6 {
            (self.map.table, 32)
        } else {
            (self.map.w1(), 16)
        }
    }

    fn pack(&self) -> String {
        let layout = self.layout;
        let (packed, per_word) = self.packed();
        (0..layout.inverse_groups())
            .map(|group| {
                format!(
                    "high({}, {})\n",
                    self.map.w + 8192 * group,
                    packed + 32 * (256 / per_word) * layout.inverse.count * group
                )
            })
            .collect()
    }

    /// `high(w, to)`: algorithm 37 HighBits of all lanes and their packing.
    fn high(&self) -> String {
        let layout = self.layout;
        let lanes = layout.inverse;
        let bits = layout.w1_bits();
        let (_, per_word) = self.packed();
        let count = if bits == 6 { 8 } else { 16 };
        let rows_out = |source: &str, row: usize| {
            format!(
                "and(shr({}, {source}), {})",
                lanes.width * row,
                literal(ones(bits * count))
            )
        };
        let row_at = |row: usize| 32 * (256 / per_word) * row;
        let body = if bits == 6 {
            let zero: String = (0..lanes.count)
                .map(|row| format!("let a{row} := 0 "))
                .collect();
            let collect: String = (0..lanes.count)
                .map(|row| format!("a{row} := or(a{row}, shl(n, {}))\n", rows_out("v", row)))
                .collect();
            let store: String = (0..lanes.count)
                .map(|row| format!("mstore(add(to, {}), a{row})\n", row_at(row)))
                .collect();
            format!(
                "{zero}
        for {{ let n := 0 }} lt(n, 192) {{ n := add(n, 48) }} {{
            let v := {}
            {collect}w := add(w, 256)
        }}
        {store}",
                self.high_kernel(count)
            )
        } else {
            let store: String = (0..lanes.count)
                .map(|row| format!("mstore(add(to, {}), {})\n", row_at(row), rows_out("v", row)))
                .collect();
            format!(
                "let v := {}
        {store}w := add(w, 512)",
                self.high_kernel(count)
            )
        };
        format!(
            "function high(w, to) {{
    for {{ let e := add(w, 8192) }} lt(w, e) {{}} {{
        {body}
        to := add(to, 32)
    }}
}}"
        )
    }

    /// HighBits of `count` words, packed: with v below 2^31 in every lane, v is folded
    /// below 2^24, `t = (v >= q)`, and HighBits is `(v - t + gamma2 - 1) / (2 gamma2)`
    /// modulo its number of values, since q - 1 is a multiple of 2 gamma2.
    fn high_kernel(&self, count: usize) -> String {
        let layout = self.layout;
        let lanes = layout.inverse;
        let Division { factor, shift } = division(layout);
        let values = layout.w1_values();
        let bits = layout.w1_bits();
        let mut constants = vec![
            ("fold", HIGH_FOLD),
            ("carry", (1 << 24) - Q as u64),
            ("one", 1),
            ("round", layout.p.gamma2 as u64 - 1),
            ("mask", (1 << bits) - 1),
        ];
        if values == 44 {
            constants.push(("wrap", 64 - values));
        }
        let mut a = Asm::new(["w"].into_iter().chain(constants.iter().map(|c| c.0)));
        for n in 0..count {
            a.dup("w");
            if n > 0 {
                a.push(32 * n).op(&[Op::Add]);
            }
            a.op(&[Op::Mload]);
            a.dup_top()
                .push(23)
                .op(&[Op::Shr])
                .dup("fold")
                .op(&[Op::And]);
            a.push(Q256).op(&[Op::Mul]).swap(1).op(&[Op::Sub]);
            a.dup_top()
                .dup("carry")
                .op(&[Op::Add])
                .push(24)
                .op(&[Op::Shr]);
            a.dup("one").op(&[Op::And]).swap(1).op(&[Op::Sub]);
            a.dup("round").op(&[Op::Add]).push(factor).op(&[Op::Mul]);
            a.push(shift).op(&[Op::Shr]).dup("mask").op(&[Op::And]);
            if values == 44 {
                a.dup_top()
                    .dup("wrap")
                    .op(&[Op::Add])
                    .push(6)
                    .op(&[Op::Shr]);
                a.dup("one").op(&[Op::And]).push(values).op(&[Op::Mul]);
                a.swap(1).op(&[Op::Sub]);
            }
            if n > 0 {
                a.push(bits * n).op(&[Op::Shl, Op::Or]);
            }
        }
        a.swap(constants.len() + 1).pop(constants.len() + 1);
        let arguments: Vec<String> = ["w".to_owned()]
            .into_iter()
            .chain(
                constants
                    .iter()
                    .map(|&(_, value)| literal(ntt::word(lanes, value))),
            )
            .collect();
        a.verbatim(&arguments)
    }

    /// Algorithm 21 HintBitUnpack and algorithm 40 UseHint, coefficient by
    /// coefficient, of which there are at most omega.
    fn hints(&self) -> String {
        let layout = self.layout;
        let p = &layout.p;
        let hint = self.signature() + p.c_tilde_len + p.l * p.z_poly_len();
        let (packed, per_word) = self.packed();
        fill(
            "{
    let n := 0
    let bad := 0
    for { let i := 0 } lt(i, $K) { i := add(i, 1) } {
        let end := byte(0, calldataload(add($COUNTS, i)))
        bad := or(bad, or(lt(end, n), gt(end, $OMEGA)))
        if bad { break }
        let next := 0
        let words := add($W, shl(13, div(i, $ROWS)))
        let lane := mul($WIDTH, mod(i, $ROWS))
        let row := add($PACKED, mul(i, $ROWLEN))
        for {} lt(n, end) { n := add(n, 1) } {
            let x := byte(0, calldataload(add($HINT, n)))
            bad := or(bad, lt(x, next))
            next := add(x, 1)
            let v := mod(and(shr(lane, mload(add(words, shl(5, x)))), 0xffffffff), $Q)
            let r1 := div(add(v, $ROUND), $RANGE)
            let up := gt(v, mul(r1, $RANGE))
            if eq(r1, $VALUES) { r1 := 0 up := 0 }
            let new := mod(add(r1, add($LESS, shl(1, up))), $VALUES)
            let at := add(row, shl(5, shr($LOG, x)))
            mstore(at, xor(mload(at), shl(mul($BITS, and(x, $INDEX)), xor(r1, new))))
        }
    }
    for {} lt(n, $OMEGA) { n := add(n, 1) } { bad := or(bad, byte(0, calldataload(add($HINT, n)))) }
    if bad { fail() }
}",
            &[
                ("COUNTS", (hint + p.omega).to_string()),
                ("OMEGA", p.omega.to_string()),
                ("HINT", hint.to_string()),
                ("K", p.k.to_string()),
                ("WIDTH", layout.inverse.width.to_string()),
                ("W", self.map.w.to_string()),
                ("ROWLEN", (32 * 256 / per_word).to_string()),
                ("ROWS", layout.inverse.count.to_string()),
                ("PACKED", packed.to_string()),
                ("Q", Q.to_string()),
                ("ROUND", (p.gamma2 - 1).to_string()),
                ("RANGE", (2 * p.gamma2).to_string()),
                ("VALUES", layout.w1_values().to_string()),
                ("LESS", (layout.w1_values() - 1).to_string()),
                ("LOG", per_word.ilog2().to_string()),
                ("BITS", layout.w1_bits().to_string()),
                ("INDEX", (per_word - 1).to_string()),
            ],
        )
    }

    /// Line 12 of algorithm 8: H(mu || w1) against `c_tilde`.
    fn final_hash(&self) -> String {
        let layout = self.layout;
        let p = &layout.p;
        let lanes = 8 + p.k * layout.w1_lanes();
        let blocks = lanes / RATE + 1;
        let mut text = String::new();
        if layout.w1_bits() == 6 {
            text.push_str(&fill(
                "{
    let d := $TO
    for { let t := $PACKED } lt(t, $END) { t := add(t, 32) } {
        let v := mload(t)
        mstore(d, and(v, $WORD))
        mstore(add(d, 32), and(shr(64, v), $WORD))
        mstore(add(d, 64), shr(128, v))
        d := add(d, 96)
    }
}\n",
                &[
                    ("TO", self.map.w1().to_string()),
                    ("PACKED", self.map.table.to_string()),
                    ("END", (self.map.table + 32 * 8 * p.k).to_string()),
                    ("WORD", literal(ones(64))),
                ],
            ));
        }
        text.push_str(&fill(
            "mstore($PAD, 0x1f)
mstore($LASTLANE, or(mload($LASTLANE), $TOP))
empty()
for { let s := $MU } lt(s, $END) { s := add(s, $RATELEN) } { absorb(s) }
squeeze($BLOCK)
let different := 0
calldatacopy($DATA, $SIGNATURE, $CLEN)
lanes($DATA, $OURS, $CHUNKS)
for { let i := 0 } lt(i, $LANES) { i := add(i, 32) } {
    different := or(different, xor(mload(add($BLOCK, i)), mload(add($OURS, i))))
}",
            &[
                ("PAD", (self.map.mu + 32 * lanes).to_string()),
                (
                    "LASTLANE",
                    (self.map.mu + 32 * (blocks * RATE - 1)).to_string(),
                ),
                ("TOP", literal(U256::ONE << 63)),
                ("MU", self.map.mu.to_string()),
                ("END", (self.map.mu + 32 * RATE * blocks).to_string()),
                ("RATELEN", (32 * RATE).to_string()),
                ("BLOCK", memory::BLOCK.to_string()),
                ("CHUNKS", p.c_tilde_len.div_ceil(32).to_string()),
                ("DATA", self.map.data.to_string()),
                ("SIGNATURE", self.signature().to_string()),
                ("CLEN", p.c_tilde_len.to_string()),
                ("OURS", self.map.z.to_string()),
                ("LANES", (4 * p.c_tilde_len).to_string()),
            ],
        ));
        text
    }
}

/// Bits above the 23rd that HighBits folds.
pub const HIGH_FOLD: u64 = 0x1ff;

/// Division by 2 gamma2 as a product and a shift.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// `ceil(2^shift / (2 gamma2))`.
    pub factor: u64,
    /// Bits to drop.
    pub shift: usize,
}

/// The division of a set.
pub fn division(layout: &Layout) -> Division {
    let shift = 46;
    let range = 2 * layout.p.gamma2 as u64;
    Division {
        factor: (1u64 << shift).div_ceil(range),
        shift,
    }
}
