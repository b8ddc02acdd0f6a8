"""The acceptance rules at their boundaries: the first position outside the log, one second too late, what a refusal says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import notes, wire
from rye.registry.protocol.wire import IndexLine
from rye.registry.trust.trusted import (
    KeysetHead,
    OpenedHead,
    TrustedState,
    check_blob,
    check_inclusion,
    fingerprint_of,
)
from tests.registry.simulated_client import follow, pinned, seen
from tests.registry.simulated_registry import SimulatedRegistry, key
from tests.registry.test_trusted import entry_of

TOOL = Identity("tool", "acme/text/count")


def refusal(action: Callable[..., object], *arguments: object) -> RyeError:
    with pytest.raises(RyeError) as raised:
        action(*arguments)
    return raised.value


@pytest.fixture
def registry() -> SimulatedRegistry:
    found = SimulatedRegistry()
    found.claim("acme")
    found.release(TOOL)
    found.publish()
    return found


def test_r1_the_origin_that_the_user_gives_must_be_the_roots(registry: SimulatedRegistry) -> None:
    data = registry.roots[0].encode().encode()
    for origin in (None, "registry.example"):
        assert TrustedState.pin(data, registry.fingerprint, origin).origin == "registry.example"
    for origin in ("", "registry.example.evil", "REGISTRY.example"):
        assert refusal(TrustedState.pin, data, registry.fingerprint, origin).code == "root-origin"


def test_r1_a_fingerprint_covers_everything_before_the_last_empty_line(registry: SimulatedRegistry) -> None:
    """Text hidden after an empty line is not read as signatures."""
    text = "one\n\ntwo\n"
    assert fingerprint_of(f"{text}\n— name AAAA\n") == hashlib.sha256(text.encode()).hexdigest()
    assert fingerprint_of("one\ntwo\n") == hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert fingerprint_of(registry.roots[0].encode()) == registry.fingerprint


def test_r1_a_new_pin_has_seen_nothing(registry: SimulatedRegistry) -> None:
    state = TrustedState.pin(registry.roots[0].encode().encode(), registry.fingerprint)
    assert (state.head, state.keysets, state.in_force, state.policy, state.policy_size) == (None, {}, {}, None, 0)


def test_r2_a_root_of_the_same_second_may_follow(registry: SimulatedRegistry) -> None:
    registry.add_root()
    assert pinned(registry).root.number == 2


def test_h1_a_root_expires_at_its_very_second(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    registry.now = state.root.expires - timedelta(seconds=1)
    registry.publish()
    assert state.open_head(registry.files["head"], registry.now)
    error = refusal(lambda: state.open_head(registry.files["head"], state.root.expires))
    assert (error.code, "2027-01-01T00:00:00Z" in error.message) == ("root-expired", True)


def ending_in(registry: SimulatedRegistry, text: str) -> SimulatedRegistry:
    """The registry with a signed text, which need not be a statement, as the last entry of its log."""
    root = registry.head().map
    other = registry.fork()
    other.leaves[-1] = notes.sign(text, other.log_signers()).encode()
    other.files["head"] = wire.encode_head(other.head(map=root))
    return other


def test_h3_a_last_entry_of_another_kind_is_named_by_its_first_line_and_no_more(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    registry.release(TOOL, "1.0.1")
    registry.write_files()
    error = refusal(follow, state, registry)
    assert error.message == "The last entry of the log is 'rye.release/v1', not a snapshot."
    for length, shown in ((79, 79), (80, 80), (81, 80), (500, 80)):
        error = refusal(follow, state, ending_in(registry, f"{'x' * length}\nsecond line\nthird line\n"))
        assert (error.code, error.message) == (
            "snapshot-kind",
            f"The last entry of the log is {'x' * shown!r}, not a snapshot.",
        )


def test_h3_a_snapshot_that_is_malformed_is_refused_as_such(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    error = refusal(follow, state, ending_in(registry, registry.snapshot().text() + "more 1\n"))
    assert error.code.startswith("statement-")
    assert error.code != "statement-kind"


def test_h5_the_warning_tells_the_age_and_the_time(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    registry.pass_time(days=4)
    (warning,) = follow(state, registry)[1].warnings
    assert warning == "The registry's state is 4 days old (2026-01-01T00:00:00Z)."


def test_h6_both_heads_are_kept_as_evidence_whatever_is_wrong(registry: SimulatedRegistry) -> None:
    state = seen(registry)
    trusted = registry.head().checkpoint
    smaller = SimulatedRegistry()
    same = registry.fork()
    same.leaves[3] = same.leaves[3].replace("1.0.0", "1.0.1")
    same.leaves[-1] = same.sign(same.snapshot(), same.log_signers()).encode()
    same.write_files()
    older = registry.fork()
    older.pass_time(seconds=-1)
    older.publish()
    rewritten = same.fork()
    rewritten.publish()
    for other, code in (
        (smaller, "head-rollback"),
        (same, "head-fork"),
        (older, "snapshot-time"),
        (rewritten, "head-inconsistent"),
    ):
        error = refusal(follow, state, other)
        assert error.code == code
        assert error.details["evidence"] == {"trusted": trusted, "offered": other.head().checkpoint}


def test_h6_a_head_of_the_size_that_is_known_needs_no_tiles(registry: SimulatedRegistry) -> None:
    state = seen(registry)
    assert state.open_head(registry.files["head"], registry.now).tiles_needed() == []
    registry.publish()
    assert state.open_head(registry.files["head"], registry.now).tiles_needed() != []


def test_h5_steps_back_in_time_are_read_only_for_a_head_that_is_older(registry: SimulatedRegistry) -> None:
    """Nobody who answers for the registry can stop a client with a file that it does not need."""
    state = seen(registry)
    assert state.head_time == registry.now
    for seconds in (0, 1):
        registry.pass_time(seconds=seconds)
        registry.publish()
        assert state.open_head(registry.files["head"], registry.now, steps=b"no steps").steps == ()
    registry.pass_time(seconds=-2)
    registry.publish()
    assert refusal(lambda: state.open_head(registry.files["head"], registry.now)).code == "snapshot-time"
    assert (
        refusal(lambda: state.open_head(registry.files["head"], registry.now, steps=b"no steps")).code
        != "snapshot-time"
    )
    assert pinned(registry).head_time is None


def test_h5_the_tiles_of_a_step_are_asked_for_with_those_of_the_growth(registry: SimulatedRegistry) -> None:
    _, head = follow(pinned(registry), registry)
    known, newest = (replace(head.checkpoint, size=size) for size in (5, 900))
    opened = OpenedHead(
        data="", head=registry.head(), checkpoint=newest, snapshot=head.snapshot, known=known, warnings=()
    )
    growth = opened.tiles_needed()
    stepped = replace(opened, steps=(IndexLine(300, "a step"), IndexLine(899, "another")))
    (one, *others) = [tile for tile in stepped.tiles_needed() if tile not in growth]
    assert (one.level, one.index, others) == (0, 1, [])
    assert stepped.tiles_needed() == [*growth, one]


def cheated(registry: SimulatedRegistry, position: int) -> Callable[[], object]:
    """Return a function that opens an index, signed by the registry, that puts a release at a position."""
    note = registry.index_lines()[str(TOOL)][0].note
    registry.publish_index({**registry.index_files(), str(TOOL): wire.encode_index([IndexLine(position, note)])})
    _, head = follow(pinned(registry), registry)
    entry = entry_of(head, registry, str(TOOL))
    assert entry is not None
    return lambda: head.open_index(entry, registry.files[f"index/{entry.sha256}"])


def test_i3_the_last_position_of_the_log_is_in_it_and_the_next_is_not(registry: SimulatedRegistry) -> None:
    size = registry.size + 1  # including the snapshot that the cheat appends
    assert cheated(registry.fork(), size - 1)()
    error = refusal(cheated(registry.fork(), size))
    assert (error.code, f"of a log of {size}" in error.message) == ("index-position", True)


def test_i4_a_position_right_behind_the_log_is_refused_before_tiles_are_read(registry: SimulatedRegistry) -> None:
    _, head = follow(pinned(registry), registry)
    honest = registry.index_lines()[str(TOOL)][0]
    fetched = {tile: registry.files[tile.path] for tile in head.tiles_needed([honest.log])}
    for check in (head.check_logged, head.prove):
        for position in (registry.size, registry.size + 1, 10_000):
            line = IndexLine(position, honest.note)
            error = refusal(check, [line], fetched)
            assert error.code == "index-position"
    head.check_logged([IndexLine(registry.size - 1, registry.leaves[-1])], fetched)


def test_i4_a_leaf_that_is_another_says_why_it_is_not_believed(registry: SimulatedRegistry) -> None:
    _, head = follow(pinned(registry), registry)
    honest = registry.index_lines()[str(TOOL)][0]
    fetched = {tile: registry.files[tile.path] for tile in head.tiles_needed([honest.log])}
    proof = head.prove([honest], fetched)[honest.log]
    wrong = IndexLine(honest.log, honest.note.replace("1.0.0", "1.0.1"))
    for check in (
        lambda: head.check_logged([wrong], fetched),
        lambda: head.prove([wrong], fetched),
        lambda: check_inclusion(wrong, proof, head.checkpoint),
    ):
        error = refusal(check)
        assert (error.code, error.details["cause"]) == ("leaf-mismatch", "proof-root")


def test_n1_a_namespace_without_a_keyset_in_effect_is_nobodys_and_nothing_is_remembered(
    registry: SimulatedRegistry,
) -> None:
    state, head = follow(pinned(registry), registry)
    after, chain = state.accept_namespace(head, "acme", ())
    assert after == state
    assert (chain.namespace, chain.links) == ("acme", ())


def test_n2_a_namespace_whose_keysets_are_gone_is_a_fork(registry: SimulatedRegistry) -> None:
    state, head = follow(pinned(registry), registry)
    entry = entry_of(head, registry, "namespace:acme")
    assert entry is not None
    entries = head.open_index(entry, registry.files[f"index/{entry.sha256}"])
    state, _ = state.accept_namespace(head, "acme", entries)
    assert refusal(lambda: state.accept_namespace(head, "acme", ())).code == "keyset-fork"
    assert refusal(lambda: state.accept_namespace(head, "acme", None)).code == "namespace-vanished"


def test_n2_a_keyset_above_the_head_that_witnesses_cosigned_is_neither_missed_nor_forgotten(
    registry: SimulatedRegistry,
) -> None:
    state, head = follow(pinned(registry), registry)
    entry = entry_of(head, registry, "namespace:acme")
    assert entry is not None
    entries = head.open_index(entry, registry.files[f"index/{entry.sha256}"])
    for above in (0, 1):
        later = replace(state, keysets={"acme": KeysetHead(2, "0" * 64, head.checkpoint.size + above)})
        after, chain = later.accept_namespace(head, "acme", entries)
        assert after == later
        assert len(chain.links) == 1
        assert later.accept_namespace(head, "acme", None)[0] == later
    inside = replace(state, keysets={"acme": KeysetHead(2, "0" * 64, head.checkpoint.size - 1)})
    assert refusal(lambda: inside.accept_namespace(head, "acme", entries)).code == "keyset-fork"
    assert refusal(lambda: inside.accept_namespace(head, "acme", None)).code == "namespace-vanished"


def test_n3_the_alarm_names_the_keys_before_the_recovery_and_its_own(registry: SimulatedRegistry) -> None:
    registry.claim("acme", [key("acme 2")])
    registry.recover("acme", [key("acme 3")])
    registry.pass_time(hours=72)
    registry.publish()
    state, head = follow(pinned(registry), registry)
    entry = entry_of(head, registry, "namespace:acme")
    assert entry is not None
    entries = head.open_index(entry, registry.files[f"index/{entry.sha256}"])
    error = refusal(lambda: state.accept_namespace(head, "acme", entries))
    assert error.code == "recovery-unaccepted"
    vkeys = [
        [signer.verifier.vkey for signer in registry.namespace_signers("acme", [key(f"acme {n}")])] for n in (2, 3)
    ]
    assert [error.details["old_keys"], error.details["new_keys"]] == vkeys


def test_bytes_of_another_length_or_hash_are_told_apart() -> None:
    sha256 = hashlib.sha256(b"text").hexdigest()
    assert check_blob(sha256, 4, b"text") == b"text"
    for data, code in ((b"", "blob-size"), (b"texts", "blob-size"), (b"tex", "blob-size"), (b"Text", "blob-hash")):
        error = refusal(check_blob, sha256, 4, data)
        assert (error.code, error.details["sha256"]) == (code, sha256)
