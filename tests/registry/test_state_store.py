"""The trusted state on disk: complete, private, merged between programs, and never silently forgotten."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.registry.store.state import StateError, StateStore, decode, encode, merge
from rye.registry.trust.trusted import KeysetHead, TrustedState
from tests.registry.simulated_client import seen
from tests.registry.simulated_registry import SimulatedRegistry

pytestmark = pytest.mark.processes

HASH = "0" * 64


@pytest.fixture
def state() -> TrustedState:
    return replace(
        seen(SimulatedRegistry()), keysets={"acme": KeysetHead(2, HASH, 7)}, accepted_recoveries=frozenset({HASH})
    )


def test_a_state_is_kept_whole_and_private(tmp_path: Path, state: TrustedState) -> None:
    store = StateStore(tmp_path / "registries")
    assert store.load(state.origin) is None
    assert store.save(state) == state
    assert store.load(state.origin) == state
    assert store.origins() == [state.origin]
    assert stat.S_IMODE(store.path(state.origin).stat().st_mode) == 0o600
    assert decode(encode(state)) == state


def test_saving_what_is_there_writes_nothing(tmp_path: Path, state: TrustedState) -> None:
    store = StateStore(tmp_path)
    store.save(state)
    before = store.path(state.origin).stat().st_mtime_ns
    store.save(state)
    assert store.path(state.origin).stat().st_mtime_ns == before


def test_a_registry_is_forgotten_only_on_request(tmp_path: Path, state: TrustedState) -> None:
    store = StateStore(tmp_path)
    store.save(state)
    assert store.forget(state.origin)
    assert not store.forget(state.origin)
    assert store.load(state.origin) is None


@pytest.mark.parametrize("change", [b"", b"{", b"\xff", b"{}", b"null"])
def test_a_damaged_state_is_an_error_and_not_a_first_contact(
    tmp_path: Path, state: TrustedState, change: bytes
) -> None:
    store = StateStore(tmp_path)
    store.save(state)
    store.path(state.origin).write_bytes(change)
    with pytest.raises(StateError) as raised:
        store.load(state.origin)
    assert raised.value.code == "state-damaged"
    with pytest.raises(StateError):
        store.save(state)


def test_a_state_with_a_part_changed_is_damaged(state: TrustedState) -> None:
    data = encode(state)
    changes = {
        b'"version": 2': b'"version": 1',
        b"registry.example": b"another.example",
        b"rye.root/v1": b"rye.root/v2",
    }
    for old, new in changes.items():
        assert old in data
        with pytest.raises(StateError):
            decode(data.replace(old, new, 1))
    with pytest.raises(StateError):
        decode(encode(replace(state, head="{}")))
    with pytest.raises(StateError):
        decode(encode(replace(state, roots=())))


def test_two_programs_know_together_what_each_knew() -> None:
    registry = SimulatedRegistry()
    first = replace(seen(registry), keysets={"a": KeysetHead(1, HASH, 3), "b": KeysetHead(2, HASH, 5)})
    registry.add_root()
    registry.publish()
    later = {"b": KeysetHead(1, "1" * 64, 4), "c": KeysetHead(1, HASH, 6)}
    second = replace(seen(registry), keysets=later, accepted_recoveries=frozenset({HASH}))
    for merged in (merge(first, second), merge(second, first)):
        assert merged.roots == second.roots
        assert merged.head == second.head
        assert {name: head.number for name, head in merged.keysets.items()} == {"a": 1, "b": 2, "c": 1}
        assert merged.accepted_recoveries == {HASH}


def test_programs_that_were_shown_different_histories_conflict() -> None:
    registry = SimulatedRegistry()
    other = registry.fork()
    registry.claim("acme")
    other.claim("rival")
    for one in (registry, other):
        one.publish()
    with pytest.raises(StateError) as raised:
        merge(seen(registry), seen(other))
    assert raised.value.code == "state-conflict"
    registry.add_root()
    other.pass_time(hours=1)
    other.add_root()
    for one in (registry, other):
        one.publish()
    with pytest.raises(StateError) as raised:
        merge(seen(registry), seen(other))
    assert raised.value.code == "state-conflict"


def test_a_smaller_head_is_reconciled_with_the_larger_before_it_gives_way(tmp_path: Path) -> None:
    registry, store = SimulatedRegistry(), StateStore(tmp_path)
    small = seen(registry)
    registry.publish()
    large = seen(registry)
    asked: list[tuple[TrustedState, TrustedState]] = []
    store.save(large)
    store.save(small, lambda one, other: asked.append((one, other)))
    assert store.load(registry.origin) == large
    assert asked == [(small, large)]

    def refuse(_one: TrustedState, _other: TrustedState) -> None:
        raise StateError("state-conflict", "no")

    with pytest.raises(StateError):
        store.save(small, refuse)


def test_addresses_remember_their_registry(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    assert store.origin_at("https://one.example") is None
    store.remember_address("https://one.example", "one.example")
    store.remember_address("https://two.example", "two.example")
    assert store.origin_at("https://one.example") == "one.example"
    (tmp_path / "addresses.json").write_bytes(b"[]")
    with pytest.raises(StateError):
        store.origin_at("https://one.example")


def _save(folder: str, numbers: list[int], data: bytes) -> None:
    state, store = decode(data), StateStore(Path(folder))
    for number in numbers:
        store.save(replace(state, keysets={f"n{number}": KeysetHead(1, HASH, number)}))


def test_no_program_loses_what_another_saved_at_the_same_time(tmp_path: Path, state: TrustedState) -> None:
    data = encode(replace(state, keysets={}))
    with ProcessPoolExecutor(4) as pool:
        list(pool.map(_save, [str(tmp_path)] * 4, [list(range(start, 40, 4)) for start in range(4)], [data] * 4))
    merged = StateStore(tmp_path).load(state.origin)
    assert merged is not None
    assert set(merged.keysets) == {f"n{number}" for number in range(40)}


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_state_that_others_may_change_is_not_trusted(tmp_path: Path, state: TrustedState, mode: int) -> None:
    store = StateStore(tmp_path)
    store.save(state)
    store.remember_address("https://one.example", state.origin)
    for path in (store.path(state.origin), tmp_path / "addresses.json"):
        path.chmod(mode)
        read = (lambda: store.load(state.origin)) if path.name == "state.json" else store.addresses
        with pytest.raises(StateError) as caught:
            read()
        assert caught.value.code == "state-exposed"
        assert f"chmod 600 {path}" in str(caught.value.hint)
        path.chmod(0o600)
        assert read() is not None


class TestOthersWhoMayWrite:
    """Trusted state that someone else can replace is refused, with the command that fixes it (findings A 13)."""

    @pytest.fixture
    def kept(self, tmp_path: Path) -> tuple[StateStore, Path]:
        store = StateStore(tmp_path / "registries")
        state = seen(SimulatedRegistry())
        store.save(state)
        return store, store.path(state.origin)

    def refused(self, store: StateStore) -> StateError:
        with pytest.raises(StateError) as raised:
            store.load("registry.example")
        with pytest.raises(StateError):
            store.origins()
        assert raised.value.code == "state-exposed"
        return raised.value

    def test_a_folder_that_anybody_may_write_to(self, kept: tuple[StateStore, Path]) -> None:
        store, path = kept
        path.parent.chmod(0o777)
        assert f"chmod 700 {path.parent}" in str(self.refused(store).hint)
        path.parent.chmod(0o1777)
        assert store.load("registry.example") is not None
        path.parent.chmod(0o775)  # a private group for each user, as many systems have
        assert store.load("registry.example") is not None

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
    @pytest.mark.parametrize("which", ["file", "folder"])
    def test_one_that_belongs_to_somebody_else(self, kept: tuple[StateStore, Path], which: str) -> None:
        store, path = kept
        os.chown(path if which == "file" else path.parent, 4242, -1)
        assert "chown 0" in str(self.refused(store).hint)

    def test_a_pipe_in_its_place_holds_nobody(self, kept: tuple[StateStore, Path]) -> None:
        store, path = kept
        path.unlink()
        os.mkfifo(path, 0o600)
        with pytest.raises(StateError) as raised:
            store.load("registry.example")
        assert raised.value.code == "state-damaged"
