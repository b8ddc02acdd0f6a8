"""A head's two signatures are verified once and cached; its other checks happen in every run."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.registry.client import RegistryClient
from rye.registry.judgements import Judgements
from rye.registry.protocol import notes, wire
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.storage.verdicts import Verdicts
from tests.registry.memory_transport import MemoryTransport
from tests.registry.simulated_client import pinned, seen
from tests.registry.simulated_registry import SimulatedRegistry, key

ADDRESS = "https://registry.example"


class World:
    """One registry, and one user whose verdicts are cached."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.registry = SimulatedRegistry()
        self.registry.claim("acme")
        self.registry.publish()
        self.folder = folder
        self.looks = 0
        verify = notes.verify

        def counted(*arguments: object) -> object:
            self.looks += 1
            return verify(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(notes, "verify", counted)

    def looks_of_a_run(self, *, keeps: bool = True) -> int:
        """How many signed notes a run of the client verifies. ``keeps``: whether the run commits its state."""
        self.looks = 0
        verdicts = Verdicts(self.folder / "verdicts.sqlite", b"the code of today")
        client = RegistryClient(
            ADDRESS,
            MemoryTransport(self.registry.files),
            StateStore(self.folder / "state"),
            Cache(self.folder / "cache"),
            now=lambda: self.registry.now,
            verdicts=verdicts,
        )
        try:
            client.refresh(self.registry.fingerprint)
            looks = self.looks
            if keeps:
                client.commit()
                verdicts.flush()
        finally:
            client.close()
            verdicts.close()
        return looks


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def refusal(world: World) -> str:
    with pytest.raises(RyeError) as raised:
        world.looks_of_a_run()
    return raised.value.code


def test_a_head_that_did_not_change_is_not_verified_again(world: World) -> None:
    assert world.looks_of_a_run() >= 2
    assert world.looks_of_a_run() == 0
    world.registry.publish()
    assert world.looks_of_a_run() == 2


def test_a_run_that_fails_remembers_nothing(world: World) -> None:
    world.looks_of_a_run()
    world.registry.publish()
    world.looks_of_a_run(keeps=False)
    assert world.looks_of_a_run() == 2


def test_another_byte_is_another_head(world: World) -> None:
    world.looks_of_a_run()
    forged = notes.sign(world.registry.checkpoint().text(), world.registry.log_signers([key("somebody else")]))
    world.registry.files["head"] = wire.encode_head(world.registry.head(checkpoint=forged))
    assert refusal(world) == "checkpoint-signature"


def test_a_remembered_head_is_refused_when_it_takes_entries_back(world: World) -> None:
    world.looks_of_a_run()
    before = dict(world.registry.files)
    world.registry.publish()
    world.looks_of_a_run()
    world.registry.files.update(before)
    assert refusal(world) == "head-rollback"


def test_a_remembered_head_is_refused_under_an_expired_root(world: World) -> None:
    world.looks_of_a_run()
    world.registry.pass_time(days=366)
    assert refusal(world) == "root-expired"


def test_a_head_is_remembered_for_one_root_only(world: World, tmp_path: Path) -> None:
    state, head = seen(world.registry), world.registry.files["head"]
    judgements = Judgements(Verdicts(tmp_path / "v.sqlite", b"code"), 1 << 20)
    judgements.remember_signed(head, state)
    assert judgements.is_signed(head, state)
    assert not judgements.is_signed(head + b" ", state)
    world.registry.add_root(replace(world.registry.root(), logs=(key("log 2").public.raw,)))
    assert not judgements.is_signed(head, pinned(world.registry))


def test_without_a_file_nothing_is_remembered(world: World) -> None:
    judgements = Judgements(Verdicts(None), 1 << 20)
    judgements.remember_signed(b"head", pinned(world.registry))
    assert not judgements.is_signed(b"head", pinned(world.registry))
