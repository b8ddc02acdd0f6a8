"""Attacks on who owns a namespace: stolen keys, takeovers, recoveries (docs/reference/statements.md, rye.keyset/v1)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from rye.registry.protocol import notes, wire
from rye.registry.protocol.statements import Keyset, Revocation
from rye.registry.protocol.wire import IndexLine
from tests.attacks.signed_items import directive, release, signed
from tests.attacks.simulation import ADD, DEPLOY, INSTALL, UPDATE, Attack, Attacker, AttackRunner, progress, raw
from tests.attacks.test_index import append_unread, cheat_index
from tests.attacks.test_roots import SMALL_ORDER
from tests.registry.simulated_registry import SimulatedRegistry, key
from tests.scenes.effort import rest_thorough

pytestmark = pytest.mark.slow

ACME, NEW, THIEF = key("acme 1"), key("acme 2"), key("thief")
Build = Callable[[SimulatedRegistry], object]


def built(build: Build) -> Callable[[Attacker], None]:
    """Let ``build`` append to the present, then serve it."""

    def act(attacker: Attacker) -> None:
        attacker.cheat(build)

    return act


def unread(build: Build) -> Callable[[Attacker], None]:
    """Let ``build`` append, close its batch with a statement that does not parse, and serve it."""

    def act(attacker: Attacker) -> None:
        build(attacker.present)
        attacker.serve(attacker.present)

    return act


def harm(registry: SimulatedRegistry, version: str = "1.2.0", **parts: object) -> None:
    """A release made by the attacker."""
    release(registry, DEPLOY, version, directive(DEPLOY, version, text="Do harm."), **parts)  # type: ignore[arg-type]


def takeover(registry: SimulatedRegistry) -> None:
    """A next keyset signed only by the new keys, and a release under it."""
    keyset = registry.keyset("acme", [THIEF])
    registry.add_keyset(keyset, registry.namespace_signers("acme", [THIEF]), [THIEF])
    harm(registry)


def without_consent(registry: SimulatedRegistry) -> None:
    """A next keyset that the old keys signed, for keys that did not sign it themselves."""
    keyset = registry.keyset("acme", [NEW])
    registry.add_keyset(keyset, registry.namespace_signers("acme", [ACME]), [NEW])


def two_of_three(registry: SimulatedRegistry) -> None:
    """From now on the namespace needs two of three owners."""
    registry.claim("acme", [ACME, NEW, key("acme 3")], threshold=2)
    progress(registry)


def same_key_twice(registry: SimulatedRegistry) -> None:
    """One of the three owners signs the next keyset twice."""
    keyset = registry.keyset("acme", [ACME, THIEF], threshold=1)
    registry.add_keyset(keyset, registry.namespace_signers("acme", [ACME, ACME, THIEF]), [ACME, THIEF])


def own_threshold_by_one_key(registry: SimulatedRegistry) -> None:
    """A keyset that demands two of its keys and has two signatures by the same one."""
    keyset = registry.keyset("acme", [ACME, NEW], threshold=2)
    registry.add_keyset(keyset, registry.namespace_signers("acme", [ACME, ACME]), [ACME, NEW])


def keyset_with(**changes: object) -> Build:
    def build(registry: SimulatedRegistry) -> None:
        keyset = registry.keyset("acme", [ACME, NEW], **changes)
        registry.add_keyset(keyset, registry.namespace_signers("acme", [ACME, NEW]), [ACME])

    return build


def revoked_after(registry: SimulatedRegistry) -> None:
    """The honest owner found a key stolen and revoked it; what it signed before that stays valid."""
    registry.claim("acme", [ACME, NEW])
    registry.add_keyset(
        registry.keyset("acme", [NEW], revoked=(Revocation(ACME.public.raw, registry.size),)),
        registry.namespace_signers("acme", [NEW, ACME]),
        [NEW],
    )
    release(registry, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0"), key=NEW)


def both_keys(registry: SimulatedRegistry) -> None:
    """An owner with two keys, the first of which is stolen later."""
    registry.claim("acme", [ACME, NEW])
    release(registry, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0"), key=NEW, keys=[NEW])


def stolen_then_revoked(position: Callable[[int], int]) -> Build:
    """The thief publishes 1.2.0 with the stolen key, then the owner revokes it from ``position(of the release)`` on."""

    def build(registry: SimulatedRegistry) -> None:
        at = release(registry, DEPLOY, "1.2.0", directive(DEPLOY, "1.2.0", text="Do harm."), key=ACME, keys=[ACME])
        registry.add_keyset(
            registry.keyset("acme", [NEW], revoked=(Revocation(ACME.public.raw, position(at)),)),
            registry.namespace_signers("acme", [NEW, ACME]),
            [NEW],
        )

    return build


def signs_on(registry: SimulatedRegistry) -> None:
    """The thief continues with the revoked key, under the new keyset's number."""
    harm(registry, key=ACME, keys=[ACME])


def signs_on_under_the_old_number(registry: SimulatedRegistry) -> None:
    """The thief continues with the revoked key, under the old keyset's number."""
    harm(registry, key=ACME, keys=[ACME], keyset=2)


def forgets_revocations(registry: SimulatedRegistry) -> None:
    """The next keyset omits that a key was revoked."""
    keyset = replace(registry.keyset("acme", [NEW, key("acme 3")]), revoked=())
    registry.add_keyset(keyset, registry.namespace_signers("acme", [NEW, key("acme 3")]), [NEW])


def recovered(registry: SimulatedRegistry) -> None:
    """The registry's owners gave the namespace to new keys, and the 72 hours have passed."""
    registry.now -= timedelta(hours=73)
    registry.recover("acme", [THIEF])
    registry.now += timedelta(hours=73)
    harm(registry, key=THIEF, keys=[THIEF])


def recovery_by_the_log(registry: SimulatedRegistry) -> None:
    """The same recovery, without the registry's owners."""
    registry.now -= timedelta(hours=73)
    keyset = registry.keyset("acme", [THIEF], recovery=registry.now + timedelta(hours=72))
    registry.add_keyset(keyset, registry.namespace_signers("acme", [THIEF]), [THIEF])
    registry.now += timedelta(hours=73)


def hasty_recovery(registry: SimulatedRegistry) -> None:
    """A release by the new keys while the recovery is still pending."""
    registry.recover("acme", [THIEF])
    harm(registry, key=THIEF, keys=[THIEF])


def ahead_of_its_time(registry: SimulatedRegistry) -> None:
    """A release by the new keys, dated after the recovery, which is still pending."""
    registry.recover("acme", [THIEF])
    harm(registry, key=THIEF, keys=[THIEF], time=registry.now + timedelta(hours=73))


def keyset_ahead_of_its_time(registry: SimulatedRegistry) -> None:
    """The same, with a next keyset that is dated after the recovery and needs no recovery itself."""
    registry.recover("acme", [THIEF])
    registry.claim("acme", [THIEF], time=registry.now + timedelta(hours=73))
    harm(registry, key=THIEF, keys=[THIEF])


def follows_a_pending_recovery(registry: SimulatedRegistry) -> None:
    """A next keyset based on a recovery that is not in effect yet."""
    registry.recover("acme", [THIEF])
    registry.claim("acme", [NEW, THIEF])


def short_recovery(registry: SimulatedRegistry) -> None:
    """A recovery after one hour instead of 72."""
    text = registry.keyset("acme", [THIEF], recovery=registry.now + timedelta(hours=72)).text()
    lines = text.split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("recovery "))
    from rye.registry.protocol.lines import write_time

    lines[at] = f"recovery {write_time(registry.now + timedelta(hours=1))}"
    note = raw("\n".join(lines), [*registry.namespace_signers("acme", [THIEF]), *registry.owner_signers()])
    append_unread(registry, note, "namespace:acme")


def small_order_key(registry: SimulatedRegistry) -> None:
    """The next keyset has a key under which anything verifies."""
    lines = registry.keyset("acme", [ACME]).text().split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("key "))
    lines[at : at + 1] = sorted([lines[at], f"key {SMALL_ORDER}"])
    append_unread(registry, raw("\n".join(lines), registry.namespace_signers("acme", [ACME])), "namespace:acme")


def other_first_keyset(registry: SimulatedRegistry, index: dict[str, list[IndexLine]]) -> None:
    """The registry shows a newly claimed namespace instead of the one that the user saw."""
    registry.keysets.pop("acme")
    registry.namespaces["acme"] = []
    position = registry.claim("acme", [THIEF])
    index["namespace:acme"] = [IndexLine(position, registry.leaves[position])]
    at = release(registry, DEPLOY, "1.2.0", directive(DEPLOY, "1.2.0", text="Do harm."), key=THIEF)
    index[str(DEPLOY)] = [IndexLine(at, registry.leaves[at])]


def chain_without_its_middle(_: SimulatedRegistry, index: dict[str, list[IndexLine]]) -> None:
    """Keyset 3 follows keyset 1."""
    del index["namespace:acme"][1]


def chain_without_its_end(_: SimulatedRegistry, index: dict[str, list[IndexLine]]) -> None:
    """The chain lacks the rotation that the user saw, so that the old key counts again."""
    del index["namespace:acme"][1:]
    index[str(DEPLOY)] = index[str(DEPLOY)][:1]


def second_keyset(registry: SimulatedRegistry) -> None:
    registry.claim("acme", [ACME, key("acme 3")])
    progress(registry)


def three_keysets(registry: SimulatedRegistry) -> None:
    registry.claim("acme", [ACME, NEW])
    registry.claim("acme", [NEW])
    release(registry, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0"))


def rotated_and_seen(attacker: Attacker) -> None:
    """The user already installed under the rotated keyset."""
    attacker.serve(attacker.present)
    attacker.user.ok("add", "directive:acme/ops/check", "--yes")


def back_to_the_first_keyset(attacker: Attacker) -> None:
    rotated_and_seen(attacker)
    cheat_index(chain_without_its_end)(attacker)


def unclaimed(registry: SimulatedRegistry, index: dict[str, list[IndexLine]]) -> None:
    """An item in a namespace whose keysets are withheld from a user who never saw them."""
    del registry, index["namespace:acme"]


def before_any_keyset(attacker: Attacker) -> None:
    """An old release placed before the claim of a namespace that is new to the user."""
    registry = SimulatedRegistry(now=attacker.past.now)
    draft = registry.fork()
    draft.claim("acme")
    content = signed(DEPLOY, directive(DEPLOY), ACME)
    registry.namespaces["acme"] = [ACME]
    release(registry, DEPLOY, "1.0.0", directive(DEPLOY), content=content)
    registry.namespaces.pop("acme")
    registry.claim("acme")
    registry.publish()
    attacker.serve(registry)
    attacker.user.ok("registry", "add", attacker.server.url, "--fingerprint", registry.fingerprint)


CHAINS = (
    Attack(
        name="a takeover: new keys sign for themselves", power="log key", code="keyset-takeover", act=built(takeover)
    ),
    Attack(
        name="a keyset whose own keys did not sign",
        power="namespace key",
        code="keyset-signatures",
        act=built(without_consent),
    ),
    Attack(
        name="a threshold reached by the same key twice",
        power="log and namespace key",
        code="keyset-takeover",
        act=built(same_key_twice),
        cause="note-threshold",
        build=two_of_three,
    ),
    Attack(
        name="a keyset's own threshold reached by the same key twice",
        power="log and namespace key",
        code="keyset-signatures",
        act=built(own_threshold_by_one_key),
        cause="note-threshold",
    ),
    Attack(
        name="a keyset that names another one before it",
        power="log and namespace key",
        code="keyset-chain",
        act=built(keyset_with(previous="0" * 64)),
    ),
    Attack(
        name="a keyset with a lower number",
        power="log and namespace key",
        code="keyset-number",
        act=built(keyset_with(number=2)),
        build=second_keyset,
    ),
    Attack(
        name="a chain without its middle",
        power="log key",
        code="keyset-number",
        act=cheat_index(chain_without_its_middle),
        build=three_keysets,
    ),
    Attack(
        name="a chain without its end",
        power="log key",
        code="keyset-fork",
        act=back_to_the_first_keyset,
        build=lambda registry: (
            registry.claim("acme", [NEW]),
            release(registry, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0")),
        ),
    ),
    Attack(
        name="another first keyset than the one seen",
        power="log key",
        code="keyset-fork",
        act=cheat_index(other_first_keyset),
        start="installed",
        command=UPDATE,
    ),
    Attack(
        name="a namespace whose keysets are not shown",
        power="log key",
        code="namespace-unclaimed",
        act=cheat_index(unclaimed),
    ),
    Attack(
        name="a key of small order in a keyset",
        power="log and namespace key",
        code="index-statement",
        act=unread(small_order_key),
        cause="statement-key",
    ),
    Attack(
        name="a release before any keyset",
        power="log and namespace key",
        code="statement-unclaimed",
        act=before_any_keyset,
        start="stranger",
        control=("registry", "add", "{url}", "--fingerprint", "{pin}"),
    ),
)

SIGNERS = (
    Attack(
        name="a release by an unknown signer",
        power="log key",
        code="statement-signer",
        act=built(lambda registry: harm(registry, key=THIEF, keys=[THIEF])),
        cause="note-threshold",
    ),
    Attack(
        name="a release by another namespace's key",
        power="log and namespace key",
        code="statement-signer",
        act=built(lambda registry: harm(registry, key=key("zeta 1"), keys=[key("zeta 1")])),
        cause="note-threshold",
    ),
    Attack(
        name="a release under a keyset that is not in force",
        power="log and namespace key",
        code="statement-keyset",
        act=built(lambda registry: harm(registry, keyset=7)),
    ),
    Attack(
        name="a stolen key after it was replaced",
        power="namespace key",
        code="statement-signer",
        act=built(signs_on),
        build=revoked_after,
        cause="note-threshold",
    ),
    Attack(
        name="a stolen key under the number of before",
        power="namespace key",
        code="statement-keyset",
        act=built(signs_on_under_the_old_number),
        build=revoked_after,
    ),
    Attack(
        name="a release with a key that was revoked for its position",
        power="namespace key",
        code="unsolvable",
        act=built(stolen_then_revoked(lambda at: at)),
        build=both_keys,
        revokes=True,
        command=("add", f"{DEPLOY}@=1.2.0", "--yes"),
        control=ADD,
    ),
    Attack(
        name="a locked release with a key that was revoked for its position",
        power="namespace key",
        code="signer-revoked",
        act=built(stolen_then_revoked(lambda at: 0)),
        build=both_keys,
        start="checkout",
        command=INSTALL,
    ),
    Attack(
        name="a keyset that forgets a revocation",
        power="log and namespace key",
        code="keyset-revocations",
        act=built(forgets_revocations),
        build=revoked_after,
    ),
)

RECOVERIES = (
    Attack(
        name="a recovery that the user did not accept",
        power="log and owners' keys",
        code="recovery-unaccepted",
        act=built(recovered),
    ),
    Attack(
        name="a recovery without the owners",
        power="log key",
        code="recovery-signatures",
        act=built(recovery_by_the_log),
    ),
    Attack(
        name="a release before the recovery has effect",
        power="log and owners' keys",
        code="statement-keyset",
        act=built(hasty_recovery),
    ),
    Attack(
        name="a release dated behind a recovery that has no effect yet",
        power="log and owners' keys",
        code="statement-keyset",
        act=built(ahead_of_its_time),
    ),
    Attack(
        name="a keyset dated behind a recovery that has no effect yet",
        power="log and owners' keys",
        code="statement-keyset",
        act=built(keyset_ahead_of_its_time),
    ),
    Attack(
        name="a keyset on a recovery that has no effect yet",
        power="log and owners' keys",
        code="recovery-pending",
        act=built(follows_a_pending_recovery),
    ),
    Attack(
        name="a recovery after an hour",
        power="log and owners' keys",
        code="index-statement",
        act=unread(short_recovery),
        cause="statement-malformed",
    ),
)


@pytest.mark.parametrize("attack", rest_thorough(4, CHAINS), ids=lambda attack: attack.name)
def test_a_namespace_has_one_chain_of_keysets(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)


@pytest.mark.parametrize("attack", SIGNERS, ids=lambda attack: attack.name)
def test_a_release_is_signed_by_a_key_in_force(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)


@pytest.mark.parametrize("attack", RECOVERIES, ids=lambda attack: attack.name)
def test_a_recovery_stands_in_public_and_needs_the_users_word(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)


def test_what_a_key_signed_before_it_was_revoked_stays_good(runner: AttackRunner) -> None:
    attacker = runner.attacker(Attack(name="", power="mirror", code="", act=lambda attacker: None, build=both_keys))
    attacker.cheat(stolen_then_revoked(lambda at: at + 1))
    attacker.user.ok("add", f"{DEPLOY}@=1.2.0", "--yes")


def test_the_alarm_of_a_takeover_names_the_keys_of_both_sides(runner: AttackRunner) -> None:
    error = runner.perform(CHAINS[0]).error
    assert [entry.split("+")[0] for entry in error["old_keys"]] == ["registry.example/acme"]
    assert [entry.split("+")[0] for entry in error["new_keys"]] == ["registry.example/acme"]
    assert error["old_keys"] != error["new_keys"]


def test_an_old_key_back_dates_nothing_behind_a_recovery(runner: AttackRunner) -> None:
    """The thief has the old key and the log's help: a release dated before the recovery, logged after the new owner's."""
    attacker = runner.attacker(Attack(name="", power="mirror", code="", act=lambda attacker: None))
    registry = attacker.present.fork()
    registry.now -= timedelta(hours=73)
    recovery = registry.recover("acme", [NEW])
    registry.now += timedelta(hours=73)
    release(registry, DEPLOY, "1.2.0", directive(DEPLOY, "1.2.0"), key=NEW, keys=[NEW])
    registry.publish()
    attacker.serve(registry)
    refused = attacker.user.run(*ADD, "--json").error
    assert (refused["code"], refused["statement"]) == ("recovery-unaccepted", recovery.sha256())
    attacker.user.ok("trust", "accept", "acme", "--yes")
    harm(registry, "1.3.0", key=ACME, keys=[ACME], keyset=1, time=registry.now - timedelta(hours=72.5))
    registry.publish()
    attacker.serve(registry)
    before = attacker.user.folder
    assert attacker.user.run(*ADD, "--json").error["code"] == "statement-keyset"
    assert not (before / ".ai" / "packages").exists()


def test_statements_of_this_suite_are_what_they_claim() -> None:
    registry = SimulatedRegistry()
    registry.claim("acme")
    assert Keyset.parse(notes.parse(registry.leaves[-1]).text).namespace == "acme"
    assert wire.namespace_name("acme") in registry.index_lines()
