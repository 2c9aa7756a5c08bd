//! From the encoded key to its matrix words inside the EVM, and the two contracts
//! built on it: the registry, which proves a commitment and binds calldata to it, and
//! the stateless verifier.

use mldsa_core::internals::Q;
use ruint::aliases::U256;

use crate::asm::{Asm, Op};
use crate::keccak::{self, COMPLEMENTED, Copies};
use crate::key::{COMMITMENT_TAG, INVERSE_256};
use crate::lanes::{Layout, Q256, literal, ones, repeat};
use crate::ntt::{self, TABLE_LEN, ZETA_OFFSET};
use crate::tables;
use crate::yul::{empty_state, fill, memory, object, shake256};

/// Round constants of four states.
const FOUR_CONSTANTS: usize = memory::FREE;
/// Lanes of rho.
const RHO: usize = FOUR_CONSTANTS + 768;
/// Addresses of the next coefficients of the four polynomials, and their ends.
const NEXT: usize = RHO + 128;
const END: usize = NEXT + 128;
const TABLE: usize = END + 128;
/// Polynomials, four bytes a coefficient.
const POLYS: usize = TABLE + TABLE_LEN;
/// Bytes of one, and room for the excess of a block.
const SLOT: usize = 1024 + 256;

/// t1 runs four rows at a time through the transform of ML-DSA-87.
fn t1_layout() -> Layout {
    Layout::of(87)
}

/// The contract that answers an encoded key with `tr` and the matrix words. It
/// reverts for another length.
pub fn contract(layout: &Layout) -> String {
    let p = &layout.p;
    let out = POLYS + SLOT * layout.columns() * p.k;
    let ntt = ntt::forward_function(&t1_layout(), TABLE);
    let code = fill(
        include_str!("../templates/expand.yul").trim_end(),
        &[
            ("PKLEN", &p.pk_len()),
            ("TABCONSTANTS", &tables::CONSTANTS),
            ("TABQUOTIENTS", &tables::QUOTIENTS_32),
            ("TABZETAMEM", &(TABLE + ZETA_OFFSET)),
            ("TABZETAS", &tables::ZETAS),
            ("TABLE", &TABLE),
            ("ZETALEN", &ZETA_OFFSET),
            ("CONSTANTS", &memory::CONSTANTS),
            ("CONSTANT", &memory::CONSTANT),
            ("FOUR", &FOUR_CONSTANTS),
            ("RHO", &RHO),
            ("POLYS", &POLYS),
            ("BLOCK", &memory::BLOCK),
            ("ENTRIES", &(p.k * p.l)),
            ("EMPTY", &empty_state()),
            ("SEED", &seed()),
            ("NONCELANE", &(memory::STATE + 32 * 4)),
            ("LASTLANE", &(memory::STATE + 32 * 20)),
            ("TOPS", &literal(keccak::quarters() << 63)),
            ("SLOT", &SLOT),
            ("COLUMNS", &layout.columns()),
            ("NEXT", &NEXT),
            ("HEADGROUPS", &groups(0..4)),
            ("TAILGROUPS", &groups(4..7)),
            (
                "ROUNDS",
                &keccak::rounds(
                    Copies::Four,
                    2,
                    memory::STATE,
                    memory::OTHER,
                    memory::CONSTANT,
                )
                .verbatim(&[]),
            ),
            ("DECODE", &decode_t1()),
            ("OUTEND", &(out + 8192)),
            ("OUT", &out),
            ("WORDLEN", &(32 * layout.words)),
            ("WORDS", &words(layout)),
            ("WORD", &literal(ones(64))),
            ("MINUS", &(Q - INVERSE_256)),
            (
                "GROUPLEN",
                &(SLOT * layout.columns() * layout.inverse.count),
            ),
            ("STEPS", &(4 * layout.steps)),
            ("RESULT", &(64 + layout.words_len())),
            ("THIRD", &literal(ones(64) << 128)),
            ("SECOND", &literal(ones(64) << 64)),
            ("PUT", &put()),
            ("NTT", &ntt),
            ("SHAKE", &shake256()),
            ("END", &END),
            ("K", &p.k),
            ("L", &p.l),
            ("Q", &Q),
        ],
    );
    object(
        &format!("Expand{}", layout.name),
        &[("tables", Some(tables::code_hash()))],
        &code,
    )
}

/// rho into the first four lanes of all states, none of which is complemented but
/// 1 and 2.
fn seed() -> String {
    let copies = literal(keccak::quarters());
    (0..4)
        .map(|i| {
            let lane = memory::STATE + 32 * i;
            format!(
                "mstore({lane}, xor(mload({lane}), mul(mload({}), {copies})))\n",
                RHO + 32 * i
            )
        })
        .collect()
}

/// Yul that takes groups of three lanes, eight candidates each, of the state at bit n.
fn groups(range: core::ops::Range<usize>) -> String {
    let lane = |i: usize| {
        let mut value = format!("mload({})", memory::STATE + 32 * i);
        if COMPLEMENTED.contains(&i) {
            value = format!("not({value})");
        }
        format!("and(shr(n, {value}), {})", literal(ones(64)))
    };
    range
        .map(|group| {
            format!(
                "at := put(or({}, or(shl(64, {}), shl(128, {}))), at)\n",
                lane(3 * group),
                lane(3 * group + 1),
                lane(3 * group + 2)
            )
        })
        .collect()
}

/// Eight candidates of algorithm 14 CoeffFromThreeBytes: each is stored, times
/// 256^-1, and the place moves on if it was below q.
fn put() -> String {
    let mut a = Asm::new(["v", "at"]);
    for n in 0..8 {
        a.push(Q256).dup("v").shift(24 * n, 0);
        a.push(ones(23)).op(&[Op::And]).name("c");
        a.push(Q256).push(INVERSE_256).dup("c").op(&[Op::MulMod]);
        a.push(224).op(&[Op::Shl]).dup("at").op(&[Op::Mstore]);
        a.op(&[Op::Lt])
            .push(2)
            .op(&[Op::Shl])
            .dup("at")
            .op(&[Op::Add]);
        a.swap_into("at").pop(1);
    }
    a.pop(1);
    a.verbatim(&["v", "at"].map(String::from))
}

/// Sixteen coefficients of four rows of t1, times 2^13, with the bias.
fn decode_t1() -> String {
    let layout = t1_layout();
    let (rows, width) = (layout.forward.count, layout.forward.width);
    let values: Vec<String> = (0..rows).map(|row| format!("v{row}")).collect();
    let masks: Vec<String> = (0..rows).map(|row| format!("m{row}")).collect();
    let inputs: Vec<String> = [String::from("to")]
        .into_iter()
        .chain(values.clone())
        .chain(masks.clone())
        .chain([String::from("bias")])
        .collect();
    let mut a = Asm::new(inputs.clone());
    let shift = |row: usize| width * row + 13;
    for i in 0..16 {
        a.dup("bias");
        for row in 0..rows {
            a.dup(&values[row]).shift(10 * i, shift(row));
            a.dup(&masks[row]).op(&[Op::And, Op::Add]);
        }
        a.dup_add("to", 32 * i).op(&[Op::Mstore]);
    }
    a.pop(inputs.len());
    let loads = (0..rows).map(|row| format!("bswap(calldataload(add(s, {})))", 320 * row));
    let masks = (0..rows).map(|row| literal(ones(10) << shift(row)));
    let bias = repeat(layout.start_bias * Q as u64, rows, width);
    let arguments: Vec<String> = [String::from("d")]
        .into_iter()
        .chain(loads)
        .chain(masks)
        .chain([literal(bias)])
        .collect();
    a.verbatim(&arguments)
}

/// The words of one step, from the polynomials of a group at j to d.
fn words(layout: &Layout) -> String {
    let mut a = Asm::new(["j", "d"]);
    for (word, slots) in layout.slots().iter().enumerate() {
        let mut terms = 0;
        for (slot, &(row, columns, half)) in slots.iter().enumerate() {
            for lane in 0..layout.forward.count {
                let column = layout.forward.count * columns + lane;
                let offset = SLOT * (row * layout.columns() + column) + 4 * layout.steps * half;
                a.dup_add("j", offset).op(&[Op::Mload]).shift(224, 0);
                let shift = layout.lift() + layout.spacing * slot + layout.forward.width * lane;
                a.shift(0, shift);
                if terms > 0 {
                    a.op(&[Op::Or]);
                }
                terms += 1;
            }
        }
        a.dup_add("d", 32 * word).op(&[Op::Mstore]);
    }
    a.pop(2);
    a.verbatim(&["j", "d"].map(String::from))
}

/// Address at which `tr`, words, signature and the rest are assembled for the core.
const CORE_INPUT: usize = 0xc00;

/// The registry. The length of its input selects the operation:
/// - an encoded key: expands it, stores its commitment, answers the commitment;
/// - 32 bytes: answers whether that commitment is stored;
/// - commitment, rho, `tr`, words, signature, length of the context, context,
///   message: answers whether the commitment is stored, is that of rho, `tr` and the
///   words, and the signature is valid.
pub fn registry(layout: &Layout) -> String {
    let p = &layout.p;
    let hashes: String = (0..layout.inverse_groups())
        .map(|group| {
            format!(
                "    mstore({}, keccak256({}, {}))\n",
                110 + 32 * group,
                CORE_INPUT + 64 + group * layout.group_len(),
                layout.group_len()
            )
        })
        .collect();
    let tag = [&COMMITMENT_TAG[..], &[layout.name]].concat();
    let tag = U256::try_from_be_slice(&tag).unwrap_or_default() << (256 - 8 * tag.len());
    let code = fill(
        include_str!("../templates/registry.yul").trim_end(),
        &[
            ("PKLEN", &p.pk_len()),
            ("INPUT", &CORE_INPUT),
            ("EXPANDED", &(64 + layout.words_len())),
            ("LEAST", &(128 + layout.words_len() + p.sig_len())),
            ("CALL", &call_core()),
            ("TAG", &literal(tag)),
            ("HASHES", &hashes),
            ("HASHED", &(110 + 32 * layout.inverse_groups())),
            ("FAIL", &crate::yul::FAIL),
        ],
    );
    object(
        &format!("Registry{}", layout.name),
        &[("expand", None), ("core", None)],
        &code,
    )
}

/// The verifier whose input is encoded key, signature, length of the context, context,
/// message.
pub fn stateless(layout: &Layout) -> String {
    let p = &layout.p;
    let code = fill(
        "if iszero(gt(calldatasize(), $LEAST)) { fail() }
calldatacopy(0, 0, $PKLEN)
let done := staticcall(gas(), loadimmutable(\"expand\"), 0, $PKLEN, $INPUT, $EXPANDED)
if iszero(and(done, eq(returndatasize(), $EXPANDED))) { revert(0, 0) }
let n := add(sub(calldatasize(), $PKLEN), $EXPANDED)
calldatacopy($AFTER, $PKLEN, sub(calldatasize(), $PKLEN))
$CALL
$FAIL",
        &[
            ("LEAST", &(p.pk_len() + p.sig_len())),
            ("PKLEN", &p.pk_len()),
            ("INPUT", &CORE_INPUT),
            ("EXPANDED", &(64 + layout.words_len())),
            ("AFTER", &(CORE_INPUT + 64 + layout.words_len())),
            ("CALL", &call_core()),
            ("FAIL", &crate::yul::FAIL),
        ],
    );
    object(
        &format!("Stateless{}", layout.name),
        &[("expand", None), ("core", None)],
        &code,
    )
}

/// Yul that hands n bytes to the core and returns its answer; without an answer, for
/// want of gas, the call reverts.
fn call_core() -> String {
    format!(
        "if iszero(staticcall(gas(), loadimmutable(\"core\"), {CORE_INPUT}, n, 0, 32)) {{ revert(0, 0) }}
    if iszero(eq(returndatasize(), 32)) {{ revert(0, 0) }}
    return(0, 32)"
    )
}
