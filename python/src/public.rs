//! Public keys.

use std::sync::{Mutex, PoisonError};

use mldsa_core::pkcs8::LineEnding;
use mldsa_core::spki::EncodePublicKey;
use mldsa_core::{AnyPreparedVerifyingKey, AnyVerifyingKey};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};

use crate::buffers::{Bytes, Given, Text};
use crate::errors::{bad, context, hash, mu, rejected};

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct PublicKey {
    plain: AnyVerifyingKey,
    prepared: Option<AnyPreparedVerifyingKey>,
}

impl From<AnyVerifyingKey> for PublicKey {
    fn from(plain: AnyVerifyingKey) -> Self {
        let prepared = None;
        Self { plain, prepared }
    }
}

#[pymethods]
impl PublicKey {
    // A method of the class, which unlike one without it can be pickled.
    #[classmethod]
    fn from_bytes(_: &Bound<'_, PyType>, encoded: Bytes) -> PyResult<Self> {
        let key = AnyVerifyingKey::from_bytes(&encoded);
        let error = |error| bad(format!("a key of {} bytes: {error}", encoded.len()));
        Ok(key.map_err(error)?.into())
    }

    #[staticmethod]
    fn from_der(spki: Bytes) -> PyResult<Self> {
        Ok(AnyVerifyingKey::from_public_key_der(&spki)
            .map_err(bad)?
            .into())
    }

    #[staticmethod]
    fn from_pem(text: Text) -> PyResult<Self> {
        Ok(AnyVerifyingKey::from_public_key_pem(text)
            .map_err(bad)?
            .into())
    }

    #[getter]
    fn set(&self) -> &'static str {
        self.plain.set().name()
    }

    #[getter]
    fn prepared(&self) -> bool {
        self.prepared.is_some()
    }

    fn __bytes__<'p>(&self, py: Python<'p>) -> Bound<'p, PyBytes> {
        PyBytes::new(py, self.plain.as_ref())
    }

    fn to_der<'p>(&self, py: Python<'p>) -> PyResult<Bound<'p, PyBytes>> {
        let der = self.plain.to_public_key_der().map_err(bad)?;
        Ok(PyBytes::new(py, der.as_bytes()))
    }

    fn to_pem(&self) -> PyResult<String> {
        self.plain.to_public_key_pem(LineEnding::LF).map_err(bad)
    }

    fn prepare(&self) -> Self {
        Self {
            plain: self.plain.clone(),
            prepared: Some(self.plain.prepare()),
        }
    }

    #[pyo3(signature = (message, signature, *, context = Given(None)))]
    fn verify(
        &self,
        py: Python<'_>,
        message: Bytes,
        signature: Bytes,
        context: Given<Bytes>,
    ) -> PyResult<()> {
        let of = self::context(context.bytes())?;
        let verify = || match &self.prepared {
            Some(key) => key.verify_with_context(&message, of, &signature),
            None => self.plain.verify_with_context(&message, of, &signature),
        };
        py.detach(verify).map_err(|error| rejected(py, error))
    }

    fn verify_mu(&self, py: Python<'_>, mu: Bytes, signature: Bytes) -> PyResult<()> {
        self.verify_of(py, &self::mu(&mu)?, &signature)
    }

    #[pyo3(signature = (hash, digest, signature, *, context = Given(None)))]
    fn verify_prehashed(
        &self,
        py: Python<'_>,
        hash: &str,
        digest: Bytes,
        signature: Bytes,
        context: Given<Bytes>,
    ) -> PyResult<()> {
        let (hash, of) = (self::hash(hash)?, self::context(context.bytes())?);
        let mu = self.plain.prehashed_mu(hash, &digest, of).map_err(bad)?;
        self.verify_of(py, &mu, &signature)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.plain == other.plain
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        // The hash of bytes depends on a secret of the process: nobody can make keys that collide.
        self.__bytes__(py).hash()
    }

    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        this
    }

    fn __reduce__<'p>(&self, py: Python<'p>) -> PyResult<Bound<'p, PyTuple>> {
        if self.prepared.is_none() {
            let read = py.get_type::<Self>().getattr("from_bytes")?;
            return (read, (self.__bytes__(py),)).into_pyobject(py);
        }
        let prepare = py
            .import("operator")?
            .getattr("methodcaller")?
            .call1(("prepare",))?;
        (prepare, (Self::from(self.plain.clone()),)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        format!("PublicKey({})", self.set())
    }
}

impl PublicKey {
    fn verify_of(&self, py: Python<'_>, mu: &mldsa_core::Mu, signature: &Bytes) -> PyResult<()> {
        let verify = || match &self.prepared {
            Some(key) => key.verify_mu(mu, signature),
            None => self.plain.verify_mu(mu, signature),
        };
        py.detach(verify).map_err(|error| rejected(py, error))
    }
}

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct MuBuilder(Mutex<Option<mldsa_core::MuBuilder>>);

impl MuBuilder {
    /// Runs a step alone. Other threads of the interpreter run while it waits.
    fn locked<T: Send>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut Option<mldsa_core::MuBuilder>) -> Option<T> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| step(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)));
        done.ok_or_else(|| bad("the message has ended"))
    }
}

#[pymethods]
impl MuBuilder {
    #[new]
    #[pyo3(signature = (key, *, context = Given(None)))]
    fn new(key: &PublicKey, context: Given<Bytes>) -> PyResult<Self> {
        let of = self::context(context.bytes())?;
        let builder = mldsa_core::MuBuilder::from_tr(key.plain.tr(), of);
        Ok(Self(Mutex::new(Some(builder))))
    }

    fn update(&self, py: Python<'_>, piece: Bytes) -> PyResult<()> {
        self.locked(py, |builder| builder.as_mut().map(|mu| mu.update(&piece)))
    }

    fn finish<'p>(&self, py: Python<'p>) -> PyResult<Bound<'p, PyBytes>> {
        let mu = self.locked(py, |builder| Some(builder.take()?.finish()))?;
        Ok(PyBytes::new(py, mu.as_bytes()))
    }
}
