"""The signed text of a note whose signatures have already been verified (:mod:`rye.registry.protocol.notes`)."""

from __future__ import annotations


def note_text(note: str) -> str:
    """Return the text with its last newline, without the empty line and the signatures; the whole note if it has
    none.
    """
    return note[: note.rfind("\n\n") + 1] or note
