"""The end of the chain of audit events in signed heads (``audit_in_head``): clients accept it, and a rewritten chain shows."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from registry_server.accounts import audit_events
from registry_server.storage import database
from rye.registry.client import RegistryClient
from rye.registry.protocol import notes
from rye.registry.protocol.statements import AuditHead, Checkpoint
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import init, run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A registry with some events in its newest head."""
    folder = tmp_path / "data"
    fingerprint = init(folder)
    (tmp_path / "fingerprint").write_text(fingerprint)
    run("team", "create", "web", "--data", str(folder))
    run("team", "create", "ops", "--data", str(folder))
    with LocalRegistry(folder, "audit_in_head = true\n", make=False) as local:
        assert local.statements(local.token(), Publisher("acme").claim()).status_code == 200
        with database.reader(local.service.engine) as connection:
            expected = AuditHead(*audit_events.head(connection))
    assert shown(folder).audit == expected
    assert expected.size == 2
    return folder


def shown(data: Path) -> Checkpoint:
    return Checkpoint.parse(notes.parse((data / "public" / "checkpoint").read_bytes()).text)


def verified(data: Path, *words: str) -> list[str]:
    done = run("audit-events", "verify", *words, "--data", str(data), "--json", check=False)
    document = json.loads(done.stdout)
    problems: list[str] = document.get("problems", [document.get("error", {}).get("code")])
    assert done.returncode == (1 if problems else 0)
    return problems


def test_clients_accept_such_heads_before_and_after_and_without(data: Path, tmp_path: Path) -> None:
    fingerprint, store = (tmp_path / "fingerprint").read_text(), StateStore(tmp_path / "state")

    def seen() -> Checkpoint:
        address = (data / "public").as_uri()
        with RegistryClient.open(address, accept_root=fingerprint, store=store, cache=Cache(tmp_path / "c")) as reader:
            return reader.head.checkpoint

    assert seen().audit is not None
    toml = data / "registry.toml"
    for wanted in (False, True):
        lines = [line for line in toml.read_text().splitlines() if not line.startswith("audit_in_head")]
        toml.write_text("\n".join([*lines, f"audit_in_head = {str(wanted).lower()}", ""]))
        with LocalRegistry(data, make=False) as local:
            local.owner(f"other{int(wanted)}")
        assert (seen().audit is not None) is wanted
    assert "No problems" in run("verify", "--data", str(data)).stdout


def test_a_chain_that_was_computed_anew_does_not_fit_a_kept_checkpoint(data: Path, tmp_path: Path) -> None:
    """Someone with the whole database removes an event, and computes a new chain, which is intact in itself."""
    kept = tmp_path / "kept"
    shutil.copy(data / "public" / "checkpoint", kept)
    run("team", "delete", "ops", "--data", str(data))
    assert verified(data, "--checkpoint", str(kept)) == []  # the control: what came later does not disturb it
    engine = database.engine_of(f"sqlite:///{data / 'registry.db'}")
    with database.reader(engine) as connection:
        events = list(audit_events.listing(connection))
    with database.change(engine) as connection:
        connection.exec_driver_sql("DELETE FROM audit_events")
        connection.exec_driver_sql("DELETE FROM audit_head")
    with database.change(engine) as connection:
        for event in (events[0], events[2]):
            audit_events.record(connection, event.time, event.action, event.subject, detail=event.detail)
    engine.dispose()
    assert verified(data) == []
    (problem,) = verified(data, "--checkpoint", str(kept))
    assert "are not those that a signed head counted" in problem
    assert "are not those" in run("verify", "--data", str(data), check=False).stdout


def test_a_chain_that_lost_its_end_is_shorter_than_a_kept_checkpoint(data: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(data / "registry.db")) as connection, connection:
        connection.execute("DELETE FROM audit_events WHERE position = 1")
        connection.execute("UPDATE audit_head SET size = 1, hash = (SELECT hash FROM audit_events WHERE position = 0)")
    assert verified(data) == []
    (problem,) = verified(data, "--checkpoint", str(data / "public" / "checkpoint"))
    assert "some were removed" in problem


def test_a_checkpoint_of_nobody_and_one_that_says_nothing_prove_nothing(data: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    text = (data / "public" / "checkpoint").read_text()
    kept.write_text(text.replace("rye-audit 2", "rye-audit 1"))
    assert verified(data, "--checkpoint", str(kept)) == ["note-signature-wrong"]
    with LocalRegistry(tmp_path / "plain") as _:
        pass
    assert verified(tmp_path / "plain", "--checkpoint", str(tmp_path / "plain/public/checkpoint")) == ["no-audit-head"]


def test_a_database_that_is_lost_comes_back_from_such_a_store(data: Path) -> None:
    for path in data.glob("registry.db*"):
        path.unlink()
    done = run("restore", "--from", "store", "--data", str(data), check=False)
    assert "some were removed" in done.stdout  # no store has them, and `verify` says so
    with LocalRegistry(data, make=False) as local:
        local.owner("later")
    assert "No problems" in run("verify", "--data", str(data)).stdout
