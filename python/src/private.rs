//! Private keys. The memory of a key is wiped when it is freed; copies that its making leaves on the
//! stack, and `bytes` objects of Python, are not.

use mldsa_arrow::Set;
use mldsa_core::pkcs8::der::pem::PemLabel;
use mldsa_core::pkcs8::{EncodePrivateKey, PrivateKeyInfoRef, SecretDocument};
use mldsa_core::{
    MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreHashed, PreparedSigningKey, Randomness, SigningKey,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use zeroize::Zeroizing;

use crate::errors::{bad, context, hash, mu};
use crate::inside;
use crate::public::{self, PublicKey, set_of};

struct Keys<P: ParameterSet> {
    plain: SigningKey<P>,
    prepared: PreparedSigningKey<P>,
}

impl<P: ParameterSet> From<SigningKey<P>> for Box<Keys<P>> {
    fn from(plain: SigningKey<P>) -> Self {
        let prepared = plain.prepare();
        Self::new(Keys { plain, prepared })
    }
}

enum Any {
    MlDsa44(Box<Keys<MlDsa44>>),
    MlDsa65(Box<Keys<MlDsa65>>),
    MlDsa87(Box<Keys<MlDsa87>>),
}

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct PrivateKey(Any);

fn set_named(name: &str) -> PyResult<Set> {
    name.parse()
        .map_err(|error| bad(format!("there is no set {name}: {error}")))
}

#[pymethods]
impl PrivateKey {
    #[staticmethod]
    fn generate(set: &str) -> PyResult<Self> {
        Ok(Self(match set_named(set)? {
            Set::MlDsa44 => Any::MlDsa44(SigningKey::generate().map_err(bad)?.into()),
            Set::MlDsa65 => Any::MlDsa65(SigningKey::generate().map_err(bad)?.into()),
            Set::MlDsa87 => Any::MlDsa87(SigningKey::generate().map_err(bad)?.into()),
        }))
    }

    #[staticmethod]
    fn from_seed(set: &str, seed: &[u8]) -> PyResult<Self> {
        let seed: &[u8; 32] = seed.try_into().map_err(|_| bad("a seed has 32 bytes"))?;
        Ok(Self(match set_named(set)? {
            Set::MlDsa44 => Any::MlDsa44(SigningKey::from_seed(seed).into()),
            Set::MlDsa65 => Any::MlDsa65(SigningKey::from_seed(seed).into()),
            Set::MlDsa87 => Any::MlDsa87(SigningKey::from_seed(seed).into()),
        }))
    }

    #[staticmethod]
    fn from_bytes(expanded: &[u8]) -> PyResult<Self> {
        Ok(Self(match expanded.len() {
            MlDsa44::SK_LEN => Any::MlDsa44(
                SigningKey::from_expanded_bytes(expanded)
                    .map_err(bad)?
                    .into(),
            ),
            MlDsa87::SK_LEN => Any::MlDsa87(
                SigningKey::from_expanded_bytes(expanded)
                    .map_err(bad)?
                    .into(),
            ),
            MlDsa65::SK_LEN => Any::MlDsa65(
                SigningKey::from_expanded_bytes(expanded)
                    .map_err(bad)?
                    .into(),
            ),
            len => return Err(bad(format!("no set has private keys of {len} bytes"))),
        }))
    }

    #[staticmethod]
    fn from_der(pkcs8: &[u8]) -> PyResult<Self> {
        let info = PrivateKeyInfoRef::try_from(pkcs8).map_err(bad)?;
        let oid = info.algorithm.oid;
        // The set is that of the algorithm, and so is the error.
        Ok(Self(match set_of(oid)? {
            Set::MlDsa44 => Any::MlDsa44(SigningKey::try_from(info).map_err(bad)?.into()),
            Set::MlDsa65 => Any::MlDsa65(SigningKey::try_from(info).map_err(bad)?.into()),
            Set::MlDsa87 => Any::MlDsa87(SigningKey::try_from(info).map_err(bad)?.into()),
        }))
    }

    #[staticmethod]
    fn from_pem(text: &str) -> PyResult<Self> {
        // The document is wiped when it is dropped.
        let (label, document) = SecretDocument::from_pem(text).map_err(bad)?;
        PrivateKeyInfoRef::validate_pem_label(label).map_err(bad)?;
        Self::from_der(document.as_bytes())
    }

    #[getter]
    fn set(&self) -> &'static str {
        match &self.0 {
            Any::MlDsa44(_) => MlDsa44::NAME,
            Any::MlDsa65(_) => MlDsa65::NAME,
            Any::MlDsa87(_) => MlDsa87::NAME,
        }
    }

    fn public_key(&self) -> PublicKey {
        PublicKey(match &self.0 {
            Any::MlDsa44(keys) => public::Any::MlDsa44(keys.plain.verifying_key().clone().into()),
            Any::MlDsa65(keys) => public::Any::MlDsa65(keys.plain.verifying_key().clone().into()),
            Any::MlDsa87(keys) => public::Any::MlDsa87(keys.plain.verifying_key().clone().into()),
        })
    }

    fn seed<'p>(&self, py: Python<'p>) -> Option<Bound<'p, PyBytes>> {
        let seed = inside!(Any, &self.0, keys => keys.plain.seed());
        seed.map(|seed| PyBytes::new(py, seed))
    }

    fn to_der<'p>(&self, py: Python<'p>) -> PyResult<Bound<'p, PyBytes>> {
        let der = inside!(Any, &self.0, keys => keys.plain.to_pkcs8_der()).map_err(bad)?;
        Ok(PyBytes::new(py, der.as_bytes()))
    }

    fn to_pem<'p>(&self, py: Python<'p>) -> PyResult<Bound<'p, PyString>> {
        let ending = mldsa_core::pkcs8::LineEnding::LF;
        let pem = inside!(Any, &self.0, keys => keys.plain.to_pkcs8_pem(ending)).map_err(bad)?;
        Ok(PyString::new(py, &pem))
    }

    #[pyo3(signature = (message, context = crate::EMPTY, *, deterministic = false))]
    fn sign<'p>(
        &self,
        py: Python<'p>,
        message: &[u8],
        context: &[u8],
        deterministic: bool,
    ) -> PyResult<Bound<'p, PyBytes>> {
        let of = self::context(context)?;
        let rnd = Rnd::new(deterministic)?;
        inside!(Any, &self.0, keys => {
            let sign = || keys.prepared.sign_with_context(message, of, rnd.randomness());
            let signature = py.detach(sign).map_err(bad)?;
            Ok(PyBytes::new(py, signature.as_ref()))
        })
    }

    #[pyo3(signature = (mu, *, deterministic = false))]
    fn sign_mu<'p>(
        &self,
        py: Python<'p>,
        mu: &[u8],
        deterministic: bool,
    ) -> PyResult<Bound<'p, PyBytes>> {
        let mu = self::mu(mu)?;
        let rnd = Rnd::new(deterministic)?;
        inside!(Any, &self.0, keys => {
            let sign = || keys.prepared.sign_mu(&mu, rnd.randomness());
            let signature = py.detach(sign).map_err(bad)?;
            Ok(PyBytes::new(py, signature.as_ref()))
        })
    }

    #[pyo3(signature = (hash, digest, context = crate::EMPTY, *, deterministic = false))]
    fn sign_prehashed<'p>(
        &self,
        py: Python<'p>,
        hash: &str,
        digest: &[u8],
        context: &[u8],
        deterministic: bool,
    ) -> PyResult<Bound<'p, PyBytes>> {
        let (hash, of) = (self::hash(hash)?, self::context(context)?);
        let rnd = Rnd::new(deterministic)?;
        inside!(Any, &self.0, keys => {
            let digest = PreHashed::new(hash, digest).map_err(bad)?;
            let sign = || keys.prepared.sign_prehashed(&digest, of, rnd.randomness());
            let signature = py.detach(sign).map_err(bad)?;
            Ok(PyBytes::new(py, signature.as_ref()))
        })
    }

    fn __repr__(&self) -> String {
        format!("PrivateKey({})", self.set())
    }
}

/// 32 fresh bytes of the system's generator, or none. They are wiped.
struct Rnd(Option<Zeroizing<[u8; 32]>>);

impl Rnd {
    fn new(deterministic: bool) -> PyResult<Self> {
        use mldsa_core::rand_core::TryRng;
        if deterministic {
            return Ok(Self(None));
        }
        let mut rnd = Zeroizing::new([0; 32]);
        let filled = mldsa_core::SysRng.try_fill_bytes(&mut *rnd);
        filled.map_err(bad)?;
        Ok(Self(Some(rnd)))
    }

    fn randomness(&self) -> Randomness<'_> {
        match &self.0 {
            None => Randomness::Deterministic,
            Some(rnd) => Randomness::Hedged(rnd),
        }
    }
}
