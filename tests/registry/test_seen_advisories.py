"""Advisories that this machine saw count until a verified index takes them back (docs/explanation/security.md)."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import pytest

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol.statements import Revocation
from rye.registry.store.pins import state_path
from rye.registry.store.seen_advisories import SeenAdvisories, read_advisories, remember_advisories
from rye.storage.safe_files import open_regular
from tests.registry.simulated_registry import SimulatedRegistry
from tests.registry.test_client import ReaderState
from tests.registry.test_records import NEW, OLD, TOOL, history_of
from tests.registry.test_withdrawn import written

ORIGIN, NUMBER = "registry.example", "RYE-2026-1"


@pytest.fixture
def registry() -> SimulatedRegistry:
    found = SimulatedRegistry()
    found.claim("acme", [OLD])
    found.release(TOOL)
    return found


@pytest.fixture
def advised(registry: SimulatedRegistry, tmp_path: Path) -> SimulatedRegistry:
    """The registry after an advisory, which this machine saw."""
    registry.advise(TOOL, "*", number=NUMBER)
    see(tmp_path, registry)
    return registry


def see(folder: Path, registry: SimulatedRegistry) -> None:
    remember_advisories(folder, ORIGIN, registry.size, [history_of(registry)])


def ranges(folder: Path) -> dict[str, str]:
    """The range of each advisory about the tool, by number."""
    return {one.number: one.range for one in SeenAdvisories(folder).about(ORIGIN, TOOL)}


def file_of(folder: Path) -> Path:
    return state_path(folder, ORIGIN).with_name("advisories.json")


def test_what_was_seen_is_kept_for_its_item_and_registry(advised: SimulatedRegistry, tmp_path: Path) -> None:
    assert ranges(tmp_path) == {NUMBER: "*"}
    assert SeenAdvisories(tmp_path).about("other.example", TOOL) == ()
    assert SeenAdvisories(tmp_path).about(ORIGIN, Identity("tool", "acme/other")) == ()


def test_its_authority_takes_it_back(advised: SimulatedRegistry, tmp_path: Path) -> None:
    advised.advise(TOOL, "<0.0.0-0", number=NUMBER)
    see(tmp_path, advised)
    assert ranges(tmp_path) == {NUMBER: "<0.0.0-0"}


def test_an_index_that_only_leaves_it_out_takes_nothing_back(advised: SimulatedRegistry, tmp_path: Path) -> None:
    """A registry that forgets what it showed: its signed index is newer, and says nothing of the advisory."""
    forgetful = SimulatedRegistry()
    forgetful.claim("acme", [OLD])
    forgetful.release(TOOL)
    for number in range(5):
        forgetful.advise(TOOL, "<0.5.0", number=f"RYE-2026-{number + 2}")
    see(tmp_path, forgetful)
    assert ranges(tmp_path)[NUMBER] == "*"
    assert len(ranges(tmp_path)) == 6


def test_the_namespace_takes_nothing_back_that_the_registry_s_owners_said(
    registry: SimulatedRegistry, tmp_path: Path
) -> None:
    """Neither by an advisory of the same number, nor by one whose key it revoked."""
    registry.advise(TOOL, "*", number=NUMBER, by_owners=True, severity="critical")
    see(tmp_path, registry)
    registry.advise(TOOL, "<0.0.0-0", number=NUMBER, severity="low")
    see(tmp_path, registry)

    def said() -> list[tuple[str, str]]:
        return [(one.severity, one.range) for one in SeenAdvisories(tmp_path).about(ORIGIN, TOOL)]

    assert said() == [("critical", "*"), ("low", "<0.0.0-0")]
    registry.claim("acme", [NEW], revoked=(Revocation(OLD.public.raw, registry.size - 1),))
    assert history_of(registry).disowned == (NUMBER,)
    see(tmp_path, registry)
    assert said() == [("critical", "*")]


def test_one_that_only_a_revoked_key_signed_counts_no_more(advised: SimulatedRegistry, tmp_path: Path) -> None:
    advised.claim("acme", [NEW], revoked=(Revocation(OLD.public.raw, advised.size - 1),))
    assert history_of(advised).disowned == (NUMBER,)
    see(tmp_path, advised)
    assert ranges(tmp_path) == {}


@pytest.mark.parametrize("before", ["*", None])
def test_a_program_that_saw_an_older_log_changes_nothing(
    registry: SimulatedRegistry, tmp_path: Path, before: str | None
) -> None:
    """``before``: what the older log says of the advisory."""
    if before is not None:
        registry.advise(TOOL, before, number=NUMBER)
    older = registry.fork()
    registry.advise(TOOL, "<1.5.0", number=NUMBER)
    see(tmp_path, registry)
    see(tmp_path, older)
    assert ranges(tmp_path) == {NUMBER: "<1.5.0"}


def test_a_newer_log_that_says_the_same_writes_nothing(advised: SimulatedRegistry, tmp_path: Path) -> None:
    before = written(file_of(tmp_path))
    advised.release(TOOL, "1.5.0")
    see(tmp_path, advised)
    assert written(file_of(tmp_path)) == before
    advised.advise(TOOL, "<1.5.0", number=NUMBER)
    see(tmp_path, advised)
    assert ranges(tmp_path) == {NUMBER: "<1.5.0"}, "and what is new is taken over"


def test_what_two_programs_see_at_once_is_kept_of_both(tmp_path: Path) -> None:
    registry = SimulatedRegistry()
    registry.claim("acme", [OLD])
    tools = [Identity("tool", f"acme/text/count-{number}") for number in range(12)]
    for tool in tools:
        registry.release(tool)
        registry.advise(tool, "*", number=NUMBER)
    histories = [history_of(registry, tool) for tool in tools]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: remember_advisories(tmp_path, ORIGIN, registry.size, [one]), histories))
    assert set(read_advisories(tmp_path, ORIGIN)) == {str(tool) for tool in tools}


def test_the_first_thing_seen_by_another_program_while_this_one_looks_counts(
    advised: SimulatedRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is not there yet when it is opened, and there right afterwards: it is no link to nothing."""
    content = file_of(tmp_path).read_bytes()
    file_of(tmp_path).unlink()

    def too_early(path: Path) -> BinaryIO:
        if file_of(tmp_path).exists():
            return open_regular(path)
        file_of(tmp_path).touch(0o600)
        file_of(tmp_path).write_bytes(content)
        raise FileNotFoundError(path)

    monkeypatch.setattr("rye.storage.private_files.open_regular", too_early)
    assert ranges(tmp_path) == {NUMBER: "*"}


def test_a_link_to_a_file_that_is_gone_is_not_nothing(advised: SimulatedRegistry, tmp_path: Path) -> None:
    file_of(tmp_path).unlink()
    file_of(tmp_path).symlink_to(tmp_path / "gone.json")
    with pytest.raises(RyeError, match="a link to a file that is not there"):
        read_advisories(tmp_path, ORIGIN)


def test_a_reader_that_stays_open_sees_what_another_program_saw(registry: SimulatedRegistry, tmp_path: Path) -> None:
    reader = SeenAdvisories(tmp_path)
    assert reader.about(ORIGIN, TOOL) == ()
    registry.advise(TOOL, "*", number=NUMBER)
    see(tmp_path, registry)
    assert [one.number for one in reader.about(ORIGIN, TOOL)] == [NUMBER]


def test_an_unchanged_file_is_read_once(
    advised: SimulatedRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = SeenAdvisories(tmp_path)
    first = reader.about(ORIGIN, TOOL)
    monkeypatch.setattr("rye.registry.store.seen_advisories.read_memory", None)
    assert reader.about(ORIGIN, TOOL) is first


def damage(path: Path) -> None:
    path.write_bytes(b'{"tool:acme/text/count": {"size": 1, "advisories": [{}]}}')


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def exposed(path: Path) -> None:
    path.chmod(0o666)


@pytest.mark.parametrize(
    ("change", "code"),
    [(damage, "state-damaged"), (cut, "state-damaged"), (pipe, "state-damaged"), (exposed, "state-exposed")],
)
def test_a_file_that_cannot_be_relied_on_is_an_error_for_readers_open_or_new_and_is_not_replaced(
    advised: SimulatedRegistry, tmp_path: Path, change: Callable[[Path], None], code: str
) -> None:
    open_before = SeenAdvisories(tmp_path)
    open_before.about(ORIGIN, TOOL)
    change(file_of(tmp_path))
    advised.advise(TOOL, "*", number="RYE-2026-2")
    uses: list[Callable[[], object]] = [
        lambda: open_before.about(ORIGIN, TOOL),
        lambda: SeenAdvisories(tmp_path).about(ORIGIN, TOOL),
        lambda: see(tmp_path, advised),
    ]
    for use in uses:
        with pytest.raises(RyeError) as raised:
            use()
        assert raised.value.code == code
        assert "rye audit" in (raised.value.hint or "")


@pytest.mark.processes
def test_what_a_run_saw_is_remembered_also_if_the_run_fails(tmp_path: Path) -> None:
    """Otherwise whoever silences the registry before the next one takes the advisory back."""
    reader = ReaderState(tmp_path)
    reader.pin()
    reader.registry.advise(TOOL, "*", number=NUMBER)
    reader.registry.publish()

    def failing() -> None:
        with reader.client() as client:
            client.histories([TOOL])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert ranges(reader.store.folder) == {NUMBER: "*"}
