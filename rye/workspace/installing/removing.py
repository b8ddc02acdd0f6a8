"""Removing items from a project's manifest, with the dependencies that no other item needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from rye.consent.sorts import some
from rye.errors import RyeError, UsageError
from rye.installation.completeness import ambiguous, named, similar
from rye.items.identity import Reference, parse_reference
from rye.limits import SOURCES
from rye.project.layout import Project
from rye.project.lock import Lock
from rye.project.lock_file import Unlock, read_lock
from rye.project.manifest import Requested, parse_manifest
from rye.project.manifest_edit import remove_dependencies, remove_source
from rye.workspace.authoring.origins import followed_namespaces
from rye.workspace.context import Context
from rye.workspace.installing.adding import member_meant
from rye.workspace.installing.install import run_attempt
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_request import Agree, InstallRequest
from rye.workspace.installing.install_session import InstallSession, open_session, retry_when_overtaken
from rye.workspace.installing.project_state import require_manifest


def remove(
    context: Context,
    project: Project,
    request: InstallRequest,
    names: Sequence[str],
    agree: Agree,
    member: str | None = None,
    *,
    everything: bool = False,
) -> InstallOutcome:
    """Remove items from rye.toml. ``member``: the workspace's member to remove them from, by folder or name; None means the one
    around the working folder, or else the root. ``everything``: the names are namespaces, sources' among them, and all of their
    items are removed.

    Raises RyeError ``not-a-dependency``, UsageError ``ambiguous`` or ``unknown-name``.
    """

    def attempt() -> InstallOutcome:
        require_manifest(project)
        session = open_session(context, project, request, agree)
        asker = member_meant(context, project, session.manifest, member)
        text = session.text_of(asker)
        rows, item_of = parse_manifest(text).dependencies, _Items(session)
        left = rows
        for name in names:
            meant = _all_of(left, name) if everything else _meant(left, name, session, item_of, asker)
            left = tuple(row for row in left if row.key not in meant)
        kept = {row.key for row in left}
        text, _ = remove_dependencies(text, [row.key for row in rows if row.key not in kept])
        gone = {item_of(line) for line in rows} - {item_of(line) for line in left}
        unused = {identifier.partition("/")[0] for _, identifier in gone} - followed_namespaces(project)
        outcome = run_attempt(_without_sources(session.with_manifest(text, asker), unused), Unlock.nothing())
        return replace(
            outcome, stays=tuple(_staying(read_lock(project), gone)) if outcome.result == "installed" else ()
        )

    return retry_when_overtaken(context, attempt)


def _without_sources(session: InstallSession, names: Iterable[str]) -> InstallSession:
    """The session without those of these sources that are no longer used."""
    used = {line.id.partition("/")[0] for line in session.manifest.dependencies}
    for name in sorted(set(names) & session.manifest.sources.keys() - used):
        session = session.with_manifest(remove_source(session.manifest_text, name))
    return session


def _all_of(dependencies: Sequence[Requested], namespace: str) -> frozenset[str]:
    """The keys of all items of a namespace."""
    keys = frozenset(line.key for line in dependencies if line.id.partition("/")[0] == namespace)
    if not keys:
        listed = ", ".join(sorted({line.id.partition("/")[0] for line in dependencies}))
        hint = f"It has items of these: {listed}." if listed else "It lists no items yet; `rye add` adds some."
        raise RyeError("not-a-dependency", f"rye.toml has no items of {namespace!r}.", hint)
    return keys


class _Items:
    """Which items rows of rye.toml mean, in one attempt."""

    def __init__(self, session: InstallSession) -> None:
        self._locked: dict[str, set[str]] = {}
        self._named: dict[str, set[str]] = {}
        for item in session.before.lock.items:
            self._locked.setdefault(item.id, set()).add(item.kind)
        for row in session.manifest.dependencies:
            if row.kind is not None:
                self._named.setdefault(row.id, set()).add(row.kind)

    def __call__(self, line: Requested) -> tuple[str | None, str]:
        """Kind and id of the item that a row means; the kind of a row without one is that of rye.lock, if it has one of the id
        that no other row names."""
        if line.kind is not None:
            return line.kind, line.id
        locked = self._locked.get(line.id, set())
        kinds = locked if len(locked) == 1 else locked - self._named.get(line.id, set())
        return (next(iter(kinds)) if len(kinds) == 1 else None), line.id


def _staying(lock: Lock, gone: Iterable[tuple[str | None, str]]) -> Iterator[str]:
    """What rye.toml has no longer and is installed still, with the reason."""
    rows = {(item.kind, item.id): item.identity for item in lock.items}
    for identity in sorted(rows[each] for each in rows.keys() & set(gone)):
        needing = [str(item.identity) for item in lock.items if str(identity) in item.dependencies]
        why = f"{some(needing)} {'needs' if len(needing) == 1 else 'need'} it" if needing else "another rye.toml has it"
        yield f"{identity} stays installed: {why}"


def _rows_of(wanted: Reference, rows: Sequence[Requested], item_of: _Items) -> dict[Requested, str | None]:
    """The rows that mean an item, with its kind. ``rows``: those of one file."""
    ids = named(wanted.id, (line.id for line in rows if wanted.kind in (None, line.kind) or line.kind is None))
    kinds = {line: item_of(line)[0] for line in rows if line.id in ids}
    return {line: kind for line, kind in kinds.items() if wanted.kind in (None, kind)}


def _meant(
    dependencies: Sequence[Requested], name: str, session: InstallSession, item_of: _Items, member: str
) -> frozenset[str]:
    """The keys of every row that means the named item. ``member``: whose rows they are."""
    wanted, whole = parse_reference(name), session.manifest
    meant = _rows_of(wanted, dependencies, item_of)
    keys = list(dict.fromkeys(line.key for line in meant))
    if len({line.id for line in meant}) > 1:
        raise ambiguous(name, keys)
    if len(set(meant.values())) > 1:
        raise UsageError(
            "ambiguous", f"{name!r} matches {', '.join(keys)} in rye.toml.", f"Name one: {max(keys, key=len)}."
        )
    if not keys:
        near = similar(wanted.id, (line.id for line in dependencies))
        listed = ", ".join(line.key for line in dependencies[: SOURCES.listed_items])
        listed += ", …" if len(dependencies) > SOURCES.listed_items else ""
        has = f"It has: {listed}." if listed else "It lists no items yet; `rye add [KIND:]ID` adds one."
        place = f" -p {member}" if member else ""
        meant_by = [f"`rye remove {line.key}{place}`" for each in near for line in dependencies if line.id == each]
        hint = f"Did you mean {' or '.join(meant_by[:3])}?" if meant_by else has
        members = sorted({line.member for line in whole.dependencies})
        rows = {one: [line for line in whole.dependencies if line.member == one] for one in members}
        others = [one or "." for one in members if _rows_of(wanted, rows[one], item_of)]
        if others:
            has = "has" if len(others) == 1 else "have"
            hint = f"{', '.join(others)} {has} it: `rye remove {name} -p {others[0]}`."
        file = f"{member}/rye.toml" if member else "rye.toml"
        raise RyeError("not-a-dependency", f"{name!r} is not in {file}.", hint)
    return frozenset(keys)
