//! FIPS 204 algorithm 8 on lanes: from the packed signature and the words of the
//! matrix to the verdict. The contracts differ in the source of the words.

mod hash;
mod high_bits;
mod product;
mod vector;

use crate::key;
use crate::lanes::{Layout, literal, ones, repeat};
use crate::ntt::{self, TABLE_LEN, ZETA_OFFSET};
use crate::tables;
use crate::yul::{FAIL, RATE, fill, memory, object, shake256};

pub use self::high_bits::{Division, HIGH_FOLD, division};

/// Source of the words of the matrix.
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

/// Addresses in memory that depend on the set.
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
/// transform of the 256 words after it, op 1 the inverse one; op 2 both around the
/// product, of the words of one inverse group and the vector after them.
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
        include_str!("../templates/kernels.yul").trim_end(),
        &[
            ("LOAD", &verifier.load_tables()),
            ("TRANSFORMS", &transforms),
            ("INVERSE", &verifier.inverse_table()),
            ("DATA", &map.data),
            ("LEN", &layout.group_len()),
            ("START", &(1 + layout.group_len())),
            ("VECTOR", &vector),
            (
                "FUNCTIONS",
                &format!(
                    "{}\n{}",
                    ntt::functions(layout, map.table),
                    verifier.product()
                ),
            ),
            ("Z", &map.z),
            ("W", &map.w),
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
    /// Offset of the signature in the calldata.
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
                ("CONSTANTS", &memory::CONSTANTS),
                ("FROM", &tables::CONSTANTS),
                ("TABLE", &self.map.table),
                ("QUOTIENTS", &quotients),
                ("AFTER", &(self.map.table + ZETA_OFFSET)),
                ("ZETAS", &tables::ZETAS),
                ("LEN", &ZETA_OFFSET),
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
                        ("HEAD", &literal(key::head(self.layout))),
                        ("DATA", &self.map.data),
                        ("TR", &key::HEAD_LEN),
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
                        &[("N", &part), ("AT", &key::reference_at(part))],
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
                ("TAIL", &self.tail()),
                ("ZERO", &(self.map.data + 64)),
                ("REST", &(self.map.data + 65)),
                ("DATA", &self.map.data),
                ("MU", &self.map.mu),
            ],
        )
    }
}
