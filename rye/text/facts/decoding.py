"""Bytes of an attached file as the text that facts are looked for in (DESIGN §7.2)."""

from __future__ import annotations

from typing import Final

_BINARY_SHARE: Final = 10
"""Percent of characters that are control characters or no UTF-8: more than that, and nobody reads it as text."""
_CONTROL: Final = bytes(sorted({*range(32), 127} - {*b"\t\n\r\f\v\x1b"}))


def readable_text(data: bytes) -> str | None:
    """The text; None for images, fonts, archives and the like.

    A stray byte hides nothing: NULs are left out, as a shell leaves them out, and what is no UTF-8 is replaced. UTF-16 is
    read, too.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
        return text if text.count("\ufffd") * 100 <= len(text) * _BINARY_SHARE else None
    plain = data.replace(b"\0", b"") if b"\0" in data else data
    controls = len(plain) - len(plain.translate(None, _CONTROL))
    if controls * 100 > len(plain) * _BINARY_SHARE:
        return None
    text = plain.decode("utf-8", "replace").removeprefix("\ufeff")
    return text if text.count("\ufffd") * 100 <= len(text) * _BINARY_SHARE else None
