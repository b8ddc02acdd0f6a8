"""``rye-registry`` with broken folders and databases: every command gives a code and a hint, never a traceback."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from registry_server.api.serving import serve
from registry_server.settings import Settings
from rye.errors import RyeError
from tests.scenes.registry_process import init, run

pytestmark = pytest.mark.slow

COMMANDS = (("token", "list"), ("verify",), ("migrate", "--check"))


def _settings(text: str) -> Callable[[Path], object]:
    return lambda data: (data / "registry.toml").write_text(text)


def _sql(text: str) -> Callable[[Path], object]:
    def change(data: Path) -> None:
        connection = sqlite3.connect(data / "registry.db", isolation_level=None)
        connection.executescript(text)
        connection.close()

    return change


BROKEN: dict[str, Callable[[Path], object]] = {
    "no database server": _settings('database = "postgresql+psycopg://x:y@127.0.0.1:1/x"\n'),
    "no address": _settings('database = "nonsense"\n'),
    "another file in its place": lambda data: (data / "registry.db").write_bytes(b"junk" * 4000),
    "a table is missing": _sql("DROP TABLE tokens; DROP TABLE roots; DROP TABLE documents"),
    "no TOML": _settings("x = [\n"),
    "an unknown store": _settings('objects = "ftp://x"\n'),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("whole") / "data"
    init(data)
    return data


def test_a_server_that_could_never_say_that_it_is_ready_does_not_start(made: Path, tmp_path: Path) -> None:
    with pytest.raises(RyeError) as caught:
        serve(Settings(data=made, port=0), tmp_path / "missing" / "ready.json", lambda _url: None)
    assert caught.value.code == "cannot-write"


@pytest.mark.parametrize("what", BROKEN)
def test_every_command_says_what_is_broken(made: Path, tmp_path: Path, what: str) -> None:
    data = Path(shutil.copytree(made, tmp_path / "data"))
    (data / "registry.toml").chmod(0o600)
    BROKEN[what](data)
    failed = 0
    for words in COMMANDS:
        done = run(*words, "--data", str(data), "--json", check=False)
        assert "Traceback" not in done.stdout + done.stderr, words
        document = json.loads(done.stdout)
        if done.returncode:
            failed += 1
            error = document.get("error")
            assert error is None or (error["code"] != "internal" and "\n" not in error["message"]), (words, error)
    assert failed
