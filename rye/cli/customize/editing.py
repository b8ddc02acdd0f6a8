"""The person's editor: ``$VISUAL`` or else ``$EDITOR``, split as a shell would split it and started without a shell."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from rye.cli.options import Session
from rye.errors import RyeError
from rye.text.diagnostics import Diagnostic
from rye.workspace.customizing.editing import Editable, edit_file


def edit_and_report(session: Session, file: Editable) -> None:
    """Open the file in the person's editor, and report whether it was saved."""
    done = edit_file(session, file, _TerminalEditor(session))
    if session.json:
        session.console.document(done.as_json())
    else:
        state = "created" if done.created else "changed" if done.changed else "unchanged"
        session.console.data(f"{state} {done.shown}")


class _TerminalEditor:
    """The editor that ``$VISUAL`` or ``$EDITOR`` names. Findings are printed as diagnostics."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._words = editor_command(session.environment)

    def edit(self, copy: Path) -> None:
        words = self._words
        try:
            # The editor talks to the person: its output must not mix with this command's data.
            done = subprocess.run([*words, str(copy)], stdout=_terminal(), check=False)
        except OSError as error:
            raise RyeError(
                "editor-failed", f"Cannot start {words[0]!r}: {error.strerror}.", "Check $VISUAL and $EDITOR."
            ) from None
        if done.returncode != 0:
            raise RyeError("editor-failed", f"{words[0]!r} exited with {done.returncode}, so nothing was changed.")

    def show(self, shown: str, findings: Sequence[Diagnostic]) -> None:
        self._session.console.diagnostics(shown, findings)


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """The words of the editor's command. Raises RyeError ``editor-failed``."""
    for variable in ("VISUAL", "EDITOR"):
        value = environment.get(variable, "").strip()
        if not value:
            continue
        try:
            words = shlex.split(value)
        except ValueError as error:
            raise RyeError("editor-failed", f"${variable} is {value!r}: {error}.", "Fix its quotes.") from None
        if words:
            return words
    raise RyeError("editor-failed", "Neither $VISUAL nor $EDITOR is set.", "Set one, e.g. `export EDITOR=vi`.")


def _terminal() -> int | None:
    """Where the editor's output goes: to the terminal, or else to stderr."""
    return None if os.isatty(1) else 2
