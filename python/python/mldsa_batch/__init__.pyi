from collections.abc import Iterator
from typing import Any, Literal, Protocol, TypeVar, final

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

_Set = Literal["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]

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

class _HasBuffer(Protocol):
    """An object with a buffer of bytes, as Python 3.12 names it."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

_Bytes = bytes | bytearray | memoryview | _HasBuffer

_T = TypeVar("_T", covariant=True)

class _Sequence(Protocol[_T]):
    """A list, a tuple, or a column of a data frame. Its length reserves no memory."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[_T]: ...

_Column = _Sequence[_Bytes] | memoryview | _HasBuffer
"""Objects with a buffer of bytes; or the rows of a two-dimensional buffer, as of numpy, of bytes."""

class _ArrowArray(Protocol):
    """A record batch of any library, by the PyCapsule interface of Arrow."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    """A table, data frame or stream of any library, by the PyCapsule interface of Arrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...

@final
class PublicKey:
    """A public key. It can be compared, copied and pickled."""

    @classmethod
    def from_bytes(cls, encoded: _Bytes) -> PublicKey:
        """Reads 1312, 1952 or 2592 bytes; the length tells the set."""
    @staticmethod
    def from_der(spki: _Bytes) -> PublicKey:
        """Reads a SubjectPublicKeyInfo (RFC 9881)."""
    @staticmethod
    def from_pem(text: str | _Bytes) -> PublicKey:
        """Reads a SubjectPublicKeyInfo in the forms of PEM that `mldsa` reads."""
    @property
    def set(self) -> _Set: ...
    @property
    def prepared(self) -> bool: ...
    def __bytes__(self) -> bytes: ...
    def to_der(self) -> bytes: ...
    def to_pem(self) -> str: ...
    def prepare(self) -> PublicKey:
        """Returns the expanded key, of 20, 36 or 64 KiB, which verifies faster."""
    def verify(self, message: _Bytes, signature: _Bytes, *, context: _Bytes = ...) -> None:
        """Raises InvalidSignature if the signature is rejected."""
    def verify_mu(self, mu: _Bytes, signature: _Bytes) -> None:
        """Verifies over a message representative, which must be computed from this key."""
    def verify_prehashed(self, hash: str, digest: _Bytes, signature: _Bytes, *, context: _Bytes = ...) -> None:
        """Verifies HashML-DSA, with a hash such as ``SHA2-512``."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> PublicKey: ...
    def __deepcopy__(self, _memo: Any, /) -> PublicKey: ...
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class MuBuilder:
    """The message representative of a message in pieces. Threads may share it."""

    def __new__(cls, key: PublicKey, *, context: _Bytes = ...) -> MuBuilder: ...
    def update(self, piece: _Bytes) -> None: ...
    def finish(self) -> bytes: ...

@final
class PrivateKey:
    """A private key.

    The memory of this object is wiped when it is freed. Copies that its making leaves on the
    stack are not, nor are seeds and encodings that enter or leave it, which are objects of Python.
    """

    @staticmethod
    def generate(set: str) -> PrivateKey: ...
    @staticmethod
    def from_seed(set: str, seed: _Bytes) -> PrivateKey: ...
    @staticmethod
    def from_bytes(expanded: _Bytes) -> PrivateKey:
        """Reads the expanded encoding of FIPS 204, with every check."""
    @staticmethod
    def from_der(pkcs8: _Bytes) -> PrivateKey:
        """Reads PKCS#8 in the forms of RFC 9881."""
    @staticmethod
    def from_pem(text: str | _Bytes) -> PrivateKey:
        """Reads PKCS#8 in the forms of PEM that `mldsa` reads."""
    @property
    def set(self) -> _Set: ...
    def public_key(self) -> PublicKey: ...
    def seed(self) -> bytes | None: ...
    def to_der(self) -> bytes: ...
    def to_pem(self) -> str: ...
    def sign(self, message: _Bytes, *, context: _Bytes = ..., deterministic: bool = False) -> bytes:
        """Signs, with fresh randomness unless ``deterministic`` is true."""
    def sign_mu(self, mu: _Bytes, *, deterministic: bool = False) -> bytes: ...
    def sign_prehashed(
        self, hash: str, digest: _Bytes, *, context: _Bytes = ..., deterministic: bool = False
    ) -> bytes: ...
    def __reduce__(self) -> Any:
        """Raises TypeError: a private key is neither copied nor pickled."""

@final
class Committee:
    """Keys of one set that sign often under one context, with a weight each (1); they are expanded once.

    A quorum has more than the fraction ``threshold`` of the weight, (2, 3) unless it is given.
    """

    def __new__(
        cls,
        keys: _Sequence[_Bytes],
        *,
        context: _Bytes = ...,
        weights: _Sequence[int] = ...,
        threshold: tuple[int, int] = ...,
    ) -> Committee: ...
    def __len__(self) -> int: ...
    @property
    def total_weight(self) -> int: ...
    @property
    def required_weight(self) -> int: ...
    def verify_batch(self, indices: _Sequence[int], messages: _Column, signatures: _Column) -> list[str | None]:
        """Returns the reason of each rejected signature, and None for a valid one."""
    def verify_quorum(
        self, message: _Bytes, indices: _Sequence[int], signatures: _Column, *, certificate: bool = False
    ) -> int:
        """Returns the weight of valid votes for a message, as soon as it is enough, or raises NoQuorum.

        Invalid votes, duplicates and unknown members, of whatever index, do not count; in a certificate there is none of them.
        """

@final
class Verifier:
    """Verifies many signatures, and keeps the keys that sign often expanded."""

    def __new__(cls, *, threads: int | None = None, key_cache_bytes: int = ...) -> Verifier: ...
    def verify_batch(
        self, keys: _Column, messages: _Column, signatures: _Column, *, context: _Bytes = ..., set: str = ...
    ) -> list[str | None]:
        """Returns the reason of each rejected signature, and None for a valid one."""
    def verify_arrow(
        self,
        columns: _ArrowArray | _ArrowStream,
        *,
        key: str = "key",
        message: str = "message",
        signature: str = "signature",
        mu: str = ...,
        context: _Bytes = ...,
        context_column: str = ...,
        set: str = ...,
        set_column: str = ...,
    ) -> Any:
        """Returns a record batch (PyCapsule interface) with the columns ``valid`` and ``reason``, for all rows.

        Of ``set`` and ``set_column``, and of ``mu``, ``context`` and ``context_column``, at most one
        is given. Without a context it is empty.

        The columns are not copied. Their memory must not change during the call, as that of a numpy
        array or a mapped file may. Offsets and positions in them are checked. The size of a buffer is known
        to its owner only: pyarrow is asked to validate what it lends, and other libraries must validate data of others.
        """
