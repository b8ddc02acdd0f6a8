"""The grammar of statements about items: releases, yanks, deprecations, advisories, takedowns."""

from __future__ import annotations

from conformance.cases import case
from conformance.play import Play
from conformance.simulator import items
from conformance.simulator.keys import Key, Signer, sha256
from conformance.simulator.registry import Edit, Registry
from conformance.tables import after, edited, row, swap, value, without

CLIENT, COMMON = "protocol.md#what-a-client-does", "protocol.md#common-rules"
RELEASE, YANK, DEPRECATION = "statements.md#ryereleasev1", "statements.md#ryeyankv1", "statements.md#ryedeprecationv1"
ADVISORY, TAKEDOWN, OWNERS = (
    "statements.md#ryeadvisoryv1",
    "statements.md#ryetakedownv1",
    "statements.md#which-owners-count",
)
STATEMENTS = "statements.md"
PDF = "skill:acme/pdf"
OF = {"names": [PDF]}
STRANGER = [Signer("registry.example/acme", Key("stranger"))]


def release(registry: Registry, edit: Edit) -> None:
    registry.release(edit=edit)
    registry.publish()


def relation(text: str) -> Edit:
    return after("file", text)


edited(
    "releases/grammar", RELEASE, release,
    [
        row("no-description", "in exactly the order below", without("description"), "malformed"),
        row("an-empty-description", "is not empty, in NFC", value("description", ""), "malformed"),
        row("a-description-of-300-characters", "at most 300 characters", value("description", "x" * 300)),
        row("a-description-of-301-characters", "at most 300 characters", value("description", "x" * 301), "malformed", "limit"),
        row("a-description-of-300-letters-of-two-bytes", "at most 300 characters", value("description", "ü" * 300)),
        row("a-description-with-a-space-at-its-end", "without white space at its ends", value("description", "x "), "malformed"),
        row("a-description-not-in-NFC", "in NFC", value("description", "u\u0308ber"), "malformed"),
        row("a-description-with-a-bidi-control", "bidi controls", value("description", "a\u202eb"), "malformed"),
        row("a-description-with-a-zero-width-space", "default-ignorable", value("description", "a\u200bb"), "malformed"),
        row("a-description-with-a-private-use-character", "private-use code points", value("description", "a\ue000b"), "malformed"),
        row("a-description-with-U+2028", "U+2028", value("description", "a\u2028b"), "malformed"),
        row("a-description-with-U+0085", "controls", value("description", "a\u0085b"), "malformed"),
        row("a-version-with-build-metadata", "SemVer 2, without build metadata", value("version", "1.0.0+1"), "malformed"),
        row("a-version-of-two-numbers", "SemVer 2, without build metadata", value("version", "1.0"), "malformed"),
        row("a-version-with-a-leading-zero", "SemVer 2, without build metadata", value("version", "01.0.0"), "malformed"),
        row("a-pre-release-with-a-leading-zero", "SemVer 2, without build metadata", value("version", "1.0.0-01"), "malformed"),
        row("a-pre-release", "SemVer 2, without build metadata", value("version", "1.0.0-rc.1")),
        row("a-version-with-a-v", "SemVer 2, without build metadata", value("version", "v1.0.0"), "malformed"),
        row("a-version-of-more-than-256-characters", "**Versions** have at most 256 characters", value("version", "1.0.0-" + "a" * 251), "malformed", "limit"),
        row("a-keyset-of-zero", "keyset <n>", value("keyset", "0"), "malformed"),
        row("a-time-without-Z", "Times are `YYYY-MM-DDTHH:MM:SSZ`", value("time", "2026-03-01T12:00:00"), "malformed"),
        row("the-29th-of-February-2026", "real dates only", value("time", "2026-02-29T12:00:00Z"), "malformed"),
        row("a-file-of-another-kind", "with the ending of its name", swap("file SKILL.md", "file .md"), "malformed", "mismatch"),
        row("a-file-without-a-hash", "file <suffix> <size> <sha256>", value("file", "SKILL.md 10"), "malformed"),
        row("a-file-with-a-fourth-field", "file <suffix> <size> <sha256>", value("file", f"SKILL.md 10 {'0' * 64} x"), "malformed"),
        row("a-file-of-negative-size", "file <suffix> <size> <sha256>", value("file", f"SKILL.md -1 {'0' * 64}"), "malformed"),
        row("two-files", "unknown or duplicate lines", after("file", f"file SKILL.md 10 {'0' * 64}"), "malformed"),
        row("an-unknown-kind", "**Kinds**", value("id", "spell:acme/pdf"), "malformed", "foreign"),
        row("an-id-of-one-segment", "A qualified id has 2 to 16 segments", value("id", "skill:acme"), "malformed", "foreign"),
        row("an-id-of-17-segments", "A qualified id has 2 to 16 segments", value("id", "tool:acme" + "/x" * 16), "malformed", "foreign"),
        row("an-id-in-capitals", "segments `[a-z0-9][a-z0-9_-]{0,63}`", value("id", "skill:acme/Pdf"), "malformed", "foreign"),
        row("an-id-with-a-device-name", "no Windows device name among them", value("id", "skill:acme/con"), "malformed", "foreign"),
        row("another-id", "id <kind>:<qualified id>", value("id", "skill:acme/other"), "foreign"),
        row("another-origin", "origin <origin>", value("origin", "other.example"), "foreign"),
        row("an-origin-of-more-than-128-characters", "at most 128 characters", value("origin", "a" * 129), "malformed", "foreign", "limit"),
        row("an-unknown-relation", "unknown or duplicate lines", relation("suggests acme/x skill:acme/x *"), "malformed"),
        row("a-relation-without-a-range", "depends_on <reference as written> <identity or -> <range>", relation("depends_on acme/x skill:acme/x"), "malformed"),
        row("a-range-that-is-none", "must parse", relation("depends_on acme/x skill:acme/x >>1"), "malformed"),
        row("a-range-with-two-spaces", "printable ASCII with single spaces", relation("depends_on acme/x skill:acme/x >=1  <2"), "malformed"),
        row("a-dependency-on-the-environment", "or `-` for a feature of the environment (only in `requires`)", relation("depends_on acme/x - *"), "malformed"),
        row("a-conflict-with-the-environment", "or `-` for a feature of the environment (only in `requires`)", relation("conflicts_with acme/x - *"), "malformed"),
        row("relations-in-another-order", "in exactly the order below", relation("requires acme/x skill:acme/x *\ndepends_on acme/x skill:acme/x *"), "malformed"),
        row("the-same-relation-twice", "without duplicates", relation("depends_on acme/x skill:acme/x *\ndepends_on acme/x skill:acme/x *"), "malformed"),
        row("relations-not-sorted", "sorted by their bytes", relation("depends_on acme/y skill:acme/y *\ndepends_on acme/x skill:acme/x *"), "malformed"),
        row("a-capability-with-a-space", "A capability is `rye.` and 1 to 1,000 characters of printable ASCII", after("file", "capability rye.x y"), "malformed"),
        row("a-capability-that-is-none", "A capability is `rye.` and 1 to 1,000 characters of printable ASCII", after("file", "capability !"), "malformed"),
        row("a-hook-without-an-id", "hook <directive, tool or knowledge> <item id>", after("file", "hook tool"), "malformed"),
        row("a-hook-of-an-unknown-type", "hook <directive, tool or knowledge> <item id>", after("file", "hook spell acme/x"), "malformed"),
        row("a-note-of-more-than-60000-bytes", "no signed note longer than 60,000 bytes", after("file", "\n".join(sorted(f"capability rye.x{n:05}.{'a' * 100}" for n in range(600)))), "malformed", "limit"),
    ],
    members=OF,
)  # fmt: skip


def _attached(path: str, flag: str = "-") -> Edit:
    return after("file", f"attached {path} 4 {sha256('text')} {flag}")


def _attach(registry: Registry, edit: Edit) -> None:
    registry.release(edit=edit)
    registry.publish()


FILES = "Paths are relative, segments `[A-Za-z0-9_][A-Za-z0-9._-]*` joined by `/`, at most 200 characters."
UNIQUE = "No two are equal when case is ignored, none is below another, none is `SKILL.md`, and no segment ends in a dot or is a Windows device"
edited(
    "releases/attached", RELEASE, _attach,
    [
        row("a-file", FILES, _attached("scripts/run.sh", "x")),
        row("a-file-that-begins-with-an-underscore", FILES, _attached("_x.md")),
        row("an-absolute-path", FILES, _attached("/etc/passwd"), "malformed"),
        row("a-path-upwards", FILES, _attached("../x"), "malformed"),
        row("a-path-with-a-dot-segment", FILES, _attached("a/./b"), "malformed"),
        row("a-hidden-file", FILES, _attached(".bashrc"), "malformed"),
        row("a-path-with-a-backslash", FILES, _attached("a\\b"), "malformed"),
        row("a-path-with-an-empty-segment", FILES, _attached("a//b"), "malformed"),
        row("a-folder", FILES, _attached("a/"), "malformed"),
        row("a-path-of-201-characters", FILES, _attached("a" * 201), "malformed", "limit"),
        row("a-path-of-200-characters", FILES, _attached("a" * 200)),
        row("a-device", UNIQUE, _attached("nul"), "malformed"),
        row("a-device-with-two-suffixes", UNIQUE, _attached("nul.tar.gz"), "malformed"),
        row("a-path-below-another-in-a-folder", UNIQUE, lambda t: after("file", f"attached a/b 4 {sha256('x')} -\nattached a/b/c 4 {sha256('x')} -")(t), "malformed", "mismatch"),
        row("a-device-with-a-suffix", UNIQUE, _attached("a/COM1.txt"), "malformed"),
        row("a-segment-that-ends-in-a-dot", UNIQUE, _attached("a./b"), "malformed"),
        row("the-skills-own-file", UNIQUE, _attached("SKILL.md"), "malformed", "mismatch"),
        row("the-skills-own-file-in-small-letters", UNIQUE, _attached("skill.md"), "malformed", "mismatch"),
        row("the-same-path-in-another-case", UNIQUE, lambda t: after("file", f"attached A 4 {sha256('x')} -\nattached a 4 {sha256('x')} -")(t), "malformed", "mismatch"),
        row("a-path-below-another", UNIQUE, lambda t: after("file", f"attached a 4 {sha256('x')} -\nattached a/b 4 {sha256('x')} -")(t), "malformed", "mismatch"),
        row("a-path-below-another-in-another-case", UNIQUE, lambda t: after("file", f"attached A/b 4 {sha256('x')} -\nattached a 4 {sha256('x')} -")(t), "malformed", "mismatch"),
        row("an-unknown-flag", "attached <path> <size> <sha256> <x or ->", _attached("a", "w"), "malformed"),
        row("not-sorted", "sorted by their bytes", lambda t: after("file", f"attached b 4 {sha256('x')} -\nattached a 4 {sha256('x')} -")(t), "malformed"),
    ],
    members=OF,
)  # fmt: skip


def note_of(size: int) -> Edit:
    """Capabilities that make the signed note exactly as large."""

    def edit(text: str) -> str:
        signature = len(STRANGER[0].line(text).encode())
        missing = size - len(text.encode()) - 1 - signature
        each = len("capability rye.x00000.") + 1
        count = missing // (each + 400)
        sizes = [400] * count
        sizes[-1] += missing - count * (each + 400)
        rows = [f"capability rye.x{number:05}.{'a' * length}" for number, length in enumerate(sizes)]
        return after("file", "\n".join(rows))(text)

    return edit


edited(
    "releases/size",
    STATEMENTS,
    release,
    [
        row("a-note-of-60000-bytes", "no signed note longer than 60,000 bytes", note_of(60_000)),
        row("a-note-of-60001-bytes", "no signed note longer than 60,000 bytes", note_of(60_001), "malformed", "limit"),
    ],
    members=OF,
)


@case("releases/attached-to-a-tool", RELEASE, "`attached` are a skill's other files", "malformed", "mismatch")
def attached_to_a_tool(play: Play) -> None:
    registry = Registry.fresh()
    data = items.with_line("print(1)\n", "x").encode()
    registry.release("tool:acme/tools/x", data=data, suffix=".py")
    registry.publish()
    play.start(registry)
    play.good("resolve", names=["tool:acme/tools/x"])
    registry.release("tool:acme/tools/y", data=data, suffix=".py", attached={"a": (b"text", "-")})
    registry.publish()
    play.serve(registry)
    play.decisive("resolve", names=["tool:acme/tools/y"])
