//! Private keys: expanded from a seed while in use, or as the expanded encoding.

use core::fmt;
use core::marker::PhantomData;

use mldsa_core::internals::ct::{difference, is_negative, is_zero};
use mldsa_core::internals::pack::{GROUP, part, unpack_eta_part};
use mldsa_core::internals::{
    CRH_LEN, ExpandedSeed, N, Params, SEED_LEN, SecretKeyParts, SecretKeyPartsMut, Shake256,
    T0_POLY_LEN, T1_POLY_LEN, Zeroed, declassify, expand_seed, variation,
};
use mldsa_core::{KeyError, ParameterSet};

use crate::keygen::{WithT0, WithoutT0, for_each_public_row, sample_secrets};
use crate::matrix::public_row;
use crate::packed::{KECCAK, copy, packed_row, packed_row_mut, wiped};
use crate::secrets::{Packed, Secrets};
use crate::signing_secrets::SigningSecrets;
use crate::verify::{Fresh, verify_computed, verify_given};

mod sealed {
    pub trait Sealed {}
}

/// A private key that a [`MlDsaSigner`](crate::MlDsaSigner) can use.
#[allow(private_bounds, reason = "rows of secrets stay inside this crate")]
pub trait PrivateKey<P: ParameterSet>: sealed::Sealed + SecretsOf {
    /// Returns `tr = H(pk, 64)`, which starts every `mu`.
    fn tr(&self) -> &[u8; CRH_LEN];
}

pub(crate) trait SecretsOf {
    type Secrets: SigningSecrets;

    fn secrets(&self) -> &Self::Secrets;

    /// Verifies a fresh signature under the public key, which is computed if it is not at hand.
    fn verifies(&self, p: &Params, fresh: &Fresh<'_>, acc: &mut [i32; N]) -> bool;
}

/// A private key made from its 32-byte seed: `rho`, rho', K and `tr`, 192 bytes, wiped
/// on drop. s1, s2 and t0 are computed for every use, so a signature takes one to two
/// and a half key generations longer than from an [`ExpandedSigningKey`].
pub struct SigningKey<P: ParameterSet> {
    seed: ExpandedSeed,
    tr: [u8; CRH_LEN],
    set: PhantomData<P>,
}

impl<P: ParameterSet> SigningKey<P> {
    /// Makes the key of the seed `xi`. Costs one key generation, for `tr`.
    pub fn from_seed(xi: &[u8; SEED_LEN]) -> Self {
        let p = &P::PARAMS;
        let mut key = Self {
            seed: ExpandedSeed::zeroed(),
            tr: Zeroed::zeroed(),
            set: PhantomData,
        };
        expand_seed(KECCAK, p, xi, &mut key.seed);
        let never = for_each_public_row::<WithoutT0, _, _>(p, &key.seed, |_, _, _| {
            Ok::<(), core::convert::Infallible>(())
        });
        let Ok(tr) = never;
        key.tr = tr;
        key
    }

    /// Makes the key of the seed `xi` whose `tr` is known, from
    /// [`Self::tr`](PrivateKey::tr) or [`Self::keygen_to_writers`]: one
    /// permutation.
    ///
    /// `tr` is not checked here. A wrong one makes signing fail with
    /// [`SignError::SelfVerification`](crate::SignError::SelfVerification); without
    /// self-verification it gives signatures that do not verify.
    pub fn from_seed_and_tr(xi: &[u8; SEED_LEN], tr: &[u8; CRH_LEN]) -> Self {
        let mut key = Self {
            seed: ExpandedSeed::zeroed(),
            tr: *tr,
            set: PhantomData,
        };
        expand_seed(KECCAK, &P::PARAMS, xi, &mut key.seed);
        key
    }

    /// Generates a key (FIPS 204 algorithm 6) from the seed `xi` into the caller's
    /// buffers: the public key, and the expanded private key, which is secret.
    ///
    /// Constant time except ExpandS, whose rejected half-bytes are public.
    pub fn keygen_into(
        xi: &[u8; SEED_LEN],
        pk: &mut P::PublicKeyBytes,
        sk: &mut P::SecretKeyBytes,
    ) {
        keygen(&P::PARAMS, xi, pk.as_mut(), sk.as_mut());
    }

    /// Generates a key without key buffers: passes the public key row by row to `pk` and the
    /// expanded private key to `sk` (`None` if the seed is the private key), each piece with its
    /// offset in the encoding. The pieces cover the encoding once, in no particular order. Returns
    /// `tr`. Takes longer than [`Self::keygen_into`]: s1 is sampled again for every row.
    ///
    /// # Errors
    /// The first error of a writer.
    #[allow(clippy::type_complexity, reason = "writers of offset and bytes")]
    pub fn keygen_to_writers<E>(
        xi: &[u8; SEED_LEN],
        pk: &mut dyn FnMut(usize, &[u8]) -> Result<(), E>,
        sk: Option<&mut dyn FnMut(usize, &[u8]) -> Result<(), E>>,
    ) -> Result<[u8; CRH_LEN], E> {
        let p = &P::PARAMS;
        let mut seed = ExpandedSeed::zeroed();
        expand_seed(KECCAK, p, xi, &mut seed);
        pk(0, &seed.rho)?;
        let Some(sk) = sk else {
            return for_each_public_row::<WithoutT0, _, _>(p, &seed, |i, t1, _| {
                pk(SEED_LEN + i * T1_POLY_LEN, t1)
            });
        };
        let rows_at = 2 * SEED_LEN + CRH_LEN;
        let t0_at = rows_at + (p.l + p.k) * p.eta_poly_len();
        sk(0, &seed.rho)?;
        sk(SEED_LEN, seed.k_seed.expose())?;
        let mut row = wiped();
        for n in 0..p.l + p.k {
            let s = seed.row(p, n, row.expose_mut());
            sk(rows_at + n * p.eta_poly_len(), s)?;
        }
        let tr = for_each_public_row::<WithT0, _, _>(p, &seed, |i, t1, t0| {
            pk(SEED_LEN + i * T1_POLY_LEN, t1)?;
            sk(t0_at + i * T0_POLY_LEN, t0)
        })?;
        sk(2 * SEED_LEN, &tr)?;
        Ok(tr)
    }
}

/// [`SigningKey::keygen_into`] of every set.
#[inline(never)]
fn keygen(p: &Params, xi: &[u8; SEED_LEN], pk: &mut [u8], sk: &mut [u8]) {
    let parts = &mut SecretKeyPartsMut::new(p, sk);
    let mut rho = [0; SEED_LEN];
    sample_secrets(p, xi, parts, &mut rho);
    let secrets = Packed {
        rho: &rho,
        s1: parts.s1,
        s2: parts.s2,
    };
    let (pk_rho, t1) = pk.split_at_mut(SEED_LEN);
    copy(pk_rho, &rho);
    let mut acc = wiped::<[i32; N]>();
    for i in 0..p.k {
        public_row(
            p,
            &secrets,
            i,
            acc.expose_mut(),
            packed_row_mut(t1, i, T1_POLY_LEN),
            packed_row_mut(parts.t0, i, T0_POLY_LEN),
        );
    }
    Shake256::digest(KECCAK, &[pk], parts.tr);
}

impl<P: ParameterSet> sealed::Sealed for SigningKey<P> {}

impl<P: ParameterSet> SecretsOf for SigningKey<P> {
    type Secrets = ExpandedSeed;

    fn secrets(&self) -> &ExpandedSeed {
        &self.seed
    }

    fn verifies(&self, p: &Params, fresh: &Fresh<'_>, acc: &mut [i32; N]) -> bool {
        verify_computed(p, &self.seed, fresh, acc)
    }
}

impl<P: ParameterSet> PrivateKey<P> for SigningKey<P> {
    fn tr(&self) -> &[u8; CRH_LEN] {
        &self.tr
    }
}

impl<P: ParameterSet> fmt::Debug for SigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, ..)", P::NAME)
    }
}

/// An expanded private key (FIPS 204 algorithm 25) that is read in place, for example
/// in flash. The memory must not change while the key is in use.
pub struct ExpandedSigningKey<'a, P: ParameterSet> {
    parts: SecretKeyParts<'a>,
    set: PhantomData<P>,
}

impl<'a, P: ParameterSet> ExpandedSigningKey<'a, P> {
    /// Checks the length, and that s1 and s2 are in range. [`Self::from_expanded_bytes`] also
    /// checks t0 and `tr`.
    ///
    /// # Errors
    /// [`KeyError::Length`], [`KeyError::SecretRange`].
    pub fn from_trusted_bytes(bytes: &'a [u8]) -> Result<Self, KeyError> {
        let p = &P::PARAMS;
        let parts = SecretKeyParts::parse(p, bytes)?;
        check_range(p, &parts)?;
        Ok(Self {
            parts,
            set: PhantomData,
        })
    }

    /// Checks as [`Self::from_trusted_bytes`] does, and computes t0 and `tr` from the other parts
    /// and compares them. Costs a key generation. Constant time up to the verdict.
    ///
    /// # Errors
    /// [`KeyError::Length`], [`KeyError::SecretRange`], [`KeyError::ConstantK`] if all bytes of K are
    /// equal, [`KeyError::Inconsistent`].
    pub fn from_expanded_bytes(bytes: &'a [u8]) -> Result<Self, KeyError> {
        let key = Self::from_trusted_bytes(bytes)?;
        let is_constant = is_zero(variation(key.parts.k_seed));
        if declassify(is_constant, "verdict of a key import") {
            return Err(KeyError::ConstantK);
        }
        let mut bits = 0;
        let never = for_each_public_row::<WithT0, _, _>(&P::PARAMS, &key.parts, |i, _, t0| {
            bits |= difference(t0, packed_row(key.parts.t0, i, T0_POLY_LEN));
            Ok::<(), core::convert::Infallible>(())
        });
        let Ok(tr) = never;
        bits |= difference(&tr, key.parts.tr);
        if declassify(is_zero(bits), "verdict of a key import") {
            Ok(key)
        } else {
            Err(KeyError::Inconsistent)
        }
    }

    /// Computes the public key. Costs a key generation.
    pub fn write_public_key(&self, pk: &mut P::PublicKeyBytes) {
        let (rho, rows) = pk.as_mut().split_at_mut(SEED_LEN);
        rho.copy_from_slice(self.parts.rho);
        let never = for_each_public_row::<WithoutT0, _, _>(&P::PARAMS, &self.parts, |i, t1, _| {
            packed_row_mut(rows, i, T1_POLY_LEN).copy_from_slice(t1);
            Ok::<(), core::convert::Infallible>(())
        });
        let Ok(_) = never;
    }

    /// Attaches the public key, for self-verification, which computes it otherwise: saves a key
    /// generation per signature. Self-verification compares the hash of `pk` with the `tr` of the
    /// key for each signature; that takes 10, 15 or 20 permutations of Keccak.
    ///
    /// # Errors
    /// [`KeyError::Length`].
    pub fn with_public_key(self, pk: &'a [u8]) -> Result<ExpandedKeyPair<'a, P>, KeyError> {
        if pk.len() != P::PK_LEN {
            return Err(KeyError::Length);
        }
        let key = self;
        Ok(ExpandedKeyPair { key, pk })
    }
}

impl<P: ParameterSet> sealed::Sealed for ExpandedSigningKey<'_, P> {}

impl<'a, P: ParameterSet> SecretsOf for ExpandedSigningKey<'a, P> {
    type Secrets = SecretKeyParts<'a>;

    fn secrets(&self) -> &SecretKeyParts<'a> {
        &self.parts
    }

    fn verifies(&self, p: &Params, fresh: &Fresh<'_>, acc: &mut [i32; N]) -> bool {
        verify_computed(p, &self.parts, fresh, acc)
    }
}

impl<P: ParameterSet> PrivateKey<P> for ExpandedSigningKey<'_, P> {
    fn tr(&self) -> &[u8; CRH_LEN] {
        self.parts.tr
    }
}

impl<P: ParameterSet> fmt::Debug for ExpandedSigningKey<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExpandedSigningKey({}, ..)", P::NAME)
    }
}

/// An expanded private key with its public key, by which a signer verifies what it signs without
/// the code of key generation: [`ExpandedSigningKey::with_public_key`].
#[derive(Debug)]
pub struct ExpandedKeyPair<'a, P: ParameterSet> {
    key: ExpandedSigningKey<'a, P>,
    pub(crate) pk: &'a [u8],
}

impl<P: ParameterSet> sealed::Sealed for ExpandedKeyPair<'_, P> {}

impl<'a, P: ParameterSet> SecretsOf for ExpandedKeyPair<'a, P> {
    type Secrets = SecretKeyParts<'a>;

    fn secrets(&self) -> &SecretKeyParts<'a> {
        &self.key.parts
    }

    fn verifies(&self, p: &Params, fresh: &Fresh<'_>, acc: &mut [i32; N]) -> bool {
        verify_given(p, self.pk, fresh, acc)
    }
}

impl<P: ParameterSet> PrivateKey<P> for ExpandedKeyPair<'_, P> {
    fn tr(&self) -> &[u8; CRH_LEN] {
        self.key.parts.tr
    }
}

/// Checks that s1 and s2 are in [-eta, eta], eight coefficients at a time.
#[inline(never)]
fn check_range(p: &Params, parts: &SecretKeyParts<'_>) -> Result<(), KeyError> {
    let mut group = wiped::<[i32; GROUP]>();
    let mut sign = 0;
    for (rows, count) in [(parts.s1, p.l), (parts.s2, p.k)] {
        for n in (0..count * N).step_by(GROUP) {
            let bytes = part(rows, p.eta_bits(), n, GROUP);
            sign |= unpack_eta_part(p.eta, bytes, group.expose_mut());
        }
    }
    if declassify(is_negative(sign), "verdict of a key import") {
        Err(KeyError::SecretRange)
    } else {
        Ok(())
    }
}
