"""Each rule for cosigned heads (W1 to W6 of ``rye/registry/trust/cosigned.py``), broken alone: whatever witnesses cosigned, the
log must have signed, and it must be a part of what the registry shows.

Witnesses sign the text of a checkpoint and see no snapshot, so everything else about the head is for the client to check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from rye.items.identity import Identity
from rye.registry.protocol import notes, wire
from rye.registry.protocol.cosignatures import Cosignature, Cosigner
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.witness_policy import Policy, read_policy, simple_policy
from rye.registry.trust.cosigned import (
    CosignedHead,
    Waiting,
    WitnessDemand,
    accept_cosigned,
    checkpoint_of,
    open_cosigned,
    tiles_needed,
)
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import OpenedHead, TrustedState
from tests.registry.simulated_client import follow, pinned
from tests.registry.simulated_registry import SimulatedRegistry, key, signer
from tests.registry.witness_keys import cosigned, ed25519

W1, W2, W3 = ed25519("w1"), ed25519("w2"), ed25519("w3")
ONE, TWO = simple_policy([W1.verifier], 1), simple_policy([W1.verifier, W2.verifier], 2)
NOBODY = read_policy(b"quorum none\n")
TOOL = Identity("tool", "acme/text/count")


@pytest.fixture
def registry() -> SimulatedRegistry:
    made = SimulatedRegistry()
    made.claim("acme")
    made.publish()
    return made


def at(registry: SimulatedRegistry, **parts: float) -> int:
    return int((registry.now + timedelta(**parts)).timestamp())


def by(registry: SimulatedRegistry, *cosigners: Cosigner, head: wire.Head | None = None, **ago: float) -> wire.Head:
    """The head, cosigned at the registry's time or before it."""
    shown = head or registry.head()
    time = at(registry, **{part: -value for part, value in ago.items()})
    return replace(shown, checkpoint=cosigned(notes.parse(shown.checkpoint), time, *cosigners).encode())


def grown(registry: SimulatedRegistry, *names: str) -> SimulatedRegistry:
    """A later state of the registry."""
    later = registry.fork()
    for name in names or ("later",):
        later.release(Identity("tool", f"acme/text/{name}"), content=name.encode())
    later.publish()
    return later


def opening(registry: SimulatedRegistry, older: wire.Head | None = None, newest: wire.Head | None = None) -> OpenedHead:
    """What a client that never saw a head opens."""
    member = None if older is None else wire.CosignedHead(older.checkpoint, older.snapshot, older.proof, older.map)
    head = replace(newest or registry.head(), cosigned=member)
    return pinned(registry).open_head(wire.encode_head(head), registry.now)


def found(
    registry: SimulatedRegistry,
    older: wire.Head | None,
    demand: Policy | WitnessDemand = ONE,
    state: TrustedState | None = None,
    newest: wire.Head | None = None,
) -> CosignedHead:
    """What is read where the registry shows this cosigned head."""
    wanted = WitnessDemand(demand) if isinstance(demand, Policy) else demand
    return open_cosigned(state or pinned(registry), opening(registry, older, newest), wanted, registry.now)


def refusal(call: Callable[[], object]) -> TrustError:
    with pytest.raises(TrustError) as raised:
        call()
    return raised.value


def wrong(call: Callable[[], object]) -> str:
    """Why the cosigned head is not one of this log."""
    error = refusal(call)
    before, _, reason = error.message.partition(" is wrong: ")
    assert (error.code, before) == ("cosigned-head", "The cosigned head that the registry shows")
    return reason


# W1


def test_w1_a_checkpoint_or_a_snapshot_of_another_log_is_none_of_this(registry: SimulatedRegistry) -> None:
    later = grown(registry)
    assert found(later, by(registry, W1)).checkpoint == registry.checkpoint()  # the control
    text = registry.checkpoint(origin="elsewhere.example").text()
    foreign = registry.head(checkpoint=notes.sign(text, registry.log_signers()))
    said = "it is of elsewhere.example, not of registry.example."
    assert wrong(lambda: found(later, by(registry, W1, head=foreign))) == said
    other = ending_in(registry, registry.snapshot(origin="elsewhere.example").text())
    assert wrong(lambda: found(later, by(registry, W1, head=other))) == said


def ending_in(registry: SimulatedRegistry, text: str, signers: Sequence[notes.Signer] | None = None) -> wire.Head:
    """A head of the log with another last entry."""
    other, root = registry.fork(), registry.head().map
    other.leaves[-1] = notes.sign(text, registry.log_signers() if signers is None else signers).encode()
    return other.head(map=root)


def test_w1_the_snapshot_names_a_root_of_the_registry_and_the_log_of_that_root_signed_both(
    registry: SimulatedRegistry,
) -> None:
    later = grown(registry)
    other = ending_in(registry, registry.snapshot(root=2).text())
    said = "it names root 2, which the registry does not have."
    assert wrong(lambda: found(later, by(registry, W1, head=other))) == said
    stranger = [signer(registry.origin, key("stranger"))]
    unsigned = ending_in(registry, registry.snapshot().text(), stranger)
    assert wrong(lambda: found(later, by(registry, W1, head=unsigned))).startswith("The note is signed by 0 ")
    forged = registry.head(checkpoint=notes.sign(registry.checkpoint().text(), stranger))
    assert wrong(lambda: found(later, by(registry, W1, head=forged))).startswith("The note is signed by 0 ")


def test_w1_a_head_from_before_a_root_is_checked_with_the_log_of_its_own_root(registry: SimulatedRegistry) -> None:
    first = by(registry, W1)
    renewed = registry.fork()
    renewed.logs = [key("log 2")]
    renewed.add_root()
    renewed.publish()
    assert found(renewed, first).checkpoint == registry.checkpoint()
    former = replace(
        renewed.head(), checkpoint=notes.sign(renewed.checkpoint().text(), registry.log_signers()).encode()
    )
    assert wrong(lambda: found(renewed, by(renewed, W1, head=former))).startswith("The note is signed by 0 ")
    assert found(renewed, by(renewed, W1)).checkpoint == renewed.checkpoint()


def test_w1_the_snapshot_is_the_last_leaf_and_not_one_that_the_log_signed_once(registry: SimulatedRegistry) -> None:
    former = registry.leaves[-1]
    registry.pass_time(seconds=1)
    registry.publish()  # of the same map
    later = grown(registry)
    head = registry.head(snapshot=former)
    reason = f"The inclusion proof of leaf {registry.size - 1} does not lead to the tree's root."
    assert wrong(lambda: found(later, by(registry, W1, head=head))) == reason
    assert found(later, by(registry, W1)).snapshot == registry.snapshot()


def test_w1_what_is_malformed_is_wrong_and_ends_nothing_else(registry: SimulatedRegistry) -> None:
    later, head = grown(registry), registry.head()
    text = registry.checkpoint().text() + "more\n"
    for changed in (
        replace(head, checkpoint=notes.sign(text, registry.log_signers()).encode()),
        replace(head, snapshot=notes.sign("no statement\n", registry.log_signers()).encode()),
        replace(head, snapshot="no note\n"),
        replace(head, proof=[*head.proof[:-1], "*" * 44]),
        replace(head, proof=[*head.proof, head.proof[0]]),
    ):
        assert not wrong(lambda: found(later, changed)).endswith("..")  # noqa: B023
    other = replace(head, map="0" * 64)
    assert wrong(lambda: found(later, other)) == "it and its snapshot name different name maps."


def test_w1_one_of_the_policys_logs_signed_it(registry: SimulatedRegistry) -> None:
    own, other = (signer(registry.origin, private).verifier for private in (registry.logs[0], key("log 9")))
    later = grown(registry)

    def read(*logs: object, signed: Sequence[Cosigner] = (W1,)) -> CosignedHead:
        return found(later, by(registry, *signed), replace(ONE, logs=logs))

    reason = "none of the logs that the policy lists signed it."
    assert read(own).checkpoint == read(other, own).checkpoint == read(own, W3.verifier).checkpoint
    assert read(W3.verifier, signed=(W1, W3)) == read(other, W3.verifier, signed=(W1, W3))
    for logs in ([other], [W3.verifier], [other, W3.verifier], [W2.verifier]):
        assert wrong(lambda: read(*logs)) == reason  # noqa: B023
    assert read(W1.verifier).checkpoint == registry.checkpoint()


# W2


def test_w2_a_fork_is_refused_with_both_heads(registry: SimulatedRegistry) -> None:
    one, two = grown(registry, "one"), grown(registry, "two")
    error = refusal(lambda: found(one, by(two, W1)))
    assert error.code == "head-fork"
    assert error.details["evidence"] == {"trusted": by(two, W1).checkpoint, "offered": one.head().checkpoint}
    error = refusal(lambda: found(registry, by(one, W1)))
    assert error.code == "head-rollback"
    assert error.details["evidence"] == {"trusted": by(one, W1).checkpoint, "offered": registry.head().checkpoint}


def accepted(registry: SimulatedRegistry, hours: float = 0) -> TrustedState:
    """The state of a client that read this head, cosigned so long ago."""
    newest = by(registry, W1, hours=hours)
    opened = opening(registry, newest=newest)
    state, _ = pinned(registry).accept_head(opened, {})
    taken = open_cosigned(state, opened, WitnessDemand(ONE), registry.now)
    return accept_cosigned(state, opened, taken, {})[0]


def test_w2_two_cosigned_histories_of_one_size_are_a_fork(registry: SimulatedRegistry) -> None:
    """A split view that witnesses were led into."""
    one, two = grown(registry, "one"), grown(registry, "two")
    state = accepted(one)
    assert state.cosigned is not None
    assert checkpoint_of(state.cosigned) == one.checkpoint()
    later = grown(two)
    error = refusal(lambda: found(later, by(two, W1), state=state))
    assert error.code == "head-fork"
    assert error.message == "The registry shows another cosigned history of the same size."
    assert error.details["evidence"] == {"trusted": by(one, W1).checkpoint, "offered": by(two, W1).checkpoint}
    assert found(grown(one), by(one, W1), state=state).checkpoint == one.checkpoint()


def test_w2_a_cosigned_head_is_proved_once_and_again_if_it_is_another(registry: SimulatedRegistry) -> None:
    later = grown(registry)
    state, _ = follow(pinned(later), later)
    opened = opening(later, by(registry, W1))
    taken = open_cosigned(state, opened, WitnessDemand(ONE), later.now)
    needed = tiles_needed(state, opened, taken)
    assert needed != []
    fetched = {tile: later.files[tile.path] for tile in needed}
    after, head, waiting = accept_cosigned(state, opened, taken, fetched)
    assert (after.cosigned, head.checkpoint, head.snapshot) == (
        taken.document,
        registry.checkpoint(),
        registry.snapshot(),
    )
    assert waiting == Waiting(later.size - registry.size, later.now)
    assert tiles_needed(after, opened, taken) == []
    assert accept_cosigned(after, opened, taken, {}) == (after, head, waiting)
    newest = opening(later, newest=by(later, W1))
    whole = open_cosigned(after, newest, WitnessDemand(ONE), later.now)
    assert tiles_needed(after, newest, whole) == []
    assert accept_cosigned(after, newest, whole, {})[2] is None
    forged = replace(taken, checkpoint=replace(taken.checkpoint, root_hash=bytes(32)))
    error = refusal(lambda: accept_cosigned(state, opened, forged, fetched))
    assert error.code == "head-inconsistent"
    assert error.message == (
        f"The registry's {later.size} entries do not contain the {registry.size} that witnesses cosigned."
    )


# W3 and W4


def test_w3_a_wrong_cosignature_says_so_and_a_strangers_is_nothing(registry: SimulatedRegistry) -> None:
    head = by(registry, W1)
    note = notes.parse(head.checkpoint)
    moved = notes.parse(by(grown(registry), W2).checkpoint).signatures[-1]
    both = replace(head, checkpoint=SignedNote(note.text, (*note.signatures, moved)).encode())
    later = grown(registry)
    assert refusal(lambda: found(later, both, TWO)).code == "cosignature-wrong"
    assert found(later, both).checkpoint == registry.checkpoint()


def test_w4_too_few_are_named(registry: SimulatedRegistry) -> None:
    later = grown(registry)

    def said(demand: Policy | WitnessDemand, *signed: Cosigner) -> str:
        error = refusal(lambda: found(later, by(registry, *signed), demand))
        assert (error.code, error.details["size"]) == ("witness-quorum", registry.size)
        return error.message.removeprefix(f"The head of {registry.size} entries is cosigned by ")

    three = simple_policy([one.verifier for one in (W1, W2, W3)], 3)
    assert said(TWO) == "no known witness, but 2 of w1, w2 must have cosigned."
    assert said(three, W3, W1) == "w1, w3, but 3 of w1, w2, w3 must have cosigned."
    also = WitnessDemand(ONE, also=(W2.verifier, W3.verifier))
    assert said(also, W1, W2) == f"w1, w2, but {ONE}, and w2 must have cosigned, and w3 must have cosigned."
    assert said(WitnessDemand(NOBODY, also=(W2.verifier,)), W1) == "no known witness, but w2 must have cosigned."


def test_w4_witnesses_of_an_organization_must_have_cosigned_whatever_the_policy_says(
    registry: SimulatedRegistry,
) -> None:
    demand = WitnessDemand(ONE, also=(W2.verifier, W1.verifier))
    assert demand.keys == (W1.verifier, W2.verifier)
    later = grown(registry)
    assert {one.key for one in found(later, by(registry, W2, W1), demand).cosignatures} == {W1.verifier, W2.verifier}
    for signed in ([W1], [W2], [W3], [W2, W3]):
        assert not demand.is_met([one.verifier for one in signed])
        assert refusal(lambda: found(later, by(registry, *signed), demand)).code == "witness-quorum"  # noqa: B023
    assert demand.is_met([W1.verifier, W2.verifier])
    assert [one.demands for one in (WitnessDemand(NOBODY), WitnessDemand(NOBODY, also=(W2.verifier,)))] == [False, True]
    assert WitnessDemand(ONE).demands


# W5 and W6


def test_w5_the_age_is_that_of_the_last_cosignature(registry: SimulatedRegistry) -> None:
    two = by(registry, W2, head=by(registry, W1, hours=50), hours=30)
    later = grown(registry)
    error = refusal(lambda: found(later, two, TWO))
    assert error.code == "witness-frozen"
    assert (
        error.message
        == "The cosignatures are too old: the last witness signed 30 hours ago, and the limit is 24 hours."
    )
    assert error.details["size"] == registry.size
    assert found(later, two, WitnessDemand(TWO, 50 * 3600)).time == registry.now - timedelta(hours=30)
    short = by(registry, W1, seconds=7201)
    for seconds, span in (
        (0, "0 s"), (119, "119 s"), (120, "2 minutes"), (179, "2 minutes"), (7199, "119 minutes"), (7200, "2 hours"),
    ):  # fmt: skip
        error = refusal(lambda: found(later, short, WitnessDemand(ONE, seconds)))  # noqa: B023
        assert error.message.endswith(f"signed 2 hours ago, and the limit is {span}.")
    assert found(later, short, WitnessDemand(ONE, 7201)).cosignatures[0].time == at(registry, seconds=-7201)


def test_w5_what_is_too_old_is_said_before_what_is_too_little(registry: SimulatedRegistry) -> None:
    state = accepted(registry)
    later = grown(registry)
    old = by(later, W1, W2, hours=25)
    assert refusal(lambda: found(later, None, TWO, state, newest=old)).code == "witness-frozen"
    assert refusal(lambda: found(later, None, TWO, state)).code == "witness-quorum"
    assert found(later, None, ONE, state, newest=old).checkpoint == registry.checkpoint()


def test_w6_the_larger_then_the_more_recent_is_read(registry: SimulatedRegistry) -> None:
    state = accepted(registry, hours=2)
    later = grown(registry)
    assert found(later, by(registry, W1, hours=1), state=state).time == registry.now - timedelta(hours=1)
    assert found(later, by(registry, W1, hours=3), state=state).time == registry.now - timedelta(hours=2)
    newest = by(later, W1, hours=4)
    assert found(later, None, state=state, newest=newest).checkpoint == later.checkpoint()
    ahead = accepted(later)
    last = grown(later, "last")
    assert found(last, by(registry, W1), state=ahead).checkpoint == later.checkpoint()
    assert found(last, None, state=ahead).checkpoint == later.checkpoint()


def test_w6_what_was_accepted_under_another_policy_is_forgotten_where_it_breaks_this_one() -> None:
    both = SimulatedRegistry(logs=[key("log 1"), key("log 2")])
    both.claim("acme")
    both.publish()
    state = accepted(both)
    second = signer(both.origin, both.logs[1])
    later = grown(both)
    head = replace(later.head(), checkpoint=notes.sign(later.checkpoint().text(), [second]).encode())
    policy = replace(ONE, logs=(second.verifier,))
    assert found(later, None, policy, state, newest=by(later, W1, head=head)).checkpoint == later.checkpoint()
    assert (
        wrong(lambda: found(later, by(both, W1), policy, state)) == "none of the logs that the policy lists signed it."
    )


# Words


def test_a_head_without_cosignatures_is_of_no_time(registry: SimulatedRegistry) -> None:
    head = CosignedHead(document="", checkpoint=registry.checkpoint(), snapshot=registry.snapshot(), cosignatures=())
    assert head.time == datetime(1970, 1, 1, tzinfo=UTC)
    times = tuple(Cosignature(W1.verifier, time) for time in (5, 9, 7))
    assert replace(head, cosignatures=times).time == datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("entries", "age", "said"),
    [
        (1, timedelta(seconds=5), "1 entry waits for witnesses, the newest 5 s old."),
        (0, timedelta(seconds=119.9), "0 entries wait for witnesses, the newest 119 s old."),
        (2, timedelta(minutes=3), "2 entries wait for witnesses, the newest 3 minutes old."),
        (2, timedelta(hours=49), "2 entries wait for witnesses, the newest 49 hours old."),
        (2, timedelta(seconds=-9), "2 entries wait for witnesses, the newest 0 s old."),
    ],
)
def test_what_waits_is_said_in_one_sentence(entries: int, age: timedelta, said: str) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert Waiting(entries, now - age).told(now) == said
