"""Keys, certificates, signatures and mu between `mldsa` and the OpenSSL inside the Python
package `cryptography` (50 or newer: OpenSSL 4), in both directions.

    MLDSA=target/release/mldsa python3 tests/interop/openssl.py

Encrypted keys too.
"""

import datetime
import os
import subprocess
import tempfile
from pathlib import Path

try:
    import cryptography
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.backends.openssl import backend
    from cryptography.hazmat.primitives import serialization as ser
    from cryptography.hazmat.primitives.asymmetric import mldsa
    from cryptography.x509.oid import NameOID
except ImportError:
    raise SystemExit("not run: no Python package `cryptography` with ML-DSA")
if int(cryptography.__version__.split(".")[0]) < 50:
    raise SystemExit(f"not run: `cryptography` {cryptography.__version__}, 50 or newer is needed")

if not os.environ.get("MLDSA"):
    raise SystemExit("MLDSA has to name the program")
MLDSA = str(Path(os.environ["MLDSA"]).resolve())
checks = 0


def check(condition):
    global checks
    assert condition
    checks += 1


def run(*args, stdin=b"", code=0):
    done = subprocess.run([MLDSA, *args], input=stdin, capture_output=True)
    assert done.returncode == code, (args, done)
    return done.stdout


def rejected(verify, *args):
    try:
        verify(*args)
    except InvalidSignature:
        return True
    return False


def certificate(private):
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "interop")])
    begin = datetime.datetime(2026, 1, 1)
    builder = x509.CertificateBuilder(name, name, private.public_key(), 1)
    builder = builder.not_valid_before(begin).not_valid_after(begin.replace(2060))
    return builder.sign(private, None)


def main():
    reads_encrypted = b"--password-file" in run("inspect", "--help")
    os.chdir(tempfile.mkdtemp())
    message = os.urandom(70000)
    for name in (44, 65, 87):
        private = getattr(mldsa, f"MLDSA{name}PrivateKey")
        seed = os.urandom(32)
        Path("seed").write_bytes(seed)
        theirs = private.from_seed_bytes(seed)
        pem = theirs.private_bytes(
            ser.Encoding.PEM, ser.PrivateFormat.PKCS8, ser.NoEncryption()
        )
        public_pem = theirs.public_key().public_bytes(
            ser.Encoding.PEM, ser.PublicFormat.SubjectPublicKeyInfo
        )
        # Their files here, our files there, for every form.
        Path("key.pem").write_bytes(pem)
        Path("pub.pem").write_bytes(public_pem)
        check(run("pubkey", "key.pem") == public_pem)
        for form in ("seed", "expanded", "both"):
            ours = run("keygen", "--set", str(name), "--form", form, "--seed-file", "seed")
            try:
                read = ser.load_pem_private_key(ours, None)
            except ValueError:
                print(f"ML-DSA-{name}: cryptography does not read the form {form}")
                continue
            check(read.public_key() == theirs.public_key())
        check(ser.load_pem_public_key(run("pubkey", "key.pem")) == theirs.public_key())

        # A certificate's key, and what an encrypted file holds.
        for encoding in (ser.Encoding.PEM, ser.Encoding.DER):
            Path("certificate").write_bytes(certificate(theirs).public_bytes(encoding))
            check(run("pubkey", "certificate") == public_pem)
            check(b"subject:     CN=interop" in run("inspect", "certificate"))
            encryption = ser.BestAvailableEncryption(b"password")
            Path("encrypted").write_bytes(
                theirs.private_bytes(encoding, ser.PrivateFormat.PKCS8, encryption)
            )
            if reads_encrypted:
                Path("password").write_bytes(b"password\n")
                options = ["encrypted", "--password-file", "password"]
                check(run("pubkey", *options) == public_pem)

        for context in (b"", b"network", os.urandom(255)):
            args = ["--ctx-hex", context.hex()]
            signature = theirs.sign(message, context)
            Path("sig").write_bytes(signature)
            verify = ["verify", "-k", "certificate", "-s", "sig"]
            check(run(*verify, *args, stdin=message) == b"valid\n")
            check(run(*verify, *args, stdin=b"other", code=1).startswith(b"invalid"))
            ours = run("sign", "-k", "key.pem", *args, stdin=message)
            theirs.public_key().verify(ours, message, context)
            check(rejected(theirs.public_key().verify, ours, b"other", context))
            check(rejected(theirs.public_key().verify, ours, message, b"else"))

            mu = run("mu", "-k", "pub.pem", "--raw", *args, stdin=message)
            Path("sig").write_bytes(theirs.sign_mu(mu))
            check(run(*verify, *args, stdin=message) == b"valid\n")
            ours = run("sign", "-k", "key.pem", "--mu", stdin=mu)
            theirs.public_key().verify_mu(ours, mu)
            theirs.public_key().verify(ours, message, context)
            check(rejected(theirs.public_key().verify_mu, ours, bytes(64)))
    if not reads_encrypted:
        print("not run: encrypted keys, which this mldsa does not read")
    print(backend.openssl_version_text())
    print(f"{checks} checks passed")


main()
