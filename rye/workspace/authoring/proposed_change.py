"""Changes to the person's own files: proposed as values, written if they are agreed to.

A file that changed since it was read is left alone: what was agreed to is what was shown.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.signing.signature_line import FoundLine, content_hash, find, layout_of, text_of
from rye.storage.atomic import Replacement, replace_files
from rye.text import content

if TYPE_CHECKING:
    from rye.workspace.context import Context


class ProposedChange(Struct, frozen=True, kw_only=True):
    """One file's new bytes. Both versions are UTF-8."""

    path: Path
    shown: str
    kind: str
    old: bytes
    new: bytes
    changes: tuple[str, ...]
    """What the change does, in words."""
    breaks_signature: bool = False
    """Whether the file has a signature that does not cover the new text."""

    @property
    def diff(self) -> str:
        """A unified diff of the text, ending with a newline; empty if only line endings or a byte order mark change."""
        old, new = (content.fixed(data).decode("utf-8").split("\n") for data in (self.old, self.new))
        shown = self.shown.lstrip("/")
        names = (f"a/{shown}", f"b/{shown}")
        lines = difflib.unified_diff(old, new, *names, lineterm="")
        return "".join(f"{line}\n" for line in lines)

    def as_json(self, written: bool) -> dict[str, object]:
        """The entry of ``results`` in the JSON document."""
        return {
            "path": self.shown,
            "kind": self.kind,
            "written": written,
            "changes": list(self.changes),
            "diff": self.diff,
            "breaks_signature": self.breaks_signature,
        }


Agree = Callable[[Sequence[ProposedChange]], bool]
"""Shows a person the changes (at least one) and returns whether they agree to all of them."""


def breaks_signature(old: bytes, new: bytes, kind: str, file_name: str) -> bool:
    """Whether ``old`` has a signature line whose signed text differs in ``new``."""
    layout = layout_of(kind, file_name)
    before, after = find(text_of(old), layout), find(text_of(new), layout)
    if not isinstance(before, FoundLine) or before.line is None:
        return False
    return (
        not isinstance(after, FoundLine) or after.line is None or content_hash(before.rest) != content_hash(after.rest)
    )


def write_agreed(context: Context, proposed: Sequence[ProposedChange], agree: Agree) -> bool:
    """Ask once about all changes, and replace each file whole. Returns whether they were written.

    Raises RyeError ``changed-meanwhile`` if one changed since it was read; then nothing is written.
    """
    if not proposed or not agree(proposed):
        return False
    write_changes(context, proposed)
    broken = [change.shown for change in proposed if change.breaks_signature]
    if broken:
        context.warn(
            f"The signature does not cover the new text: {', '.join(broken)}.",
            f"`{shlex.join(['rye', 'sign', *broken])}` signs it.",
        )
    return True


def write_changes(context: Context, changes: Iterable[ProposedChange]) -> None:
    """Replace all files, or none. Raises RyeError ``changed-meanwhile`` if one changed since it was read."""
    changes = tuple(changes)
    replace_files([Replacement(change.path.resolve(), change.shown, change.old, change.new) for change in changes])
    for change in changes:
        context.tell(f"wrote {change.shown}", "ok")
