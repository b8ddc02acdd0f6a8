"""The files of releases: hashes, and signatures in files; signatures of single files."""

from __future__ import annotations

import base64
from collections.abc import Callable

from conformance.cases import case
from conformance.play import Play
from conformance.simulator import items
from conformance.simulator.keys import HardwareKey, Key, flipped, high_s, sha256
from conformance.simulator.registry import Registry, blob_path
from conformance.simulator.server import Answer
from conformance.tables import swap

CLIENT, RELEASE, SIGNATURES = "protocol.md#what-a-client-does", "statements.md#ryereleasev1", "item-signatures.md"
PDF, DIRECTIVE = "skill:acme/pdf", "directive:acme/tools/build"
A, B = Key("acme 1"), Key("acme 2")
BLOBS = "blobs have their hash and size"
IN_FILE = "the in-file signature is by a key of the keyset"
DERIVED = (
    "A client derives relations, capabilities and hooks again from the item's bytes, and a note that differs is fatal."
)


def fetched(
    name: str,
    page: str,
    quote: str,
    *refuses: str,
    item: str = PDF,
    needs: tuple[str, ...] = (),
    publish: Callable[[Registry], object],
    changes: Callable[[Registry], dict[str, bytes | Answer | None]] = lambda r: {},
    files: dict[str, bytes] | None = None,
) -> None:
    """A release is fetched, next to an honest one that is the control."""

    @case(f"items/{name}", page, quote, *refuses, needs=needs)
    def play_fetched(play: Play) -> None:
        registry = Registry.fresh()
        registry.release("skill:acme/control")
        publish(registry)
        registry.publish()
        play.start(registry)
        play.good("fetch", item="skill:acme/control", version="1.0.0")
        play.serve(registry, changes(registry))
        reply = play.decisive("fetch", item=item, version="1.0.0")
        if files is not None:
            play.expect("the files", reply["files"], {path: sha256(data) for path, data in files.items()})


PLAIN = items.signed(items.skill(), A)
fetched("a-skill", CLIENT, BLOBS, publish=lambda r: r.release(), files={"SKILL.md": PLAIN})
ATTACHED = {"scripts/run.sh": (b"#!/bin/sh\n", "x"), "notes.txt": (b"", "-")}
fetched(
    "a-skill-with-files",
    RELEASE,
    "`attached` are a skill's other files, `x` if executable",
    publish=lambda r: r.release(attached=ATTACHED),
    files={"SKILL.md": PLAIN, **{path: data for path, (data, _) in ATTACHED.items()}},
)
fetched(
    "a-version-that-does-not-exist",
    CLIENT,
    "A name that the map proves absent does not exist.",
    "not-found",
    publish=lambda r: r.release(version="2.0.0"),
)
fetched(
    "an-item-that-does-not-exist",
    CLIENT,
    "A name that the map proves absent does not exist.",
    "not-found",
    publish=lambda r: None,
)


def blob(name: str, *refuses: str, change: Callable[[bytes], bytes | Answer | None]) -> None:
    """Each blob of the release, changed by a mirror."""
    honest = {sha256(items.signed(items.skill("control"), A))}
    fetched(
        f"blob-{name}",
        CLIENT,
        BLOBS,
        *refuses,
        publish=lambda r: r.release(attached=ATTACHED),
        changes=lambda r: {blob_path(key): change(data) for key, data in r.blobs.items() if key not in honest},
    )


blob("changed", "hash", change=lambda d: flipped(d) if d else b"x")
blob("cut-off", "hash", change=lambda d: d[:-1] if d else b"x")
blob("longer", "hash", "limit", change=lambda d: d + b"\n")
blob("empty", "hash", change=lambda d: b"" if d else b"x")
blob("missing", "unavailable", change=lambda d: None)
blob("of-an-attached-file-changed", "hash", change=lambda d: d if d == PLAIN else d + b"x")
blob("of-an-attached-file-changed-in-one-bit", "hash", change=lambda d: flipped(d) if d.startswith(b"#!") else d)
blob("with-a-server-error", "unavailable", change=lambda d: Answer(500))
blob("withdrawn", "unavailable", "withdrawn", change=lambda d: Answer(451))
fetched(
    "a-release-that-names-another-size",
    CLIENT,
    BLOBS,
    "hash",
    "limit",
    publish=lambda r: r.release(edit=lambda t: t.replace(f"SKILL.md {len(PLAIN)}", f"SKILL.md {len(PLAIN) - 1}")),
)
fetched(
    "a-release-that-names-another-hash",
    CLIENT,
    BLOBS,
    "unavailable",
    publish=lambda r: r.release(edit=lambda t: t.replace(sha256(PLAIN), sha256("other"))),
)
fetched(
    "a-file-that-is-too-large",
    "protocol.md#limits",
    "an item's file or an attached file",
    "limit",
    publish=lambda r: r.release(edit=lambda t: t.replace(f"SKILL.md {len(PLAIN)}", "SKILL.md 4194305")),
)


def in_file(
    name: str,
    quote: str,
    *refuses: str,
    page: str = CLIENT,
    data: Callable[[], bytes],
    needs: tuple[str, ...] = (),
    before: Callable[[Registry], object] = lambda r: None,
) -> None:
    """A release of these bytes, whose note is honest."""

    def publish(registry: Registry) -> None:
        before(registry)
        registry.release(data=data())

    fetched(f"file-{name}", page, quote, *refuses, publish=publish, needs=needs)


def line(rest: str = "", key: Key = A, **how: object) -> str:
    return items.signature_line(rest or items.skill(), key, **how)  # type: ignore[arg-type]


PLACE = "It is at its canonical place"
in_file("signed-by-a-stranger", IN_FILE, "signature", data=lambda: items.signed(items.skill(), B))
in_file(
    "signed-by-another-key-of-the-keyset",
    IN_FILE,
    data=lambda: items.signed(items.skill(), B),
    before=lambda r: r.claim("acme", A, B),
)
in_file("without-a-signature", IN_FILE, "unsigned", "signature", data=lambda: items.skill().encode())
in_file(
    "with-a-placeholder",
    "placeholder:unsigned:unsigned",
    "unsigned",
    "signature",
    page=SIGNATURES,
    data=lambda: items.with_line(
        items.skill(), "rye:signed:2026-01-01T00:00:00Z:placeholder:unsigned:unsigned"
    ).encode(),
)
in_file("changed-after-it-was-signed", IN_FILE, "hash", "signature", data=lambda: PLAIN.replace(b"Fill in", b"Steal"))
in_file(
    "with-a-wrong-signature",
    IN_FILE,
    "signature",
    data=lambda: items.with_line(items.skill(), line(damage=flipped)).encode(),
)
in_file(
    "with-a-high-S",
    "signatures with a non-canonical S",
    "signature",
    page="protocol.md#common-rules",
    data=lambda: items.with_line(items.skill(), line(damage=high_s)).encode(),
)
in_file(
    "with-the-signature-at-the-end",
    PLACE,
    "unsigned",
    "signature",
    page=SIGNATURES,
    data=lambda: (items.skill() + f"<!-- {line()} -->\n").encode(),
)
in_file(
    "by-a-key-that-left-the-keyset",
    IN_FILE,
    "signature",
    data=lambda: items.signed(items.skill(), A),
    before=lambda r: (r.claim("acme", B, by=r.by("acme", A, B)), None)[1],
)
in_file(
    "by-an-ordinary-key-where-hardware-is-required",
    "and in the signature lines of items",
    "signature",
    page="statements.md#ryekeysetv1",
    needs=("security-keys",),
    data=lambda: items.signed(items.skill(), A),
    before=lambda r: r.claim(
        "acme", HardwareKey("acme hardware"), A, require="hardware", by=r.by("acme", A, HardwareKey("acme hardware"))
    ),
)
in_file(
    "by-a-security-key",
    "SIGNATURE is base64url of the 69 bytes",
    page="statements.md#signatures-of-security-keys",
    needs=("security-keys",),
    data=lambda: items.signed(items.skill(), HardwareKey("acme hardware")),
    before=lambda r: r.claim("acme", HardwareKey("acme hardware"), A, by=r.by("acme", A, HardwareKey("acme hardware"))),
)

# Single files


def file(
    name: str,
    quote: str,
    *refuses: str,
    data: Callable[[], bytes],
    kind: str = "skill",
    path: str = "SKILL.md",
    keys: tuple[Key, ...] = (A,),
    signer: Key = A,
    page: str = SIGNATURES,
    needs: tuple[str, ...] = (),
) -> None:
    """``verify`` of one file, without any registry."""

    @case(f"files/{name}", page, quote, *refuses, needs=needs)
    def play_file(play: Play) -> None:
        encoded = base64.b64encode(data()).decode()
        play.now = "2026-03-01T12:00:00Z"
        found = play.decisive(
            "verify", file={"kind": kind, "name": path, "data": encoded}, keys=[key.line for key in keys]
        )
        if not refuses:
            play.expect("the key", found["key"], signer.line)


MARKDOWN = "# Build\n\nDo the work.\n"
CODE = '"""A tool."""\nprint("hello")\n'


def build(rest: str, comment: str = "<!-- {} -->", above: str = "", **how: object) -> bytes:
    """A file of parts: a first line that stays first, the signature in a comment, and the rest."""
    return (above + comment.format(items.signature_line(above + rest, A, **how)) + "\n" + rest).encode()  # type: ignore[arg-type]


ONE = "In Markdown, the line is line 1"
file("markdown", ONE, data=lambda: build(MARKDOWN), kind="directive", path="x.md")
file("frontmatter", "line 2 of a file that begins with `---`", data=lambda: PLAIN)
file(
    "frontmatter-signed-on-line-1",
    "line 2 of a file that begins with `---`",
    "unsigned",
    data=lambda: build(items.skill()),
)
file("python", "`#` in py, sh, yaml, toml", data=lambda: build(CODE, "# {}"), kind="tool", path="x.py")
file(
    "python-with-a-shebang",
    "below a shebang",
    data=lambda: build(CODE, "# {}", "#!/usr/bin/env python3\n"),
    kind="tool",
    path="x.py",
)
file(
    "python-above-its-shebang",
    "below a shebang",
    "unsigned",
    "malformed",
    data=lambda: build("#!/usr/bin/env python3\n" + CODE, "# {}"),
    kind="tool",
    path="x.py",
)
file("javascript", "`//` in js and ts", data=lambda: build("run()\n", "// {}"), kind="tool", path="x.js")
file(
    "javascript-with-a-hash",
    "`//` in js and ts",
    "malformed",
    data=lambda: build("run()\n", "# {}"),
    kind="tool",
    path="x.js",
)
file(
    "toml",
    "`#` in py, sh, yaml, toml",
    data=lambda: build('formula = "x"\n', "# {}"),
    kind="formula",
    path="x.formula.toml",
)
file("with-CR-LF", "CR LF counts as LF", data=lambda: PLAIN.replace(b"\n", b"\r\n"))
file(
    "with-a-lone-CR",
    "a lone CR is a character like any other",
    "hash",
    data=lambda: PLAIN.replace(b"Fill in", b"Fill\rin"),
)
file(
    "with-a-byte-order-mark",
    "A byte order mark before a signature line makes it malformed",
    "malformed",
    data=lambda: b"\xef\xbb\xbf" + PLAIN,
)
file("not-UTF-8", "Files are UTF-8", "malformed", data=lambda: PLAIN + b"\xff")
file("changed", "The hash is of every other character of the file", "hash", data=lambda: PLAIN + b"more\n")
file(
    "changed-above-the-line",
    "The hash is of every other character of the file",
    "hash",
    data=lambda: build(CODE, "# {}", "#!/usr/bin/env python3\n").replace(b"python3", b"python2"),
    kind="tool",
    path="x.py",
)
file("without-LF-at-its-end", "The hash is of every other character of the file", "hash", data=lambda: PLAIN[:-1])
file(
    "unsigned",
    "A file without the line is unsigned",
    "unsigned",
    data=lambda: MARKDOWN.encode(),
    kind="directive",
    path="x.md",
)
file("empty", "A file without the line is unsigned", "unsigned", data=lambda: b"", kind="directive", path="x.md")
file(
    "placeholder",
    "placeholder:unsigned:unsigned",
    "unsigned",
    data=lambda: b"<!-- rye:signed:2026-01-01T00:00:00Z:placeholder:unsigned:unsigned -->\n# x\n",
    kind="directive",
    path="x.md",
)
file("by-a-stranger", "KEYID selects the key", "signature", data=lambda: items.signed(items.skill(), B))
file(
    "by-the-second-of-two-keys",
    "KEYID selects the key",
    data=lambda: items.signed(items.skill(), B),
    keys=(A, B),
    signer=B,
)
file("with-no-keys", "KEYID selects the key", "signature", data=lambda: PLAIN, keys=())
file(
    "with-a-flipped-bit-in-its-signature",
    "SIGNATURE is over the 64 characters of HASH",
    "signature",
    data=lambda: build(MARKDOWN, damage=flipped),
    kind="directive",
    path="x.md",
)
file(
    "with-a-high-S",
    "signatures with a non-canonical S",
    "signature",
    page="protocol.md#common-rules",
    data=lambda: build(MARKDOWN, damage=high_s),
    kind="directive",
    path="x.md",
)


def broken(name: str, quote: str, change: Callable[[str], str], *refuses: str) -> None:
    file(
        f"line-{name}",
        quote,
        *(() if refuses == ("accepted",) else refuses or ("malformed",)),
        data=lambda: change(build(MARKDOWN).decode()).encode(),
        kind="directive",
        path="x.md",
    )


def _upper_hash(text: str) -> str:
    digest = sha256(MARKDOWN)
    return text.replace(digest, digest.upper())


def _ordinary_base64(text: str) -> str:
    first, _, rest = text.partition("\n")
    fields = first.split(":")
    body = fields[6]
    fields[6] = "+/" + body[2:]
    return ":".join(fields) + "\n" + rest


EXACT = "The line is exact to the character"
broken("with-text-after-it", EXACT, swap(" -->", " --> x"))
broken("with-two-spaces", EXACT, swap("<!-- rye", "<!--  rye"))
broken("in-capitals", EXACT, swap("rye:signed", "RYE:signed"))
broken("of-an-impossible-date", "a real date", swap("2026-01-01T", "2026-02-30T"))
broken("with-a-hash-in-capitals", "HASH is SHA-256 in lower-case hex", _upper_hash)
broken(
    "with-a-short-key-id", "KEYID is the first 16 hex digits", lambda t: t.replace(A.item_key_id, A.item_key_id[:15])
)
broken("with-an-unpadded-signature", "padded base64url", swap("==:", ":"))
broken("in-ordinary-base64", "padded base64url", _ordinary_base64)
broken("with-a-field-more", EXACT, swap("rye:signed:", "rye:signed:x:"))
broken(
    "with-an-unauthenticated-name",
    "A suffix `|provider@user` proves nothing",
    lambda t: t.replace(A.item_key_id, A.item_key_id + "|github@someone"),
    "accepted",
)
broken("with-the-later-marker", "`ryeos:signed` with 16 digits", swap("rye:signed", "ryeos:signed"))
broken("with-a-space-before-it", EXACT, lambda t: " " + t)
broken("that-is-the-whole-file-without-LF", EXACT, lambda t: t.splitlines()[0])


MANY = "and an item has at most 200 attached files of 8 MiB together"
fetched(
    "200-attached-files",
    "protocol.md#limits",
    MANY,
    publish=lambda r: r.release(attached={f"f{n:03}": (b"x", "-") for n in range(200)}),
)
fetched(
    "201-attached-files",
    "protocol.md#limits",
    MANY,
    "limit",
    "malformed",
    publish=lambda r: r.release(attached={f"f{n:03}": (b"x", "-") for n in range(201)}),
)
fetched(
    "attached-files-of-8-MiB",
    "protocol.md#limits",
    MANY,
    publish=lambda r: r.release(attached={f"f{n}": (bytes([97 + n]) * 2 * 1024**2, "-") for n in range(4)}),
)
fetched(
    "attached-files-of-more-than-8-MiB",
    "protocol.md#limits",
    MANY,
    "limit",
    publish=lambda r: r.release(
        attached={**{f"f{n}": (bytes([97 + n]) * 2 * 1024**2, "-") for n in range(4)}, "g": (b"x", "-")}
    ),
)
