"""Attacks on the registry's root of trust: its owners, its log's keys (docs/reference/statements.md, rye.root/v1)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import timedelta

import pytest

from rye.registry.protocol.notes import Signer
from rye.registry.protocol.statements import Root
from tests.attacks.named_attacks import of_the_tables
from tests.attacks.simulation import Attack, Attacker, AttackRunner, progress, raw
from tests.registry.simulated_registry import SimulatedRegistry, key
from tests.scenes.effort import rest_thorough

pytestmark = pytest.mark.slow

PIN = ("registry", "add", "{url}", "--fingerprint", "{pin}")
SMALL_ORDER = base64.b64encode(bytes(32)).decode()
"""The point (0, −1), which has order 4, in this encoding: any signature verifies under such a key."""


def rotated(registry: SimulatedRegistry) -> None:
    """The honest registry gets a new log key with its owners' agreement."""
    registry.logs = [key("log 2")]
    registry.add_root()
    progress(registry)


def next_root(change: Callable[[SimulatedRegistry], None]) -> Callable[[Attacker], None]:
    """Serve a registry whose root 2 was made by ``change``; the key named by root 1 signs the log."""

    def act(attacker: Attacker) -> None:
        registry = attacker.past.fork()
        registry.pass_time(hours=1)
        change(registry)
        registry.append(registry.sign(registry.snapshot(root=2), registry.log_signers()))
        registry.write_files()
        attacker.serve(registry)

    return act


def root_with(
    signers: Callable[[SimulatedRegistry], list[Signer]] | None = None, **changes: object
) -> Callable[[Attacker], None]:
    def change(registry: SimulatedRegistry) -> None:
        registry.add_root(registry.root(**changes), None if signers is None else signers(registry))

    return next_root(change)


def thieves(registry: SimulatedRegistry) -> None:
    """Other owners, who sign for themselves."""
    registry.owners = [key("thief 1"), key("thief 2")]
    registry.add_root()


def thieves_with_a_traitor(registry: SimulatedRegistry) -> None:
    """Other owners and one of the old ones, where two of the old ones are required."""
    traitor = registry.owners[0]
    registry.owners = [key("thief 1"), key("thief 2")]
    registry.add_root(signers=registry.owner_signers([*registry.owners, traitor]))


def small_order_owner(registry: SimulatedRegistry) -> None:
    """An owner whose key anyone can sign with."""
    text = registry.root().text()
    lines = text.split("\n")
    owners = sorted([*(line for line in lines if line.startswith("owner ")), f"owner {SMALL_ORDER}"])
    first = next(number for number, line in enumerate(lines) if line.startswith("owner "))
    changed = [*lines[:first], *owners, *(line for line in lines[first:] if not line.startswith("owner "))]
    registry.roots.append(raw("\n".join(changed), registry.owner_signers()))


def without_the_gap(attacker: Attacker) -> None:
    """Root 3 is in force, and root 2 is withheld."""
    registry = attacker.past.fork()
    registry.add_root()
    registry.add_root()
    progress(registry)
    registry.publish()
    attacker.serve(registry)
    attacker.replace("root/2", None)


def back_to_root_1(attacker: Attacker) -> None:
    """The user saw root 2; the log continues as if root 1 were in force."""
    attacker.serve(attacker.present)
    attacker.user.ok("registry", "show", "--json")
    registry = attacker.present.fork()
    registry.append(registry.sign(registry.snapshot(root=1), registry.log_signers()))
    registry.write_files()
    attacker.serve(registry)


def stolen_old_log_key(attacker: Attacker) -> None:
    """The same under root 2: the old key signs what only the new one may sign."""
    attacker.serve(attacker.present)
    attacker.user.ok("registry", "show", "--json")
    attacker.present.logs = [key("log 1")]
    progress_later(attacker.present)
    attacker.serve(attacker.present)


def progress_later(registry: SimulatedRegistry) -> None:
    registry.pass_time(minutes=1)
    registry.publish()


def new_log_key_without_owners(attacker: Attacker) -> None:
    """The log changes its key without its owners."""
    registry = attacker.past.fork()
    registry.pass_time(hours=1)
    progress(registry)
    registry.logs = [key("log 2")]
    registry.publish()
    attacker.serve(registry)


def another_registry(origin: str) -> Callable[[Attacker], None]:
    """A different registry, consistent in itself, with its own owners."""

    def act(attacker: Attacker) -> None:
        thief = SimulatedRegistry(
            origin=origin, now=attacker.past.now, owners=[key("thief 1"), key("thief 2")], logs=[key("thief log")]
        )
        thief.claim("acme")
        progress(thief)
        thief.publish()
        attacker.serve(thief)

    return act


def weak_first_root(attacker: Attacker) -> None:
    """The pinned root 1, with signatures of one owner instead of two."""
    registry = attacker.present
    registry.roots[0] = raw(registry.roots[0].text, registry.owner_signers(registry.owners[:1]))
    registry.write_files()
    attacker.serve(registry)


def lying_config(attacker: Attacker) -> None:
    attacker.replace(
        "config.json", attacker.present.files["config.json"].replace(b"registry.example", b"other.example")
    )


ATTACKS = (
    Attack(
        name="root 2 is withheld and root 3 in force",
        power="mirror",
        code="snapshot-root",
        act=without_the_gap,
        build=rotated,
    ),
    Attack(
        name="a root of another origin",
        power="log and owners' keys",
        code="root-origin",
        act=root_with(origin="other.example"),
    ),
    Attack(
        name="a root that skips a number", power="log and owners' keys", code="root-number", act=root_with(number=3)
    ),
    Attack(
        name="a root that names another one before it",
        power="log and owners' keys",
        code="root-chain",
        act=root_with(previous="0" * 64),
    ),
    Attack(
        name="a root that is older than the one before",
        power="log and owners' keys",
        code="root-time",
        act=lambda attacker: root_with(time=attacker.past.now - timedelta(days=1))(attacker),
    ),
    Attack(
        name="a root signed by one owner where two are needed",
        power="log key",
        code="root-signatures",
        act=root_with(lambda registry: registry.owner_signers(registry.owners[:1])),
        cause="note-threshold",
    ),
    Attack(
        name="a root signed twice by the same owner",
        power="log key",
        code="root-signatures",
        act=root_with(lambda registry: registry.owner_signers([registry.owners[0], registry.owners[0]])),
        cause="note-threshold",
    ),
    Attack(
        name="a root by new owners alone",
        power="log key",
        code="root-takeover",
        act=next_root(thieves),
        cause="note-threshold",
    ),
    Attack(
        name="a root by new owners and one of two old ones",
        power="log key",
        code="root-takeover",
        act=next_root(thieves_with_a_traitor),
        cause="note-threshold",
    ),
    Attack(
        name="an owner with a key of small order",
        power="log and owners' keys",
        code="statement-key",
        act=next_root(small_order_owner),
    ),
    Attack(name="back to the root before", power="log key", code="snapshot-root", act=back_to_root_1, build=rotated),
    Attack(
        name="a log key that was rotated out",
        power="log key",
        code="checkpoint-signature",
        act=stolen_old_log_key,
        build=rotated,
    ),
    Attack(
        name="a new log key without the owners",
        power="log key",
        code="checkpoint-signature",
        act=new_log_key_without_owners,
    ),
    Attack(
        name="another registry at a pinned address",
        power="mirror",
        code="checkpoint-origin",
        act=another_registry("other.example"),
    ),
    Attack(
        name="another registry of the same name at a pinned address",
        power="mirror",
        code="checkpoint-signature",
        act=another_registry("registry.example"),
    ),
    Attack(
        name="another registry at first contact",
        power="mirror",
        code="root-fingerprint",
        act=another_registry("registry.example"),
        start="stranger",
        command=PIN,
    ),
    Attack(
        name="a first root with too few signatures",
        power="mirror",
        code="root-signatures",
        act=weak_first_root,
        start="stranger",
        command=PIN,
    ),
    Attack(
        name="a config.json that names another registry",
        power="mirror",
        code="root-origin",
        act=lying_config,
        start="stranger",
        command=PIN,
    ),
    Attack(
        name="a registry that nobody pinned",
        power="mirror",
        code="registry-unpinned",
        act=lambda attacker: None,
        start="stranger",
        control=PIN,
    ),
    Attack(
        name="a root of another protocol version",
        power="mirror",
        code="protocol-unknown",
        act=lambda attacker: attacker.replace(
            "config.json", attacker.present.files["config.json"].replace(b'"protocol":2', b'"protocol":1')
        ),
        start="stranger",
        command=PIN,
    ),
)


def test_the_key_of_small_order_is_one() -> None:
    with pytest.raises(Exception, match="small order"):
        Root.parse(SimulatedRegistry().root(owners=(bytes(32),), threshold=1).text())


@pytest.mark.parametrize("attack", rest_thorough(4, ATTACKS, of_the_tables), ids=lambda attack: attack.name)
def test_the_root_is_the_pinned_one_or_its_owners_next(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)
