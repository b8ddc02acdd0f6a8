"""Which existing names people may confuse with a new one, for whoever is about to claim or publish it.

Admission refuses names that fold to the same letters. What is told here is more, and refuses nothing: namespaces one letter
apart, the same item in such a namespace, and, of what search finds for its words, items one letter apart. The work is bounded
for any number of names: an index finds each spelling that a name could be confused with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import sqlalchemy as sa

from registry_server.sequencer.columns import folded
from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import names
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.items.look_alikes import NameIndex, one_apart
from rye.registry.protocol.wire import NAMESPACE, SIMILAR_TOLD, namespace_name

_EXISTING = Prepared(sa.select(names.c.name).where(Among(names.c.name)))
_FOLDED_ALIKE = Prepared(sa.select(names.c.name).where(Among(names.c.fold)))


def similar_names(
    connection: sa.Connection, asked: Sequence[str], found: Mapping[str, Iterable[Identity]]
) -> list[list[str]]:
    """Return up to ``SIMILAR_TOLD`` names for each of these, sorted. ``found``: what search finds for the words of an item."""
    near = _Near(connection)
    return [sorted(near.of(name, found.get(name, ())) - {name})[:SIMILAR_TOLD] for name in asked]


class _Near:
    """Asks the tables; of several names in one namespace, once for those like it."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._spaces: dict[str, set[str]] = {}

    def of(self, name: str, found: Iterable[Identity]) -> set[str]:
        kind, _, identifier = name.partition(":")
        if kind == NAMESPACE:
            return {namespace_name(space) for space in self._spaces_like(identifier)}
        new = Identity(kind, identifier)
        elsewhere = [
            f"{any_kind}:{space}/{new.local_id}" for space in self._spaces_like(new.namespace) for any_kind in KINDS
        ]
        near = self._rows(_EXISTING, elsewhere)
        near |= self._rows(_FOLDED_ALIKE, [folded(f"{any_kind}:{identifier}") for any_kind in KINDS])
        return near | {str(other) for other in NameIndex(found).near(new)}

    def _spaces_like(self, namespace: str) -> set[str]:
        if namespace not in self._spaces:
            spelled = map(namespace_name, one_apart(namespace))
            like = self._rows(_EXISTING, spelled) | self._rows(_FOLDED_ALIKE, [folded(namespace_name(namespace))])
            self._spaces[namespace] = {name.partition(":")[2] for name in like} - {namespace}
        return self._spaces[namespace]

    def _rows(self, asked: Prepared, values: Iterable[str]) -> set[str]:
        some = list(values)
        return {row[0] for row in asked.rows(self._connection, {"some": some})} if some else set()
