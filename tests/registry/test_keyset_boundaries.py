"""Keyset chains at their boundaries: positions, several keys and roots, and what a refusal names."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rye.items.identity import Identity
from rye.registry.protocol import notes
from rye.registry.protocol.statements import Keyset, Release, Root
from rye.registry.trust.keysets import KeysetChain, extend
from rye.registry.trust.owners import Owners, signed_by_owners
from rye.registry.trust.trust_error import TrustError
from tests.registry.simulated_registry import SimulatedRegistry, key

TOOL = Identity("tool", "acme/text/count")
ONE, TWO, THREE, FOUR, FIVE = (key(f"acme {number}") for number in range(1, 6))


def roots_of(registry: SimulatedRegistry) -> list[Root]:
    return [Root.parse(note.text) for note in registry.roots]


def extended(registry: SimulatedRegistry, chain: KeysetChain, leaf: int, position: int | None = None) -> KeysetChain:
    """The chain extended by the keyset of a leaf, optionally as if it were at another position."""
    note = notes.parse(registry.leaves[leaf])
    return extend(
        chain, leaf if position is None else position, note, Keyset.parse(note.text), Owners(tuple(roots_of(registry)))
    )


def chain_of(registry: SimulatedRegistry) -> KeysetChain:
    chain = KeysetChain(registry.origin, "acme")
    for line in registry.index_lines()["namespace:acme"]:
        chain = extended(registry, chain, line.log)
    return chain


def test_a_keyset_decides_about_what_stands_after_it_not_about_its_own_position() -> None:
    registry = SimulatedRegistry()
    first, second = registry.claim("acme", [ONE]), registry.claim("acme", [TWO])
    chain = chain_of(registry)
    numbers = [
        (link.keyset.number if (link := chain.in_force(at, registry.now)) else None) for at in range(first, second + 3)
    ]
    assert second == first + 1
    assert numbers == [None, 1, 2, 2]


@pytest.mark.parametrize("shift", [0, -1])
def test_a_keyset_stands_after_the_last_one_of_its_chain(shift: int) -> None:
    registry = SimulatedRegistry()
    first = registry.claim("acme", [ONE])
    registry.publish()
    second, third = registry.claim("acme", [TWO]), registry.claim("acme", [THREE])
    chain = extended(registry, extended(registry, KeysetChain(registry.origin, "acme"), first), second)
    with pytest.raises(TrustError, match="is not after the previous one in the log") as raised:
        extended(registry, chain, third, second + shift)
    assert raised.value.code == "index-position"
    assert len(extended(registry, chain, third, second + 1).links) == 3


def test_the_first_keyset_may_stand_anywhere() -> None:
    registry = SimulatedRegistry()
    leaf = registry.claim("acme", [ONE])
    assert extended(registry, KeysetChain(registry.origin, "acme"), leaf, 0).links[0].position == 0


def test_only_the_keys_that_signed_are_a_statements_signers() -> None:
    registry = SimulatedRegistry()
    registry.claim("acme", [ONE, TWO, THREE])
    position = registry.release(TOOL, keys=[THREE, ONE, FIVE])
    note = notes.parse(registry.leaves[position])
    signers = chain_of(registry).check(position, Release.parse(note.text), note, registry.now)
    assert signers.keys == (ONE.public.raw, THREE.public.raw)
    assert signers.revoked is False


def test_the_refusal_of_a_signer_names_the_keys_of_both_sides_and_at_most_three_strangers() -> None:
    registry = SimulatedRegistry()
    registry.claim("acme", [ONE, TWO])
    strangers = [key(f"stranger {number}") for number in range(4)]
    position = registry.release(TOOL, keys=strangers)
    note = notes.parse(registry.leaves[position])
    chain = chain_of(registry)
    with pytest.raises(TrustError) as raised:
        chain.check(position, Release.parse(note.text), note, registry.now)
    expected = [signed.verifier.vkey for signed in registry.namespace_signers("acme", [ONE, TWO])]
    found = [f"{line.name}+{line.key_id.hex()}" for line in note.signatures]
    assert raised.value.code == "statement-signer"
    assert raised.value.details["expected_keys"] == expected
    assert raised.value.details["found_keys"] == found
    assert len(found) == 4
    assert raised.value.message.endswith(
        f"its keys are {', '.join(expected)}, but the signatures are by {', '.join(found[:3])}."
    )


def rotated() -> SimulatedRegistry:
    """A registry whose second root has other owners."""
    registry = SimulatedRegistry()
    registry.claim("acme", [ONE])
    old = registry.owner_signers()
    registry.owners = [key(f"new owner {number}") for number in range(3)]
    registry.add_root(signers=[*old, *registry.owner_signers()])
    return registry


def test_the_owners_of_any_trusted_root_may_sign_a_recovery() -> None:
    registry = rotated()
    registry.recover("acme", [TWO])
    assert chain_of(registry).links[-1].keyset.number == 2
    note = notes.parse(registry.leaves[-1])
    first, second = roots_of(registry)
    assert signed_by_owners(note, [first, second]) is True
    assert signed_by_owners(note, [second, first]) is True
    assert signed_by_owners(note, [first]) is False
    assert signed_by_owners(note, []) is False


def test_an_objection_takes_only_the_recoverys_place() -> None:
    """Every keyset before the recovery stays."""
    registry = SimulatedRegistry()
    for keys in ([ONE], [TWO], [THREE]):
        registry.claim("acme", keys)
    before = registry.keysets["acme"]
    registry.recover("acme", [FIVE])
    registry.keysets["acme"] = before
    registry.namespaces["acme"] = [THREE]
    registry.pass_time(hours=1)
    registry.claim("acme", [FOUR])
    chain = chain_of(registry)
    assert [link.keyset.number for link in chain.links] == [1, 2, 3, 4]
    assert chain.links[-1].keyset.keys == (FOUR.public.raw,)
    assert chain.links[-1].keyset.recovery is None


def test_a_recovery_counts_from_its_very_second() -> None:
    registry = SimulatedRegistry()
    registry.claim("acme", [ONE])
    recovery = registry.recover("acme", [TWO]).recovery
    assert recovery is not None
    chain, second = chain_of(registry), timedelta(seconds=1)
    early, late = chain.current(recovery - second), chain.current(recovery)
    assert early is not None
    assert late is not None
    assert (early.keyset.number, late.keyset.number) == (1, 2)
    assert chain.pending(recovery - second) == chain.links[1]
    assert chain.pending(recovery) is None
    assert chain.unaccepted(frozenset(), recovery - second) is None
    assert chain.unaccepted(frozenset(), recovery) == chain.links[1]
    assert chain.unaccepted(frozenset({chain.links[1].sha256}), recovery) is None


def test_an_empty_chain_has_nothing_in_force() -> None:
    chain, now = KeysetChain("registry.example", "acme"), SimulatedRegistry().now
    assert chain.effective(now) == ()
    assert chain.in_force(10, now) is None
    assert chain.current(now) is None
    assert chain.pending(now) is None
    assert chain.unaccepted(frozenset(), now) is None


def test_a_statement_that_is_dated_behind_a_recovery_does_not_shorten_the_wait() -> None:
    """Rule 6: the new keys sign right away, with a time after which the recovery is in effect."""
    registry = SimulatedRegistry()
    registry.claim("acme", [ONE])
    recovery = registry.recover("acme", [TWO]).recovery
    assert recovery is not None
    position = registry.release(TOOL, keys=[TWO], keyset=2, time=recovery)
    note = notes.parse(registry.leaves[position])
    chain, release = chain_of(registry), Release.parse(note.text)
    for time in (registry.now, recovery - timedelta(seconds=1)):
        with pytest.raises(
            TrustError, match="is postdated: keyset 2 is not in effect before its recovery time"
        ) as raised:
            chain.check(position, release, note, time)
        assert raised.value.code == "statement-keyset"
    assert chain.check(position, release, note, recovery).link.keyset.number == 2
