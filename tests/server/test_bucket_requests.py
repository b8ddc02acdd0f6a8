"""The requests a registry sends to its bucket: how many, in what order, and what happens to a batch when one fails."""

from __future__ import annotations

import base64
import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from registry_server.accounts import registry_keys
from registry_server.migrations import opening
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.head_publication import shown_checkpoint
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.settings import Settings, load
from registry_server.storage import bucket as bucket_module
from registry_server.storage import database
from registry_server.storage.bucket import Bucket, open_bucket
from registry_server.storage.store_factory import public_objects, upload_objects
from registry_server.upkeep import audit
from registry_server.upkeep.founding import found
from rye.errors import RyeError
from rye.registry.protocol.wire import blob_path
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import ORIGIN
from tests.server.delegated import handed_over
from tests.server.fake_bucket import Asked, FakeBucket, serving

pytestmark = pytest.mark.processes


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FakeBucket, str]]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    fake = FakeBucket()
    with serving(fake) as address:
        yield fake, address


@contextmanager
def sequencer_in(address: str, data: Path) -> Iterator[Sequencer]:
    values = {"objects": "s3://rye/registry", "s3_endpoint": address}
    if not data.exists():
        found(data, ORIGIN, values, None, 365)
    settings = load(data, {"store_wait_seconds": 1.0}, {})
    engine = opening.connect(settings.database_url)
    try:
        log_keys = registry_keys.in_folder(settings.keys, "log")
        yield Sequencer(engine, public_objects(settings), upload_objects(settings), log_keys, settings)
    finally:
        engine.dispose()


def uploaded(sequencer: Sequencer, publisher: Publisher, number: int) -> Candidate:
    data = b"%d" % number
    sha256 = hashlib.sha256(data).hexdigest()
    sequencer.uploads.put_soon(sha256, data)
    return publisher.candidate(f"a/item{number}", sha256=sha256)


def asked(service: FakeBucket) -> list[str]:
    """The requests since the last call, with the store's own prefix left out."""
    seen = [f"{one.method} {one.key.removeprefix('rye/registry/')}" for one in service.requests]
    service.requests.clear()
    return seen


def test_a_batch_asks_for_the_head_once_writes_each_new_file_once_and_the_head_last(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    fake, address = service
    acme = Publisher("acme")
    with sequencer_in(address, tmp_path / "data") as sequencer:
        sequencer.append([[acme.claim_candidate()]])
        candidates = [uploaded(sequencer, acme, number) for number in range(3)]
        asked(fake)
        outcomes = sequencer.append([[candidate] for candidate in candidates])
        assert all(isinstance(outcome, Receipt) for outcome in outcomes)
        first, *files, checkpoint, head, tidied = asked(fake)
        assert first == "GET public/head"
        assert sorted((checkpoint, head)) == ["PUT public/checkpoint", "PUT public/head"], "at the same time"
        assert tidied.startswith("POST ")
        assert sorted(set(files)) == sorted(files)
        kinds = [path.split("/")[1] for path in files if path.startswith("PUT public/")]
        assert len(kinds) == len(files)
        assert {kind: kinds.count(kind) for kind in kinds} == {"blobs": 3, "index": 3, "map": 1, "tile": 2}
        with database.reader(sequencer.engine) as connection:
            assert audit.verify(Ledger(connection), sequencer.public) == []


def test_a_file_that_comes_with_its_statement_is_written_once_and_asked_for_by_nobody(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    fake, address = service
    acme = Publisher("acme")
    with LocalRegistry(tmp_path / "data", f'objects = "s3://rye/registry"\ns3_endpoint = "{address}"\n') as local:
        token = local.token()
        assert local.statements(token, acme.claim()).status_code == 200
        data = acme.file("a/item")
        note = acme.note(acme.release("a/item", data))
        asked(fake)
        body = {"notes": [note], "blobs": [base64.b64encode(data).decode()]}
        assert local.post("/api/v1/statements", token, json=body).status_code == 200
        sha256 = hashlib.sha256(data).hexdigest()
        about = [one for one in asked(fake) if (sha256 in one and "uploads" in one) or "blobs" in one]
        assert about == [f"PUT uploads/{sha256}", f"PUT public/{blob_path(sha256)}"]
        assert local.post("/api/v1/statements", token, json=body).json()["results"][0]["duplicate"]


def test_the_process_that_appends_knows_what_the_server_has_just_written(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    fake, address = service
    acme = Publisher("acme")
    with LocalRegistry(tmp_path / "data", f'objects = "s3://rye/registry"\ns3_endpoint = "{address}"\n') as local:
        token = local.token()
        assert local.statements(token, acme.claim()).status_code == 200
        handed_over(local.service.sequencer)
        data = acme.file("a/item")
        body = {
            "notes": [acme.note(acme.release("a/item", data))],
            "blobs": [base64.b64encode(data).decode()],
        }
        asked(fake)
        assert local.post("/api/v1/statements", token, json=body).status_code == 200
        sha256 = hashlib.sha256(data).hexdigest()
        about = [one for one in asked(fake) if (sha256 in one and "uploads" in one) or "blobs" in one]
        assert about == [f"PUT uploads/{sha256}", f"PUT public/{blob_path(sha256)}"]
    with sequencer_in(address, tmp_path / "data") as sequencer, database.reader(sequencer.engine) as connection:
        assert audit.verify(Ledger(connection), sequencer.public) == []
        assert list(sequencer.uploads.listing()) == []  # removed behind the answer, before the process ended


@pytest.mark.parametrize("part", ["public/index", "public/checkpoint", "public/head"])
def test_a_bucket_that_fails_after_the_commit_is_brought_up_to_date_by_the_next_batch(
    service: tuple[FakeBucket, str], tmp_path: Path, part: str
) -> None:
    fake, address = service
    acme = Publisher("acme")
    with sequencer_in(address, tmp_path / "data") as sequencer:
        sequencer.append([[acme.claim_candidate()]])
        first, second = (uploaded(sequencer, acme, number) for number in range(2))
        fake.fault = lambda one: 403 if one.method == "PUT" and one.key.startswith(f"rye/registry/{part}") else None
        with pytest.raises(RyeError) as failed:
            sequencer.append([[first]])
        assert failed.value.code in ("store-unavailable", "store-credentials")
        assert sequencer.trouble is failed.value
        assert not sequencer.is_shown()
        assert sequencer.trouble is failed.value, "a look at the store says nothing about writing"
        fake.fault = lambda _one: None
        (outcome,) = sequencer.append([[second]])
        assert isinstance(outcome, Receipt)
        assert sequencer.trouble is None
        with database.reader(sequencer.engine) as connection:
            assert audit.verify(Ledger(connection), sequencer.public) == []


@pytest.mark.parametrize("older", ["checkpoint", "head"])
def test_after_a_crash_either_file_may_be_the_older_one_and_a_start_shows_both(
    service: tuple[FakeBucket, str], tmp_path: Path, older: str
) -> None:
    fake, address = service
    acme = Publisher("acme")
    with sequencer_in(address, tmp_path / "data") as sequencer:
        sequencer.append([[acme.claim_candidate()]])
        first = uploaded(sequencer, acme, 1)
        fake.fault = lambda one: 403 if one.method == "PUT" and one.key == f"rye/registry/public/{older}" else None
        with pytest.raises(RyeError):
            sequencer.append([[first]])
    fake.fault = lambda _one: None
    with sequencer_in(address, tmp_path / "data") as sequencer:
        assert not sequencer.is_shown()
        sequencer.recover()
        assert sequencer.is_shown()
        (outcome,) = sequencer.append([[first]])
        assert isinstance(outcome, Receipt)
        assert outcome.results[0].duplicate
        with database.reader(sequencer.engine) as connection:
            assert audit.verify(Ledger(connection), sequencer.public) == []


@pytest.mark.parametrize("what", ["missing", "older", "damaged"])
def test_a_head_that_changes_while_a_batch_is_computed_is_compared_before_anything_is_committed(
    service: tuple[FakeBucket, str], tmp_path: Path, what: str
) -> None:
    fake, address = service
    acme = Publisher("acme")
    with sequencer_in(address, tmp_path / "data") as sequencer:
        sequencer.append([[acme.claim_candidate()]])
        old = sequencer.public.get("head") or b""
        sequencer.append([[uploaded(sequencer, acme, 1)]])
        candidate = uploaded(sequencer, acme, 2)
        match what:
            case "missing":
                sequencer.public.delete("head")
            case "older":
                sequencer.public.put("head", old)
            case _:
                sequencer.public.put("head", b"{}")
        steps: list[str] = []
        sequencer._fault = steps.append
        asked(fake)
        (outcome,) = sequencer.append([[candidate]])
        assert isinstance(outcome, Receipt)
        assert not outcome.results[0].duplicate
        assert steps == ["begun", "appended", "begun", "appended", "committed", "written", "checkpoint", "shown"]
        seen = asked(fake)
        assert [one for one in seen if one.endswith("/head")] == [
            "GET public/head",
            "GET public/head",
            "PUT public/head",
        ]
        with database.reader(sequencer.engine) as connection:
            assert audit.verify(Ledger(connection), sequencer.public) == []


def test_a_store_that_fails_to_tell_its_head_lets_nothing_be_committed(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    fake, address = service
    acme = Publisher("acme")
    with sequencer_in(address, tmp_path / "data") as sequencer:
        sequencer.append([[acme.claim_candidate()]])
        candidate = uploaded(sequencer, acme, 1)
        steps: list[str] = []
        sequencer._fault = steps.append
        fake.fault = lambda one: 403 if one.method == "GET" and one.key.endswith("/head") else None
        with pytest.raises(RyeError) as failed:
            sequencer.append([[candidate]])
        assert failed.value.code in ("store-unavailable", "store-credentials")
        assert sequencer.trouble is failed.value
        assert steps == ["begun", "appended"]
        fake.fault = lambda _one: None
        (outcome,) = sequencer.append([[candidate]])
        assert isinstance(outcome, Receipt)
        assert not outcome.results[0].duplicate


def test_an_older_database_under_a_running_writer_is_noticed_before_it_forks_the_log(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    fake, address = service
    acme = Publisher("acme")
    with sequencer_in(address, tmp_path / "data") as sequencer:
        sequencer.append([[acme.claim_candidate()]])
        with sqlite3.connect(tmp_path / "data" / "registry.db") as live, sqlite3.connect(tmp_path / "old.db") as kept:
            live.backup(kept)
        sequencer.append([[uploaded(sequencer, acme, 1)]])
        candidate = uploaded(sequencer, acme, 2)
        with sqlite3.connect(tmp_path / "old.db") as kept, sqlite3.connect(tmp_path / "data" / "registry.db") as live:
            kept.backup(live)
        before = dict(fake.objects)
        with pytest.raises(RyeError) as refused:
            sequencer.append([[candidate]])
        assert refused.value.code == "database-behind"
        assert fake.objects == before


@pytest.mark.parametrize("half", ["head", "checkpoint"])
def test_an_older_database_under_a_head_that_was_shown_by_half_is_noticed_before_it_forks_the_log(
    service: tuple[FakeBucket, str], tmp_path: Path, half: str
) -> None:
    fake, address = service
    acme = Publisher("acme")
    refused = {"PUT": 412, "GET": 403} if half == "head" else {"PUT": 403}
    other = "rye/registry/public/" + ("checkpoint" if half == "head" else "head")
    with sequencer_in(address, tmp_path / "data") as sequencer:
        sequencer.append([[acme.claim_candidate()]])
        with sqlite3.connect(tmp_path / "data" / "registry.db") as live, sqlite3.connect(tmp_path / "old.db") as kept:
            live.backup(kept)
        first, second = (uploaded(sequencer, acme, number) for number in range(2))
        fake.fault = lambda one: refused.get(one.method) if one.key == other else None
        with pytest.raises(RyeError):
            sequencer.append([[first]])
        fake.fault = lambda _one: None
        assert shown_sizes(sequencer) == {half: 6, "head" if half == "checkpoint" else "checkpoint": 4}
        with sqlite3.connect(tmp_path / "old.db") as kept, sqlite3.connect(tmp_path / "data" / "registry.db") as live:
            kept.backup(live)
        before = dict(fake.objects)
        with pytest.raises(RyeError) as found:
            sequencer.append([[second]])
        assert found.value.code == "database-behind"
        assert fake.objects == before
        with database.reader(sequencer.engine) as connection:
            assert Ledger(connection).size == 4


@pytest.mark.parametrize("how", ["heartbeat", "again"])
def test_another_server_shows_the_half_that_a_dead_one_left(
    service: tuple[FakeBucket, str], tmp_path: Path, how: str
) -> None:
    fake, address = service
    acme = Publisher("acme")
    with sequencer_in(address, tmp_path / "data") as dead, sequencer_in(address, tmp_path / "data") as other:
        dead.append([[acme.claim_candidate()]])
        candidate = uploaded(dead, acme, 1)
        fake.fault = lambda one: 403 if one.method == "PUT" and one.key == "rye/registry/public/checkpoint" else None
        with pytest.raises(RyeError):
            dead.append([[candidate]])
        fake.fault = lambda _one: None
        assert shown_sizes(other) == {"head": 6, "checkpoint": 4}
        if how == "heartbeat":
            other.heartbeat()
        else:
            other.append([[candidate]])
        assert shown_sizes(other) == {"head": 6, "checkpoint": 6}


def test_an_export_is_given_the_checkpoint_that_followed_its_head(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    fake, address = service
    acme = Publisher("acme")
    with sequencer_in(address, tmp_path / "data") as sequencer:
        sequencer.append([[acme.claim_candidate()]])
        candidate = uploaded(sequencer, acme, 1)
        fake.fault = lambda one: 403 if one.method == "PUT" and one.key == "rye/registry/public/checkpoint" else None
        with pytest.raises(RyeError):
            sequencer.append([[candidate]])
        fake.fault = lambda _one: None
        assert "head" in list(audit.export(sequencer.public, ORIGIN, tmp_path / "export"))
        sequencer.show()
        assert "head" in list(audit.export(sequencer.public, ORIGIN, tmp_path / "export"))
        assert list(audit.export(sequencer.public, ORIGIN, tmp_path / "export")) == []
        for path in ("head", "checkpoint"):
            assert (tmp_path / "export" / path).read_bytes() == sequencer.public.get(path)


def test_a_checkpoint_never_becomes_smaller_whatever_each_server_knows_of_the_witnesses(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    _, address = service
    acme = Publisher("acme")
    with sequencer_in(address, tmp_path / "data") as one, sequencer_in(address, tmp_path / "data") as other:
        one.append([[acme.claim_candidate()]])
        older = one.public.get("head")
        one.append([[uploaded(one, acme, 0)]])
        one.learn_cosigned(one.public.get("head"))
        other.learn_cosigned(older)
        sizes = []
        for number, server in enumerate((one, other, other, one, other), 1):
            server.append([[uploaded(server, acme, number)]])
            sizes.append(shown_sizes(server)["checkpoint"])
        assert sizes == [6] * 5


def shown_sizes(sequencer: Sequencer) -> dict[str, int]:
    shown = {path: shown_checkpoint(path, sequencer.public.get(path)) for path in ("head", "checkpoint")}
    return {path: checkpoint.size for path, checkpoint in shown.items() if checkpoint is not None}


def test_trouble_ends_with_the_next_heartbeat_once_writing_works_again(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    fake, address = service
    with sequencer_in(address, tmp_path / "data") as sequencer:
        fake.fault = lambda one: 403 if one.method == "PUT" else None
        with pytest.raises(RyeError):
            sequencer.append([[Publisher("acme").claim_candidate()]])
        with pytest.raises(RyeError):
            sequencer.heartbeat()
        assert sequencer.trouble is not None
        fake.fault = lambda _one: None
        sequencer.heartbeat()
        assert sequencer.trouble is None


def test_a_service_that_hangs_up_is_store_unavailable_with_one_line(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    fake, address = service
    fake.fault = lambda _one: 0
    store = public_objects(Settings(data=tmp_path, objects="s3://rye/x", s3_endpoint=address, store_wait_seconds=1.0))
    with pytest.raises(RyeError) as refused:
        store.get("head")
    assert refused.value.code == "store-unavailable"
    assert "\n" not in refused.value.message


def test_a_mistake_in_our_own_code_is_not_taken_for_the_buckets(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    settings = Settings(data=tmp_path, objects="s3://rye/x", s3_endpoint=service[1])
    with pytest.raises(TypeError):
        open_bucket(settings, "public").get_tagged(5)  # type: ignore[arg-type]


def test_what_was_just_uploaded_is_not_fetched_again_until_it_is_deleted(
    service: tuple[FakeBucket, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, address = service
    settings = Settings(data=tmp_path, objects="s3://rye/registry", s3_endpoint=address)
    monkeypatch.setattr(bucket_module, "_RECENT_BYTES", 10)
    store = open_bucket(settings, "uploads")
    assert isinstance(store, Bucket)
    started = datetime.now(UTC).timestamp()
    store.put_soon("one", b"123456")
    asked(fake)
    assert store.get_all(["one"]) == [b"123456"]
    assert (store.modified("one") or 0.0) >= started
    assert asked(fake) == []
    store.put_soon("two", b"123456")  # more than is remembered
    assert store.get("one") == b"123456"
    assert asked(fake) == ["PUT uploads/two", "GET uploads/one"]
    store.delete_all(["one", "two"])
    assert store.get_all(["one", "two"]) == [None, None]
    assert Asked("PUT", "rye/registry/uploads/two") not in fake.requests
