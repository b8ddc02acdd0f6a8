"""A client that demands witnesses: it reads the newest head that enough of them cosigned, and stops at everything else.

Each attack has its control: the same registry, undisturbed, passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry import airgap, mirroring
from rye.registry.client import RegistryClient
from rye.registry.protocol import notes, wire
from rye.registry.protocol.cosignatures import Cosigner
from rye.registry.protocol.notes import NoteSignature, SignedNote
from rye.registry.protocol.witness_policy import Policy, read_policy, simple_policy
from rye.registry.store import witness_demands
from rye.registry.store.cache import Cache
from rye.registry.store.pins import read_pinned, remember_removal, witnesses_path
from rye.registry.store.state import StateStore
from rye.registry.trust.cosigned import WitnessDemand
from rye.registry.trust.trust_error import TrustError
from tests.registry.memory_transport import MemoryTransport
from tests.registry.simulated_registry import SimulatedRegistry, key, signer
from tests.registry.witness_keys import cosigned, ed25519, ml_dsa

TOOL, LATER = Identity("tool", "acme/text/count"), Identity("tool", "acme/text/later")
W1, W2, W3, STRANGER = ed25519("w1"), ed25519("w2"), ml_dsa("w3"), ed25519("stranger")
ALL = (W1, W2, W3)
POLICY = simple_policy([one.verifier for one in ALL], 2)
ADDRESS = "https://registry.example"


class Scene:
    """A registry with witnesses, and a user who demands two of three."""

    def __init__(self, folder: Path):
        self.registry = SimulatedRegistry()
        self.registry.claim("acme")
        self.registry.release(TOOL, content=b"count\n")
        self.registry.publish()
        self.store = StateStore(folder / "state")
        self.cache = Cache(folder / "cache")
        self.transport = MemoryTransport(dict(self.registry.files))
        self.best: wire.Head | None = None

    def at(self, **parts: float) -> int:
        """A witness's clock, off by this much."""
        return int((self.registry.now + timedelta(**parts)).timestamp())

    def signed(
        self, *cosigners: Cosigner, time: int | None = None, registry: SimulatedRegistry | None = None
    ) -> wire.Head:
        """The head of the registry's present, cosigned."""
        head = (registry or self.registry).head()
        note = cosigned(notes.parse(head.checkpoint), self.at() if time is None else time, *cosigners)
        return replace(head, checkpoint=note.encode())

    def serve(
        self, older: wire.Head | None, *, registry: SimulatedRegistry | None = None, newest: wire.Head | None = None
    ) -> None:
        """Show a registry's present, or ``newest``, with an older head that was cosigned."""
        shown = registry or self.registry
        member = None if older is None else wire.CosignedHead(older.checkpoint, older.snapshot, older.proof, older.map)
        self.transport.files = {
            **self.transport.files,  # what it ever served stays
            **shown.files,
            "head": wire.encode_head(replace(newest or shown.head(), cosigned=member)),
        }

    def cosign(self, *cosigners: Cosigner, time: int | None = None) -> wire.Head:
        """Cosign the present and show it, with the cosignatures at its own checkpoint."""
        self.best = self.signed(*(cosigners or ALL), time=time)
        self.serve(None, newest=self.best)
        return self.best

    def publish(self, *names: Identity) -> None:
        """Log releases that no witness has seen yet."""
        for name in names or (LATER,):
            self.registry.release(name, content=str(name).encode())
        self.registry.publish()
        self.serve(self.best)

    def client(
        self, demand: WitnessDemand | Policy | None = None, *, offline: bool = False, writes: bool = False
    ) -> RegistryClient:
        given = WitnessDemand(demand) if isinstance(demand, Policy) else demand
        return RegistryClient(
            ADDRESS,
            self.transport,
            self.store,
            self.cache,
            now=lambda: self.registry.now,
            witnesses=given,
            offline=offline,
            writes=writes,
        )

    def read(self, demand: WitnessDemand | Policy | None = None, **how: bool) -> RegistryClient:
        client = self.client(demand, **how)
        client.refresh(self.registry.fingerprint)
        client.commit()
        return client

    def refused(self, demand: WitnessDemand | Policy | None = None, **how: bool) -> TrustError:
        before = self.store.load(self.registry.origin)
        with pytest.raises(TrustError) as raised:
            self.read(demand, **how)
        assert self.store.load(self.registry.origin) == before, "a refused head changes nothing"
        return raised.value


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


class TestWhatIsRead:
    def test_a_cosigned_newest_head_is_read_as_without_a_policy(self, scene: Scene) -> None:
        scene.cosign(W1, W3)
        client = scene.read(POLICY)
        assert client.head.checkpoint.size == scene.registry.size
        assert client.waiting is None
        assert client.cosigned is not None
        assert {one.key for one in client.cosigned.cosignatures} == {W1.verifier, W3.verifier}
        client.check_logged(client.releases([TOOL])[TOOL])

    def test_later_entries_do_not_exist_yet(self, scene: Scene) -> None:
        size = scene.registry.size
        scene.cosign()
        scene.registry.pass_time(seconds=4)
        scene.publish(LATER)
        client = scene.read(POLICY)
        assert client.head.checkpoint.size == size
        assert client.releases([TOOL, LATER])[LATER] == ()
        assert client.waiting is not None
        assert client.waiting.told(scene.registry.now) == "2 entries wait for witnesses, the newest 0 s old."
        client.check_logged(client.releases([TOOL])[TOOL])
        assert notes.parse(
            wire.decode_head(client.prove(client.releases([TOOL])[TOOL]).head.encode()).checkpoint
        ).signatures[1:]
        scene.cosign()
        assert len(scene.read().releases([LATER])[LATER]) == 1  # the control, when witnesses have seen it

    def test_the_policy_is_remembered_and_demanded_by_every_later_client(self, scene: Scene) -> None:
        scene.cosign()
        scene.read(POLICY)
        scene.serve(None)
        scene.best = None
        scene.registry.pass_time(hours=25)
        scene.registry.publish()
        scene.serve(None)
        assert scene.refused().code == "witness-frozen"
        witness_demands.write_demand(scene.store.folder, scene.registry.origin, None)
        assert scene.read().head.checkpoint.size == scene.registry.size  # the control: without a policy

    def test_an_unchanged_or_cosigned_head_costs_no_request_more(self, scene: Scene, tmp_path: Path) -> None:
        plain = Scene(tmp_path / "plain")
        plain.read()
        scene.cosign()
        scene.read(POLICY)
        for one in (plain, scene):
            one.transport.requested.clear()
            one.registry.release(LATER, content=b"later\n")
            one.registry.publish()
        plain.serve(None)
        scene.cosign()
        plain.read().releases([LATER])
        scene.read().releases([LATER])
        assert [len(wave) for wave in scene.transport.requested] == [len(wave) for wave in plain.transport.requested]

    def test_quorum_none_demands_nothing(self, scene: Scene) -> None:
        client = scene.read(read_policy(b"quorum none\n"))
        assert (client.demand, client.head.checkpoint.size) == (None, scene.registry.size)

    def test_who_writes_continues_from_the_newest_head(self, scene: Scene) -> None:
        scene.cosign()
        scene.read(POLICY)
        scene.publish(LATER)
        assert scene.read(writes=True).head.checkpoint.size == scene.registry.size
        assert scene.read().head.checkpoint.size < scene.registry.size

    def test_offline_reads_the_cosigned_head_as_long_as_any_head_may_be_read(self, scene: Scene) -> None:
        scene.cosign()
        size = scene.read(POLICY).head.checkpoint.size
        scene.publish(LATER)
        scene.read()
        scene.registry.pass_time(hours=49)
        assert scene.read(offline=True).head.checkpoint.size == size
        scene.registry.pass_time(days=6)
        assert scene.refused(offline=True).code in ("head-frozen", "witness-frozen")

    def test_a_policy_taken_after_a_larger_head_was_seen_starts_from_the_cosigned_one(self, scene: Scene) -> None:
        best = scene.cosign()
        scene.publish(LATER)
        assert scene.read().head.checkpoint.size == scene.registry.size
        assert scene.read().keysets(["acme"])["acme"].links
        client = scene.read(POLICY)
        assert client.head.checkpoint.size == notes_size(best)
        assert client.keysets(["acme"])["acme"].links

    def test_a_policy_may_list_the_registrys_log(self, scene: Scene) -> None:
        scene.cosign()
        own = signer(scene.registry.origin, scene.registry.logs[0]).verifier
        other = signer(scene.registry.origin, key("another log")).verifier
        text = POLICY.text
        assert scene.refused(read_policy(f"log {other.vkey}\n{text}".encode())).code == "cosigned-head"
        assert scene.read(read_policy(f"log {own.vkey}\n{text}".encode())).cosigned is not None

    def test_what_is_locked_and_not_cosigned_is_named(self, scene: Scene) -> None:
        scene.cosign()
        position = scene.registry.size
        scene.publish(LATER)
        client = scene.read(POLICY)
        with pytest.raises(TrustError) as raised:
            client.require_cosigned(position, "it")
        assert raised.value.code == "not-cosigned"
        client.require_cosigned(position - 1, "it")

    def test_a_takedown_that_was_seen_before_witnesses_did_is_awaited(self, scene: Scene) -> None:
        scene.cosign()
        (release,) = scene.read().releases([TOOL])[TOOL]
        scene.registry.take_down(TOOL, "1.0.0", [release.release.file.sha256])
        scene.publish(LATER)
        with scene.client() as seen:  # as `rye publish` does, whatever is demanded
            seen.refresh()
            assert seen.releases([TOOL])[TOOL][0].takedown is not None
        with pytest.raises(TrustError) as raised:
            scene.read(POLICY).releases([TOOL])
        assert raised.value.code == "not-cosigned"
        scene.cosign()
        assert scene.read().releases([TOOL])[TOOL][0].takedown is not None

    def test_roots_after_the_cosigned_head_count_at_once(self, scene: Scene) -> None:
        scene.cosign()
        scene.read(POLICY)
        scene.registry.add_root()
        scene.publish(LATER)
        client = scene.read()
        assert (client.state.root.number, client.head.snapshot.root) == (2, 1)
        assert len(client.releases([TOOL])[TOOL]) == 1
        assert len(client.as_copied.roots) == 1


class TestCosignatures:
    @pytest.mark.parametrize("who", [(), (W1,), (STRANGER,), (W1, STRANGER), (W2, W2)])
    def test_too_few_are_no_quorum(self, scene: Scene, who: Sequence[Cosigner]) -> None:
        if who:
            scene.cosign(*who)
        assert scene.refused(POLICY).code == "witness-quorum"
        scene.cosign(W1, W3)
        scene.read(POLICY)

    def test_those_of_another_log_do_not_verify_here(self, scene: Scene) -> None:
        elsewhere = SimulatedRegistry(origin="elsewhere.example")
        elsewhere.publish()
        foreign = notes.parse(scene.signed(*ALL, registry=elsewhere).checkpoint).signatures[1:]
        own = notes.parse(scene.registry.head().checkpoint)
        moved = SignedNote(own.text, (*own.signatures, *foreign)).encode()
        scene.serve(None, newest=replace(scene.registry.head(), checkpoint=moved))
        assert scene.refused(POLICY).code == "cosignature-wrong"
        scene.cosign()
        scene.read(POLICY)

    def test_a_whole_head_of_another_log_is_refused(self, scene: Scene) -> None:
        elsewhere = SimulatedRegistry(origin="elsewhere.example")
        elsewhere.publish()
        scene.serve(scene.signed(*ALL, registry=elsewhere))
        assert scene.refused(POLICY).code == "cosigned-head"

    def test_a_changed_timestamp_is_refused(self, scene: Scene) -> None:
        old = scene.signed(*ALL, time=scene.at(hours=-30))
        note = notes.parse(old.checkpoint)
        renewed = tuple(
            NoteSignature(line.name, line.key_id, scene.at().to_bytes(8, "big") + line.signature[8:])
            for line in note.signatures[1:]
        )
        forged = SignedNote(note.text, (note.signatures[0], *renewed)).encode()
        scene.serve(None, newest=replace(old, checkpoint=forged))
        assert scene.refused(POLICY).code == "cosignature-wrong"

    def test_those_of_the_future_do_not_count_but_ten_minutes_do(self, scene: Scene) -> None:
        scene.cosign(time=scene.at(minutes=11))
        assert scene.refused(POLICY).code == "witness-quorum"
        scene.cosign(time=scene.at(minutes=10))
        scene.read(POLICY)

    def test_duplicates_and_ten_thousand_lines_are_refused_cheaply(self, scene: Scene) -> None:
        note = notes.parse(scene.signed(W1).checkpoint)
        many = SignedNote(note.text, (note.signatures[0], *[note.signatures[1]] * 10_000))
        scene.serve(None, newest=replace(scene.registry.head(), checkpoint=many.encode()))
        with pytest.raises(RyeError) as raised:
            scene.read(POLICY)
        assert raised.value.code in ("fetch-too-large", "head-malformed", "head-too-large", "note-too-large")
        twenty = SignedNote(note.text, (note.signatures[0], *[note.signatures[1]] * 20))
        scene.serve(None, newest=replace(scene.registry.head(), checkpoint=twenty.encode()))
        assert scene.refused(POLICY).code == "witness-quorum"

    def test_they_grow_too_old(self, scene: Scene) -> None:
        scene.cosign()
        scene.read(POLICY)
        scene.registry.pass_time(hours=24)
        assert scene.read().cosigned is not None
        scene.registry.pass_time(seconds=1)
        assert scene.refused().code == "witness-frozen"
        assert scene.read(WitnessDemand(POLICY, 3 * 24 * 3600)).cosigned is not None
        assert scene.refused(POLICY).code == "witness-frozen"
        scene.cosign()  # the same head again, with newer cosignatures
        scene.read(POLICY)

    def test_a_quorum_that_only_old_ones_reach_is_frozen(self, scene: Scene) -> None:
        head = scene.signed(W1, time=scene.at(hours=-30))
        note = cosigned(notes.parse(head.checkpoint), scene.at(), W2)
        scene.serve(None, newest=replace(head, checkpoint=note.encode()))
        assert scene.refused(POLICY).code == "witness-frozen"


class TestHistory:
    """Forks below, at and above the cosigned size, and heads that are older, frozen or replayed."""

    @pytest.fixture(autouse=True)
    def seen(self, scene: Scene) -> None:
        scene.cosign()
        scene.read(POLICY)
        scene.publish(LATER)

    def other(self, scene: Scene, *names: str) -> SimulatedRegistry:
        """A history that parts from the present before its last batch."""
        fork = scene.registry.fork()
        del fork.leaves[fork.leaves.index(fork.leaves[-2]) :]
        for name in names:
            fork.release(Identity("tool", f"acme/text/{name}"), content=name.encode())
        fork.publish()
        return fork

    def test_the_control(self, scene: Scene) -> None:
        assert scene.read().waiting is not None
        scene.cosign()
        assert scene.read().waiting is None

    def test_a_fork_above_the_cosigned_size_shown_to_one_client_never_becomes_readable(self, scene: Scene) -> None:
        """A split view: each side extends the cosigned head, but witnesses cosign only one."""
        victim = self.other(scene, "harm", "more")
        scene.serve(scene.best, registry=victim)
        client = scene.read()
        harm = Identity("tool", "acme/text/harm")
        assert client.releases([harm])[harm] == ()
        scene.cosign()  # what the witnesses saw
        assert scene.refused().code in ("head-fork", "head-inconsistent", "head-rollback")

    def test_a_fork_at_the_cosigned_size(self, scene: Scene) -> None:
        scene.cosign()
        fork = self.other(scene, "harm")
        assert fork.size == scene.registry.size
        scene.serve(scene.best, registry=fork)
        error = scene.refused()
        assert error.code == "head-fork"
        kept = witness_demands.kept_evidence(scene.store.folder)
        assert [one.rule for _, one in kept] == ["head-fork"]
        assert {notes.parse(note).text for note in kept[0][1].heads.values()} == {
            fork.checkpoint().text(),
            scene.registry.checkpoint().text(),
        }
        scene.refused()
        assert len(witness_demands.kept_evidence(scene.store.folder)) == 1, "the same evidence is kept once"

    def test_a_fork_below_the_cosigned_size(self, scene: Scene) -> None:
        best = scene.cosign()
        fork = self.other(scene, "harm", "and", "more", "harm")
        assert fork.size > scene.registry.size
        scene.serve(best, registry=fork)
        assert scene.refused().code == "head-inconsistent"

    def test_a_fork_is_refused_also_where_the_caller_fetched_no_tiles(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        best = scene.cosign()
        fork = self.other(scene, "harm", "and", "more", "harm")
        scene.serve(best, registry=fork)
        monkeypatch.setattr("rye.registry.trust.cosigned.tiles_needed", lambda *_: [])
        with pytest.raises(RyeError) as refused:
            scene.read()
        assert refused.value.code == "tile-missing"

    def test_a_stranger_who_is_shown_a_fork_with_the_true_cosigned_head(self, scene: Scene, tmp_path: Path) -> None:
        best = scene.cosign()
        fork = self.other(scene, "harm", "and", "more", "harm")
        stranger = Scene(tmp_path / "stranger")
        stranger.registry = scene.registry
        stranger.transport.files = dict(scene.transport.files)
        stranger.serve(best, registry=fork)
        assert stranger.refused(POLICY).code == "head-inconsistent"
        stranger.serve(best)
        stranger.read(POLICY)

    def test_a_cosigned_head_larger_than_the_newest_was_rolled_back(self, scene: Scene, tmp_path: Path) -> None:
        past = scene.registry.fork()
        scene.publish(Identity("tool", "acme/text/third"))
        best = scene.cosign()
        stranger = Scene(tmp_path / "stranger")
        stranger.registry = scene.registry
        stranger.transport.files = dict(scene.transport.files)
        stranger.serve(best, registry=past)
        assert stranger.refused(POLICY).code == "head-rollback"

    def test_a_replayed_older_cosigned_head_does_not_take_anybody_back(self, scene: Scene) -> None:
        older = scene.best
        size = notes_size(scene.cosign())
        scene.read()
        scene.serve(older)
        assert scene.read().head.checkpoint.size == size
        scene.registry.pass_time(hours=25)
        scene.registry.publish()
        scene.serve(older)
        assert scene.refused().code == "witness-frozen"

    def test_a_verified_one_stays_good_even_if_the_registry_shows_none_later(self, scene: Scene) -> None:
        size = scene.read().head.checkpoint.size
        scene.serve(None)
        assert scene.read().head.checkpoint.size == size
        scene.registry.pass_time(hours=24, seconds=1)
        assert scene.refused().code == "witness-frozen"

    def test_a_registry_that_shows_cosigned_heads_to_some_only(self, scene: Scene, tmp_path: Path) -> None:
        stranger = Scene(tmp_path / "stranger")
        stranger.registry = scene.registry
        stranger.transport.files = dict(scene.transport.files)
        stranger.serve(None)
        assert stranger.refused(POLICY).code == "witness-quorum"
        stranger.serve(scene.best)
        stranger.read(POLICY)

    def test_a_cosigned_head_that_the_log_did_not_sign(self, scene: Scene) -> None:
        assert scene.best is not None
        note = notes.parse(scene.best.checkpoint)
        stranger = notes.sign(note.text, [signer(scene.registry.origin, key("stranger"))])
        forged = replace(
            scene.best, checkpoint=SignedNote(note.text, (*stranger.signatures, *note.signatures[1:])).encode()
        )
        scene.serve(forged)
        assert scene.refused().code == "cosigned-head"

    def test_a_cosigned_head_with_another_snapshot_or_map(self, scene: Scene) -> None:
        assert scene.best is not None
        head = scene.registry.head()
        for changed in (replace(scene.best, snapshot=head.snapshot), replace(scene.best, map=head.map)):
            scene.serve(changed)
            assert scene.refused().code == "cosigned-head"
        scene.serve(scene.best)
        scene.read()


class TestCopies:
    """A mirror and a bundle carry the cosigned head of whoever made them, with everything that it leads to."""

    @pytest.fixture(autouse=True)
    def waiting(self, scene: Scene) -> None:
        scene.cosign()
        scene.publish(LATER)

    def elsewhere(self, folder: Path, files: dict[str, bytes], scene: Scene) -> Scene:
        other = Scene(folder)
        other.registry = scene.registry
        other.transport.files = files
        return other

    def test_a_mirror(self, scene: Scene, tmp_path: Path) -> None:
        client = scene.read(POLICY)
        target = tmp_path / "mirror"
        mirroring.mirror(scene.transport, client.as_copied, target)
        files = {path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*") if path.is_file()}
        reader = self.elsewhere(tmp_path / "reader", files, scene)
        copied = reader.read(POLICY)
        assert copied.head.checkpoint == client.head.checkpoint
        copied.check_logged(copied.releases([TOOL])[TOOL])
        assert copied.waiting is None

    def test_a_mirror_made_without_a_policy_satisfies_none(self, scene: Scene, tmp_path: Path) -> None:
        client = scene.read()
        target = tmp_path / "mirror"
        mirroring.mirror(scene.transport, client.as_copied, target)
        files = {path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*") if path.is_file()}
        assert self.elsewhere(tmp_path / "reader", files, scene).refused(POLICY).code == "witness-quorum"
        assert self.elsewhere(tmp_path / "plain", files, scene).read().releases([LATER])[LATER]

    def test_a_bundle_is_good_for_as_long_as_its_head(self, scene: Scene, tmp_path: Path) -> None:
        scene.read(POLICY)
        part = airgap.WantedPart(ADDRESS, scene.registry.origin, ((TOOL, "1.0.0"),))
        file = tmp_path / "bundle"
        with mock.patch.dict(RegistryClient.__init__.__kwdefaults__, {"now": lambda: scene.registry.now}):
            airgap.write_airgap(file, b"version = 1\n", [part], lambda address: scene.transport, scene.store)
        scene.registry.pass_time(days=3)
        other = Scene(tmp_path / "other")
        client = airgap.open_client(
            airgap.open_airgap(file),
            ADDRESS,
            other.store,
            other.cache,
            accept_root=scene.registry.fingerprint,
            now=lambda: scene.registry.now,
            witnesses=WitnessDemand(POLICY),
        )
        assert client.cosigned is not None
        assert client.fetch_items(client.releases([TOOL])[TOOL])[0].file == b"count\n"


class TestWhatIsKept:
    def test_a_damaged_policy_is_an_error_and_never_none(self, scene: Scene) -> None:
        scene.cosign()
        scene.read(POLICY)
        path = witnesses_path(scene.store.folder, scene.registry.origin)
        good = path.read_bytes()
        for data in (
            b"",
            b"{}",
            b"\xff",
            good.replace(b'"version":1', b'"version":2'),
            good.replace(b"quorum", b"quorvm"),
        ):
            path.write_bytes(data)
            with pytest.raises(RyeError) as raised:
                scene.read()
            assert raised.value.code == "bad-witnesses"
        path.write_bytes(good)
        path.chmod(0o666)
        with pytest.raises(RyeError) as raised:
            scene.read()
        assert raised.value.code == "bad-witnesses"
        path.chmod(0o600)
        path.rename(path.with_name("elsewhere"))
        path.symlink_to(path.with_name("nowhere"))
        with pytest.raises(RyeError) as raised:
            scene.read()
        assert raised.value.code == "bad-witnesses"
        path.unlink()
        path.with_name("elsewhere").rename(path)
        scene.read()

    @pytest.mark.parametrize("changes", ["another policy", "a removed pin"])
    def test_what_another_program_does_meanwhile_is_not_what_this_one_checked_against(
        self, scene: Scene, changes: str
    ) -> None:
        """Someone demands witnesses, or removes the pin, while another program installs under what was there before."""
        scene.read()
        folder, origin = scene.store.folder, scene.registry.origin
        installing = scene.client()
        installing.refresh()
        before = installing.pinned
        assert before == read_pinned(folder, origin)  # the control
        if changes == "another policy":
            witness_demands.write_demand(folder, origin, WitnessDemand(POLICY))
        else:
            remember_removal(folder, origin)
        assert installing.pinned == before
        assert read_pinned(folder, origin) != before, "so nothing that it verified counts from now on"

    def test_no_pin_is_there_before_its_policy(self, scene: Scene) -> None:
        """A first contact that is interrupted, or another program that looks meanwhile, leaves no pin without witnesses."""
        scene.cosign()
        for method in ("save", "remember_address"):
            with mock.patch.object(StateStore, method, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
                scene.read(POLICY)
            assert scene.store.origin_at(ADDRESS) is None
        assert witness_demands.read_demand(scene.store.folder, scene.registry.origin) == WitnessDemand(POLICY)

    def test_two_programs_keep_the_larger_cosigned_head(self, scene: Scene) -> None:
        scene.cosign()
        scene.read(POLICY)
        one, two = scene.client(), scene.client()
        one.refresh()
        scene.publish(LATER)
        scene.cosign()
        two.refresh()
        two.commit()
        one.commit()
        state = scene.store.load(scene.registry.origin)
        assert state is not None
        assert state.cosigned is not None
        assert notes_size(wire.decode_head(state.cosigned.encode())) == scene.registry.size


def notes_size(head: wire.Head) -> int:
    return int(notes.parse(head.checkpoint).text.split("\n")[1])
