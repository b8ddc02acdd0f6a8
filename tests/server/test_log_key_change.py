"""``docs/how-to/registry-recovery.md``: the log's key changes while two servers run, and an upgrade is rehearsed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rye.registry.client import RegistryClient
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from tests.docs.typed_blocks import typed
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import ORIGIN, init, run

pytestmark = pytest.mark.processes
PAGE = "how-to/registry-recovery.md"


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path, str]:
    """Two servers' folders with keys of their own, over one database and one store; and the fingerprint."""
    first, second = tmp_path / "first", tmp_path / "second"
    fingerprint = init(first)
    second.mkdir()
    shutil.copytree(first / "keys", second / "keys")
    for name in ("public", "uploads", "staged", "analyses"):
        (first / name).mkdir(exist_ok=True)
        (second / name).symlink_to(first / name)
    (second / "registry.toml").write_text(f'database = "sqlite:///{first / "registry.db"}"\n')
    return first, second, fingerprint


def drafted(tmp_path: Path, first: Path) -> dict[str, str]:
    """Type the first block of the page; return the replacements for the second."""
    (owner,) = (first / "keys").glob("root-*.key")
    names = {"log-2.key": str(tmp_path / "log-2.key"), "root-2": str(tmp_path / "root-2"), "/srv/rye": str(first)}
    names |= {"/media/usb/owner.key": str(owner), "registry.example.org": ORIGIN}
    (_, make), (_, draft), (_, sign) = typed(PAGE, "log key", names)
    fresh = run(*make).stdout.strip()
    shown = json.loads(run("root", "show", "--data", str(first), "--json").stdout)["text"]
    old = next(line for line in shown.splitlines() if line.startswith("log "))[4:]
    run(*({"NEW": fresh, "OLD": old}.get(word, word) for word in draft))
    run(*sign)
    return names


def test_two_servers_publish_all_the_time_when_each_has_the_key_first(
    two: tuple[Path, Path, str], tmp_path: Path
) -> None:
    first, second, fingerprint = two
    acme = Publisher("acme")
    with LocalRegistry(first, make=False) as one:
        token = one.token()
        assert one.statements(token, acme.claim()).status_code == 200
    names = drafted(tmp_path, first)
    for data in (first, second):
        shutil.copy(tmp_path / "log-2.key", data / "keys")
    with LocalRegistry(first, make=False) as one, LocalRegistry(second, make=False) as other:
        assert one.publish(acme, "a/before", token).status_code == 200
        ((_, publish),) = typed(PAGE, "publish root", names)
        run(*publish)
        assert other.publish(acme, "a/other", token).status_code == 200
        assert one.publish(acme, "a/one", token).status_code == 200
    for data in (first, second):
        (old,) = [path for path in (data / "keys").glob("log-*.key") if path.name != "log-2.key"]
        old.unlink()
    with LocalRegistry(second, make=False) as other:
        assert other.publish(acme, "a/after", token).status_code == 200
    address, store = (first / "public").as_uri(), StateStore(tmp_path / "state")
    with RegistryClient.open(address, accept_root=fingerprint, store=store, cache=Cache(tmp_path / "c")) as reader:
        assert reader.state.root.number == 2
    assert "No problems" in run("verify", "--data", str(first)).stdout


def test_a_server_that_lacks_the_key_stops_and_the_other_goes_on(two: tuple[Path, Path, str], tmp_path: Path) -> None:
    """The control: the wrong order is a pause on one server, and no fork."""
    first, second, _ = two
    acme = Publisher("acme")
    names = drafted(tmp_path, first)
    shutil.copy(tmp_path / "log-2.key", first / "keys")
    with LocalRegistry(second, make=False) as other:
        token = other.token()
        assert other.statements(token, acme.claim()).status_code == 200
        ((_, publish),) = typed(PAGE, "publish root", names)
        run(*publish)
        refused = other.publish(acme, "a/one", token)
        assert (refused.status_code, error_code(refused)) == (503, "log-key-missing")
        with LocalRegistry(first, make=False) as one:
            assert one.publish(acme, "a/one", token).status_code == 200
    assert "No problems" in run("verify", "--data", str(first)).stdout


def test_an_upgrade_is_rehearsed_on_a_backup_that_reaches_nothing_real(tmp_path: Path) -> None:
    data, backup, rehearsal = tmp_path / "data", tmp_path / "backup", tmp_path / "rehearsal"
    init(data)
    with (data / "registry.toml").open("a") as file:
        file.write(f'database = "sqlite:///{data / "registry.db"}"\n')
    run("backup", str(backup), "--data", str(data))
    before = (data / "registry.db").read_bytes()
    rehearsal.mkdir()
    (rehearsal / "registry.toml").touch()
    for _, words in typed(PAGE, "rehearse", {"/mnt/backup": str(backup), "/srv/rehearsal": str(rehearsal)}):
        run(*words)
    assert (rehearsal / "registry.db").is_file()
    assert not list(rehearsal.glob("keys/log-*"))
    assert (data / "registry.db").read_bytes() == before
