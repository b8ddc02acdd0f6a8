"""The signature line: its form, its place, and what it covers (DESIGN §4). Pure; no keys, no cryptography.

::

    <!-- rye:signed:TIMESTAMP:HASH:SIGNATURE:KEYID -->          current form, 16-hex KEYID
    <!-- rye:signed:TIMESTAMP:placeholder:unsigned:unsigned --> placeholder: the file is not signed
    <!-- ryeos:signed:TIMESTAMP:HASH:SIGNATURE:KEYID -->        later form, 64-hex KEYID, read only

Each file has **one canonical place**. It follows from the file without the line:

=============================  ==========================  ===========================================
File                           First line stays first      Comment
=============================  ==========================  ===========================================
Markdown                       no: line 1                  ``<!-- … -->``
Markdown that opens ``---``    yes: line 2                 ``# …`` (it is inside the YAML)
``py`` ``sh`` ``yaml``         a shebang: line 2           ``# …``
``yaml`` that opens ``---``    yes: line 2                 ``# …``
``js`` ``ts``                  a shebang: line 2           ``// …``
``toml``                       no: line 1                  ``# …``
=============================  ==========================  ===========================================

Rules:

* A line counts only where inserting it into the rest would put it; anywhere else it is text and is hashed like text. Only the
  later form can also be above ``---``.
* The line is exact to the character and ends in LF. Only its own characters and that LF are excluded from the hash.
* Something at the canonical place that begins like a signature and is not exactly one is malformed, never ignored.
* Text has LF for CR LF (:func:`text_of`). A lone CR is an ordinary character, and so is a BOM: both are hashed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from datetime import UTC, datetime

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.kinds import KINDS, Format
from rye.text.frontmatter import is_marker
from rye.text.lazy import lazy_pattern


class CommentStyle(Struct, frozen=True):
    """What comes before and after the signature on its line."""

    prefix: str
    suffix: str = ""

    def wrap(self, signature: str) -> str:
        """Put the signature into a comment."""
        return f"{self.prefix}{signature}{self.suffix}"


HTML = CommentStyle("<!-- ", " -->")
HASH = CommentStyle("# ")
SLASHES = CommentStyle("// ")


class Layout(Struct, frozen=True):
    """Where files of one format have their signature line."""

    style: CommentStyle
    shebang: bool = False
    """A first line ``#!…`` stays first."""
    frontmatter: bool = False
    """A first line ``---`` stays first, and the signature is then a YAML comment."""

    def leading_lines(self, text: str) -> int:
        """How many lines are above the canonical place, given ``text`` without its signature line: 0 or 1."""
        return int((self.shebang and text.startswith("#!")) or self.opens_frontmatter(text))

    def opens_frontmatter(self, text: str) -> bool:
        """Whether the first line is ``---`` and this format has frontmatter."""
        return self.frontmatter and is_marker(_first_line(text))

    def style_in(self, text: str) -> CommentStyle:
        """The comment style for this text: a YAML comment inside frontmatter."""
        return HASH if self.opens_frontmatter(text) else self.style


MARKDOWN = Layout(HTML, frontmatter=True)
TOML = Layout(HASH)
LAYOUTS: dict[Format, Layout] = {
    "markdown": MARKDOWN,
    "toml": TOML,
    "hash": Layout(HASH, shebang=True),
    "yaml": Layout(HASH, shebang=True, frontmatter=True),
    "slashes": Layout(SLASHES, shebang=True),
}


def layout_of(kind: str, file_name: str) -> Layout:
    """Return the layout of a file.

    ``file_name`` is a path, a name or a suffix; it matters only for a kind of several formats.

    Raises UsageError for an unknown kind, RyeError ``unknown-suffix`` if the kind does not have such files.
    """
    if kind not in KINDS:
        raise UsageError("unknown-name", f"{kind!r} is not a kind of item.", f"Kinds: {KINDS.names()}.", what="kind")
    formats = KINDS[kind].formats
    if len(set(formats.values())) == 1:
        return LAYOUTS[next(iter(formats.values()))]
    for suffix, name in formats.items():
        if file_name.endswith(suffix):
            return LAYOUTS[name]
    message = f"{file_name!r} is not a {kind}'s file: its suffix is not that of a supported language."
    raise RyeError("unknown-suffix", message, f"Suffixes of {kind}s: {', '.join(formats)}.")


class SignatureLine(Struct, frozen=True):
    """The fields of a well-formed signature line. Nothing is verified yet, and ``attested`` never can be."""

    timestamp: str
    hash: str
    signature: bytes
    """64 bytes; by a security key 69, with flags and counter (current form only)."""
    key_id: str
    """16 or 64 lower-case hex digits."""
    attested: str | None = None
    """``provider@username`` after ``|``: unauthenticated."""

    @property
    def later_form(self) -> bool:
        """Whether it has the later form, with a KEYID of 64 digits."""
        return len(self.key_id) == 64

    def render(self) -> str:
        """Return the current form, without comment and LF."""
        return f"rye:signed:{self.timestamp}:{self.hash}:{encode_signature(self.signature)}:{self.key_id}"


class FoundLine(Struct, frozen=True):
    """The line in the canonical place; ``line`` is None for a placeholder.

    ``rest`` is everything else, which is hashed.
    """

    line: SignatureLine | None
    rest: str
    number: int


class Absent(Struct, frozen=True):
    """No line counts. ``misplaced``: there is one above a line that must be first; ``rest`` is the file without it."""

    rest: str
    misplaced: bool = False


class Malformed(Struct, frozen=True):
    """The canonical place has something that begins like a signature line and is not one."""

    detail: str
    number: int
    rest: str | None
    """The file without the line, if the line is only a broken comment; None if it has other text."""


_MAX_LINE = 512
_LOOKS_SIGNED = lazy_pattern(r"[ \t]*(?:<!--|#|//)?[ \t]*rye(?:os)?:signed:", re.ASCII | re.IGNORECASE)
_FIELDS = lazy_pattern(
    r"(?P<marker>rye|ryeos):signed:(?P<timestamp>[A-Za-z0-9:.+-]+?):(?P<hash>[^:|]*):(?P<signature>[^:|]*):(?P<key_id>[^:|]*)"
    r"(?:\|(?P<attested>.*))?"
)
_TIMESTAMP = lazy_pattern(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z")
_HEX64 = lazy_pattern(r"[0-9a-f]{64}")
_KEY_ID = lazy_pattern(r"[0-9a-f]{16}(?:[0-9a-f]{48})?")
_BASE64URL = lazy_pattern(r"[A-Za-z0-9_-]{86}(?:==)?")
_BASE64URL_69 = lazy_pattern(r"[A-Za-z0-9_-]{92}")
_BASE64 = lazy_pattern(r"[A-Za-z0-9+/]{86}(?:==)?")
_ATTESTED = lazy_pattern(r"[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9._+-]{1,64}")


def text_of(data: bytes) -> str:
    """Return a file's characters as the hash covers them: UTF-8, LF for CR LF, otherwise unchanged.

    Raises UnicodeDecodeError.
    """
    return data.decode("utf-8").replace("\r\n", "\n")


def content_hash(text: str) -> str:
    """Return the HASH of a text: SHA-256 of its UTF-8, 64 lower-case hex digits."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class _Candidate(Struct, frozen=True):
    """A line that looks signed where one can count. ``leading`` lines (0 or 1) are above it; ``after`` follows it."""

    line: str
    leading: int
    after: str
    rest: str
    """The text without the line."""


def find(text: str, layout: Layout) -> FoundLine | Absent | Malformed:
    """Look for the signature line in its canonical place (and, for the later form, above ``---``)."""
    if text.startswith("\ufeff"):
        behind = find(text.lstrip("\ufeff"), layout)
        if isinstance(behind, Malformed) or (isinstance(behind, FoundLine) and behind.line):
            return Malformed("line 1: the file begins with a byte order mark", 1, None)
        return Absent(text)
    candidate = _candidate(text, layout)
    if candidate is None:
        return Absent(text)
    if candidate.leading == 0 and layout.leading_lines(candidate.rest):
        return _above_first_line(text, candidate, layout)
    style = layout.style_in(text)
    return _in_place(candidate, _parse(candidate.line, style), style)


def _candidate(text: str, layout: Layout) -> _Candidate | None:
    leading = layout.leading_lines(text)
    head_end = text.index("\n") + 1 if leading and "\n" in text else 0
    if leading and not head_end:
        return None
    line = _first_line(text[head_end : head_end + _MAX_LINE + 1])
    if _LOOKS_SIGNED.match(line) is None:
        return None
    after = text[head_end + len(line) :]
    return _Candidate(line, leading, after, text[:head_end] + after[1:])


def _above_first_line(text: str, candidate: _Candidate, layout: Layout) -> FoundLine | Absent | Malformed:
    """The line is above one that must be first. Only the later form counts there, above ``---``; a broken line there
    is reported, because it may have been one.
    """
    frontmatter = layout.opens_frontmatter(candidate.rest)
    style = HASH if frontmatter and candidate.line.startswith(HASH.prefix) else layout.style_in(text)
    parsed = _parse(candidate.line, style)
    broken = isinstance(parsed, str)
    later = isinstance(parsed, SignatureLine) and parsed.later_form
    if frontmatter and (later or broken):
        return _in_place(candidate, parsed, style)
    return Absent(text) if broken else Absent(candidate.rest, misplaced=True)


def _in_place(candidate: _Candidate, parsed: SignatureLine | str | None, style: CommentStyle) -> FoundLine | Malformed:
    line, after, number = candidate.line, candidate.after, candidate.leading + 1
    if isinstance(parsed, str):
        lone = (
            line.startswith(style.prefix)
            and line.endswith(style.suffix)
            and line.count(" ") == style.wrap("").count(" ")
        )
        return Malformed(
            f"line {number}: {parsed}", number, candidate.rest if lone and after[:1] in ("", "\n") else None
        )
    if not after.startswith("\n"):
        detail = f"line {number}: the signature line does not end with LF"
        return Malformed(detail, number, candidate.rest if not after else None)
    return FoundLine(parsed, candidate.rest, number)


def insert(rest: str, line: SignatureLine, layout: Layout) -> str:
    """Insert a line at the canonical place of a text that has none. ``find`` of the result returns both."""
    head, body = "", rest
    if layout.leading_lines(rest):
        first = _first_line(rest)
        head, body = first + "\n", rest[len(first) + 1 :]
    return f"{head}{layout.style_in(rest).wrap(line.render())}\n{body}"


def completed(rest: str, layout: Layout) -> str:
    """Return ``rest`` with the LF that a lone first line needs before a signature line can follow it; otherwise
    unchanged.
    """
    return rest + "\n" if layout.leading_lines(rest) and "\n" not in rest else rest


def format_timestamp(now: datetime) -> str:
    """Return ``YYYY-MM-DDTHH:MM:SSZ``. ``now`` must have a time zone."""
    if now.tzinfo is None:
        raise ValueError("the time needs a time zone")
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def encode_signature(signature: bytes) -> str:
    """Encode a signature in base64url with padding, as the current form has it."""
    return base64.urlsafe_b64encode(signature).decode("ascii")


def _first_line(text: str) -> str:
    end = text.find("\n")
    return text if end < 0 else text[:end]


def _parse(line: str, style: CommentStyle) -> SignatureLine | str | None:
    """Return a line's signature, None for a placeholder, or what is wrong with the line."""
    if len(line) > _MAX_LINE:
        return "it is too long for a signature line"
    if not line.startswith(style.prefix + "rye"):
        return f"a signature line here must begin with {style.prefix!r} and the marker"
    if not line.endswith(style.suffix):
        return f"text follows the signature, or it does not end with {style.suffix!r}"
    match = _FIELDS.fullmatch(line[len(style.prefix) : len(line) - len(style.suffix)])
    if match is None:
        return "it does not have the fields TIMESTAMP:HASH:SIGNATURE:KEYID"
    if (match["hash"], match["signature"], match["key_id"], match["attested"]) == (
        "placeholder",
        "unsigned",
        "unsigned",
        None,
    ):
        return None
    return _check_fields(match)


def _check_fields(match: re.Match[str]) -> SignatureLine | str:
    key_id, attested, encoded = match["key_id"], match["attested"], match["signature"]
    if not is_timestamp(match["timestamp"]):
        return "the timestamp is not a valid YYYY-MM-DDTHH:MM:SSZ"
    if _HEX64.fullmatch(match["hash"]) is None:
        return "the hash is not 64 lower-case hex digits"
    if _KEY_ID.fullmatch(key_id) is None:
        return "the key id is not 16 (or, in the later form, 64) lower-case hex digits, or text follows it"
    later = len(key_id) == 64
    if match["marker"] == "ryeos" and not later:
        return "the marker ryeos:signed needs a key id of 64 hex digits"
    if attested is not None and _ATTESTED.fullmatch(attested) is None:
        return "the text after '|' is not provider@username"
    signature = _decode_signature(encoded, later=later)
    if signature is None:
        return "the signature is not canonical base64url of 64 bytes (of 69, by a security key)"
    return SignatureLine(match["timestamp"], match["hash"], signature, key_id, attested)


def _decode_signature(encoded: str, *, later: bool) -> bytes | None:
    if not later and _BASE64URL_69.fullmatch(encoded):
        return base64.urlsafe_b64decode(encoded)  # without a rest, so it is canonical
    if not later and len(encoded) != 88:
        return None
    if _BASE64URL.fullmatch(encoded) is None and not (later and _BASE64.fullmatch(encoded)):
        return None
    unpadded = encoded.rstrip("=").replace("+", "-").replace("/", "_")
    try:
        signature = base64.urlsafe_b64decode(unpadded + "==")
    except binascii.Error:  # pragma: no cover - the patterns above exclude it
        return None
    return signature if encode_signature(signature).rstrip("=") == unpadded else None


def is_timestamp(text: str) -> bool:
    """Whether a text is a valid ``YYYY-MM-DDTHH:MM:SSZ``."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return False
    year, month, day, hour, minute, second = (int(part) for part in match.groups())
    try:
        datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return False
    return True
