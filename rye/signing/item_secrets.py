"""Finds secrets in an item's file, both before it is sent and before it is served (:mod:`rye.text.secrets`).

A signature is 86 random characters, so once in some hundred thousand times a part of it has the form of a token. It is left
out, and nothing else of its line: the hash and the rest could still hide one.
"""

from __future__ import annotations

from rye.signing.signature_line import FoundLine, find, layout_of, text_of
from rye.text.secrets import find_secrets, secrets_in_file


def secrets_in_item(kind: str, suffix: str, data: bytes) -> list[tuple[int, str]]:
    """Return every secret in an item's file, as :func:`rye.text.secrets.find_secrets` does.

    Whether the signature is valid is for others to check. Raises what :func:`rye.signing.signature_line.layout_of` raises.
    """
    found = secrets_in_file(data)
    if not found:
        return found
    try:
        text = text_of(data)
    except UnicodeDecodeError:
        return found
    signed = find(text, layout_of(kind, f"x{suffix}"))
    if not isinstance(signed, FoundLine) or signed.line is None:
        return found
    lines = text.split("\n")
    before, _, key_id = lines[signed.number - 1].rsplit(":", 2)  # see SignatureLine.render
    lines[signed.number - 1] = f"{before}:.:{key_id}"
    return find_secrets("\n".join(lines))
