//! The operations of `mldsa-lowmem` that are traced: on the device, and on the
//! host, which finds inputs whose public events agree and knows the results.

use core::hint::black_box;

use mldsa_core::internals::field::canonical;
use mldsa_core::internals::hint::HINT_ROW_LEN;
use mldsa_core::internals::pack::{low_part_bits, pack_low, unpack_low};
use mldsa_core::internals::row_steps::{
    absorb_high_bits, hint_row, is_mask_row, low_row, r0_row_reaches, z_row_reaches, z_row_write,
};
use mldsa_core::internals::sample::{expand_mask_packed, expand_mask_poly};
use mldsa_core::internals::sparse::SparseChallenge;
use mldsa_core::internals::{
    CommitmentHash, N, Permutation, SecretKeyParts, Shake256, T0_POLY_LEN, Zeroed,
};
use mldsa_lowmem::{
    ExpandedSigningKey, MlDsaSigner, Mu, ParameterSet, Randomness, Recomputation, SigningKey, Tier,
    Workspace,
};

/// Set, tier, operation, `xi`, `mu`; the expanded private key follows.
pub const HEADER_LEN: usize = 3 + 32 + 64;

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Key generation from the seed.
    Keygen,
    /// Checked import of an expanded key: the same products without sampling.
    Import,
    /// Signing from the expanded key.
    Sign,
    /// Signing from the seed.
    SignFromSeed,
    /// The steps that follow the challenge of signing, under a given challenge.
    Rows,
    /// Checked import of a key with a wrong bit, at a place that differs.
    ImportRefused,
    /// A reduction by comparison, which counts.
    PlantedSign,
    /// A norm check that stops at the first coefficient.
    PlantedNorm,
    /// A hint that is compared with zero.
    PlantedZero,
    /// A code word that is compared with its limit.
    PlantedRange,
    /// Packed secrets that are compared by `==`.
    PlantedEqual,
    /// A table read at a secret.
    PlantedIndex,
}

impl Operation {
    const ALL: [(&'static str, Self); 12] = [
        ("keygen", Self::Keygen),
        ("import", Self::Import),
        ("sign", Self::Sign),
        ("sign-from-seed", Self::SignFromSeed),
        ("rows", Self::Rows),
        ("import-refused", Self::ImportRefused),
        ("planted-sign", Self::PlantedSign),
        ("planted-norm", Self::PlantedNorm),
        ("planted-zero", Self::PlantedZero),
        ("planted-range", Self::PlantedRange),
        ("planted-equal", Self::PlantedEqual),
        ("planted-index", Self::PlantedIndex),
    ];

    /// By its name on the command line.
    #[cfg(not(target_os = "none"))]
    pub fn named(name: &str) -> Option<Self> {
        let mut known = Self::ALL.iter();
        known
            .find(|(known, _)| *known == name)
            .map(|(_, operation)| *operation)
    }

    /// By its number in the header.
    #[cfg(target_os = "none")]
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL
            .get(usize::from(number))
            .map(|(_, operation)| *operation)
    }
}

/// The parsed input.
pub struct Input<'a, P: ParameterSet> {
    operation: Operation,
    xi: &'a [u8; 32],
    mu: Mu,
    sk: &'a [u8],
    set: core::marker::PhantomData<P>,
}

impl<'a, P: ParameterSet> Input<'a, P> {
    /// `None` if it is too short.
    pub fn new(operation: Operation, header: &'a [u8], rest: &'a [u8]) -> Option<Self> {
        let (xi, mu) = header.get(3..)?.split_first_chunk()?;
        Some(Self {
            operation,
            xi,
            mu: Mu::from_bytes(*mu.first_chunk()?),
            sk: rest.get(..P::SK_LEN)?,
            set: core::marker::PhantomData,
        })
    }
}

/// Performs the operation and writes the SHAKE256 digest of its result.
pub fn perform<P: ParameterSet, T: Tier<P>>(input: &Input<'_, P>, digest: &mut [u8; 32]) {
    match input.operation {
        Operation::Keygen => {
            let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
            mldsa_lowmem::SigningKey::<P>::keygen_into(input.xi, &mut pk, &mut sk);
            Shake256::digest(Permutation::PORTABLE, &[sk.as_ref()], digest);
        }
        Operation::Import | Operation::ImportRefused => {
            digest[0] = u8::from(ExpandedSigningKey::<P>::from_expanded_bytes(input.sk).is_ok());
        }
        Operation::Sign => {
            let key = ExpandedSigningKey::<P>::from_trusted_bytes(input.sk).expect("a key");
            sign::<P, T>(&key, &input.mu, digest);
        }
        Operation::SignFromSeed => {
            sign::<P, T>(&SigningKey::<P>::from_seed(input.xi), &input.mu, digest);
        }
        Operation::Rows => rows(input, digest),
        Operation::PlantedSign => {
            for pair in input.sk.windows(2) {
                if black_box(i32::from(pair[0]) - i32::from(pair[1])) < 0 {
                    note(digest);
                }
            }
        }
        Operation::PlantedNorm => {
            digest[1] = u8::from(input.sk.iter().any(|&byte| black_box(byte) == 0x5a));
        }
        Operation::PlantedZero => {
            for byte in input.sk {
                if black_box(byte) >> 5 != 0 {
                    note(digest);
                }
            }
        }
        Operation::PlantedRange => {
            for byte in input.sk {
                if black_box(byte) & 15 > 8 {
                    note(digest);
                }
            }
        }
        Operation::PlantedEqual => {
            // Bytes 0x5a become 0x5b, without a branch.
            let other: [u8; 1024] = core::array::from_fn(|n| {
                let difference = u16::from(black_box(input.sk[n]) ^ 0x5a);
                input.sk[n] ^ (difference.wrapping_sub(1) >> 15) as u8
            });
            digest[1] = u8::from(black_box(input.sk)[..1024] == black_box(other));
        }
        Operation::PlantedIndex => {
            for &byte in input.sk {
                digest[2] ^= black_box(&TABLE)[usize::from(byte & 63)];
            }
        }
    }
}

static TABLE: [u8; 64] = [7; 64];

/// The effect that hangs on a planted branch: a write elsewhere, so that no target can do without
/// a jump.
#[inline(never)]
fn note(digest: &mut [u8; 32]) {
    digest[1] = digest[1].wrapping_add(black_box(1));
}

/// Without the verification of the signature, whose input is public except for rows that
/// [`Operation::Import`] computes too.
fn sign<P: ParameterSet, T: Tier<P>>(
    key: &impl mldsa_lowmem::PrivateKey<P>,
    mu: &Mu,
    digest: &mut [u8; 32],
) {
    let mut workspace = Workspace::<P, T>::new();
    let mut signature = P::SignatureBytes::zeroed();
    MlDsaSigner::new(key, &mut workspace)
        .with_checks::<Recomputation>()
        .sign_mu_into(mu, Randomness::Deterministic, signature.as_mut())
        .expect("a signature");
    Shake256::digest(Permutation::PORTABLE, &[signature.as_ref()], digest);
}

/// Row 0 of everything that signing does with a challenge, the challenge being the
/// same for all keys: masks that differ give other challenges.
fn rows<P: ParameterSet>(input: &Input<'_, P>, digest: &mut [u8; 32]) {
    let p = &P::PARAMS;
    let keccak = Permutation::PORTABLE;
    let parts = SecretKeyParts::parse(p, input.sk).expect("a key");
    let mut rho_pp = [0; 64];
    Shake256::digest(keccak, &[parts.k_seed], &mut rho_pp);
    let mut c = SparseChallenge::empty();
    c.sample_in_ball_vartime(keccak, p.tau, input.mu.as_bytes());

    let mut y = [0; 640];
    let y = &mut y[..p.z_poly_len()];
    expand_mask_packed(keccak, &rho_pp, 0, y);
    let s1 = &parts.s1[..p.eta_poly_len()];
    digest[0] = u8::from(z_row_reaches(p, &c, s1, y));
    let mut w = [0; N];
    expand_mask_poly(keccak, &rho_pp, 0, p.gamma1_bits, &mut w);
    assert!(is_mask_row(p, y, &w));
    z_row_write(p, &c, s1, &w, y);

    expand_mask_poly(keccak, &rho_pp, 1, p.gamma1_bits, &mut w);
    for w in &mut w {
        *w = canonical(*w);
    }
    let mut hash = CommitmentHash::new(keccak, &input.mu);
    absorb_high_bits(p.gamma2, &w, &mut hash);
    low_row(p.gamma2, &mut w);
    let mut low = [0; 32 * 20];
    let low = &mut low[..32 * low_part_bits(p.gamma2)];
    pack_low(p.gamma2, &w, low);
    unpack_low(p.gamma2, low, &mut w);
    digest[1] = u8::from(r0_row_reaches(p, &c, &parts.s2[..p.eta_poly_len()], &mut w));
    let mut bitmap = [0; HINT_ROW_LEN];
    digest[2] = u8::from(hint_row(p, &c, &parts.t0[..T0_POLY_LEN], &w, &mut bitmap));
    hash.finish(&mut digest[3..]);
    black_box((y, w, bitmap));
}
