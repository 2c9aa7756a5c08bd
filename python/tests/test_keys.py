"""Keys and signatures, both ways with `cryptography`."""

import hashlib

import pytest
from cryptography.exceptions import InvalidSignature as Rejected
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import mldsa

import mldsa_batch
from mldsa_batch import InvalidSignature, MlDsaError, MuBuilder, PrivateKey, PublicKey

SETS = ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]
SEED = hashlib.sha256(b"seed").digest()


def theirs(set_name, kind="Private"):
    return getattr(mldsa, f"MLDSA{set_name[-2:]}{kind}Key")


@pytest.fixture(params=SETS)
def pair(request):
    """Our key and theirs, of one seed."""
    ours = PrivateKey.from_seed(request.param, SEED)
    return ours, theirs(request.param).from_seed_bytes(SEED)


def test_hashes_cannot_be_chosen():
    """Keys of one prefix, as whoever makes them may choose it, have different hashes."""
    keys = [PublicKey.from_bytes(bytes(1300) + bytes([n]) * 12) for n in range(9)]
    assert len({hash(key) for key in keys}) == 9


def test_keys_have_the_bytes_of_cryptography(pair):
    ours, other = pair
    public = ours.public_key()
    assert bytes(public) == other.public_key().public_bytes_raw()
    assert ours.seed() == other.private_bytes_raw() == SEED
    assert public.set == ours.set and repr(public) == f"PublicKey({ours.set})"


@pytest.mark.parametrize("encoding", ["DER", "PEM"])
def test_encodings_go_both_ways(pair, encoding):
    ours, other = pair
    form = getattr(serialization.Encoding, encoding)
    spki = other.public_key().public_bytes(form, serialization.PublicFormat.SubjectPublicKeyInfo)
    pkcs8 = other.private_bytes(form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    if encoding == "DER":
        public, private = PublicKey.from_der(spki), PrivateKey.from_der(pkcs8)
        load_public = serialization.load_der_public_key
        written, secret = ours.public_key().to_der(), ours.to_der()
        loaded = serialization.load_der_private_key(secret, None)
    else:
        public, private = PublicKey.from_pem(spki.decode()), PrivateKey.from_pem(pkcs8.decode())
        load_public = serialization.load_pem_public_key
        written, secret = ours.public_key().to_pem().encode(), ours.to_pem().encode()
        loaded = serialization.load_pem_private_key(secret, None)
    assert public == ours.public_key() and hash(public) == hash(ours.public_key())
    assert private.seed() == SEED
    assert load_public(written) == other.public_key()
    assert loaded.private_bytes_raw() == SEED


@pytest.mark.parametrize("context", [b"", b"app/v1", b"c" * 255])
def test_signatures_go_both_ways(pair, context):
    ours, other = pair
    message = b"message"
    for signature in [
        ours.sign(message, context=context),
        ours.sign(message, context=context, deterministic=True),
        other.sign(message, context),
    ]:
        other.public_key().verify(signature, message, context)
        for public in [ours.public_key(), ours.public_key().prepare()]:
            public.verify(message, signature, context=context)
            with pytest.raises(InvalidSignature) as raised:
                public.verify(b"other", signature, context=context)
            assert raised.value.reason == "challenge_mismatch"
        with pytest.raises(Rejected):
            other.public_key().verify(signature, b"other", context)


def test_signing_is_hedged_by_default(pair):
    ours, _ = pair
    assert ours.sign(b"m") != ours.sign(b"m")
    assert ours.sign(b"m", deterministic=True) == ours.sign(b"m", deterministic=True)


def test_messages_in_pieces(pair):
    ours, other = pair
    public = ours.public_key()
    builder = MuBuilder(public, context=b"ctx")
    for piece in [b"a ", b"", b"long message"]:
        builder.update(piece)
    mu = builder.finish()
    signature = ours.sign_mu(mu)
    other.public_key().verify(signature, b"a long message", b"ctx")
    public.verify_mu(mu, signature)
    public.prepare().verify_mu(mu, signature)
    with pytest.raises(InvalidSignature):
        public.verify_mu(bytes(64), signature)
    for call in [lambda: builder.update(b""), builder.finish, lambda: ours.sign_mu(mu[1:])]:
        with pytest.raises(MlDsaError):
            call()


def test_prehashed_messages(pair):
    ours, _ = pair
    digest = hashlib.sha512(b"message").digest()
    signature = ours.sign_prehashed("SHA2-512", digest, context=b"ctx")
    for public in [ours.public_key(), ours.public_key().prepare()]:
        public.verify_prehashed("SHA2-512", digest, signature, context=b"ctx")
        with pytest.raises(InvalidSignature):
            public.verify(b"message", signature, context=b"ctx")
        with pytest.raises(InvalidSignature):
            public.verify_prehashed("SHA2-512", digest, signature)
    with pytest.raises(MlDsaError, match="no hash MD5"):
        ours.sign_prehashed("MD5", digest)
    with pytest.raises(MlDsaError):
        ours.sign_prehashed("SHA2-512", digest[1:])


def test_reasons_are_those_of_the_library(pair):
    ours, _ = pair
    public, signature = ours.public_key(), ours.sign(b"m")
    for bad, reason in [
        (b"", "signature_length"),
        (signature + b"\0", "signature_length"),
        (signature[:-1] + b"\xff", "hint_encoding"),
        (signature[:64] + bytes(100) + signature[164:], "response_norm"),
    ]:
        with pytest.raises(InvalidSignature) as raised:
            public.verify(b"m", bad)
        assert raised.value.reason == reason == str(raised.value)
    assert issubclass(InvalidSignature, MlDsaError) and issubclass(MlDsaError, ValueError)


def test_bad_arguments_raise():
    encoded = bytes(PrivateKey.generate("ML-DSA-65").public_key())
    key = PublicKey.from_bytes(encoded)
    for call in [
        lambda: PublicKey.from_bytes(encoded[1:]),
        lambda: PublicKey.from_der(encoded),
        lambda: PublicKey.from_pem("no PEM"),
        lambda: PrivateKey.from_bytes(encoded),
        lambda: PrivateKey.from_der(b""),
        lambda: PrivateKey.from_pem(""),
        lambda: PrivateKey.from_seed("ML-DSA-65", b"short"),
        lambda: PrivateKey.generate("ML-DSA-1"),
        lambda: key.verify(b"", b"", context=b"c" * 256),
    ]:
        with pytest.raises(MlDsaError):
            call()
    with pytest.raises(TypeError):
        key.verify("text", b"")


def shorter(spki):
    """The same SubjectPublicKeyInfo with a key of one byte less."""
    key = spki[22:-1]
    content = spki[4:17] + b"\x03\x82" + (len(key) + 1).to_bytes(2, "big") + b"\0" + key
    return b"\x30\x82" + len(content).to_bytes(2, "big") + content


def test_the_error_is_that_of_the_set(pair):
    ours, _ = pair
    pkcs8, spki = ours.to_der(), ours.public_key().to_der()
    # The seed has another tag.
    for call in [
        lambda: PrivateKey.from_der(pkcs8[:-34] + b"\x81" + pkcs8[-33:]),
        lambda: PublicKey.from_der(shorter(spki)),
    ]:
        with pytest.raises(MlDsaError) as raised:
            call()
        assert "OID" not in str(raised.value)
    for call in [
        lambda: PrivateKey.from_der(pkcs8[:17] + b"\x1f" + pkcs8[18:]),
        lambda: PublicKey.from_der(spki[:16] + b"\x1f" + spki[17:]),
    ]:
        with pytest.raises(MlDsaError, match="not a parameter set of ML-DSA"):
            call()


def test_lengths_of_no_set_are_named():
    for call in [PublicKey.from_bytes, PrivateKey.from_bytes]:
        with pytest.raises(MlDsaError, match="of 7 bytes"):
            call(bytes(7))


def test_the_stubs_name_every_class():
    for name in mldsa_batch.__all__:
        assert hasattr(mldsa_batch, name)
