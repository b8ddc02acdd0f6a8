"""Turn a file's bytes into the text that all other modules read, and check its content (DESIGN §5 Content).

====  ========  ===============================================================================================
Code  Severity  Finding
====  ========  ===============================================================================================
C01   error     The file is larger than the limit. Nothing else is checked.
C02   error     The bytes are not UTF-8. Gives the byte's offset and line; there is no text.
C03   error     A NUL character.
C04   error     Another control character: C0 except TAB and LF (so a lone CR), DEL, C1.
C05   error     A bidirectional control: it displays text in a different order than programs read it.
C06   error     A default-ignorable code point: people do not see it, agents read it.
C07   error     A zero-width joiner or variation selector 16 outside an emoji.
C08   error     The text is not in Unicode normalization form C.
C09   notice    A byte order mark at the start; accepted when validating, refused when signing and publishing.
C10   notice    CR LF line endings; accepted when validating, refused when signing and publishing.
C11   error     U+2028 or U+2029: a line break to some programs and none to others.
C12   error     More characters of C03 to C07 and C11 than are listed individually; gives their number.
C13   error     More than 30 combining marks in a row (not stream-safe text, UAX #15 §13): unreadable, and slow to normalize.
====  ========  ===============================================================================================

The resulting text has LF line endings and no BOM. A fast path recognizes pure ASCII without controls directly in the bytes.

Emoji: ZWJ and VS16 are allowed only inside a sequence of the form ``element (ZWJ element)*``, where an element is a pictograph
that can be followed by VS16 or a skin tone, or inside a keycap (``[0-9#*] VS16 U+20E3``). Pictographs are Extended_Pictographic
of Unicode 16, exact in the Basic Multilingual Plane. Above it, whole emoji blocks count, so VS16 can also follow a few visible
symbols that have no emoji form. Flags made of tag characters are refused.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from msgspec import Struct

from rye.limits import CONTENT, ContentLimits
from rye.text.diagnostics import Diagnostic, has_errors
from rye.text.lazy import lazy_pattern

BOM = b"\xef\xbb\xbf"
FIX_HINT = "Run `rye validate --fix` to rewrite the file as LF without a byte order mark."
MAX_LISTED = 20
"""How many characters are reported individually; a C12 counts the rest."""
MAX_COMBINING = 30
"""Combining marks in a row (UAX #15 §13). The time to normalize a run grows with the square of its length."""

DEFAULT_IGNORABLE: tuple[tuple[int, int], ...] = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""Default_Ignorable_Code_Point (DerivedCoreProperties), first and last of each range, including unassigned ones."""

_BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SEPARATORS = "\u2028\u2029"
_ZWJ, _VS16 = "\u200d", "\ufe0f"
_CONTROL_NAMES = {
    0x00: "NULL",
    0x07: "BELL",
    0x08: "BACKSPACE",
    0x0B: "LINE TABULATION",
    0x0C: "FORM FEED",
    0x0D: "CARRIAGE RETURN",
    0x1A: "SUBSTITUTE",
    0x1B: "ESCAPE",
    0x7F: "DELETE",
    0x85: "NEXT LINE",
    0x9B: "CONTROL SEQUENCE INTRODUCER",
}

_ASCII_CONTROL = lazy_pattern(rb"[\x00-\x08\x0b-\x1f\x7f]")
_SUSPECT = lazy_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    + _SEPARATORS
    + "".join(f"{chr(first)}-{chr(last)}" for first, last in DEFAULT_IGNORABLE)
    + "]"
)
# Extended_Pictographic: the Basic Multilingual Plane exactly, then the emoji blocks except skin tones.
_PICTOGRAPH = (
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa\u24c2"
    "\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e\u2611\u2614\u2615\u2618\u261d\u2620\u2622\u2623\u2626\u262a"
    "\u262e\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668\u267b\u267e\u267f\u2692-\u2697"
    "\u2699\u269b\u269c\u26a0\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1\u26d3"
    "\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712\u2714\u2716\u271d\u2721\u2728"
    "\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763\u2764\u2795-\u2797\u27a1\u27b0\u27bf\u2934\u2935"
    "\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299"
    "\U0001f004\U0001f0cf\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f18e\U0001f191-\U0001f19a\U0001f201-\U0001f202"
    "\U0001f21a\U0001f22f\U0001f232-\U0001f23a\U0001f250\U0001f251\U0001f300-\U0001f3fa\U0001f400-\U0001f64f"
    "\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7f0\U0001f90c-\U0001f9ff\U0001fa70-\U0001faff]"
)
_ELEMENT = f"{_PICTOGRAPH}(?:{_VS16}|[\U0001f3fb-\U0001f3ff])?"


@cache
def _long_run() -> re.Pattern[str]:
    return re.compile(f"[\u0300-\U0010ffff]{{{MAX_COMBINING + 1},}}")


@cache
def _emoji() -> re.Pattern[str]:
    return re.compile(f"{_ELEMENT}(?:{_ZWJ}{_ELEMENT})*|[0-9#*]{_VS16}\u20e3")


class Decoded(Struct, frozen=True):
    """The text of a file's bytes, with findings. ``text`` is None for too many bytes (C01) or bytes that are not UTF-8 (C02)."""

    text: str | None
    diagnostics: tuple[Diagnostic, ...] = ()
    had_bom: bool = False
    had_crlf: bool = False

    @property
    def ok(self) -> bool:
        """Whether there is a text and no error."""
        return not has_errors(self.diagnostics)


def decode(data: bytes, limits: ContentLimits = CONTENT) -> Decoded:
    """Decode a file's bytes to text with LF line endings and no BOM, with every finding of the table above."""
    if len(data) > limits.item_bytes:
        message = f"The file is larger than {limits.item_bytes:,} bytes, the limit for an item."
        return Decoded(None, (_whole("C01", message, "Split the item, or move the bulk of it into a skill's file."),))
    if data.isascii() and _ASCII_CONTROL.search(data) is None:
        return Decoded(data.decode("ascii"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Decoded(None, (_not_utf8(data, error.start),))
    had_bom = text.startswith("\ufeff")
    if had_bom:
        text = text[1:]
    had_crlf = "\r\n" in text
    if had_crlf:
        text = text.replace("\r\n", "\n")
    diagnostics: list[Diagnostic] = []
    if had_bom:
        diagnostics.append(Diagnostic("notice", "C09", "The file starts with a byte order mark.", 1, 1, FIX_HINT))
    if had_crlf:
        diagnostics.append(Diagnostic("notice", "C10", "The file has CR LF line endings.", hint=FIX_HINT))
    return Decoded(text, (*diagnostics, *check_text(text)), had_bom, had_crlf)


def fixed(data: bytes) -> bytes:
    """Return the bytes without a leading BOM and with LF for CR LF, as ``rye validate --fix`` writes them ("Every kind")."""
    return data.removeprefix(BOM).replace(b"\r\n", b"\n")


def check_text(text: str, exempt: re.Pattern[str] | None = None) -> tuple[Diagnostic, ...]:
    """Return findings C03 to C08 and C11 to C13 of decoded text.

    ``exempt``: allow characters inside a match of this pattern, for formats that need one (the escape of overrides, DECISIONS
    Overrides 4).
    """
    return (*_characters(text, exempt), *_normalization(text))


def _characters(text: str, exempt: re.Pattern[str] | None) -> list[Diagnostic]:
    if text.isascii() and _SUSPECT.search(text) is None:
        return []
    diagnostics: list[Diagnostic] = []
    more = 0
    line, line_start, counted = 1, 0, 0
    for at in hidden_characters(text, exempt):
        if len(diagnostics) == MAX_LISTED:
            more += 1
            continue
        line += text.count("\n", counted, at)
        line_start = text.rfind("\n", line_start, at) + 1 or line_start
        counted = at
        code, why = _judge(text[at])
        message = f"{describe(text[at])} at column {at - line_start + 1}: {why}"
        diagnostics.append(Diagnostic("error", code, message, line, at - line_start + 1, "Delete the character."))
    if more:
        diagnostics.append(
            Diagnostic("error", "C12", f"There are {more:,} more of these characters.", hint="Delete them all.")
        )
    return diagnostics


def hidden_characters(text: str, exempt: re.Pattern[str] | None = None) -> list[int]:
    """Return the offsets of the characters of C03 to C07 and C11: those that people do not see, or see out of order.

    ``exempt``: as in :func:`check_text`.
    """
    if text.isascii() and _SUSPECT.search(text) is None:
        return []
    allowed: set[int] = set()
    if _ZWJ in text or _VS16 in text:
        allowed.update(at for match in _emoji().finditer(text) for at in range(match.start() + 1, match.end()))
    if exempt is not None:
        allowed.update(at for match in exempt.finditer(text) for at in range(*match.span()))
    return [at for match in _SUSPECT.finditer(text) if (at := match.start()) not in allowed]


def _judge(character: str) -> tuple[str, str]:
    if character == "\0":
        return "C03", "NUL ends the text for some programs."
    if character in _SEPARATORS:
        return "C11", "a line break to some programs but not to others."
    if character in _BIDI_CONTROLS:
        return "C05", "a bidirectional control displays text in a different order than programs read it."
    if character in (_ZWJ, _VS16):
        return "C07", "it is allowed only inside an emoji."
    if character < "\xa0":
        return "C04", "control characters other than TAB and LF are not allowed."
    return "C06", "people do not see this character, agents read it."


def describe(character: str) -> str:
    """How messages name a character, e.g. ``U+200B ZERO WIDTH SPACE``."""
    point = ord(character)
    unnamed = "CONTROL" if unicodedata.category(character) == "Cc" else "DEFAULT IGNORABLE CODE POINT"
    return f"U+{point:04X} {_CONTROL_NAMES.get(point) or unicodedata.name(character, unnamed)}"


def _normalization(text: str) -> tuple[Diagnostic, ...]:
    at = _long_combining_run(text)
    if at is not None:
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        message = f"More than {MAX_COMBINING} combining marks in a row start at column {column}."
        return (Diagnostic("error", "C13", message, line, column, "Delete the marks."),)
    if unicodedata.is_normalized("NFC", text):
        return ()
    # Normalization never crosses LF, so the first line that changes contains the first position.
    for number, original in enumerate(text.split("\n"), 1):
        composed = unicodedata.normalize("NFC", original)
        if composed != original:
            column = next(
                (n for n, (a, b) in enumerate(zip(original, composed, strict=False), 1) if a != b), len(composed)
            )
            message = f"The text is not in normalization form C, starting at column {column}."
            hint = "Rewrite the characters there in composed form (NFC)."
            return (Diagnostic("error", "C08", message, number, column, hint),)
    return ()


def _long_combining_run(text: str) -> int | None:
    """The offset of the first run of more than MAX_COMBINING characters of a non-zero combining class, or None."""
    for match in _long_run().finditer(text):
        length = 0
        for at in range(*match.span()):
            length = length + 1 if unicodedata.combining(text[at]) else 0
            if length > MAX_COMBINING:
                return at - MAX_COMBINING
    return None


def _not_utf8(data: bytes, offset: int) -> Diagnostic:
    line = data.count(b"\n", 0, offset) + 1
    column = len(data[data.rfind(b"\n", 0, offset) + 1 : offset].decode("utf-8", "replace")) + 1
    message = f"The bytes are not UTF-8: byte 0x{data[offset]:02X} at offset {offset}."
    looks_utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    hint = "The file looks like UTF-16; save it as UTF-8." if looks_utf16 else "Save the file as UTF-8."
    return Diagnostic("error", "C02", message, line, column, hint)


def _whole(code: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic("error", code, message, hint=hint)
