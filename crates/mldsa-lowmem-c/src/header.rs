//! Sizes of the header, compared with those of the library when it is compiled.

use mldsa_lowmem::{CacheW0, MlDsa44, MlDsa65, MlDsa87, ParameterSet, STATE_LEN, Workspace};

use crate::message::MuState;
use crate::signer::SignerMemory;

const HEADER: &[u8] = include_bytes!("../include/mldsa_lowmem.h");

/// Returns the number in the line `#define NAME number` of the header.
const fn defined(name: &str) -> usize {
    let mut at = 0;
    while at < HEADER.len() {
        if let Some(number) = number_after(at, b"#define ", name.as_bytes()) {
            return number;
        }
        at += 1;
    }
    panic!("the header lacks a size")
}

/// Returns the number after two words and a space that begin at `at`.
const fn number_after(mut at: usize, word: &[u8], name: &[u8]) -> Option<usize> {
    let mut n = 0;
    while n < word.len() + name.len() + 1 {
        let expected = if n < word.len() {
            word[n]
        } else if n < word.len() + name.len() {
            name[n - word.len()]
        } else {
            b' '
        };
        if at >= HEADER.len() || HEADER[at] != expected {
            return None;
        }
        n += 1;
        at += 1;
    }
    let mut number = 0;
    while HEADER[at].is_ascii_digit() {
        number = 10 * number + (HEADER[at] - b'0') as usize;
        at += 1;
    }
    Some(number)
}

/// Names of the sizes, and words that may be unused: a host's build of the whole workspace chooses
/// a backend, which takes a word of each hash.
const WORDS: (&str, &str, usize) = if size_of::<usize>() == 4 {
    (
        "MLDSA_LOWMEM_MU_WORDS_32",
        "MLDSA_LOWMEM_SIGNER_WORDS_32",
        0,
    )
} else {
    (
        "MLDSA_LOWMEM_MU_WORDS_64",
        "MLDSA_LOWMEM_SIGNER_WORDS_64",
        2,
    )
};

const fn fits<T>(name: &str) -> bool {
    let (words, defined) = (size_of::<T>().div_ceil(8), defined(name));
    align_of::<T>() <= 8 && words <= defined && words + WORDS.2 >= defined
}

#[allow(long_running_const_eval, reason = "a search in the header")]
const _: () = {
    assert!(fits::<MuState>(WORDS.0));
    assert!(defined("MLDSA_LOWMEM_STATE_LEN") == STATE_LEN);
};

/// Checks the sizes of a set.
macro_rules! set {
    ($set:ident, $pk:literal, $sk:literal, $signature:literal, $work:literal) => {
        #[allow(long_running_const_eval, reason = "a search in the header")]
        const _: () = {
            assert!(defined($pk) == $set::PK_LEN);
            assert!(defined($sk) == $set::SK_LEN);
            assert!(defined($signature) == $set::SIG_LEN);
            assert!(defined($work) == Workspace::<$set, CacheW0>::LEN);
            assert!(fits::<SignerMemory<$set>>(WORDS.1));
        };
    };
}
#[rustfmt::skip]
mod sets {
    use super::*;
    set!(MlDsa44, "MLDSA_LOWMEM_44_PK_LEN", "MLDSA_LOWMEM_44_SK_LEN", "MLDSA_LOWMEM_44_SIGNATURE_LEN", "MLDSA_LOWMEM_44_WORK_LEN");
    set!(MlDsa65, "MLDSA_LOWMEM_65_PK_LEN", "MLDSA_LOWMEM_65_SK_LEN", "MLDSA_LOWMEM_65_SIGNATURE_LEN", "MLDSA_LOWMEM_65_WORK_LEN");
    set!(MlDsa87, "MLDSA_LOWMEM_87_PK_LEN", "MLDSA_LOWMEM_87_SK_LEN", "MLDSA_LOWMEM_87_SIGNATURE_LEN", "MLDSA_LOWMEM_87_WORK_LEN");
}
