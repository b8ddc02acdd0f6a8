"""Existing names that people may confuse with a new one, for somebody who is about to claim or publish it.

Admission refuses names that fold to the same letters. What is told here is more, and refuses nothing: namespaces one letter
apart, the same item in such a namespace, and, of what search finds for its words, items one letter apart. The work is bounded
for any number of names: an index finds each spelling that a name could be confused with. Those of 20 long namespaces are 100,000,
so they have one thread, which refuses what is too much: searches, publishing and the health check keep theirs.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from litestar import Request, Response, get
from litestar.datastructures import State

from registry_server.api.operations import Parameter, described
from registry_server.api.private_reading import require_reader
from registry_server.api.requests import json_answer, reader_of, service_of
from registry_server.api.service import Service
from registry_server.pages.limits import PAGES
from registry_server.sequencer.columns import folded
from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import names
from rye.errors import RyeError
from rye.items.identity import Identity, is_id, is_segment
from rye.items.kinds import KINDS
from rye.items.look_alikes import NameIndex, one_apart
from rye.registry.protocol import wire
from rye.registry.protocol.wire import NAMESPACE, SIMILAR_TOLD, namespace_name

_NEW_NAMES = {
    "type": "array",
    "items": {"type": "string", "maxLength": 1_100},
    "minItems": 1,
    "maxItems": wire.SIMILAR_ASKED,
}
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


@described(
    "similar",
    "Existing names that people may confuse with new ones, before these are claimed or published.",
    {200: wire.SimilarAnswer},
    (400, 401, 403, 503),
    Parameter("name", "query", f"KIND:ID or namespace:NAME, 1 to {wire.SIMILAR_ASKED} times.", _NEW_NAMES, True),
)
@get("/api/v1/similar")
async def _similar(request: Request[Any, Any, State]) -> Response[bytes]:
    service, limits = service_of(request), service_of(request).settings
    if limits.read != "public":
        require_reader(await reader_of(service, request.scope))  # every member sees all names
    asked = request.query_params.getall("name", [])
    if not 1 <= len(asked) <= wire.SIMILAR_ASKED:
        raise RyeError("bad-request", f"`name` must be given 1 to {wire.SIMILAR_ASKED} times.", None)
    for name in asked:
        if not _is_name(name):
            raise RyeError("bad-request", f"{name[:80]!r} is not a name.", "Names are KIND:ID and namespace:NAME.")
    await service.pages.turn(PAGES.search_pace_seconds)
    found = {name: await _of_these_words(service, name) for name in dict.fromkeys(asked)}
    looked = service.searches.look(lambda connection: similar_names(connection, asked, found))
    told = await asyncio.wrap_future(looked)
    return json_answer(wire.encode_json(wire.SimilarAnswer(told)))


def _is_name(text: str) -> bool:
    kind, _, identifier = text.partition(":")
    if kind == wire.NAMESPACE:
        return is_segment(identifier)
    return kind in KINDS and "/" in identifier and is_id(identifier)


async def _of_these_words(service: Service, name: str) -> list[Identity]:
    """What search finds for the words of a new item, whatever its namespace."""
    kind, _, identifier = name.partition(":")
    if kind == wire.NAMESPACE:
        return []
    words = " ".join(re.split(r"[/_-]+", Identity(kind, identifier).local_id))[: service.settings.search_characters]
    try:
        page = await asyncio.wrap_future(service.searches.ask(words, limit=service.settings.search_results))
    except RyeError as error:
        if error.code != "query-too-short":
            raise
        return []
    return [Identity(hit.kind, hit.id) for hit in page.hits]


SIMILAR_ROUTES = (_similar,)
