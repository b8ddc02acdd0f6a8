"""Bytes that owners take down are gone permanently, and everyone who asks for them learns why (docs/reference/statements.md,
rye.takedown/v1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from registry_server.accounts import registry_keys
from registry_server.cli.options import Output
from registry_server.cli.program import cli
from registry_server.embedded import start_embedded, stop_embedded
from registry_server.migrations import opening
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Folder
from registry_server.storage.schema import releases
from registry_server.upkeep import retention, takedown
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.mirroring import mirror
from rye.registry.protocol import notes, wire
from rye.registry.protocol.statements import AttachedFile, FileEntry, Takedown
from rye.registry.protocol.statements.release import Relation
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.transport.file import FileTransport
from rye.registry.trust.auditing import audit
from tests.scenes.publisher import Client, Publisher, error_code, now
from tests.scenes.registry_process import ORIGIN, init, run, token

pytestmark = pytest.mark.processes
REASON = "It held a customer's key."


@dataclass
class Server:
    data: Path
    fingerprint: str
    client: Client
    acme: Publisher
    memory: Path

    def publish(self, name: str) -> tuple[str, str]:
        """The hash of a new item's file, and its release note."""
        content = self.acme.file(name, text="Quoll secret")
        self.client.blob(content).raise_for_status()
        note = self.acme.note(self.acme.release(name, content, description="Quoll secret"))
        self.client.statements(note).raise_for_status()
        return hashlib.sha256(content).hexdigest(), note

    def reader(self, address: str | None = None) -> RegistryClient:
        store, cache = StateStore(self.memory / "state"), Cache(self.memory / "cache")
        return RegistryClient.open(address or self.client.url, accept_root=self.fingerprint, store=store, cache=cache)

    def blob(self, sha256: str) -> Path:
        return self.data / "public" / wire.blob_path(sha256)

    def words_of_texts(self) -> list[str]:
        """What the database remembers of the texts of releases, for search."""
        with database.reader(opening.open_database(Settings(data=self.data))) as connection:
            return [row.keywords for row in connection.execute(releases.select())]

    def take_down(self, *words: str) -> dict[str, object]:
        done = run("takedown", *words, "--data", str(self.data), "--json", check=False)
        assert "Traceback" not in done.stderr
        document: dict[str, object] = json.loads(done.stdout)
        return document


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    data = tmp_path / "data"
    fingerprint = init(data)
    process, url = start_embedded(data)
    try:
        client, acme = Client(url, token(data)), Publisher("acme")
        client.statements(acme.claim()).raise_for_status()
        yield Server(data, fingerprint, client, acme, tmp_path / "memory")
    finally:
        stop_embedded(process)
    assert json.loads(run("verify", "--data", str(data), "--json", check=False).stdout)["problems"] == []


def test_the_blob_answers_451_with_the_reason_and_clients_say_it_too(server: Server, tmp_path: Path) -> None:
    gone, note = server.publish("a/gone")
    server.publish("a/kept")
    run("export", str(tmp_path / "copy"), "--data", str(server.data))
    with server.reader() as reader:  # a client that already knows the registry
        identity = Identity("directive", "acme/a/gone")
        reader.prove(reader.releases([identity])[identity])
        mirror(FileTransport(server.data / "public"), reader.state, tmp_path / "mirror")
    assert sum("quoll" in words.lower() for words in server.words_of_texts()) == 2
    document = server.take_down("directive:acme/a/gone@1.0.0", "--reason", REASON)
    assert sum("quoll" in words.lower() for words in server.words_of_texts()) == 1
    assert document == {"releases": ["directive:acme/a/gone@1.0.0"], "files": [gone], "shared": []}
    answer = server.client.get("/" + wire.blob_path(gone))
    assert (answer.status_code, error_code(answer)) == (451, "taken-down")
    assert REASON in answer.text
    assert not server.blob(gone).exists()
    assert server.client.get("/api/v1/search?q=quoll").json()["total"] == 1
    with server.reader() as reader:
        (record,) = reader.releases([identity])[identity]
        assert record.takedown is not None
        assert record.takedown.reason == REASON
        assert record.is_withdrawn
        with pytest.raises(RyeError, match="customer's key") as caught:
            reader.fetch_items([record])
        assert caught.value.code == "release-taken-down"
        reader.prove([record])
        copied = mirror(FileTransport(server.data / "public"), reader.state, tmp_path / "mirror")
        assert copied.audit.taken_down == {gone}
    run("export", str(tmp_path / "copy"), "--data", str(server.data))
    for copy in ("copy", "mirror"):
        assert not (tmp_path / copy / wire.blob_path(gone)).exists()
    # The same bytes cannot come back, neither through a replay nor in another release.
    server.client.blob(server.acme.file("a/gone", text="Quoll secret"))
    replayed = server.client.statements(note)
    assert replayed.status_code in (200, 422)
    assert server.client.get("/" + wire.blob_path(gone)).status_code == 451


def test_clients_cannot_send_a_takedown(server: Server) -> None:
    gone, _ = server.publish("a/gone")
    identity = Identity("directive", "acme/a/gone")
    statement = Takedown(ORIGIN, identity, "1.0.0", (gone,), now(), REASON)
    (owner,) = registry_keys.in_folder(server.data / "keys", "root")
    for signer in (owner.signer, server.acme.signer):
        refused = server.client.statements(notes.sign(statement.text(), [signer]).encode())
        assert error_code(refused) == "statement-not-accepted"
    assert server.blob(gone).exists()


def test_a_person_is_asked_before_anything_is_deleted(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, _ = server.publish("a/gone")
    words = ["takedown", "directive:acme/a/gone@1.0.0", "--reason", REASON, "--data", str(server.data)]
    monkeypatch.setattr(Output, "can_ask", property(lambda _: True))
    declined = CliRunner().invoke(cli, words, input="n\n")
    assert "Delete 1 file of directive:acme/a/gone 1.0.0 for good, for everybody?" in declined.output
    assert (declined.exit_code, server.blob(gone).exists()) == (1, True)
    assert CliRunner().invoke(cli, [*words, "--yes"]).exit_code == 0
    assert not server.blob(gone).exists()


def test_owners_elsewhere_sign_a_draft(server: Server, tmp_path: Path) -> None:
    gone, _ = server.publish("a/gone")
    (owner,) = (server.data / "keys").glob("root-*.key")
    owner.rename(tmp_path / "owner.key")
    refused = server.take_down(gone, "--reason", REASON)
    assert refused["error"]["code"] == "no-key"  # type: ignore[index]
    draft = tmp_path / "draft"
    server.take_down(gone, "--reason", REASON, "--draft", str(draft))
    early = server.take_down("--publish", str(draft))
    assert early["error"]["code"] == "not-signed"  # type: ignore[index]
    run("root", "sign", str(draft), "--key", str(tmp_path / "owner.key"))
    assert server.take_down("--publish", str(draft))["files"] == [gone]
    assert server.client.get("/" + wire.blob_path(gone)).status_code == 451


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["directive:acme/a/none@1.0.0", "--reason", REASON], "release-unknown"),
        (["nonsense", "--reason", REASON], "release-unknown"),
        (["0" * 64, "--reason", REASON], "blob-unknown"),
        (["directive:acme/a/none@1.0.0"], "usage"),
        (["--reason", REASON], "usage"),
    ],
)
def test_words_for_what_cannot_be_taken_down(tmp_path: Path, words: list[str], code: str) -> None:
    init(tmp_path / "data")
    done = run("takedown", *words, "--data", str(tmp_path / "data"), "--json", check=False)
    assert json.loads(done.stdout)["error"]["code"] == code


class TestLog:
    """What admission, auditors and clients require of a takedown, and which files of a release it removes."""

    @pytest.fixture
    def sequencer(self, tmp_path: Path) -> Iterator[Sequencer]:
        data = tmp_path / "data"
        init(data)
        settings = Settings(data=data)
        engine = opening.open_database(settings)
        uploads = Folder(settings.uploads)
        for content in (b"shared", b"one", b"two", b"own"):
            uploads.put(hashlib.sha256(content).hexdigest(), content)
        log_keys = registry_keys.in_folder(settings.keys, "log")
        yield Sequencer(engine, Folder(settings.public), uploads, log_keys, settings)
        engine.dispose()

    def _release(
        self, sequencer: Sequencer, acme: Publisher, version: str, main: bytes, *attached: bytes, **changes: object
    ) -> None:
        files = tuple(
            AttachedFile(f"f{number}.txt", len(content), hashlib.sha256(content).hexdigest())
            for number, content in enumerate(attached)
        )
        release = acme.release(
            "notes", b"", version,
            file=FileEntry("SKILL.md", len(main), hashlib.sha256(main).hexdigest()),
            attached=files,
            **{"identity": Identity("skill", "acme/notes"), **changes},
        )  # fmt: skip
        candidate = Candidate(notes.sign(release.text(), [acme.signer]), release, acme.key.public.raw)
        (outcome,) = sequencer.append([[candidate]])
        if isinstance(outcome, Exception):
            raise outcome

    def test_files_of_other_releases_stay_unless_they_are_named(self, sequencer: Sequencer) -> None:
        acme = Publisher("acme")
        sequencer.append([[acme.claim_candidate()]])
        self._release(sequencer, acme, "1.0.0", b"one", b"shared", b"own")
        self._release(sequencer, acme, "2.0.0", b"two", b"shared")
        hashes = {content: hashlib.sha256(content).hexdigest() for content in (b"one", b"two", b"shared", b"own")}
        with database.reader(sequencer.engine) as connection:
            ledger = Ledger(connection)
            one = takedown.plan(ledger, "skill:acme/notes@1.0.0", REASON)
            every = takedown.plan(ledger, hashes[b"shared"], REASON)
        assert [set(statement.files) for statement in one.statements] == [{hashes[b"one"], hashes[b"own"]}]
        assert one.shared == (hashes[b"shared"],)
        assert [statement.version for statement in every.statements] == ["1.0.0", "2.0.0"]
        owners = registry_keys.in_folder(sequencer.settings.keys, "root")
        takedown.publish(sequencer, takedown.signed(every.statements, owners))
        public = sequencer.public
        assert public.get(wire.blob_path(hashes[b"shared"])) is None
        assert public.get(wire.blob_path(hashes[b"own"])) == b"own"
        sequencer.uploads.put(hashes[b"shared"], b"shared")
        with pytest.raises(RyeError) as refused:
            self._release(sequencer, acme, "3.0.0", b"two", b"shared")
        assert refused.value.code == "taken-down"
        self._release(sequencer, acme, "1.0.0", b"one", b"shared", b"own")  # the same release again: a duplicate
        assert public.get(wire.blob_path(hashes[b"shared"])) is None

    @pytest.mark.parametrize("meanwhile", ["it depends on the old one", "it has the same file", "it needs neither"])
    def test_what_was_released_since_the_draft_keeps_what_it_needs(
        self, sequencer: Sequencer, tmp_path: Path, meanwhile: str
    ) -> None:
        """Owners elsewhere sign days later; meanwhile somebody publishes."""
        acme = Publisher("acme")
        sequencer.append([[acme.claim_candidate()]])
        self._release(sequencer, acme, "1.0.0", b"one", b"shared")
        self._release(sequencer, acme, "2.0.0", b"two")
        rule = retention.RetentionRule(keep=1, before=now() + timedelta(days=1))
        with database.reader(sequencer.engine) as connection:
            (old,) = retention.plan(Ledger(connection), rule, "older than 1d.", now())
        assert old.version == "1.0.0"
        needs = (Relation("acme/notes", Identity("skill", "acme/notes"), "^1.0.0"),)
        other = {"identity": Identity("skill", "acme/other")}
        if meanwhile == "it depends on the old one":
            self._release(sequencer, acme, "1.0.0", b"own", **other, depends_on=needs)
        else:
            has = b"shared" if meanwhile == "it has the same file" else b"two"
            self._release(sequencer, acme, "1.0.0", b"own", has, **other)
        (signed,) = takedown.signed([old], registry_keys.in_folder(sequencer.settings.keys, "root"))
        (tmp_path / "draft").write_text(signed)
        done = run(
            "takedown", "--publish", str(tmp_path / "draft"), "--data", str(tmp_path / "data"), "--json", check=False
        )
        document = json.loads(done.stdout)
        if meanwhile == "it needs neither":  # the control
            assert document["releases"] == ["skill:acme/notes@1.0.0"]
        else:
            assert document["error"]["code"] == "files-shared"
            assert sequencer.public.get(wire.blob_path(old.files[0])) is not None

    @pytest.mark.parametrize(
        "published", ["before the statements", "between the look and the statements", "not at all"]
    )
    def test_a_copy_that_is_published_after_the_draft_misses_no_file_without_a_word(
        self, sequencer: Sequencer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, published: str
    ) -> None:
        """Owners elsewhere sign days later. A release that has the file by then has no statement in its index: clients would find
        the file missing for no reason, and copies of it would stay."""
        acme = Publisher("acme")
        sequencer.append([[acme.claim_candidate()]])
        self._release(sequencer, acme, "1.0.0", b"one", b"shared")
        shared = hashlib.sha256(b"shared").hexdigest()
        with database.reader(sequencer.engine) as connection:
            drafted = takedown.plan(Ledger(connection), shared, REASON).statements
        (signed,) = takedown.signed(drafted, registry_keys.in_folder(sequencer.settings.keys, "root"))
        (tmp_path / "draft").write_text(signed)
        other = {"identity": Identity("skill", "acme/other")}
        if published == "before the statements":
            self._release(sequencer, acme, "1.0.0", b"own", b"shared", **other)
        elif published == "between the look and the statements":
            publish = takedown.publish

            def late(writing: Sequencer, texts: Sequence[str]) -> list[Takedown]:
                self._release(sequencer, acme, "1.0.0", b"own", b"shared", **other)
                return publish(writing, texts)

            monkeypatch.setattr(takedown, "publish", late)
        words = ["takedown", "--publish", str(tmp_path / "draft"), "--data", str(tmp_path / "data"), "--json"]
        done = run(*words, check=False)
        if published == "not at all":  # the control
            assert done.returncode == 0
            return
        assert done.returncode == 1
        assert "skill:acme/other 1.0.0" in done.stdout + done.stderr
        assert "files-shared" in done.stdout + done.stderr
        if published == "before the statements":
            assert sequencer.public.get(wire.blob_path(shared)) == b"shared"
        every = run("takedown", shared, "--reason", REASON, *words[3:])
        assert set(json.loads(every.stdout)["releases"]) == {"skill:acme/notes@1.0.0", "skill:acme/other@1.0.0"}
        assert sequencer.public.get(wire.blob_path(shared)) is None

    def test_only_owners_and_only_about_the_releases_own_files(self, sequencer: Sequencer) -> None:
        acme = Publisher("acme")
        sequencer.append([[acme.claim_candidate()]])
        self._release(sequencer, acme, "1.0.0", b"one")
        (owner,) = registry_keys.in_folder(sequencer.settings.keys, "root")
        identity, own = Identity("skill", "acme/notes"), hashlib.sha256(b"one").hexdigest()
        good = Takedown(ORIGIN, identity, "1.0.0", (own,), now(), REASON)
        for statement, signer, code in (
            (good, acme.signer, "takedown-signer"),
            (Takedown(ORIGIN, identity, "1.0.0", ("0" * 64,), now(), REASON), owner.signer, "takedown-foreign"),
            (Takedown(ORIGIN, identity, "9.0.0", (own,), now(), REASON), owner.signer, "release-unknown"),
        ):
            (outcome,) = sequencer.append([[Candidate(notes.sign(statement.text(), [signer]), statement)]])
            assert isinstance(outcome, RyeError)
            assert outcome.code == code
            # An auditor reports the same about a log that contains it.
            with database.reader(sequencer.engine) as connection:
                ledger = Ledger(connection)
                leaves = ledger.leaves(0, ledger.size)
            forged = notes.sign(statement.text(), [signer]).encode().encode()
            assert code in [finding.code for finding in audit([*leaves, forged]).findings]
        assert audit(leaves).ok

    def test_a_takedown_that_was_cut_off_is_finished_at_the_next_start(self, sequencer: Sequencer) -> None:
        acme = Publisher("acme")
        sequencer.append([[acme.claim_candidate()]])
        self._release(sequencer, acme, "1.0.0", b"one")
        (owner,) = registry_keys.in_folder(sequencer.settings.keys, "root")
        own = hashlib.sha256(b"one").hexdigest()
        statement = Takedown(ORIGIN, Identity("skill", "acme/notes"), "1.0.0", (own,), now(), REASON)
        (outcome,) = sequencer.append([[Candidate(notes.sign(statement.text(), [owner.signer]), statement)]])
        assert isinstance(outcome, Receipt)
        assert sequencer.public.get(wire.blob_path(own)) == b"one"
        sequencer.recover()
        assert sequencer.public.get(wire.blob_path(own)) is None
