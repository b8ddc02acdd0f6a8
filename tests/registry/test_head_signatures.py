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


class CountingReader:
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
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountingReader:
    return CountingReader(tmp_path, monkeypatch)


def refusal(reader: CountingReader) -> str:
    with pytest.raises(RyeError) as raised:
        reader.looks_of_a_run()
    return raised.value.code


def test_a_head_that_did_not_change_is_not_verified_again(reader: CountingReader) -> None:
    assert reader.looks_of_a_run() >= 2
    assert reader.looks_of_a_run() == 0
    reader.registry.publish()
    assert reader.looks_of_a_run() == 2


def test_a_run_that_fails_remembers_nothing(reader: CountingReader) -> None:
    reader.looks_of_a_run()
    reader.registry.publish()
    reader.looks_of_a_run(keeps=False)
    assert reader.looks_of_a_run() == 2


def test_another_byte_is_another_head(reader: CountingReader) -> None:
    reader.looks_of_a_run()
    forged = notes.sign(reader.registry.checkpoint().text(), reader.registry.log_signers([key("somebody else")]))
    reader.registry.files["head"] = wire.encode_head(reader.registry.head(checkpoint=forged))
    assert refusal(reader) == "checkpoint-signature"


def test_a_remembered_head_is_refused_when_it_takes_entries_back(reader: CountingReader) -> None:
    reader.looks_of_a_run()
    before = dict(reader.registry.files)
    reader.registry.publish()
    reader.looks_of_a_run()
    reader.registry.files.update(before)
    assert refusal(reader) == "head-rollback"


def test_a_remembered_head_is_refused_under_an_expired_root(reader: CountingReader) -> None:
    reader.looks_of_a_run()
    reader.registry.pass_time(days=366)
    assert refusal(reader) == "root-expired"


def test_a_head_is_remembered_for_one_root_only(reader: CountingReader, tmp_path: Path) -> None:
    state, head = seen(reader.registry), reader.registry.files["head"]
    judgements = Judgements(Verdicts(tmp_path / "v.sqlite", b"code"), 1 << 20)
    judgements.remember_signed(head, state)
    assert judgements.is_signed(head, state)
    assert not judgements.is_signed(head + b" ", state)
    reader.registry.add_root(replace(reader.registry.root(), logs=(key("log 2").public.raw,)))
    assert not judgements.is_signed(head, pinned(reader.registry))


def test_without_a_file_nothing_is_remembered(reader: CountingReader) -> None:
    judgements = Judgements(Verdicts(None), 1 << 20)
    judgements.remember_signed(b"head", pinned(reader.registry))
    assert not judgements.is_signed(b"head", pinned(reader.registry))
