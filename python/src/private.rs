//! Private keys. The memory of a key is wiped when it is freed; copies that its making leaves on the
//! stack, and `bytes` objects of Python, are not.

use std::error::Error;

use mldsa_core::internals::hedged;
use mldsa_core::pkcs8::{EncodePrivateKey, LineEnding};
use mldsa_core::{AnyPreparedSigningKey, AnySigningKey, Randomness, Set, SysRng};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::buffers::{Bytes, Given, Text};
use crate::errors::{bad, context, hash, mu};
use crate::public::PublicKey;

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct PrivateKey {
    plain: AnySigningKey,
    prepared: AnyPreparedSigningKey,
}

impl From<AnySigningKey> for PrivateKey {
    fn from(plain: AnySigningKey) -> Self {
        let prepared = plain.prepare();
        Self { plain, prepared }
    }
}

fn set_named(name: &str) -> PyResult<Set> {
    name.parse()
        .map_err(|error| bad(format!("there is no set {name}: {error}")))
}

#[pymethods]
impl PrivateKey {
    #[staticmethod]
    fn generate(set: &str) -> PyResult<Self> {
        Ok(AnySigningKey::generate(set_named(set)?)
            .map_err(bad)?
            .into())
    }

    #[staticmethod]
    fn from_seed(set: &str, seed: Bytes) -> PyResult<Self> {
        let seed: &[u8; 32] = seed
            .as_ref()
            .try_into()
            .map_err(|_| bad("a seed has 32 bytes"))?;
        Ok(AnySigningKey::from_seed(set_named(set)?, seed).into())
    }

    #[staticmethod]
    fn from_bytes(expanded: Bytes) -> PyResult<Self> {
        let key = AnySigningKey::from_expanded_bytes(&expanded);
        let error = |error| bad(format!("a key of {} bytes: {error}", expanded.len()));
        Ok(key.map_err(error)?.into())
    }

    #[staticmethod]
    fn from_der(pkcs8: Bytes) -> PyResult<Self> {
        Ok(AnySigningKey::from_pkcs8_der(&pkcs8).map_err(bad)?.into())
    }

    #[staticmethod]
    fn from_pem(text: Text) -> PyResult<Self> {
        Ok(AnySigningKey::from_pkcs8_pem(text).map_err(bad)?.into())
    }

    #[getter]
    fn set(&self) -> &'static str {
        self.plain.set().name()
    }

    fn public_key(&self) -> PublicKey {
        self.plain.verifying_key().into()
    }

    fn seed<'p>(&self, py: Python<'p>) -> Option<Bound<'p, PyBytes>> {
        self.plain.seed().map(|seed| PyBytes::new(py, seed))
    }

    fn to_der<'p>(&self, py: Python<'p>) -> PyResult<Bound<'p, PyBytes>> {
        let der = self.plain.to_pkcs8_der().map_err(bad)?;
        Ok(PyBytes::new(py, der.as_bytes()))
    }

    fn to_pem<'p>(&self, py: Python<'p>) -> PyResult<Bound<'p, PyString>> {
        let pem = self.plain.to_pkcs8_pem(LineEnding::LF).map_err(bad)?;
        Ok(PyString::new(py, &pem))
    }

    #[pyo3(signature = (message, *, context = Given(None), deterministic = false))]
    fn sign<'p>(
        &self,
        py: Python<'p>,
        message: Bytes,
        context: Given<Bytes>,
        deterministic: bool,
    ) -> PyResult<Bound<'p, PyBytes>> {
        let of = self::context(context.bytes())?;
        let key = &self.prepared;
        signed(py, deterministic, |randomness| {
            Ok(key.sign_with_context(&message, of, randomness)?)
        })
    }

    #[pyo3(signature = (mu, *, deterministic = false))]
    fn sign_mu<'p>(
        &self,
        py: Python<'p>,
        mu: Bytes,
        deterministic: bool,
    ) -> PyResult<Bound<'p, PyBytes>> {
        let (mu, key) = (self::mu(&mu)?, &self.prepared);
        signed(py, deterministic, |randomness| {
            Ok(key.sign_mu(&mu, randomness)?)
        })
    }

    #[pyo3(signature = (hash, digest, *, context = Given(None), deterministic = false))]
    fn sign_prehashed<'p>(
        &self,
        py: Python<'p>,
        hash: &str,
        digest: Bytes,
        context: Given<Bytes>,
        deterministic: bool,
    ) -> PyResult<Bound<'p, PyBytes>> {
        let (hash, of) = (self::hash(hash)?, self::context(context.bytes())?);
        let key = &self.prepared;
        signed(py, deterministic, |randomness| {
            Ok(key.sign_prehashed(hash, &digest, of, randomness)??)
        })
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a private key is neither copied nor pickled",
        ))
    }

    fn __repr__(&self) -> String {
        format!("PrivateKey({})", self.set())
    }
}

/// Signs without the lock of the interpreter: deterministically, or with 32 fresh bytes.
fn signed<'p>(
    py: Python<'p>,
    deterministic: bool,
    sign: impl FnOnce(Randomness<'_>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> + Send,
) -> PyResult<Bound<'p, PyBytes>> {
    let signature = py.detach(|| match deterministic {
        true => sign(Randomness::Deterministic),
        false => hedged(&mut SysRng, sign),
    });
    Ok(PyBytes::new(py, &signature.map_err(bad)?))
}
