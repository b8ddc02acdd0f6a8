"""Asking a person to confirm something that cannot be undone.

:func:`confirm` guards what only people start: without a terminal it needs ``--yes``. :func:`confirm_on_terminal` guards what
programs start as well, and have started since before it was asked: it goes on without a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.errors import RyeError

if TYPE_CHECKING:
    from rye.workspace.context import Context


def confirm(context: Context, question: str, nothing_done: str) -> None:
    """Require a yes to something that cannot be undone. Raises RyeError ``declined`` and ``confirmation-needed``."""
    if context.assume_yes:
        return
    if not context.interactive:
        raise RyeError(
            "confirmation-needed",
            f"Confirmation required; {nothing_done}",
            f"{question} To confirm, repeat with --yes.",
        )
    if not context.ask(question):
        raise RyeError("declined", nothing_done[0].upper() + nothing_done[1:])


def confirm_on_terminal(context: Context, question: str, nothing_done: str) -> None:
    """Ask whoever sits at a terminal, unless ``--yes`` was given. Raises RyeError ``declined``."""
    if context.interactive:
        confirm(context, question, nothing_done)
