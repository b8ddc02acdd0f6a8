"""Editing a customization in the person's editor.

* ``$VISUAL``, else ``$EDITOR``, split as a shell would split it and started without one.
* The editor gets a copy. Only when it ends well and the text is valid is the file replaced, whole.
* On a terminal an invalid text is given back to be fixed. Otherwise, and when the person gives up, the file keeps its content
  and the edited text is kept next to it as ``<file>.rejected``.
* A file that is not there begins as a template that changes nothing.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from rye.cli.options import Session
from rye.errors import RyeError
from rye.limits import OVERRIDES
from rye.project.item_file import read_bytes
from rye.storage.atomic import replace_file
from rye.text.diagnostics import Diagnostic, has_errors

Check = Callable[[bytes], Sequence[Diagnostic]]


class Edited(Struct, frozen=True):
    """What became of the file."""

    path: Path
    shown: str
    created: bool
    changed: bool
    diagnostics: tuple[Diagnostic, ...]

    def as_json(self) -> dict[str, object]:
        return {
            "path": self.shown,
            "created": self.created,
            "changed": self.changed,
            "diagnostics": [finding.as_json() for finding in self.diagnostics],
        }


def editor_command() -> list[str]:
    """The words of the editor's command. Raises RyeError ``no-editor``."""
    for variable in ("VISUAL", "EDITOR"):
        value = os.environ.get(variable, "").strip()
        if not value:
            continue
        try:
            words = shlex.split(value)
        except ValueError as error:
            raise RyeError("no-editor", f"${variable} is {value!r}: {error}.", "Fix its quotes.") from None
        if words:
            return words
    raise RyeError("no-editor", "Neither $VISUAL nor $EDITOR is set.", "Set one, e.g. `export EDITOR=vi`.")


def edit_file(session: Session, path: Path, shown: str, current: bytes | None, template: str, check: Check) -> Edited:
    """Let a person edit the file at ``path``, whose bytes are ``current`` (None: it is not there yet).

    ``check`` gives the findings of a text. Raises RyeError ``no-editor``, ``editor-failed``, ``rejected-edit`` or
    ``changed-meanwhile``.
    """
    words = editor_command()
    before = template.encode("utf-8") if current is None else current
    with tempfile.TemporaryDirectory(prefix="rye-edit-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(before)
        while True:
            _run(words, copy)
            edited = _edited_text(copy)
            findings = tuple(check(edited))
            session.console.diagnostics(shown, [f for f in findings if f.severity != "info"])
            if not has_errors(findings):
                break
            if session.interactive and session.console.confirm("The text is not valid. Edit it again?"):
                continue
            raise _rejected(path, shown, edited, findings)
    if current is None or edited != current:
        _replace(path, shown, current, edited)
    return Edited(path, shown, current is None, edited != before, findings)


def _run(words: list[str], copy: Path) -> None:
    try:
        # The editor talks to the person: what it prints must not end up in the data of this command.
        done = subprocess.run([*words, str(copy)], stdout=_terminal(), check=False)
    except OSError as error:
        raise RyeError(
            "editor-failed", f"Cannot start {words[0]!r}: {error.strerror}.", "Check $VISUAL and $EDITOR."
        ) from None
    if done.returncode != 0:
        raise RyeError("editor-failed", f"{words[0]!r} ended with {done.returncode}; nothing was changed.")


def _terminal() -> int | None:
    """Where the editor's output goes: to the terminal, else to where diagnostics go."""
    return None if os.isatty(1) else 2


def _edited_text(copy: Path) -> bytes:
    data = read_bytes(copy, OVERRIDES.file_bytes)
    if len(data) > OVERRIDES.file_bytes:
        raise RyeError("too-large", f"The text has more than {OVERRIDES.file_bytes:,} bytes; nothing was changed.")
    return data


def _rejected(path: Path, shown: str, edited: bytes, findings: Sequence[Diagnostic]) -> RyeError:
    first = next(finding for finding in findings if finding.severity == "error")
    place = f" (line {first.line})" if first.line is not None else ""
    kept = path.with_name(f"{path.name}.rejected")
    kept.parent.mkdir(parents=True, exist_ok=True)
    replace_file(kept, edited)
    return RyeError(
        "rejected-edit",
        f"{shown} was not changed, because the new text is not valid: {first.message}{place}",
        f"Your text is kept in {shown}.rejected.",
        details={"diagnostics": [finding.as_json() for finding in findings]},
    )


def _replace(path: Path, shown: str, current: bytes | None, edited: bytes) -> None:
    now = path.read_bytes() if path.exists() else None
    if now != current:
        kept = path.with_name(f"{path.name}.rejected")
        replace_file(kept, edited)
        raise RyeError(
            "changed-meanwhile",
            f"{shown} was changed by someone else while you edited it, and was left alone.",
            f"Your text is kept in {shown}.rejected.",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path.resolve(), edited)  # a person's own symlinks stay; in a project there are none


def report_edit(session: Session, done: Edited) -> None:
    """Say what became of the file."""
    if session.json:
        session.console.document(done.as_json())
    else:
        session.console.data(
            f"{'created' if done.created else 'changed' if done.changed else 'unchanged'} {done.shown}"
        )
