"""The names of a registry that people may confuse with one that is about to be claimed or published.

In a registry of up to ``suggested_names`` names, all of them are read, so each that is similar is found, and proved. In a larger
one its server says which are similar, and the name map proves that they exist. The spellings that people take for a namespace
most easily (:func:`rye.items.look_alikes.likeliest`) are looked up in the map whatever the server says: it cannot hide those.
Where there is no such server, all names are read, up to ``listed_names``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rye.items.look_alikes import likeliest
from rye.limits import REGISTRY
from rye.registry.protocol.wire import NAMESPACE, SIMILAR_ASKED, namespace_name
from rye.registry.transport.api import BUSY, ApiError

if TYPE_CHECKING:
    from rye.registry.client import RegistryClient
    from rye.registry.transport.api import RegistryApi

_WITHOUT = frozenset({"read-only-registry", "insecure-registry"})


def similar_names(client: RegistryClient, api: Callable[[], RegistryApi], asked: Sequence[str]) -> frozenset[str]:
    """Return the existing names among which the similar ones are, each ``kind:id`` or ``namespace:segment`` and proved by the
    name map. ``asked``: such names. Empty: the registry has too many names, and no server that answers."""
    every = client.every_name(REGISTRY.suggested_names)
    if every is not None:
        return every
    try:
        told = _told(api(), asked)
    except ApiError as error:
        if error.status in BUSY:
            told = set()  # strangers who keep it busy stop nobody from publishing: it could have hidden as much
        elif error.code in _WITHOUT or error.status == 404:
            return client.every_name(REGISTRY.listed_names) or frozenset()
        else:
            raise
    spaces = [name.partition(":")[2] for name in asked if name.partition(":")[0] == NAMESPACE]
    return client.existing({*told, *(namespace_name(other) for space in spaces for other in likeliest(space))})


def _told(api: RegistryApi, asked: Sequence[str]) -> set[str]:
    """What the server says, which may be wrong."""
    told: set[str] = set()
    for first in range(0, len(asked), SIMILAR_ASKED):
        for some in api.similar(asked[first : first + SIMILAR_ASKED]):
            told.update(some)
    return told
