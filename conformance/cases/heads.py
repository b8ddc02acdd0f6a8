"""The head: its signatures, its proof, its spelling, its age, and what it must not contradict."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from conformance.cases import case
from conformance.play import Play
from conformance.simulator.keys import Key, Signer, b64, flipped, high_s, note, text_of
from conformance.simulator.registry import Edit, Registry
from conformance.tables import after, swap, value, without

CLIENT, COMMON, INDEX = "protocol.md#what-a-client-does", "protocol.md#common-rules", "protocol.md#index-name-map-head"
SNAPSHOT = "statements.md#ryesnapshotv1"
SIGNED = "The checkpoint is signed by a log key of the root and has this origin."
LAST = "The snapshot is signed by a log key and is the last leaf, by its proof."
ENCODING = "so a head has exactly one encoding"
THREE = "Checkpoints are three lines (origin, size, root hash) and are also signed by the log key."


def head(name: str, page: str, quote: str, *refuses: str, lie: Callable[[Registry], None], first: bool = False) -> None:
    """A registry that was honest until now publishes a head with one lie; ``first``: at the first contact."""

    @case(f"heads/{name}", page, quote, *refuses)
    def play_head(play: Play) -> None:
        registry = Registry.fresh()
        play.start(registry)
        registry.wait(minutes=1)
        registry.fill(2)
        lie(registry)
        play.serve(registry)
        if first:
            play.newcomer()
            play.decisive("init", fingerprint=registry.fingerprint)
        else:
            play.decisive("refresh")


def published(**changes: object) -> Callable[[Registry], None]:
    return lambda registry: registry.publish(**changes)  # type: ignore[arg-type]


def members(**changes: Callable[[Any], object]) -> Callable[[Registry], None]:
    """Publish, then change members of the head without signing anything again."""

    def lie(registry: Registry) -> None:
        registry.publish()
        registry.set_head(**{name: change(registry.head.get(name)) for name, change in changes.items()})

    return lie


def text(edit: Callable[[str], str]) -> Callable[[Registry], None]:
    """Publish, then change the file's text."""

    def lie(registry: Registry) -> None:
        registry.publish()
        registry.files["head"] = edit(registry.files["head"].decode()).encode()

    return lie


def by(*signers: Signer) -> list[Signer]:
    return list(signers)


STRANGER = by(Signer("registry.example", Key("stranger")))
ELSEWHERE = by(Signer("other.example", Key("log 1")))

for at_first in (False, True):
    when = "-at-first-contact" if at_first else ""
    head(
        f"checkpoint-by-a-stranger{when}",
        CLIENT,
        SIGNED,
        "signature",
        lie=published(checkpoint_by=STRANGER),
        first=at_first,
    )
    head(
        f"snapshot-by-a-stranger{when}", CLIENT, LAST, "signature", lie=published(snapshot_by=STRANGER), first=at_first
    )
    head(f"snapshot-is-not-a-leaf{when}", CLIENT, LAST, "proof", lie=published(is_logged=False), first=at_first)
head("an-honest-one", CLIENT, SIGNED, lie=published())
head(
    "checkpoint-under-another-key-name",
    COMMON,
    "the origin for the log",
    "signature",
    lie=published(checkpoint_by=ELSEWHERE),
)
head(
    "snapshot-under-another-key-name",
    COMMON,
    "the origin for the log",
    "signature",
    lie=published(snapshot_by=ELSEWHERE),
)
head(
    "checkpoint-of-another-origin",
    CLIENT,
    SIGNED,
    "foreign",
    lie=published(checkpoint=swap("registry.example", "other.example")),
)
head(
    "snapshot-of-another-origin",
    CLIENT,
    "has this origin",
    "foreign",
    lie=published(snapshot=value("origin", "other.example")),
)
head(
    "snapshot-names-another-map",
    CLIENT,
    "its map is the head's",
    "mismatch",
    "foreign",
    "hash",
    lie=published(snapshot=value("map", "0" * 64)),
)
head(
    "head-names-another-map",
    CLIENT,
    "its map is the head's",
    "mismatch",
    "foreign",
    "hash",
    lie=members(map=lambda _: "0" * 64),
)
head(
    "checkpoint-has-a-fourth-line", SNAPSHOT, THREE, "malformed", lie=published(checkpoint=lambda t: t + "extension\n")
)
head(
    "checkpoint-has-two-lines",
    SNAPSHOT,
    THREE,
    "malformed",
    lie=published(checkpoint=lambda t: "".join(t.splitlines(True)[:2])),
)
head(
    "checkpoint-of-no-entries",
    INDEX,
    "at position size−1",
    "malformed",
    "proof",
    "rollback",
    lie=published(checkpoint=lambda t: "registry.example\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"),
)
head(
    "checkpoint-size-with-a-leading-zero",
    COMMON,
    "without leading zeros",
    "malformed",
    lie=published(checkpoint=lambda t: t.replace("\n", "\n0", 1)),
)
head(
    "checkpoint-hash-of-31-bytes",
    SNAPSHOT,
    THREE,
    "malformed",
    lie=published(checkpoint=lambda t: "\n".join([*t.split("\n")[:2], b64(bytes(31)), ""])),
)
head(
    "checkpoint-without-signatures",
    COMMON,
    "refuses everything that is not described here",
    "malformed",
    "signature",
    lie=members(checkpoint=lambda c: text_of(str(c)) + "\n"),
)
head(
    "checkpoint-with-a-wrong-signature",
    COMMON,
    "refuses the note if a known key's signature is wrong",
    "signature",
    lie=members(
        checkpoint=lambda c: (
            note(text_of(str(c))) + Signer("registry.example", Key("log 1")).line(text_of(str(c)), flipped)
        )
    ),
)
head(
    "checkpoint-with-a-high-S",
    COMMON,
    "signatures with a non-canonical S",
    "signature",
    lie=members(
        checkpoint=lambda c: (
            note(text_of(str(c))) + Signer("registry.example", Key("log 1")).line(text_of(str(c)), high_s)
        )
    ),
)
head(
    "checkpoint-with-a-short-signature",
    COMMON,
    "refuses the note if a known key's signature is wrong",
    "signature",
    "malformed",
    lie=members(
        checkpoint=lambda c: (
            note(text_of(str(c))) + Signer("registry.example", Key("log 1")).line(text_of(str(c)), lambda s: s[:63])
        )
    ),
)
head(
    "checkpoint-with-a-long-signature",
    COMMON,
    "refuses the note if a known key's signature is wrong",
    "signature",
    "malformed",
    lie=members(
        checkpoint=lambda c: (
            note(text_of(str(c))) + Signer("registry.example", Key("log 1")).line(text_of(str(c)), lambda s: s + b"\0")
        )
    ),
)
head(
    "checkpoint-signed-right-and-wrong",
    COMMON,
    "refuses the note if a known key's signature is wrong",
    "signature",
    lie=members(checkpoint=lambda c: str(c) + Signer("registry.example", Key("log 1")).line(text_of(str(c)), flipped)),
)
head(
    "checkpoint-signed-by-a-stranger-as-well",
    COMMON,
    "A verifier ignores signatures of unknown keys",
    lie=members(checkpoint=lambda c: str(c) + STRANGER[0].line(text_of(str(c)), flipped)),
)
head(
    "checkpoint-with-32-signature-lines",
    COMMON,
    "At most 32 signature lines.",
    lie=members(checkpoint=lambda c: str(c) + STRANGER[0].line("x\n") * 31),
)
head(
    "checkpoint-with-33-signature-lines",
    COMMON,
    "At most 32 signature lines.",
    "malformed",
    "limit",
    lie=members(checkpoint=lambda c: str(c) + STRANGER[0].line("x\n") * 32),
)
head(
    "signature-line-with-a-hyphen",
    COMMON,
    "refuses everything that is not described here",
    "malformed",
    lie=members(checkpoint=lambda c: str(c).replace("\N{EM DASH} ", "- ")),
)
head(
    "signature-without-padding",
    COMMON,
    "Base64 is RFC 4648 §4, padded and canonical",
    "malformed",
    lie=members(checkpoint=lambda c: str(c).rstrip("=\n") + "\n"),
)
head(
    "signature-shorter-than-its-key-id",
    COMMON,
    "The key ID is C2SP's",
    "malformed",
    lie=members(checkpoint=lambda c: str(c) + f"\N{EM DASH} a {b64(b'abcd')}\n"),
)
head(
    "key-name-with-a-plus",
    COMMON,
    "The key ID is C2SP's",
    "malformed",
    lie=members(checkpoint=lambda c: str(c) + f"\N{EM DASH} a+b {b64(b'abcdefgh')}\n"),
)
head(
    "note-without-an-empty-line",
    COMMON,
    "refuses everything that is not described here",
    "malformed",
    lie=members(checkpoint=lambda c: str(c).replace("\n\n", "\n")),
)
head(
    "note-without-LF-at-its-end", COMMON, "lines end in LF", "malformed", lie=members(checkpoint=lambda c: str(c)[:-1])
)
head(
    "note-with-CR-LF",
    COMMON,
    "lines end in LF",
    "malformed",
    lie=members(checkpoint=lambda c: str(c).replace("\n", "\r\n")),
)
head(
    "note-with-a-byte-order-mark",
    COMMON,
    "Text is UTF-8 without BOM",
    "malformed",
    "signature",
    "foreign",
    lie=members(checkpoint=lambda c: "\ufeff" + str(c)),
)
head(
    "note-with-a-tab",
    COMMON,
    "refuses everything that is not described here",
    "malformed",
    lie=members(checkpoint=lambda c: str(c) + "\N{EM DASH} a\t" + b64(b"abcdefgh") + "\n"),
)

head(
    "proof-with-a-hash-more",
    INDEX,
    "`proof` is the inclusion proof of the snapshot at position size−1",
    "proof",
    lie=members(proof=lambda p: [*p, b64(bytes(32))]),
)
head(
    "proof-with-a-hash-less",
    INDEX,
    "`proof` is the inclusion proof of the snapshot at position size−1",
    "proof",
    lie=members(proof=lambda p: p[:-1]),
)
head(
    "proof-with-another-hash",
    INDEX,
    "`proof` is the inclusion proof of the snapshot at position size−1",
    "proof",
    lie=members(proof=lambda p: [b64(bytes(32)), *p[1:]]),
)
head(
    "proof-in-another-order",
    INDEX,
    "`proof` is the inclusion proof of the snapshot at position size−1",
    "proof",
    lie=members(proof=lambda p: p[::-1]),
)
head(
    "proof-with-a-short-hash",
    INDEX,
    '"proof": [<base64 hash>…]',
    "malformed",
    lie=members(proof=lambda p: [*p[:-1], b64(bytes(31))]),
)
head("proof-that-is-no-list", INDEX, '"proof": [<base64 hash>…]', "malformed", lie=members(proof=lambda p: ""))

head("space-after-a-comma", INDEX, ENCODING, "malformed", lie=text(swap('","snapshot"', '", "snapshot"')))
head("without-LF", INDEX, "one LF ends the file", "malformed", lie=text(lambda t: t[:-1]))
head("with-two-LF", INDEX, "one LF ends the file", "malformed", lie=text(lambda t: t + "\n"))
head(
    "members-in-another-order",
    INDEX,
    "The members are in this order",
    "malformed",
    lie=text(
        lambda t: (
            json.dumps({"map": json.loads(t)["map"], **json.loads(t)}, separators=(",", ":"), ensure_ascii=False) + "\n"
        )
    ),
)
head(
    "an-unknown-member",
    COMMON,
    "refuses everything that is not described here",
    "malformed",
    lie=members(color=lambda _: "blue"),
)
head(
    "a-member-twice",
    INDEX,
    ENCODING,
    "malformed",
    lie=text(lambda t: t[:-2] + ',"map":"' + json.loads(t)["map"] + '"}\n'),
)
head(
    "a-member-missing",
    INDEX,
    "The members are in this order",
    "malformed",
    lie=text(lambda t: t[: t.index(',"map"')] + "}\n"),
)
head("escaped-letters", INDEX, ENCODING, "malformed", lie=text(swap("registry.example", "\\u0072egistry.example")))
head("no-JSON", INDEX, "**Head** (JSON, at most 128 kB", "malformed", lie=text(lambda t: "<html>\n"))
head("JSON-of-another-type", INDEX, "**Head** (JSON, at most 128 kB", "malformed", lie=text(lambda t: "[]\n"))
head("empty", INDEX, "**Head** (JSON, at most 128 kB", "malformed", lie=text(lambda t: ""))
head(
    "map-in-capitals", "protocol.md", "64 lower-case hex digits", "malformed", lie=members(map=lambda m: str(m).upper())
)
head(
    "larger-than-128-kB",
    INDEX,
    "at most 128 kB",
    "limit",
    "malformed",
    lie=text(lambda t: t[:-2] + " " * 140_000 + "}\n"),
)
head(
    "not-UTF-8",
    COMMON,
    "Text is UTF-8",
    "malformed",
    lie=lambda r: r.files.update({"head": r.files["head"].replace(b"registry", b"registr\xff", 1)}),
)


def snapshot(name: str, quote: str, *refuses: str, edit: Edit, page: str = SNAPSHOT) -> None:
    head(f"snapshot-{name}", page, quote, *refuses, lie=published(snapshot=edit))


snapshot("without-a-map", "map <sha256 of the root node of the name map>", "malformed", edit=without("map"))
snapshot(
    "of-protocol-1",
    "no client accepts it as the end of a tree",
    "malformed",
    "foreign",
    edit=lambda t: without("map")(t) + f"shards {b64(bytes(32))}\n",
)
snapshot("of-root-zero", "root <number of the root in force>", "malformed", "chain", edit=value("root", "0"))
snapshot(
    "with-an-unknown-line", "unknown or duplicate lines", "malformed", edit=after("root", "color blue"), page=COMMON
)
snapshot(
    "with-a-date-that-is-none", "real dates only", "malformed", edit=value("time", "2026-03-01T24:00:00Z"), page=COMMON
)
snapshot(
    "before-1970", "real dates only", "malformed", "rollback", edit=value("time", "1969-12-31T23:59:59Z"), page=COMMON
)
snapshot(
    "is-another-statement",
    "A snapshot is the last leaf of every tree that has a checkpoint",
    "foreign",
    "malformed",
    edit=lambda t: swap("rye.snapshot/v1", "rye.yank/v1")(t),
)


def with_line(line: str) -> Callable[[Registry], None]:
    """One more signature line at the checkpoint, of a key that nobody knows."""
    return members(checkpoint=lambda c: f"{c}{line}\n")


NAMED = "A key name has at most 256 characters, and neither spaces nor `+`"
UNKNOWN = b64(b"abcd" + bytes(64))
head("key-name-of-256-characters", COMMON, NAMED, lie=with_line(f"\N{EM DASH} {'a' * 256} {UNKNOWN}"))
head(
    "key-name-of-257-characters",
    COMMON,
    NAMED,
    "malformed",
    "limit",
    lie=with_line(f"\N{EM DASH} {'a' * 257} {UNKNOWN}"),
)
head(
    "key-name-with-a-control-character",
    COMMON,
    "refuses everything that is not described here",
    "malformed",
    lie=with_line(f"\N{EM DASH} a\x07b {UNKNOWN}"),
)
head("key-name-with-a-no-break-space", COMMON, NAMED, "malformed", lie=with_line(f"\N{EM DASH} a\xa0b {UNKNOWN}"))
head("signature-line-without-a-key-name", COMMON, NAMED, "malformed", lie=with_line(f"\N{EM DASH}  {UNKNOWN}"))
head(
    "signature-line-with-a-third-field",
    COMMON,
    "refuses everything that is not described here",
    "malformed",
    lie=with_line(f"\N{EM DASH} a {UNKNOWN} x"),
)
head(
    "signature-of-one-byte-of-a-stranger",
    COMMON,
    "A verifier ignores signatures of unknown keys",
    lie=with_line(f"\N{EM DASH} a {b64(b'abcde')}"),
)
head(
    "note-with-another-character-instead-of-its-last-LF",
    COMMON,
    "lines end in LF",
    "malformed",
    lie=members(checkpoint=lambda c: c[:-1] + "x"),
)


def audited(name: str, line: str, *refuses: str) -> None:
    """A checkpoint with a fourth line."""
    quote = "A fourth may follow: `rye-audit <size> <sha256>`"
    head(f"checkpoint-audit-{name}", SNAPSHOT, quote, *refuses, lie=published(checkpoint=lambda t: f"{t}{line}\n"))


audited("line", f"rye-audit 5 {'0' * 64}")
audited("line-of-no-events", f"rye-audit 0 {'0' * 64}")
audited("line-twice", f"rye-audit 5 {'0' * 64}\nrye-audit 5 {'0' * 64}", "malformed")
audited("line-without-a-hash", "rye-audit 5", "malformed")
audited("line-with-a-leading-zero", f"rye-audit 05 {'0' * 64}", "malformed")
audited("line-with-a-hash-in-capitals", f"rye-audit 5 {'A' * 64}", "malformed")
audited("line-with-a-field-more", f"rye-audit 5 {'0' * 64} x", "malformed")
audited("line-with-another-word", f"rye-events 5 {'0' * 64}", "malformed")
