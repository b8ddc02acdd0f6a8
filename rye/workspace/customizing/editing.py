"""Editing a customization: a person edits a copy, and only a valid text replaces the file.

* The editor gets a copy. Only when it ends well and the text is valid is the file replaced, whole.
* An invalid text is given back to be fixed where a person can be asked. Otherwise, and when they give up, the file keeps its
  content and the edited text is kept next to it as ``<file>.rejected``.
* A file that is not there begins as a template that changes nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import OVERRIDES
from rye.project.bounded_file import read_bytes
from rye.project.layout import find_project
from rye.storage.atomic import replace_file
from rye.text.diagnostics import Diagnostic, has_errors
from rye.workspace.trusting.customizations import remember_made_here

if TYPE_CHECKING:
    from rye.workspace.context import Context


class Editable(Struct, frozen=True):
    """A file to edit."""

    path: Path
    shown: str
    current: bytes | None
    """Its bytes; None: it is not there yet."""
    template: str
    """What it begins as where it is not there."""
    check: Callable[[bytes], Sequence[Diagnostic]]
    """The findings of a text."""


class Edited(Struct, frozen=True):
    """What became of the file."""

    path: Path
    shown: str
    created: bool
    changed: bool
    diagnostics: tuple[Diagnostic, ...]

    def as_json(self) -> dict[str, object]:
        """The document of ``edit --json``."""
        return {
            "path": self.shown,
            "created": self.created,
            "changed": self.changed,
            "diagnostics": [finding.as_json() for finding in self.diagnostics],
        }


class Editor(Protocol):
    """What stands between the file and the person."""

    def edit(self, copy: Path) -> None:
        """Return when the person is done with the file. Raises RyeError when the editor failed."""

    def show(self, shown: str, findings: Sequence[Diagnostic]) -> None:
        """Show the findings of what they wrote."""


def edit_file(context: Context, file: Editable, editor: Editor) -> Edited:
    """Let a person edit the file.

    Raises RyeError ``too-large``, ``rejected-edit``, ``changed-meanwhile`` and what the editor raises.
    """
    before = file.template.encode("utf-8") if file.current is None else file.current
    with tempfile.TemporaryDirectory(prefix="rye-edit-") as folder:
        copy = Path(folder) / file.path.name
        copy.write_bytes(before)
        while True:
            editor.edit(copy)
            edited = _edited_text(copy)
            findings = tuple(file.check(edited))
            editor.show(file.shown, [f for f in findings if f.severity != "info"])
            if not has_errors(findings):
                break
            if context.interactive and context.ask("The text is not valid. Edit it again?"):
                continue
            raise _rejected(file, edited, findings)
    if file.current is None or edited != file.current:
        _replace(file, edited)
        remember_made_here(find_project(context.cwd), file.path, file.current, was_shown=True)
    return Edited(file.path, file.shown, file.current is None, edited != before, findings)


def _edited_text(copy: Path) -> bytes:
    data = read_bytes(copy, OVERRIDES.file_bytes)
    if len(data) > OVERRIDES.file_bytes:
        raise RyeError("too-large", f"The text has more than {OVERRIDES.file_bytes:,} bytes; nothing was changed.")
    return data


def _rejected(file: Editable, edited: bytes, findings: Sequence[Diagnostic]) -> RyeError:
    first = next(finding for finding in findings if finding.severity == "error")
    place = f" (line {first.line})" if first.line is not None else ""
    _keep(file, edited)
    return RyeError(
        "rejected-edit",
        f"{file.shown} was not changed, because the new text is not valid: {first.message}{place}",
        f"Your text is kept in {file.shown}.rejected.",
        details={"diagnostics": [finding.as_json() for finding in findings]},
    )


def _replace(file: Editable, edited: bytes) -> None:
    now = file.path.read_bytes() if file.path.exists() else None
    if now != file.current:
        _keep(file, edited)
        raise RyeError(
            "changed-meanwhile",
            f"{file.shown} was changed by someone else while you edited it, and was left alone.",
            f"Your text is kept in {file.shown}.rejected.",
        )
    file.path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file.path.resolve(), edited)  # a person's own symlinks stay; in a project there are none


def _keep(file: Editable, edited: bytes) -> None:
    """Keep a text that was not accepted next to the file."""
    kept = file.path.with_name(f"{file.path.name}.rejected")
    kept.parent.mkdir(parents=True, exist_ok=True)
    replace_file(kept, edited)
