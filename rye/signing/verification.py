"""The verdict on a file's signature line (DESIGN §4). Pure: bytes and keys in, a value out.

The checks, in this order:

1. Is there a line in the canonical place? no, or a placeholder: ``unsigned``; a broken one: ``malformed``
2. Does KEYID select a key that the user trusts, or has revoked? no: ``untrusted``
3. Is SIGNATURE that key's over the 64 characters of HASH? no: ``bad-signature``
4. Is the key revoked? ``revoked``, whatever the content
5. Is HASH that of every other character of the file? yes: ``valid``
6. Is HASH that of the part which older files of the kind cover (16-hex form only)? yes: ``partial``; no: ``modified``

Only ``valid`` means that nothing was changed. For ``partial``, ``coverage`` names what was signed; anyone can have
written the rest. No signature covers the date or ``|provider@username``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from rye.items.kinds import KINDS
from rye.signing.keys import PublicKey
from rye.signing.signature_line import Absent, Malformed, SignatureLine, content_hash, find, layout_of, text_of
from rye.text.frontmatter import frontmatter_end

Verdict = Literal[
    "valid", "partial", "modified", "bad-signature", "untrusted", "revoked", "unsigned", "malformed"
]  # fmt: skip
WHOLE = "whole file"


class Verification(Struct, frozen=True):
    """What is known about a file's signature. ``coverage`` is None unless the signed content was found."""

    verdict: Verdict
    detail: str
    key: PublicKey | None = None
    """The trusted or revoked key that made the signature; None if there is none."""
    coverage: str | None = None
    line: SignatureLine | None = None

    @property
    def ok(self) -> bool:
        """Whether the verdict is ``valid``; commands exit 1 for every other."""
        return self.verdict == "valid"

    @property
    def key_id(self) -> str | None:
        """The KEYID in the line; None without a line."""
        return self.line.key_id if self.line else None

    def as_json(self) -> dict[str, object]:
        """The signature's part of the JSON of ``rye verify`` (DESIGN §9), with fingerprint and attestation."""
        return {
            "verdict": self.verdict,
            "key": self.key_id,
            "fingerprint": self.key.fingerprint if self.key else None,
            "coverage": self.coverage,
            "detail": self.detail,
            "unauthenticated": self.line.attested if self.line else None,
        }


def verify(
    data: bytes, kind: str, file_name: str, trusted: Iterable[PublicKey], revoked: Iterable[PublicKey] = ()
) -> Verification:
    """Check a file's signature. ``file_name`` (path, name or suffix) selects the language if the kind has several.

    Raises what :func:`rye.signing.signature_line.layout_of` raises; no content of ``data`` raises.
    """
    layout = layout_of(kind, file_name)
    try:
        text = text_of(data)
    except UnicodeDecodeError as error:
        return Verification("malformed", f"The bytes are not UTF-8 (offset {error.start}).")
    found = find(text, layout)
    if isinstance(found, Malformed):
        return Verification("malformed", f"The signature line is malformed: {found.detail}.")
    if isinstance(found, Absent):
        return Verification("unsigned", _MISPLACED if found.misplaced else "The file has no signature line.")
    if found.line is None:
        return Verification("unsigned", "The signature line is a placeholder: the file was never signed.")
    return _judge(found.line, found.rest, kind, tuple(trusted), frozenset(revoked))


_MISPLACED = "A signature line is above the line that must be first, where it does not count. Sign the file again."


def _judge(
    line: SignatureLine, rest: str, kind: str, trusted: tuple[PublicKey, ...], revoked: frozenset[PublicKey]
) -> Verification:
    candidates = [key for key in dict.fromkeys((*trusted, *revoked)) if _selects(line, key)]
    if not candidates:
        return Verification("untrusted", f"No trusted key has the id {line.key_id}.", line=line)
    key = next((key for key in candidates if key.verifies(line.hash.encode("ascii"), line.signature)), None)
    if key is None:
        return Verification("bad-signature", f"The signature was not made by the key {line.key_id}.", line=line)
    if key in revoked:
        return Verification("revoked", f"The key {key.fingerprint} is revoked.", key, line=line)
    if content_hash(rest) == line.hash:
        detail = "Signed by a trusted key and unchanged since."
        return Verification("valid", detail, key, WHOLE, line)
    part = None if line.later_form else _older_part(rest, kind)
    if part is not None and content_hash(part[0]) == line.hash:
        detail = f"Only a part is signed ({part[1]}); everything else can be changed unnoticed."
        return Verification("partial", detail, key, part[1], line)
    return Verification("modified", "The content was changed after it was signed.", key, line=line)


def _selects(line: SignatureLine, key: PublicKey) -> bool:
    return line.key_id == (key.later_key_id if line.later_form else key.key_id)


def _older_part(rest: str, kind: str) -> tuple[str, str] | None:
    """Return the part of a file that older signatures of its kind cover, and its description; None if there is none."""
    part = KINDS[kind].older_part
    if part == "directive element":
        start, end = rest.find("<directive"), rest.rfind("</directive>")
        if 0 <= start < end:
            return rest[start : end + len("</directive>")].strip(), "from <directive to </directive>"
    if part == "below shebang" and rest.startswith("#!"):
        return rest.partition("\n")[2], "everything but the shebang line"
    if part == "below frontmatter":
        body = _below_frontmatter(rest)
        if body is not None:
            return body.strip(), "everything but the frontmatter"
    return None


def _below_frontmatter(text: str) -> str | None:
    """Return what follows the ``---`` line that ends the frontmatter; None if the text has no closed frontmatter."""
    lines = text.split("\n")
    end = frontmatter_end(lines)
    return None if end is None else "\n".join(lines[end:])
