"""Steps back in time, and what the owners of a namespace state about themselves."""

from __future__ import annotations

from collections.abc import Callable

from conformance.cases import case
from conformance.play import Play
from conformance.simulator.keys import Key, sha256
from conformance.simulator.registry import Edit, Line, Registry, index_file, same
from conformance.tables import after, edited, row, value, without

CLIENT, CLOCK, INDEX = "protocol.md#what-a-client-does", "statements.md#ryeclockv1", "protocol.md#index-name-map-head"
PROOF, DESCRIPTION, OWNERS = (
    "statements.md#ryeproofv1",
    "statements.md#ryedescriptionv1",
    "statements.md#which-owners-count",
)
STEPS = "that are leaves at positions from the last size seen on, and that lead from the last time seen to one that is not after the snapshot's"


def stepped(
    name: str,
    quote: str,
    *refuses: str,
    page: str = CLIENT,
    edit: Edit = same,
    by: tuple[Key, ...] = (),
    lie: Callable[[Registry], object] = lambda r: None,
    back: float = 2,
    owners: tuple[Key, ...] = (),
    served: bool = True,
    before_seen: bool = False,
    later: float = 0,
    fill: tuple[int, int] = (0, 0),
) -> None:
    """A log whose clock was three hours ahead goes back by some hours, with a step that its owners signed. ``fill``: other
    people's entries before and after the step."""

    @case(f"clock/{name}", page, quote, *refuses)
    def play_stepped(play: Play) -> None:
        registry = Registry.fresh()
        old = registry.owners
        if owners:
            registry.owners = owners
            registry.add_root(by=registry.by_owners(*old, *owners))
        registry.publish()
        registry.wait(minutes=1)
        registry.publish()
        play.start(registry)
        ahead = registry.now
        if fill[0]:
            registry.fill(fill[0])
            registry.publish()
        registry.wait(hours=-back)
        registry.step_back(ahead, edit=edit, by=registry.by_owners(*by) if by else None)
        if before_seen:
            registry.steps[-1] = (1, registry.steps[-1][1])
        registry.wait(hours=later)
        registry.fill(fill[1])
        lie(registry)
        registry.publish()
        play.serve(registry, {} if served else {"clock": None})
        play.now = ahead
        play.decisive("refresh")


stepped("a-step", STEPS)
stepped("a-step-in-a-tile-of-its-own", STEPS, fill=(290, 300))
stepped("a-step-and-later", "neither it nor any later one is older than `time`", page=CLOCK, later=1)
stepped("older-than-the-step", "neither it nor any later one is older than `time`", "rollback", page=CLOCK, later=-0.5)
stepped("without-the-file", STEPS, "rollback", served=False)
stepped(
    "by-one-owner",
    "It is signed by a threshold of the owners of the root in force there",
    "signature",
    page=CLOCK,
    by=(Key("owner 1"),),
)
stepped(
    "by-strangers",
    "It is signed by a threshold of the owners of the root in force there",
    "signature",
    page=CLOCK,
    by=(Key("x"), Key("y")),
)
stepped(
    "by-owners-of-an-earlier-root",
    "Owners of roots before that of the last head seen cannot sign one.",
    "signature",
    by=(Key("owner 1"), Key("owner 2")),
    owners=(Key("owner 4"), Key("owner 5")),
)
stepped(
    "for-another-position",
    "At any other place it is invalid",
    "foreign",
    "rollback",
    page=CLOCK,
    edit=lambda t: value("position", "3")(t),
)
stepped(
    "for-an-earlier-time",
    "right after a snapshot of the time `before`",
    "foreign",
    "rollback",
    page=CLOCK,
    edit=lambda t: value("before", "2026-03-01T11:30:00Z")(t),
)
stepped("of-another-origin", "origin <origin>", "foreign", page=CLOCK, edit=value("origin", "other.example"))
stepped(
    "that-goes-forward",
    "which is earlier than `before`",
    "malformed",
    "foreign",
    page=CLOCK,
    edit=value("time", "2026-03-01T18:00:00Z"),
)
stepped(
    "that-stands-still",
    "which is earlier than `before`",
    "malformed",
    page=CLOCK,
    edit=value("time", "2026-03-01T12:01:00Z"),
)
stepped(
    "with-an-unknown-line",
    "unknown or duplicate lines",
    "malformed",
    page="protocol.md#common-rules",
    edit=after("reason", "x y"),
)
stepped(
    "with-an-empty-reason",
    "reason <one line, at most 500 characters>",
    "malformed",
    page=CLOCK,
    edit=value("reason", ""),
)
stepped("that-is-not-in-the-log", STEPS, "proof", lie=lambda r: _changed_leaf(r))
stepped("from-before-the-last-head-seen", STEPS, "rollback", before_seen=True)
stepped(
    "file-that-is-malformed",
    "lists all of a log's in the format of an index file",
    "malformed",
    page=CLOCK,
    lie=lambda r: r.steps.append((0, "x")),
)
stepped("in-a-large-log", STEPS, lie=lambda r: r.fill(700))
stepped("that-is-not-in-a-large-log", STEPS, "proof", lie=lambda r: (_changed_leaf(r), r.fill(700)))
stepped("two-steps", STEPS, lie=lambda r: _second_step(r))


def _changed_leaf(registry: Registry) -> None:
    from conformance.simulator.tree import leaf_hash

    position, _ = registry.steps[0]
    registry.leaves[position] = b"other\n"
    registry.hashes[position] = leaf_hash(b"other\n")


def _second_step(registry: Registry) -> None:
    registry.publish()
    before = registry.now
    registry.wait(hours=-1)
    registry.step_back(before)


@case("clock/a-step-used-twice", CLOCK, "so nobody can use it twice", "rollback")
def used_twice(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    ahead = registry.now
    registry.wait(hours=-2)
    registry.step_back(ahead)
    registry.publish()
    play.serve(registry)
    play.now = ahead
    play.good("refresh")
    registry.wait(hours=-1)
    registry.publish()
    play.serve(registry)
    play.decisive("refresh")


# Owners


NEEDS = ("owners",)


def _proof(
    registry: Registry,
    edit: Edit = same,
    *,
    state: str = "proved",
    place: str = "acme.example",
    method: str = "dns",
    **how: object,
) -> None:
    lines: list[Line] = [("state", state), ("method", method), ("place", place)]
    last: list[Line] = [("fingerprint", registry.spaces["acme"].sha256)]
    registry.state("rye.proof/v1", lines, last=last, edit=edit, **how)  # type: ignore[arg-type]


def _about(registry: Registry, edit: Edit = same, about: str = "We make tools", **how: object) -> None:
    lines: list[Line] = [("about", about), ("link", "https://acme.example"), ("contact", "mailto:us@acme.example")]
    registry.state("rye.description/v1", lines, edit=edit, **how)  # type: ignore[arg-type]


def stated(
    name: str,
    page: str,
    quote: str,
    *refuses: str,
    then: Callable[[Registry], object],
    places: list[str] | None = None,
    about: str | None = "",
    changes: Callable[[Registry], dict[str, bytes | None]] = lambda r: {},
) -> None:
    @case(f"owners/{name}", page, quote, *refuses, needs=NEEDS)
    def play_stated(play: Play) -> None:
        registry = Registry.fresh()
        play.start(registry)
        play.expect(
            "the places", play.good("resolve", owners=["acme"])["owners"]["acme"], {"places": [], "about": None}
        )
        then(registry)
        registry.publish()
        play.serve(registry, changes(registry))
        found = play.decisive("resolve", owners=["acme"])
        if places is not None:
            play.expect("the places", found["owners"]["acme"]["places"], places)
        if about != "":
            play.expect("the text", found["owners"]["acme"]["about"], about)


WHO, COUNTS, WHERE = (
    "A key of the keyset in force, whose number and fingerprint it names.",
    "The last statement about a place; a repeated text has no effect.",
    "Clients check that each line is in the log",
)
STRANGER = (Key("stranger"),)
stated(
    "a-proof",
    PROOF,
    "The namespace's owners say that a domain or a repository is theirs",
    then=_proof,
    places=["acme.example"],
    about=None,
)
stated(
    "two-proofs",
    PROOF,
    COUNTS,
    then=lambda r: (_proof(r), _proof(r, place="https://git.example/acme", method="repository")),
    places=["acme.example", "https://git.example/acme"],
)
stated("withdrawn", PROOF, COUNTS, then=lambda r: (_proof(r), _proof(r, state="withdrawn")), places=[])
stated(
    "withdrawn-and-replayed",
    PROOF,
    COUNTS,
    then=lambda r: (_proof(r), _proof(r, state="withdrawn"), _proof(r)),
    places=[],
)
stated("by-a-stranger", PROOF, WHO, "signature", then=lambda r: _proof(r, by=r.by("acme", *STRANGER)))
stated("of-another-keyset", PROOF, WHO, "keyset", then=lambda r: _proof(r, number=2))
stated("of-another-fingerprint", PROOF, WHO, "keyset", then=lambda r: _proof(r, value("fingerprint", sha256("x"))))
stated(
    "of-another-namespace",
    PROOF,
    "namespace <segment>",
    "foreign",
    then=lambda r: _proof(r, value("namespace", "other")),
)
stated(
    "of-another-origin", PROOF, "origin <origin>", "foreign", then=lambda r: _proof(r, value("origin", "other.example"))
)
stated(
    "a-description",
    DESCRIPTION,
    "The owners' own words about their namespace",
    then=_about,
    about="We make tools",
    places=[],
)
stated(
    "the-last-description",
    DESCRIPTION,
    "The last one counts.",
    then=lambda r: (_about(r), _about(r, about="We make more")),
    about="We make more",
)
stated(
    "a-description-by-a-stranger",
    DESCRIPTION,
    "signed and listed like a proof",
    "signature",
    then=lambda r: _about(r, by=r.by("acme", *STRANGER)),
)
stated(
    "not-in-the-log",
    PROOF,
    WHERE,
    "proof",
    then=_proof,
    changes=lambda r: {"owners/acme": r.files["owners/acme"].replace(b"acme.example", b"evil.example")},
)
stated(
    "at-another-position",
    PROOF,
    WHERE,
    "proof",
    then=_proof,
    changes=lambda r: {"owners/acme": index_file([(0, r.stated["acme"][0][1])])},
)
stated(
    "newer-than-the-head",
    INDEX,
    "a client leaves out lines from its size on",
    then=_proof,
    places=["acme.example"],
    changes=lambda r: {
        "owners/acme": index_file(
            [*r.stated["acme"], (r.size, r.stated["acme"][0][1].replace("acme.example", "later.example"))]
        )
    },
)
stated(
    "an-empty-file", PROOF, "only an auditor can tell", then=_proof, places=[], changes=lambda r: {"owners/acme": b""}
)
stated(
    "a-malformed-file",
    PROOF,
    "in the format of an index file",
    "malformed",
    then=_proof,
    changes=lambda r: {"owners/acme": b"{}\n"},
)
stated(
    "a-release-in-it",
    PROOF,
    "with all proofs and descriptions of the namespace",
    "foreign",
    then=lambda r: r.stated.setdefault("acme", []).append((r.release(), r.leaves[-1].decode())),
)
stated(
    "after-a-key-change",
    PROOF,
    "Along the file, `keyset` never goes down.",
    then=lambda r: (
        _proof(r),
        r.claim("acme", Key("acme 2"), by=r.by("acme", Key("acme 1"), Key("acme 2"))),
        _proof(r, place="b.example"),
    ),
    places=["b.example"],
)


def _grammar(edit_of: Callable[[Registry, Edit], object]) -> Callable[[Registry, Edit], None]:
    def scene(registry: Registry, edit: Edit) -> None:
        edit_of(registry, edit)
        registry.publish()

    return scene


SAME_MACHINE = "are for registries on the same machine"
LONG = ".".join(["a" * 61] * 4) + "."
"""248 characters of a domain."""
DOMAIN = "A domain is in its ASCII form, lower case, at least two labels"
edited(
    "owners/proof-grammar", PROOF, _grammar(_proof),
    [
        row("a-domain-of-one-label", DOMAIN, value("place", "localhost"), "malformed"),
        row("a-domain-in-capitals", DOMAIN, value("place", "Acme.example"), "malformed"),
        row("a-domain-that-is-not-ASCII", DOMAIN, value("place", "ácme.example"), "malformed"),
        row("an-unknown-method", "method <file, dns or repository>", value("method", "telephone"), "malformed"),
        row("an-unknown-state", "state <proved or withdrawn>", value("state", "denied"), "malformed"),
        row("a-repository-as-a-domain", "a repository is `https://HOST/PATH`", value("place", "https://git.example/acme"), "malformed"),
        row("no-fingerprint", "fingerprint <sha256 of the text of keyset n>", without("fingerprint"), "malformed"),
        row("a-line-more", "A parser refuses everything that is not described here", after("time", "x y"), "malformed"),
        row("a-domain-of-253-characters", DOMAIN, value("place", LONG + "abcde")),
        row("a-domain-of-254-characters", DOMAIN, value("place", LONG + "abcdef"), "malformed", "limit"),
        row("a-domain-and-more", DOMAIN, value("place", "acme.example/x"), "malformed"),
        row("this-machine", SAME_MACHINE, value("place", "127.0.0.1:8080")),
        row("this-machine-by-name", SAME_MACHINE, value("place", "localhost:8080")),
        row("this-machine-and-more", SAME_MACHINE, value("place", "127.0.0.1:8080x"), "malformed"),
    ],
    needs=NEEDS, members={"owners": ["acme"]},
)  # fmt: skip


def _of_repository(registry: Registry, edit: Edit) -> None:
    _proof(registry, edit, place="https://git.example/acme", method="repository")


REPOSITORY = "a repository is `https://HOST/PATH`"
edited(
    "owners/repository-grammar", PROOF, _grammar(_of_repository),
    [
        row("on-this-machine", SAME_MACHINE, value("place", "http://127.0.0.1:8080/acme")),
        row("without-TLS", REPOSITORY, value("place", "http://git.example/acme"), "malformed"),
        row("by-SSH", REPOSITORY, value("place", "ssh://git.example/acme"), "malformed"),
        row("without-a-scheme", REPOSITORY, value("place", "git.example/acme"), "malformed"),
        row("without-a-path", REPOSITORY, value("place", "https://git.example"), "malformed"),
        row("with-a-final-slash", "without query, user and final slash", value("place", "https://git.example/acme/"), "malformed"),
        row("with-a-query", "without query, user and final slash", value("place", "https://git.example/acme?x"), "malformed"),
        row("with-a-user", "without query, user and final slash", value("place", "https://us@git.example/acme"), "malformed"),
        row("with-encoded-dots", "its path encodes no dot or slash", value("place", "https://git.example/acme/%2e%2E/x"), "malformed"),
        row("with-an-encoded-slash", "its path encodes no dot or slash", value("place", "https://git.example/acme%2fx"), "malformed"),
        row("with-another-encoded-letter", REPOSITORY, value("place", "https://git.example/acme%20x")),
        row("at-a-host-of-one-label", DOMAIN, value("place", "https://git/acme"), "malformed"),
        row("at-a-host-and-more", DOMAIN, value("place", "https://git.example:x/acme"), "malformed"),
        row("of-300-characters", "at most 300 characters", value("place", "https://git.example/" + "a" * 280)),
        row("of-301-characters", "at most 300 characters", value("place", "https://git.example/" + "a" * 281), "malformed", "limit"),
    ],
    needs=NEEDS, members={"owners": ["acme"]},
)  # fmt: skip
edited(
    "owners/description-grammar", DESCRIPTION, _grammar(_about),
    [
        row("an-empty-text", "about <one line, at most 300 characters>", value("about", ""), "malformed"),
        row("a-text-of-301-characters", "about <one line, at most 300 characters>", value("about", "x" * 301), "malformed", "limit"),
        row("a-link-without-TLS", "link <https address>", value("link", "http://acme.example"), "malformed"),
        row("six-links", "* at most 5", after("about", "\n".join(f"link https://a{n}.example" for n in range(6))), "malformed", "limit"),
        row("five-links", "* at most 5", after("about", "\n".join(f"link https://a{n}.example" for n in range(4)))),
        row("a-link-at-a-host-of-one-label", "link <https address>", value("link", "https://acme"), "malformed"),
        row("a-link-at-a-host-and-more", "link <https address>", value("link", "https://acme.example:x"), "malformed"),
        row("a-link-without-a-scheme", "link <https address>", value("link", "acme.example"), "malformed"),
        row("a-contact-at-a-host-of-one-label", "contact <https address or mailto:>", value("contact", "mailto:us@acme"), "malformed"),
        row("a-contact-by-script", "contact <https address or mailto:>", value("contact", "javascript:alert(1)"), "malformed"),
        row("a-line-more", "A parser refuses everything that is not described here", after("time", "x y"), "malformed"),
    ],
    needs=NEEDS, members={"owners": ["acme"]},
)  # fmt: skip


@case(
    "owners/a-proof-that-goes-back-to-the-keyset-before-a-recovery",
    PROOF,
    "Along the file, `keyset` never goes down.",
    "keyset",
    needs=NEEDS,
)
def back_to_the_keyset_before(play: Play) -> None:
    """The old keys sign a proof that is dated before the recovery took effect."""
    registry = Registry.fresh()
    play.start(registry)
    before, then = registry.spaces["acme"], registry.now
    accepted = registry.recover("acme", Key("acme 9"))
    registry.wait(days=4)
    recovered, later = registry.spaces["acme"], registry.now
    _proof(registry)
    registry.publish()
    play.serve(registry)
    found = play.good("resolve", owners=["acme"], accept=accepted)
    play.expect("the places", found["owners"]["acme"]["places"], ["acme.example"])
    registry.spaces["acme"], registry.now = before, then
    _proof(registry, place="other.example")
    registry.spaces["acme"], registry.now = recovered, later
    registry.publish()
    play.serve(registry)
    play.decisive("resolve", owners=["acme"])


@case("clock/a-step-at-position-two", CLOCK, "right after a snapshot of the time `before`")
def position_two(play: Play) -> None:
    registry = Registry()
    registry.add_root()
    registry.publish()
    play.start(registry)
    ahead = registry.now
    registry.wait(hours=-2)
    registry.step_back(ahead)
    registry.publish()
    play.serve(registry)
    play.now = ahead
    play.decisive("refresh")
