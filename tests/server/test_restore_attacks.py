"""Sources that someone prepared against ``rye-registry restore``: refused before anything is written, or harmless
(:mod:`registry_server.upkeep.sources`, :mod:`registry_server.upkeep.backup_rows`)."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from registry_server.accounts.times import now_text
from registry_server.embedded import start_embedded, stop_embedded
from registry_server.migrations import opening
from registry_server.settings import Settings
from registry_server.storage.objects import Folder
from registry_server.upkeep import restoring, sources
from rye.errors import RyeError
from rye.registry.protocol.statements import Checkpoint
from rye.signing.private_text import seal
from tests.scenes.effort import rest_thorough
from tests.scenes.publisher import Client, Publisher
from tests.scenes.registry_process import init, run, token
from tests.server.test_backup import edit, restore

pytestmark = pytest.mark.processes

NOW = now_text()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a registry with one item, an account with a role, and a team."""
    folder = tmp_path_factory.mktemp("original")
    data, acme = folder / "data", Publisher("acme")
    init(data)
    words = ("--data", str(data))
    run("account", "create", "alice", "--namespace", "acme", "--role", "owner", *words)
    run("team", "create", "web", *words)
    run("token", "create", "ci", "--account", "alice", *words)
    run("webhook", "add", "https://hooks.example.com/", *words)
    process, url = start_embedded(data)
    try:
        client = Client(url, token(data, "acme"))
        client.statements(acme.claim()).raise_for_status()
        client.publish(acme, "a/one").raise_for_status()
    finally:
        stop_embedded(process)
    run("backup", str(folder / "backup"), *words)
    return folder


@pytest.fixture
def backup(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original / "backup", tmp_path / "backup"))


def blob_of(backup: Path) -> Path:
    return next(path for path in (backup / "blobs").rglob("*") if path.is_file())


def instead(place: Path, make: Callable[[Path], object]) -> None:
    place.unlink()
    make(place)


def sparse(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(1 << 40)


ACCOUNT = "(SELECT id FROM accounts LIMIT 1)"
ROWS = {
    "a role that does not exist": "UPDATE namespace_roles SET role = 'emperor'",
    "a role of nobody": "INSERT INTO namespace_roles VALUES (9, 'acme', NULL, NULL, 'owner')",
    "a role of account and team": f"INSERT INTO namespace_roles VALUES (9, 'site', {ACCOUNT}, 'web', 'owner')",
    "a role of an account that is not there": "UPDATE namespace_roles SET account = 'nobody'",
    "two roles in one namespace": "INSERT INTO namespace_roles SELECT 9, namespace, account, team, 'reader' FROM namespace_roles",
    "a scope that does not exist": "UPDATE tokens SET scopes = 'read root'",
    "no scope": "UPDATE tokens SET scopes = ' '",
    "a number for scopes": "UPDATE tokens SET scopes = 1",
    "no name": "UPDATE tokens SET name = NULL",
    "bytes for a name": "UPDATE accounts SET name = x'ff'",
    "a name with a NUL": "UPDATE accounts SET name = 'a' || char(0)",
    "a name that is not UTF-8": "UPDATE accounts SET name = CAST(x'ff' AS TEXT)",
    "an expiry that never comes": "UPDATE tokens SET expires = 'never'",
    "a token of an account that is not there": "UPDATE tokens SET account = 'nobody'",
    "a token twice": "INSERT INTO tokens SELECT * FROM tokens",
    "a name twice": "INSERT INTO accounts SELECT 'other', issuer, 'x', name, created, disabled, NULL FROM accounts",
    "text for a position": "UPDATE audit_events SET position = 'x' WHERE position = 1",
    "an event whose detail is not JSON": "UPDATE audit_events SET detail = '{' WHERE position = 1",
    "a next event whose position is taken": "UPDATE audit_head SET size = 1",
    "events without an end": "DELETE FROM audit_head",
    "a submission twice": "INSERT INTO submissions SELECT * FROM submissions",
    "a view for a table": "ALTER TABLE teams RENAME TO teams2; CREATE VIEW teams AS SELECT 'x' AS name, 'y' AS created",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON tokens BEGIN DELETE FROM tokens; END",
    "a virtual table": "DROP TABLE teams; CREATE VIRTUAL TABLE teams USING fts5(name, created)",
    "a computed column": "DROP TABLE teams; CREATE TABLE teams (name, created AS (hex(zeroblob(9))))",
}  # fmt: skip
FILES: dict[str, Callable[[Path], object]] = {
    "a pipe for the database": lambda backup: instead(backup / "database.db", os.mkfifo),
    "a folder for the database": lambda backup: instead(backup / "database.db", Path.mkdir),
    "a link to a device for the database": lambda backup: instead(
        backup / "database.db", lambda place: place.symlink_to("/dev/zero")
    ),
    "an endless database": lambda backup: instead(backup / "database.db", sparse),
    "a pipe for the manifest": lambda backup: instead(backup / "backup.json", os.mkfifo),
    "an endless manifest": lambda backup: instead(backup / "backup.json", sparse),
    "endless settings": lambda backup: sparse(backup / "registry.toml"),
}


@pytest.mark.parametrize("what", rest_thorough(8, ROWS))
def test_rows_that_cannot_be_restored_are_found_before_anything_is_written(
    backup: Path, tmp_path: Path, what: str
) -> None:
    with closing(sqlite3.connect(backup / "database.db")) as connection, connection:
        connection.executescript(ROWS[what])
    error = restore(tmp_path / "fresh", str(backup), check=False)["error"]
    assert error["code"] in ("source-damaged", "source-version"), error  # type: ignore[index]
    assert not (tmp_path / "fresh").exists()


@pytest.mark.parametrize("what", FILES)
def test_files_that_are_something_else_are_refused_at_once(backup: Path, tmp_path: Path, what: str) -> None:
    FILES[what](backup)
    error = restore(tmp_path / "fresh", str(backup), check=False)["error"]
    assert error["code"] in ("source-damaged", "wrong-folder", "bad-config"), error  # type: ignore[index]
    assert not (tmp_path / "fresh").exists()


@pytest.mark.parametrize("make", [os.mkfifo, sparse, lambda place: place.symlink_to("/dev/zero")])
def test_a_blob_that_never_ends_is_missing(backup: Path, tmp_path: Path, make: Callable[[Path], object]) -> None:
    place = blob_of(backup)
    content = place.read_bytes()
    instead(place, make)
    error = restore(tmp_path / "fresh", str(backup), check=False)["error"]
    assert error["code"] == "blob-missing"  # type: ignore[index]
    instead(place, lambda path: path.write_bytes(content))
    assert restore(tmp_path / "fresh", str(backup))["ok"]


@pytest.mark.parametrize("make", [os.mkfifo, sparse, lambda place: place.write_bytes(b"\xff")])
def test_a_sealed_key_that_is_something_else_is_refused(
    backup: Path, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    (backup / "keys").mkdir()
    make(backup / "keys" / "log.key.sealed")
    refused = restore(tmp_path / "fresh", str(backup), "--with-keys", check=False, RYE_REGISTRY_PASSPHRASE="x")
    assert refused["error"]["code"] == "bad-key"  # type: ignore[index]
    assert not (tmp_path / "fresh").exists()


class Changing:
    """A source whose entries are others when they are read again."""

    def __init__(self, source: sources.RestoreSource, change: Callable[[list[bytes]], list[bytes]]) -> None:
        self.head, self.roots = source.head, source.roots
        self.noted, self.behind = source.noted, source.behind
        self._source, self._change, self._reads = source, change, 0

    def entries(self, checkpoint: Checkpoint) -> Iterator[bytes]:
        self._reads += 1
        found = list(self._source.entries(checkpoint))
        yield from found if self._reads == 1 else self._change(found)

    def blob(self, sha256: str, size: int) -> bytes | None:
        return self._source.blob(sha256, size)


@pytest.mark.parametrize(
    "change",
    [
        lambda entries: entries[:-1],
        lambda entries: [*entries, entries[-1]],
        lambda entries: entries[::-1],
        lambda entries: [b"garbage"] * len(entries),
        lambda entries: [],
    ],
    ids=["shorter", "longer", "reversed", "garbage", "empty"],
)
def test_entries_that_change_after_the_check_are_not_restored(
    backup: Path, tmp_path: Path, change: Callable[[list[bytes]], list[bytes]]
) -> None:
    data = tmp_path / "fresh"
    data.mkdir()
    engine = opening.connect(f"sqlite:///{data / 'registry.db'}")
    public = Folder(data / "public")
    with sources.open_source(str(backup), Settings(data=data), public) as opened:
        checked = sources.check(Changing(opened, change), None)
        with pytest.raises(RyeError) as caught:
            restoring.restore(engine, public, checked)
    assert caught.value.code == "source-damaged"
    assert restoring.known_fingerprint(engine) is None
    assert public.get("head") is None
    engine.dispose()


def test_a_backup_that_is_replaced_while_it_is_read_is_restored_as_it_was(backup: Path, tmp_path: Path) -> None:
    writer = sqlite3.connect(backup / "database.db", timeout=0)
    with closing(sources.Backup(backup)) as opened, closing(writer):
        before = opened.rows("tokens")
        with pytest.raises(sqlite3.OperationalError), writer:
            writer.execute("DELETE FROM tokens")
        os.replace(shutil.copy(backup / "backup.json", backup / "other"), backup / "database.db")
        assert opened.rows("tokens") == before


def test_rows_that_contradict_the_database_leave_it_unchanged(original: Path, backup: Path, tmp_path: Path) -> None:
    """An account of the same name was created in the older database: nothing is restored, not even the log."""
    data = tmp_path / "fresh"
    assert restore(data, str(backup))["ok"]
    edit(backup, "UPDATE accounts SET id = '0123456789abcdef'", "UPDATE tokens SET account = NULL",
         "UPDATE namespace_roles SET account = '0123456789abcdef'")  # fmt: skip
    before = run("audit-events", "list", "--data", str(data), "--json").stdout
    error = restore(data, str(backup), check=False)["error"]
    assert error["code"] == "restore-conflict"  # type: ignore[index]
    assert "accounts" in error["message"]  # type: ignore[index]
    assert run("audit-events", "list", "--data", str(data), "--json").stdout == before


def test_an_interrupted_restore_leaves_no_rows_behind_and_is_run_again(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows and log are one transaction: no server starts between them and begins a chain of audit events of its own."""
    data = tmp_path / "fresh"
    data.mkdir()
    engine = opening.connect(f"sqlite:///{data / 'registry.db'}")
    public = Folder(data / "public")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with sources.open_source(str(backup), Settings(data=data), public) as opened:
        checked = sources.check(opened, None)
        with monkeypatch.context() as patched:
            patched.setattr(restoring, "confirm", stop)
            with pytest.raises(KeyboardInterrupt):
                restoring.restore(engine, public, checked)
        assert restoring.known_fingerprint(engine) is None
        done = restoring.restore(engine, public, checked)
        assert done.entries == done.size
    with closing(sqlite3.connect(data / "registry.db")) as connection:
        assert connection.execute("SELECT name FROM accounts").fetchall() == [("alice",)]
    engine.dispose()


def test_an_older_database_does_not_bring_back_what_the_backup_knows_to_be_taken_away(
    original: Path, tmp_path: Path
) -> None:
    """Someone puts an older copy of the database in place and asks for a restore from the newest backup."""
    data, older, newer = tmp_path / "data", tmp_path / "older", tmp_path / "newer"
    shutil.copytree(original / "data", data)
    words = ("--data", str(data))
    run("account", "create", "bob", *words)
    run("team", "add", "web", "bob", *words)
    for workflow in ("gone.yml", "kept.yml"):
        run("publisher", "add", "acme", "--repository", "acme/site", "--workflow", workflow, *words)
    run("backup", str(older), *words)
    listed = json.loads(run("token", "list", *words, "--json").stdout)["tokens"]
    made = next(one for one in listed if one["name"] == "ci")
    run("role", "add", "acme", "--account", "alice", "--role", "reader", *words)
    run("team", "remove", "web", "bob", *words)
    run("token", "revoke", made["token"], *words)
    run("account", "disable", "bob", *words)
    trusted = json.loads(run("publisher", "list", *words, "--json").stdout)["publishers"]
    run("publisher", "remove", next(one["id"] for one in trusted if one["workflow"] == "gone.yml"), *words)
    (hook,) = json.loads(run("webhook", "list", *words, "--json").stdout)["webhooks"]
    run("webhook", "remove", hook["id"], *words)
    with closing(sqlite3.connect(data / "registry.db")) as connection:
        connection.execute("UPDATE trusted_publishers SET owner = '4711'")  # its first token binds it
        connection.commit()
    run("backup", str(newer), *words)
    fresh = tmp_path / "fresh"
    assert restore(fresh, str(older))["problems"] == []
    assert restore(fresh, str(newer))["problems"] == []
    with closing(sqlite3.connect(fresh / "registry.db")) as connection:
        assert connection.execute("SELECT count(*) FROM tokens WHERE revoked IS NULL AND name = 'ci'").fetchone() == (
            0,
        )
        assert connection.execute("SELECT name FROM accounts WHERE disabled IS NOT NULL").fetchall() == [("bob",)]
        assert connection.execute("SELECT role FROM namespace_roles").fetchall() == [("reader",)]
        assert connection.execute("SELECT * FROM team_members").fetchall() == []
        bound = connection.execute("SELECT workflow, owner FROM trusted_publishers").fetchall()
        assert bound == [("kept.yml", "4711")]
        assert connection.execute("SELECT * FROM webhooks").fetchall() == []


def test_the_untouched_backup_is_restored_with_its_rows(backup: Path, tmp_path: Path) -> None:
    assert restore(tmp_path / "fresh", str(backup))["problems"] == []
    listed = json.loads(run("token", "list", "--data", str(tmp_path / "fresh"), "--json").stdout)
    assert {"ci"} <= {one["name"] for one in listed["tokens"]}


class Hostile(BaseHTTPRequestHandler):
    """A server that never ends its answers, or leads elsewhere."""

    def do_GET(self) -> None:
        if self.path.startswith("/elsewhere/"):
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.2:9/head")
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(4096):
                self.wfile.write(b"x" * 65_536)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.mark.parametrize(("path", "code"), [("endless", "fetch-endless"), ("elsewhere", "fetch-redirect")])
def test_an_address_that_never_ends_or_leads_elsewhere_is_refused(tmp_path: Path, path: str, code: str) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_address[1]}/{path}"
        error = restore(tmp_path / "fresh", address, check=False)["error"]
    finally:
        server.shutdown()
        server.server_close()
    assert error["code"] == code, error  # type: ignore[index]
    assert not (tmp_path / "fresh").exists()


@pytest.mark.parametrize("name", ["head", "checkpoint", "config.json", "root/1"])
@pytest.mark.parametrize("make", [os.mkfifo, sparse, lambda place: place.symlink_to("/dev/zero")])
def test_a_copy_whose_files_never_end_is_refused(
    original: Path, tmp_path: Path, name: str, make: Callable[[Path], object]
) -> None:
    copy = tmp_path / "copy"
    run("export", str(copy), "--data", str(original / "data"))
    instead(copy / name, make)
    if name == "head":
        (copy / "checkpoint").unlink()  # which would be enough
    done = run("restore", "--from", str(copy), "--data", str(tmp_path / "fresh"), "--json", check=False)
    assert "Traceback" not in done.stderr
    is_none = name == "checkpoint" and make is os.mkfifo  # a copy without one has a head
    if name != "config.json" and not is_none:  # the first is a hint that nothing depends on
        codes = ("no-source", "fetch-not-found", "fetch-too-large", "fetch-unsafe")
        assert json.loads(done.stdout)["error"]["code"] in codes
        assert not (tmp_path / "fresh").exists()
    else:
        assert json.loads(done.stdout)["ok"]


def test_keys_of_another_registry_are_not_taken_for_its_own(
    original: Path, backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are restored as the operator asked, and the warning says that none of them can sign this log."""
    monkeypatch.setattr(seal, "__kwdefaults__", {"operations": 1, "memory": 8192})
    init(tmp_path / "other")
    start, _ = start_embedded(tmp_path / "other")
    stop_embedded(start)
    monkeypatch.setenv("RYE_REGISTRY_PASSPHRASE", "x")
    run("backup", str(tmp_path / "others"), "--with-keys", "--data", str(tmp_path / "other"))
    shutil.copytree(tmp_path / "others" / "keys", backup / "keys")
    done = run("restore", "--from", str(backup), "--data", str(tmp_path / "fresh"), "--with-keys", check=False)
    assert done.returncode == 0, done.stderr
    assert "contains no log key of this registry" in done.stderr
