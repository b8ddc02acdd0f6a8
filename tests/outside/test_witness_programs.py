"""Witnesses and logs of others (PyPI: aics-witness, aics-tlog) understand Rye's, and Rye's understand them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from registry_server.accounts import registry_keys
from rye.registry.protocol import merkle, notes, wire
from rye.registry.protocol.add_checkpoint import AddCheckpoint
from rye.registry.protocol.notes import encode_base64
from rye.registry.protocol.statements import Checkpoint
from tests.outside import judges
from tests.outside.installing import WITNESSES
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.registry_process import run

pytestmark = [pytest.mark.outside, pytest.mark.processes]
LOG = """
import json, sys
from aics_tlog import Checkpoint, MerkleTree, format_vkey, sign_checkpoint, vkey_from_ed25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
old, size, first = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode()
key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
tree = MerkleTree([first, *(b"entry %d" % number for number in range(1, size))])
note = sign_checkpoint(Checkpoint("log.example", size, tree.root(size)), key, "log.example")
proof = [] if old == 0 else [each.hex() for each in tree.consistency_proof(old, size)]
vkey = format_vkey(vkey_from_ed25519("log.example", key.public_key()))
print(json.dumps({"vkey": vkey, "note": note.serialise(), "proof": proof}))
"""
"""A log of aics-tlog, whose first entry can be another: its checkpoint of ``size`` entries, and the proof from ``old``."""


class Programs:
    """The programs, installed in a folder."""

    def __init__(self, folder: Path):
        self.environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)

    def ok(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def log(self, old: int, size: int, first: str = "entry 0") -> Any:
        return json.loads(self.ok("-c", LOG, str(old), str(size), first))


@pytest.fixture(scope="module")
def programs() -> Programs:
    return Programs(WITNESSES.where())


class ForeignWitness:
    """An aics-witness that serves."""

    def __init__(self, programs: Programs, folder: Path, name: str, logs: Sequence[tuple[str, str]]):
        self.programs, self.name, self.config = programs, name, str(folder / "witness.json")
        folder.mkdir()
        words = ("-m", "aics_witness", "init", "-c", self.config, "--name", name, "--listen", "127.0.0.1:0")
        self.vkey = programs.ok(*words).strip()
        for origin, vkey in logs:
            programs.ok("-m", "aics_witness", "add-log", "-c", self.config, "--origin", origin, "--vkey", vkey)

    def evidence(self) -> str:
        return self.programs.ok("-m", "aics_witness", "evidence", "-c", self.config)


@contextmanager
def served(command: Sequence[str], environment: dict[str, str], port: int) -> Iterator[str]:
    """A server until the end of the block. It must answer on the port within ten seconds."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(url, timeout=5).close()
            except urllib.error.HTTPError:
                break  # it answers
            except OSError:
                assert process.poll() is None, f"{command} ended with {process.returncode}"
                time.sleep(0.1)
            else:
                break
        yield url
    finally:
        process.terminate()
        process.wait(10)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def asked(url: str, body: bytes) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{url}/add-checkpoint", body), timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_foreign_witnesses_cosign_a_registry_and_a_foreign_verifier_accepts_it(
    programs: Programs, registry: Registry, tmp_path: Path
) -> None:
    data = ("--data", str(registry.data))
    (vkey,) = json.loads(run("witness", "list", "--json", *data).stdout)["log_keys"]
    with ExitStack() as stack:
        witnesses = []
        for number in (1, 2):
            name = f"w{number}.example/w"
            one = ForeignWitness(programs, tmp_path / f"w{number}", name, [(registry.origin, vkey)])
            port = free_port()
            words = ("-m", "aics_witness", "serve", "-c", one.config, "--listen", f"127.0.0.1:{port}")
            url = stack.enter_context(served([sys.executable, *words], programs.environment, port))
            run("witness", "add", one.vkey, url, *data)
            stack.callback(run, "witness", "remove", name, *data)  # tests share the registry
            witnesses.append((one, url))
        checkpoint = ""
        for grown in ("", "acme"):
            if grown:
                registry.owner(grown)
            for _ in range(200):
                checkpoint = (registry.public / "checkpoint").read_text()
                newest = wire.decode_head((registry.public / "head").read_bytes())
                if newest.cosigned is None and all(one.name in checkpoint for one, _ in witnesses):
                    break
                time.sleep(0.1)
            else:
                raise AssertionError(run("witness", "status", *data).stdout)
            note = tmp_path / "note"
            note.write_text(checkpoint)
            keys = [word for one, _ in witnesses for word in ("--witness-key", one.vkey)]
            verify = ("-m", "aics_tlog", "verify-checkpoint", "--note", str(note), "--log-key", vkey, "--quorum", "2")
            programs.ok(*verify, *keys, "--max-age", "600")
            assert programs.run(*verify, *keys[:2]).returncode != 0, "one of them is not two"
        one, url = witnesses[0]
        size = Checkpoint.parse(notes.parse(checkpoint).text).size
        forged = fork(registry, size)
        status, body = asked(url, forged)
        assert status == 422, body
        assert registry.origin in one.evidence()
        judges.record("aics-witness", 4, 4, "two heads cosigned, one of two refused, a fork refused with evidence")


def fork(registry: Registry, size: int) -> bytes:
    """The request of whoever stole the registry's log key, and shows another tree of the same size."""
    (private,) = registry_keys.in_folder(registry.data / "keys", "log")
    root = encode_base64(merkle.leaf_hash(b"another history"))
    note = notes.sign(f"{registry.origin}\n{size}\n{root}\n", [private.signer])
    return AddCheckpoint(size, (), note.encode()).encode()


def test_a_foreign_log_is_cosigned_by_rye_and_its_fork_is_refused(programs: Programs, tmp_path: Path) -> None:
    person = Person(tmp_path / "person")
    folder = ("--data", str(tmp_path / "w"))
    keys = person.ok("witness", "init", "rye.example/w", *folder, "--json").json["keys"]
    first = programs.log(0, 5)
    person.ok("witness", "add-log", first["vkey"], *folder)
    port = free_port()
    words = [sys.executable, "-m", "rye", "witness", "serve", "--listen", f"127.0.0.1:{port}", *folder]
    with served(words, {**os.environ, "HOME": str(tmp_path)}, port) as url:

        def sends(old: int, log: Any) -> tuple[int, bytes]:
            proof = tuple(bytes.fromhex(each) for each in log["proof"])
            return asked(url, AddCheckpoint(old, proof, log["note"]).encode())

        assert sends(0, first)[0] == 200
        status, lines = sends(5, grown := programs.log(5, 9))
        assert status == 200
        assert sends(9, programs.log(9, 12, "harm"))[0] == 422
        assert sends(9, programs.log(9, 9, "harm"))[0] == 422
    assert len(list((tmp_path / "w" / "evidence").iterdir())) == 1
    note = tmp_path / "note"
    note.write_text(grown["note"] + lines.decode())
    verify = ("-m", "aics_tlog", "verify-checkpoint", "--note", str(note), "--log-key", grown["vkey"], "--quorum", "1")
    programs.ok(*verify, "--witness-key", keys[0])
    note.write_text(grown["note"])
    assert programs.run(*verify, "--witness-key", keys[0]).returncode != 0, "without the cosignature it is refused"
    judges.record("aics-tlog", 6, 6, "two heads cosigned, two forks refused, a cosignature verified and one missed")
