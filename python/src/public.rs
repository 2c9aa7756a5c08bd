//! Public keys.

use mldsa_arrow::Set;
use mldsa_core::spki::der::Document;
use mldsa_core::spki::der::pem::PemLabel;
use mldsa_core::spki::{
    AssociatedAlgorithmIdentifier, EncodePublicKey, ObjectIdentifier, SubjectPublicKeyInfoRef,
};
use mldsa_core::{
    MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreHashed, PreparedVerifyingKey, VerifyingKey,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{bad, context, hash, mu, rejected};
use crate::inside;

/// A key, and its expanded form.
pub(crate) struct Keys<P: ParameterSet> {
    pub(crate) plain: VerifyingKey<P>,
    prepared: Option<PreparedVerifyingKey<P>>,
}

impl<P: ParameterSet> From<VerifyingKey<P>> for Box<Keys<P>> {
    fn from(plain: VerifyingKey<P>) -> Self {
        Box::new(Keys {
            plain,
            prepared: None,
        })
    }
}

pub(crate) enum Any {
    MlDsa44(Box<Keys<MlDsa44>>),
    MlDsa65(Box<Keys<MlDsa65>>),
    MlDsa87(Box<Keys<MlDsa87>>),
}

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct PublicKey(pub(crate) Any);

/// Finds the set of an algorithm identifier.
pub(crate) fn set_of(oid: ObjectIdentifier) -> PyResult<Set> {
    let sets = [
        (oid_of::<MlDsa44>(), Set::MlDsa44),
        (oid_of::<MlDsa65>(), Set::MlDsa65),
        (oid_of::<MlDsa87>(), Set::MlDsa87),
    ];
    let found = sets.into_iter().find(|(of_set, _)| *of_set == oid);
    let unknown = || bad(format!("the algorithm {oid} is none of ML-DSA"));
    Ok(found.ok_or_else(unknown)?.1)
}

fn oid_of<P: ParameterSet>() -> ObjectIdentifier {
    VerifyingKey::<P>::ALGORITHM_IDENTIFIER.oid
}

fn set_name<P: ParameterSet>(_: &Keys<P>) -> &'static str {
    P::NAME
}

#[pymethods]
impl PublicKey {
    #[staticmethod]
    fn from_bytes(encoded: &[u8]) -> PyResult<Self> {
        let key = match encoded.len() {
            MlDsa44::PK_LEN => Any::MlDsa44(VerifyingKey::from_bytes(encoded).map_err(bad)?.into()),
            MlDsa87::PK_LEN => Any::MlDsa87(VerifyingKey::from_bytes(encoded).map_err(bad)?.into()),
            MlDsa65::PK_LEN => Any::MlDsa65(VerifyingKey::from_bytes(encoded).map_err(bad)?.into()),
            len => return Err(bad(format!("no set has public keys of {len} bytes"))),
        };
        Ok(Self(key))
    }

    #[staticmethod]
    fn from_der(spki: &[u8]) -> PyResult<Self> {
        let info = SubjectPublicKeyInfoRef::try_from(spki).map_err(bad)?;
        // The set is that of the algorithm, and so is the error.
        Ok(Self(match set_of(info.algorithm.oid)? {
            Set::MlDsa44 => Any::MlDsa44(VerifyingKey::try_from(info).map_err(bad)?.into()),
            Set::MlDsa65 => Any::MlDsa65(VerifyingKey::try_from(info).map_err(bad)?.into()),
            Set::MlDsa87 => Any::MlDsa87(VerifyingKey::try_from(info).map_err(bad)?.into()),
        }))
    }

    #[staticmethod]
    fn from_pem(text: &str) -> PyResult<Self> {
        let (label, document) = Document::from_pem(text).map_err(bad)?;
        SubjectPublicKeyInfoRef::validate_pem_label(label).map_err(bad)?;
        Self::from_der(document.as_bytes())
    }

    #[getter]
    fn set(&self) -> &'static str {
        inside!(Any, &self.0, keys => set_name(keys))
    }

    #[getter]
    fn prepared(&self) -> bool {
        inside!(Any, &self.0, keys => keys.prepared.is_some())
    }

    fn __bytes__<'p>(&self, py: Python<'p>) -> Bound<'p, PyBytes> {
        PyBytes::new(py, inside!(Any, &self.0, keys => keys.plain.as_ref()))
    }

    fn to_der<'p>(&self, py: Python<'p>) -> PyResult<Bound<'p, PyBytes>> {
        let der = inside!(Any, &self.0, keys => keys.plain.to_public_key_der());
        Ok(PyBytes::new(py, der.map_err(bad)?.as_bytes()))
    }

    fn to_pem(&self) -> PyResult<String> {
        let ending = mldsa_core::pkcs8::LineEnding::LF;
        inside!(Any, &self.0, keys => keys.plain.to_public_key_pem(ending)).map_err(bad)
    }

    fn prepare(&self) -> Self {
        fn prepare<P: ParameterSet>(keys: &Keys<P>) -> Box<Keys<P>> {
            Box::new(Keys {
                plain: keys.plain.clone(),
                prepared: Some(keys.plain.prepare()),
            })
        }
        Self(match &self.0 {
            Any::MlDsa44(keys) => Any::MlDsa44(prepare(keys)),
            Any::MlDsa65(keys) => Any::MlDsa65(prepare(keys)),
            Any::MlDsa87(keys) => Any::MlDsa87(prepare(keys)),
        })
    }

    #[pyo3(signature = (signature, message, context = crate::EMPTY))]
    fn verify(
        &self,
        py: Python<'_>,
        signature: &[u8],
        message: &[u8],
        context: &[u8],
    ) -> PyResult<()> {
        let of = self::context(context)?;
        let verify = || {
            inside!(Any, &self.0, keys => match &keys.prepared {
                Some(key) => key.verify_with_context(message, of, signature),
                None => keys.plain.verify_with_context(message, of, signature),
            })
        };
        py.detach(verify).map_err(|error| rejected(py, error))
    }

    fn verify_mu(&self, py: Python<'_>, signature: &[u8], mu: &[u8]) -> PyResult<()> {
        let mu = self::mu(mu)?;
        let verify = || {
            inside!(Any, &self.0, keys => match &keys.prepared {
                Some(key) => key.verify_mu(&mu, signature),
                None => keys.plain.verify_mu(&mu, signature),
            })
        };
        py.detach(verify).map_err(|error| rejected(py, error))
    }

    #[pyo3(signature = (signature, hash, digest, context = crate::EMPTY))]
    fn verify_prehashed(
        &self,
        py: Python<'_>,
        signature: &[u8],
        hash: &str,
        digest: &[u8],
        context: &[u8],
    ) -> PyResult<()> {
        let (hash, of) = (self::hash(hash)?, self::context(context)?);
        inside!(Any, &self.0, keys => {
            let digest = PreHashed::new(hash, digest).map_err(bad)?;
            let verify = || keys.plain.verify_prehashed(&digest, of, signature);
            py.detach(verify).map_err(|error| rejected(py, error))
        })
    }

    fn __eq__(&self, other: &Self) -> bool {
        fn bytes(any: &Any) -> &[u8] {
            inside!(Any, any, keys => keys.plain.as_ref())
        }
        bytes(&self.0) == bytes(&other.0)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        // The hash of bytes depends on a secret of the process: nobody can make keys that collide.
        self.__bytes__(py).hash()
    }

    fn __repr__(&self) -> String {
        format!("PublicKey({})", self.set())
    }
}

#[pyclass(module = "mldsa_batch")]
pub(crate) struct MuBuilder(Option<mldsa_core::MuBuilder>);

#[pymethods]
impl MuBuilder {
    #[new]
    #[pyo3(signature = (key, context = crate::EMPTY))]
    fn new(key: &PublicKey, context: &[u8]) -> PyResult<Self> {
        let of = self::context(context)?;
        let tr = inside!(Any, &key.0, keys => keys.plain.tr());
        Ok(Self(Some(mldsa_core::MuBuilder::from_tr(tr, of))))
    }

    fn update(&mut self, py: Python<'_>, piece: &[u8]) -> PyResult<()> {
        let mu = self
            .0
            .as_mut()
            .ok_or_else(|| bad("the message has ended"))?;
        py.detach(|| mu.update(piece));
        Ok(())
    }

    fn finish<'p>(&mut self, py: Python<'p>) -> PyResult<Bound<'p, PyBytes>> {
        let mu = self.0.take().ok_or_else(|| bad("the message has ended"))?;
        Ok(PyBytes::new(py, mu.finish().as_bytes()))
    }
}
