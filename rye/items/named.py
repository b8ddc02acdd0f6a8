"""The items that an item's text names, and those of them that are not here (docs/reference/kinds.md, What a text names). Pure.

A relation (``depends_on`` …) is not in this table: what an item declares is installed with it, or nothing is. The rest of what
the formats name, and what happens when it is not here:

=========  ====================================================================  ==========================================
kind       names                                                                 when it is not here
=========  ====================================================================  ==========================================
directive  what it calls by a complete id; what a right to execute or load       the call fails with ``not-installed``
           names without a pattern; what a hook executes
agent      the agents of its transitions, but ``complete`` and itself            nothing takes over
role       the roles that it hands off to, but the Nexus and everyone            nothing takes over
formula    the formulas that it extends, expands a step with or weaves in        it cannot be rendered (``unknown-formula``)
=========  ====================================================================  ==========================================

Tools, skills and bundles name other items by relations only, and ``references`` of knowledge are for people, as ``suggests`` is.
A search needs no item, a signature is for an item that is still to be written, and a pattern (``acme.*``) or a part that is only
known at run time names nothing. Each kind's reader makes its rows, which are part of what the verified bytes say
(:attr:`rye.items.reading.Metadata.names`). Present is what a look-up would find: kinds are apart, ``-`` and ``_`` are one
letter, and a local id or a bare name counts (:func:`rye.project.spaces.find`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from rye.items.identity import is_id, lookup_key
from rye.items.rights import Call, NamedItem, Permission
from rye.limits import CONTENT
from rye.text.diagnostics import Diagnostic

ABSENT = "absent-item"
"""The code of the warning, and of the audit's rule."""
_FAILS = "Until then, the call fails with `not-installed`."
_EFFECTS = {
    "hands over to": "Until then, nothing takes over.",
    "is made from": "Until then, it cannot be rendered.",
}
"""What happens without the item, by how it is named; otherwise, a call fails."""
_PRIMARIES = frozenset({"execute", "load"})


class Hooked(Protocol):
    """A hook, as far as it names an item."""

    @property
    def item_type(self) -> str:
        """The kind."""
        ...

    @property
    def item_id(self) -> str:
        """The id as written."""
        ...

    @property
    def line(self) -> int:
        """The line in the file."""
        ...


def called(calls: Iterable[Call], permissions: Iterable[Permission], hooks: Iterable[Hooked]) -> tuple[NamedItem, ...]:
    """What a workflow names, in the order calls, rights, hooks."""
    return _once(_called(calls, permissions, hooks))


def handed_to(kind: str, names: Iterable[tuple[str, int | None]]) -> tuple[NamedItem, ...]:
    """What takes over work, by bare name and line."""
    return _once(NamedItem(kind, name, line, "hands over to") for name, line in names if is_id(name))


def made_from(kind: str, names: Iterable[str]) -> tuple[NamedItem, ...]:
    """What a text is made from, by bare name."""
    return _once(NamedItem(kind, name, None, "is made from") for name in names if is_id(name))


def _called(calls: Iterable[Call], permissions: Iterable[Permission], hooks: Iterable[Hooked]) -> Iterator[NamedItem]:
    for call in calls:
        if call.primary in _PRIMARIES and call.item_type and call.item_id and is_id(call.item_id):
            yield NamedItem(call.item_type, call.item_id, call.line, "calls")
    for permission in permissions:
        parts = permission.capability.split(".", 3)
        if len(parts) == 4 and parts[1] in _PRIMARIES and is_id(parts[3].replace(".", "/")):
            yield NamedItem(parts[2], parts[3].replace(".", "/"), permission.line, "has a right for")
    for hook in hooks:
        if is_id(hook.item_id):
            yield NamedItem(hook.item_type, hook.item_id, hook.line, "has a hook for")


def _once(names: Iterable[NamedItem]) -> tuple[NamedItem, ...]:
    found: dict[tuple[str, str], NamedItem] = {}
    for one in names:
        if len(found) == CONTENT.named_items:
            break
        found.setdefault((one.kind, lookup_key(one.id)), one)
    return tuple(found.values())


class AbsentItem(NamedItem, frozen=True):
    """One named item that is not here."""

    @property
    def name(self) -> str:
        """``kind:id``."""
        return f"{self.kind}:{self.id}"

    @property
    def message(self) -> str:
        """The predicate of a sentence whose subject is the item."""
        return f"{self.verb} {self.name}, which is not installed."

    @property
    def hint(self) -> str:
        """The next command."""
        effect = _EFFECTS.get(self.verb, _FAILS)
        return f"{self.command} {'adds it' if '/' in self.id else 'finds items of that name'}; or correct the name. {effect}"

    @property
    def command(self) -> str:
        """The command that adds it, or that looks for a bare name."""
        return f"`rye add {self.name}`" if "/" in self.id else f"`rye search {self.id}`"

    def within(self, namespace: str | None) -> AbsentItem:
        """The same with a complete id, if it is a bare name and the naming item's namespace is known."""
        return (
            self
            if "/" in self.id or not namespace
            else AbsentItem(self.kind, f"{namespace}/{self.id}", self.line, self.verb)
        )

    def as_diagnostic(self) -> Diagnostic:
        """The warning about the item's own file."""
        return Diagnostic("warning", ABSENT, f"This item {self.message}", self.line, hint=self.hint)


class ItemNames:
    """The items that look-ups find, by kind and by every name that they answer to."""

    def __init__(self, items: Iterable[tuple[str, str, str]], provided: Iterable[str] = ()):
        """``items``: kind, id and local id of each. ``provided``: what the agent program provides by itself, with or without
        a kind (``[environment] provides``)."""
        self._names: set[tuple[str, str]] = set()
        self._provided = {lookup_key(name) for name in provided}
        for kind, item_id, local in items:
            self._names.update((kind, lookup_key(name)) for name in (item_id, local, local.rpartition("/")[2]))

    def joined(self, items: Iterable[tuple[str, str, str]] = (), provided: Iterable[str] = ()) -> ItemNames:
        """These and more."""
        more = ItemNames(items, provided)
        more._names |= self._names
        more._provided |= self._provided
        return more

    def has(self, kind: str, item_id: str) -> bool:
        """Whether a look-up of the id finds one item or more."""
        key = lookup_key(item_id)
        return (kind, key) in self._names or key in self._provided or f"{kind}:{key}" in self._provided

    def lacks(self, names: Iterable[NamedItem]) -> tuple[AbsentItem, ...]:
        """Those of ``names`` that no look-up finds, in their order."""
        lacking = (one for one in names if not self.has(one.kind, one.id))
        return tuple(AbsentItem(one.kind, one.id, one.line, one.verb) for one in lacking)
