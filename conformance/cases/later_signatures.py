"""The later form of signature lines, and lines that are nearly right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.cases.items import MARKDOWN, A, B, broken, build, file
from conformance.simulator import items
from conformance.simulator.keys import sha256

LATER = "A line with a KEYID of 64 digits (SHA-256 over the raw key) also counts"
OLD = sha256(A.raw)


def later(
    name: str, *refuses: str, change: Callable[[str], str] = lambda t: t, marker: str = "rye", **how: Any
) -> None:
    def data() -> bytes:
        return change(build(MARKDOWN, marker=marker, key_id=OLD, **how).decode()).encode()

    file(f"later-form-{name}", LATER, *refuses, data=data, kind="directive", path="x.md")


def padless(text: str) -> str:
    return text.replace("==:", ":")


def standard(text: str) -> str:
    """Its signature in the other alphabet of base64."""
    line_, _, rest = text.partition("\n")
    fields = line_.split(":")
    fields[6] = fields[6].replace("-", "+").replace("_", "/")
    return ":".join(fields) + "\n" + rest


later("as-it-is")
later("with-the-later-marker", marker="ryeos")
later("without-padding", change=padless)
later("in-ordinary-base64", change=standard)
later("of-a-security-keys-length", "malformed", damage=lambda s: s + bytes(5))
later("with-an-ID-of-63-digits", "malformed", change=lambda t: t.replace(OLD, OLD[:63]))
later("of-another-key", "signature", change=lambda t: t.replace(OLD, sha256(B.raw)))
later("changed", "hash", change=lambda t: t + "more\n")
file(
    "later-form-above-frontmatter",
    "also on line 1 above a first line `---`",
    data=lambda: f"<!-- {items.signature_line(items.skill(), A, key_id=OLD)} -->\n{items.skill()}".encode(),
)
file(
    "later-form-above-frontmatter-as-a-YAML-comment",
    "also on line 1 above a first line `---`",
    data=lambda: f"# {items.signature_line(items.skill(), A, key_id=OLD)}\n{items.skill()}".encode(),
)
file(
    "broken-line-above-frontmatter",
    "What begins like a signature line at the canonical place",
    "malformed",
    data=lambda: f"<!-- rye:signed:x -->\n{items.skill()}".encode(),
)
file(
    "later-form-above-a-shebang",
    "below a shebang",
    "unsigned",
    "malformed",
    data=lambda: build("#!/bin/sh\ntrue\n", "# {}", key_id=OLD),
    kind="tool",
    path="x.sh",
)
file(
    "shell-that-begins-with-dashes",
    "In code it is line 1",
    data=lambda: build("---\ntrue\n", "# {}"),
    kind="tool",
    path="x.sh",
)
file(
    "byte-order-mark-and-a-placeholder",
    "A byte order mark before a signature line makes it malformed",
    "unsigned",
    "malformed",
    data=lambda: b"\xef\xbb\xbf<!-- rye:signed:2026-01-01T00:00:00Z:placeholder:unsigned:unsigned -->\n# x\n",
    kind="directive",
    path="x.md",
)
file(
    "byte-order-mark-and-a-broken-line",
    "A byte order mark before a signature line makes it malformed",
    "malformed",
    data=lambda: b"\xef\xbb\xbf<!-- rye:signed:x -->\n# x\n",
    kind="directive",
    path="x.md",
)
broken(
    "with-a-hash-of-65-digits",
    "HASH is SHA-256 in lower-case hex",
    lambda t: t.replace(sha256(MARKDOWN), sha256(MARKDOWN) + "0"),
)
broken(
    "with-a-key-id-of-17-digits",
    "KEYID is the first 16 hex digits",
    lambda t: t.replace(A.item_key_id, A.item_key_id + "0"),
)
broken(
    "with-a-name-that-has-a-space",
    "A suffix `|provider@user` proves nothing",
    lambda t: t.replace(A.item_key_id, A.item_key_id + "|a@b c"),
)
broken(
    "with-a-signature-of-96-characters", "padded base64url (88 characters)", lambda t: t.replace("==:", "AAAAAAAAAA:")
)
broken("with-a-signature-of-88-letters", "padded base64url (88 characters)", lambda t: t.replace("==:", "AA:"))
