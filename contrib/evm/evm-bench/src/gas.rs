//! Rule sets.

use revm::primitives::hardfork::SpecId;

/// The rules that price a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Under which revm runs.
    pub spec: SpecId,
    /// Name in rows.
    pub profile: &'static str,
    /// Title for tables.
    pub title: &'static str,
    /// Gas of a byte of deployed code.
    pub code_byte: u64,
}

/// Rules of today.
pub const TODAY: Rules = Rules {
    spec: SpecId::OSAKA,
    profile: "osaka",
    title: "today: Osaka",
    code_byte: 200,
};

/// Announced rules of Glamsterdam, as revm has them: the values of its eighth developer
/// network, which may still change.
pub const NEXT: Rules = Rules {
    spec: SpecId::AMSTERDAM,
    profile: "glamsterdam-announced",
    title: "announced: Glamsterdam, EIP-2780, 7954, 7976, 7981, 8037, 8038",
    code_byte: 1_530,
};

/// Bytes of contract code by EIP-7954, of which an earlier text had half.
pub const NEXT_CODE_LIMIT: usize = 65_536;

/// The version of revm in the lock file.
pub fn revm_version() -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let entry = lock.split_once("name = \"revm\"\nversion = \"");
    entry
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("of unknown version")
}
