//! Parameter sets (FIPS 204 section 4, tables 1 and 2).

mod set;

use core::fmt::Debug;

use crate::memory::array::{Array, Element, sealed};
pub use crate::params::set::Set;

/// The field modulus q = 2^23 - 2^13 + 1.
pub const Q: i32 = 8_380_417;
/// Coefficients in a polynomial.
pub const N: usize = 256;
/// Bits dropped from t (FIPS 204 table 1).
pub const D: u32 = 13;
/// Bytes in a seed, in `rho`, in `K` and in `rnd`.
pub const SEED_LEN: usize = 32;
/// Bytes in `tr`, `mu` and `rho_pp`.
pub const CRH_LEN: usize = 64;
/// Limit of the attempts of a signature. All of them are rejected with probability below 2^-256.
///
/// FIPS 204 appendix C (2024) requires at least 814 attempts. NIST's list of updates corrects
/// the repetitions of table 1 to 4.36 / 5.14 / 3.91, and with them this minimum to 821.
pub const MAX_SIGN_ATTEMPTS: u16 = 821;

/// Whether one loop serves all widths and all products, at the expense of time: in firmware that
/// is optimised for size.
pub(crate) const SMALL: bool = cfg!(mldsa_small);

/// The numbers of one parameter set, as a value: what functions that are not
/// generic over the set take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Params {
    /// Rows of A.
    pub k: usize,
    /// Columns of A.
    pub l: usize,
    /// Bound of the coefficients of s1 and s2.
    pub eta: i32,
    /// Non-zero coefficients of the challenge.
    pub tau: usize,
    /// Bits of gamma1 - 1 without the sign: 17 or 19.
    pub gamma1_bits: u32,
    /// Half the low-order rounding range.
    pub gamma2: i32,
    /// Largest number of ones in the hint.
    pub omega: usize,
    /// Bytes of the commitment hash `c_tilde`.
    pub c_tilde_len: usize,
}

impl Params {
    /// Computes `tau * eta`.
    pub const fn beta(&self) -> i32 {
        self.tau as i32 * self.eta
    }

    /// Returns the bound of the mask: 2^17 or 2^19.
    pub const fn gamma1(&self) -> i32 {
        1 << self.gamma1_bits
    }

    /// Returns the number of bits of one packed coefficient of s1 and s2.
    pub const fn eta_bits(&self) -> usize {
        if self.eta == 2 { 3 } else { 4 }
    }

    /// Returns the number of bytes of one packed polynomial of s1 or s2: 96 or 128.
    pub const fn eta_poly_len(&self) -> usize {
        32 * self.eta_bits()
    }

    /// Returns the number of bytes of one packed polynomial of y or z: 576 or 640.
    pub const fn z_poly_len(&self) -> usize {
        32 * (1 + self.gamma1_bits as usize)
    }

    /// Returns the number of bytes of one packed polynomial of w1: 192 or 128.
    pub const fn w1_poly_len(&self) -> usize {
        if self.gamma2 == GAMMA2_88 { 192 } else { 128 }
    }

    /// Returns the number of bytes of the encoded public key.
    pub const fn pk_len(&self) -> usize {
        SEED_LEN + self.k * T1_POLY_LEN
    }

    /// Returns the number of bytes of the expanded private key.
    pub const fn sk_len(&self) -> usize {
        2 * SEED_LEN + CRH_LEN + (self.k + self.l) * self.eta_poly_len() + self.k * T0_POLY_LEN
    }

    /// Returns the number of bytes of the signature.
    pub const fn sig_len(&self) -> usize {
        self.c_tilde_len + self.l * self.z_poly_len() + self.omega + self.k
    }
}

/// Bytes of one packed polynomial of t1.
pub const T1_POLY_LEN: usize = 320;
/// Bytes of one packed polynomial of t0.
pub const T0_POLY_LEN: usize = 416;
/// gamma2 of ML-DSA-44: (q - 1) / 88.
pub(crate) const GAMMA2_88: i32 = (Q - 1) / 88;
/// gamma2 of ML-DSA-65 and ML-DSA-87: (q - 1) / 32.
pub(crate) const GAMMA2_32: i32 = (Q - 1) / 32;

/// A parameter set of FIPS 204. Sealed: the three sets are all there are.
pub trait ParameterSet: sealed::Sealed + Copy + Debug + Eq + Send + Sync + 'static {
    /// The set as a value.
    const SET: Set;
    /// The numbers of the set.
    #[doc(hidden)]
    const PARAMS: Params;
    /// Name in FIPS 204, e.g. `ML-DSA-44`.
    const NAME: &'static str = Self::SET.name();
    /// NIST security category: 2, 3 or 5.
    const CATEGORY: u8 = Self::SET.category();
    /// Collision strength of `c_tilde` in bits: 128, 192 or 256.
    const LAMBDA: usize = 4 * Self::PARAMS.c_tilde_len;

    /// Rows of A.
    const K: usize = Self::PARAMS.k;
    /// Columns of A.
    const L: usize = Self::PARAMS.l;
    /// Bytes of the encoded public key: 1312, 1952 or 2592.
    const PK_LEN: usize = Self::PARAMS.pk_len();
    /// Bytes of the expanded private key: 2560, 4032 or 4896.
    const SK_LEN: usize = Self::PARAMS.sk_len();
    /// Bytes of a signature: 2420, 3309 or 4627.
    const SIG_LEN: usize = Self::PARAMS.sig_len();
    /// Bytes of `c_tilde`: 32, 48 or 64.
    const C_TILDE_LEN: usize = Self::PARAMS.c_tilde_len;

    /// `[u8; PK_LEN]`.
    type PublicKeyBytes: Array<u8>
        + AsRef<[u8]>
        + AsMut<[u8]>
        + for<'a> TryFrom<&'a [u8]>
        + Clone
        + Eq
        + Debug;
    /// `[u8; SK_LEN]`.
    type SecretKeyBytes: Array<u8>
        + AsRef<[u8]>
        + AsMut<[u8]>
        + for<'a> TryFrom<&'a [u8]>
        + Clone
        + Eq
        + Debug;
    /// `[u8; SIG_LEN]`.
    type SignatureBytes: Array<u8>
        + AsRef<[u8]>
        + AsMut<[u8]>
        + for<'a> TryFrom<&'a [u8]>
        + Clone
        + Eq
        + Debug;
    /// `[T; K]`.
    #[doc(hidden)]
    type Rows<T: Element>: Array<T>;
    /// `[T; L]`.
    #[doc(hidden)]
    type Cols<T: Element>: Array<T>;
    /// `[T; K + L]`: s1, then s2.
    #[doc(hidden)]
    type Secrets<T: Element>: Array<T>;
    /// `[T; K * L]`: A, row after row.
    #[doc(hidden)]
    type Matrix<T: Element>: Array<T>;
    /// `[T; L + 1]`: a row of A followed by its entry of t1, or z with c.
    #[doc(hidden)]
    type VerifyRow<T: Element>: Array<T>;
    /// `[T; K * (L + 1)]`: all such rows.
    #[doc(hidden)]
    type VerifyMatrix<T: Element>: Array<T>;
    /// Packed masks of a signer: l - gcd(l, n) + n rows for groups of n, the most for which
    /// signing has stack: 8, 8 and 4.
    #[doc(hidden)]
    type MaskRows: Array<u8>;
}

/// The numbers of ML-DSA-44.
const ML_DSA_44: Params = Params {
    k: 4,
    l: 4,
    eta: 2,
    tau: 39,
    gamma1_bits: 17,
    gamma2: GAMMA2_88,
    omega: 80,
    c_tilde_len: 32,
};
/// The numbers of ML-DSA-65.
const ML_DSA_65: Params = Params {
    k: 6,
    l: 5,
    eta: 4,
    tau: 49,
    gamma1_bits: 19,
    gamma2: GAMMA2_32,
    omega: 55,
    c_tilde_len: 48,
};
/// The numbers of ML-DSA-87.
const ML_DSA_87: Params = Params {
    k: 8,
    l: 7,
    eta: 2,
    tau: 60,
    gamma1_bits: 19,
    gamma2: GAMMA2_32,
    omega: 75,
    c_tilde_len: 64,
};

macro_rules! parameter_set {
    ($(#[$doc:meta])* $set:ident, $feature:literal, $value:ident, $params:expr,
     k = $k:literal, l = $l:literal, gamma1_bits = $gamma1_bits:literal,
     pk = $pk:literal, sk = $sk:literal, sig = $sig:literal, mask_rows = $mask_rows:literal) => {
        $(#[$doc])*
        #[cfg(feature = $feature)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $set;

        #[cfg(feature = $feature)]
        impl sealed::Sealed for $set {}

        #[cfg(feature = $feature)]
        impl ParameterSet for $set {
            const SET: Set = Set::$value;
            const PARAMS: Params = $params;
            type PublicKeyBytes = [u8; $pk];
            type SecretKeyBytes = [u8; $sk];
            type SignatureBytes = [u8; $sig];
            type Rows<T: Element> = [T; $k];
            type Cols<T: Element> = [T; $l];
            type Secrets<T: Element> = [T; $k + $l];
            type Matrix<T: Element> = [T; $k * $l];
            type VerifyRow<T: Element> = [T; $l + 1];
            type VerifyMatrix<T: Element> = [T; $k * ($l + 1)];
            type MaskRows = [u8; $mask_rows * 32 * (1 + $gamma1_bits)];
        }

        #[cfg(feature = $feature)]
        const _: () = {
            assert!($set::PK_LEN == $pk && $set::SK_LEN == $sk && $set::SIG_LEN == $sig);
            assert!($set::K == $k && $set::L == $l && $set::PARAMS.gamma1_bits == $gamma1_bits);
        };
    };
}

#[cfg(test)]
parameter_set!(
    /// ML-DSA-44 with a challenge of 120 signs, for which one block of SHAKE256 is
    /// not enough. In the real sets SampleInBall needs a second block too rarely for a test.
    #[allow(unreachable_pub, reason = "the macro makes published sets")]
    LongChallenge, "ml-dsa-44", MlDsa44, Params { tau: 120, omega: 200, ..ML_DSA_44 },
    k = 4, l = 4, gamma1_bits = 17, pk = 1312, sk = 2560, sig = 2540, mask_rows = 8
);
parameter_set!(
    /// ML-DSA-44, category 2: public key 1312 bytes, signature 2420 bytes.
    MlDsa44, "ml-dsa-44", MlDsa44, ML_DSA_44,
    k = 4, l = 4, gamma1_bits = 17, pk = 1312, sk = 2560, sig = 2420, mask_rows = 8
);
parameter_set!(
    /// ML-DSA-65, category 3: public key 1952 bytes, signature 3309 bytes.
    MlDsa65, "ml-dsa-65", MlDsa65, ML_DSA_65,
    k = 6, l = 5, gamma1_bits = 19, pk = 1952, sk = 4032, sig = 3309, mask_rows = 12
);
parameter_set!(
    /// ML-DSA-87, category 5: public key 2592 bytes, signature 4627 bytes.
    MlDsa87, "ml-dsa-87", MlDsa87, ML_DSA_87,
    k = 8, l = 7, gamma1_bits = 19, pk = 2592, sk = 4896, sig = 4627, mask_rows = 10
);
