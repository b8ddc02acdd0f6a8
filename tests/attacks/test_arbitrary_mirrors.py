"""A mirror whose files hold any bytes: each command ends with a code of its own, never with an error inside Rye."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.scenes.effort import rest_thorough
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.person import Person
from tests.scenes.registry_process import run

pytestmark = pytest.mark.processes

FILES = ("head", "root/1", "index", "tile/entries", "config.json", "map", "tile/0", "blobs")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The files of a registry that has released something, and its fingerprint."""
    data = tmp_path_factory.mktemp("mirrored") / "data"
    with LocalRegistry(data) as local:
        acme = local.owner("acme")
        assert local.publish(acme, "a/one", local.token()).status_code == 200
    fingerprint = run("root", "show", "--data", str(data), "--json").stdout.partition('"fingerprint": "')[2]
    return data / "public", fingerprint[:64]


def pieces(good: bytes, chance: random.Random) -> list[bytes]:
    """Bytes that no encoder wrote: other encodings, nested, cut, long numbers, and the right ones with one byte changed."""
    middle = len(good) // 2
    return [
        b"", b"\xff\xfe", b"\x00" * 40, b"[" * 5000, b"9" * 5000, good[:middle], good + good, b'{"a":"\xff"}',
        good[:middle] + b"\xff" + good[middle + 1 :], good.replace(b"0", b"\\u0000"), chance.randbytes(200),
        good[:middle] + chance.randbytes(3) + good[middle + 3 :],
    ]  # fmt: skip


@pytest.mark.parametrize("name", rest_thorough(1, FILES))
def test_no_file_of_a_mirror_is_an_internal_error(source: tuple[Path, str], tmp_path: Path, name: str) -> None:
    public, fingerprint = source
    mirror = tmp_path / "mirror"
    shutil.copytree(public, mirror)
    person = Person(tmp_path / "person")
    address = mirror.as_uri()
    person.ok("registry", "add", address, "--fingerprint", fingerprint)
    assert person.ok("mirror", str(tmp_path / "copy"), "--registry", address).code == 0
    target = mirror / name
    files = sorted(path for path in target.rglob("*") if path.is_file()) if target.is_dir() else [target]
    assert files
    chance = random.Random(name)
    for number, piece in enumerate(pieces(files[0].read_bytes(), chance)):
        for file in files:
            file.write_bytes(piece)
        newcomer = Person(tmp_path / f"newcomer-{number}")
        for who, words in (
            (newcomer, ("registry", "add", address, "--fingerprint", fingerprint)),
            (newcomer, ("info", "acme/a/one", "--registry", address)),
            (newcomer, ("log", "verify", "--registry", address)),
            (person, ("mirror", str(tmp_path / "copy"), "--registry", address)),
        ):
            done = who.run(*words, "--json")
            assert "Traceback" not in done.stderr, (number, words)
            assert "nternal error" not in done.stderr + done.stdout, (number, words)
            assert done.code == 0 or done.json.get("ok") is False or done.error["code"] != "internal", (number, words)
