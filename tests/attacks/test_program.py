"""The same attacks against the program as people start it: in a separate process, with its real limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.limits import REGISTRY
from rye.registry.trust.trust_error import RULES
from tests.attacks import (
    test_cosigned,
    test_heads,
    test_index,
    test_items,
    test_keysets,
    test_network,
    test_project,
    test_roots,
)
from tests.attacks.simulation import Attack, AttackRunner
from tests.scenes.effort import rest_thorough

pytestmark = pytest.mark.processes
ROOT = Path(__file__).parents[2]

ALL: tuple[Attack, ...] = tuple(
    attack
    for module in (
        test_heads,
        test_index,
        test_items,
        test_keysets,
        test_network,
        test_project,
        test_roots,
        test_cosigned,
    )
    for table in vars(module).values()
    if isinstance(table, tuple) and table and isinstance(table[0], Attack)
    for attack in table
)
STARTED = (
    "a smaller head than the one seen",
    "another registry at first contact",
    "a package that is missing though it is locked",
    "an index line without a leaf",
    "an altered tile",
    "a takeover: new keys sign for themselves",
    "swapped bytes",
    "an unsigned item",
    "a redirect to another host",
    "a link in place of .ai",
    "the same size with another root hash",
    "a larger head that rewrites what was seen",
    "an endless head",
    "a checkpoint by an unknown signer",
    "a tail leaf of another kind",
    "a recovery that the user did not accept",
    "a note that hides rights",
    "an update that widens its rights",
    "a journal that leads out of the project",
)


def test_every_attack_has_a_name_of_its_own() -> None:
    names = [attack.name for attack in ALL]
    assert sorted(set(names)) == sorted(names)
    assert len(names) >= 200


def test_attacks_of_different_kinds_have_codes_of_their_own() -> None:
    """Each rule has its own code, so a program can tell the attacks apart."""
    assert len({attack.code for attack in ALL}) >= 90


ELSEWHERE = {
    "release-held": "tests/upstream/test_hostile_upstreams.py",
    **dict.fromkeys(
        ("policy-chain", "policy-foreign", "policy-rollback", "policy-signer"), "tests/registry/test_policies.py"
    ),
}
"""Rules for people who read a registry through another one or joined an organization, which these users did not."""


def test_every_rule_of_acceptance_is_attacked() -> None:
    assert RULES.keys() - {attack.code for attack in ALL} == ELSEWHERE.keys()
    for code, place in ELSEWHERE.items():
        assert f'"{code}"' in (ROOT / place).read_text("utf-8")


@pytest.mark.parametrize("name", rest_thorough(4, STARTED))
def test_the_program_stops_the_attack(runner: AttackRunner, name: str) -> None:
    [attack] = [attack for attack in ALL if attack.name == name]
    runner.perform(attack, program=True)


def test_the_program_gives_up_on_a_head_that_drips(runner: AttackRunner) -> None:
    [attack] = [attack for attack in ALL if attack.name == "a head that drips"]
    runner.perform(
        replace(attack, code="fetch-deadline", limits=REGISTRY), program=True
    )  # of the head, before its speed counts
