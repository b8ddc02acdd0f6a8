"""Whether a lock is complete for its manifest (DESIGN 6.1, Complete). Pure.

====  =========================================================================================================
Rule  What must hold
====  =========================================================================================================
G1    Each dependency of rye.toml is locked, in its range and its group, and the lock was made for just these. What
      ``[overrides]`` forces is locked as forced, in that range, and nothing else is.
G2    Each entry's dependencies are its signed release's, each of them locked and in its range.
G3    An entry's groups are those that reach it from rye.toml.
G4    Nothing is locked that rye.toml does not reach.
G5    What an entry approves, its release asks for: ``approved ⊆ capabilities``, and so for hooks, tools, runs and facts.
G6    No entry conflicts with another, and what an entry requires of the environment is provided.
====  =========================================================================================================

A range in ``[overrides]`` replaces every other range for that item (G1 and G2).

A violation of G6 is the only one that choosing versions again cannot fix: it is about the project, not about the lock.

The dependency graph of a lock, with the chains through which the manifest needs an item, is walked without recursion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from rye.consent.agreement import by_other_rules
from rye.consent.sorts import SORTS
from rye.errors import RyeError, UsageError, without_passwords
from rye.items.identity import Identity, lookup_key, parse_reference
from rye.items.signed_release import SignedRelease, identities_of
from rye.project.forced_versions import forced_range
from rye.project.lock import Lock, LockedItem
from rye.project.lock_file import source_key, wanted_key, wanted_ranges, wrongly_forced
from rye.project.manifest import Manifest, Requested
from rye.resolution.ranges import Range
from rye.resolution.versions import Version
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
    position = 0
    while position < len(waiting):
        if len(paths) > MOST_CHAINS or len(waiting) > 100 * MOST_CHAINS:
            return paths[:MOST_CHAINS], True
        chain = waiting[position]
        position += 1
        tops = sorted(lines.get(chain[0], []), key=lambda line: (line.member, line.group))
        paths.extend((line, chain) for line in tops)
        for above in sorted(dependents.get(chain[0], [])):
            if above not in chain:
                waiting.append((above, *chain))
    return paths[:MOST_CHAINS], len(paths) > MOST_CHAINS


def locked_item(lock: Lock, text: str) -> LockedItem:
    """Return the locked item that ``[kind:]id`` means. Raises RyeError ``not-installed``, UsageError ``ambiguous``."""
    matches = locked_items(lock, text)
    if len(matches) > 1:
        raise ambiguous(text, [str(item.identity) for item in matches])
    return matches[0]


def locked_items(lock: Lock, text: str) -> list[LockedItem]:
    """Return the locked items that ``[kind:]id`` means: of several kinds, or, by a short name, of several ids. Raises RyeError
    ``not-installed``."""
    reference = parse_reference(text)
    of_kind = [item for item in lock.items if reference.kind in (None, item.kind)]
    ids = named(reference.id, (item.id for item in of_kind))
    if not ids:
        raise not_installed(lock, text)
    return [item for item in of_kind if item.id in ids]


def named(name: str, ids: Iterable[str]) -> frozenset[str]:
    """Return those of these ids that a name means: with this id, or else with this id after the namespace, or else with this
    last segment."""
    wanted = lookup_key(name)
    forms = [(one, (one, one.partition("/")[2], one.rpartition("/")[2])) for one in ids]
    found = (frozenset(one for one, parts in forms if lookup_key(parts[form]) == wanted) for form in range(3))
    return next(filter(None, found), frozenset())


def ambiguous(text: str, names: Sequence[str]) -> UsageError:
    """Return the error for a name that means several items."""
    return UsageError("ambiguous", f"{text!r} is ambiguous: {', '.join(names)}.", f"Name one: {names[0]}.")


def not_installed(lock: Lock, text: str) -> RyeError:
    """Return the error for a ``[kind:]id`` that is not in the lock, with similar ids as suggestions."""
    near = similar(parse_reference(text).id, (item.id for item in lock.items))
    if not lock.items:
        hint = "Nothing is installed yet: `rye install` installs what rye.toml lists, `rye add [KIND:]ID` adds an item."
        return RyeError("not-installed", f"{text!r} is not in rye.lock.", hint)
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


RULES: Mapping[str, str] = {
    "G1": "rye.lock does not match a dependency in rye.toml.",
    "G2": "A locked item's dependencies differ from those of its signed release, or are locked outside their ranges.",
    "G3": "A locked item is in the wrong groups.",
    "G4": "A locked item is not needed by anything.",
    "G5": "rye.lock approves something that the item does not ask for.",
    "G6": "Two locked items conflict, or an item requires something that the project does not provide.",
}
OTHER_REGISTRY = "other-registry"
"""The rule of a problem outside the lock's content: an item is locked to a different registry than rye.toml names."""
MANIFEST_NAME = "rye.toml"
_LISTED = 3


class Problem(Struct, frozen=True):
    """One way in which a lock does not fit its manifest."""

    rule: str
    item: str
    """``kind:id``; for G1 as written in rye.toml."""
    message: str
    chain: tuple[str, ...] = ()
    """The chain from ``rye.toml`` to the subject of the problem; empty if there is none."""

    def __post_init__(self) -> None:
        """Take users and passwords out of what someone wrote as a range or as a path."""
        force_setattr(self, "message", without_passwords(self.message))

    @property
    def repairable(self) -> bool:
        """Whether choosing versions again can solve it."""
        return self.rule != "G6"

    def as_json(self) -> dict[str, object]:
        """``{"rule", "item", "message", "chain"}``."""
        return {"rule": self.rule, "item": self.item, "message": self.message, "chain": list(self.chain)}


def problems(manifest: Manifest, lock: Lock, signed: Mapping[Identity, SignedRelease]) -> list[Problem]:
    """Return all problems, by rule and item. For an item that is not in ``signed``, the lock's dependencies are used."""
    graph = _Graph(manifest, lock, signed)
    found = [
        *_dependencies_are_locked(manifest, graph),
        *_entries_are_whole(manifest, graph, signed),
        *_groups_are_reached(graph),
        *_approvals_are_asked_for(graph, signed),
        *_nothing_conflicts(manifest, graph, signed),
    ]
    return sorted(found, key=lambda problem: (problem.rule, problem.item, problem.message))


def does_not_fit(found: Sequence[Problem]) -> RyeError:
    """Return the error for a lock with these problems."""
    listed = "\n".join(f"  {_line(problem)}" for problem in found[:_LISTED])
    more = f"\n  and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return RyeError(
        "lock-does-not-fit",
        f"rye.lock does not match rye.toml:\n{listed}{more}",
        next_step(found),
        details={"problems": [problem.as_json() for problem in found]},
    )


def next_step(found: Sequence[Problem]) -> str:
    """Return what to do about a lock with these problems; an empty list: it was made for a different rye.toml."""
    if any(problem.rule == OTHER_REGISTRY for problem in found):
        return (
            "If rye.toml names the wrong registry, correct the address or map the namespace in [registries]. "
            "Otherwise run `rye lock`, which chooses versions again from the registry that rye.toml names."
        )
    if all(problem.repairable for problem in found):
        return "Run `rye install` to repair it, and commit rye.lock."
    return (
        "Change rye.toml to resolve the conflict: another range, another item, or what [environment] provides. "
        "`rye why ID` shows why an item is here."
    )


def _line(problem: Problem) -> str:
    chain = f" ({' → '.join(problem.chain)})" if problem.chain else ""
    return f"{problem.rule} {problem.item}: {problem.message}{chain}"


class _Graph:
    """The dependencies between items, according to the signed releases."""

    def __init__(self, manifest: Manifest, lock: Lock, signed: Mapping[Identity, SignedRelease]) -> None:
        self.lock = lock
        self.items = lock.by_identity()
        self.overrides = manifest.overrides
        self.needs: dict[Identity, list[tuple[Identity, str]]] = {}
        for item in lock.items:
            words = signed.get(item.identity)
            if words is not None:
                self.needs[item.identity] = list(words.needs(manifest.provides))
            else:
                self.needs[item.identity] = [(Identity(*name.split(":", 1)), "*") for name in item.dependencies]
        self.meant = {line: self._candidates(line) for line in manifest.dependencies}
        self.above: dict[Identity, Identity | None] = {}
        self.starts: dict[Identity, str] = {}
        """The manifest file that asks for each item at the top of a chain."""
        self.groups_at_least = self._reach(only_certain=True)
        self.groups_at_most = self._reach(only_certain=False)

    def asked(self, identity: Identity, wanted: str) -> str:
        """The range that applies: the forced one if there is one, otherwise the requested one."""
        return forced_range(self.overrides, identity) or wanted

    def _candidates(self, line: Requested) -> list[Identity]:
        """Return the items that a line can mean: without a kind, any locked kind of that id."""
        return [item.identity for item in self.lock.items if item.id == line.id and line.kind in (None, item.kind)]

    def _reach(self, *, only_certain: bool) -> dict[Identity, set[str]]:
        """Return the groups that need each item. ``only_certain``: without lines that can mean several kinds."""
        groups: dict[Identity, set[str]] = {identity: set() for identity in self.items}
        for line, meant in self.meant.items():
            if only_certain and len(meant) > 1:
                continue
            waiting: list[tuple[Identity, Identity | None]] = [(identity, None) for identity in meant]
            for identity, above in waiting:  # the loop appends to it: shortest chains first
                if identity not in groups or line.group in groups[identity]:
                    continue
                groups[identity].add(line.group)
                self.above.setdefault(identity, above)
                if above is None:
                    self.starts.setdefault(identity, line.file)
                waiting.extend((needed, identity) for needed, _ in self.needs[identity])
        return groups

    def chain(self, identity: Identity, *further: object) -> tuple[str, ...]:
        """Return the chain from rye.toml to the item, then ``further``; empty if nothing leads to the item."""
        if identity not in self.above:
            return ()
        names: list[str] = []
        here: Identity | None = identity
        start = MANIFEST_NAME
        while here is not None:
            names.append(f"{here}@{self.items[here].version}")
            start = self.starts.get(here, start)
            here = self.above[here]
        return (start, *reversed(names), *map(str, further))


def _dependencies_are_locked(manifest: Manifest, graph: _Graph) -> Iterator[Problem]:
    """G1."""
    asked = wanted_ranges(manifest)
    for line in manifest.dependencies:
        found = _unlocked(line, [graph.items[identity] for identity in graph.meant[line]], graph)
        key = wanted_key(line)
        made_for = graph.lock.wanted.get(key, "a rye.toml without it")
        if found is None and made_for != asked[key]:
            found = f"{line.file} asks for {asked[key]}, but rye.lock was made for {made_for}"
        if found is not None:
            yield Problem("G1", line.key, found, (line.file, line.key))
    for source in sorted(manifest.sources.values(), key=lambda source: source.name):
        made_for = graph.lock.wanted.get(source_key(source.name), "a rye.toml without it")
        if made_for != source.spec:
            found = f"rye.toml has it at {source.spec}, but rye.lock was made for {made_for}"
            yield Problem("G1", source_key(source.name), found, (MANIFEST_NAME, source.name))
    for item in wrongly_forced(graph.lock.items, manifest):
        forced = forced_range(manifest.overrides, item.identity)
        here = f"[overrides] of rye.toml forces {forced}" if forced else "[overrides] of rye.toml does not force it"
        there = f"rye.lock has it as forced to {item.forced}" if item.forced else "rye.lock does not have it as forced"
        yield Problem("G1", str(item.identity), f"{here}, but {there}", graph.chain(item.identity))
    for item in graph.lock.items:
        forced = forced_range(manifest.overrides, item.identity)
        if forced is not None and item.forced == forced and not _in_range(item.version, forced):
            message = f"[overrides] of rye.toml forces {forced}, but {item.version} is locked"
            yield Problem("G1", str(item.identity), message, graph.chain(item.identity))
    for key in sorted(graph.lock.wanted.keys() - asked.keys()):
        yield Problem("G1", key, "rye.lock was made for a rye.toml that asks for it, but this one does not")


def _unlocked(line: Requested, meant: Sequence[LockedItem], graph: _Graph) -> str | None:
    """Return why a line of the manifest is not satisfied; None if it is."""
    if not meant:
        return f"{line.file} asks for {line.range}, but it is not locked"
    fitting = [item for item in meant if _in_range(item.version, graph.asked(item.identity, line.range))]
    if not fitting:
        versions = " and ".join(item.version for item in meant)
        return f"{line.file} asks for {line.range}, but {versions} is locked"
    if not any(line.group in item.groups for item in fitting):
        return f"{line.file} has it in the group {line.group!r}, but rye.lock does not"
    return None


def _entries_are_whole(
    manifest: Manifest, graph: _Graph, signed: Mapping[Identity, SignedRelease]
) -> Iterator[Problem]:
    """G2."""
    for item in graph.lock.items:
        identity, needs = item.identity, graph.needs[item.identity]
        if identity in signed:
            true = identities_of(needs)
            if tuple(sorted(item.dependencies)) != true:
                listed = ", ".join(true) or "nothing"
                message = f"its signed release depends on {listed}; rye.lock says otherwise"
                yield Problem("G2", str(identity), message, graph.chain(identity))
        for needed, wanted in needs:
            locked = graph.items.get(needed)
            wanted = graph.asked(needed, wanted)
            ask = f" {wanted}" if wanted != "*" else ""
            if locked is None:
                message = f"it depends on {needed}{ask}, which is not locked"
                yield Problem("G2", str(identity), message, graph.chain(identity, needed))
            elif not _in_range(locked.version, wanted):
                message = f"it depends on {needed}{ask}, but {locked.version} is locked"
                yield Problem("G2", str(identity), message, graph.chain(identity, f"{needed}@{locked.version}"))


def _groups_are_reached(graph: _Graph) -> Iterator[Problem]:
    """G3 and G4."""
    for item in graph.lock.items:
        identity, groups = item.identity, set(item.groups)
        least, most = graph.groups_at_least[identity], graph.groups_at_most[identity]
        if not most:
            yield Problem("G4", str(identity), "nothing in rye.toml needs it")
        elif not least <= groups <= most:
            message = (
                f"the groups that need it are {', '.join(sorted(most))}; rye.lock says {', '.join(sorted(groups))}"
            )
            yield Problem("G3", str(identity), message, graph.chain(identity))


def _approvals_are_asked_for(graph: _Graph, signed: Mapping[Identity, SignedRelease]) -> Iterator[Problem]:
    """G5."""
    for item in graph.lock.items:
        chain = graph.chain(item.identity)
        for more in _approved_beyond(item, signed.get(item.identity)):
            yield Problem("G5", str(item.identity), f"rye.lock approves {more}", chain)


def _approved_beyond(item: LockedItem, words: SignedRelease | None) -> Iterator[str]:
    """Yield what an entry approves but its release does not have. The note alone lists neither runs nor tools."""
    examined = words if words is not None and words.mentions is not None else item
    for sort in sorted(SORTS, key=lambda sort: len(sort.keys)):  # what is compared one by one comes first
        asked = sort.asked(item if sort.name in _CLAIMED else examined)
        yield from (sort.extra(value) for value in sort.beyond(asked, sort.values(item.approved)) if asked)
    if words is not None and words.mentions is not None and not by_other_rules(item):
        mentioned = {mention.word for mention in words.mentions}
        for fact in item.approved.of("fact"):
            if fact not in mentioned:
                yield f"a fact that it does not have: {fact}"


_CLAIMED = ("right", "hook")
"""Sorts that an entry must list as its release does, or it is refused before."""


def _nothing_conflicts(
    manifest: Manifest, graph: _Graph, signed: Mapping[Identity, SignedRelease]
) -> Iterator[Problem]:
    """G6, for the items that rye.toml reaches; the others are removed anyway (G4)."""
    for item in graph.lock.items:
        words = signed.get(item.identity)
        if words is None or not graph.groups_at_most[item.identity]:
            continue
        for relation in words.conflicts_with:
            other = graph.items.get(relation.identity) if relation.identity is not None else None
            if other is None or other.identity == item.identity or not graph.groups_at_most[other.identity]:
                continue
            if _in_range(other.version, relation.range):
                message = f"it conflicts with {other.identity} {relation.range}, but {other.version} is locked"
                chain = graph.chain(item.identity, f"{other.identity}@{other.version}")
                yield Problem("G6", str(item.identity), message, chain)
        for feature in words.missing_features(manifest.provides):
            message = f"it requires {feature}, which [environment] provides of rye.toml does not list"
            yield Problem("G6", str(item.identity), message, graph.chain(item.identity, feature))


def _in_range(version: str, wanted: str) -> bool:
    """Whether a locked version is in a range. Pre-releases are allowed here: only the solver checks whether one was asked for."""
    if wanted == "*":
        return True

    try:
        return Version.parse(version) in Range.parse(wanted).versions
    except RyeError:
        return False
