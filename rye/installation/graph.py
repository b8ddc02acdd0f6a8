"""The dependency graph of a lock, and the chains through which the manifest needs an item. Pure; no recursion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import Identity, lookup_key, parse_reference
from rye.project.lock import Lock, LockedItem
from rye.project.manifest import Manifest, Requested
from rye.text.spelling import close_words

MOST_CHAINS = 1000
"""The maximum number of chains that ``why`` lists; a graph can have exponentially many."""

Mark = Literal["", "seen", "cycle", "missing"]


class Node(Struct, frozen=True):
    """One line of the tree. ``mark``: ``seen`` (its dependencies are listed further up), ``cycle`` (it depends on itself)."""

    depth: int
    last: tuple[bool, ...]
    """For each level from the top: whether the node there is the last of its siblings."""
    identity: Identity
    item: LockedItem | None
    mark: Mark


def roots(lock: Lock, manifest: Manifest) -> list[tuple[Requested, Identity]]:
    """Return the manifest's direct dependencies that are locked, as (line, identity)."""
    pairs: list[tuple[Requested, Identity]] = []
    for wanted in manifest.dependencies:
        matches = [i.identity for i in lock.items if i.id == wanted.id and wanted.kind in (None, i.kind)]
        pairs.extend((wanted, identity) for identity in matches)
    return pairs


def reached(lock: Lock, manifest: Manifest) -> set[Identity]:
    """Return the locked items that the manifest needs, directly or indirectly."""
    items = lock.by_identity()
    identities: set[Identity] = set()
    waiting = [identity for _, identity in roots(lock, manifest)]
    while waiting:
        identity = waiting.pop()
        if identity in items and identity not in identities:
            identities.add(identity)
            waiting.extend(_identity(name) for name in items[identity].dependencies)
    return identities


def tree(lock: Lock, manifest: Manifest) -> Iterator[Node]:
    """Return the lock as a tree below the direct dependencies, depth first. An item's dependencies are listed only once."""
    items = {item.identity: item for item in lock.items}
    seen: set[Identity] = set()
    tops = list(dict.fromkeys(identity for _, identity in roots(lock, manifest)))
    stack: list[tuple[Identity, tuple[bool, ...], tuple[Identity, ...]]] = [
        (identity, (number == len(tops) - 1,), ()) for number, identity in reversed(list(enumerate(tops)))
    ]
    while stack:
        identity, last, above = stack.pop()
        item = items.get(identity)
        below = [_identity(name) for name in item.dependencies] if item is not None else []
        mark: Mark = ""
        if item is None:
            mark = "missing"
        elif identity in above:
            mark = "cycle"
        elif identity in seen and below:
            mark = "seen"
        yield Node(len(last) - 1, last, identity, item, mark)
        if mark or item is None:
            continue
        seen.add(identity)
        for number, child in reversed(list(enumerate(below))):
            stack.append((child, (*last, number == len(below) - 1), (*above, identity)))


def chains(
    lock: Lock, manifest: Manifest, target: Identity
) -> tuple[list[tuple[Requested, tuple[Identity, ...]]], bool]:
    """Return every chain to ``target``: (the manifest's line, the identities down to the target), shortest first.

    The second value says whether there are more than :data:`MOST_CHAINS`. A chain never visits an item twice.
    """
    dependents: dict[Identity, list[Identity]] = {}
    for item in lock.items:
        for name in item.dependencies:
            dependents.setdefault(_identity(name), []).append(item.identity)
    lines: dict[Identity, list[Requested]] = {}
    for line, identity in roots(lock, manifest):
        lines.setdefault(identity, []).append(line)
    paths: list[tuple[Requested, tuple[Identity, ...]]] = []
    waiting: list[tuple[Identity, ...]] = [(target,)]
    reach = _ancestors(dependents, target)
    position = 0
    while position < len(waiting):
        if len(paths) > MOST_CHAINS or len(waiting) > 100 * MOST_CHAINS:
            return paths[:MOST_CHAINS], True
        chain = waiting[position]
        position += 1
        tops = sorted(lines.get(chain[0], []), key=lambda line: (line.member, line.group))
        paths.extend((line, chain) for line in tops)
        for above in sorted(dependents.get(chain[0], [])):
            if above not in chain and above in reach:
                waiting.append((above, *chain))
    return paths, False


def _ancestors(dependents: Mapping[Identity, list[Identity]], target: Identity) -> set[Identity]:
    found, waiting = {target}, [target]
    while waiting:
        for above in dependents.get(waiting.pop(), []):
            if above not in found:
                found.add(above)
                waiting.append(above)
    return found


def locked_item(lock: Lock, text: str) -> LockedItem:
    """Return the locked item that ``[kind:]id`` means. Raises RyeError ``not-installed``, UsageError ``ambiguous``."""
    reference = parse_reference(text)
    wanted = lookup_key(reference.id)
    of_kind = [item for item in lock.items if reference.kind in (None, item.kind)]
    matches = [item for item in of_kind if lookup_key(item.id) == wanted]
    matches = matches or [item for item in of_kind if lookup_key(item.identity.local_id) == wanted]
    matches = matches or [
        item for item in of_kind if "/" not in wanted and lookup_key(item.id.rsplit("/")[-1]) == wanted
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        listed = ", ".join(str(item.identity) for item in matches)
        raise UsageError("ambiguous", f"{text!r} is ambiguous: {listed}.", f"Name one: {matches[0].identity}.")
    raise not_installed(lock, text)


def not_installed(lock: Lock, text: str) -> RyeError:
    """Return the error for a ``[kind:]id`` that is not in the lock, with similar ids as suggestions."""
    near = similar(parse_reference(text).id, (item.id for item in lock.items))
    hint = f"Did you mean {', '.join(near)}?" if near else "`rye list` shows what is installed."
    return RyeError("not-installed", f"{text!r} is not in rye.lock.", hint)


def similar(identifier: str, known: Iterable[str]) -> list[str]:
    """Return at most three similar ids, likeliest first. A shorter id is also compared with the ends of the known ones."""
    names: dict[str, list[str]] = {}
    for one in sorted(set(known)):
        end = "/".join(one.split("/")[-identifier.count("/") - 1 :])
        for name in {one, end}:
            names.setdefault(name, []).append(one)
    near = close_words(identifier, names, 3)
    return list(dict.fromkeys(one for name in near for one in names[name]))[:3]


def _identity(name: str) -> Identity:
    kind, _, identifier = name.partition(":")
    return Identity(kind, identifier)
