"""The grammar that all statements share (docs/reference/protocol.md, Common rules): lines ``key value`` and the forms
of their values.

Every ``read_…`` function accepts exactly one spelling of a value and raises StatementError for all others. So two
different texts never mean the same thing, and reading then writing gives back the same bytes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeVar

from rye.errors import RyeError
from rye.items.identity import Identity, is_id, is_segment
from rye.items.kinds import KINDS
from rye.registry.protocol.notes import NoteError, decode_base64, encode_base64
from rye.resolution.ranges import Range
from rye.signing.keys import PublicKey, key_problem, read_public_line
from rye.text.content import DEFAULT_IGNORABLE
from rye.text.lazy import lazy_pattern

MAX_LINE_BYTES = 2_048
MAX_NUMBER = 2**53 - 1
MAX_ORIGIN_CHARACTERS = 128
MAX_VERSION_CHARACTERS = 256
MAX_RANGE_CHARACTERS = 1_024

_NUMBER = lazy_pattern(r"0|[1-9][0-9]{0,15}")
_TIME = lazy_pattern(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z")
_HASH = lazy_pattern(r"[0-9a-f]{64}")
_ORIGIN = lazy_pattern(r"[a-z0-9][a-z0-9.-]*(?::[0-9]+)?(?:/[a-z0-9._-]+)*")
_NUMERIC = r"(?:0|[1-9][0-9]{0,15})"
_PRE_RELEASE = rf"(?:{_NUMERIC}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = lazy_pattern(rf"{_NUMERIC}\.{_NUMERIC}\.{_NUMERIC}(?:-{_PRE_RELEASE}(?:\.{_PRE_RELEASE})*)?")
_RANGE = lazy_pattern(r"[!-~]+(?: [!-~]+)*")
_HIDDEN = lazy_pattern(
    "["
    + "".join(f"{chr(first)}-{chr(last)}" for first, last in DEFAULT_IGNORABLE)
    + "\x00-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb\ud800-\uf8ff\U000f0000-\U0010ffff]"
)
"""Characters that are invisible or reorder what is visible: never part of one-line text."""

_T = TypeVar("_T")


class StatementError(RyeError):
    """A text that is not the expected statement.

    Codes: ``statement-malformed``, ``statement-kind``, ``statement-key``.
    """


def malformed(reason: str) -> StatementError:
    """The error for every text that does not follow the grammar."""
    return StatementError(
        "statement-malformed", f"Malformed statement: {reason}.", "It is damaged or forged: do not use it."
    )


class Lines:
    """The lines of a statement, consumed one by one in the order of its grammar."""

    def __init__(self, text: str, title: str):
        """``title`` is the first line that the statement must have."""
        if not text.endswith("\n"):
            raise malformed("it does not end with LF")
        self._lines = text[:-1].split("\n")
        if self._lines[0] != title:
            raise StatementError("statement-kind", f"Expected a {title} statement, found {self._lines[0][:80]!r}.")
        for line in self._lines:
            if len(line.encode("utf-8", "surrogatepass")) > MAX_LINE_BYTES:
                raise malformed(f"a line is longer than {MAX_LINE_BYTES} bytes")
        self._at = 1

    def one(self, key: str, read: Callable[[str], _T]) -> _T:
        """Return the value of the next line, which must have this key."""
        value = self.maybe(key, read)
        if value is None:
            found = self._lines[self._at][:80] if self._at < len(self._lines) else "its end"
            raise malformed(f"expected the line {key!r}, found {found!r}")
        return value

    def maybe(self, key: str, read: Callable[[str], _T]) -> _T | None:
        """Return the value of the next line if it has this key; otherwise None."""
        if self._at < len(self._lines) and self._lines[self._at].startswith(key + " "):
            value = self._lines[self._at][len(key) + 1 :]
            self._at += 1
            return read(value)
        return None

    def many(self, key: str, read: Callable[[str], _T]) -> tuple[_T, ...]:
        """Return the values of all next lines with this key; their bytes must ascend, without duplicates."""
        values: list[_T] = []
        before = b""
        while self._at < len(self._lines) and self._lines[self._at].startswith(key + " "):
            line = self._lines[self._at].encode("utf-8", "surrogatepass")
            if line <= before:
                raise malformed(f"its {key!r} lines are not sorted, or one is a duplicate")
            before = line
            self._at += 1
            values.append(read(line.decode("utf-8", "surrogatepass")[len(key) + 1 :]))
        return tuple(values)

    def end(self) -> None:
        """Check that no line is left."""
        if self._at != len(self._lines):
            raise malformed(f"the line {self._lines[self._at][:80]!r} does not belong here")


def in_line_order(values: Iterable[_T], write: Callable[[_T], str]) -> tuple[_T, ...]:
    """Return values in the order of their lines' bytes."""
    return tuple(sorted(values, key=lambda value: write(value).encode()))


def read_number(text: str, least: int = 0, most: int = MAX_NUMBER) -> int:
    """Read an ASCII decimal number without leading zeros."""
    if _NUMBER.fullmatch(text) is None or not least <= int(text) <= most:
        raise malformed(f"{text[:80]!r} is not a number from {least} to {most}")
    return int(text)


def read_positive(text: str) -> int:
    """Read a number from 1."""
    return read_number(text, 1)


def read_time(text: str) -> datetime:
    """Read ``YYYY-MM-DDTHH:MM:SSZ``, a real date from 1970 on, as an aware UTC value."""
    match = _TIME.fullmatch(text)
    try:
        if match is None or text < "1970":
            raise ValueError(text)
        year, month, day, hour, minute, second = map(int, match.groups())
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise malformed(f"{text[:80]!r} is not a time of the form YYYY-MM-DDTHH:MM:SSZ") from error


def write_time(time: datetime) -> str:
    """Write a time in its only spelling; fractions of a second are dropped."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_hash(text: str) -> str:
    """Read a SHA-256 of 64 lower-case hex digits."""
    if _HASH.fullmatch(text) is None:
        raise malformed(f"{text[:80]!r} is not a SHA-256 of 64 lower-case hex digits")
    return text


def read_base64_hash(text: str) -> bytes:
    """Read a hash of 32 bytes in base64."""
    data = _base64(text)
    if len(data) != 32:
        raise malformed(f"{text[:80]!r} is not a hash of 32 bytes in base64")
    return data


def read_key(text: str) -> bytes:
    """Read a raw Ed25519 public key in base64; it must be canonical and not of small order."""
    key = _base64(text)
    problem = key_problem(key)
    if problem:
        raise StatementError("statement-key", f"{text[:80]!r} is not an Ed25519 public key: {problem}.")
    return key


def write_key(key: bytes) -> str:
    """Write a raw public key in base64."""
    return encode_base64(key)


def read_owner_key(text: str) -> bytes:
    """Read a key that can own a namespace: as :func:`read_key`, or an OpenSSH line of a security key, which gives its blob."""
    if " " not in text:
        return read_key(text)
    try:
        key = read_public_line(text)
    except RyeError as error:
        raise StatementError("statement-key", f"{text[:80]!r} is not a security key: {error.message}") from None
    if write_owner_key(key.raw) != text:
        raise StatementError("statement-key", f"{text[:80]!r} is not the line of a security key.")
    return key.raw


def write_owner_key(key: bytes) -> str:
    """Write a key that can own a namespace."""
    return write_key(key) if len(key) == 32 else PublicKey(key).pem.removesuffix("\n")


def read_origin(text: str) -> str:
    """Read a registry's origin: a name like a host name, at most 128 characters."""
    if len(text) > MAX_ORIGIN_CHARACTERS or _ORIGIN.fullmatch(text) is None:
        raise malformed(f"{text[:80]!r} is not the origin of a registry")
    return text


def read_namespace(text: str) -> str:
    """Read a namespace: one segment. ``root`` is reserved, because ``<origin>/root`` names the owners of the root."""
    if not is_segment(text) or text == "root":
        raise malformed(f"{text[:80]!r} is not the name of a namespace")
    return text


def read_identity(text: str) -> Identity:
    """Read ``<kind>:<qualified id>``."""
    kind, _, identifier = text.partition(":")
    if kind not in KINDS or not is_id(identifier) or "/" not in identifier or identifier.startswith("root/"):
        raise malformed(f"{text[:80]!r} is not a kind and a qualified id")
    return Identity(kind, identifier)


def read_identity_or_none(text: str) -> Identity | None:
    """Read an identity, or ``-`` for none."""
    return None if text == "-" else read_identity(text)


def read_version(text: str) -> str:
    """Read a SemVer 2 version without build metadata."""
    if len(text) > MAX_VERSION_CHARACTERS or _VERSION.fullmatch(text) is None:
        raise malformed(f"{text[:80]!r} is not a version X.Y.Z or X.Y.Z-pre")
    return text


def read_range(text: str) -> str:
    """Read a version range (``*``: any): printable ASCII, with single spaces between words."""
    if len(text) > MAX_RANGE_CHARACTERS or _RANGE.fullmatch(text) is None:
        raise malformed(f"{text[:80]!r} is not a version range")
    if text != "*":
        try:
            Range.parse(text)
        except RyeError as error:
            raise malformed(f"{text[:80]!r} is not a version range") from error
    return text


def read_word(text: str) -> str:
    """Read one word of printable ASCII, without spaces."""
    if re.fullmatch(r"[!-~]{1,512}", text) is None:
        raise malformed(f"{text[:80]!r} is not one word of printable ASCII")
    return text


def text_reader(most: int) -> Callable[[str], str]:
    """Return a reader of one line of visible text, at most ``most`` characters: NFC, without hidden or reordering
    characters.
    """

    def read(text: str) -> str:
        if not text or text != text.strip() or len(text) > most:
            raise malformed(
                f"a line of text is empty, has leading or trailing whitespace, or more than {most} characters"
            )
        if _HIDDEN.search(text) or not unicodedata.is_normalized("NFC", text):
            raise malformed("a line of text contains hidden characters or is not in Unicode's normal form C")
        return text

    return read


def one_line(text: str, most: int, default: str) -> str:
    """Turn any text into one line that :func:`text_reader` accepts: whitespace folded, hidden characters removed,
    shortened with an ellipsis.
    """
    visible = _HIDDEN.sub("", " ".join(text[: 4 * most].split()))
    line = " ".join(unicodedata.normalize("NFC", visible).split())
    if len(line) > most:
        line = line[: most - 1].rstrip() + "…"
    return line or default


def _base64(text: str) -> bytes:
    try:
        return decode_base64(text)
    except NoteError as error:
        raise malformed(error.message.rstrip(".")) from error
