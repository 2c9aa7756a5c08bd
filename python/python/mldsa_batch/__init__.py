"""ML-DSA (FIPS 204): keys, signing, verification one by one, in batches and in Arrow columns."""

from ._native import (
    Committee,
    InvalidSignature,
    MlDsaError,
    MuBuilder,
    NoQuorum,
    PrivateKey,
    PublicKey,
    Verifier,
)

__all__ = [
    "Committee",
    "InvalidSignature",
    "MlDsaError",
    "MuBuilder",
    "NoQuorum",
    "PrivateKey",
    "PublicKey",
    "Verifier",
]
