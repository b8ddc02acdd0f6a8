"""Roots: the pinned fingerprint, succession, thresholds, expiry, and the grammar of ``rye.root/v1``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from conformance.cases import case
from conformance.play import Play
from conformance.simulator.keys import Key, Signer, flipped, note, sha256, text_of
from conformance.simulator.registry import Edit, Registry, same
from conformance.tables import after, edited, row, swap, value, without

CLIENT, COMMON, ROOT = "protocol.md#what-a-client-does", "protocol.md#common-rules", "statements.md#ryerootv1"
FIRST = "A client pins the SHA-256 of the text of root 1"
NEW = (Key("owner 4"), Key("owner 5"), Key("owner 6"))


@case("roots/another-fingerprint-is-not-pinned", ROOT, FIRST, "fingerprint")
def another_fingerprint(play: Play) -> None:
    play.serve(Registry.fresh())
    play.decisive("init", fingerprint="0" * 64)


@case("roots/the-pinned-one-stays", ROOT, FIRST, "fingerprint")
def pinned_stays(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    other = Registry.fresh(owners=NEW)
    play.serve(other)
    play.decisive("init", fingerprint=other.fingerprint)


@case("roots/nothing-is-trusted-before-it-is-pinned", ROOT, FIRST, "unpinned")
def unpinned(play: Play) -> None:
    play.serve(Registry.fresh())
    play.decisive("refresh")


@case("roots/pinning-again-is-harmless", ROOT, FIRST)
def pinned_again(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    play.expect("the size", play.decisive("init", fingerprint=registry.fingerprint)["size"], registry.size)


@case("roots/signatures-are-not-part-of-the-fingerprint", ROOT, FIRST)
def signatures_vary(play: Play) -> None:
    registry = Registry.fresh()
    text = text_of(registry.roots[0])
    registry.roots[0] = note(text, *registry.by_owners(Key("owner 2"), Key("owner 3")))
    registry.publish()
    play.serve(registry)
    play.decisive("init", fingerprint=sha256(text))


@case(
    "roots/another-origin-than-expected", COMMON, "It names the registry permanently; addresses may change.", "foreign"
)
def unexpected_origin(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry, origin="registry.example")
    play.newcomer()
    play.decisive("init", fingerprint=registry.fingerprint, origin="other.example")


@case("roots/config-names-another-origin", "protocol.md#index-name-map-head", '"origin": <origin>', "foreign")
def config_of_another(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    play.newcomer()
    play.serve(registry, {"config.json": registry.files["config.json"].replace(b"registry.example", b"other.example")})
    play.decisive("init", fingerprint=registry.fingerprint)


def first_root(
    name: str, quote: str, *refuses: str, edit: Edit = same, by: tuple[Key, ...] = (), snapshot: Edit = same
) -> None:
    """Root 1 with an edit, or signed by these keys only; the user pins exactly its text."""

    @case(f"roots/first-{name}", ROOT, quote, *refuses)
    def play_first(play: Play) -> None:
        for one, keys in ((same, ()), (edit, by)):
            registry = Registry()
            registry.add_root(edit=one, by=registry.by_owners(*(keys or registry.owners)))
            registry.publish(snapshot=same if one is same else snapshot)
            play.newcomer()
            play.move()
            play.serve(registry)
            ask: Callable[..., object] = play.good if (one, keys) == (same, ()) else play.decisive
            ask("init", fingerprint=registry.fingerprint)


SIGNED = "At least *t* of its own owners sign it"
first_root("signed-by-too-few", SIGNED, "signature", by=(Key("owner 1"),))
first_root("signed-by-exactly-enough", SIGNED, by=(Key("owner 2"), Key("owner 3")))
first_root("signed-by-one-owner-twice", "counts each key once", "signature", by=(Key("owner 1"), Key("owner 1")))
first_root("signed-by-strangers", SIGNED, "signature", by=NEW)
first_root(
    "number-two",
    "number <n, from 1>",
    "chain",
    "malformed",
    edit=lambda t: value("previous", "0" * 64)(value("number", "2")(t)),
    snapshot=value("root", "2"),
)
first_root("with-a-previous", "or - for 1", "malformed", edit=value("previous", "0" * 64))


@case("roots/first-with-a-wrong-signature", COMMON, "refuses the note if a known key's signature is wrong", "signature")
def wrong_signature(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    text = text_of(registry.roots[0])
    wrong = Signer("registry.example/root", Key("owner 3")).line(text, flipped)
    registry.roots[0] = note(text, *registry.by_owners(Key("owner 1"), Key("owner 2"))) + wrong
    registry.publish()
    play.newcomer()
    play.serve(registry)
    play.decisive("init", fingerprint=registry.fingerprint)


@case("roots/a-strangers-signature-is-ignored", COMMON, "A verifier ignores signatures of unknown keys")
def stranger_ignored(play: Play) -> None:
    registry = Registry.fresh()
    text = text_of(registry.roots[0])
    wrong = Signer("registry.example/root", Key("stranger")).line(text, flipped)
    registry.roots[0] = note(text, *registry.by_owners()) + wrong
    registry.publish()
    play.serve(registry)
    play.decisive("init", fingerprint=registry.fingerprint)


NEXT = "from 2 on, at least *t′* owners of root n−1"


def successor(
    name: str,
    quote: str,
    *refuses: str,
    page: str = ROOT,
    edit: Edit = same,
    snapshot: Edit = same,
    by: Callable[[Registry], list[Signer]] | None = None,
    owners: tuple[Key, ...] = NEW,
    threshold: int = 2,
    wait: timedelta = timedelta(hours=1),
) -> None:
    """Root 2, with other owners: signed by all old and new ones in the control."""

    @case(f"roots/next-{name}", page, quote, *refuses)
    def play_next(play: Play) -> None:
        for attack in (False, True):
            registry = Registry.fresh()
            play.start(registry)
            old = registry.owners
            registry.owners, registry.threshold = owners, threshold
            registry.now += wait if attack else timedelta(hours=1)
            everyone = registry.by_owners(*dict.fromkeys((*old, *owners)))
            registry.add_root(edit=edit if attack else same, by=by(registry) if attack and by else everyone)
            registry.now = max(registry.now, Registry().now)
            registry.publish(snapshot=snapshot if attack else same)
            play.serve(registry)
            if attack:
                found = play.decisive("refresh")
                if not refuses:
                    play.expect("the root", found["root"], 2)
            else:
                play.good("refresh")


def _by(*keys: Key) -> Callable[[Registry], list[Signer]]:
    return lambda registry: registry.by_owners(*keys)


OLD = (Key("owner 1"), Key("owner 2"), Key("owner 3"))
successor("signed-by-enough-of-both", NEXT, by=_by(*OLD[:2], *NEW[:2]))
successor("signed-by-too-few-old-owners", NEXT, "signature", by=_by(OLD[0], *NEW))
successor("signed-by-too-few-new-owners", NEXT, "signature", by=_by(*OLD, NEW[0]))
successor("signed-by-old-owners-only", SIGNED, "signature", by=_by(*OLD))
successor("signed-by-new-owners-only", NEXT, "signature", by=_by(*NEW))
successor("lower-threshold-still-needs-the-old-one", NEXT, "signature", by=_by(OLD[0], *NEW), threshold=1)
successor("higher-threshold-counts-for-itself", SIGNED, "signature", by=_by(*OLD, *NEW[:2]), threshold=3)
successor("skips-a-number", "number <n, from 1>", "chain", edit=value("number", "3"), snapshot=value("root", "3"))
successor(
    "repeats-the-number",
    "number <n, from 1>",
    "chain",
    "malformed",
    edit=lambda t: value("previous", "-")(value("number", "1")(t)),
)
successor("names-another-root", "previous <sha256 of the text of root n−1", "chain", edit=value("previous", "0" * 64))
successor("names-no-root", "previous <sha256 of the text of root n−1", "malformed", edit=value("previous", "-"))
successor("is-older", "Its time is not before that of root n−1", "chain", wait=timedelta(seconds=-1))
successor("has-the-same-time", "Its time is not before that of root n−1", wait=timedelta(0))
successor("is-of-another-origin", "origin <origin>", "foreign", edit=value("origin", "other.example"))


@case("roots/two-steps-at-once", CLIENT, "fetch `/root/<n+1>` and on until there is none")
def two_steps(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    for owners in (NEW, (Key("owner 7"),)):
        old, registry.owners, registry.threshold = registry.owners, owners, 1
        registry.add_root(by=registry.by_owners(*old, *owners))
    registry.publish()
    play.serve(registry)
    play.expect("the root", play.decisive("refresh")["root"], 3)


@case(
    "roots/the-middle-one-is-missing", CLIENT, "fetch `/root/<n+1>` and on until there is none", "chain", "unavailable"
)
def middle_missing(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    for owners in (NEW, (Key("owner 7"),)):
        old, registry.owners, registry.threshold = registry.owners, owners, 1
        registry.add_root(by=registry.by_owners(*old, *owners))
    registry.publish()
    play.serve(registry, {"root/2": None})
    play.decisive("refresh")


@case(
    "roots/the-snapshot-names-a-root-that-is-not-there",
    CLIENT,
    "Its root number is the one in force",
    "chain",
    "unavailable",
)
def root_not_there(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    registry.publish(snapshot=value("root", "2"))
    play.serve(registry)
    play.decisive("refresh")


@case("roots/the-snapshot-names-an-earlier-root", CLIENT, "Its root number is the one in force", "chain")
def earlier_root(play: Play) -> None:
    registry = Registry.fresh()
    registry.add_root()
    registry.publish()
    play.start(registry)
    registry.publish(snapshot=value("root", "1"))
    play.serve(registry)
    play.decisive("refresh")


@case(
    "roots/a-replaced-log-key-signs-no-more", CLIENT, "The checkpoint is signed by a log key of the root", "signature"
)
def replaced_log_key(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    old, registry.logs = registry.logs, (Key("log 2"),)
    registry.add_root()
    registry.publish()
    play.serve(registry)
    play.good("refresh")
    registry.publish(checkpoint_by=registry.by_log(*old), snapshot_by=registry.by_log(*old))
    play.serve(registry)
    play.decisive("refresh")


@case("roots/one-of-two-log-keys-is-enough", ROOT, "log <public key> * 1 to 4")
def second_log_key(play: Play) -> None:
    registry = Registry.fresh(logs=(Key("log 1"), Key("log 2")))
    play.start(registry)
    registry.publish(checkpoint_by=registry.by_log(Key("log 2")), snapshot_by=registry.by_log(Key("log 2")))
    play.serve(registry)
    play.decisive("refresh")


@case("roots/an-owner-is-no-log", CLIENT, "The checkpoint is signed by a log key of the root", "signature")
def owner_is_no_log(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    registry.publish(checkpoint_by=registry.by_log(*registry.owners))
    play.serve(registry)
    play.decisive("refresh")


def expiry(name: str, seconds: int, *refuses: str) -> None:
    @case(f"roots/expiry-{name}", CLIENT, "The last one must not have expired.", *refuses)
    def play_expiry(play: Play) -> None:
        registry = Registry()
        registry.add_root(expires=registry.now + timedelta(days=2))
        registry.publish()
        play.start(registry)
        play.now = registry.now + timedelta(days=2, seconds=seconds)
        play.decisive("refresh")


expiry("one-second-before", -1)
expiry("at-its-time", 0, "expired")
expiry("a-day-later", 86_400, "expired")


@case("roots/an-expired-root-that-was-renewed", CLIENT, "The last one must not have expired.")
def renewed(play: Play) -> None:
    registry = Registry()
    registry.add_root(expires=registry.now + timedelta(days=2))
    registry.publish()
    play.start(registry)
    registry.wait(days=3)
    registry.add_root()
    registry.publish()
    play.serve(registry)
    play.decisive("refresh")


def _second(registry: Registry, edit: Edit) -> None:
    registry.add_root(edit=edit)
    registry.publish()


def _keys(count: int, label: str) -> str:
    return "".join(sorted(f"{label} {Key(f'{label} many {number}').line}\n" for number in range(count)))


def _with(label: str, count: int) -> Edit:
    """So many owners or logs instead."""

    def edit(text: str) -> str:
        kept = [line for line in text.splitlines(keepends=True) if not line.startswith(f"{label} ")]
        first = next((n for n, line in enumerate(kept) if line.startswith("log ")), len(kept))
        return "".join([*kept[:first], _keys(count, label), *kept[first:]])

    return edit


def _more(label: str, count: int) -> Edit:
    """So many owners or logs more."""

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        rows = [line for line in lines if line.startswith(f"{label} ")] + _keys(count, label).splitlines(keepends=True)
        first = next(number for number, line in enumerate(lines) if line.startswith(f"{label} "))
        kept = [line for line in lines if not line.startswith(f"{label} ")]
        return "".join([*kept[:first], *sorted(rows), *kept[first:]])

    return edit


SMALL_ORDER = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
NOT_CANONICAL = "7v///////////////////////////////////////38="
edited(
    "roots/grammar", ROOT, _second,
    [
        row("a-title-of-version-2", "The grammar of everything", swap("rye.root/v1", "rye.root/v2"), "malformed"),
        row("no-threshold", "in exactly the order below", without("threshold"), "malformed"),
        row("a-threshold-of-zero", "threshold <t>", value("threshold", "0"), "malformed"),
        row("a-threshold-above-its-owners", "At least *t* of its own owners", value("threshold", "4"), "malformed"),
        row("a-leading-zero", "without leading zeros", value("threshold", "02"), "malformed"),
        row("a-plus-sign", "Numbers are ASCII decimals", value("threshold", "+2"), "malformed"),
        row("no-owner", "owner <public key> * 1 to 16", _with("owner", 0), "malformed"),
        row("seventeen-owners", "owner <public key> * 1 to 16", _with("owner", 17), "malformed", "limit"),
        row("no-log", "log <public key> * 1 to 4", _with("log", 0), "malformed"),
        row("sixteen-owners", "owner <public key> * 1 to 16", _more("owner", 13)),
        row("four-logs", "log <public key> * 1 to 4", _more("log", 3)),
        row("five-logs", "log <public key> * 1 to 4", _with("log", 5), "malformed", "limit"),
        row("it-expires-at-its-time", "it expires after its time", value("expires", "2026-03-01T12:00:00Z"), "malformed"),
        row("it-expires-before-its-time", "it expires after its time", value("expires", "2026-02-01T12:00:00Z"), "malformed"),
        row("a-date-that-is-none", "real dates only", value("expires", "2027-02-30T12:00:00Z"), "malformed"),
        row("a-time-with-a-zone", "Times are `YYYY-MM-DDTHH:MM:SSZ`", value("expires", "2027-02-01T12:00:00+00:00"), "malformed"),
        row("an-unknown-line", "unknown or duplicate lines", after("threshold", "color blue"), "malformed"),
        row("a-duplicate-line", "unknown or duplicate lines", after("threshold", "threshold 2"), "malformed"),
        row("a-line-at-the-end", "A parser refuses everything that is not described here", after("log", "note x"), "malformed"),
        row("a-trailing-space", "trailing whitespace", swap("threshold 2\n", "threshold 2 \n"), "malformed"),
        row("CR-LF", "lines end in LF", swap("threshold 2\n", "threshold 2\r\n"), "malformed"),
        row("owners-in-another-order", "sorted by their bytes", lambda t: _reordered(t, "owner"), "malformed"),
        row("an-owner-twice", "sorted by their bytes, without duplicates", lambda t: after("owner", _last(t, "owner"))(t), "malformed"),
        row("a-key-of-31-bytes", "Public keys are 32 raw bytes", value("log", "A" * 40 + "AA=="), "malformed"),
        row("a-key-without-padding", "Base64 is RFC 4648 §4, padded and canonical", lambda t: t.rstrip("=\n") + "\n", "malformed"),
        row("a-key-with-stray-bits", "padded and canonical", lambda t: t[:-3] + chr(ord(t[-3]) + 1) + "=\n", "malformed"),
        row("a-key-of-small-order", "Small-order and non-canonical keys", value("log", SMALL_ORDER), "malformed"),
        row("a-key-that-is-not-canonical", "Small-order and non-canonical keys", value("log", NOT_CANONICAL), "malformed"),
        row("a-security-key", "log <public key>", value("log", "sk-ssh-ed25519@openssh.com AAAA"), "malformed"),
        row("an-origin-in-capitals", "lower-case host-like text", value("origin", "Registry.example"), "malformed"),
    ],
    "refresh",
)  # fmt: skip


def _reordered(text: str, key: str) -> str:
    lines = text.splitlines(keepends=True)
    rows = [n for n, line in enumerate(lines) if line.startswith(f"{key} ")]
    lines[rows[0]], lines[rows[1]] = lines[rows[1]], lines[rows[0]]
    return "".join(lines)


def _last(text: str, key: str) -> str:
    return [line for line in text.splitlines() if line.startswith(f"{key} ")][-1]


@case("roots/next-is-not-UTF-8", COMMON, "Text is UTF-8 without BOM", "malformed")
def next_not_utf_8(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    registry.add_root()
    registry.publish()
    play.serve(registry, {"root/2": registry.files["root/2"] + b"\xff\n"})
    play.decisive("refresh")


def origin(name: str, text: str, *refuses: str) -> None:
    @case(f"roots/origin-{name}", COMMON, "at most 128 characters. It names the registry permanently", *refuses)
    def play_origin(play: Play) -> None:
        registry = Registry(origin=text)
        registry.add_root()
        registry.publish()
        play.serve(registry)
        play.decisive("init", fingerprint=registry.fingerprint)


origin("of-128-characters", "a" * 128)
origin("of-129-characters", "a" * 129, "malformed", "limit")
origin("with-a-port-and-a-path", "registry.example:8080/a/b_c")
origin("with-an-empty-segment", "registry.example//a", "malformed")
origin("with-an-exclamation-mark-at-its-end", "registry.example!", "malformed")
origin("that-begins-with-a-dot", ".example", "malformed")
origin("with-a-scheme", "https://registry.example", "malformed")
