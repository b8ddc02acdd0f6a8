"""A registry can be restored from a backup, a mirror, an export, an address or its own files: complete, verified, never a fork
(design/server.md 1)."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from registry_server.embedded import start_embedded, stop_embedded
from registry_server.migrations import opening
from registry_server.storage import database
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.mirroring import mirror
from rye.registry.protocol.tiles import Tile, decode_bundle, encode_bundle
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.transport.file import FileTransport
from rye.signing.private_text import seal
from tests.scenes.effort import rest_thorough
from tests.scenes.publisher import Client, Publisher
from tests.scenes.registry_process import ORIGIN, init, run, token
from tests.server.test_never_fork import copy_database, everything, follow, serving, shown_size

pytestmark = pytest.mark.processes

SECRET = "correct horse"


@dataclass(frozen=True)
class StoppedRegistry:
    """A registry with two items, the first of them in an older copy of its database."""

    folder: Path
    fingerprint: str
    acme: Publisher
    token: str

    @classmethod
    def made(cls, folder: Path) -> StoppedRegistry:
        data = folder / "data"
        registry = cls(folder, init(data), Publisher("acme"), token(data, "acme"))
        with serving(data) as client:
            client.statements(registry.acme.claim()).raise_for_status()
            client.publish(registry.acme, "a/one", text="Numbat one").raise_for_status()
            copy_database(data / "registry.db", registry.older)
            client.publish(registry.acme, "a/two", text="Numbat two").raise_for_status()
        follow(data, registry.fingerprint, registry.memory)
        return registry

    def copied(self, folder: Path) -> StoppedRegistry:
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return replace(self, folder=folder)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def older(self) -> Path:
        return self.folder / "older.db"

    @property
    def memory(self) -> Path:
        """The state that an older client remembers."""
        return self.folder / "memory"

    def forget_database(self) -> None:
        for path in self.data.glob("registry.db*"):
            path.unlink()

    def goes_on(self, data: Path) -> None:
        """Check a restored registry: it verifies, serves, searches, accepts the old token, and satisfies an older client."""
        assert run("verify", "--data", str(data), check=False).returncode == 0
        process, url = start_embedded(data)
        try:
            client = Client(url, token(data))
            assert client.get("/api/v1/search?q=numbat").json()["total"] == 2
            client.publish(self.acme, "a/three").raise_for_status()
        finally:
            stop_embedded(process)
        assert follow(data, self.fingerprint, self.memory) == shown_size(data)


@pytest.fixture(autouse=True)
def cheap_seals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make passphrases cheap here; tests/signing covers their cost."""
    monkeypatch.setattr(seal, "__kwdefaults__", {"operations": 1, "memory": 8192})


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> StoppedRegistry:
    return StoppedRegistry.made(tmp_path_factory.mktemp("original"))


@pytest.fixture
def registry(original: StoppedRegistry, tmp_path: Path) -> StoppedRegistry:
    """A separate copy for each test."""
    return original.copied(tmp_path)


def make_mirror(registry: StoppedRegistry, target: Path) -> None:
    store, cache = StateStore(target.parent / "m-state"), Cache(target.parent / "m-cache")
    address = (registry.data / "public").as_uri()
    with RegistryClient.open(address, accept_root=registry.fingerprint, store=store, cache=cache) as client:
        mirror(FileTransport(registry.data / "public"), client.state, target)


def restore(data: Path, source: str, *options: str, check: bool = True, **environment: str) -> dict[str, object]:
    done = run("restore", "--from", source, "--data", str(data), "--json", *options, check=False, **environment)
    assert "Traceback" not in done.stderr
    assert (done.returncode == 0) is check, done.stdout + done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    return document


class TestBackup:
    def test_it_is_incremental_and_brings_everything_back_on_a_new_machine(
        self, registry: StoppedRegistry, tmp_path: Path
    ) -> None:
        out, fresh = tmp_path / "backup", tmp_path / "fresh"
        first = json.loads(
            run(
                "backup",
                str(out),
                "--with-keys",
                "--data",
                str(registry.data),
                "--json",
                RYE_REGISTRY_PASSPHRASE=SECRET,
            ).stdout
        )
        assert (first["blobs"], first["new"], first["keys"]) == (2, 2, 2)
        with serving(registry.data) as client:
            client.publish(registry.acme, "a/extra").raise_for_status()
            second = json.loads(run("backup", str(out), "--data", str(registry.data), "--json").stdout)  # while it runs
            assert (second["blobs"], second["new"]) == (3, 1)
        assert stat.S_IMODE(out.stat().st_mode) == 0o700
        assert stat.S_IMODE((out / "database.db").stat().st_mode) == 0o600
        shutil.rmtree(registry.data)
        document = restore(fresh, str(out), "--with-keys", RYE_REGISTRY_PASSPHRASE=SECRET)
        assert (document["ok"], document["blobs"], document["fingerprint"]) == (True, 3, registry.fingerprint)
        process, url = start_embedded(fresh)
        try:
            assert Client(url, registry.token).get("/api/v1/whoami").json()["namespaces"] == ["acme"]
        finally:
            stop_embedded(process)
        registry.goes_on(fresh)

    def test_private_keys_are_sealed_or_not_there_at_all(self, registry: StoppedRegistry, tmp_path: Path) -> None:
        secrets = [path.read_text().split("+", 4)[4].strip() for path in (registry.data / "keys").iterdir()]
        assert {len(secret) for secret in secrets} == {44}
        for name, options in (("plain", []), ("sealed", ["--with-keys"])):
            out = tmp_path / name
            run("backup", str(out), *options, "--data", str(registry.data), RYE_REGISTRY_PASSPHRASE=SECRET)
            files = everything(out)
            assert any("keys/" in path for path in files) is (name == "sealed")
            assert not [path for path in files for secret in secrets if secret.encode() in files[path]]
        wrong = restore(
            tmp_path / "fresh", str(tmp_path / "sealed"), "--with-keys", check=False, RYE_REGISTRY_PASSPHRASE="wrong"
        )
        assert wrong["error"]["code"] == "wrong-passphrase"  # type: ignore[index]

    def test_an_older_database_never_replaces_a_newer_backup(self, registry: StoppedRegistry, tmp_path: Path) -> None:
        out = tmp_path / "backup"
        run("backup", str(out), "--data", str(registry.data))
        before = everything(out)
        copy_database(registry.older, registry.data / "registry.db")
        for gone in (False, True):
            if gone:  # even if the store no longer answers
                shutil.rmtree(registry.data / "public")
            done = run("backup", str(out), "--data", str(registry.data), "--json", check=False)
            assert json.loads(done.stdout)["error"]["code"] == "database-behind"
            assert everything(out) == before

    def test_a_folder_that_holds_something_else_is_left_alone(self, registry: StoppedRegistry, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "letter.txt").write_text("dear")
        done = run("backup", str(tmp_path / "mine"), "--data", str(registry.data), "--json", check=False)
        assert json.loads(done.stdout)["error"]["code"] == "wrong-folder"
        assert everything(tmp_path / "mine") == {"letter.txt": b"dear"}


class TestRestore:
    @pytest.mark.parametrize(
        ("state", "source"),
        rest_thorough(
            3,
            [
                *(("older", "address"), ("empty", "mirror"), ("older", "backup")),
                *(("older", source) for source in ("mirror", "export", "store")),
                *(("empty", source) for source in ("export", "store", "address", "backup")),
            ],
        ),
    )
    def test_missing_entries_come_back_and_the_log_goes_on(
        self, registry: StoppedRegistry, tmp_path: Path, source: str, state: str
    ) -> None:
        place = tmp_path / source
        origin = None
        if source == "mirror":
            make_mirror(registry, place)
        elif source in ("export", "backup"):
            run(source, str(place), "--data", str(registry.data))
        elif source == "address":
            shutil.copytree(registry.data, tmp_path / "origin")
            origin, url = start_embedded(tmp_path / "origin")
        if state == "empty":
            registry.forget_database()
        else:
            copy_database(registry.older, registry.data / "registry.db")
        if source != "store":
            shutil.rmtree(registry.data / "public" / "blobs")
        try:
            named = {"store": "store", "address": url if origin else ""}.get(source, str(place))
            document = restore(registry.data, named)
        finally:
            if origin is not None:
                stop_embedded(origin)
        assert document["ok"] is True
        assert document["entries"] == (2 if state == "older" else shown_size(registry.data))
        assert document["blobs"] == (0 if source == "store" else 2)
        registry.goes_on(registry.data)

    def test_an_old_backup_beside_a_newer_store_is_refused_and_the_store_itself_helps(
        self, registry: StoppedRegistry, tmp_path: Path
    ) -> None:
        newest = tmp_path / "newest.db"
        copy_database(registry.data / "registry.db", newest)
        older = tmp_path / "older"
        shutil.copytree(registry.data, older)
        copy_database(registry.older, older / "registry.db")
        for path in ("head", "checkpoint"):  # the store at the time of the backup
            (older / "public" / path).unlink()
        run("rebuild", "--data", str(older))
        run("backup", str(tmp_path / "backup"), "--data", str(older))
        registry.forget_database()
        before = everything(registry.data / "public")
        refused = restore(registry.data, str(tmp_path / "backup"), check=False)
        assert refused["error"]["code"] == "database-behind"  # type: ignore[index]
        assert everything(registry.data / "public") == before
        restore(registry.data, "store")
        registry.goes_on(registry.data)

    def test_what_a_source_forged_is_refused_and_nothing_is_written(
        self, registry: StoppedRegistry, tmp_path: Path
    ) -> None:
        good = tmp_path / "good"
        run("export", str(good), "--data", str(registry.data))
        size = shown_size(registry.data)
        bundle = Tile(0, 0, size).entries_path
        blob = next(path for path in everything(good) if path.startswith("blobs/"))
        entries = decode_bundle((good / bundle).read_bytes(), size)
        changes = {
            "entry-mismatch": {
                bundle: encode_bundle([*entries[:-2], entries[-2].replace(b"Numbat", b"Wombat"), entries[-1]])
            },
            "blob-missing": {blob: b"something else"},
            "checkpoint-signature": {
                "head": (good / "head").read_bytes().replace(b"\\n\\n\xe2\x80\x94 ", b"\\n\\n\xe2\x80\x94 x.", 1)
            },
        }
        for code, files in changes.items():
            bad = tmp_path / code
            shutil.copytree(good, bad)
            for path, data in files.items():
                (bad / path).unlink()  # a hard link to the good one
                (bad / path).write_bytes(data)
            fresh = tmp_path / f"fresh-{code}"
            refused = restore(fresh, str(bad), check=False)
            assert refused["error"]["code"] == code  # type: ignore[index]
            if code != "blob-missing":
                assert not fresh.exists()
                continue
            with closing(sqlite3.connect(fresh / "registry.db")) as connection:  # two incomplete sources add up
                assert connection.execute("SELECT count(*) FROM log_entries").fetchone() == (0,)
            assert not (fresh / "public" / "head").exists()

    def test_another_registry_and_another_history_are_refused(self, registry: StoppedRegistry, tmp_path: Path) -> None:
        stranger = tmp_path / "stranger"
        init(stranger)
        refused = restore(registry.data, str(stranger), check=False)
        assert refused["error"]["code"] == "root-fingerprint"  # type: ignore[index]
        pinned = restore(tmp_path / "fresh", str(stranger), "--fingerprint", registry.fingerprint, check=False)
        assert pinned["error"]["code"] == "root-fingerprint"  # type: ignore[index]
        twin = tmp_path / "twin"
        shutil.copytree(registry.data, twin)
        for data, name in ((twin, "a/twin"), (registry.data, "a/mine")):
            with serving(data) as client:
                client.publish(registry.acme, name).raise_for_status()
        forked = restore(registry.data, str(twin), check=False)
        assert forked["error"]["code"] == "restore-fork"  # type: ignore[index]
        registry.goes_on(registry.data)

    def test_words_for_what_is_no_source(self, registry: StoppedRegistry, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        (tmp_path / "a.tar").write_bytes(b"x")
        for source, code in (
            (str(tmp_path / "nowhere"), "no-source"),
            (str(tmp_path / "a.tar"), "no-source"),
            (str(tmp_path / "empty"), "no-source"),
            ("ftp://example.org/registry", "bad-argument"),
        ):
            before = everything(registry.data)
            assert restore(registry.data, source, check=False)["error"]["code"] == code  # type: ignore[index]
            assert everything(registry.data) == before

    def test_settings_come_from_a_backup_and_from_no_other_folder(
        self, registry: StoppedRegistry, tmp_path: Path
    ) -> None:
        """Whoever made a mirror must not choose who may sign in or read."""
        hostile = 'read = "public"\noidc_issuer = "https://id.example"\ntrusted_proxies = "0.0.0.0/0"\n'
        run("export", str(tmp_path / "copy"), "--data", str(registry.data))
        (tmp_path / "copy" / "registry.toml").write_text(hostile)
        restore(tmp_path / "fresh", str(tmp_path / "copy"))
        assert (tmp_path / "fresh" / "registry.toml").read_text() == ""


def edit(backup: Path, *commands: str) -> None:
    with closing(sqlite3.connect(backup / "database.db")) as connection, connection:
        for command in commands:
            connection.execute(command)


def rewrite(backup: Path, **changes: object) -> None:
    place = backup / "backup.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), **changes}))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def under_protocol_1(backup: Path) -> None:
    """Give the backup the head and the table that a server of protocol 1 had."""
    rewritten = json.loads((backup / "backup.json").read_text())
    del rewritten["protocol"]
    (backup / "backup.json").write_text(json.dumps(rewritten))
    with closing(sqlite3.connect(backup / "database.db")) as connection, connection:
        (document,) = connection.execute("SELECT document FROM head").fetchone()
        head = {name: value for name, value in json.loads(document).items() if name != "map"}
        text = json.dumps({**head, "shards": {"aa": "a" * 64}}).encode()
        connection.execute("UPDATE head SET document = ?", (text,))
        connection.execute("ALTER TABLE head DROP COLUMN map")
        connection.execute("CREATE TABLE downloads_daily (day, sha256, count)")


UNREADABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "of protocol 1": (under_protocol_1, "source-version"),
    "that says protocol 1": (lambda backup: rewrite(backup, protocol=1), "source-version"),
    "of a newer protocol": (lambda backup: rewrite(backup, protocol=3), "source-version"),
    "of a newer format": (lambda backup: rewrite(backup, format="rye.backup/v2"), "source-version"),
    "with a newer table": (lambda backup: edit(backup, "CREATE TABLE seals (id)"), "source-version"),
    "with a newer column": (lambda backup: edit(backup, "ALTER TABLE tokens ADD COLUMN rank"), "source-version"),
    "of another program": (lambda backup: rewrite(backup, format="other"), "wrong-folder"),
    "whose format is a number": (lambda backup: rewrite(backup, format=1), "wrong-folder"),
    "with half a manifest": (lambda backup: cut(backup / "backup.json"), "wrong-folder"),
    "with a deep manifest": (lambda backup: (backup / "backup.json").write_text("[" * 60_000), "wrong-folder"),
    "with an endless manifest": (lambda backup: (backup / "backup.json").write_text(" " * 70_000), "wrong-folder"),
    "without a manifest": (lambda backup: (backup / "backup.json").unlink(), "wrong-folder"),
    "with half a database": (lambda backup: cut(backup / "database.db"), "source-damaged"),
    "with an empty database": (lambda backup: (backup / "database.db").write_bytes(b""), "source-damaged"),
    "without a database": (lambda backup: (backup / "database.db").unlink(), "source-damaged"),
    "without a head": (lambda backup: edit(backup, "DELETE FROM head"), "source-damaged"),
    "with an empty head": (lambda backup: edit(backup, "UPDATE head SET document = NULL"), "source-damaged"),
    "with half a head": (
        lambda backup: edit(backup, "UPDATE head SET document = substr(document, 1, 99)"), "source-damaged",
    ),
    "with text for an entry": (
        lambda backup: edit(backup, "UPDATE log_entries SET leaf = 'x' WHERE position = 2"), "source-damaged",
    ),
    "without a column": (lambda backup: edit(backup, "ALTER TABLE tokens DROP COLUMN sha256"), "source-damaged"),
    "without an entry": (
        lambda backup: edit(backup, "DELETE FROM log_entries WHERE position = 2", "DELETE FROM submissions"),
        "audit-failed",
    ),
    "whose submissions name an entry that is not there": (
        lambda backup: edit(backup, "UPDATE submissions SET position = 99 WHERE position = 2"), "source-damaged",
    ),
    "with a setting of a newer version": (
        lambda backup: (backup / "registry.toml").write_text("colour = 1\n"), "unknown-name",
    ),
}  # fmt: skip


class TestUnreadableBackups:
    @pytest.mark.parametrize("what", rest_thorough(8, UNREADABLE))
    def test_it_is_refused_with_a_next_step_before_anything_is_written(
        self, registry: StoppedRegistry, tmp_path: Path, what: str
    ) -> None:
        backup, fresh = tmp_path / "backup", tmp_path / "fresh"
        run("backup", str(backup), "--data", str(registry.data))
        damage, code = UNREADABLE[what]
        damage(backup)
        done = run("restore", "--from", str(backup), "--data", str(fresh), "--json", check=False)
        error = json.loads(done.stdout)["error"]
        assert error["code"] == code, error
        assert done.returncode == (2 if code == "unknown-name" else 1)
        assert error["hint"]
        assert "Traceback" not in done.stderr
        assert not fresh.exists()
        if code != "unknown-name":  # a registry that is there uses its own settings
            before = everything(registry.data)
            refused = restore(registry.data, str(backup), check=False)
            assert refused["error"]["code"] == code  # type: ignore[index]
            assert everything(registry.data) == before

    @pytest.mark.parametrize(("protocol", "step"), [(1, "start this version once"), (3, "Install the newest")])
    def test_an_export_of_another_protocol_is_named_as_such(
        self, registry: StoppedRegistry, tmp_path: Path, protocol: int, step: str
    ) -> None:
        copy, fresh = tmp_path / "copy", tmp_path / "fresh"
        run("export", str(copy), "--data", str(registry.data))
        config = json.loads((copy / "config.json").read_text())
        (copy / "config.json").unlink()  # a hard link
        (copy / "config.json").write_text(json.dumps({**config, "protocol": protocol}))
        error = restore(fresh, str(copy), check=False)["error"]
        assert error["code"] == "source-version"  # type: ignore[index]
        assert step in error["hint"]  # type: ignore[index]
        assert not fresh.exists()

    def test_a_wrong_passphrase_writes_nothing(self, registry: StoppedRegistry, tmp_path: Path) -> None:
        backup, fresh = tmp_path / "backup", tmp_path / "fresh"
        run("backup", str(backup), "--with-keys", "--data", str(registry.data), RYE_REGISTRY_PASSPHRASE=SECRET)
        wrong = restore(fresh, str(backup), "--with-keys", check=False, RYE_REGISTRY_PASSPHRASE="wrong")
        assert wrong["error"]["code"] == "wrong-passphrase"  # type: ignore[index]
        assert not fresh.exists()


def test_a_registry_moves_to_postgresql_and_a_bad_backup_leaves_no_table_there(
    empty: str, registry: StoppedRegistry, tmp_path: Path
) -> None:
    good, bad, fresh = tmp_path / "good", tmp_path / "bad", tmp_path / "fresh"
    run("backup", str(good), "--data", str(registry.data))
    shutil.copytree(good, bad)
    cut(bad / "database.db")
    refused = restore(fresh, str(bad), check=False, RYE_REGISTRY_DATABASE=empty)
    assert refused["error"]["code"] == "source-damaged"  # type: ignore[index]
    engine = database.engine_of(empty)
    with database.reader(engine) as connection:
        assert sa.inspect(connection).get_table_names() == []
    engine.dispose()
    document = restore(fresh, str(good), RYE_REGISTRY_DATABASE=empty)
    assert (document["ok"], document["blobs"]) == (True, 2)
    assert not (fresh / "registry.db").exists()
    again = restore(fresh, str(good), RYE_REGISTRY_DATABASE=empty)
    assert (again["ok"], again["entries"], again["blobs"]) == (True, 0, 0)


@pytest.mark.thorough
def test_a_registry_moves_from_postgresql_to_sqlite(empty: str, tmp_path: Path) -> None:
    data, out, fresh = tmp_path / "data", tmp_path / "backup", tmp_path / "fresh"
    run("init", "--origin", ORIGIN, "--data", str(data), "--database", empty)
    acme = Publisher("acme")
    with serving(data) as client:
        client.statements(acme.claim()).raise_for_status()
        client.publish(acme, "a/one").raise_for_status()
    run("backup", str(out), "--with-keys", "--data", str(data), RYE_REGISTRY_PASSPHRASE=SECRET)
    (out / "registry.toml").write_text("")  # it named the old database
    document = restore(fresh, str(out), "--with-keys", RYE_REGISTRY_PASSPHRASE=SECRET)
    assert document["ok"] is True
    engine = opening.connect(f"sqlite:///{fresh / 'registry.db'}")
    engine.dispose()
    with serving(fresh) as client:
        client.publish(acme, "a/two").raise_for_status()
    address = (fresh / "public").as_uri()
    store, cache = StateStore(tmp_path / "state"), Cache(tmp_path / "cache")
    fingerprint = str(document["fingerprint"])
    with RegistryClient.open(address, accept_root=fingerprint, store=store, cache=cache) as reader:
        assert all(reader.releases([Identity("directive", "acme/a/one"), Identity("directive", "acme/a/two")]).values())
