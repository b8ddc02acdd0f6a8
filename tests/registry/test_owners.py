"""Who owned a registry only before signs nothing that comes after (rye.registry.trust.owners)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rye.items.identity import Identity
from rye.registry.protocol import notes
from rye.registry.protocol.statements import Release, parse
from rye.registry.store import state as stored
from rye.registry.trust.auditing import audit
from rye.registry.trust.keysets import KeysetChain
from rye.registry.trust.owners import Owners
from rye.registry.trust.records import ItemHistory, judge
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import LoggedStatement, TrustedState
from rye.signing.keys import PrivateKey
from tests.registry.simulated_client import follow, pinned, seen
from tests.registry.simulated_registry import SimulatedRegistry, key

TOOL = Identity("tool", "acme/text/count")
NEW_OWNERS = [key("new owner 1"), key("new owner 2"), key("new owner 3")]
FORMER = [key("owner 1"), key("owner 2")]


def replaced_owners() -> SimulatedRegistry:
    """A registry with a release, whose owners then gave it to others."""
    registry = SimulatedRegistry()
    registry.claim("acme")
    registry.release(TOOL, "1.0.0")
    registry.publish()
    registry.pass_time(hours=1)
    former = registry.owner_signers()
    registry.owners = list(NEW_OWNERS)
    registry.add_root(signers=[*former, *registry.owner_signers()])
    registry.publish()
    registry.pass_time(hours=1)
    return registry


def signed_by(
    owners: list[PrivateKey], act: Callable[[SimulatedRegistry], object]
) -> Callable[[SimulatedRegistry], None]:
    def do(registry: SimulatedRegistry) -> None:
        present, registry.owners = registry.owners, owners
        act(registry)
        registry.owners = present
        registry.publish()

    return do


def takedown(registry: SimulatedRegistry) -> None:
    release = parse(notes.parse(next(leaf for leaf in registry.leaves if leaf.startswith(Release.TITLE))).text)
    registry.take_down(TOOL, "1.0.0", [release.file.sha256])  # type: ignore[union-attr]


def advisory(registry: SimulatedRegistry) -> None:
    registry.advise(TOOL, "*", by_owners=True)


def recovery(registry: SimulatedRegistry) -> None:
    keyset = registry.recover("acme", [key("thief")])
    registry.add_keyset(
        keyset, [*registry.namespace_signers("acme", [key("thief")]), *registry.owner_signers()], [key("thief")]
    )


ACTS = [(takedown, "takedown-signer"), (advisory, "advisory-signer"), (recovery, "recovery-signatures")]


def read(state: TrustedState, registry: SimulatedRegistry) -> ItemHistory:
    """What a client with this state makes of the item and its namespace."""
    state, head = follow(state, registry)
    entries = {
        name: [LoggedStatement(line, notes.parse(line.note), parse(notes.parse(line.note).text)) for line in lines]
        for name, lines in registry.index_lines().items()
    }
    state, chain = state.accept_namespace(head, "acme", entries["namespace:acme"])
    assert isinstance(chain, KeysetChain)
    return judge(TOOL, entries[str(TOOL)], chain, state.owners, head.snapshot.time)


def refusal(state: TrustedState, registry: SimulatedRegistry) -> str:
    with pytest.raises(TrustError) as caught:
        read(state, registry)
    return caught.value.code


def findings(registry: SimulatedRegistry) -> set[str]:
    return {found.code for found in audit((leaf.encode() for leaf in registry.leaves), registry.fingerprint).findings}


@pytest.mark.parametrize(("act", "code"), ACTS)
def test_former_owners_sign_nothing_that_a_client_takes_after_it_saw_the_new_ones(
    act: Callable[[SimulatedRegistry], None], code: str
) -> None:
    registry = replaced_owners()
    state = seen(registry)
    good, bad = registry.fork(), registry.fork()
    signed_by(list(NEW_OWNERS), act)(good)
    assert read(state, good).records  # the control: the present owners may
    signed_by(FORMER, act)(bad)
    assert refusal(state, bad) == code
    again = stored.decode(stored.encode(state))
    assert refusal(again, bad) == code  # also when the state comes from its file


@pytest.mark.parametrize(("act", "code"), ACTS)
def test_an_auditor_knows_the_owners_at_each_entry(act: Callable[[SimulatedRegistry], None], code: str) -> None:
    registry = replaced_owners()
    good, bad = registry.fork(), registry.fork()
    signed_by(list(NEW_OWNERS), act)(good)
    assert findings(good) == set()
    signed_by(FORMER, act)(bad)
    assert code in findings(bad)


@pytest.mark.parametrize("act", [takedown, advisory])
def test_what_the_former_owners_signed_in_their_time_stays_valid(act: Callable[[SimulatedRegistry], None]) -> None:
    registry = SimulatedRegistry()
    registry.claim("acme")
    registry.release(TOOL, "1.0.0")
    act(registry)
    registry.publish()
    state = seen(registry)
    former = registry.owner_signers()
    registry.owners = list(NEW_OWNERS)
    registry.add_root(signers=[*former, *registry.owner_signers()])
    registry.publish()
    assert findings(registry) == set()
    assert read(state.accept_root(registry.roots[1].encode().encode()), registry).records
    assert read(pinned(registry), registry).records


def test_a_client_that_comes_later_knows_the_owners_from_its_first_head_on() -> None:
    registry = replaced_owners()
    signed_by(FORMER, takedown)(registry)
    # It cannot know who owned the registry before its first head: `rye log verify` does, the client does not.
    late = pinned(registry)
    assert read(late, registry).records
    late, _ = follow(late, registry)
    signed_by(FORMER, advisory)(registry)
    assert refusal(late, registry) == "advisory-signer"


def test_of_two_programs_the_one_that_saw_the_root_first_counts() -> None:
    registry = replaced_owners()
    early = seen(registry)
    registry.pass_time(hours=1)
    registry.publish()
    late = seen(registry)
    size = early.in_force[2]
    assert size < late.in_force[2]
    for one, other in ((early, late), (late, early)):
        assert stored.merge(one, other).in_force == {2: size}


def test_a_state_from_before_learns_from_its_head() -> None:
    registry = replaced_owners()
    state = seen(registry)
    text = stored.encode(state)
    assert b"in_force" in text
    former = stored.decode(stored.encode(TrustedState(origin=state.origin, roots=state.roots, head=state.head)))
    assert former.in_force == state.in_force


def test_a_registry_that_kept_its_first_owners_has_the_file_that_it_had() -> None:
    registry = SimulatedRegistry()
    registry.publish()
    assert b"in_force" not in stored.encode(seen(registry))


def test_the_owners_at_a_position() -> None:
    registry = replaced_owners()
    roots = pinned(registry).all_roots
    owners = Owners(roots, {2: 7})
    assert [[root.number for root in owners.at(position)] for position in (0, 6, 7, 99)] == [[1, 2], [1, 2], [2], [2]]
