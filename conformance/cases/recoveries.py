"""Recoveries: who signs them, when they take effect, who may object, and who must accept them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from conformance.cases import case
from conformance.cases.keysets import (
    CLIENT,
    COMMON,
    KEYSET,
    NAMES,
    RELEASE,
    SEEN,
    A,
    B,
    C,
    D,
    signers,
    without_last,
)
from conformance.play import Play
from conformance.simulator.keys import Key, Signer
from conformance.simulator.registry import Registry, stamp
from conformance.tables import value

RECOVERY = (
    "With a `recovery` line the old keys need not sign: *t* of the new keys and the root's threshold of owners do."
)
WAITS = "The recovery's time is at least 72 h after `time`, and the statement has no effect before it."
ACCEPT = "Once a recovery has taken effect (by the snapshot's time), clients refuse the namespace until their user has accepted exactly this statement"


def recovered(
    name: str,
    quote: str,
    *refuses: str,
    hours: float,
    accept: str | None = None,
    keyset: int | None = None,
    page: str = KEYSET,
    then: Callable[[Registry], object] = lambda r: None,
    **how: object,
) -> None:
    """A recovery by B; after some hours the namespace is read. ``accept``: ``this`` or any hash."""

    @case(f"keysets/recovery-{name}", page, quote, *refuses)
    def play_recovered(play: Play) -> None:
        registry = Registry.fresh()
        play.start(registry)
        play.good("resolve", **NAMES)
        announced = registry.recover("acme", B, **how)  # type: ignore[arg-type]
        registry.wait(hours=hours)
        then(registry)
        registry.publish()
        play.serve(registry)
        members = {} if accept is None else {"accept": announced if accept == "this" else accept}
        found = play.decisive("resolve", **NAMES, **members)
        if keyset is not None:
            play.expect("the keyset", found["namespaces"]["acme"]["keyset"], keyset)
            play.expect("pending", found["namespaces"]["acme"]["pending"], hours < 72)


recovered("that-waits", WAITS, hours=71, keyset=1)
recovered("in-effect-at-its-time", ACCEPT, "recovery", hours=72)
recovered("in-effect", ACCEPT, "recovery", hours=100)
recovered("accepted", ACCEPT, hours=100, accept="this", keyset=2)
recovered("of-another-text-accepted", ACCEPT, "recovery", hours=100, accept="0" * 64)
recovered("without-owners", RECOVERY, "signature", hours=1, by=signers(A, B))
recovered(
    "by-one-owner", RECOVERY, "signature", hours=1, by=[*signers(B), Signer("registry.example/root", Key("owner 1"))]
)
recovered(
    "by-one-owner-twice",
    "counts each key once",
    "signature",
    page=COMMON,
    hours=1,
    by=[*signers(B), *[Signer("registry.example/root", Key("owner 1"))] * 2],
)
recovered(
    "by-the-owners-only",
    RECOVERY,
    "signature",
    hours=1,
    by=[Signer("registry.example/root", Key(f"owner {n}")) for n in (1, 2, 3)],
)
recovered(
    "by-owners-under-another-name",
    "`<origin>/root` for owners of the root",
    "signature",
    page=COMMON,
    hours=1,
    by=[*signers(B), *signers(Key("owner 1"), Key("owner 2"))],
)
recovered("after-72-hours-exactly", WAITS, hours=1, keyset=1, delay=timedelta(hours=72))
recovered(
    "after-less-than-72-hours", WAITS, "malformed", "chain", hours=1, delay=timedelta(hours=71, minutes=59, seconds=59)
)
OBJECT = (
    "a statement whose `time` is before the recovery's, again with number n and the hash of n−1, replaces the recovery"
)
EARLY = "Nothing else may follow so early."


def _object(registry: Registry, *by: Key, **lines: object) -> None:
    registry.claim("acme", C, by=signers(*by), after=registry.spaces["acme"].before, **lines)  # type: ignore[arg-type]


recovered("objected-to", OBJECT, hours=1, then=lambda r: _object(r, A, C))
recovered("objected-to-by-the-new-keys", OBJECT, "signature", hours=1, then=lambda r: _object(r, B, C))
recovered("objected-to-one-second-before", OBJECT, hours=72 - 1 / 3600, then=lambda r: _object(r, A, C))
recovered("objected-to-too-late", OBJECT, "chain", hours=72, accept="this", then=lambda r: _object(r, A, C))
recovered("followed-too-early", EARLY, "chain", hours=1, then=lambda r: r.claim("acme", C, by=signers(B, C)))
recovered(
    "left-out-by-its-successor",
    EARLY,
    "chain",
    hours=1,
    then=lambda r: r.claim("acme", C, by=signers(A, C), after=r.spaces["acme"].before, edit=value("number", "3")),
)
recovered(
    "followed-in-time",
    "the statement has no effect before it",
    hours=73,
    accept="this",
    keyset=3,
    then=lambda r: r.claim("acme", C, by=signers(B, C)),
)
recovered(
    "followed-by-a-postdated-one",
    "is dated after a recovery which is not in effect yet (by the snapshot's time) has no effect before the recovery does",
    hours=1,
    keyset=1,
    then=lambda r: r.claim("acme", C, by=signers(B, C), edit=value("time", stamp(r.now + timedelta(hours=100)))),
)
recovered(
    "replaced-by-another",
    "Another recovery may also replace it.",
    hours=1,
    keyset=1,
    then=lambda r: r.recover("acme", D, after=r.spaces["acme"].before),
)
recovered(
    "release-by-the-new-key-while-it-waits",
    "Until then the keys of n−1 stay in force",
    "signature",
    "keyset",
    hours=1,
    then=lambda r: r.release(by=signers(B), keyset=1),
)
recovered(
    "release-by-the-new-keyset-while-it-waits",
    "Until then the keys of n−1 stay in force",
    "signature",
    "keyset",
    hours=1,
    then=lambda r: r.release(by=signers(B), keyset=2),
)
recovered(
    "release-by-the-old-key-while-it-waits",
    "Until then the keys of n−1 stay in force",
    hours=1,
    then=lambda r: r.release(by=signers(A), keyset=1),
)
recovered(
    "postdated-release-by-the-new-key",
    "a statement under its keys, that is dated after a recovery which is not in effect yet",
    "keyset",
    hours=1,
    then=lambda r: r.release(by=signers(B), keyset=2, time=r.now + timedelta(hours=100)),
)
recovered(
    "release-by-the-new-key",
    "the recovery counts as in effect",
    page=RELEASE,
    hours=100,
    accept="this",
    keyset=2,
    then=lambda r: r.release(by=signers(B), keyset=2),
)
recovered(
    "release-by-the-old-key-afterwards",
    "the recovery counts as in effect",
    "keyset",
    "signature",
    page=RELEASE,
    hours=100,
    accept="this",
    then=lambda r: r.release(by=signers(A), keyset=1),
)


recovered(
    "release-that-goes-back-to-the-keyset-before",
    "Along the log of one name, `keyset` never goes down.",
    "keyset",
    page=RELEASE,
    hours=80,
    accept="this",
    then=lambda r: _goes_back(r),
)


def _goes_back(registry: Registry) -> None:
    """The recovery counts for a statement of its time, and not for a later one that is dated before it."""
    registry.release(by=signers(B))
    registry.release(version="1.1.0", by=signers(A), keyset=1, time=registry.now - timedelta(hours=79))


@case("keysets/recovery-stays-accepted", KEYSET, ACCEPT)
def stays_accepted(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    announced = registry.recover("acme", B)
    registry.wait(hours=100)
    registry.publish()
    play.serve(registry)
    play.good("resolve", **NAMES, accept=announced)
    play.decisive("resolve", **NAMES)


@case("keysets/recovery-seen-and-then-gone", CLIENT, SEEN, "fork", "vanished")
def recovery_gone(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    announced = registry.recover("acme", B)
    registry.wait(hours=100)
    registry.publish()
    play.serve(registry)
    play.good("resolve", **NAMES, accept=announced)
    without_last(registry)
    registry.wait(minutes=1)
    registry.publish()
    play.serve(registry)
    play.decisive("resolve", **NAMES)


@case("keysets/recovery-accepted-elsewhere-in-the-registry", KEYSET, ACCEPT, "recovery")
def other_recovery(play: Play) -> None:
    registry = Registry.fresh()
    registry.claim("other", C)
    registry.publish()
    play.start(registry)
    registry.recover("acme", B)
    announced = registry.recover("other", D)
    registry.wait(hours=100)
    registry.publish()
    play.serve(registry)
    play.good("resolve", namespaces=["other"], accept=announced)
    play.decisive("resolve", namespaces=["acme"])


OWNERS = "statements.md#which-owners-count"


@case(
    "keysets/recovery-by-owners-of-an-earlier-root",
    OWNERS,
    "from that position on, owners of earlier roots sign nothing",
    "signature",
)
def earlier_owners(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    old = registry.owners
    registry.owners = (Key("owner 4"), Key("owner 5"), Key("owner 6"))
    registry.add_root(by=registry.by_owners(*old, *registry.owners))
    registry.publish()
    play.serve(registry)
    play.good("refresh")
    registry.recover("acme", B, by=[*signers(B), *registry.by_owners(*old)])
    registry.publish()
    play.serve(registry)
    play.decisive("resolve", **NAMES)


@case("keysets/recovery-before-the-owners-changed", OWNERS, "Before it, those of any root count.")
def before_owners_changed(play: Play) -> None:
    registry = Registry.fresh()
    registry.recover("acme", B)
    old = registry.owners
    registry.owners = (Key("owner 4"), Key("owner 5"), Key("owner 6"))
    registry.add_root(by=registry.by_owners(*old, *registry.owners))
    registry.publish()
    play.start(registry)
    play.decisive("resolve", **NAMES)


@case(
    "keysets/recovery-by-the-new-owners",
    OWNERS,
    "signed by the threshold of owners of the root in force at their position",
)
def new_owners(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    old = registry.owners
    registry.owners = (Key("owner 4"), Key("owner 5"), Key("owner 6"))
    registry.add_root(by=registry.by_owners(*old, *registry.owners))
    registry.publish()
    play.serve(registry)
    play.good("refresh")
    registry.recover("acme", B)
    registry.publish()
    play.serve(registry)
    play.decisive("resolve", **NAMES)
