"""Tags of registry heads, to fetch a head only if it changed: ``head-tags.json`` next to the trusted states.

No security depends on a tag. It is sent only for the head it came with. A registry that answers "not changed" leaves
the client with that head, whose age is checked as usual. A file that is damaged, or that other users can change, costs
one download.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from rye.storage.private_files import read_trusted

_FILE = "head-tags.json"
_MOST = 64
"""The most addresses in the file; a user reads few registries."""


class _Row(Struct, frozen=True, forbid_unknown_fields=True):
    head: str
    """SHA-256 of the head."""
    tag: str


class HeadTags(Struct, frozen=True):
    """The tags in the folder of the trusted states."""

    folder: Path

    def tag(self, address: str, head: str) -> str | None:
        """Return the tag that the server at an address gave this head; None if it gave none."""
        row = self._read().get(address)
        return row.tag if row is not None and row.head == _sha256(head) else None

    def remember(self, address: str, head: str, tag: str) -> None:
        """Store a tag. If the folder cannot be written, the next run downloads the head again."""
        rows = self._read()
        row = _Row(_sha256(head), tag)
        if rows.get(address) == row:
            return
        rows.pop(address, None)
        kept = dict([*rows.items(), (address, row)][-_MOST:])
        draft = self.folder / f"{_FILE}.{os.getpid()}-{os.urandom(8).hex()}.part"
        with suppress(OSError):
            try:
                descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
                draft.replace(self.folder / _FILE)
            finally:
                draft.unlink(missing_ok=True)

    def _read(self) -> dict[str, _Row]:
        try:
            return msgspec.json.decode(read_trusted(self.folder / _FILE), type=dict[str, _Row])
        except (OSError, msgspec.MsgspecError, UnicodeError):
            return {}


def _sha256(head: str) -> str:
    return hashlib.sha256(head.encode()).hexdigest()
