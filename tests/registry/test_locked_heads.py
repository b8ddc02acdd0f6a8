"""The head in rye.lock: a registry must continue what a colleague, a branch or the history of git has seen (head-fork)."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.project.lock import Lock, LockError, lock_text, parse_lock
from rye.project.lock_canonical import read_canonical
from rye.project.lock_conflict import join_sides, merge
from rye.registry.protocol import notes
from rye.registry.store import witness_demands
from rye.registry.trust.trust_error import TrustError
from rye.storage.verdicts import Verdicts
from tests.registry.simulated_registry import SimulatedRegistry, key, signer
from tests.registry.test_cosigned_heads import POLICY, Scene

NOTE = "registry.example\n7\nAAAA\n\n\N{EM DASH} registry.example BBBB\n"
LARGER = NOTE.replace("\n7\n", "\n12\n")


class TestFile:
    def test_it_is_written_line_by_line_and_read_back_by_both_readers(self) -> None:
        lock = Lock(
            {"directive:acme/a": "*"}, (), {"registry.example": NOTE, "b.example": NOTE.replace("registry", "b")}
        )
        for one in (lock, replace(lock, wanted={})):
            text = lock_text(one)
            assert parse_lock(text) == one
            assert read_canonical(text) is not None
            assert "\\n" not in text
        assert '[heads]\n"b.example" = [' in lock_text(lock)

    def test_a_lock_without_heads_has_the_bytes_that_it_always_had(self) -> None:
        assert "heads" not in lock_text(Lock({"directive:acme/a": "*"}))

    @pytest.mark.parametrize(
        "body",
        ['"a" = []', '"a" = ["b"]', '"a" = ["a", 1]', '"a" = "a"', f'"a" = ["a", "{"x" * 8_000}"]', '"a" = ["a\\nb"]'],
    )
    def test_other_forms_are_refused(self, body: str) -> None:
        with pytest.raises(LockError):
            parse_lock(f"version = 1\n\n[heads]\n{body}\n")
        parse_lock('version = 1\n\n[heads]\n"a" = ["a"]\n')

    def test_heads_change_only_with_something_else(self) -> None:
        before = Lock({"directive:acme/a": "*"}, (), {"registry.example": NOTE})
        assert Lock(before.wanted).after(before, {"registry.example": LARGER}).heads == before.heads
        assert Lock({}).after(before, {"registry.example": LARGER}).heads == {}, "no row is of that registry any more"

    def test_a_merge_takes_the_larger_head_whichever_side_has_it(self) -> None:
        small, large = Lock({}, (), {"registry.example": NOTE}), Lock({}, (), {"registry.example": LARGER})
        for ours, theirs in ((small, large), (large, small)):
            merged = merge(Lock(), ours, theirs)
            assert merged.is_clean
            assert merged.ours.heads == {"registry.example": LARGER}
            text = f"<<<<<<< ours\n{lock_text(ours)}=======\n{lock_text(theirs)}>>>>>>> theirs\n"
            assert join_sides(text).lock.heads == {"registry.example": LARGER}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    found = Scene(tmp_path)
    found.read()
    return found


def noted(registry: SimulatedRegistry) -> str:
    """What a colleague's lock has."""
    return registry.head().checkpoint


class TestComparison:
    def test_what_grew_passes_and_is_not_proved_again(self, scene: Scene, tmp_path: Path) -> None:
        old = noted(scene.registry)
        for number in range(3):
            scene.publish(Identity("tool", f"acme/text/n{number}"))
        client = scene.client()
        client._judgements._verdicts = Verdicts(tmp_path / "verdicts")
        client.refresh()
        scene.transport.requested.clear()
        client.require_extends(old, "rye.lock")
        client.require_extends(old, "rye.lock")
        assert len(scene.transport.requested) <= 1
        client._judgements._verdicts.flush()
        again = scene.client()
        again._judgements._verdicts = Verdicts(tmp_path / "verdicts")
        again.refresh()
        scene.transport.requested.clear()
        again.require_extends(old, "rye.lock")
        assert scene.transport.requested == []

    def test_its_own_head_is_noted_without_cosignatures(self, scene: Scene) -> None:
        scene.cosign()
        client = scene.read(POLICY)
        note = notes.parse(client.signed_checkpoint())
        assert [line.name for line in note.signatures] == [scene.registry.origin]
        client.require_extends(client.signed_checkpoint(), "rye.lock")

    def test_a_fork_stops_with_both_notes(self, scene: Scene) -> None:
        fork = scene.registry.fork()
        for one in (fork, scene.registry):
            one.release(Identity("tool", f"acme/text/{'harm' if one is fork else 'good'}"), content=b"x")
            one.publish()
        scene.serve(None)
        client = scene.read()
        with pytest.raises(TrustError) as raised:
            client.require_extends(noted(fork), "rye.lock")
        assert raised.value.code == "head-fork"
        (kept,) = [one for _, one in witness_demands.kept_evidence(scene.store.folder)]
        assert {notes.parse(note).text for note in kept.heads.values()} == {
            fork.checkpoint().text(),
            scene.registry.checkpoint().text(),
        }
        client.require_extends(noted(scene.registry), "rye.lock")  # the control

    def test_a_fork_below_the_present_size_stops_too(self, scene: Scene) -> None:
        fork = scene.registry.fork()
        fork.release(Identity("tool", "acme/text/harm"), content=b"x")
        fork.publish()
        for name in ("one", "two", "three"):
            scene.publish(Identity("tool", f"acme/text/{name}"))
        with pytest.raises(TrustError) as raised:
            scene.read().require_extends(noted(fork), "rye.lock")
        assert (raised.value.code, raised.value.details["cause"]) == ("head-fork", "proof-root")

    def test_a_registry_that_shows_less_than_a_colleague_saw_rolled_back(self, scene: Scene) -> None:
        ahead = scene.registry.fork()
        ahead.publish()
        with pytest.raises(TrustError) as raised:
            scene.read().require_extends(noted(ahead), "rye.lock")
        assert raised.value.code == "head-rollback"

    def test_what_a_colleague_saw_before_witnesses_did_is_awaited(self, scene: Scene) -> None:
        scene.cosign()
        scene.publish(Identity("tool", "acme/text/later"))
        with pytest.raises(TrustError) as raised:
            scene.read(POLICY).require_extends(noted(scene.registry), "rye.lock")
        assert raised.value.code == "not-cosigned"

    def test_a_head_that_somebody_made_up_is_refused(self, scene: Scene) -> None:
        client = scene.read()
        text = scene.registry.checkpoint(size=9).text()
        for forged in (
            notes.sign(text, [signer(scene.registry.origin, key("stranger"))]).encode(),
            noted(scene.registry).replace(f"\n{scene.registry.size}\n", "\n1\n"),
            text,
            "",
        ):
            with pytest.raises(RyeError):
                client.require_extends(forged, "rye.lock")
        assert witness_demands.kept_evidence(scene.store.folder) == [], "what the log did not sign is no evidence"
