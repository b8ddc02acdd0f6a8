"""A log that was dated in the future comes back by one step that its owners signed, and by no other way
(rye.registry.trust.head_times; docs/reference/statements.md, rye.clock/v1).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.limits import REGISTRY
from rye.registry import mirroring
from rye.registry.client import RegistryClient
from rye.registry.protocol import notes, wire
from rye.registry.protocol.statements import ClockStep
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.trust.auditing import audit
from rye.registry.trust.head_times import CLOCK, encode_steps
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import TrustedHead, TrustedState
from tests.registry.memory_transport import MemoryTransport
from tests.registry.simulated_client import follow, pinned, seen
from tests.registry.simulated_registry import SimulatedRegistry, key

AHEAD = timedelta(days=400)
ADDRESS = "https://registry.example"


def future() -> tuple[SimulatedRegistry, TrustedState]:
    """A registry that was 400 days ahead for one batch, and a client that accepted that head. The clock is right again."""
    registry = SimulatedRegistry()
    root = registry.root(expires=registry.now + 2 * AHEAD)
    registry.add_root(root)
    registry.publish()
    registry.now += AHEAD
    registry.claim("acme")
    registry.publish()
    accepted = seen(registry)
    registry.now -= AHEAD
    registry.now += timedelta(minutes=5)
    return registry, accepted


def went_back() -> tuple[SimulatedRegistry, TrustedState]:
    registry, accepted = future()
    registry.step_back()
    registry.publish()
    return registry, accepted


def follow_back(state: TrustedState, registry: SimulatedRegistry) -> tuple[TrustedState, TrustedHead]:
    """Accept the head with the help of ``/clock``, as the client does."""
    files = registry.files
    opened = state.open_head(files["head"], registry.now, steps=files.get(CLOCK, b""))
    return state.accept_head(opened, {tile: files[tile.path] for tile in opened.tiles_needed()})


def codes(registry: SimulatedRegistry) -> list[str]:
    return [found.code for found in audit((leaf.encode() for leaf in registry.leaves), registry.fingerprint).findings]


def refused(registry: SimulatedRegistry, state: TrustedState) -> str:
    with pytest.raises(RyeError) as caught:
        follow_back(state, registry)
    return caught.value.code


def test_a_client_that_accepted_the_future_goes_on_after_the_step() -> None:
    registry, accepted = went_back()
    state, head = follow_back(accepted, registry)
    assert head.snapshot.time == registry.now
    registry.pass_time(hours=1)
    registry.publish()
    assert follow(state, registry)[1].snapshot.time == registry.now  # and needs no step again


def test_a_client_that_refused_the_future_never_remembered_it_and_needs_no_step() -> None:
    registry = SimulatedRegistry()
    registry.add_root(registry.root(expires=registry.now + 2 * AHEAD))
    registry.publish()
    state = seen(registry)
    registry.now += AHEAD
    registry.publish()
    with pytest.raises(TrustError) as caught:
        state.open_head(registry.files["head"], registry.now - AHEAD)
    assert caught.value.code == "snapshot-future"
    registry.now -= AHEAD
    registry.step_back()
    registry.publish()
    assert follow(state, registry)[1].snapshot.time == registry.now


def test_without_a_step_time_does_not_go_back() -> None:
    registry, accepted = future()
    registry.publish()
    assert refused(registry, accepted) == "snapshot-time"
    assert codes(registry) == ["snapshot-time"]


def test_auditors_find_nothing_wrong_with_the_step_and_list_it() -> None:
    registry, _ = went_back()
    result = audit((leaf.encode() for leaf in registry.leaves), registry.fingerprint)
    assert result.ok, result.findings
    assert encode_steps(result.steps) == registry.files[CLOCK]


def too_few(registry: SimulatedRegistry) -> None:
    registry.step_back([registry.owners[0]])


def forged(registry: SimulatedRegistry) -> None:
    registry.step_back([key("stranger 1"), key("stranger 2")])


def elsewhere(registry: SimulatedRegistry) -> None:
    """A step that the owners signed for the next position, at the one after it."""
    registry.step_back()
    step = registry.leaves.pop()
    registry.claim("other")
    registry.leaves.append(step)


def of_another_snapshot(registry: SimulatedRegistry) -> None:
    registry.step_back(before=registry.now + timedelta(days=1))


@pytest.mark.parametrize(
    ("attack", "code", "audited"),
    [
        (too_few, "clock-signer", ["clock-signer", "snapshot-time"]),
        (forged, "clock-signer", ["clock-signer", "snapshot-time"]),
        (elsewhere, "clock-step", ["clock-step", "snapshot-time"]),
        (of_another_snapshot, "clock-step", ["clock-step", "snapshot-time"]),
    ],
)
def test_a_step_that_the_owners_did_not_sign_for_this_place_is_refused(
    attack: Callable[[SimulatedRegistry], None], code: str, audited: list[str]
) -> None:
    registry, accepted = future()
    attack(registry)
    registry.publish()
    assert refused(registry, accepted) == code
    assert codes(registry) == audited


def test_nobody_who_owned_the_registry_only_before_lets_the_log_step_back() -> None:
    """The keys of a root that was replaced, perhaps because they were stolen, together with the log's key."""
    registry, accepted = future()
    former, registry.owners = registry.owners, [key("owner 4"), key("owner 5")]
    signers = [*registry.owner_signers(), *registry.owner_signers(former)]
    registry.add_root(registry.root(time=registry.now + AHEAD, expires=registry.now + 2 * AHEAD), signers)
    registry.now += AHEAD
    registry.publish()
    accepted = accepted.accept_root(registry.files["root/3"])
    accepted, _ = follow(accepted, registry)
    registry.now -= AHEAD
    registry.step_back(former[:2])
    registry.publish()
    assert refused(registry, accepted) == "clock-signer"
    assert codes(registry) == ["clock-signer", "snapshot-time"]


def test_the_present_owners_do_after_the_root_was_replaced() -> None:
    registry, accepted = future()
    former, registry.owners = registry.owners, [key("owner 4"), key("owner 5")]
    signers = [*registry.owner_signers(), *registry.owner_signers(former)]
    registry.add_root(registry.root(time=registry.now + AHEAD, expires=registry.now + 2 * AHEAD), signers)
    registry.now += AHEAD
    registry.publish()
    registry.now -= AHEAD
    registry.step_back()
    registry.publish()
    accepted = accepted.accept_root(registry.files["root/3"])
    assert follow_back(accepted, registry)[1].snapshot.time == registry.now
    assert codes(registry) == []


def test_a_step_is_used_once_and_a_replay_of_it_is_refused() -> None:
    registry, accepted = went_back()
    step = registry.leaves[registry.steps_back()[0].log]
    state, _ = follow_back(accepted, registry)
    registry.pass_time(days=30)
    registry.publish()
    state, _ = follow(state, registry)
    registry.pass_time(days=-20)
    registry.leaves.append(step)  # again, after another snapshot
    registry.publish()
    assert refused(registry, state) == "clock-step"
    registry.files[CLOCK] = encode_steps(registry.steps_back()[:1])  # as if it had not been replayed
    assert refused(registry, state) == "snapshot-time"
    assert codes(registry) == ["clock-step", "snapshot-time"]


def test_after_the_step_no_snapshot_is_older_than_the_step_says() -> None:
    registry, accepted = future()
    registry.step_back()
    registry.now -= timedelta(hours=1)
    registry.publish()
    assert refused(registry, accepted) == "snapshot-time"
    assert codes(registry) == ["snapshot-time"]


def test_a_step_that_is_only_in_the_file_and_not_in_the_log_is_refused() -> None:
    registry, accepted = went_back()
    lines = registry.steps_back()
    cheat, _ = future()
    cheat.claim("other")
    cheat.publish()
    cheat.files[CLOCK] = encode_steps(lines)
    with pytest.raises(RyeError) as caught:
        follow_back(accepted, cheat)
    assert (caught.value.code, caught.value.details["cause"]) == ("leaf-mismatch", "proof-root")


def test_several_steps_in_a_row_count_each_at_its_place() -> None:
    registry, accepted = future()
    registry.now += AHEAD / 2
    registry.step_back()
    registry.publish()
    registry.now -= AHEAD / 2
    assert refused(registry, accepted) == "snapshot-future"
    registry.step_back()
    registry.publish()
    assert follow_back(accepted, registry)[1].snapshot.time == registry.now
    assert codes(registry) == []
    registry.files[CLOCK] = encode_steps(registry.steps_back()[:1])  # a mirror hides the second one
    assert refused(registry, accepted) == "snapshot-time"


def test_the_client_asks_for_the_steps_only_when_it_needs_them(tmp_path: Path) -> None:
    registry, _ = future()
    transport = MemoryTransport(registry.files)
    store, cache = StateStore(tmp_path / "state"), Cache(tmp_path / "cache")

    def open_at(moment: datetime) -> None:
        with RegistryClient(ADDRESS, transport, store, cache, now=lambda: moment) as client:
            client.refresh(registry.fingerprint)

    open_at(registry.now + AHEAD)
    assert not any(CLOCK in wave for wave in transport.requested)
    registry.step_back()
    registry.publish()
    del registry.files[CLOCK]
    with pytest.raises(TrustError) as caught:
        open_at(registry.now)
    assert caught.value.code == "snapshot-time"
    registry.write_files()
    open_at(registry.now)
    transport.requested.clear()
    open_at(registry.now)
    assert not any(CLOCK in wave for wave in transport.requested)


def test_a_mirror_has_the_steps_and_its_readers_follow_them(tmp_path: Path) -> None:
    registry, accepted = went_back()
    state, _ = follow_back(accepted, registry)
    mirroring.mirror(MemoryTransport(registry.files), state, tmp_path / "copy")
    assert (tmp_path / "copy" / CLOCK).read_bytes() == registry.files[CLOCK]


class TestWhoseClock:
    """The words of ``snapshot-future`` say whose clock is wrong, as far as a client can know it."""

    NOW = datetime(2026, 3, 1, tzinfo=UTC)

    def refusal(self, *, now: datetime, answered: datetime | None = None, knows: bool = True) -> TrustError:
        registry = SimulatedRegistry(now=self.NOW - timedelta(days=1))
        state = seen(registry) if knows else pinned(registry)
        registry.now = self.NOW + timedelta(days=2)
        registry.publish()
        with pytest.raises(TrustError) as caught:
            state.open_head(registry.files["head"], now, answered=answered)
        assert caught.value.code == "snapshot-future"
        return caught.value

    def test_the_registrys_if_the_answer_itself_is_older_than_the_head(self) -> None:
        error = self.refusal(now=self.NOW, answered=self.NOW)
        assert "the answer itself is dated 2026-03-01T00:00:00Z" in error.message
        assert error.hint is not None
        assert error.hint.startswith("This machine's clock is right")

    def test_this_machines_if_the_answer_or_a_verified_head_is_later_than_it(self) -> None:
        for error in (
            self.refusal(now=self.NOW, answered=self.NOW + timedelta(days=2)),
            self.refusal(now=self.NOW - timedelta(days=9)),
        ):
            assert error.hint is not None
            assert error.hint.startswith("This machine's clock seems to be behind")

    def test_nobodys_if_nothing_tells(self) -> None:
        error = self.refusal(now=self.NOW, knows=False)
        assert error.hint == "Check this machine's clock, then the registry's."

    def test_within_the_limit_of_the_skew_nothing_is_wrong(self) -> None:
        registry = SimulatedRegistry(now=self.NOW)
        skew = timedelta(seconds=REGISTRY.clock_skew_seconds)
        pinned(registry).open_head(registry.files["head"], self.NOW - skew, answered=self.NOW)


def test_the_statement_names_its_place_and_reads_back() -> None:
    registry, _ = went_back()
    step = ClockStep.parse(notes.parse(registry.leaves[registry.steps_back()[0].log]).text)
    assert (step.position, step.time) == (registry.steps_back()[0].log, registry.now)
    assert list(wire.decode_index(registry.files[CLOCK])) == registry.steps_back()
