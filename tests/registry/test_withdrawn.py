"""Takedowns that this machine saw are never forgotten (docs/explanation/security.md)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.registry.store.pins import make_pinned, read_withdrawn, remember_withdrawn, state_path
from rye.registry.store.seen_advisories import read_advisories
from tests.registry.test_client import TOOL, ReaderState, refusal

ORIGIN = "registry.example"


def test_what_two_programs_see_at_once_is_kept_of_both(tmp_path: Path) -> None:
    """Each writer holds the lock from its last read to its write."""
    seen = [f"directive:acme/item-{number} 1.0.0" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: remember_withdrawn(tmp_path, ORIGIN, [one]), seen))
    assert read_withdrawn(tmp_path, ORIGIN) == set(seen)


def written(path: Path) -> tuple[int, int]:
    """Which file it is, and when it was written."""
    return path.stat().st_ino, path.stat().st_mtime_ns


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def exposed(path: Path) -> None:
    path.chmod(0o666)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("change", "code"), [(damage, "state-damaged"), (exposed, "state-exposed"), (folder, "state-damaged")]
)
def test_a_file_that_cannot_be_relied_on_is_an_error_and_is_not_replaced(
    tmp_path: Path, change: Callable[[Path], None], code: str
) -> None:
    """It was taken for an empty one, and then written anew: a registry could bring back what it had taken down."""
    reader = ReaderState(tmp_path)
    reader.pin()
    reader.registry.take_down(TOOL, "1.0.0", [sha256(b"count\n").hexdigest()])
    reader.registry.publish()
    with reader.client() as client:
        client.histories([TOOL])
    path = state_path(reader.store.folder, reader.registry.origin).with_name("withdrawn.json")
    change(path)

    def look() -> None:
        with reader.client() as client:
            client.histories([TOOL])

    before = written(path)
    error = refusal(look)
    assert (error.code, "rye audit" in (error.hint or "")) == (code, True)
    with pytest.raises(RyeError, match=r"takedowns|trusted"):
        remember_withdrawn(reader.store.folder, reader.registry.origin, ["tool:acme/other 1.0.0"])
    assert written(path) == before
    pinned = make_pinned(reader.store.folder, reader.registry.origin, "", {})
    assert pinned.withdrawn_of("acme") == ("?",), "what was verified before counts no more"


def test_whoever_forgets_a_registry_forgets_what_its_log_said(tmp_path: Path) -> None:
    """It is founded again under the same name: the new log never took the release down, and its heads are small."""
    reader = ReaderState(tmp_path)
    reader.pin()
    reader.registry.advise(TOOL, "*", number="RYE-2026-1")
    reader.registry.take_down(TOOL, "1.0.0", [sha256(b"count\n").hexdigest()])
    reader.registry.publish()
    with reader.client() as client:
        client.histories([TOOL])
    origin, states = reader.registry.origin, reader.store.folder
    assert (len(read_withdrawn(states, origin)), len(read_advisories(states, origin))) == (1, 1)
    reader.store.forget(origin)
    assert (read_withdrawn(states, origin), read_advisories(states, origin)) == (frozenset(), {})
    again = ReaderState(tmp_path / "again")
    again.store, again.cache = reader.store, reader.cache
    again.pin()
    with again.client() as client:
        assert len(client.releases([TOOL])[TOOL]) == 1
