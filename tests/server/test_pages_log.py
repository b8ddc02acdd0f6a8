"""The pages of the log (design/server.md 5): entries in words, and a proof that anyone can check with the page's
command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from registry_server.pages import log
from registry_server.pages.entry_words import entry_words
from registry_server.pages.limits import PAGES, RecordLimits
from registry_server.pages.log import read_position
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from rye.items.identity import Identity
from rye.registry.protocol import merkle, notes, statements, tlog_proof
from rye.registry.protocol.notes import VerifierKey
from rye.registry.protocol.statements import (
    Advisory,
    Deprecation,
    Keyset,
    Logged,
    Root,
    Snapshot,
    Takedown,
    Yank,
)
from rye.signing.keys import PrivateKey
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, now
from tests.scenes.registry_process import ORIGIN
from tests.server.unexamined import put

HTML, JSON = {"Accept": "text/html"}, {"Accept": "application/json"}
ACME = Publisher("acme")
ITEM = Identity("directive", "acme/a/item")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    """Root 1, a snapshot, the claim of a namespace, and releases, each with its snapshot."""
    with LocalRegistry(tmp_path_factory.mktemp("log") / "data") as made:
        assert made.statements(made.token(), ACME.claim()).status_code == 200
        for version in ("1.0.0", "1.1.0", "2.0.0"):
            assert made.publish(ACME, "a/item", made.token(), version).status_code == 200
        made.statements(made.token(), ACME.yank("a/item", "1.0.0", reason="It was <b>wrong</b> & old"))
        yield made


def page(local: LocalRegistry, path: str) -> html.HtmlElement:
    answer = local.get(path, headers=HTML)
    assert answer.status_code == 200
    assert len(answer.content) <= PAGES.html_bytes
    return html.fromstring(answer.content)


def commands(tree: html.HtmlElement) -> list[str]:
    """Return the commands on the page as a browser copies them."""
    return [found.text_content() for found in tree.xpath('//pre[@class="command"]')]


def shell(command: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a copied command as someone who only has ``rye``: an empty home and folder, no network."""
    home.mkdir()
    program = home / "bin" / "rye"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m rye "$@"\n')
    program.chmod(0o755)
    work = home / "work"
    work.mkdir()
    environment = {"HOME": str(home), "PATH": f"{program.parent}:/usr/bin:/bin", "LANG": "C.UTF-8"}
    environment |= {"PYTHONPATH": str(Path(__file__).parents[2]), "HTTP_PROXY": "http://127.0.0.1:1"}
    for name in ("COVERAGE_PROCESS_START",):
        if name in os.environ:
            environment[name] = os.environ[name]
    return subprocess.run(
        ["/bin/bash", "-c", command], cwd=work, env=environment, text=True, capture_output=True, timeout=60, check=False
    )


@pytest.mark.processes
class TestOneEntry:
    def test_the_command_on_the_page_checks_the_entry_in_an_empty_home(
        self, local: LocalRegistry, tmp_path: Path
    ) -> None:
        done = shell(commands(page(local, "/-/log/4"))[0], tmp_path / "home")
        assert done.stdout.strip() == f"rye.release/v1 acme/a/item 1.0.0 is entry 4 of the log of {ORIGIN}"
        assert (done.returncode, done.stderr) == (0, "")

    def test_the_command_in_the_document_checks_the_document_as_a_file(
        self, local: LocalRegistry, tmp_path: Path
    ) -> None:
        document = local.get("/-/log/4", headers=JSON)
        file = tmp_path / "entry-4.json"
        file.write_bytes(document.content)
        done = shell(f"cp {file} .; {document.json()['command']}", tmp_path / "home")
        assert "acme/a/item 1.0.0 is entry 4" in done.stdout
        assert done.returncode == 0

    def test_a_proof_of_another_entry_or_of_another_key_is_refused(self, local: LocalRegistry, tmp_path: Path) -> None:
        command = commands(page(local, "/-/log/4"))[0]
        moved = shell(command.replace("\nindex 4\n", "\nindex 5\n"), tmp_path / "moved")
        assert (moved.returncode, moved.stdout) == (1, "")
        assert "is invalid" in moved.stderr
        other = VerifierKey(ORIGIN, PrivateKey.generate().public.raw).vkey
        key = local.get("/-/log/4", headers=JSON).json()["keys"][0]
        forged = shell(command.replace(key, other), tmp_path / "forged")
        assert forged.returncode == 1
        assert "is invalid" in forged.stderr

    def test_every_entry_is_proved_and_none_is_left_out(self, local: LocalRegistry) -> None:
        size = local.get("/-/log", headers=JSON).json()["size"]
        for position in range(size):
            document = local.get(f"/-/log/{position}", headers=JSON).json()
            proof = tlog_proof.read_page(json.dumps(document).encode())
            keys = tuple(VerifierKey.from_vkey(key) for key in document["keys"])
            statement, checkpoint = tlog_proof.verify(proof, ORIGIN, keys)
            assert (proof.index, checkpoint.size) == (position, size)
            assert statement.text() == document["note"]
            leaf = notes.decode_base64(document["leaf_hash"])
            hashes = [notes.decode_base64(found) for found in document["hashes"]]
            root = merkle.root_from_inclusion(leaf, position, size, hashes)
            assert notes.encode_base64(root) == document["root_hash"]

    def test_the_page_shows_note_hashes_in_order_and_checkpoint(self, local: LocalRegistry) -> None:
        tree = page(local, "/-/log/4")
        document = local.get("/-/log/4", headers=JSON).json()
        shown = [found.text_content() for found in tree.xpath('//ol[@class="hashes"]/li')]
        assert shown == document["hashes"]
        note, checkpoint = [found.text_content() for found in tree.xpath('//pre[@class="note"]')]
        assert note.strip() == document["note"].strip()
        assert checkpoint.strip() == document["checkpoint"].strip()
        assert "The directive acme/a/item 1.0.0 was released." in tree.text_content()

    def test_a_reason_is_text_and_no_markup(self, local: LocalRegistry) -> None:
        size = local.get("/-/log", headers=JSON).json()["size"]
        answer = local.get(f"/-/log/{size - 2}", headers=HTML)
        assert "<b>" not in answer.text
        assert "&lt;b&gt;wrong&lt;/b&gt; &amp; old" in answer.text

    def test_the_proof_as_a_file_is_the_standard_one(self, local: LocalRegistry) -> None:
        answer = local.get("/-/log/4/proof", headers=HTML)
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.text == local.get("/-/log/4", headers=JSON).json()["proof"]
        assert answer.text.startswith("c2sp.org/tlog-proof@v1\n")

    @pytest.mark.parametrize(
        "text",
        [
            "01",
            "-1",
            "+1",
            "1.0",
            "1e3",
            "0x1",
            "99",
            "9" * 15,
            "9" * 16,
            "9" * 400,
            "1 ",
            "١",
            "¹",
            "%00",
            "1%0a",
            "",
            "a",
        ],
    )
    def test_anything_but_the_number_of_an_entry_is_missing(self, local: LocalRegistry, text: str) -> None:
        if text:
            for path in (f"/-/log/{text}", f"/-/log/{text}/proof"):
                assert local.get(path, headers=JSON).status_code == 404, path
        assert text == "99" or read_position(text) is None or int(text) > 10**14

    def test_a_position_has_one_spelling(self) -> None:
        assert [read_position(text) for text in ("0", "7", "10", "007", "1_0", "１")] == [0, 7, 10, None, None, None]

    def test_the_etag_moves_with_the_head(self, tmp_path: Path) -> None:
        local = LocalRegistry(tmp_path / "data")
        first = local.get("/-/log/0", headers=HTML)
        again = local.get("/-/log/0", headers={**HTML, "If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        local.statements(local.token(), ACME.claim())
        deadline = now() + timedelta(seconds=5)
        while local.get("/-/log/0", headers=HTML).headers["etag"] == first.headers["etag"]:
            assert now() < deadline
        local.close()

    def test_a_note_that_is_long_comes_as_a_file_and_the_page_stays_small(self, tmp_path: Path) -> None:
        local = LocalRegistry(tmp_path / "data")
        local.statements(local.token(), ACME.claim())
        wide = tuple(f"rye.execute.tool.{'&<' * 180}{number}" for number in range(140))
        put(local, ACME, ITEM, "1.0.0", b"Text", capabilities=wide)
        tree = page(local, "/-/log/4")
        assert commands(tree)[0].startswith("rye log check-proof entry-4.json --key ")
        assert "more characters" in tree.text_content()
        document = local.get("/-/log/4", headers=JSON)
        assert document.json()["pasted"] is None
        proof = tmp_path / "proof"
        proof.write_bytes(local.get("/-/log/4/proof", headers=HTML).content)
        for file in (document.content, proof.read_bytes()):
            (tmp_path / "saved").write_bytes(file)
            home = tmp_path / f"home{len(file)}"
            done = shell(f"cp {tmp_path}/saved entry-4.json; {commands(tree)[0]}", home)
            assert "acme/a/item 1.0.0 is entry 4" in done.stdout, done.stderr
        local.close()


class TestList:
    def test_the_newest_entries_come_first_with_head_and_fingerprint(self, local: LocalRegistry) -> None:
        document = local.get("/-/log?type=all", headers=JSON).json()
        assert [row["position"] for row in document["entries"]] == list(range(document["size"] - 1, -1, -1))
        tree = page(local, "/-/log?type=all")
        for fact in (document["fingerprint"], document["root_hash"], *document["keys"]):
            assert fact in tree.text_content()
        links = tree.xpath('//ol[@class="entries"]//a[@class="position"]/@href')
        assert links == [row["path"] for row in document["entries"]]

    def test_it_is_paged_without_gaps(self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
        document = local.get("/-/log?type=all&before=7", headers=JSON).json()
        assert [row["position"] for row in document["entries"]] == [6, 5, 4, 3, 2, 1, 0]
        assert (document["older"], document["newer"]) == (None, "/-/log?type=all")
        monkeypatch.setattr(log, "RECORDS", RecordLimits(log_rows=2, log_read=3))
        seen: list[int] = []
        path: str | None = "/-/log"
        while path is not None:
            document = local.get(path, headers=JSON).json()
            seen += [row["position"] for row in document["entries"]]
            path = document["older"]
        assert seen == [10, 8, 6, 4, 2, 0]

    def test_snapshots_are_left_out_and_types_and_namespaces_can_be_chosen(self, local: LocalRegistry) -> None:
        def types(query: str) -> list[str]:
            found = local.get(f"/-/log{query}", headers=JSON).json()["entries"]
            return [row["told"]["type"] for row in found]

        assert types("") == ["yank", "release", "release", "release", "keyset", "root"]
        assert types("?type=release") == ["release"] * 3
        assert set(types("?type=snapshot")) == {"snapshot"}
        assert types("?namespace=acme") == ["yank", "release", "release", "release", "keyset"]
        assert types("?namespace=acm") == types("?type=takedown") == []
        for query in ("?type=Release", "?type=rye.release/v1", "?namespace=..", "?namespace=a/b"):
            assert local.get(f"/-/log{query}", headers=JSON).status_code == 400, query

    def test_a_list_of_rare_entries_ends_and_says_where_it_goes_on(
        self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log, "RECORDS", RecordLimits(log_looked_at=4, log_read=3))
        found = local.get("/-/log?type=keyset", headers=JSON).json()
        assert (found["entries"], found["first"], found["older"]) == ([], 8, "/-/log?type=keyset&before=8")
        tree = page(local, "/-/log?type=keyset")
        assert tree.xpath('//main//a[@href="/-/log?type=keyset&before=8"]')
        while found["older"] is not None:
            found = local.get(found["older"], headers=JSON).json()
        assert [row["told"]["namespace"] for row in found["entries"]] == ["acme"]

    def test_rows_lead_to_what_they_are_about(self, local: LocalRegistry) -> None:
        rows = page(local, "/-/log").xpath('//ol[@class="entries"]/li')
        told = [(row.xpath('.//span[@class="told"]')[0].text_content(), row.xpath(".//a/@href")[1:]) for row in rows]
        assert told[0] == (
            "Version 1.0.0 of the directive acme/a/item was yanked: It was <b>wrong</b> & old",
            ["/-/directive/acme/a/item@1.0.0"],
        )
        assert told[4][1] == ["/-/namespaces/acme"]
        assert told[5][1] == []

    @pytest.mark.parametrize("before", ["0", "-1", "01", "x", "", "1.5"])
    def test_a_place_that_is_none_is_an_error(self, local: LocalRegistry, before: str) -> None:
        assert local.get(f"/-/log?before={before}", headers=JSON).status_code == 400

    @pytest.mark.parametrize("before", ["99", "9" * 15])
    def test_a_place_beyond_the_log_is_missing(self, local: LocalRegistry, before: str) -> None:
        assert local.get(f"/-/log?before={before}", headers=JSON).status_code == 404

    def test_a_list_without_entries_says_so(self, local: LocalRegistry) -> None:
        assert "The log has no such entry." in page(local, "/-/log?namespace=nobody").text_content()
        assert "The log has no earlier entry." in page(local, "/-/log?namespace=nobody&before=2").text_content()
        assert page(local, "/-/log?type=policy").xpath("//select[@name='type']/option[@selected]/text()") == ["policy"]

    def test_an_entry_beyond_the_log_names_the_newest(self, local: LocalRegistry) -> None:
        size = local.get("/-/log", headers=JSON).json()["size"]
        answer = local.get(f"/-/log/{size}", headers=HTML)
        assert answer.status_code == 404
        tree: html.HtmlElement = html.fromstring(answer.content)
        assert f"The log has no entry {size}. It has {size} entries." in " ".join(tree.text_content().split())
        assert tree.xpath("//main//a/@href") == [f"/-/log/{size - 1}", "/"]

    def test_the_command_reads_the_whole_log(self, local: LocalRegistry) -> None:
        assert commands(page(local, "/-/log")) == ["rye log verify --registry http://127.0.0.1:8420"]


TIME = now()
KEY = PrivateKey.generate().public.raw


NEW_KEYS = Keyset(ORIGIN, "acme", 2, "0" * 64, TIME, 1, (KEY,), recovery=TIME + timedelta(days=4))
TOLD: list[tuple[Logged, str, str]] = [
    (ACME.release("a/item", b"x"), "release", "The directive acme/a/item 1.0.0 was released."),
    (Yank(ORIGIN, ITEM, "1.0.0", True, 1, TIME, "Bad"), "yank", "Version 1.0.0 of the directive acme/a/item was yanked: Bad"),
    (Yank(ORIGIN, ITEM, "1.0.0", False, 1, TIME, "Good"), "unyank", "is available again: Good"),
    (Deprecation(ORIGIN, ITEM, True, Identity("skill", "acme/b"), 1, TIME, "Old"), "deprecation", "of skill:acme/b: Old"),
    (Deprecation(ORIGIN, ITEM, False, None, 1, TIME, "No"), "deprecation", "is supported again: No"),
    (Advisory(ORIGIN, ITEM, "A-1", "<2.0.0", "high", 1, TIME, "Leaks"), "advisory", "by keyset 1 about versions <2.0.0"),
    (Advisory(ORIGIN, ITEM, "A-1", "*", "low", None, TIME, "Leaks"), "advisory", "the registry's owners about all versions"),
    (Takedown(ORIGIN, ITEM, "1.0.0", ("0" * 64,), TIME, "Law"), "takedown", "took down 1 file of the directive acme/a/item"),
    (Keyset(ORIGIN, "acme", 1, None, TIME, 1, (KEY,)), "keyset", "The namespace acme was claimed with 1 key; 1 must sign"),
    (NEW_KEYS, "recovery", "give the namespace acme to 1 key with keyset 2"),
    (Root(ORIGIN, 1, None, TIME, TIME + timedelta(days=9), 1, (KEY,), (KEY,)), "root", "Root 1: its 1 owner must sign"),
    (Root(ORIGIN, 1, None, TIME, TIME + timedelta(days=9), 2, (KEY,) * 3, (KEY,)), "root", "2 of 3 owners must sign"),
    (Snapshot(ORIGIN, TIME, 1, "0" * 64), "snapshot", "recorded a snapshot of all its names"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "kind", "words"), TOLD, ids=lambda value: value if isinstance(value, str) else ""
)
def test_each_kind_of_statement_is_told(statement: Logged, kind: str, words: str) -> None:
    told = entry_words(statement)
    assert told.type == kind
    assert words in told.words
    about_item = not isinstance(statement, Keyset | Root | Snapshot)
    assert (told.kind, told.id) == (("directive", "acme/a/item") if about_item else (None, None))


@pytest.mark.parametrize("field", ["note", "position", "checkpoint"])
def test_a_document_that_says_otherwise_than_its_proof_is_refused(local: LocalRegistry, field: str) -> None:
    document = local.get("/-/log/4", headers=JSON).json()
    document[field] = 5 if field == "position" else document[field] + "x"
    with pytest.raises(tlog_proof.TlogProofError, match=f"its {field} is not"):
        tlog_proof.read_page(json.dumps(document).encode())


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b"{}", b'{"proof": 1}', b'{"proof": "x"}', b'{"proof": "\\ud800"}', b"\xff{", b"{" * 10_000]
)
def test_a_document_without_a_proof_is_refused(data: bytes) -> None:
    with pytest.raises(tlog_proof.TlogProofError):
        tlog_proof.read_page(data)


def test_a_document_that_is_too_large_is_refused_unread() -> None:
    with pytest.raises(tlog_proof.TlogProofError, match="more than"):
        tlog_proof.read_page(b'{"proof": "' + b"x" * tlog_proof.MAX_PAGE_BYTES)


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("split") / "data", 'read = "namespaces"\n') as made:
        made.statements(made.token(), ACME.claim())
        made.publish(ACME, "a/item", made.token())
        yield made


def test_members_alone_see_the_log(split: LocalRegistry) -> None:
    for path in ("/-/log", "/-/log/4", "/-/log/4/proof", "/-/log/99"):
        assert split.get(path, headers=JSON).status_code == 401


def test_the_log_is_one_for_all_members_and_no_shared_cache_keeps_it(split: LocalRegistry) -> None:
    member = split.token(account=split.member("guest"), scopes=["read"])
    answer = split.get("/-/log/4", member, headers=JSON)
    assert answer.status_code == 200
    assert answer.headers["cache-control"].startswith("private")
    assert answer.json()["told"]["id"] == "acme/a/item"
    operator = split.get("/-/log/4", split.token(), headers=JSON)
    assert operator.json() == answer.json()


class TestDays:
    """``/-/log?date=``: the first entry that was logged on a day."""

    @pytest.fixture(scope="class")
    @staticmethod
    def days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
        """A log that began three days ago, with nothing the day before yesterday, and releases yesterday and today."""
        with LocalRegistry(tmp_path_factory.mktemp("days") / "data") as made:
            assert made.statements(made.token(), ACME.claim()).status_code == 200
            for number in range(60):
                put(made, ACME, Identity("directive", f"acme/a/i{number}"), "1.0.0", b"Text")
            yield made

    def found(self, local: LocalRegistry, day: date, more: str = "") -> dict[str, Any]:
        answer = local.get(f"/-/log?date={day.isoformat()}{more}", headers=JSON)
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json()
        return document

    def test_it_goes_to_the_first_entry_of_the_day(self, days: LocalRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
        size = days.get("/-/log", headers=JSON).json()["size"]
        began = datetime(2026, 3, 1, 12, tzinfo=UTC)
        looked: list[int] = []

        def logged(_registry: object, position: int) -> datetime:
            looked.append(position)
            return began + timedelta(days=(0 if position < 30 else 2 if position < 90 else 3))

        monkeypatch.setattr(log, "logged_time", logged)
        found = self.found(days, date(2026, 3, 3), "&type=all")
        assert found["day"]["position"] == found["day"]["shown"] == 30
        assert found["entries"][-1]["position"] == 30
        assert len(found["entries"]) == RecordLimits().log_rows
        assert len(looked) <= size.bit_length() + 2
        tree = page(days, "/-/log?date=2026-03-03")
        assert "The first entry of 2026-03-03 is number 30" in tree.text_content()
        (row,) = tree.xpath("//li[@id='day']")
        assert "released" in row.text_content()
        assert tree.xpath("//input[@name='date']/@value") == ["2026-03-03"]

        between = page(days, "/-/log?date=2026-03-02").text_content()
        assert "Nothing was logged on 2026-03-02. The next is entry 30, logged on 2026-03-03." in between
        before = page(days, "/-/log?date=2026-02-28").text_content()
        assert "The log begins later than 2026-02-28: its first entry was logged on 2026-03-01." in before
        after = self.found(days, date(2026, 3, 5))
        assert after["day"]["position"] is None
        assert after["entries"][0]["position"] >= size - 2

    def test_without_a_stand_in_the_days_are_those_of_snapshots(self, days: LocalRegistry) -> None:
        today = now().date()
        assert self.found(days, today - timedelta(days=1))["day"]["is_before_log"]
        assert self.found(days, today)["day"]["position"] == 0
        later = page(days, f"/-/log?date={(today + timedelta(days=400)).isoformat()}").text_content()
        assert "or later. The newest entry was logged on" in later

    def test_the_list_keeps_what_was_asked_for(self, days: LocalRegistry) -> None:
        found = self.found(days, now().date(), "&type=keyset&namespace=acme")
        assert [row["told"]["type"] for row in found["entries"]] == ["keyset"]
        assert found["day"]["shown"] == found["entries"][0]["position"]
        none = self.found(days, now().date(), "&type=takedown")
        assert (none["entries"], none["day"]["shown"]) == ([], None)

    @pytest.mark.parametrize("text", ["2026-02-30", "20260301", "2026-3-1", "yesterday", "0000-00-00", "2026-03-01T00"])
    def test_anything_but_a_day_is_refused(self, days: LocalRegistry, text: str) -> None:
        answer = days.get("/-/log", params={"date": text}, headers=JSON)
        assert (answer.status_code, "must be a day" in answer.text) == (400, True)
        both = days.get("/-/log", params={"date": "2026-11-22", "before": "1"}, headers=JSON)
        assert (both.status_code, "use one of them" in both.text) == (400, True)

    def test_a_form_without_a_day_shows_the_newest(self, days: LocalRegistry) -> None:
        assert days.get("/-/log?type=&namespace=&date=", headers=JSON).json()["day"] is None

    def test_times_of_snapshots_never_decrease(self, days: LocalRegistry) -> None:
        """What the search relies on."""
        with database.reader(days.service.engine) as connection:
            ledger = Ledger(connection)
            parsed = (statements.parse(notes.parse(leaf).text) for leaf in ledger.leaves(0, ledger.size))
            times = [one.time for one in parsed if isinstance(one, Snapshot)]
        assert len(times) > 50
        assert times == sorted(times)
