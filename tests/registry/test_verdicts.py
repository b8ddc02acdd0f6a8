"""Verdicts are cached under everything they depend on, and no damage to the file can cause a wrong answer."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rye
from rye.registry.trust.records import decode_judged
from rye.storage import verdicts as module
from rye.storage.verdicts import FACES, Verdicts, code_identity
from tests.scenes.effort import rest_thorough, tries

EXAMPLES = tries(40, 3_000)
CODE = b"the code of today"
Arguments = tuple[bytes | str, ...]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "verdicts.sqlite"


def opened(path: Path | None, code: bytes = CODE) -> Verdicts:
    return Verdicts(path, code)


def entries(number: int, first: int = 0) -> dict[bytes, bytes]:
    keys = opened(None)
    return {keys.key("f", str(n)): b"value %d " % n * 20 for n in range(first, first + number)}


def remember(path: Path, found: dict[bytes, bytes]) -> None:
    verdicts = opened(path)
    verdicts.put(found)
    verdicts.flush()
    verdicts.close()


def recall(path: Path, keys: dict[bytes, bytes]) -> dict[bytes, bytes]:
    verdicts = opened(path)
    try:
        return verdicts.get(keys)
    finally:
        verdicts.close()


class TestKeys:
    parts = st.one_of(st.binary(max_size=3), st.text("ab\0", max_size=3))
    calls = st.tuples(
        st.sampled_from([b"", b"c", b"cc"]), st.sampled_from(["f", "ff", ""]), st.lists(parts, max_size=4)
    )

    @staticmethod
    def bytes_of(call: tuple[bytes, str, list[bytes | str]]) -> list[bytes]:
        return [part.encode() if isinstance(part, str) else part for part in (call[0], call[1], *call[2])]

    @settings(max_examples=EXAMPLES * 5, deadline=None)
    @given(calls, calls)
    def test_hypothesis_two_calls_have_one_key_only_if_they_are_the_same(
        self, one: tuple[bytes, str, list[bytes | str]], other: tuple[bytes, str, list[bytes | str]]
    ) -> None:
        keys = [opened(None, code).key(function, *arguments) for code, function, arguments in (one, other)]
        assert (keys[0] == keys[1]) == (self.bytes_of(one) == self.bytes_of(other))

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (("f", "ab", "c"), ("f", "a", "bc")),
            (("f", "a"), ("f", "a", "")),
            (("f", "a", "b"), ("f", "b", "a")),
            (("fa", "b"), ("f", "ab")),
            (("f", b"\0\0\0\0\0\0\0\1a"), ("f", "", "a")),
        ],
    )
    def test_no_argument_runs_into_the_next(self, one: tuple[str, *Arguments], other: tuple[str, *Arguments]) -> None:
        assert opened(None).key(*one) != opened(None).key(*other)


class TestRemembering:
    def test_what_was_flushed_is_known_to_the_next_run(self, path: Path) -> None:
        remember(path, entries(1_203))
        assert recall(path, entries(1_203)) == entries(1_203)
        assert recall(path, entries(10, first=2_000)) == {}

    def test_nothing_is_remembered_without_a_flush(self, path: Path) -> None:
        verdicts = opened(path)
        verdicts.put(entries(5))
        verdicts.close()
        assert recall(path, entries(5)) == {}
        assert not path.exists()

    def test_a_run_knows_what_it_found_itself(self, path: Path) -> None:
        remember(path, entries(3))
        verdicts = opened(path)
        verdicts.put(entries(3, first=3))
        assert verdicts.get(entries(9)) == entries(6)
        verdicts.close()
        assert verdicts.get(entries(9)) == entries(3)

    def test_what_was_closed_is_not_flushed_later(self, path: Path) -> None:
        verdicts = opened(path)
        verdicts.put(entries(5))
        verdicts.close()
        verdicts.put(entries(1, first=9))
        verdicts.flush()
        verdicts.close()
        assert recall(path, entries(10)) == entries(1, first=9)

    def test_asking_makes_no_file(self, path: Path) -> None:
        assert recall(path, entries(3)) == {}
        assert not path.parent.exists()

    def test_without_a_file_nothing_is_remembered(self) -> None:
        verdicts = opened(None)
        verdicts.put(entries(5))
        verdicts.flush()
        assert verdicts.get(entries(5)) == {}
        verdicts.forget()
        verdicts.close()
        assert not verdicts.remembers

    def test_other_code_judges_anew(self, path: Path) -> None:
        remember(path, {opened(path).key("f", "a"): b"yes"})
        other = opened(path, b"the code of tomorrow")
        assert other.get([other.key("f", "a")]) == {}
        other.close()

    def test_a_later_verdict_replaces_the_one_before(self, path: Path) -> None:
        [key] = entries(1)
        remember(path, {key: b"one"})
        remember(path, {key: b"two"})
        assert recall(path, {key: b""}) == {key: b"two"}

    def test_forgetting_is_complete_and_can_be_repeated(self, path: Path) -> None:
        remember(path, entries(5))
        verdicts = opened(path)
        assert verdicts.get(entries(5))
        verdicts.forget()
        verdicts.forget()
        assert list(path.parent.iterdir()) == []
        assert verdicts.get(entries(5)) == {}
        verdicts.put(entries(2))
        verdicts.flush()
        verdicts.close()
        assert recall(path, entries(5)) == entries(2)

    def test_a_file_that_grew_too_large_begins_anew(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        remember(path, entries(500))
        monkeypatch.setattr(module, "_MOST_BYTES", path.stat().st_size - 1)
        remember(path, entries(2, first=900))
        assert recall(path, entries(1_000)) == entries(2, first=900)

    def test_one_run_remembers_only_so_much(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_MOST_NEW_BYTES", 1_000)
        verdicts = opened(path)
        for key, value in entries(50).items():
            verdicts.put({key: value})
        verdicts.flush()
        verdicts.close()
        kept = recall(path, entries(50))
        assert 0 < sum(map(len, kept.values())) <= 1_000
        assert kept.items() <= entries(50).items()

    def test_the_file_is_the_users_alone(self, path: Path) -> None:
        before = os.umask(0)
        try:
            remember(path, entries(1))
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_values_of_another_form_decode_to_nothing(self) -> None:
        for data in (b"", b"\xc1", b"\x93\x01\x02\x03", b"not msgpack", os.urandom(40)):
            assert decode_judged(data) is None


class TestWhoJudges:
    @pytest.fixture
    def package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A copy of this package that the module treats as its own."""
        copy = tmp_path / "rye"
        shutil.copytree(Path(rye.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__", "cli"))
        monkeypatch.setattr(rye, "__file__", str(copy / "__init__.py"))
        return copy

    def test_the_same_code_is_recognized(self, package: Path) -> None:
        assert code_identity() == code_identity()

    @pytest.mark.parametrize(
        "file",
        rest_thorough(
            1,
            [
                "registry/trust/records.py",
                "registry/protocol/statements/release.py",
                "text/content.py",
                "limits.py",
                "new.py",
            ],
        ),
    )
    def test_any_changed_or_new_file_is_other_code(self, package: Path, file: str) -> None:
        before = code_identity()
        with (package / file).open("a") as stream:
            stream.write("# changed\n")
        assert code_identity() != before

    def test_a_face_is_left_out_where_it_checks_nothing(self, package: Path) -> None:
        before, entire = code_identity(FACES), code_identity()
        (package / "deployment" / "new.py").touch()
        assert code_identity(FACES) == before
        assert code_identity() != entire

    def test_only_a_whole_room_is_left_out(self, package: Path) -> None:
        before = code_identity(FACES)
        (package / "registry" / "cli").mkdir()
        (package / "registry" / "cli" / "new.py").touch()
        assert code_identity(FACES) != before

    def test_a_file_of_the_same_size_is_told_by_its_time(self, package: Path) -> None:
        before = code_identity()
        os.utime(package / "registry" / "trust" / "records.py", ns=(1, 1))
        assert code_identity() != before

    def test_what_python_writes_beside_is_no_code(self, package: Path) -> None:
        before = code_identity()
        (package / "__pycache__").mkdir()
        (package / "__pycache__" / "limits.cpython-399.pyc").write_bytes(b"x")
        assert code_identity() == before

    @pytest.mark.parametrize("name", ["lxml-99.0.dist-info", "PyNaCl-99.0.egg-info", "a_new_dependency-1.0.dist-info"])
    def test_another_library_is_another_judge(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.syspath_prepend(tmp_path)
        before = code_identity()
        (tmp_path / "notes.txt").touch()
        assert code_identity() == before
        (tmp_path / name).mkdir()
        assert code_identity() != before

    def test_another_python_is_another_judge(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = code_identity()
        monkeypatch.setattr(sys, "version", "3.99.0")
        assert code_identity() != before

    def test_code_that_cannot_be_told_is_never_recognized(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rye, "__file__", str(tmp_path / "program.zip" / "rye" / "__init__.py"))
        assert code_identity() != code_identity()


def other_schema(path: Path, statement: str) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute(statement)
    database.close()
    path.chmod(0o600)


def with_rows(change: str) -> Callable[[Path], None]:
    """A file in the current format in which an SQL statement has changed rows."""

    def make(path: Path) -> None:
        remember(path, entries(20))
        with sqlite3.connect(path) as database:
            database.execute(change)
        database.close()

    return make


def with_bytes(data: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.parent.mkdir()
        path.write_bytes(data)
        path.chmod(0o600)

    return make


def truncated(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        remember(path, entries(20))
        os.truncate(path, size)

    return make


def link_to(target: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.parent.mkdir()
        remember(path.with_name("elsewhere"), entries(20))
        path.symlink_to(path.with_name(target))

    return make


def writable_by_others(path: Path) -> None:
    remember(path, entries(20))
    path.chmod(0o666)


def pipe(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)


def with_a_foreign_journal(path: Path) -> None:
    remember(path, entries(20))
    path.with_name(path.name + "-journal").write_bytes(os.urandom(5_000))


REPLACED: dict[str, Callable[[Path], None]] = {
    "garbage": with_bytes(os.urandom(8_192)),
    "a text": with_bytes(b"these are no verdicts\n" * 400),
    "only the header": with_bytes(b"SQLite format 3\0" + bytes(200)),
    "nothing": with_bytes(b""),
    "cut inside of the header": truncated(50),
    "cut behind the first page": truncated(4_096),
    "cut inside of a page": truncated(5_000),
    "a table of other columns": lambda path: other_schema(path, "CREATE TABLE verdict (hash TEXT, found TEXT)"),
    "a table of more columns": lambda path: other_schema(path, "CREATE TABLE verdict (key BLOB, value BLOB, at INT)"),
    "a view": lambda path: other_schema(path, "CREATE VIEW verdict AS SELECT 1 AS key, 2 AS value"),
    "a table that refuses rows": lambda path: other_schema(path, "CREATE TABLE verdict (key, value CHECK (0))"),
    "numbers for values": with_rows("UPDATE verdict SET value = 7"),
    "text for values": with_rows("UPDATE verdict SET value = 'yes'"),
    "text that is not UTF-8": with_rows("UPDATE verdict SET value = CAST(x'ff00ff' AS TEXT)"),
    "a link to other verdicts": link_to("elsewhere"),
    "a link to nothing": link_to("nowhere"),
    "a file that others may write": writable_by_others,
    "a pipe": pipe,
    "a foreign journal": with_a_foreign_journal,
}


class TestDamage:
    @pytest.mark.parametrize("make", REPLACED.values(), ids=REPLACED.keys())
    def test_what_cannot_be_read_is_replaced(self, path: Path, make: Callable[[Path], None]) -> None:
        make(path)
        assert recall(path, entries(20)).items() <= entries(20).items()
        remember(path, entries(3, first=50))
        remember(path, entries(3, first=50))  # where the first attempt found the damage
        assert recall(path, entries(3, first=50)) == entries(3, first=50)
        assert not path.is_symlink()

    def test_a_link_is_replaced_and_what_it_leads_to_is_untouched(self, path: Path) -> None:
        link_to("elsewhere")(path)
        before = path.with_name("elsewhere").read_bytes()
        assert recall(path, entries(20)) == {}
        remember(path, entries(1))
        assert path.with_name("elsewhere").read_bytes() == before

    def test_what_others_may_write_is_not_believed(self, path: Path) -> None:
        writable_by_others(path)
        assert recall(path, entries(20)) == {}

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
    def test_what_somebody_else_owns_is_not_believed(self, path: Path) -> None:
        remember(path, entries(20))
        os.chown(path, 12_345, 12_345)
        assert recall(path, entries(20)) == {}

    def test_a_folder_in_its_place_costs_the_memory_and_nothing_else(self, path: Path) -> None:
        path.mkdir(parents=True)
        (path / "file").write_text("kept")
        remember(path, entries(3))
        assert recall(path, entries(3)) == {}
        assert (path / "file").read_text() == "kept"

    def test_a_file_where_the_folder_should_be(self, path: Path) -> None:
        path.parent.write_text("a file")
        remember(path, entries(3))
        assert recall(path, entries(3)) == {}

    def test_a_row_under_another_rows_key_is_a_miss(self, path: Path) -> None:
        remember(path, entries(2))
        one, two = entries(2)
        with sqlite3.connect(path) as database:
            rows = dict(database.execute("SELECT key, value FROM verdict").fetchall())
            database.execute("UPDATE verdict SET value = ? WHERE key = ?", (rows[two], one))
        database.close()
        assert recall(path, entries(2)) == {two: entries(2)[two]}

    @pytest.mark.parametrize("change", ["substr(value, 1, 8)", "x''", "x'00'", "value || x'00'", "zeroblob(100)"])
    def test_a_changed_value_is_a_miss(self, path: Path, change: str) -> None:
        with_rows(f"UPDATE verdict SET value = CAST({change} AS BLOB)")(path)
        assert recall(path, entries(20)) == {}

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(st.data())
    def test_hypothesis_no_damage_makes_a_wrong_value_or_an_error(
        self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
    ) -> None:
        path = tmp_path_factory.mktemp("damage") / "verdicts.sqlite"
        remember(path, entries(60))
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.one_of(st.integers(0, 200), st.integers(0, len(content) - 1)))
            content[at] = data.draw(st.integers(0, 255))
        if data.draw(st.booleans()):
            del content[data.draw(st.integers(0, len(content))) :]
        path.write_bytes(content)
        assert recall(path, entries(60)).items() <= entries(60).items()
        remember(path, entries(60))
        assert recall(path, entries(60)).items() <= entries(60).items()


@contextmanager
def process(path: Path, code: str, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs ``code`` with ``path``, ``entries`` and the rest of this file's names."""
    text = f"import sys; from pathlib import Path; from tests.registry.test_verdicts import *\npath = Path(sys.argv[1])\n{code}"
    command = [sys.executable, "-c", text, str(path), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        try:
            yield running
        finally:
            running.kill()


HOLD = """
database = sqlite3.connect(path)
database.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
time.sleep(60)
"""
WRITE = """
first = int(sys.argv[2])
for n in range(40):
    remember(path, entries(5, first=first + 5 * n))
    found = recall(path, entries(600))
    assert found.items() <= entries(600).items(), found
    if sys.argv[3] == "forgets" and n % 10 == 5:
        opened(path).forget()
"""
FULL = """
import resource
remember(path, entries(5))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, resource.RLIM_INFINITY))
remember(path, entries(500))
assert recall(path, entries(5)) == entries(5)
assert len(recall(path, entries(500))) < 500
"""


class TestOtherPrograms:
    @pytest.mark.processes
    def test_a_program_that_holds_the_file_costs_one_wait(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_WAIT_SECONDS", 1.5)
        remember(path, entries(5))
        with process(path, HOLD) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            verdicts = opened(path)
            started = time.monotonic()
            for _ in range(20):
                assert verdicts.get(entries(5)) == {}
                verdicts.put(entries(1, first=9))
                verdicts.flush()
            verdicts.close()
            assert time.monotonic() - started < 25  # twenty waits take thirty seconds
        assert recall(path, entries(5)) == entries(5)

    @pytest.mark.thorough
    @pytest.mark.processes
    @pytest.mark.parametrize("habit", rest_thorough(1, ["keeps", "forgets"]))
    def test_programs_at_once_lose_nothing_but_what_is_forgotten(self, path: Path, habit: str) -> None:
        with (
            process(path, WRITE, 0, habit) as one,
            process(path, WRITE, 200, "keeps") as two,
            process(path, WRITE, 400, "keeps") as three,
        ):
            for running in (one, two, three):
                _, errors = running.communicate(timeout=60)
                assert (running.returncode, errors) == (0, b"")
        found = recall(path, entries(600))
        assert found.items() <= entries(600).items()
        if habit == "keeps":
            assert found == entries(600)
        remember(path, entries(600))
        assert recall(path, entries(600)) == entries(600)

    @pytest.mark.thorough
    @pytest.mark.processes
    @pytest.mark.parametrize("after", [0.0, 0.01, 0.03])
    def test_a_program_that_dies_while_it_writes_spoils_nothing(self, path: Path, after: float) -> None:
        code = "print('begins', flush=True)\nwhile True: remember(path, entries(300))"
        with process(path, code) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == b"begins\n"
            time.sleep(after)
            running.send_signal(signal.SIGKILL)
            running.wait(10)
        assert recall(path, entries(300)).items() <= entries(300).items()
        remember(path, entries(300))
        assert recall(path, entries(300)) == entries(300)

    @pytest.mark.processes
    def test_a_full_disk_costs_only_what_is_new(self, path: Path) -> None:
        with process(path, FULL) as running:
            _, errors = running.communicate(timeout=60)
        assert (running.returncode, errors) == (0, b"")

    def test_a_folder_that_cannot_be_written(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> int:
            raise OSError(30, "Read-only file system")

        monkeypatch.setattr(os, "open", refuse)
        remember(path, entries(5))
        monkeypatch.undo()
        assert recall(path, entries(5)) == {}

    def test_a_file_that_can_only_be_read_is_read_and_kept(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        remember(path, entries(5))
        connect = sqlite3.connect
        monkeypatch.setattr(sqlite3, "connect", lambda file, **more: connect(f"file:{file}?mode=ro", uri=True, **more))
        assert recall(path, entries(5)) == entries(5)
        remember(path, entries(9))
        assert recall(path, entries(9)) == entries(5)

    def test_a_python_without_sqlite_remembers_nothing(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "sqlite3", None)  # what importing SQLite fails in
        remember(path, entries(5))
        assert recall(path, entries(5)) == {}
