"""What a caller or another library gets wrong: typed errors, no abort, no silent default."""

import _thread
import codecs
import contextlib
import copy
import itertools
import operator
import pickle
import signal
import threading
from pathlib import Path

import pandas
import polars
import pyarrow as pa
import pytest

from mldsa_batch import Committee, InvalidSignature, MlDsaError, MuBuilder, PrivateKey, PublicKey, Verifier

KEY = PrivateKey.from_seed("ML-DSA-44", bytes(32))
PUBLIC = bytes(KEY.public_key())
SIGNATURE = KEY.sign(b"m", deterministic=True)


class Liar:
    """A sequence that states a length and has other items."""

    def __init__(self, length, items=()):
        self.length, self.items = length, items

    def __len__(self):
        return self.length

    def __iter__(self):
        return iter(self.items)

    def __getitem__(self, index):
        raise IndexError


HUGE = [range(10**12), Liar(2**40), Liar(2**62), Liar(2**64), Liar(-1), Liar(1), Liar(0, [b"", b""]), Liar(2, [b""] * 3)]


@pytest.mark.parametrize("huge", HUGE, ids=lambda huge: f"{type(huge).__name__}{getattr(huge, 'length', '')}")
def test_a_length_reserves_nothing(huge):
    verifier, committee = Verifier(threads=1), Committee([PUBLIC])
    for call in [
        lambda: verifier.verify_batch(huge, [b""], [b""]),
        lambda: verifier.verify_batch([b""], huge, [b""]),
        lambda: verifier.verify_batch([b""], [b""], huge),
        lambda: verifier.verify_batch(huge, huge, huge),
        lambda: committee.verify_batch(huge, [b""], [b""]),
        lambda: committee.verify_batch(range(3), huge, [b""]),
        lambda: committee.verify_quorum(b"", huge, [b""]),
        lambda: committee.verify_quorum(b"", [0], huge),
        lambda: Committee(huge),
        lambda: Committee([PUBLIC], weights=huge),
    ]:
        with pytest.raises(MlDsaError):
            call()


def test_errors_name_the_column_and_the_row():
    verifier, committee = Verifier(), Committee([PUBLIC])
    many = [b""] * 700
    for column, call in [
        ("keys", lambda wrong: verifier.verify_batch(wrong, many, many)),
        ("messages", lambda wrong: verifier.verify_batch(many, wrong, many)),
        ("signatures", lambda wrong: committee.verify_batch([0] * 700, many, wrong)),
        ("indices", lambda wrong: committee.verify_batch(wrong, many, many)),
        ("weights", lambda wrong: Committee(many, weights=wrong)),
    ]:
        good = 1 if column in ("indices", "weights") else b""
        for value in [None, "text", 1.5, [b""], memoryview(bytes(8)).cast("I")]:
            with pytest.raises(MlDsaError, match=f'row 600 of column "{column}": ') as raised:
                call([good] * 600 + [value] + [good] * 99)
            assert isinstance(raised.value.__cause__, TypeError)
        for wrong in [None, "text" * 175, 700, {}, set(range(700)), iter(many)]:
            with pytest.raises(MlDsaError, match=f'column "{column}"'):
                call(wrong)
    for weight in [-1, 2**64]:
        with pytest.raises(MlDsaError, match='row 1 of column "weights"'):
            Committee([PUBLIC, PUBLIC], weights=[1, weight])
    for threshold in [(0, 3), (3, 3), (-1, 3), (2**32, 2**33), (2,), ("2", "3"), 0.5, None]:
        with pytest.raises(MlDsaError, match="threshold"):
            Committee([PUBLIC], threshold=threshold)
    for key in [b"", PUBLIC[1:], SIGNATURE]:
        with pytest.raises(MlDsaError, match=f"{len(key)} bytes"):
            Committee([key])
    with pytest.raises(MlDsaError):
        Committee([PUBLIC, bytes(1952)])


class Interrupted:
    """Rows between which SIGINT arrives. No bytecode runs there."""

    def __init__(self, rows):
        self.length, self.rest = len(rows), iter(rows[10:])
        self.rows = itertools.chain(rows[:10], filter(_thread.interrupt_main, [signal.SIGINT]), self.rest)

    def __len__(self):
        return self.length

    def __iter__(self):
        return self.rows

    __getitem__ = None


def test_control_c_acts_within_a_piece():
    verifier, committee = Verifier(threads=1), Committee([PUBLIC])
    many = [b""] * 100_000
    for call in [
        lambda rows: verifier.verify_batch(rows, many, many),
        lambda rows: verifier.verify_batch(many, many, rows),
        lambda rows: committee.verify_batch([0] * len(many), rows, many),
    ]:
        rows = Interrupted(many)
        with pytest.raises(KeyboardInterrupt):
            call(rows)
        assert operator.length_hint(rows.rest) > 99_000


def test_an_option_that_is_none_is_no_default():
    batch = pa.record_batch({"key": [PUBLIC], "message": [b"m"], "signature": [SIGNATURE]})
    verifier, public = Verifier(), KEY.public_key()
    for call in [
        lambda: KEY.sign(b"m", context=None),
        lambda: KEY.sign_prehashed("SHA2-512", bytes(64), context=None),
        lambda: public.verify(b"m", SIGNATURE, context=None),
        lambda: public.verify_prehashed("SHA2-512", bytes(64), SIGNATURE, context=None),
        lambda: MuBuilder(public, context=None),
        lambda: Committee([PUBLIC], context=None),
        lambda: Committee([PUBLIC], weights=None),
        lambda: verifier.verify_batch([], [], [], context=None),
        lambda: verifier.verify_batch([], [], [], set=None),
        *(lambda name=name: verifier.verify_arrow(batch, **{name: None}) for name in ["context", "context_column", "mu", "set", "set_column"]),
        # Names and places that do not exist.
        lambda: KEY.sign(b"m", b"context"),
        lambda: KEY.sign(b"m", ctx=b"context"),
        lambda: public.verify(b"m", SIGNATURE, b"context"),
        lambda: public.verify(b"m", SIGNATURE, ctx=b"context"),
        lambda: verifier.verify_batch([], [], [], b"context"),
        lambda: Committee([PUBLIC], b"context"),
        lambda: MuBuilder(public, b"context"),
    ]:
        with pytest.raises((TypeError, MlDsaError)):
            call()


def test_bytes_are_taken_in_each_form():
    public = KEY.public_key()
    for form in [bytes, bytearray, memoryview, lambda value: memoryview(bytes(2 * value))[: len(value)] if not value else memoryview(value)]:
        PublicKey.from_bytes(form(PUBLIC)).verify(form(b"m"), form(SIGNATURE), context=form(b""))
        assert PublicKey.from_der(form(public.to_der())) == public
        assert PrivateKey.from_der(form(KEY.to_der())).seed() == bytes(32)
        assert PrivateKey.from_seed("ML-DSA-44", form(bytes(32))).sign(form(b"m"), deterministic=True) == SIGNATURE
        for pem in [form(public.to_pem().encode()), public.to_pem()]:
            assert PublicKey.from_pem(pem) == public
        for pem in [form(KEY.to_pem().encode()), KEY.to_pem()]:
            assert PrivateKey.from_pem(pem).seed() == bytes(32)
    for wrong in ["text", 5, None, [1, 2], memoryview(bytes(8)).cast("I"), memoryview(bytes(8)).cast("d")]:
        for call in [KEY.sign, PublicKey.from_bytes, PrivateKey.from_der, lambda w: public.verify(b"m", w), lambda w: public.verify(w, SIGNATURE)]:
            with pytest.raises(TypeError):
                call(wrong)


def test_public_keys_are_copied_and_pickled():
    for key in [KEY.public_key(), KEY.public_key().prepare()]:
        for made in [copy.copy(key), copy.deepcopy([key])[0], *(pickle.loads(pickle.dumps(key, n)) for n in range(pickle.HIGHEST_PROTOCOL + 1))]:
            assert made == key and made.prepared == key.prepared and hash(made) == hash(key)
            made.verify(b"m", SIGNATURE)
    for secret in [KEY, [KEY], MuBuilder(KEY.public_key())]:
        for call in [copy.copy, copy.deepcopy, *(lambda it, n=n: pickle.dumps(it, n) for n in range(pickle.HIGHEST_PROTOCOL + 1))]:
            if secret == [KEY] and call is copy.copy:
                continue
            with pytest.raises(TypeError):
                call(secret)
    error = pickle.loads(pickle.dumps(pytest.raises(InvalidSignature, KEY.public_key().verify, b"x", SIGNATURE).value))
    assert error.reason == "challenge_mismatch"


def test_threads_share_a_builder():
    public, builder = KEY.public_key(), MuBuilder(KEY.public_key())
    threads = [threading.Thread(target=lambda: [builder.update(b"x" * 100_000) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    public.verify_mu(builder.finish(), KEY.sign(b"x" * 8_000_000))


def test_texts_of_pem():
    """The table that all interfaces share."""
    key = PrivateKey.from_seed("ML-DSA-44", bytes(range(32)))
    readers = {"public": PublicKey.from_pem, "private": lambda text: PrivateKey.from_pem(text).public_key()}
    table = Path(__file__).parents[2] / "crates/mldsa-core/tests/data/pem.txt"
    rows = [line.split("\t") for line in table.read_text().strip().split("\n") if not line.startswith("#")]
    assert len(rows) >= 131
    for label, result, name, escaped in rows:
        text = codecs.escape_decode(escaped)[0]
        texts = [text]
        with contextlib.suppress(UnicodeDecodeError):
            texts.append(text.decode())
        for text in texts:
            if result == "key":
                assert readers[label](text) == key.public_key(), name
            else:
                with pytest.raises(MlDsaError):
                    readers[label](text)
    with pytest.raises(MlDsaError, match="PRIVATE KEY, not of PUBLIC KEY"):
        PublicKey.from_pem(KEY.to_pem())


def test_capsules_that_break_the_interface():
    batch = pa.record_batch({"key": [PUBLIC], "message": [b"m"], "signature": [SIGNATURE]})
    few = pa.record_batch({"key": [PUBLIC]})

    class Lent:
        def __init__(self, lent):
            self.lent = lent

        def __arrow_c_array__(self, requested_schema=None):
            return self.lent

    class Raises:
        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyError("x")

    class Stream:
        def __init__(self, lent):
            self.lent = lent

        def __arrow_c_stream__(self, requested_schema=None):
            return self.lent

    schema, array = batch.__arrow_c_array__()
    twice, stream = Lent(batch.__arrow_c_array__()), Stream(pa.table(batch).__arrow_c_stream__())
    Verifier().verify_arrow(twice)
    Verifier().verify_arrow(stream)
    cases = [twice, stream, Lent(None), Lent((1, 2)), Lent((array, schema)), Lent((schema, schema)), Lent([schema, array]), Stream(None)]
    cases += [Lent((batch.schema.__arrow_c_schema__(), few.__arrow_c_array__()[1])), Stream(schema), Raises(), None, 5, [batch], pa.array([1])]
    cases += [Lent((batch.schema.__arrow_c_schema__(), pa.array([1]).__arrow_c_array__()[1])), pa.chunked_array([pa.array([1])])]
    for case in cases:
        with pytest.raises(Exception) as raised:
            Verifier().verify_arrow(case)
        assert isinstance(raised.value, MlDsaError), f"{case}: {raised.value!r}"


def test_an_interruption_is_no_error_of_a_value():
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    class Interrupts:
        __arrow_c_stream__ = __len__ = __index__ = interrupt

        def __getitem__(self, index):
            raise IndexError

    committee = Committee([PUBLIC])
    for call in [
        lambda: Verifier().verify_arrow(Interrupts()),
        lambda: Verifier().verify_batch(Interrupts(), [b""], [b""]),
        lambda: committee.verify_batch([Interrupts()], [b""], [b""]),
        lambda: Committee([PUBLIC], weights=[Interrupts()]),
    ]:
        with pytest.raises(KeyboardInterrupt):
            call()


def test_a_reader_of_readers_ends():
    class Reader:
        __module__ = "pyarrow.lib"
        schema = pa.schema({"key": pa.binary(), "message": pa.binary(), "signature": pa.binary()})
        read_next_batch = None

        def __iter__(self):
            return iter([self])

    with pytest.raises((AttributeError, MlDsaError)):
        Verifier().verify_arrow(Reader())


def test_tables_streams_and_data_frames():
    rows = 700
    columns = {"key": [PUBLIC] * rows, "message": [b"m"] * 650 + [b"n"] * 50, "signature": [SIGNATURE] * rows}
    table = pa.table({name: pa.chunked_array([values[:99], values[99:]], pa.binary()) for name, values in columns.items()})
    lent = [table, table.to_reader(), pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches())), table.to_batches()[1]]
    lent += [pandas.DataFrame(columns), polars.DataFrame(columns)]
    for source in lent:
        found = pa.record_batch(Verifier(threads=1).verify_arrow(source))
        expected = rows - 50 - 99 * isinstance(source, pa.RecordBatch)
        assert found.column("valid").to_pylist() == [True] * expected + [False] * 50
        assert found.column("reason").to_pylist() == [None] * expected + ["challenge_mismatch"] * 50
    for empty in [table.slice(0, 0), table.schema.empty_table().to_reader(), pa.RecordBatchReader.from_batches(table.schema, [])]:
        found = pa.record_batch(Verifier().verify_arrow(empty))
        assert (found.num_rows, found.schema.names) == (0, ["valid", "reason"])
        with pytest.raises(MlDsaError, match='no column "other"'):
            Verifier().verify_arrow(table.slice(0, 0), key="other")
