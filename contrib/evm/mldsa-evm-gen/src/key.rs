//! Words of a key that are ready to be multiplied, and the contracts that hold them.

use mldsa_core::internals::{NttPoly, Poly, PublicKeyParts, Q, Zeroed, ntt, pack, vectors};
use mldsa_core::{Backend, KeyError};
use ruint::aliases::U256;

use crate::keccak256;
use crate::lanes::Layout;

/// First bytes of the first key contract: STOP, a tag, the set.
pub const HEAD_LEN: usize = 14;
const TAG: &[u8; 12] = b"MLDSA-KEY/v1";
/// Bytes of contract code (EIP-170).
pub const CODE_LIMIT: usize = 24_576;
/// Bytes of a reference to another part: code hash, address.
const REFERENCE_LEN: usize = 52;

/// The head as a number.
pub fn head(layout: &Layout) -> U256 {
    U256::try_from_be_slice(&head_bytes(layout)).unwrap_or_default()
}

fn head_bytes(layout: &Layout) -> Vec<u8> {
    [&[0][..], TAG, &[layout.name]].concat()
}

/// Offset of the reference to part `part` in the first part.
pub const fn reference_at(part: usize) -> usize {
    HEAD_LEN + 64 + REFERENCE_LEN * (part - 1)
}

/// A run of matrix words in the code of one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Inverse group of the words.
    pub group: usize,
    /// Which contract.
    pub part: usize,
    /// Offset in the part.
    pub from: usize,
    /// Offset among the words of the group.
    pub to: usize,
    /// Bytes.
    pub len: usize,
}

/// Contracts that a key needs.
pub fn parts(layout: &Layout) -> usize {
    parts_within(layout, CODE_LIMIT)
}

/// Contracts that a key would need if each could have `limit` bytes.
pub fn parts_within(layout: &Layout, limit: usize) -> usize {
    let len = layout.words_len();
    (1..)
        .find(|&parts| len + reference_at(parts) + (parts - 1) * 32 <= parts * limit)
        .unwrap_or(1)
}

/// Position of the words in the parts, in order. Every part is filled with whole words; the
/// later parts begin with STOP.
pub fn segments(layout: &Layout) -> Vec<Segment> {
    let parts = parts(layout);
    let (mut part, mut from) = (0, reference_at(parts));
    let mut list = Vec::new();
    for group in 0..layout.inverse_groups() {
        let mut to = 0;
        while to < layout.group_len() {
            let room = (CODE_LIMIT - from) / 32 * 32;
            if room == 0 {
                (part, from) = (part + 1, 1);
                continue;
            }
            let len = room.min(layout.group_len() - to);
            list.push(Segment {
                group,
                part,
                from,
                to,
                len,
            });
            from += len;
            to += len;
        }
    }
    list
}

/// A public key with its matrix: the entries of A and `-t1 2^13`, in NTT form and
/// canonical.
#[derive(Clone, Debug)]
pub struct ExpandedKey {
    /// The set.
    pub layout: Layout,
    /// Seed of A.
    pub rho: [u8; 32],
    /// Hash of the key.
    pub tr: [u8; 64],
    /// k rows of l + 1 polynomials.
    pub rows: Vec<Vec<[i32; 256]>>,
}

impl ExpandedKey {
    /// Expands an encoded key.
    ///
    /// # Errors
    /// [`KeyError`] for another length.
    pub fn new(layout: Layout, pk: &[u8]) -> Result<Self, KeyError> {
        let p = &layout.p;
        let parts = PublicKeyParts::parse(p, pk)?;
        let backend = Backend::detect();
        let mut matrix: Vec<NttPoly> = (0..p.k * p.l).map(|_| NttPoly::zeroed()).collect();
        vectors::expand_a(backend, p, parts.rho, &mut matrix);
        let (mut t, mut t_hat) = (Poly::zeroed(), NttPoly::zeroed());
        let rows = matrix
            .chunks_exact(p.l)
            .zip(parts.t1.chunks_exact(mldsa_core::internals::T1_POLY_LEN))
            .map(|(row, t1)| {
                pack::unpack_t1_2d(t1, &mut t);
                ntt::ntt(&t, &mut t_hat);
                let minus_t = t_hat.0.map(|t| (-t).rem_euclid(Q));
                row.iter().map(|a| a.0).chain([minus_t]).collect()
            })
            .collect();
        Ok(Self {
            layout,
            rho: *parts.rho,
            tr: mldsa_core::internals::tr(backend.permutation(), pk),
            rows,
        })
    }

    /// The words, group after group: every coefficient times 256^-1, which the inverse
    /// transform leaves out.
    pub fn words(&self) -> Vec<u8> {
        let layout = &self.layout;
        let slots = layout.slots();
        let mut out = Vec::with_capacity(layout.words_len());
        for group in 0..layout.inverse_groups() {
            for step in 0..layout.steps {
                for word in &slots {
                    let word = word
                        .iter()
                        .enumerate()
                        .map(|(slot, &(row, columns, half))| {
                            let row = &self.rows[layout.inverse.count * group + row];
                            let j = step + layout.steps * half;
                            let lanes = (0..layout.forward.count).fold(U256::ZERO, |word, lane| {
                                let a = row[layout.forward.count * columns + lane][j];
                                word | (U256::from(scaled(a, INVERSE_256))
                                    << (layout.forward.width * lane))
                            });
                            lanes << (layout.lift() + layout.spacing * slot)
                        })
                        .fold(U256::ZERO, |word, lanes| word | lanes);
                    out.extend(word.to_be_bytes::<32>());
                }
            }
        }
        out
    }

    /// The key that these words hold; `None` for another length, a coefficient that
    /// is not below q, or a bit outside the coefficients.
    pub fn from_words(layout: Layout, rho: [u8; 32], tr: [u8; 64], words: &[u8]) -> Option<Self> {
        if words.len() != layout.words_len() {
            return None;
        }
        let mut rows = vec![vec![[0; 256]; layout.columns()]; layout.p.k];
        let slots = layout.slots();
        for (at, bytes) in words.chunks_exact(32).enumerate() {
            let value = U256::try_from_be_slice(bytes)?;
            let (step, word) = (at / layout.words, at % layout.words);
            let (group, step) = (step / layout.steps, step % layout.steps);
            for (slot, &(row, columns, half)) in slots[word].iter().enumerate() {
                for lane in 0..layout.forward.count {
                    let shift = layout.lift() + layout.spacing * slot + layout.forward.width * lane;
                    let a = (value >> shift) & crate::lanes::ones(23);
                    let a = i32::try_from(a).ok().filter(|&a| a < Q)?;
                    rows[layout.inverse.count * group + row]
                        [layout.forward.count * columns + lane][step + layout.steps * half] =
                        scaled(a, 256);
                }
            }
        }
        let key = Self {
            layout,
            rho,
            tr,
            rows,
        };
        (key.words() == words).then_some(key)
    }

    /// Value that a storage slot binds: Keccak-256 of tag, set, rho, `tr` and the hash of each
    /// group of words.
    pub fn commitment(&self) -> [u8; 32] {
        let Self {
            layout, rho, tr, ..
        } = self;
        let words = self.words();
        let groups = words.chunks_exact(layout.group_len());
        let groups: Vec<u8> = groups.flat_map(|group| keccak256(&[group])).collect();
        keccak256(&[COMMITMENT_TAG, &[layout.name], rho, tr, &groups])
    }

    /// The code of the contracts that hold the key, given where part 1 and later will
    /// be: the first part refers to the others by code hash and address.
    pub fn codes(&self, others: &[[u8; 20]]) -> Vec<Vec<u8>> {
        let words = self.words();
        let mut codes = vec![vec![0]; parts(&self.layout)];
        codes[0].clear();
        for segment in segments(&self.layout) {
            let from = segment.group * self.layout.group_len() + segment.to;
            codes[segment.part].extend(&words[from..from + segment.len]);
        }
        let mut first = head_bytes(&self.layout);
        first.extend(self.tr);
        for (code, address) in codes[1..].iter().zip(others) {
            first.extend(keccak256(&[code]));
            first.extend(address);
        }
        codes[0].splice(0..0, first);
        codes
    }
}

/// First bytes of the input of a commitment.
pub const COMMITMENT_TAG: &[u8; 13] = b"MLDSA-PREA/v1";

/// 256^-1 modulo q.
pub const INVERSE_256: i32 = 8_347_681;

fn scaled(a: i32, factor: i32) -> i32 {
    (i64::from(a) * i64::from(factor) % i64::from(Q)) as i32
}

/// The shortest init code that deploys `code`.
pub fn init_code(code: &[u8]) -> Vec<u8> {
    let [high, low] = (code.len() as u16).to_be_bytes();
    // PUSH2 len, DUP1, PUSH1 10, PUSH0, CODECOPY, PUSH0, RETURN
    let head = [0x61, high, low, 0x80, 0x60, 10, 0x5f, 0x39, 0x5f, 0xf3];
    [&head[..], code].concat()
}
