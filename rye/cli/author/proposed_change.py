"""Changes to the user's own files: shown as a diff, then written when a person or ``--yes`` agrees.

* The diff is data (stdout); the question goes to stderr. Without a person and without ``--yes`` nothing is written.
* All of the changes are agreed to at once, after all of them were shown; each file is replaced whole.
* A file that changed since it was read is left alone: what was agreed to is what was shown.
* Line endings and a byte order mark would mark every line: they are said in words, the diff is of the text.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError

if TYPE_CHECKING:
    from rye.cli.options import Session


class ProposedChange(Struct, frozen=True):
    """One file's new bytes. Both old and new are UTF-8."""

    path: Path
    shown: str
    kind: str
    old: bytes
    new: bytes
    changes: tuple[str, ...]
    """What was done, in words."""
    breaks_signature: bool = False
    """The file has a signature line, and the signature does not cover the new text."""

    @property
    def diff(self) -> str:
        """A unified diff of the text, ending with a newline; empty where only line endings or a byte order mark change."""
        from rye.text import content

        old, new = (content.fixed(data).decode("utf-8").split("\n") for data in (self.old, self.new))
        shown = self.shown.lstrip("/")
        names = (f"a/{shown}", f"b/{shown}")
        lines = difflib.unified_diff(old, new, *names, lineterm="")
        return "".join(f"{line}\n" for line in lines)

    def as_json(self, written: bool) -> dict[str, object]:
        return {
            "path": self.shown,
            "kind": self.kind,
            "written": written,
            "changes": list(self.changes),
            "diff": self.diff,
            "breaks_signature": self.breaks_signature,
        }


def breaks_signature(old: bytes, new: bytes, kind: str, file_name: str) -> bool:
    """Whether ``old`` has a signature line, and the text that it stands above is another one in ``new``."""
    from rye.signing.signature_line import Found, content_hash, find, layout_of, text_of

    layout = layout_of(kind, file_name)
    before, after = find(text_of(old), layout), find(text_of(new), layout)
    if not isinstance(before, Found) or before.line is None:
        return False
    return not isinstance(after, Found) or after.line is None or content_hash(before.rest) != content_hash(after.rest)


def offer(session: Session, proposed: Sequence[ProposedChange], again: str) -> bool:
    """Show the changes and write them if that is agreed to; says whether they were written.

    ``again`` is the command that would write them, for the hint where nobody can be asked.
    """
    if not proposed:
        return False
    for change in proposed:
        _show(session, change)
    if not _agreed(session, len(proposed), again):
        return False
    for change in proposed:
        _write(change)
        session.console.say(f"wrote {change.shown}", "ok")
    broken = [change.shown for change in proposed if change.breaks_signature]
    if broken:
        names = ", ".join(broken)
        session.console.warn(
            f"The signature does not cover the new text: {names}.",
            f"`{shlex.join(['rye', 'sign', *broken])}` signs it.",
        )
    return True


def _show(session: Session, change: ProposedChange) -> None:
    from rye.cli.console import printable

    console = session.console
    console.data(console.style(printable(change.shown), "strong"))
    for what in change.changes:
        console.data(f"  {printable(what)}")
    for line in change.diff.splitlines():
        style = {"+": "added", "-": "removed", "@": "hint"}.get(line[:1])
        text = printable(line)
        console.data(console.style(text, style) if style else text)


def _agreed(session: Session, count: int, again: str) -> bool:
    if session.yes:
        return True
    if session.interactive:
        return session.console.confirm("Write this change?" if count == 1 else f"Write these changes to {count} files?")
    session.console.say(f"Nothing was written. `{again}` writes what is shown.", "hint")
    return False


def _write(change: ProposedChange) -> None:
    from rye.limits import CONTENT
    from rye.project.item_file import read_bytes
    from rye.storage.atomic import replace_file

    if read_bytes(change.path, CONTENT.item_bytes) != change.old:
        raise RyeError("changed-meanwhile", f"{change.shown} was changed just now and was left alone.", "Run it again.")
    replace_file(change.path.resolve(), change.new)
