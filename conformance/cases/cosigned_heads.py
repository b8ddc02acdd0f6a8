"""What is not cosigned does not exist yet, and what was cosigned stays: heads one after the other, under a policy of witnesses."""

from __future__ import annotations

from conformance.cases import case
from conformance.cases.witnesses import (
    CLIENT,
    ENOUGH,
    HOW_TO,
    NEEDS,
    ONE,
    PDF,
    POLICY,
    PROVED,
    TAKES,
    THREE,
    TWO,
    again,
    older,
)
from conformance.play import Play
from conformance.simulator import tree
from conformance.simulator.keys import Key, Signer, note
from conformance.simulator.registry import Edit, Registry, same
from conformance.tables import swap

LATER = "Everything below is read under this head; what the newest one adds does not exist yet."
BACK = "It never goes back to a smaller one"


def _waiting(play: Play) -> tuple[Registry, Registry]:
    """A user who demands witnesses; a release waits for them."""
    registry = Registry.fresh()
    registry.publish()
    cosigned = registry.fork()
    registry.wait(minutes=1)
    registry.release()
    registry.publish()
    older(registry, cosigned, ONE, TWO)
    play.start(registry, policy=POLICY)
    return registry, cosigned


@case("witnesses/a-release-that-waits-does-not-exist", CLIENT, LATER, needs=NEEDS)
def waits(play: Play) -> None:
    _waiting(play)
    play.expect("the release", play.decisive("resolve", names=[PDF])["names"][PDF], None)


@case("witnesses/a-release-that-waits-is-not-fetched", CLIENT, LATER, "not-found", "witness", needs=NEEDS)
def not_fetched(play: Play) -> None:
    _waiting(play)
    play.decisive("fetch", item=PDF, version="1.0.0")


@case("witnesses/a-release-that-was-cosigned-is-fetched", CLIENT, LATER, needs=NEEDS)
def cosigned_fetch(play: Play) -> None:
    registry, _ = _waiting(play)
    registry.write(registry.map(), registry.index_files())
    registry.set_head(**registry.cosign(ONE, THREE))
    play.serve(registry)
    play.decisive("fetch", item=PDF, version="1.0.0")


@case("witnesses/a-checkpoint-that-waits", CLIENT, LATER, "witness", needs=NEEDS)
def waiting_checkpoint(play: Play) -> None:
    registry, cosigned = _waiting(play)
    play.good("verify", locked={"checkpoint": cosigned.checkpoint})
    play.decisive("verify", locked={"checkpoint": registry.checkpoint})


@case(
    "witnesses/the-demand-is-remembered",
    HOW_TO,
    "From then on your machine demands them always",
    "witness",
    "stale",
    needs=NEEDS,
)
def remembered(play: Play) -> None:
    registry, _ = _waiting(play)
    registry.wait(hours=30)
    registry.publish()
    play.serve(registry)
    play.decisive("refresh")


@case(
    "witnesses/what-was-read-stays-good",
    HOW_TO,
    "What was read once stays good until then, even if the registry shows nothing newer.",
    needs=NEEDS,
)
def stays_good(play: Play) -> None:
    registry, cosigned = _waiting(play)
    registry.wait(hours=10)
    registry.publish()
    play.serve(registry)
    play.expect("the size", play.decisive("refresh")["size"], cosigned.size)


@case("witnesses/never-back-to-a-smaller-one", CLIENT, BACK, needs=NEEDS)
def never_back(play: Play) -> None:
    registry, cosigned = _waiting(play)
    registry.write(registry.map(), registry.index_files())
    registry.set_head(**registry.cosign(ONE, TWO))
    size = registry.size
    play.serve(registry)
    play.good("refresh")
    registry.publish()
    older(registry, cosigned, ONE, TWO, time=registry.now)
    play.serve(registry)
    play.expect("the size", play.decisive("refresh")["size"], size)


@case("witnesses/another-cosigned-history-of-the-same-size", CLIENT, PROVED, "fork", needs=NEEDS)
def other_cosigned(play: Play) -> None:
    registry, cosigned = _waiting(play)
    other = cosigned.fork()
    again(other, snapshot=lambda t: t.replace(":00:00Z", ":00:01Z"))
    registry.set_head(cosigned=other.cosign(ONE, TWO))
    play.serve(registry)
    play.decisive("refresh")


def _seen_before_the_demand(play: Play) -> Registry:
    """A registry whose newest keyset the client has seen, and whose cosigned head is from before it."""
    registry = Registry.fresh()
    registry.publish()
    cosigned = registry.fork()
    registry.wait(minutes=1)
    registry.claim("acme", Key("acme 2"), by=registry.by("acme", Key("acme 1"), Key("acme 2")))
    registry.publish()
    play.start(registry)
    play.good("resolve", namespaces=["acme"])
    older(registry, cosigned, ONE, TWO)
    play.serve(registry)
    return registry


@case("witnesses/a-keyset-seen-before-the-demand", CLIENT, LATER, needs=NEEDS)
def seen_before(play: Play) -> None:
    _seen_before_the_demand(play)
    found = play.decisive("resolve", namespaces=["acme"], policy=POLICY)
    play.expect("the keyset", found["namespaces"]["acme"]["keyset"], 1)


@case(
    "witnesses/a-keyset-seen-before-the-demand-and-then-replaced",
    CLIENT,
    "A namespace's chain must contain the keyset that was last seen of it",
    "fork",
    "vanished",
    needs=NEEDS,
)
def seen_and_replaced(play: Play) -> None:
    registry = _seen_before_the_demand(play)
    play.good("resolve", namespaces=["acme"], policy=POLICY)
    registry.indexes["namespace:acme"].pop()
    assert registry.spaces["acme"].before is not None
    registry.spaces["acme"] = registry.spaces["acme"].before
    registry.claim("acme", Key("acme 3"), by=registry.by("acme", Key("acme 1"), Key("acme 3")))
    registry.wait(minutes=1)
    registry.publish()
    registry.set_head(**registry.cosign(ONE, TWO))
    play.serve(registry)
    play.decisive("resolve", namespaces=["acme"])


@case("witnesses/head-with-a-root-hash-of-nothing", CLIENT, PROVED, "fork", "proof", needs=NEEDS)
def root_of_nothing(play: Play) -> None:
    registry, cosigned = _waiting(play)
    text = tree.checkpoint_text(registry.origin, cosigned.size - 1, bytes(32))
    seconds = int(registry.now.timestamp())
    signed = note(text, *registry.by_log()) + ONE.line(text, seconds) + TWO.line(text, seconds)
    registry.set_head(cosigned={**cosigned.head, "checkpoint": signed})
    play.newcomer()
    play.serve(registry)
    play.decisive("init", fingerprint=registry.fingerprint, policy=POLICY)


def _inside(play: Play, *, snapshot: Edit = same, by: list[Signer] | None = None) -> tuple[Registry, Registry]:
    """A cosigned head with a snapshot that the operator wrote otherwise, and a newest head that is right and contains it."""
    registry = Registry.fresh()
    registry.publish(snapshot=snapshot, snapshot_by=by)
    cosigned = registry.fork()
    registry.wait(minutes=1)
    registry.release()
    registry.publish()
    play.start(registry)
    older(registry, cosigned, ONE, TWO)
    play.serve(registry)
    return registry, cosigned


@case("witnesses/inside-with-a-snapshot-of-a-stranger", CLIENT, PROVED, "signature", needs=NEEDS)
def stranger_inside(play: Play) -> None:
    _inside(play, by=[Signer("registry.example", Key("stranger"))])
    play.decisive("refresh", policy=POLICY)


@case("witnesses/inside-with-a-snapshot-of-another-origin", CLIENT, PROVED, "foreign", needs=NEEDS)
def foreign_inside(play: Play) -> None:
    _inside(play, snapshot=swap("origin registry.example", "origin other.example"))
    play.decisive("refresh", policy=POLICY)


@case("witnesses/inside-with-a-snapshot-of-root-zero", CLIENT, PROVED, "malformed", "foreign", needs=NEEDS)
def root_zero_inside(play: Play) -> None:
    _inside(play, snapshot=swap("root 1", "root 0"))
    play.decisive("refresh", policy=POLICY)


@case("witnesses/the-same-head-with-one-more", CLIENT, TAKES, needs=NEEDS)
def one_more(play: Play) -> None:
    registry, cosigned = _waiting(play)
    older(registry, cosigned, ONE, TWO, THREE)
    play.serve(registry)
    play.expect("the size", play.decisive("refresh")["size"], cosigned.size)


@case("witnesses/the-same-head-cosigned-anew", CLIENT, ENOUGH, needs=NEEDS)
def anew(play: Play) -> None:
    registry, cosigned = _waiting(play)
    registry.wait(hours=30)
    older(registry, cosigned, ONE, TWO, time=registry.now)
    play.serve(registry)
    play.expect("the size", play.decisive("refresh")["size"], cosigned.size)


@case("witnesses/another-history-after-the-first-cosigned-one", CLIENT, PROVED, "fork", needs=NEEDS)
def forked_later(play: Play) -> None:
    registry, cosigned = _waiting(play)
    other = cosigned.fork()
    other.fill(3)
    other.publish()
    registry.fill(10)
    registry.publish()
    older(registry, other, ONE, TWO)
    play.serve(registry)
    play.decisive("refresh")
