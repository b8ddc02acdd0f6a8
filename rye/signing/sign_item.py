"""Signing a file's text: remove the old line, insert the new one at the canonical place (DESIGN §4). Pure.

* A text that the same key has signed as a whole, and that has not changed since, is returned unchanged: signing again
  has no effect.
* An older, misplaced, placeholder or broken line is replaced. A line that begins like a signature but has other text on
  it is for the author to fix: no possible content is thrown away.
* CR LF and a BOM are refused ("Every kind"): what is signed is exactly what is on disk.

The caller checks first whether the item is valid.
"""

from __future__ import annotations

from datetime import datetime

from rye.errors import RyeError
from rye.signing.signature_line import (
    Absent,
    FoundLine,
    Layout,
    Malformed,
    SignatureLine,
    completed,
    content_hash,
    find,
    format_timestamp,
    insert,
    layout_of,
)
from rye.signing.signing_key import SigningKey

_FIX = "Run `rye validate --fix FILE`, then sign it again."


def sign(text: str, kind: str, file_name: str, key: SigningKey, now: datetime, *, again: bool = False) -> str:
    """Return ``text`` with this key's signature line. ``now`` must have a time zone. ``again``: also if it has a current one.

    Raises RyeError ``not-lf`` (CR LF), ``byte-order-mark`` or ``broken-signature-line``, and what ``layout_of`` raises.
    """
    layout = layout_of(kind, file_name)
    if text.startswith("\ufeff"):
        raise RyeError("byte-order-mark", f"{file_name} starts with a byte order mark and cannot be signed.", _FIX)
    if "\r\n" in text:
        raise RyeError("not-lf", f"{file_name} has CR LF line endings and cannot be signed.", _FIX)
    found = find(text, layout)
    if not again and isinstance(found, FoundLine) and found.line and _is_current(found.line, found.rest, key):
        return text
    rest = completed(_without_line(found, file_name), layout)
    digest = content_hash(rest)
    signature = key.sign(digest.encode("ascii"), f"{kind} {file_name}, SHA-256 {digest}")
    return insert(rest, SignatureLine(format_timestamp(now), digest, signature, key.public.key_id), layout)


def sign_bytes(data: bytes, kind: str, file_name: str, key: SigningKey, now: datetime, *, again: bool = False) -> bytes:
    """Do the same on a file's bytes. Also raises RyeError ``unreadable``."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{file_name} is not UTF-8 (byte {error.start}) and cannot be signed."
        raise RyeError("unreadable", message, "Save the file as UTF-8.") from None
    return sign(text, kind, file_name, key, now, again=again).encode("utf-8")


def unsigned_text(text: str, layout: Layout) -> str:
    """Return ``text`` without its signature line, wherever signing would recognize one; unchanged if it has none."""
    found = find(text, layout)
    return text if found.rest is None else found.rest


def _is_current(line: SignatureLine, rest: str, key: SigningKey) -> bool:
    public = key.public
    return (
        line.key_id == public.key_id
        and line.hash == content_hash(rest)
        and public.verifies(line.hash.encode("ascii"), line.signature)
    )


def _without_line(found: FoundLine | Absent | Malformed, file_name: str) -> str:
    if found.rest is None:
        detail = found.detail if isinstance(found, Malformed) else ""
        message = f"{file_name} cannot be signed: its signature line is broken ({detail})."
        raise RyeError("broken-signature-line", message, "Delete that line, or the other text on it.")
    return found.rest
