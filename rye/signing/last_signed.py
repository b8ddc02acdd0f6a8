"""The texts that this user signed on this machine, so that the next question about a file can show what changed.

A signature line names the hash of the text that it was made for, also when the text was changed afterwards. Under that hash the
text is kept in the user's cache. It is only shown: what counts as signed is decided by signatures alone. A text whose hash is not
its name is none.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from rye.limits import KEYS
from rye.signing.sign_item import unsigned_text
from rye.signing.signature_line import FoundLine, content_hash, find, layout_of
from rye.storage.private_files import make_folder, read_trusted, write


class LastSigned:
    """The kept texts. ``folder``: where they are."""

    def __init__(self, folder: Path):
        self._folder = folder

    def remember(self, data: bytes, kind: str, file_name: str) -> None:
        """Keep the text of a file that was just signed. A full or read-only disk only costs the next question its comparison."""
        text = unsigned_text(data.decode("utf-8"), layout_of(kind, file_name))
        with contextlib.suppress(OSError):
            make_folder(self._folder)
            write(self._folder / content_hash(text), text)
            self._forget_old()

    def before(self, text: str, kind: str, file_name: str) -> str | None:
        """The text that the file's signature line was made for, without the line; None if this machine does not have it."""
        line = find(text, layout_of(kind, file_name))
        if not isinstance(line, FoundLine) or line.line is None:
            return None
        try:
            kept = read_trusted(self._folder / line.line.hash).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        return kept if content_hash(kept) == line.line.hash else None

    def _forget_old(self) -> None:
        entries = [entry for entry in os.scandir(self._folder) if entry.is_file(follow_symlinks=False)]
        if len(entries) > KEYS.signed_texts:
            entries.sort(key=lambda entry: entry.stat().st_mtime_ns)
            for entry in entries[: len(entries) - KEYS.signed_texts]:
                Path(entry.path).unlink(missing_ok=True)
