"""Verifying an item's file on disk: its kind, and whether its signature is valid."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from rye.errors import UsageError
from rye.items.kinds import KINDS
from rye.limits import CONTENT
from rye.project.item_file import place
from rye.signing.keys import PublicKey
from rye.signing.verification import Verification, verify
from rye.storage.safe_files import read_bytes


class JudgedFile(Struct, frozen=True):
    """One file's kind (None if unknown) and verdict."""

    kind: str | None
    verification: Verification


def verify_file(
    path: Path, shown: str, kind: str | None, trusted: Iterable[PublicKey], revoked: Iterable[PublicKey]
) -> JudgedFile:
    """Verify the signature of the file at ``path``. Raises RyeError if it cannot be read or its kind is unknown."""
    data = read_bytes(path, CONTENT.item_bytes)
    if len(data) > CONTENT.item_bytes:
        return JudgedFile(kind, Verification("malformed", f"The file has more than {CONTENT.item_bytes:,} bytes."))
    location = place(path, data.decode("utf-8", "replace").replace("\r\n", "\n"), kind)
    if location is None:
        raise UsageError(
            "unknown-kind-of-file",
            f"Cannot tell what kind of item {shown!r} is.",
            f"Name it with --kind ({KINDS.names()}).",
        )
    return JudgedFile(location.kind, verify(data, location.kind, path.name, trusted, revoked))
