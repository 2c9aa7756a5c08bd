from collections.abc import Sequence
from typing import Any, Literal, Protocol

Set = Literal["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]

class MlDsaError(ValueError):
    """An argument is unusable."""

class InvalidSignature(MlDsaError):
    """The signature is rejected."""

    reason: str
    """A name in snake case, such as ``challenge_mismatch``."""

class NoQuorum(MlDsaError):
    """The votes are no quorum."""

    reason: str
    """``insufficient``, ``unknown_member``, ``duplicate``, ``conflicting_claims``, or a reason of a signature."""

Bytes = bytes | bytearray | memoryview
Column = Sequence[Bytes] | memoryview
"""Objects with a buffer, numpy arrays too; or the rows of a two-dimensional buffer of bytes."""

class ArrowArray(Protocol):
    """A record batch of any library, by the PyCapsule interface of Arrow."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class PublicKey:
    """A public key."""

    @staticmethod
    def from_bytes(encoded: bytes) -> PublicKey:
        """Reads 1312, 1952 or 2592 bytes; the length tells the set."""
    @staticmethod
    def from_der(spki: bytes) -> PublicKey:
        """Reads a SubjectPublicKeyInfo (RFC 9881)."""
    @staticmethod
    def from_pem(text: str) -> PublicKey: ...
    @property
    def set(self) -> Set: ...
    @property
    def prepared(self) -> bool: ...
    def __bytes__(self) -> bytes: ...
    def to_der(self) -> bytes: ...
    def to_pem(self) -> str: ...
    def prepare(self) -> PublicKey:
        """Returns the expanded key, of 20, 36 or 64 KiB, which verifies faster."""
    def verify(self, signature: bytes, message: bytes, context: bytes = b"") -> None:
        """Raises InvalidSignature if the signature is rejected."""
    def verify_mu(self, signature: bytes, mu: bytes) -> None:
        """Verifies over a message representative, which must be computed from this key."""
    def verify_prehashed(self, signature: bytes, hash: str, digest: bytes, context: bytes = b"") -> None:
        """Verifies HashML-DSA, with a hash such as ``SHA2-512``."""

class MuBuilder:
    """The message representative of a message in pieces."""

    def __init__(self, key: PublicKey, context: bytes = b"") -> None: ...
    def update(self, piece: bytes) -> None: ...
    def finish(self) -> bytes: ...

class PrivateKey:
    """A private key.

    The memory of this object is wiped when it is freed. Copies that its making leaves on the
    stack are not, nor are seeds and encodings that enter or leave it, which are objects of Python.
    """

    @staticmethod
    def generate(set: Set) -> PrivateKey: ...
    @staticmethod
    def from_seed(set: Set, seed: bytes) -> PrivateKey: ...
    @staticmethod
    def from_bytes(expanded: bytes) -> PrivateKey:
        """Reads the expanded encoding of FIPS 204, with every check."""
    @staticmethod
    def from_der(pkcs8: bytes) -> PrivateKey:
        """Reads PKCS#8 in the forms of RFC 9881."""
    @staticmethod
    def from_pem(text: str) -> PrivateKey: ...
    @property
    def set(self) -> Set: ...
    def public_key(self) -> PublicKey: ...
    def seed(self) -> bytes | None: ...
    def to_der(self) -> bytes: ...
    def to_pem(self) -> str: ...
    def sign(self, message: bytes, context: bytes = b"", *, deterministic: bool = False) -> bytes:
        """Signs, with fresh randomness unless ``deterministic`` is true."""
    def sign_mu(self, mu: bytes, *, deterministic: bool = False) -> bytes: ...
    def sign_prehashed(
        self, hash: str, digest: bytes, context: bytes = b"", *, deterministic: bool = False
    ) -> bytes: ...

class Committee:
    """Keys of one set that sign often under one context, with a weight each (1); they are expanded once.

    A quorum has more than the fraction ``threshold`` of the weight.
    """

    def __init__(
        self,
        keys: Sequence[bytes],
        context: bytes = b"",
        *,
        weights: Sequence[int] | None = None,
        threshold: tuple[int, int] = (2, 3),
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def total_weight(self) -> int: ...
    @property
    def required_weight(self) -> int: ...
    def verify_many(self, indices: Sequence[int], messages: Column, signatures: Column) -> list[str | None]:
        """Returns the reason of each rejected signature, and None for a valid one."""
    def verify_quorum(
        self, message: bytes, indices: Sequence[int], signatures: Column, *, certificate: bool = False
    ) -> int:
        """Returns the weight of valid votes for a message, as soon as it is enough, or raises NoQuorum.

        Invalid votes, duplicates and unknown members, of whatever index, do not count; in a certificate there is none of them.
        """

class Verifier:
    """Verifies many signatures, and keeps the keys that sign often expanded."""

    def __init__(self, *, threads: int | None = None, key_cache_bytes: int = ...) -> None: ...
    def verify_many(
        self,
        keys: Column,
        messages: Column,
        signatures: Column,
        context: bytes = b"",
        *,
        set: Set | None = None,
    ) -> list[str | None]:
        """Returns the reason of each rejected signature, and None for a valid one."""
    def verify_batch(
        self,
        batch: ArrowArray,
        *,
        key: str = "key",
        message: str = "message",
        signature: str = "signature",
        mu: str | None = None,
        context: bytes | None = None,
        context_column: str | None = None,
        set: Set | None = None,
        set_column: str | None = None,
    ) -> Any:
        """Returns a record batch (PyCapsule interface) with the columns ``valid`` and ``reason``.

        Of ``set`` and ``set_column``, and of ``mu``, ``context`` and ``context_column``, at most one
        is given. Without a context it is empty.

        The columns are not copied. Their memory must not change during the call, as that of a numpy
        array or a mapped file may. Offsets and positions in them are checked. The size of a buffer is known
        to its owner only: pyarrow is asked to validate its batches, and other libraries must validate data of others.
        """
