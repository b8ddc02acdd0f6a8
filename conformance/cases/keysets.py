"""Keysets: claims, succession, thresholds, revocations, recoveries and objections, required hardware."""

from __future__ import annotations

from collections.abc import Callable

from conformance.cases import case
from conformance.play import Play
from conformance.simulator.keys import HardwareKey, Key, Signer
from conformance.simulator.registry import Registry
from conformance.tables import value

CLIENT, COMMON, KEYSET = "protocol.md#what-a-client-does", "protocol.md#common-rules", "statements.md#ryekeysetv1"
RELEASE, HARDWARE = "statements.md#ryereleasev1", "statements.md#signatures-of-security-keys"
PDF = "skill:acme/pdf"
A, B, C, D = (Key(f"acme {number}") for number in (1, 2, 3, 4))
H = HardwareKey("acme hardware 1")
NAMES = {"names": [PDF], "namespaces": ["acme"]}
CHAIN = "*t* of its own keys and *t′* of the keys of n−1 sign number n."
CLAIM = "Number 1 claims the namespace; *t* of its own keys sign it."


def chain(
    name: str,
    quote: str,
    *refuses: str,
    page: str = KEYSET,
    needs: tuple[str, ...] = (),
    expect: int | None = None,
    play_out: Callable[[Registry], object],
) -> None:
    """A registry in which something happens to the keysets of ``acme``; then its namespace and releases are read."""

    @case(f"keysets/{name}", page, quote, *refuses, needs=needs)
    def play_chain(play: Play) -> None:
        registry = Registry.fresh()
        play.start(registry)
        play.good("resolve", **NAMES)
        play_out(registry)
        registry.publish()
        play.serve(registry)
        found = play.decisive("resolve", **NAMES)
        if expect is not None:
            play.expect("the keyset", found["namespaces"]["acme"]["keyset"], expect)


def signers(*keys: Key, namespace: str = "acme") -> list[Signer]:
    return [Signer(f"registry.example/{namespace}", key) for key in keys]


chain("a-second-one", CHAIN, expect=2, play_out=lambda r: r.claim("acme", B, by=signers(A, B)))
chain("signed-by-the-new-key-only", CHAIN, "signature", play_out=lambda r: r.claim("acme", B, by=signers(B)))
chain("signed-by-the-old-key-only", CHAIN, "signature", play_out=lambda r: r.claim("acme", B, by=signers(A)))
chain("signed-by-strangers", CHAIN, "signature", play_out=lambda r: r.claim("acme", B, by=signers(C, D)))
chain(
    "signed-under-another-namespace",
    "`<origin>/<namespace>` for a namespace's keys",
    "signature",
    page=COMMON,
    play_out=lambda r: r.claim("acme", B, by=signers(A, B, namespace="other")),
)
chain(
    "signed-under-the-owners-name",
    "`<origin>/root` for owners of the root",
    "signature",
    page=COMMON,
    play_out=lambda r: r.claim("acme", B, by=[Signer("registry.example/root", key) for key in (A, B)]),
)
chain(
    "signed-by-the-registrys-owners",
    CHAIN,
    "signature",
    play_out=lambda r: r.claim("acme", B, by=[*signers(B), *r.by_owners()]),
)
chain("threshold-of-two", CHAIN, expect=2, play_out=lambda r: r.claim("acme", A, B, C, threshold=2, by=signers(A, C)))
chain(
    "threshold-of-two-signed-by-one",
    CHAIN,
    "signature",
    play_out=lambda r: r.claim("acme", A, B, C, threshold=2, by=signers(A)),
)
chain(
    "threshold-of-two-signed-twice-by-one",
    "counts each key once",
    "signature",
    page=COMMON,
    play_out=lambda r: r.claim("acme", A, B, C, threshold=2, by=signers(A, A)),
)


def _three(registry: Registry, *keys: Key) -> None:
    registry.claim("acme", A, B, C, threshold=2, by=signers(A, B))
    registry.claim("acme", D, by=signers(D, *keys))


chain("old-threshold-of-two", CHAIN, expect=3, play_out=lambda r: _three(r, A, C))
chain("old-threshold-of-two-signed-by-one", CHAIN, "signature", play_out=lambda r: _three(r, B))
chain(
    "the-last-but-one-keyset-signs",
    CHAIN,
    "signature",
    play_out=lambda r: (r.claim("acme", B, by=signers(A, B)), r.claim("acme", C, by=signers(A, C))),
)
chain(
    "a-wrong-signature-besides-enough-good-ones",
    "refuses the note if a known key's signature is wrong",
    "signature",
    page=COMMON,
    play_out=lambda r: _wrong(r),
)
chain("skips-a-number", "number <n, from 1>", "chain", play_out=lambda r: r.claim("acme", B, edit=value("number", "3")))
chain(
    "repeats-a-number",
    "number <n, from 1>",
    "chain",
    "malformed",
    play_out=lambda r: r.claim("acme", B, edit=lambda t: value("previous", "-")(value("number", "1")(t))),
)
chain(
    "names-another-one",
    "previous <sha256 of the text of keyset n−1, or ->",
    "chain",
    play_out=lambda r: r.claim("acme", B, edit=value("previous", "0" * 64)),
)
chain(
    "of-another-namespace",
    "namespace <segment>",
    "foreign",
    play_out=lambda r: r.claim("acme", B, edit=value("namespace", "other")),
)
chain(
    "of-another-origin",
    "origin <origin>",
    "foreign",
    play_out=lambda r: r.claim("acme", B, edit=value("origin", "other.example")),
)


def _wrong(registry: Registry) -> None:
    registry.claim("acme", A, B, C, by=[])
    position, signed = registry.indexes["namespace:acme"].pop()
    text = signed[:-1]
    from_c = Signer("registry.example/acme", C).line(text, lambda s: bytes([s[0] ^ 1]) + s[1:])
    whole = signed + "".join(s.line(text) for s in signers(A, B)) + from_c
    registry.leaves[position] = whole.encode()
    registry.indexes["namespace:acme"].append((position, whole))


def first(name: str, quote: str, *refuses: str, keys: tuple[Key, ...], by: tuple[Key, ...], **lines: object) -> None:
    """The claim of another namespace."""

    @case(f"keysets/claim-{name}", KEYSET, quote, *refuses)
    def play_first(play: Play) -> None:
        registry = Registry.fresh()
        registry.claim("other", *keys, by=signers(*by, namespace="other"), **lines)  # type: ignore[arg-type]
        registry.publish()
        play.start(registry)
        play.good("resolve", namespaces=["acme"])
        play.decisive("resolve", namespaces=["other"])


first("signed-by-its-key", CLAIM, keys=(A,), by=(A,))
first("signed-by-a-stranger", CLAIM, "signature", keys=(A,), by=(B,))
first("signed-by-nobody", CLAIM, "signature", "malformed", keys=(A,), by=())
first("by-one-of-two-that-are-needed", CLAIM, "signature", keys=(A, B), by=(A,), threshold=2)
first("by-two-of-two", CLAIM, keys=(A, B), by=(A, B), threshold=2)
first(
    "number-two",
    CLAIM,
    "chain",
    keys=(A,),
    by=(A,),
    edit=lambda t: value("previous", "0" * 64)(value("number", "2")(t)),
)
first(
    "that-is-a-recovery",
    "Number 1 has no `recovery`.",
    "malformed",
    keys=(A,),
    by=(A,),
    edit=lambda t: t + "recovery 2026-04-01T12:00:00Z\n",
)


# Who may release


def released(
    name: str,
    quote: str,
    *refuses: str,
    page: str = RELEASE,
    needs: tuple[str, ...] = (),
    revoked: bool | None = None,
    play_out: Callable[[Registry], object],
) -> None:
    chain_expect = revoked

    @case(f"keysets/release-{name}", page, quote, *refuses, needs=needs)
    def play_released(play: Play) -> None:
        registry = Registry.fresh()
        play.start(registry)
        play_out(registry)
        registry.publish()
        play.serve(registry)
        found = play.decisive("resolve", **NAMES)
        if chain_expect is not None:
            play.expect("revoked", [one["revoked"] for one in found["names"][PDF]["releases"]], [chain_expect])


FORCE = "that is in force at the leaf's position"
released("by-the-key", "A key of the namespace's keyset", revoked=False, play_out=lambda r: r.release())
released("by-a-stranger", "A key of the namespace's keyset", "signature", play_out=lambda r: r.release(by=signers(B)))
released(
    "under-another-key-name",
    "`<origin>/<namespace>` for a namespace's keys",
    "signature",
    page=COMMON,
    play_out=lambda r: r.release(by=signers(A, namespace="other")),
)
released(
    "by-the-owners", "A key of the namespace's keyset", "signature", play_out=lambda r: r.release(by=r.by_owners())
)
released("by-the-log", "A key of the namespace's keyset", "signature", play_out=lambda r: r.release(by=r.by_log()))
released(
    "by-a-key-that-was-replaced",
    FORCE,
    "signature",
    play_out=lambda r: (r.claim("acme", B, by=signers(A, B)), r.release(by=signers(A))),
)
released("by-the-new-key", FORCE, play_out=lambda r: (r.claim("acme", B, by=signers(A, B)), r.release(by=signers(B))))
released(
    "before-its-key-is-in-force",
    FORCE,
    "keyset",
    "signature",
    play_out=lambda r: (r.release(by=signers(B), keyset=2), r.claim("acme", B, by=signers(A, B))),
)
released(
    "by-the-old-key-before-the-change",
    FORCE,
    play_out=lambda r: (r.release(by=signers(A)), r.claim("acme", B, by=signers(A, B))),
)
released(
    "naming-the-old-keyset",
    "whose number is `keyset`",
    "keyset",
    play_out=lambda r: (r.claim("acme", A, B, by=signers(A, B)), r.release(by=signers(A), keyset=1)),
)
released(
    "naming-a-keyset-to-come",
    "whose number is `keyset`",
    "keyset",
    play_out=lambda r: r.release(by=signers(A), keyset=2),
)
released("before-any-keyset", "the last one in effect before it", "keyset", play_out=lambda r: _unclaimed(r))
released(
    "with-a-wrong-signature-besides",
    "refuses the note if a known key's signature is wrong",
    "signature",
    page=COMMON,
    play_out=lambda r: _besides(r),
)
TWO = "(or *k*, as above)"
released(
    "by-two-of-three",
    TWO,
    play_out=lambda r: (r.claim("acme", A, B, C, release_threshold=2), r.release(by=signers(A, C))),
)
released(
    "by-one-where-two-are-needed",
    TWO,
    "signature",
    play_out=lambda r: (r.claim("acme", A, B, C, release_threshold=2), r.release(by=signers(A))),
)
released(
    "by-one-twice-where-two-are-needed",
    TWO,
    "signature",
    play_out=lambda r: (r.claim("acme", A, B, C, release_threshold=2), r.release(by=signers(A, A))),
)
released(
    "threshold-is-not-the-keysets",
    TWO,
    play_out=lambda r: (r.claim("acme", A, B, C, threshold=2, by=signers(A, B)), r.release(by=signers(C))),
)
released(
    "a-yank-needs-one-key",
    "yanks and the other statements about items still need one",
    page=KEYSET,
    play_out=lambda r: (
        r.claim("acme", A, B, C, release_threshold=2),
        r.release(by=signers(A, B)),
        r.yank(by=signers(C)),
    ),
)


def _unclaimed(registry: Registry) -> None:
    registry.release("skill:acme/pdf", by=signers(A))
    registry.indexes["namespace:acme"].clear()
    registry.spaces.clear()
    registry.claim("acme", A)


def _besides(registry: Registry) -> None:
    registry.claim("acme", A, B)
    registry.release(by=signers(A))
    position, signed = registry.indexes[PDF].pop()
    text = signed[: signed.rindex("\n\n") + 1]
    signed += Signer("registry.example/acme", B).line(text, lambda s: bytes([s[0] ^ 1]) + s[1:])
    registry.leaves[position] = signed.encode()
    registry.indexes[PDF].append((position, signed))


# Revocations

REVOKE = "Its signatures count where their log position is lower than the one given; position 0 revokes all."
released(
    "by-a-key-revoked-later",
    REVOKE,
    revoked=False,
    page=KEYSET,
    play_out=lambda r: (r.release(), r.claim("acme", B, revoked=[(A, r.size)], by=signers(A, B))),
)
released("at-the-position-of-the-revocation", REVOKE, revoked=True, page=KEYSET, play_out=lambda r: _revoked_at(r, 0))
released("just-before-the-revocation", REVOKE, revoked=False, page=KEYSET, play_out=lambda r: _revoked_at(r, 1))
released(
    "of-a-key-revoked-from-the-beginning",
    REVOKE,
    revoked=True,
    page=KEYSET,
    play_out=lambda r: (r.release(), r.claim("acme", B, revoked=[(A, 0)], by=signers(A, B))),
)
released(
    "by-two-of-whom-one-is-revoked",
    TWO,
    revoked=True,
    play_out=lambda r: (
        r.claim("acme", A, B, C, release_threshold=2),
        r.release(by=signers(A, B)),
        r.claim("acme", B, C, release_threshold=2, revoked=[(A, 0)], by=signers(A, B, C)),
    ),
)
released(
    "by-three-of-whom-one-is-revoked",
    TWO,
    revoked=False,
    play_out=lambda r: (
        r.claim("acme", A, B, C, release_threshold=2),
        r.release(by=signers(A, B, C)),
        r.claim("acme", B, C, release_threshold=2, revoked=[(A, 0)], by=signers(A, B, C)),
    ),
)


def _revoked_at(registry: Registry, later: int) -> None:
    position = registry.release()
    registry.claim("acme", B, revoked=[(A, position + later)], by=signers(A, B))


@case("keysets/revoked-release-is-not-fetched", KEYSET, REVOKE, "revoked")
def revoked_fetch(play: Play) -> None:
    registry = Registry.fresh()
    registry.release()
    registry.publish()
    play.start(registry)
    play.good("fetch", item=PDF, version="1.0.0")
    registry.claim("acme", B, revoked=[(A, 0)], by=signers(A, B))
    registry.publish()
    play.serve(registry)
    play.decisive("fetch", item=PDF, version="1.0.0")


@case("keysets/yank-by-a-revoked-key-does-not-count", KEYSET, REVOKE)
def revoked_yank(play: Play) -> None:
    registry = Registry.fresh()
    registry.claim("acme", A, B)
    registry.release(by=signers(B))
    registry.yank(by=signers(A))
    registry.deprecate(by=signers(A))
    registry.advise(">=1.0.0", by=signers(A))
    registry.claim("acme", B, revoked=[(A, 0)], by=signers(A, B))
    registry.publish()
    play.start(registry)
    found = play.decisive("resolve", names=[PDF])["names"][PDF]
    play.expect("yanked", [(one["yanked"], one["advisories"]) for one in found["releases"]], [(False, [])])
    play.expect("deprecated", found["deprecated"], False)


KEPT = "`revoke` lines of n−1 stay in n, unchanged."
chain(
    "revocation-kept",
    KEPT,
    expect=3,
    play_out=lambda r: (r.claim("acme", B, revoked=[(A, 9)], by=signers(A, B)), r.claim("acme", C, by=signers(B, C))),
)
chain(
    "revocation-left-out",
    KEPT,
    "chain",
    play_out=lambda r: (
        r.claim("acme", B, revoked=[(A, 9)], by=signers(A, B)),
        r.claim("acme", C, revoked=[], by=signers(B, C)),
    ),
)
chain(
    "revocation-moved",
    KEPT,
    "chain",
    play_out=lambda r: (
        r.claim("acme", B, revoked=[(A, 9)], by=signers(A, B)),
        r.claim("acme", C, revoked=[(A, 8)], by=signers(B, C)),
    ),
)
chain(
    "revocation-replaced-by-another",
    KEPT,
    "chain",
    play_out=lambda r: (
        r.claim("acme", B, revoked=[(A, 9)], by=signers(A, B)),
        r.claim("acme", C, revoked=[(D, 9)], by=signers(B, C)),
    ),
)
chain(
    "revocation-of-a-present-key",
    "A `revoke` line names a key that is not among the `key` lines.",
    "malformed",
    play_out=lambda r: r.claim("acme", A, B, revoked=[(A, 9)]),
)
chain(
    "revocation-twice",
    "A key is revoked once.",
    "malformed",
    play_out=lambda r: r.claim("acme", B, revoked=[(A, 9), (A, 8)], by=signers(A, B)),
)


# What was seen

SEEN = "A namespace's chain must contain the keyset that was last seen of it, at its position"


def contradicted(
    name: str, *refuses: str, other: Callable[[Registry], object], index: Callable[[Registry], object] = lambda r: None
) -> None:
    """A client has seen keyset 2; later, the operator signs a map in which the namespace has another chain."""

    @case(f"keysets/seen-{name}", CLIENT, SEEN, *refuses)
    def play_seen(play: Play) -> None:
        registry = Registry.fresh()
        registry.claim("acme", B, by=signers(A, B))
        registry.publish()
        play.start(registry)
        play.good("resolve", namespaces=["acme"])
        other(registry)
        registry.wait(minutes=1)
        registry.publish()
        play.serve(registry)
        play.decisive("resolve", namespaces=["acme"])


def without_last(registry: Registry) -> None:
    registry.indexes["namespace:acme"].pop()
    before = registry.spaces["acme"].before
    assert before is not None
    registry.spaces["acme"] = before


def _moved(registry: Registry) -> None:
    _, signed = registry.indexes["namespace:acme"].pop()
    registry.append(signed, "namespace:acme")


contradicted("and-continued", other=lambda r: r.claim("acme", C, by=signers(B, C)))
contradicted("and-gone", "vanished", "fork", other=lambda r: r.indexes.pop("namespace:acme"))
contradicted("and-cut-off", "fork", "vanished", other=without_last)
contradicted(
    "and-replaced", "fork", "vanished", other=lambda r: (without_last(r), r.claim("acme", D, by=signers(A, D)))
)
contradicted("and-at-another-position", "fork", "vanished", other=_moved)
