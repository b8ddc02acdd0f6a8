"""Whatever bytes a file has that Rye reads: a command gives its answer or one of Rye's errors, never a traceback.

The files are found, not listed: every file that lies in the project and in the user's folders after a day's work, and every
path that a command tries to open there. Each gets awkward bytes in turn, and the commands run again. What decoders of the
protocol do with bytes is played in ``tests/registry/test_arbitrary_bytes.py``.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from rye.storage.verdicts import Verdicts
from tests.attacks.simulation import tree
from tests.attacks.test_covered import OVERRIDE, override
from tests.cli.test_overlay import FORMULA, entry
from tests.importing.test_import import PDF
from tests.scenes.directive_text import SHELL, directive
from tests.scenes.effort import rest_thorough, tries
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.sources.git_server import GitServer, serving

pytestmark = pytest.mark.processes

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("list",),
    ("show", "directive:acme/work/ship"),
    ("render", "directive:acme/work/ship"),
    ("check",),
    ("audit",),
    ("verify",),
    ("ci",),
    ("install",),
    ("outdated",),
    ("tree",),
    ("lock",),
    ("add", "directive:acme/ops/more"),
    ("info", "acme/ops/ship"),
    ("facts", ".ai/directives/work/ship.md"),
    ("doctor",),
    ("override", "check"),
    ("overlay", "check"),
    ("prime", "clerk"),
    ("deploy", "--check"),
    ("deploy", "-y"),
    ("diff", "acme/ops/ship"),
    ("hooks", "list", "acme/work/ship"),
    ("trust", "project", "-y"),
    ("trust", "list"),
    ("keys", "list"),
    ("registry", "list"),
    ("runs", "list"),
    ("runs", "show", "last"),
    ("whoami",),
    ("import", "--dry-run", "-y"),
    ("rollback", "-y"),
    ("sign", ".ai/directives/work/ship.md"),
    ("mcp", "config", "claude"),
    ("mcp", "token", "--as", "acme/work/ship"),
    ("config", "list"),
    ("sbom",),
    ("search", "ship", "--local"),
)
"""One of each way to read what lies here. None contacts a server that is not on this machine."""


def awkward(data: bytes, chance: random.Random) -> list[bytes]:
    """Bytes to put in a file's place: no text, and its own content with a part that is none, or that is out of all bounds."""
    letters = [at for at, byte in enumerate(data) if chr(byte).isalpha()] or [0]
    numbers = [at for at, byte in enumerate(data) if chr(byte).isdigit()] or [len(data)]
    at, number = chance.choice(letters), chance.choice(numbers)
    return [
        b"\xff\xfe\0",
        b'{"\xff": ["\xff"]}',
        b"[" * 50_000,
        b"x = " + b"9" * 5_000,
        data[:at] + b"\xff" + data[at + 1 :],
        data[:number] + b"9" * 5_000 + data[number + 1 :],
        data[: len(data) // 2],
        b"",
    ]


def told(piece: bytes) -> str:
    """For the names of tests."""
    return f"{len(piece)} bytes from {piece[:10]!r}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    with serving(tmp_path_factory.mktemp("git") / "served") as running:
        yield running


@pytest.fixture(scope="module")
def busy(registry: Registry, server: GitServer) -> Person:
    """Someone who used about everything: a registry, sources, own items, customizations, deployed files, imports and keys."""
    owner = registry.owner("acme")
    for name in ("ops/ship", "ops/more"):
        owner.directive(name)
        owner.publish(f".ai/directives/{name}.md")
    server.repository("skills").commit(
        {
            "skills/pdf/SKILL.md": PDF,
            ".claude-plugin/marketplace.json": '{"name": "m", "plugins": [{"name": "p", "source": "./"}]}',
            "rye.toml": '[project]\nname = "skills"\n',
        }
    )
    person = registry.reader("acme")
    person.ok("keys", "generate")
    person.ok("login", registry.url, "--token", registry.token)
    person.sign("directives/work/ship.md", directive("work/ship", permissions=SHELL))
    person.sign("formulas/flow.formula.toml", FORMULA.replace("version = 1\n", ""))
    person.ok("sign", str(person.new("role", "clerk").relative_to(person.folder)))
    person.ok("add", "directive:acme/ops/ship", "-y")
    person.write("tools/skills/web/SKILL.md", PDF.replace("pdf", "web"))
    person.ok("add", "./tools", "--all", "--yes", "--as", "local")
    person.ok("add", f"git+{server.url('skills')}", "--all", "--yes", "--as", "remote")
    person.write(OVERRIDE, override())
    person.write(".ai/formula-overlays/flow.toml", entry("b", "append", "more"))
    person.write(".ai/role-directives/clerk.md", "more\n")
    person.accepts()
    person.ok("config", "set", "color", "never")
    person.write("skills-lock.json", '{"version": 1, "skills": {}}')
    person.write("apm.yml", "name: x\nversion: 1.0.0\n")
    person.write("apm.lock.yaml", "lockfile_version: '1'\ndependencies: []\n")
    person.write("toolhive.lock.yaml", "skills: []\n")
    person.ok("deploy", "--target", "claude", "-y")
    person.ok("mcp", "token", "--as", "acme/work/ship")
    return person


class Opened:
    """The paths below a folder that are opened while it watches. Python calls a hook that was added until the process ends, a
    million times in a run of all tests, so it is added only when something is watched."""

    def __init__(self) -> None:
        self.below: str | None = None
        self.paths: set[str] = set()
        self._hears = False

    def _heard(self, event: str, words: tuple[Any, ...]) -> None:
        if event == "open" and self.below is not None and isinstance(words[0], str | bytes | os.PathLike):
            path = os.path.abspath(os.fsdecode(words[0]))
            if path.startswith(self.below):
                self.paths.add(path)

    @contextmanager
    def watching(self, folder: Path) -> Iterator[set[str]]:
        if not self._hears:
            sys.addaudithook(self._heard)
            self._hears = True
        self.below, self.paths = f"{folder}{os.sep}", set()
        try:
            yield self.paths
        finally:
            self.below = None


OPENED = Opened()


Stamp = tuple[int, ...]


class Kept:
    """The folders of a person as they are now, to bring back whatever is changed, added or removed in them."""

    def __init__(self, folders: tuple[Path, ...], kept: Path) -> None:
        self._copies = {folder: kept / folder.name for folder in folders}
        for folder, copy in self._copies.items():
            shutil.copytree(folder, copy, symlinks=True)
            shutil.rmtree(folder)  # made anew, so that no memory fits what lies there, and commands read it
            shutil.copytree(copy, folder, symlinks=True)
        self._stamps = self._now()

    def _now(self) -> dict[str, Stamp]:
        """Every path with what changes when it is written; the folders come before what is in them."""
        stamps: dict[str, Stamp] = {}
        waiting = [str(folder) for folder in self._copies]
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    stamps[entry.path] = stamp(entry.path)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        return stamps

    def restore(self, written: Path | None = None) -> None:
        """``written``: a file that was written so soon after it was brought back that the clock may not tell."""
        now = self._now()
        changed = [path for path, seen in now.items() if self._stamps.get(path) != seen or path == str(written)]
        for path in reversed(changed):
            if not stat.S_ISDIR(now[path][0]):
                os.unlink(path)
            elif path not in self._stamps or not stat.S_ISDIR(self._stamps[path][0]):
                os.rmdir(path)
        for path in self._stamps:
            if path not in now or path in changed:
                self._bring_back(path)

    def _bring_back(self, path: str) -> None:
        folder, copy = next(pair for pair in self._copies.items() if Path(path).is_relative_to(pair[0]))
        source = copy / Path(path).relative_to(folder)
        if source.is_dir() and not source.is_symlink():
            Path(path).mkdir(exist_ok=True)
            shutil.copystat(source, path)
        else:
            shutil.copy2(source, path, follow_symlinks=False)
        self._stamps[path] = stamp(path)


def stamp(path: str) -> Stamp:
    """What tells that something was written; of a folder only its mode, since its entries have their own."""
    found = os.lstat(path)
    if stat.S_ISDIR(found.st_mode):
        return (found.st_mode,)
    return found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def base(person: Person) -> Path:
    """The folder of this person's own folders."""
    return person.home.parent


@pytest.mark.thorough
def test_no_file_makes_a_command_fail_with_a_traceback(busy: Person, tmp_path: Path) -> None:
    chance = random.Random(os.environ.get("RYE_TEST_SEED", "bytes"))
    everything = os.environ.get("RYE_TEST_EVERYTHING") is not None
    kept = Kept((busy.folder, busy.home), tmp_path)
    read: dict[str, list[tuple[str, ...]]] = {}
    for words in COMMANDS:
        with OPENED.watching(base(busy)) as paths:
            result = busy.run(*words, "--json")
        assert result.stdout, (words, result)
        assert '"internal"' not in result.stdout, (words, result.stdout)
        bad_words = result.code == 2
        print(bad_words, words, result.code, result.stdout[:150].replace("\n", ""))
        for opened in paths:
            read.setdefault(opened, []).append(words)
        kept.restore()
    known = sorted(
        read.keys() | {str(path) for path in base(busy).rglob("*") if path.is_file() and not path.is_symlink()}
    )
    wrong = []
    for name in known:
        path = Path(name)  # a lock's content is nothing, and a draft is another file in each run
        if path.is_dir() or not path.parent.is_dir() or path.suffix in (".lock", ".part"):
            continue
        before = path.read_bytes() if path.exists() else b""
        users = read.get(name, list(COMMANDS))
        pieces = awkward(before, chance)
        plays = [(piece, words) for piece in pieces for words in users]
        for piece, words in plays if everything else chance.sample(plays, min(tries(1, 8), len(plays))):
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
            path.write_bytes(piece)
            path.chmod(mode)
            result = busy.run(*words, "--json")
            if not result.stdout or '"internal"' in result.stdout:
                wrong.append((path.relative_to(base(busy)).as_posix(), piece[:20], words, result.stdout[:400]))
            kept.restore(path)
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(
    "piece", rest_thorough(3, awkward(b'{"plugins": [{"name": "p"}]}', random.Random("marketplace"))), ids=told
)
def test_a_marketplace_file_of_a_source_is_a_note_whatever_it_holds(
    tmp_path: Path, server: GitServer, piece: bytes
) -> None:
    name = tmp_path.name.lower()
    server.repository(name).commit({"skills/pdf/SKILL.md": PDF, ".claude-plugin/marketplace.json": piece})
    person = Person(tmp_path)
    person.write("rye.toml", '[project]\nname = "shop"\n')
    person.ok("add", f"git+{server.url(name)}", "--all", "--yes", "--as", "odd")
    assert person.path(".ai/packages/odd/skills/pdf/SKILL.md").exists()


def test_what_a_command_wrote_is_brought_back(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for path in ("same", "changed", "gone", "inner/gone", "becomes a folder"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("old")
    (folder / "link").symlink_to("same")
    kept = Kept((folder,), tmp_path / "kept")
    before = tree(folder)
    for _ in range(2):
        (folder / "changed").write_text("new")
        (folder / "gone").unlink()
        shutil.rmtree(folder / "inner")
        (folder / "becomes a folder").unlink()
        (folder / "becomes a folder/more").mkdir(parents=True)
        (folder / "added").mkdir()
        (folder / "added/file").write_text("new")
        (folder / "link").unlink()
        (folder / "link").symlink_to("changed")
        kept.restore(folder / "changed")
        assert tree(folder) == before


@pytest.fixture(scope="module")
def speaking(busy: Person) -> set[tuple[str, ...]]:
    """The commands that print something while every memory is whole."""
    return {words for words in COMMANDS if busy.run(*words, "--json").stdout}


_CUT, *_OTHERS = reversed(awkward(b"\x93\xa3abc\xc0\xa1\xff", random.Random("memory"))[:-1])


@pytest.mark.parametrize("piece", rest_thorough(1, [_CUT, b"", *_OTHERS]), ids=told)
def test_damaged_memories_are_ignored(busy: Person, speaking: set[tuple[str, ...]], piece: bytes) -> None:
    """What earlier runs remembered lies in SQLite, whose own damage is tested elsewhere: these are its values."""

    def damaged(self: Verdicts, keys: Any) -> dict[bytes, bytes]:
        return dict.fromkeys(keys, piece)

    for words in COMMANDS:
        with mock.patch.object(Verdicts, "get", damaged):
            result = busy.run(*words, "--json")
        assert '"internal"' not in result.stdout, (words, result.stdout)
        assert bool(result.stdout) == (words in speaking)
