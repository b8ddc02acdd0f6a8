"""The signed text of a note whose signatures were verified before (:mod:`rye.registry.protocol.notes`)."""

from __future__ import annotations


def note_text(note: str) -> str:
    """The text, with its last newline, without the empty line and the signatures; all of it where no signatures follow."""
    return note[: note.rfind("\n\n") + 1] or note
