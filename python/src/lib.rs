//! The native module of the Python package `mldsa_batch`.

mod buffers;
mod columns;
mod committee;
mod errors;
mod private;
mod public;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("MlDsaError", py.get_type::<errors::MlDsaError>())?;
    module.add(
        "InvalidSignature",
        py.get_type::<errors::InvalidSignature>(),
    )?;
    module.add("NoQuorum", py.get_type::<errors::NoQuorum>())?;
    module.add_class::<public::PublicKey>()?;
    module.add_class::<public::MuBuilder>()?;
    module.add_class::<private::PrivateKey>()?;
    module.add_class::<committee::Committee>()?;
    module.add_class::<columns::Verifier>()
}
