"""The names in a batch: whether new ones are free and cannot be confused with others, and which items references mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.items.identity import Identity, fold, lookup_key
from rye.items.kinds import KINDS
from rye.items.look_alikes import NameIndex
from rye.publishing.release import Publishable
from rye.registry.protocol.derivation import candidates
from rye.workspace.publishing.batch import Refusals
from rye.workspace.publishing.similar_names import similar_names
from rye.workspace.registries.registry_access import open_registry

if TYPE_CHECKING:
    from rye.project.registries import Registries
    from rye.registry.client import RegistryClient
    from rye.registry.transport.api import RegistryApi
    from rye.workspace.context import Context


def with_free_names(
    context: Context,
    client: RegistryClient,
    api: Callable[[], RegistryApi],
    items: Sequence[Publishable],
    refusals: Refusals,
) -> list[Publishable]:
    """Compare names that are new in the registry with the names there, and return the items whose names are free.

    A name that folds to a taken one is refused, as the server would refuse it (DESIGN 5 Names): ``name-look-alike``. A similar
    name gives a warning.
    """
    records = client.releases([item.identity for item in items])
    left = [item for item in items if records[item.identity]]
    new = [item for item in items if not records[item.identity]]
    if not new:
        return left
    similar = similar_names(client, api, [str(item.identity) for item in new])
    pairs = (name.split(":", 1) for name in sorted(similar))
    names = [Identity(kind, identifier) for kind, identifier in pairs if kind in KINDS]
    taken = {(name.kind, fold(name.id)): name for name in names}
    index = NameIndex(names)
    for item in new:
        identity = item.identity
        with refusals.of(item, left):
            other = taken.setdefault((identity.kind, fold(identity.id)), identity)
            if other != identity:
                raise RyeError(
                    "name-look-alike",
                    f"{identity} looks like {other}, which is taken. Names are compared without `._-`; `l`, `i` read as 1, `o` "
                    "as 0.",
                    "Choose a name that people cannot confuse with it.",
                )
        near = index.near(identity)
        if near:
            context.warn(
                f"{identity} is similar to {', '.join(map(str, near[:3]))}: people may confuse them.",
                "Choose another name unless you mean this one: a published name is permanent.",
            )
    return left


def references(
    context: Context, where: Registries, client: RegistryClient, items: Sequence[Publishable]
) -> Callable[[tuple[Identity, ...]], Identity | None]:
    """A function that resolves references: in the batch, then in each namespace's registry, with one request per namespace."""
    batch = {(item.identity.kind, lookup_key(item.identity.id)): item.identity for item in items}
    wanted: dict[str, set[str]] = {}
    for item in items:
        for dependency in item.metadata.dependencies:
            for candidate in candidates(item.identity, dependency.reference):
                spellings = {candidate.id, candidate.id.replace("-", "_"), candidate.id.replace("_", "-")}
                wanted.setdefault(candidate.namespace, set()).update(spellings)
    identities: dict[tuple[str, str], Identity] = {}
    for namespace, ids in wanted.items():
        identities.update(_known(context, where, client, namespace, sorted(ids)))

    def resolve(options: tuple[Identity, ...]) -> Identity | None:
        for option in options:
            key = (option.kind, lookup_key(option.id))
            if key in batch or key in identities:
                return batch.get(key) or identities[key]
        return None

    return resolve


def _known(
    context: Context, where: Registries, client: RegistryClient, namespace: str, ids: list[str]
) -> dict[tuple[str, str], Identity]:
    address = where.by_namespace.get(namespace, where.default)
    if address is None:
        return {}
    if address == client.address:
        kinds = client.kinds_of(ids)
    else:
        with open_registry(context, address, writes=True) as other:
            kinds = other.kinds_of(ids)
    return {(kind, lookup_key(one)): Identity(kind, one) for one, found in kinds.items() for kind in found}
