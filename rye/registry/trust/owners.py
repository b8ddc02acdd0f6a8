"""Whose signatures of a registry's owners count for which entry of its log.

Pure. A recovery, a takedown and an owners' advisory are signed by a threshold of the owners of the root in force where
the log has them. The log has the roots as well, so an auditor and the server know each root's position exactly. A client
reads no whole log. It knows this much: a head of *n* entries whose snapshot names root *r* proves that *r*, or a later
root, is in force for every entry from position *n* on. From there on, owners who were replaced by then sign nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from rye.registry.protocol import notes
from rye.registry.protocol.notes import NoteError, SignedNote, VerifierKey
from rye.registry.protocol.statements import Root, root_key_name


class Owners(Struct, frozen=True):
    """All roots of a registry, oldest first, and from where on the earlier ones are known to be replaced."""

    roots: tuple[Root, ...]
    since: Mapping[int, int] = field(default_factory=dict)
    """Number of a root → a position from which on it, or a later root, was in force. A root that is missing here is not
    known to have been in force anywhere, so it ends none of those before it."""

    def at(self, position: int) -> tuple[Root, ...]:
        """Return the roots that may have been in force at a position: none that was replaced before it."""
        last = max((number for number, start in self.since.items() if start <= position), default=0)
        return tuple(root for root in self.roots if root.number >= last)

    def signed(self, note: SignedNote, position: int) -> bool:
        """Whether a threshold of the owners of one of these roots signed the entry at a position."""
        return signed_by_owners(note, self.at(position))


def owner_keys(root: Root) -> tuple[VerifierKey, ...]:
    """Return a root's owners under the name that their signatures have."""
    return tuple(VerifierKey(root_key_name(root.origin), key) for key in root.owners)


def signed_by_owners(note: SignedNote, roots: Iterable[Root]) -> bool:
    """Whether a threshold of the owners of one of these roots signed the note."""
    for root in roots:
        try:
            notes.verify(note, owner_keys(root), root.threshold)
        except NoteError:
            continue
        return True
    return False
