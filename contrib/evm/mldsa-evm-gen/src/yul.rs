//! Pieces of Yul that several contracts share.

use core::fmt::Display;

use crate::keccak::{self, COMPLEMENTED, Copies, LANES};
use crate::lanes::{literal, ones};

/// Lanes that SHAKE256 absorbs or squeezes at a time.
pub const RATE: usize = 17;

/// `template` with every `$NAME` replaced; names must not begin with one another.
pub fn fill(template: &str, values: &[(&str, &dyn Display)]) -> String {
    let mut text = template.to_owned();
    for (name, value) in values {
        let name = format!("${name}");
        assert!(text.contains(&name), "{name} is not in the template");
        text = text.replace(&name, &value.to_string());
    }
    assert!(!text.contains('$'), "unfilled: {text}");
    text
}

/// Fixed places in memory, the same in every contract.
pub mod memory {
    /// State of Keccak.
    pub const STATE: usize = 0x20;
    /// State after every second round.
    pub const OTHER: usize = STATE + 800;
    /// Address of the next round constants.
    pub const CONSTANT: usize = OTHER + 800;
    /// Round constants.
    pub const CONSTANTS: usize = CONSTANT + 32;
    /// A block as lanes, 20 words.
    pub const BLOCK: usize = CONSTANTS + 768;
    /// Free memory.
    pub const FREE: usize = BLOCK + 640;
}
use memory::{BLOCK, CONSTANT, CONSTANTS, OTHER, STATE};

/// A contract: constructor arguments become immutables, `(name, check)` each with
/// the code hash that the address must have, and `code` runs.
pub fn object(name: &str, immutables: &[(&str, Option<String>)], code: &str) -> String {
    let mut constructor = String::from(
        "let size := datasize(\"runtime\")
        datacopy(0, dataoffset(\"runtime\"), size)\n",
    );
    let count = immutables.len();
    if count > 0 {
        constructor.push_str(&format!(
            "        codecopy(size, sub(codesize(), {0}), {0})\n",
            32 * count
        ));
    }
    for (i, (name, hash)) in immutables.iter().enumerate() {
        let value = format!("mload(add(size, {}))", 32 * i);
        if let Some(hash) = hash {
            constructor.push_str(&format!(
                "        if iszero(eq(extcodehash({value}), {hash})) {{ revert(0, 0) }}\n"
            ));
        }
        constructor.push_str(&format!("        setimmutable(0, \"{name}\", {value})\n"));
    }
    format!(
        "// Written by mldsa-evm-gen: change the generator, not this file.
object \"{name}\" {{
    code {{
        {constructor}        return(0, size)
    }}
    object \"runtime\" {{
        code {{
{code}
        }}
    }}
}}
"
    )
}

fn lane(i: usize) -> usize {
    STATE + 32 * i
}

/// Address of the i-th word from p on.
fn word_of_p(i: usize) -> String {
    match i {
        0 => "p".to_owned(),
        i => format!("add(p, {})", 32 * i),
    }
}

/// Rounds in the code of `keccakf()`: the state is back where it began, and copied
/// again, after six.
const UNROLLED: usize = 6;

/// `keccakf()` on one state.
fn keccakf() -> String {
    let code = keccak::rounds(Copies::Same, UNROLLED, STATE, OTHER, CONSTANT);
    format!(
        "function keccakf() {{
    for {{ let r := {CONSTANTS} }} lt(r, {}) {{ r := add(r, {}) }} {{ mstore({CONSTANT}, r) {} }}
}}",
        CONSTANTS + 768,
        32 * UNROLLED,
        code.verbatim(&[])
    )
}

/// Yul that empties the state.
pub fn empty_state() -> String {
    let complement: String = COMPLEMENTED
        .iter()
        .map(|&i| format!(" mstore({}, not(0))", lane(i)))
        .collect();
    format!(
        "calldatacopy({STATE}, calldatasize(), {}){complement}",
        32 * LANES
    )
}

/// SHAKE256: `shake(p, n)` takes n bytes at p, writes after them, and leaves the
/// first block ready; `squeeze(p)` writes a block as lanes, `lanes(from, to, n)`
/// turns n chunks of 32 bytes into lanes, `absorb(p)` takes a block of lanes.
pub fn shake256() -> String {
    let word = literal(ones(64));
    let copies = literal(keccak::quarters());
    let absorb: String = (0..RATE)
        .map(|i| {
            format!(
                "    mstore({0}, xor(mload({0}), mul(mload({1}), {copies})))\n",
                lane(i),
                word_of_p(i)
            )
        })
        .collect();
    let squeeze: String = (0..RATE)
        .map(|i| {
            let mut value = format!("mload({})", lane(i));
            if COMPLEMENTED.contains(&i) {
                value = format!("not({value})");
            }
            format!("    mstore({}, and({value}, {word}))\n", word_of_p(i))
        })
        .collect();
    fill(
        include_str!("../templates/shake256.yul").trim_end(),
        &[
            ("KECCAKF", &keccakf()),
            ("ABSORB", &absorb),
            ("SQUEEZE", &squeeze),
            ("EMPTY", &empty_state()),
            ("BLOCK", &BLOCK),
            ("LANES", &lanes()),
        ],
    )
}

/// `swap64(v)` turns the bytes of each quarter around, and `lanes(from, to, n)`.
pub fn lanes() -> String {
    let swap: String = [8usize, 16, 32]
        .into_iter()
        .map(|bits| {
            let mask = literal(crate::lanes::repeat(ones(bits), 128 / bits, 2 * bits));
            format!("    v := or(and(shr({bits}, v), {mask}), shl({bits}, and(v, {mask})))\n")
        })
        .collect();
    fill(
        include_str!("../templates/lanes.yul").trim_end(),
        &[("SWAP", &swap), ("WORD", &literal(ones(64)))],
    )
}

/// `fail()` ends the call with the answer zero.
pub const FAIL: &str = "function fail() { mstore(0, 0) return(0, 32) }";
