"""What statements about an item add up to: yanks, advisories, deprecations, takedowns, in the order of the log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from conformance.cases import case
from conformance.cases.releases import (
    ADVISORY,
    CLIENT,
    DEPRECATION,
    OF,
    OWNERS,
    PDF,
    RELEASE,
    STRANGER,
    TAKEDOWN,
    YANK,
    relation,
    release,
)
from conformance.play import Play
from conformance.simulator import items
from conformance.simulator.keys import Key, sha256
from conformance.simulator.registry import Edit, Registry
from conformance.tables import after, edited, row, swap, value, without


def told(
    name: str,
    page: str,
    quote: str,
    *refuses: str,
    versions: tuple[str, ...] = ("1.0.0", "1.1.0"),
    then: Callable[[Registry], object],
    **expected: object,
) -> None:
    """Releases, then other statements. ``expected``: members of each release in the answer, or ``deprecated``."""

    @case(f"statements/{name}", page, quote, *refuses)
    def play_told(play: Play) -> None:
        registry = Registry.fresh()
        for version in versions:
            registry.release(version=version)
        registry.publish()
        play.start(registry)
        play.good("resolve", **OF)
        then(registry)
        registry.publish()
        play.serve(registry)
        found = play.decisive("resolve", **OF)["names"][PDF] if not refuses else play.decisive("resolve", **OF)
        for member, wanted in expected.items():
            is_own = member == "deprecated"
            play.expect(member, found[member] if is_own else [one[member] for one in found["releases"]], wanted)


LAST = "The last yank, deprecation or advisory in the log counts."
REPLAY = "One whose text is already in the same index is a replay and is ignored."
told("yanked", YANK, "state <yanked or available>", then=lambda r: r.yank(), yanked=[True, False])
told(
    "yanked-and-available-again",
    ADVISORY,
    LAST,
    then=lambda r: (r.yank(), r.yank(state="available", reason=("reason", "It works"))),
    yanked=[False, False],
)
told(
    "yanked-available-yanked",
    ADVISORY,
    LAST,
    then=lambda r: (r.yank(), r.yank(state="available"), r.yank(reason=("reason", "Worse"))),
    yanked=[True, False],
)
told(
    "yank-replayed",
    ADVISORY,
    REPLAY,
    then=lambda r: (r.yank(), r.yank(state="available"), r.yank()),
    yanked=[False, False],
)
told(
    "yank-replayed-with-another-signature",
    ADVISORY,
    REPLAY,
    then=lambda r: (r.yank(), r.yank(state="available"), r.yank(by=[*r.by("acme"), *STRANGER])),
    yanked=[False, False],
)
told("yank-of-a-version-that-was-not-released", YANK, "version <version>", "history", then=lambda r: r.yank("9.9.9"))
told(
    "yank-by-a-stranger",
    ADVISORY,
    "Signed by the namespace's keyset in force",
    "signature",
    then=lambda r: r.yank(by=STRANGER),
)
told("yank-by-the-owners", YANK, "keyset <n>", "signature", then=lambda r: r.yank(by=r.by_owners()))
told("yank-of-another-keyset", YANK, "keyset <n>", "keyset", then=lambda r: r.yank(keyset=2))
told(
    "a-version-released-twice",
    RELEASE,
    "A version is released once",
    "history",
    then=lambda r: r.release(version="1.0.0", edit=value("description", "Another")),
)
told(
    "a-release-repeated-word-for-word",
    RELEASE,
    "A version is released once",
    "history",
    then=lambda r: r.append(r.indexes[PDF][0][1], PDF),
)
told("deprecated", DEPRECATION, "state <deprecated or supported>", then=lambda r: r.deprecate(), deprecated=True)
told(
    "deprecated-for-another",
    DEPRECATION,
    "replacement <identity or ->",
    then=lambda r: r.deprecate(replacement="skill:acme/other"),
    deprecated=True,
)
told("supported-again", ADVISORY, LAST, then=lambda r: (r.deprecate(), r.deprecate("supported")), deprecated=False)
told(
    "deprecation-replayed",
    ADVISORY,
    REPLAY,
    then=lambda r: (r.deprecate(), r.deprecate("supported"), r.deprecate()),
    deprecated=False,
)
told("deprecated-by-a-stranger", DEPRECATION, "keyset <n>", "signature", then=lambda r: r.deprecate(by=STRANGER))
PRE_RELEASES = "A range has pre-releases like every other version, by their order"
for wanted, has in (
    ("<1.2.0", [True, True, False]),
    ("*", [True, True, True]),
    ("^1.2.0", [False, False, True]),
    ("1.2.x", [False, False, True]),
    ("<1.2", [False, True, False]),
    (">=1.2.0-0 <1.3.0-0", [True, False, True]),
):
    told(
        f"advised-{wanted.replace(' ', '-and-')}-with-pre-releases",
        ADVISORY,
        PRE_RELEASES,
        versions=("1.2.0-rc.1", "1.1.9-rc.1", "1.2.0"),
        then=lambda r, wanted=wanted: r.advise(wanted),  # type: ignore[misc]
        advisories=[["RYE-1"] if one else [] for one in has],
    )
told("advised", ADVISORY, "range <version range>", then=lambda r: r.advise("<1.1.0"), advisories=[["RYE-1"], []])
told(
    "advised-twice",
    ADVISORY,
    "number <text, [A-Z0-9-]{1,64}>",
    then=lambda r: (r.advise("<1.1.0"), r.advise(">=1.0.0", "RYE-2")),
    advisories=[["RYE-1", "RYE-2"], ["RYE-2"]],
)
told(
    "advisory-replaced",
    ADVISORY,
    "A later advisory of the same number replaces the earlier",
    then=lambda r: (r.advise("<1.1.0"), r.advise(">=1.1.0")),
    advisories=[[], ["RYE-1"]],
)
told(
    "advisory-withdrawn",
    ADVISORY,
    "an empty range (`<0.0.0-0`) withdraws it",
    then=lambda r: (r.advise(">=1.0.0"), r.advise("<0.0.0-0")),
    advisories=[[], []],
)
told(
    "advisory-replayed",
    ADVISORY,
    REPLAY,
    then=lambda r: (r.advise(">=1.0.0"), r.advise("<0.0.0-0"), r.advise(">=1.0.0")),
    advisories=[[], []],
)
told(
    "advisory-by-a-stranger",
    ADVISORY,
    "Signed by the namespace's keyset in force",
    "signature",
    then=lambda r: r.advise("*", by=STRANGER),
)
told(
    "advisory-by-the-owners",
    ADVISORY,
    "with `keyset root`, by",
    then=lambda r: r.advise("*", keyset="root", by=r.by_owners()),
    advisories=[["RYE-1"], ["RYE-1"]],
)
APART = "Neither replaces what the other stated."
told(
    "advisory-of-the-owners-withdrawn-by-the-namespace",
    ADVISORY,
    APART,
    then=lambda r: (r.advise("*", keyset="root", by=r.by_owners()), r.advise("<0.0.0-0")),
    advisories=[["RYE-1"], ["RYE-1"]],
)
told(
    "advisory-of-the-namespace-withdrawn-by-the-owners",
    ADVISORY,
    APART,
    then=lambda r: (r.advise("*"), r.advise("<0.0.0-0", keyset="root", by=r.by_owners())),
    advisories=[["RYE-1"], ["RYE-1"]],
)
told(
    "advisories-of-both-with-one-number",
    ADVISORY,
    APART,
    then=lambda r: (r.advise("<1.1.0"), r.advise("*", keyset="root", by=r.by_owners())),
    advisories=[["RYE-1"], ["RYE-1"]],
)
told(
    "advisory-of-the-owners-withdrawn-by-them",
    ADVISORY,
    APART,
    then=lambda r: (
        r.advise("*", keyset="root", by=r.by_owners()),
        r.advise("<1.1.0"),
        r.advise("<0.0.0-0", keyset="root", by=r.by_owners()),
    ),
    advisories=[["RYE-1"], []],
)
told(
    "advisory-of-the-owners-by-one-owner",
    ADVISORY,
    "with `keyset root`, by",
    "signature",
    then=lambda r: r.advise("*", keyset="root", by=r.by_owners(Key("owner 1"))),
)
told(
    "advisory-of-the-owners-by-the-namespace",
    ADVISORY,
    "with `keyset root`, by",
    "signature",
    then=lambda r: r.advise("*", keyset="root"),
)
told(
    "advisory-of-the-namespace-by-the-owners",
    ADVISORY,
    "Signed by the namespace's keyset in force",
    "signature",
    then=lambda r: r.advise("*", by=r.by_owners()),
)
told(
    "advisory-before-a-release",
    ADVISORY,
    "range <version range>",
    then=lambda r: (r.advise(">=2.0.0"), r.release(version="2.0.0")),
    advisories=[[], [], ["RYE-1"]],
)


def _files(registry: Registry, version: str = "1.0.0") -> list[str]:
    return [sha256(items.signed(items.skill("pdf", version), Key("acme 1")))]


told(
    "taken-down",
    TAKEDOWN,
    "The registry's owners removed files of this release",
    then=lambda r: r.take_down(_files(r)),
    taken_down=[True, False],
)
told(
    "taken-down-by-one-owner",
    TAKEDOWN,
    "It is signed like an advisory with `keyset root`",
    "signature",
    then=lambda r: r.take_down(_files(r), by=r.by_owners(Key("owner 2"))),
)
told(
    "taken-down-by-the-namespace",
    TAKEDOWN,
    "It is signed like an advisory with `keyset root`",
    "signature",
    then=lambda r: r.take_down(_files(r), by=r.by("acme")),
)
told(
    "taken-down-by-the-log",
    TAKEDOWN,
    "It is signed like an advisory with `keyset root`",
    "signature",
    then=lambda r: r.take_down(_files(r), by=r.by_log()),
)
told(
    "takedown-of-another-releases-file",
    TAKEDOWN,
    "every `sha256` is one that the release names",
    "history",
    then=lambda r: r.take_down(_files(r, "1.1.0")),
)
told(
    "takedown-of-a-file-more",
    TAKEDOWN,
    "every `sha256` is one that the release names",
    "history",
    then=lambda r: r.take_down([*_files(r), sha256("more")]),
)
told(
    "takedown-of-an-unknown-version",
    TAKEDOWN,
    "is in the index of the identity after the release",
    "history",
    then=lambda r: r.take_down(_files(r), "9.9.9"),
)
told(
    "takedown-and-available",
    TAKEDOWN,
    "It is final.",
    then=lambda r: (r.take_down(_files(r)), r.yank(state="available")),
    taken_down=[True, False],
)
told("takedown-of-no-file", TAKEDOWN, "* 1 to 201", "malformed", then=lambda r: r.take_down([]))
told(
    "takedown-of-202-files",
    TAKEDOWN,
    "* 1 to 201",
    "malformed",
    "limit",
    then=lambda r: r.take_down([sha256(str(n)) for n in range(202)]),
)
told(
    "takedown-with-an-empty-reason",
    TAKEDOWN,
    "reason <one line, at most 500 characters>",
    "malformed",
    then=lambda r: r.take_down(_files(r), edit=value("reason", "")),
)
told(
    "takedown-with-a-reason-of-501-characters",
    TAKEDOWN,
    "reason <one line, at most 500 characters>",
    "malformed",
    "limit",
    then=lambda r: r.take_down(_files(r), edit=value("reason", "x" * 501)),
)


@case("statements/yank-before-its-release", TAKEDOWN, "is in the index of the identity after the release", "history")
def yank_first(play: Play) -> None:
    registry = Registry.fresh()
    registry.take_down([sha256("x")])
    registry.release()
    registry.publish()
    play.start(registry)
    play.decisive("resolve", **OF)


def earlier(name: str, then: Callable[[Registry], object], between: str = "") -> None:
    """``between``: a command after the statement was logged, and before its index is read."""

    @case(
        f"statements/{name}-by-owners-of-an-earlier-root",
        OWNERS,
        "from that position on, owners of earlier roots sign nothing",
        "signature",
    )
    def play_earlier(play: Play) -> None:
        registry = Registry.fresh()
        registry.release()
        registry.publish()
        play.start(registry)
        old = registry.owners
        registry.owners = (Key("owner 4"), Key("owner 5"), Key("owner 6"))
        registry.add_root(by=registry.by_owners(*old, *registry.owners))
        registry.publish()
        play.serve(registry)
        play.good("resolve", **OF)
        registry.owners = old
        then(registry)
        registry.publish()
        play.serve(registry)
        if between:
            play.good(between)
        play.decisive("resolve", **OF)


earlier("takedown", lambda r: r.take_down(_files(r)))
earlier("takedown-that-is-read-later", lambda r: r.take_down(_files(r)), "refresh")
earlier("advisory", lambda r: r.advise("*", keyset="root", by=r.by_owners()))


@case("statements/takedown-seen-and-then-gone", CLIENT, "so must a takedown that was seen", "vanished")
def takedown_gone(play: Play) -> None:
    registry = Registry.fresh()
    registry.release()
    registry.take_down(_files(registry))
    registry.publish()
    play.start(registry)
    play.good("resolve", **OF)
    registry.indexes[PDF].pop()
    registry.wait(minutes=1)
    registry.publish()
    play.serve(registry)
    play.decisive("resolve", **OF)


@case(
    "statements/takedown-refuses-to-fetch",
    TAKEDOWN,
    "Clients do not install the release and give the reason.",
    "withdrawn",
)
def takedown_fetch(play: Play) -> None:
    registry = Registry.fresh()
    registry.release()
    registry.publish()
    play.start(registry)
    play.good("fetch", item=PDF, version="1.0.0")
    registry.take_down(_files(registry))
    registry.publish()
    play.serve(registry)
    play.decisive("fetch", item=PDF, version="1.0.0")


@case("statements/yanked-release-is-fetched", YANK, "rye.yank/v1")
def yanked_fetch(play: Play) -> None:
    registry = Registry.fresh()
    registry.release()
    registry.yank()
    registry.publish()
    play.start(registry)
    play.decisive("fetch", item=PDF, version="1.0.0")


@case("statements/postdated-after-a-key-change", "statements.md#ryekeysetv1", "`time` is only what the signer says")
def postdated(play: Play) -> None:
    registry = Registry.fresh()
    registry.release(time=registry.now + timedelta(days=400))
    registry.publish()
    play.start(registry)
    play.decisive("resolve", **OF)


def _yank(registry: Registry, edit: Edit) -> None:
    registry.release()
    registry.yank(edit=edit)
    registry.publish()


def _deprecate(registry: Registry, edit: Edit) -> None:
    registry.release()
    registry.deprecate(edit=edit)
    registry.publish()


def _advise(registry: Registry, edit: Edit) -> None:
    registry.release()
    registry.advise(">=1.0.0", edit=edit)
    registry.publish()


ORDER = "in exactly the order below"
edited(
    "statements/yank-grammar", YANK, _yank,
    [
        row("an-unknown-state", "state <yanked or available>", value("state", "broken"), "malformed"),
        row("no-reason", "reason <one line, at most 500 characters>", without("reason"), "malformed"),
        row("an-empty-reason", "is not empty", value("reason", ""), "malformed"),
        row("a-reason-of-500-characters", "at most 500 characters", value("reason", "x" * 500)),
        row("a-reason-of-501-characters", "at most 500 characters", value("reason", "x" * 501), "malformed", "limit"),
        row("a-version-that-is-none", "version <version>", value("version", "latest"), "malformed"),
        row("keyset-root", "keyset <n>", value("keyset", "root"), "malformed"),
        row("a-line-more", "A parser refuses everything that is not described here", after("reason", "severity high"), "malformed"),
        row("another-origin", "origin <origin>", value("origin", "other.example"), "foreign"),
    ],
    members=OF,
)  # fmt: skip
edited(
    "statements/deprecation-grammar", DEPRECATION, _deprecate,
    [
        row("an-unknown-state", "state <deprecated or supported>", value("state", "old"), "malformed"),
        row("a-replacement-that-is-no-identity", "replacement <identity or ->", value("replacement", "acme/x"), "malformed"),
        row("no-replacement-line", ORDER, without("replacement"), "malformed"),
        row("a-line-more", "A parser refuses everything that is not described here", after("reason", "x y"), "malformed"),
        row("another-origin", "origin <origin>", value("origin", "other.example"), "foreign"),
    ],
    members=OF,
)  # fmt: skip
edited(
    "statements/advisory-grammar", ADVISORY, _advise,
    [
        row("a-number-in-small-letters", "number <text, [A-Z0-9-]{1,64}>", value("number", "rye-1"), "malformed"),
        row("a-number-of-64-characters", "number <text, [A-Z0-9-]{1,64}>", value("number", "A" * 64)),
        row("a-number-of-65-characters", "number <text, [A-Z0-9-]{1,64}>", value("number", "A" * 65), "malformed", "limit"),
        row("an-unknown-severity", "severity <low, medium, high or critical>", value("severity", "extreme"), "malformed"),
        row("a-range-that-is-none", "range <version range>", value("range", "newest"), "malformed"),
        row("an-empty-title", "title <one line>", value("title", ""), "malformed"),
        row("a-reason-instead-of-a-title", "title <one line>", swap("title ", "reason "), "malformed"),
        row("another-origin", "origin <origin>", value("origin", "other.example"), "foreign"),
        row("a-range-of-more-than-1024-characters", "have at most 1,024, printable ASCII", value("range", ">=1.0.0" + " <9.0.0" * 150), "malformed", "limit"),
    ],
    members=OF,
)  # fmt: skip


def line_of(size: int) -> str:
    """A relation whose line is exactly so long."""
    identity = "tool:acme/" + "/".join(["a" * 64] * 8)
    wanted = ">=1.0.0" + " <9.0.0" * 143
    rest = size - len(f"depends_on  {identity} {wanted}")
    return f"depends_on {'a' * rest} {identity} {wanted}"


def relation_to(identity: str) -> Edit:
    return relation(f"depends_on x {identity} *")


IDENTITY, WORD = (
    "depends_on <reference as written> <identity or -> <range>",
    "a reference or a hook's id 1 to 512",
)
edited(
    "releases/limits", RELEASE, release,
    [
        row("a-line-of-2048-bytes", "No line is longer than 2,048 bytes", relation(line_of(2048))),
        row("a-line-of-2049-bytes", "No line is longer than 2,048 bytes", relation(line_of(2049)), "malformed", "limit"),
        row("a-size-of-2-to-the-53-minus-1", "at most 2^53−1", value("file", f"SKILL.md {2**53 - 1} {'0' * 64}")),
        row("a-size-of-2-to-the-53", "at most 2^53−1", value("file", f"SKILL.md {2**53} {'0' * 64}"), "malformed", "limit"),
        row("a-time-in-1969", "real dates only, from 1970 on", value("time", "1969-12-31T23:59:59Z"), "malformed"),
        row("the-first-second-of-1970", "real dates only, from 1970 on", value("time", "1970-01-01T00:00:00Z")),
        row("a-version-of-256-characters", "**Versions** have at most 256 characters", value("version", "1.0.0-" + "a" * 250)),
        row("a-range-of-1024-characters", "have at most 1,024, printable ASCII", relation(f"depends_on x tool:acme/x >=1.0.0{' <9.0.0' * 143} <9.0.0-aaaaaaaa")),
        row("a-relation-to-an-id-in-capitals", IDENTITY, relation_to("tool:acme/X"), "malformed"),
        row("a-relation-to-an-id-of-one-segment", IDENTITY, relation_to("tool:acme"), "malformed"),
        row("a-relation-to-an-unknown-kind", IDENTITY, relation_to("spell:acme/x"), "malformed"),
        row("a-relation-to-the-namespace-root", "The namespace `root` is reserved.", relation_to("tool:root/x"), "malformed"),
        row("a-relation-to-an-id-that-ends-in-root", IDENTITY, relation_to("tool:acme/root")),
        row("a-reference-of-512-characters", WORD, relation(f"depends_on {'x' * 512} tool:acme/x *")),
        row("a-reference-of-513-characters", WORD, relation(f"depends_on {'x' * 513} tool:acme/x *"), "malformed", "limit"),
        row("a-reference-that-is-not-ASCII", WORD, relation("depends_on ü tool:acme/x *"), "malformed"),
    ],
    members=OF,
)  # fmt: skip
