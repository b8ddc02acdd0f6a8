"""Editing a customization: a person edits a copy, and only a valid text replaces the file.

* The editor gets a copy. The file is replaced, whole, only if the editor succeeds and the text is valid.
* Where a person can be asked, they can edit an invalid text again. Otherwise, or if they give up, the file keeps its content
  and the edited text is saved next to it as ``<file>.rejected``.
* A file that does not exist starts as a template that changes nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import OVERRIDES
from rye.project.layout import find_project
from rye.storage.safe_files import read_bytes
from rye.text.diagnostics import Diagnostic, has_errors
from rye.workspace.trusting.customizations import remember_made_here

if TYPE_CHECKING:
    from rye.customization.places import Folder
    from rye.workspace.context import Context


class Editable(Struct, frozen=True):
    """A file to edit."""

    folder: Folder
    path: Path
    shown: str
    current: bytes | None
    """Its bytes; None if it does not exist."""
    template: str
    """The text to start from if it does not exist."""
    check: Callable[[bytes], Sequence[Diagnostic]]
    """Returns the findings about a text."""


class Edited(Struct, frozen=True):
    """The outcome of an edit."""

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
    """The way to a person's editor."""

    def edit(self, copy: Path) -> None:
        """Return when the person is done with the file. Raises RyeError if the editor fails."""

    def show(self, shown: str, findings: Sequence[Diagnostic]) -> None:
        """Show the findings about their text."""


def edit_file(context: Context, file: Editable, editor: Editor) -> Edited:
    """Let a person edit the file.

    Raises RyeError ``file-too-large``, ``rejected-edit``, ``changed-meanwhile`` and what the editor raises.
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
        remember_made_here(context.home, find_project(context.cwd), file.path, file.current, edited, was_shown=True)
    return Edited(file.path, file.shown, file.current is None, edited != before, findings)


def _edited_text(copy: Path) -> bytes:
    data = read_bytes(copy, OVERRIDES.file_bytes)
    if len(data) > OVERRIDES.file_bytes:
        raise RyeError("file-too-large", f"The text has more than {OVERRIDES.file_bytes:,} bytes. Nothing was changed.")
    return data


def _rejected(file: Editable, edited: bytes, findings: Sequence[Diagnostic]) -> RyeError:
    first = next(finding for finding in findings if finding.severity == "error")
    place = f" (line {first.line})" if first.line is not None else ""
    kept = _keep(file, edited)
    return RyeError(
        "rejected-edit",
        f"{file.shown} was not changed, because the new text is not valid: {first.message}{place}",
        f"Your text is kept in {kept}.",
        details={"diagnostics": [finding.as_json() for finding in findings]},
    )


def _replace(file: Editable, edited: bytes) -> None:
    try:
        is_replaced = file.folder.replace(file.path, file.current, edited)
    except RyeError as error:  # a link has taken the place of a folder
        kept = _keep(file, edited)
        raise RyeError(error.code, error.message, f"Your text is kept in {kept}. {error.hint or ''}".strip()) from error
    if not is_replaced:
        raise RyeError(
            "changed-meanwhile",
            f"{file.shown} was changed while you edited it, and was left alone.",
            f"Your text is kept in {_keep(file, edited)}.",
        )


def _keep(file: Editable, edited: bytes) -> str:
    """Save a text that was not accepted next to the file, beside those that were kept before, or where that is not possible, in a
    new temporary folder; return its path, as shown to people."""
    try:
        name = file.folder.keep(file.path.with_name(f"{file.path.name}.rejected"), edited)
    except (RyeError, OSError):
        kept = Path(tempfile.mkdtemp(prefix="rye-edited-")) / file.path.name
        kept.write_bytes(edited)
        return str(kept)
    return file.shown.removesuffix(file.path.name) + name
