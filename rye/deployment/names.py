"""The names of items in agent programs, which have no namespaces (docs/how-to/agents.md). Pure.

A name is the last part of the id, with ``-`` for ``_``. ``prefix`` puts the namespace before it: ``acme-pdf``. A skill keeps
its name, which is part of its signed bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from rye.items.identity import Identity

FIXED = ("skill",)
"""Kinds whose name cannot change."""


def names_for(kind: str, identifier: str) -> tuple[str, ...]:
    """Return the names that an item can have, the plain one first."""
    plain = identifier.rpartition("/")[2].replace("_", "-")
    if kind in FIXED:
        return (plain,)
    return plain, f"{identifier.partition('/')[0].replace('_', '-')}-{plain}"


def chosen_names(
    items: Iterable[tuple[Identity, str]], prefix: str, taken: Mapping[str, Collection[str]]
) -> dict[Identity, str]:
    """Return the name of each item. ``items``: each with its destination folder; ``prefix``: ``never``, ``on-clash`` or
    ``always``; ``taken``: by folder, the names of what the program brings itself."""
    listed = list(items)
    found = {identity: names_for(identity.kind, identity.id) for identity, _ in listed}
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for identity, slot in listed:
        counts[slot, found[identity][0]] += 1

    def prefixed(slot: str, name: str) -> bool:
        return prefix == "always" or (prefix == "on-clash" and (counts[slot, name] > 1 or name in taken.get(slot, ())))

    return {
        identity: names[-1] if prefixed(slot, names[0]) else names[0]
        for (identity, slot), names in zip(listed, found.values(), strict=True)
    }


def clashes(names: Mapping[Identity, str], slots: Mapping[Identity, str]) -> list[tuple[str, tuple[Identity, ...]]]:
    """Return the names that several items would have in the same folder, each with those items."""
    by_name: dict[tuple[str, str], list[Identity]] = defaultdict(list)
    for identity, name in names.items():
        by_name[slots[identity], name].append(identity)
    return [(name, tuple(sorted(wanting))) for (_, name), wanting in sorted(by_name.items()) if len(wanting) > 1]
