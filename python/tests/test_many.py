"""Lists, committees and Arrow have the verdicts of single signatures."""

import ctypes
import struct
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric import mldsa

from mldsa_batch import Committee, MlDsaError, NoQuorum, PrivateKey, Verifier

CONTEXT = b"app/v1"


def spoiled(row, n):
    """Each class of a bad row in turn, and valid ones between them."""
    key, message, signature = row
    return {
        1: ((key[1:], message, signature), "public_key_length"),
        3: ((key, message, signature[1:]), "signature_length"),
        5: ((key, message, signature[:-1] + b"\xff"), "hint_encoding"),
        7: ((key, message, signature[:64] + bytes(100) + signature[164:]), "response_norm"),
        9: ((key, message + b"!", signature), "challenge_mismatch"),
    }.get(n % 10, (row, None))


@pytest.fixture(scope="module")
def rows():
    """Rows signed by this package and by `cryptography`, and the reasons that they are to have."""
    rows = []
    for n in range(60):
        message = b"message %d" % n
        if n % 2 == 0:
            key = PrivateKey.from_seed(["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"][n % 3], bytes([n % 4]) * 32)
            row = bytes(key.public_key()), message, key.sign(message, context=CONTEXT)
        else:
            key = [mldsa.MLDSA44PrivateKey, mldsa.MLDSA65PrivateKey][n // 2 % 2].from_seed_bytes(bytes([n % 4]) * 32)
            row = key.public_key().public_bytes_raw(), message, key.sign(message, CONTEXT)
        rows.append(spoiled(row, n))
    # Without a set, the length of a key tells it.
    assert {reason for _, reason in rows} >= {None, "public_key_length", "challenge_mismatch"}
    return rows


def columns(rows):
    return [list(column) for column in zip(*(row for row, _ in rows))]


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_lists(rows, threads):
    verifier = Verifier(threads=threads)
    for _ in range(3):
        assert verifier.verify_batch(*columns(rows), context=CONTEXT) == [reason for _, reason in rows]
    assert verifier.verify_batch([], [], []) == []
    with pytest.raises(MlDsaError, match='column "signatures" has 1 rows'):
        verifier.verify_batch([b""] * 2, [b""] * 2, [b""])
    of_one_set = verifier.verify_batch(*columns(rows), context=CONTEXT, set="ML-DSA-87")
    assert set(of_one_set) >= {"public_key_length"} and of_one_set.count("public_key_length") > 20
    with pytest.raises(MlDsaError):
        verifier.verify_batch([], [], [], set="ML-DSA-1")


def test_zero_threads_are_refused():
    with pytest.raises(MlDsaError):
        Verifier(threads=0)


def test_threads_share_a_verifier(rows):
    verifier = Verifier()
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(verifier.verify_batch, *columns(rows), context=CONTEXT) for _ in range(12)]
        assert all(run.result() == [reason for _, reason in rows] for run in runs)


BINARY = [
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.dictionary(pa.int8(), pa.binary()),
    pa.dictionary(pa.uint16(), pa.binary()),
    pa.dictionary(pa.int64(), pa.large_binary()),
]


@pytest.mark.parametrize("kind", BINARY, ids=str)
def test_arrow(rows, kind):
    names = ["key", "message", "signature"]
    arrays = [pa.array(column, pa.binary()) for column in columns(rows)]
    if pa.types.is_dictionary(kind):
        plain = [array.cast(kind.value_type).dictionary_encode() for array in arrays]
        arrays = [
            pa.DictionaryArray.from_arrays(array.indices.cast(kind.index_type), array.dictionary)
            for array in plain
        ]
    else:
        arrays = [array.cast(kind) for array in arrays]
    batch = pa.record_batch(arrays, names=names)
    for part in [batch, batch.slice(7, 20), batch.slice(0, 0)]:
        offset = 7 if part.num_rows == 20 else 0
        found = pa.record_batch(Verifier(threads=1).verify_arrow(part, context=CONTEXT))
        expected = [reason for _, reason in rows][offset : offset + part.num_rows]
        assert found.column("reason").to_pylist() == expected
        assert found.column("valid").to_pylist() == [reason is None for reason in expected]


def test_nulls_and_names(rows):
    keys, messages, signatures = columns(rows[:4])
    batch = pa.record_batch(
        {
            "k": pa.array([None, *keys[1:]], pa.binary()),
            "m": pa.array([messages[0], None, *messages[2:]], pa.binary()),
            "s": pa.array([*signatures[:2], None, signatures[3]], pa.binary()),
            "c": pa.array([CONTEXT] * 4, pa.binary()),
            "n": pa.array(["ML-DSA-44", "ML-DSA-44", "ML-DSA-44", "ML-DSA-1"]),
        }
    )
    names = dict(key="k", message="m", signature="s", context_column="c", set_column="n")
    found = pa.record_batch(Verifier().verify_arrow(batch, **names))
    expected = ["missing_key", "missing_message", "missing_signature", "unknown_set"]
    assert found.column("reason").to_pylist() == expected
    with pytest.raises(MlDsaError, match='no column "key"'):
        Verifier().verify_arrow(batch)
    with pytest.raises(MlDsaError, match='column "n" has type Utf8, expected Binary'):
        Verifier().verify_arrow(batch, key="n", message="m", signature="s")


class Lent:
    """A batch of a library that checks nothing."""

    def __init__(self, batch):
        self.__arrow_c_array__ = batch.__arrow_c_array__


@pytest.mark.parametrize("offset", [1 << 30, -5, 60])
def test_offsets_outside_of_the_data_raise(rows, offset):
    batch = pa.record_batch(dict(zip(["key", "message", "signature"], columns(rows[:4]))))
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    offsets = struct.pack("<5i", 0, 9, 18, 27, 36)
    data = stream.getvalue().to_pybytes()
    assert data.count(offsets) == 1


    def batch(*forged):
        # A reader does not look at the values.
        return pa.ipc.open_stream(data.replace(offsets, struct.pack("<5i", *forged))).read_next_batch()

    with pytest.raises(MlDsaError, match='column "message": '):
        Verifier().verify_arrow(Lent(batch(0, offset, 18, 27, 36)))
    # The size of a buffer is known to pyarrow alone.
    for forged in [(0, offset, 18, 27, 36), (0, 9, 18, 27, 1 << 30), (0, 9, 18, 27, -5)]:
        with pytest.raises(MlDsaError, match="[Oo]ffset"):
            Verifier().verify_arrow(batch(*forged))


def test_positions_outside_of_a_dictionary_raise(rows):
    keys, messages, signatures = columns([rows[0]] * 2)
    for indices in [[99, 0], [0, -1], [1, 0]]:
        key = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(keys[:1], pa.binary()), safe=False)
        batch = pa.record_batch([key, pa.array(messages), pa.array(signatures)], names=["key", "message", "signature"])
        for lent in [batch, Lent(batch)]:
            with pytest.raises(MlDsaError, match="[Cc]olumn"):
                Verifier().verify_arrow(lent, context=CONTEXT)


def test_contradicting_options_raise(rows):
    keys, messages, signatures = columns(rows[:1])
    batch = pa.record_batch({"key": keys, "message": messages, "signature": signatures, "m": [bytes(64)]})
    for options in [
        dict(mu="m", context=CONTEXT),
        dict(mu="m", context=b""),
        dict(mu="m", context_column="message"),
        dict(context=CONTEXT, context_column="message"),
        dict(set="ML-DSA-44", set_column="message"),
    ]:
        with pytest.raises(MlDsaError, match="exclude each other"):
            Verifier().verify_arrow(batch, **options)
    found = pa.record_batch(Verifier().verify_arrow(batch, mu="m"))
    assert found.column("reason").to_pylist() == ["challenge_mismatch"]


def test_committee():
    private = [PrivateKey.from_seed("ML-DSA-44", bytes([n]) * 32) for n in range(5)]
    committee = Committee([bytes(key.public_key()) for key in private], context=CONTEXT)
    assert len(committee) == 5
    signatures = [key.sign(b"block", context=CONTEXT) for key in private]
    found = committee.verify_batch([0, 1, 2, 7, 4], [b"block"] * 5, [*signatures[:2], signatures[3], *signatures[3:]])
    assert found == [None, None, "challenge_mismatch", "unknown_member", None]
    # An index may come from anybody.
    for stranger in [5, -1, 1 << 32, 1 << 64]:
        votes = [stranger, 0], [b"block"] * 2, [b"", signatures[0]]
        assert committee.verify_batch(*votes) == ["unknown_member", None]
    for call in [
        lambda: Committee([]),
        lambda: Committee([bytes(private[0].public_key())] * 2),
        lambda: committee.verify_batch([0], [], []),
    ]:
        with pytest.raises(MlDsaError):
            call()


def test_quorums():
    private = [PrivateKey.from_seed("ML-DSA-44", bytes([n]) * 32) for n in range(4)]
    keys = [bytes(key.public_key()) for key in private]
    votes = [key.sign(b"block", context=CONTEXT) for key in private]
    committee = Committee(keys, context=CONTEXT, weights=[5, 1, 1, 1], threshold=(1, 2))
    assert (committee.total_weight, committee.required_weight) == (8, 5)
    assert Committee(keys).required_weight == 3
    assert committee.verify_quorum(b"block", [0], [votes[0]], certificate=True) == 5
    # A forged vote, a duplicate and a stranger do not count, and do not exclude the vote of a member.
    assert committee.verify_quorum(b"block", [0, 1, 9, 1, 0], [votes[1], votes[1], votes[2], votes[1], votes[0]]) == 6
    assert committee.verify_quorum(b"block", [1 << 32, -1, 0], [b"", b"", votes[0]]) == 5
    for indices, signatures, certificate, reason in [
        ([0, -1], votes[:2], True, "unknown_member"),
        ([1, 2, 3], votes[1:], False, "insufficient"),
        ([1, 2, 3], votes[1:], True, "insufficient"),
        ([0, 9], votes[:2], True, "unknown_member"),
        ([0, 0], [votes[0]] * 2, True, "duplicate"),
        ([0, 0], votes[:2], True, "conflicting_claims"),
        ([0, 1], [votes[0]] * 2, True, "challenge_mismatch"),
        ([], [], False, "insufficient"),
    ]:
        with pytest.raises(NoQuorum) as raised:
            committee.verify_quorum(b"block", indices, signatures, certificate=certificate)
        assert raised.value.reason == reason
    for call in [
        lambda: committee.verify_quorum(b"block", [0], []),
        lambda: Committee(keys, weights=[1]),
        lambda: Committee(keys, weights=[1, 1, 1, 0]),
        lambda: Committee(keys, threshold=(0, 3)),
        lambda: Committee(keys, threshold=(3, 3)),
    ]:
        with pytest.raises(MlDsaError):
            call()


def test_buffers():
    key = PrivateKey.from_seed("ML-DSA-44", bytes(32))
    public, messages = bytes(key.public_key()), [b"message %d" % n for n in range(8)]
    signatures = [key.sign(message) for message in messages]
    signatures[3] = signatures[4]
    expected = [None] * 3 + ["challenge_mismatch"] + [None] * 4

    def rows(values):
        """One buffer, of which each row is a value."""
        return memoryview(b"".join(values)).cast("B", (len(values), len(values[0])))

    verifier, committee = Verifier(), Committee([bytearray(public)])
    for form in [list, rows, lambda values: [memoryview(value) for value in values], lambda v: list(map(bytearray, v))]:
        assert verifier.verify_batch(form([public] * 8), form(messages), form(signatures)) == expected
        assert committee.verify_batch([0] * 8, form(messages), form(signatures)) == expected
    # A view that is not contiguous.
    padded = [memoryview(bytes(byte for byte in value for _ in range(2)))[::2] for value in signatures]
    assert verifier.verify_batch([public] * 8, messages, padded) == expected
    assert verifier.verify_batch([], [], memoryview(b"")[:0]) == []
    # Rows without bytes take no memory, whatever their number.
    for count in [1, 1 << 40, 1 << 62]:
        with pytest.raises(MlDsaError, match="has no bytes"):
            verifier.verify_batch(memoryview(((ctypes.c_ubyte * 0) * count)()), [], [])
    for wrong in [memoryview(bytes(8)), b"12345678", "12345678", [1] * 8, 8]:
        with pytest.raises((TypeError, MlDsaError)):
            verifier.verify_batch([public] * 8, messages, wrong)
