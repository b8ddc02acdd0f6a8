"""Signing a file's text: out with the old line, in with the new one at the canonical place (DESIGN §4). Pure.

* A text that the same key has signed as a whole, unchanged since, comes back as it is: signing twice changes nothing.
* An older, misplaced, placeholder or broken line is replaced. A line that begins like a signature and has other text on it is
  the author's to fix: nothing that may be content is thrown away.
* CR LF and a BOM are refused ("Every kind"): what is signed is exactly what is on disk.

Whether the item conforms is the caller's question; it is asked before this.
"""

from __future__ import annotations

from datetime import datetime

from rye.errors import RyeError
from rye.signing.keys import PrivateKey
from rye.signing.signature_line import (
    Absent,
    Found,
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

_FIX = "Run `rye validate --fix` on it, then sign it again."


def sign(text: str, kind: str, file_name: str, key: PrivateKey, now: datetime) -> str:
    """``text`` with this key's signature line. ``now`` must know its time zone.

    Raises RyeError ``not-lf`` (CR LF), ``byte-order-mark`` or ``broken-signature-line``, and what ``layout_of`` raises.
    """
    layout = layout_of(kind, file_name)
    if text.startswith("\ufeff"):
        raise RyeError("byte-order-mark", f"{file_name} starts with a byte order mark and cannot be signed.", _FIX)
    if "\r\n" in text:
        raise RyeError("not-lf", f"{file_name} has CR LF line endings and cannot be signed.", _FIX)
    found = find(text, layout)
    if isinstance(found, Found) and found.line and _is_current(found.line, found.rest, key):
        return text
    rest = completed(_without_line(found, file_name), layout)
    digest = content_hash(rest)
    signature = key.sign(digest.encode("ascii"))
    return insert(rest, SignatureLine(format_timestamp(now), digest, signature, key.public.key_id), layout)


def sign_bytes(data: bytes, kind: str, file_name: str, key: PrivateKey, now: datetime) -> bytes:
    """:func:`sign` on a file's bytes. Also raises RyeError ``not-utf8``."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{file_name} is not UTF-8 (byte {error.start}) and cannot be signed."
        raise RyeError("not-utf8", message, "Save the file as UTF-8.") from None
    return sign(text, kind, file_name, key, now).encode("utf-8")


def unsigned_text(text: str, layout: Layout) -> str:
    """``text`` without its signature line, wherever a line is taken for one when signing; unchanged when it has none."""
    found = find(text, layout)
    return text if found.rest is None else found.rest


def _is_current(line: SignatureLine, rest: str, key: PrivateKey) -> bool:
    public = key.public
    return (
        line.key_id == public.key_id
        and line.hash == content_hash(rest)
        and public.verifies(line.hash.encode("ascii"), line.signature)
    )


def _without_line(found: Found | Absent | Malformed, file_name: str) -> str:
    if found.rest is None:
        detail = found.detail if isinstance(found, Malformed) else ""
        message = f"{file_name} cannot be signed: something like a signature line is broken ({detail})."
        raise RyeError("broken-signature-line", message, "Delete that line, or what stands on it beside the signature.")
    return found.rest
