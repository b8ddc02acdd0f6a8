"""What happened under a name, entry by entry: the publisher's own watch over a log that they trust nobody to show truly.

Pure: entries that are proved to be in the log come in, events come out. Nothing here says whether a statement is valid
(:mod:`rye.registry.trust.auditing` does); the owner of a name must hear of everything that was logged about it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from rye.items.identity import fold
from rye.registry.protocol import notes
from rye.registry.protocol.lines import StatementError, write_time
from rye.registry.protocol.notes import NoteError, SignedNote
from rye.registry.protocol.statements import (
    Advisory,
    Deprecation,
    Description,
    Keyset,
    Logged,
    OfTheLog,
    OwnerProof,
    OwnerStatement,
    Release,
    Takedown,
    Yank,
    parse,
)
from rye.signing.keys import PublicKey


class Event(Struct, frozen=True, kw_only=True):
    """One entry about a watched name."""

    log: int
    """Its position."""
    what: str
    """release, yank, unyank, deprecation, undeprecation, advisory, takedown, keyset, recovery, look-alike or unreadable."""
    name: str
    """``kind:id`` or a namespace."""
    version: str | None
    time: str
    own: bool
    """Whether a key that this machine knows as its own signed it."""

    @property
    def reference(self) -> str:
        """``KIND:ID@VERSION`` of a release, as an expectation names it."""
        return f"{self.name}@{self.version}"


class Watched(Struct, frozen=True, kw_only=True):
    """What is looked for."""

    namespaces: frozenset[str]
    own: frozenset[bytes]
    """Raw public keys of this machine."""
    look_alikes: bool = False

    def events(self, entries: Iterable[tuple[int, bytes]]) -> list[Event]:
        """Return the events among entries, each with its position."""
        words = [name.encode() for name in self.namespaces]
        folded = {fold(name) for name in self.namespaces} if self.look_alikes else set()
        events = []
        for position, entry in entries:
            # Most entries are about others: what does not contain the name at all cannot be about it.
            if not any(word in entry for word in words) and not (folded and entry.startswith(b"rye.keyset/v1\n")):
                continue
            event = self._event(position, entry, folded)
            if event is not None:
                events.append(event)
        return events

    def _event(self, position: int, entry: bytes, folded: Collection[str]) -> Event | None:
        try:
            note = notes.parse(entry)
            statement = parse(note.text)
        except (NoteError, StatementError):
            return Event(log=position, what="unreadable", name="?", version=None, time="", own=False)
        if isinstance(statement, OfTheLog):
            return None
        namespace = (
            statement.namespace if isinstance(statement, Keyset | OwnerStatement) else statement.identity.namespace
        )
        if namespace not in self.namespaces:
            is_like = isinstance(statement, Keyset) and statement.number == 1 and fold(namespace) in folded
            return self._made(position, "look-alike", statement, note) if is_like else None
        return self._made(position, _what(statement), statement, note)

    def _made(self, position: int, what: str, statement: Logged, note: SignedNote) -> Event:
        name = str(getattr(statement, "identity", None) or getattr(statement, "namespace", "?"))
        version = getattr(statement, "version", None)
        own = any(_signed(note, key) for key in self.own)
        time = write_time(statement.time)
        return Event(log=position, what=what, name=name, version=version, time=time, own=own)


def unexpected(events: Iterable[Event], expected: Collection[str]) -> list[Event]:
    """Return the events that were not announced: all but releases by an own key that ``expected`` names."""
    return [one for one in events if not (one.what == "release" and one.own and one.reference in expected)]


def _what(statement: Logged) -> str:
    if isinstance(statement, Keyset):
        return "recovery" if statement.recovery is not None else "keyset"
    if isinstance(statement, Yank):
        return "yank" if statement.yanked else "unyank"
    if isinstance(statement, Deprecation):
        return "deprecation" if statement.deprecated else "undeprecation"
    names: dict[type, str] = {
        Release: "release",
        Advisory: "advisory",
        Takedown: "takedown",
        OwnerProof: "proof",
        Description: "description",
    }
    return names.get(type(statement), statement.TITLE)


def _signed(note: SignedNote, key: bytes) -> bool:
    """Whether a key signed the note, whatever name its line has."""
    public, message = PublicKey(key), note.text.encode()
    return any(public.verifies(message, line.signature) for line in note.signatures)
