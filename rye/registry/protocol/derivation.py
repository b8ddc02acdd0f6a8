"""What a release note must say about an item, derived from the item's bytes (docs/reference/statements.md,
rye.release/v1).

DESIGN §5: the blob is the source of truth. Publisher, server and client share this module. The publisher writes the
lines with it; the other two derive them again and refuse a note that differs. Pure: metadata in, lines out. The caller
knows which candidates exist.

A relation's reference is written as in the item. What it can refer to:

* ``-`` only in ``requires``, for a feature of the environment, and only if the reference names no kind.
* A qualified reference (with ``/``) means that id.
* A bare name in ``acme/a/b/x`` means ``acme/a/b/name``, then ``acme/a/name``, then ``acme/name``.
* Without ``kind:`` it can be any kind; directives are tried first. ``-`` and ``_`` are the same character.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from rye.errors import RyeError
from rye.items.identity import Identity, lookup_key
from rye.items.kinds import KINDS
from rye.items.reading import Dependency, Metadata
from rye.registry.protocol.lines import one_line
from rye.registry.protocol.statements import MAX_DESCRIPTION_CHARACTERS, Hook, Relation, Release

#: Finds the item that a reference means: gets the candidates in order of preference, returns one that exists, or None.
Resolve = Callable[[tuple[Identity, ...]], Identity | None]

_RELATIONS = ("depends_on", "requires", "conflicts_with")


class DerivedLines(Struct, frozen=True):
    """The lines of a release note that follow from the item's bytes, each sorted as the note has them."""

    depends_on: tuple[Relation, ...]
    requires: tuple[Relation, ...]
    conflicts_with: tuple[Relation, ...]
    capabilities: tuple[str, ...]
    hooks: tuple[Hook, ...]


def candidates(dependent: Identity, reference: str) -> tuple[Identity, ...]:
    """Return what ``reference`` (``[kind:]id`` or a bare name) can mean in the item ``dependent``, the preferred
    first.
    """
    kind, _, name = reference.rpartition(":")
    kinds = (kind,) if kind else tuple(KINDS)
    if "/" in name:
        ids = [name]
    else:
        folders = dependent.id.split("/")[:-1]
        ids = ["/".join([*folders[:length], name]) for length in range(len(folders), 0, -1)]
    # A nearer place beats a better kind: an item in the same folder is meant, whatever its kind.
    return tuple(Identity(one, identifier) for identifier in ids for one in kinds)


def may_stand_for(dependent: Identity, relation: str, reference: str, identity: Identity | None) -> bool:
    """Whether a note can name ``identity`` (None: ``-``) for this reference."""
    if identity is None:
        return relation == "requires" and ":" not in reference
    return any(
        identity.kind == candidate.kind and lookup_key(identity.id) == lookup_key(candidate.id)
        for candidate in candidates(dependent, reference)
    )


def derived_lines(identity: Identity, metadata: Metadata, resolve: Resolve) -> DerivedLines:
    """Return the lines that the publisher of ``metadata`` writes.

    Raises RyeError ``unresolved-reference`` if ``resolve`` finds nothing for a ``depends_on`` or ``conflicts_with``.
    """
    found: dict[str, list[Relation]] = {relation: [] for relation in _RELATIONS}
    for dependency in metadata.dependencies:
        if dependency.relation not in found:
            continue  # suggests, used_by and example_of are information (DESIGN §6)
        target = resolve(candidates(identity, dependency.reference))
        if not may_stand_for(identity, dependency.relation, dependency.reference, target):
            raise RyeError(
                "unresolved-reference",
                f"{identity} has {dependency.relation} {dependency.reference}, but no such item was found.",
                f"Publish {dependency.reference} first, or in the same batch. `rye search WORDS` finds existing items."
                if "/" in dependency.reference
                else "Publish that item first, or write its qualified id: [kind:]namespace/category/name.",
            )
        found[dependency.relation].append(Relation(dependency.reference, target, _range(dependency)))
    return DerivedLines(
        depends_on=_sorted(found["depends_on"]),
        requires=_sorted(found["requires"]),
        conflicts_with=_sorted(found["conflicts_with"]),
        capabilities=tuple(sorted(set(metadata.capabilities))),
        hooks=_hooks(metadata),
    )


def contradiction(release: Release, metadata: Metadata) -> str | None:
    """Return how the release note differs from the item's bytes, in words; None if they agree."""
    identity = release.identity
    for relation, noted in zip(_RELATIONS, (release.depends_on, release.requires, release.conflicts_with), strict=True):
        in_item = sorted({(d.reference, _range(d)) for d in metadata.dependencies if d.relation == relation})
        in_note = sorted((entry.reference, entry.range) for entry in noted)
        if in_item != in_note:
            return f"its {relation} lines are {_listed(in_note)}, but the item has {_listed(in_item)}"
        for entry in noted:
            if not may_stand_for(identity, relation, entry.reference, entry.identity):
                return f"its {relation} {entry.reference} cannot mean {entry.identity or 'no item'}"
    if release.capabilities != tuple(sorted(set(metadata.capabilities))):
        return f"its capabilities are {_words(release.capabilities)}, but the item has {_words(metadata.capabilities)}"
    if release.hooks != _hooks(metadata):
        return "its hooks are not the item's"
    if metadata.version is not None and metadata.version != release.version:
        return f"its version is {release.version}, but the item's is {metadata.version}"
    name = identity.id.rpartition("/")[2]
    if metadata.name != name:
        return f"its id ends in {name}, but the item's name is {metadata.name}"
    return None


def note_description(metadata: Metadata) -> str:
    """Return the item's description as the note's single line."""
    return one_line(metadata.description, MAX_DESCRIPTION_CHARACTERS, metadata.name)


def _range(dependency: Dependency) -> str:
    """The range in one line: runs of spaces become one, and an absent range is ``*``."""
    return " ".join((dependency.range or "*").split()) or "*"


def _sorted(relations: list[Relation]) -> tuple[Relation, ...]:
    return tuple(sorted(set(relations), key=lambda relation: relation.write().encode()))


def _hooks(metadata: Metadata) -> tuple[Hook, ...]:
    hooks = {Hook(hook.item_type, hook.item_id) for hook in metadata.hooks}
    return tuple(sorted(hooks, key=lambda hook: hook.write().encode()))


def _listed(pairs: list[tuple[str, str]]) -> str:
    return ", ".join(f"{reference} {wanted}" for reference, wanted in pairs) or "none"


def _words(patterns: tuple[str, ...]) -> str:
    return ", ".join(patterns) or "none"
