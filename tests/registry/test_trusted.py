"""The trusted state: each acceptance rule in ``rye/registry/trust/trusted.py`` is broken once and has its own error code."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import notes, tiles, wire
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.name_map import (
    EMPTY_MAP_SHA256,
    MapEntry,
    NameMapError,
    Node,
    Place,
    find,
    load,
    node_path,
    root_place,
)
from rye.registry.protocol.statements import FormerSnapshot, Root, root_key_name
from rye.registry.protocol.wire import IndexLine
from rye.registry.trust.keysets import KeysetChain
from rye.registry.trust.trust_error import RULES, TrustError
from rye.registry.trust.trusted import LoggedStatement, TrustedHead, TrustedState, check_blob, check_inclusion
from tests.registry.simulated_client import follow, pinned, seen
from tests.registry.simulated_registry import SimulatedRegistry, key, signer

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


# roots


def test_r1_root_1_is_the_one_with_the_pinned_fingerprint(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    assert state.origin == "registry.example"
    assert state.fingerprint == registry.fingerprint
    data = registry.roots[0].encode().encode()
    assert refusal(lambda: TrustedState.pin(data, "0" * 64)).code == "root-fingerprint"
    assert refusal(lambda: TrustedState.pin(data, registry.fingerprint, "other.example")).code == "root-origin"


def test_r1_root_1_is_signed_by_a_threshold_of_its_owners(registry: SimulatedRegistry) -> None:
    root = Root.parse(registry.roots[0].text)
    name = root_key_name(registry.origin)
    owner, stranger = signer(name, registry.owners[0]), signer(name, key("stranger"))
    for signers in ([owner], [owner, owner], [owner, stranger], [stranger]):
        data = notes.sign(root.text(), signers).encode().encode()
        assert refusal(TrustedState.pin, data, registry.fingerprint).code == "root-signatures"


def test_r1_a_later_root_cannot_be_pinned(registry: SimulatedRegistry) -> None:
    registry.add_root()
    note = registry.roots[1]
    fingerprint = hashlib.sha256(note.text.encode()).hexdigest()
    assert refusal(lambda: TrustedState.pin(note.encode().encode(), fingerprint)).code == "root-number"


def test_r2_owners_hand_over_to_new_owners(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    old = registry.owners
    registry.owners = [key("owner 4"), key("owner 5")]
    registry.add_root(signers=registry.owner_signers([*registry.owners, *old[:2]]))
    after = state.accept_root(registry.roots[1].encode().encode())
    assert after.root.number == 2
    assert len(after.all_roots) == 2
    assert after.fingerprint == state.fingerprint


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("root-origin", {"origin": "other.example"}),
        ("root-number", {"number": 3}),
        ("root-chain", {"previous": "0" * 64}),
        ("root-time", {"time": SimulatedRegistry().now - timedelta(seconds=1)}),
    ],
)
def test_r2_a_root_that_does_not_follow_is_refused(
    registry: SimulatedRegistry, code: str, changes: dict[str, object]
) -> None:
    root = registry.root(**changes)
    note = notes.sign(root.text(), registry.owner_signers())
    assert refusal(lambda: pinned(registry).accept_root(note.encode().encode())).code == code


def test_r2_new_owners_alone_take_nothing_over(registry: SimulatedRegistry) -> None:
    state, old = pinned(registry), registry.owners
    registry.owners = [key("thief 1"), key("thief 2")]
    for signing, code in (
        (registry.owners, "root-takeover"),
        ([*registry.owners, old[0]], "root-takeover"),
        ([registry.owners[0], *old], "root-signatures"),
        (old, "root-signatures"),
    ):
        note = notes.sign(registry.root().text(), registry.owner_signers(signing))
        assert refusal(state.accept_root, note.encode().encode()).code == code


# head


def test_a_head_is_accepted_and_remembered(registry: SimulatedRegistry) -> None:
    state, head = follow(pinned(registry), registry)
    assert state.checkpoint == registry.checkpoint()
    assert head.warnings == ()
    again, _ = follow(state, registry)
    assert again == state


@pytest.mark.thorough
@pytest.mark.slow
def test_heads_are_followed_through_every_size_up_to_300() -> None:
    registry = SimulatedRegistry()
    state = seen(registry)
    registry.claim("acme")
    for number in range(40):
        for part in range(number % 13):
            registry.release(Identity("tool", f"acme/x/n{number}_{part}"))
        registry.pass_time(minutes=1)
        registry.publish()
        state, _ = follow(state, registry)
        assert state.checkpoint == registry.checkpoint()
    assert registry.size > 256


def test_h1_an_expired_root_stops_everything(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    registry.pass_time(days=365)
    registry.publish()
    assert refusal(lambda: follow(state, registry)).code == "root-expired"


def test_h2_the_checkpoint_is_the_origins_and_the_logs(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    other = notes.sign(registry.checkpoint(origin="other.example").text(), [signer("other.example", registry.logs[0])])
    registry.write_files(registry.head(checkpoint=other))
    assert refusal(lambda: follow(state, registry)).code == "checkpoint-origin"
    for signers in (
        [signer(registry.origin, key("thief"))],
        registry.owner_signers(),
        registry.log_signers([key("acme 1")]),
    ):
        forged = notes.sign(registry.checkpoint().text(), signers)
        registry.write_files(registry.head(checkpoint=forged))
        assert refusal(lambda: follow(state, registry)).code == "checkpoint-signature"


def test_h2_a_log_key_that_was_rotated_out_signs_no_more(registry: SimulatedRegistry) -> None:
    old = registry.logs
    registry.logs = [key("log 2")]
    registry.add_root()
    registry.publish()
    state = pinned(registry)
    assert follow(state, registry)
    forged = notes.sign(registry.checkpoint().text(), registry.log_signers(old))
    registry.write_files(registry.head(checkpoint=forged))
    assert refusal(lambda: follow(state, registry)).code == "checkpoint-signature"


def test_h3_a_tree_that_ends_in_another_kind_of_leaf_is_refused(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    registry.release(TOOL, "1.0.1")
    registry.write_files()
    assert refusal(lambda: follow(state, registry)).code == "snapshot-kind"


def test_h3_the_snapshot_is_the_origins_the_logs_and_the_last_leaf(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    good = registry.leaves[-1]
    registry.leaves[-1] = notes.sign(registry.snapshot(origin="other.example").text(), registry.log_signers()).encode()
    registry.write_files()
    assert refusal(lambda: follow(state, registry)).code == "snapshot-origin"
    registry.leaves[-1] = notes.sign(registry.snapshot().text(), registry.owner_signers()).encode()
    registry.write_files()
    assert refusal(lambda: follow(state, registry)).code == "snapshot-signature"
    registry.leaves[-1] = good
    registry.pass_time(minutes=1)
    newer = notes.sign(registry.snapshot().text(), registry.log_signers()).encode()
    registry.write_files(registry.head(snapshot=newer))
    assert refusal(lambda: follow(state, registry)).code == "snapshot-proof"


def test_h3_an_inclusion_proof_that_is_longer_shorter_or_of_another_place_is_refused(
    registry: SimulatedRegistry,
) -> None:
    state, proof = pinned(registry), registry.head().proof_hashes()
    from rye.registry.protocol import merkle

    elsewhere = merkle.inclusion_proof(0, registry.size, registry.reader())
    for other in ([*proof, bytes(32)], proof[:-1], elsewhere, [bytes(32), *proof[1:]], []):
        registry.write_files(registry.head(proof=other))
        assert refusal(lambda: follow(state, registry)).code == "snapshot-proof"


def test_h3_an_empty_log_is_refused(registry: SimulatedRegistry) -> None:
    empty = notes.sign(registry.checkpoint(size=0).text(), registry.log_signers())
    registry.write_files(registry.head(checkpoint=empty))
    assert refusal(lambda: follow(pinned(registry), registry)).code == "head-empty"


def test_h4_the_snapshot_names_the_last_root(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    registry.add_root()
    registry.publish()
    assert state.root_hint(registry.files["head"]) == 2
    assert refusal(lambda: follow(state, registry)).code == "snapshot-root"
    behind = registry.fork()
    behind.append(behind.sign(behind.snapshot(root=1), behind.log_signers()))
    behind.write_files()
    assert refusal(lambda: follow(pinned(registry), behind)).code == "snapshot-root"


def test_h4_another_name_map_is_not_the_one_that_the_snapshot_fixes(registry: SimulatedRegistry) -> None:
    state, honest = pinned(registry), registry.head().map
    registry.release(TOOL, "7.0.0")
    for other in ("0" * 64, EMPTY_MAP_SHA256, registry.map_of().root):
        assert other != honest
        registry.files["head"] = wire.encode_head(replace(wire.decode_head(registry.files["head"]), map=other))
        assert refusal(lambda: follow(state, registry)).code == "snapshot-map"


def test_h3_a_snapshot_of_protocol_1_fixes_nothing(registry: SimulatedRegistry) -> None:
    former = FormerSnapshot(registry.origin, registry.now, 1, bytes(32))
    registry.append(registry.sign(former, registry.log_signers()))
    registry.write_files()
    with pytest.raises(StatementError):
        follow(pinned(registry), registry)


def test_h5_a_head_is_reported_after_72_hours_and_refused_after_7_days(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    registry.pass_time(hours=72)
    assert follow(state, registry)[1].warnings == ()
    registry.pass_time(seconds=1)
    assert len(follow(state, registry)[1].warnings) == 1
    registry.pass_time(days=4, seconds=-1)
    assert len(follow(state, registry)[1].warnings) == 1
    registry.pass_time(seconds=1)
    assert refusal(lambda: follow(state, registry)).code == "head-stale"


def test_h5_a_head_that_was_seen_before_and_never_changes_is_frozen(registry: SimulatedRegistry) -> None:
    state = seen(registry)
    registry.pass_time(days=8)
    assert refusal(lambda: follow(state, registry)).code == "head-frozen"


def test_h5_a_head_from_the_future_is_refused(registry: SimulatedRegistry) -> None:
    state = pinned(registry)
    registry.pass_time(minutes=-10)
    assert follow(state, registry)
    registry.pass_time(seconds=-1)
    assert refusal(lambda: follow(state, registry)).code == "snapshot-future"


def test_h5_time_does_not_go_back_while_the_log_grows(registry: SimulatedRegistry) -> None:
    state = seen(registry)
    registry.pass_time(minutes=-1)
    registry.publish()
    error = refusal(lambda: follow(state, registry))
    assert error.code == "snapshot-time"
    assert set(error.details["evidence"]) == {"trusted", "offered"}  # type: ignore[call-overload]


def test_h6_a_smaller_head_is_a_rollback_and_both_heads_are_kept(registry: SimulatedRegistry) -> None:
    older = registry.fork()
    registry.publish()
    error = refusal(lambda: follow(seen(registry), older))
    assert error.code == "head-rollback"
    evidence = error.details["evidence"]
    assert isinstance(evidence, dict)
    assert notes.parse(evidence["trusted"]).text == registry.checkpoint().text()
    assert notes.parse(evidence["offered"]).text == older.checkpoint().text()


def test_h6_another_root_hash_of_the_same_size_is_a_fork(registry: SimulatedRegistry) -> None:
    other = registry.fork()
    registry.release(TOOL, "1.1.0")
    registry.publish()
    other.release(TOOL, "1.1.1")
    other.publish()
    error = refusal(lambda: follow(seen(registry), other))
    assert error.code == "head-fork"
    assert set(error.details["evidence"]) == {"trusted", "offered"}  # type: ignore[call-overload]


@pytest.mark.parametrize("more", [1, 2, 7, 300])
def test_h6_a_larger_head_that_rewrites_the_past_is_inconsistent(registry: SimulatedRegistry, more: int) -> None:
    state = seen(registry)
    other = registry.fork()
    other.leaves[1] = other.leaves[2]
    for number in range(more):
        other.release(Identity("tool", f"acme/text/n{number}"))
    other.publish()
    error = refusal(lambda: follow(state, other))
    assert error.code == "head-inconsistent"
    assert set(error.details["evidence"]) == {"trusted", "offered"}  # type: ignore[call-overload]


def test_h6_tiles_of_the_old_history_do_not_prove_the_new_one(registry: SimulatedRegistry) -> None:
    state, honest, other = seen(registry), registry.fork(), registry.fork()
    other.leaves[1] = other.leaves[2]
    for fork in (honest, other):
        fork.release(TOOL, "1.1.0")
        fork.publish()
    opened = state.open_head(other.files["head"], other.now)
    honest_tiles = {tile: honest.files[tile.path] for tile in opened.tiles_needed()}
    assert refusal(lambda: state.accept_head(opened, honest_tiles)).code == "tile-root"
    assert refusal(lambda: state.accept_head(opened, {})).code == "tile-missing"


def test_a_refused_head_leaves_the_state_as_it_was(registry: SimulatedRegistry) -> None:
    state = seen(registry)
    before = replace(state)
    registry.leaves[1] = registry.leaves[2]
    registry.publish()
    refusal(lambda: follow(state, registry))
    assert state == before


def test_a_head_opened_against_one_state_is_not_accepted_by_another(registry: SimulatedRegistry) -> None:
    opened = pinned(registry).open_head(registry.files["head"], registry.now)
    with pytest.raises(ValueError, match="another state"):
        seen(registry).accept_head(opened, {})


# index


def entry_of(head: TrustedHead, registry: SimulatedRegistry, name: str) -> MapEntry | None:
    """Where a name's index file is, according to the nodes that the registry serves."""
    nodes: dict[str, Node] = {}
    load(
        head.map,
        [name],
        nodes,
        lambda places: [registry.files[node_path(place.sha256)] for place in places],
        head.open_node,
    )
    found = find(head.map, name, nodes)
    assert not isinstance(found, Place)
    return found


def opened(registry: SimulatedRegistry, name: str) -> tuple[TrustedHead, MapEntry]:
    head = follow(pinned(registry), registry)[1]
    entry = entry_of(head, registry, name)
    assert entry is not None
    return head, entry


def test_i1_a_node_is_the_one_that_is_named_and_belongs_where_it_hangs(registry: SimulatedRegistry) -> None:
    head, _ = opened(registry, str(TOOL))
    place, data = root_place(head.map), registry.files[node_path(head.map)]
    assert head.open_node(place, data).names == 2
    for other in (b"", data + data, data.replace(b"tool", b"role")):
        error = refusal(head.open_node, place, other)
        assert (error.code, error.details["expected"]) == ("map-hash", head.map)
    assert refusal(head.open_node, replace(place, names=3), data).code == "map-place"
    broken = data + b"\n"
    with pytest.raises(NameMapError) as raised:
        head.open_node(root_place(hashlib.sha256(broken).hexdigest()), broken)
    assert raised.value.code == "map-malformed"
    assert entry_of(head, registry, "tool:acme/text/absent") is None


def test_i2_an_index_file_is_the_one_that_the_map_names(registry: SimulatedRegistry) -> None:
    head, entry = opened(registry, str(TOOL))
    data = registry.files[f"index/{entry.sha256}"]
    assert len(head.open_index(entry, data)) == 1
    assert refusal(lambda: head.open_index(entry, data + b"\n")).code == "index-size"
    assert refusal(lambda: head.open_index(entry, data[:-1])).code == "index-size"
    assert refusal(lambda: head.open_index(entry, data[:-2] + b"\n\n")).code == "index-hash"


def cheat(registry: SimulatedRegistry, name: str, entries: list[IndexLine]) -> Callable[[], object]:
    """The registry itself signs a snapshot over an index that does not match the log."""
    indexes = {**registry.index_files(), name: wire.encode_index(entries)}
    registry.publish_index(indexes)
    head, entry = opened(registry, name)
    return lambda: head.open_index(entry, registry.files[f"index/{entry.sha256}"])


def test_i3_a_line_is_a_statement_about_that_name_inside_the_tree(registry: SimulatedRegistry) -> None:
    honest = registry.index_lines()[str(TOOL)][0]
    other = Identity("tool", "acme/text/other")
    other_release = registry.leaves[registry.release(other)]
    foreign = SimulatedRegistry(origin="other.example")
    foreign.claim("acme")
    foreign_release = foreign.leaves[foreign.release(TOOL)]
    snapshot = registry.leaves[1]
    for code, line in (
        ("index-position", IndexLine(10_000, honest.note)),
        ("index-foreign", IndexLine(honest.log, other_release)),
        ("index-foreign", IndexLine(honest.log, foreign_release)),
        ("index-foreign", IndexLine(honest.log, snapshot)),
        ("index-foreign", IndexLine(honest.log, registry.leaves[2])),
        ("index-statement", IndexLine(honest.log, honest.note.replace("version 1.0.0", "version 1.0"))),
        ("index-statement", IndexLine(honest.log, honest.note.replace("release/v1", "release/v2"))),
        ("index-statement", IndexLine(honest.log, honest.note[:-3] + "\n")),
    ):
        assert refusal(cheat(registry.fork(), str(TOOL), [line])).code == code


def test_i4_a_line_is_the_leaf_at_its_position(registry: SimulatedRegistry) -> None:
    _, head = follow(pinned(registry), registry)
    honest = registry.index_lines()[str(TOOL)][0]
    fetched = {tile: registry.files[tile.path] for tile in head.tiles_needed([honest.log, 1])}
    proofs = head.prove([honest], fetched)
    head.check_logged([honest], fetched)
    check_inclusion(honest, proofs[honest.log], head.checkpoint)
    for line in (IndexLine(1, honest.note), IndexLine(honest.log, honest.note.replace("1.0.0", "1.0.1"))):
        assert refusal(head.prove, [line], fetched).code == "leaf-mismatch"
        assert refusal(head.check_logged, [honest, line], fetched).code == "leaf-mismatch"
        assert refusal(check_inclusion, line, proofs[honest.log], head.checkpoint).code == "leaf-mismatch"
    changed = {tile: bytes(len(data)) for tile, data in fetched.items()}
    for check in (head.prove, head.check_logged):
        assert refusal(check, [IndexLine(99, honest.note)], fetched).code == "index-position"
        assert refusal(check, [honest], changed).code == "tile-root"
    assert tiles.inclusion_tiles([honest.log], registry.size) == head.tiles_needed([honest.log])


# namespaces


def chain_of(
    state: TrustedState, registry: SimulatedRegistry, namespace: str = "acme"
) -> tuple[TrustedState, KeysetChain]:
    state, head = follow(state, registry)
    name = wire.namespace_name(namespace)
    entry = entry_of(head, registry, name)
    entries: tuple[LoggedStatement, ...] | None = None
    if entry is not None:
        entries = head.open_index(entry, registry.files[f"index/{entry.sha256}"])
    return state.accept_namespace(head, namespace, entries)


def test_n1_a_namespace_that_nobody_claimed_has_an_empty_chain(registry: SimulatedRegistry) -> None:
    state, chain = chain_of(pinned(registry), registry, "nobody")
    assert chain.links == ()
    assert dict(state.keysets) == {}


def test_n2_a_keyset_that_was_seen_cannot_change_or_vanish(registry: SimulatedRegistry) -> None:
    state, _ = chain_of(pinned(registry), registry)
    assert state.keysets["acme"].number == 1
    gone = registry.fork()
    indexes = {name: data for name, data in gone.index_files().items() if name != "namespace:acme"}
    gone.publish_index(indexes)
    assert refusal(lambda: chain_of(state, gone)).code == "namespace-vanished"
    other = registry.fork()
    del other.keysets["acme"], other.namespaces["acme"]
    position = other.claim("acme", [key("thief")])
    changed = {
        **other.index_files(),
        "namespace:acme": wire.encode_index([IndexLine(position, other.leaves[position])]),
    }
    other.publish_index(changed)
    assert refusal(lambda: chain_of(state, other)).code == "keyset-fork"


def test_n2_a_rotation_signed_by_old_and_new_keys_is_accepted(registry: SimulatedRegistry) -> None:
    state, _ = chain_of(pinned(registry), registry)
    registry.claim("acme", [key("acme 2")])
    registry.publish()
    state, chain = chain_of(state, registry)
    assert [link.keyset.number for link in chain.links] == [1, 2]
    assert state.keysets["acme"].number == 2


def test_n3_a_recovery_in_effect_stops_until_the_user_accepts_that_very_statement(registry: SimulatedRegistry) -> None:
    state, _ = chain_of(pinned(registry), registry)
    keyset = registry.recover("acme", [key("acme new")])
    registry.publish()
    pending, chain = chain_of(state, registry)
    assert pending.keysets["acme"].number == 1
    assert chain.pending(registry.now) is not None
    registry.pass_time(hours=72)
    registry.publish()
    error = refusal(lambda: chain_of(pending, registry))
    assert error.code == "recovery-unaccepted"
    assert error.details["statement"] == keyset.sha256()
    assert error.details["old_keys"] != error.details["new_keys"]
    assert refusal(lambda: chain_of(pending.accept_recovery("0" * 64), registry)).code == "recovery-unaccepted"
    accepted, chain = chain_of(pending.accept_recovery(keyset.sha256()), registry)
    assert accepted.keysets["acme"].number == 2
    assert chain.pending(registry.now) is None


def test_n1_a_namespaces_index_holds_only_its_keysets(registry: SimulatedRegistry) -> None:
    state, head = follow(pinned(registry), registry)
    note = notes.parse(registry.leaves[3])
    from rye.registry.protocol.statements import parse

    alien = LoggedStatement(IndexLine(3, registry.leaves[3]), note, parse(note.text))
    assert refusal(lambda: state.accept_namespace(head, "acme", [alien])).code == "index-foreign"


# bytes and codes


def test_bytes_are_the_ones_that_the_release_names() -> None:
    sha256 = hashlib.sha256(b"text").hexdigest()
    assert check_blob(sha256, 4, b"text") == b"text"
    assert refusal(lambda: check_blob(sha256, 4, b"tex")).code == "blob-size"
    assert refusal(lambda: check_blob(sha256, 4, b"Text")).code == "blob-hash"


def test_every_code_has_a_hint_and_no_other_code_can_be_raised() -> None:
    assert all(hint.endswith(".") for hint in RULES.values())
    with pytest.raises(KeyError):
        TrustError("no-such-rule", "message")


def test_every_code_is_raised_somewhere_and_has_a_test() -> None:
    here = Path(__file__).parents[2]
    sources = [
        path for room in ("registry", "verified", "installation") for path in (here / "rye" / room).rglob("*.py")
    ]
    raising = "".join(path.read_text("utf-8") for path in sources if path.name != "trust_error.py")
    tests = [path for room in ("registry", "attacks") for path in (here / "tests" / room).glob("test_*.py")]
    testing = "".join(path.read_text("utf-8") for path in tests)
    assert [code for code in RULES if f'"{code}"' not in raising] == []
    assert [code for code in RULES if f'"{code}"' not in testing] == []
