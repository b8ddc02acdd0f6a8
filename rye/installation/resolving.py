"""Resolving a project's dependencies to one release per item, over registries, level by level.

The index holds each release's note, signed by its publisher, so dependencies are known before any item is fetched.
Each level of the graph costs one wave of requests. Rules (DESIGN §6): one version per item; locked versions are
preferred; yanked ones are used only if they are locked, and in an update only if nothing else can be;
``minimum-release-age``, revoked keys and required signers exclude releases; ``<requires>`` means a feature that the
project provides, otherwise an item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.installation.completeness import reached
from rye.installation.environment import Environment
from rye.installation.provider import Package, Part, Provider, exactly
from rye.installation.sources import History, Record, Sources, another_place, expect_origin, locked_source_record
from rye.items.identity import Identity
from rye.project.forced_versions import ForcedVersion, forced_range
from rye.project.lock import Lock, LockedItem
from rye.project.lock_file import Unlock, wanted_key
from rye.project.manifest import Manifest, Requested
from rye.registry.trust.records import ItemHistory, ReleaseRecord, check_installable, find_locked
from rye.registry.trust.trust_error import TrustError
from rye.resolution.outcome import NeedsMore, Unsolvable
from rye.resolution.problem import Exclusion, Requirement, Root
from rye.resolution.ranges import Range
from rye.resolution.solver import Resolution
from rye.resolution.versions import Version
from rye.text.spelling import close_words
from rye.verified.memory import mismatch

_NEWEST = 5
"""The number of versions that an error lists."""


class Chosen(Struct, frozen=True):
    """One item in the solution."""

    record: Record
    dependencies: tuple[str, ...]
    """The identities of its dependencies, sorted."""
    groups: tuple[str, ...]
    """The manifest's groups that need it, sorted."""
    forced: str | None = None
    """The range that ``[overrides]`` forces on it."""


def identify(wanted: Sequence[Requested], sources: Sources, lock: Lock | None = None) -> dict[Requested, Identity]:
    """Return the item that each line of the manifest means: of the given kind, of the only kind that exists, or of the kind
    that the line is locked to. If someone publishes another kind under the id, projects that use it must not break.

    Raises RyeError ``no-such-item``, UsageError ``ambiguous``.
    """
    found = {w: Identity(w.kind, w.id) for w in wanted if w.kind is not None}
    open_ids = [w.id for w in wanted if w.kind is None]
    rows = [row for row in lock.items if row.id in open_ids] if lock is not None else []
    held = {identity.id: (identity.kind,) for identity in sources.held(rows)}
    asked = [one for one in open_ids if one not in held]
    kinds = {**held, **(_kinds_of(asked, _locked_kinds(wanted, lock), sources) if asked else {})}
    for line in wanted:
        if line.kind is not None:
            continue
        present = kinds[line.id]
        if not present:
            raise _unknown(line, sources)
        if len(present) > 1 and lock is not None and wanted_key(line) in lock.wanted:
            present = tuple(item.kind for item in lock.items if item.id == line.id and item.kind in present) or present
        if len(present) > 1:
            listed = ", ".join(f"{kind}:{line.id}" for kind in present)
            raise UsageError("ambiguous", f"{line.id!r} is ambiguous: {listed}.", f"Name one: {present[0]}:{line.id}.")
        found[line] = Identity(present[0], line.id)
    return found


def _locked_kinds(wanted: Sequence[Requested], lock: Lock | None) -> dict[str, tuple[str, ...]]:
    """The locked kinds of each id whose lines without a kind are all locked. No other kind counts for these lines."""
    if lock is None:
        return {}
    kinds: dict[str, tuple[str, ...]] = {}
    for item in lock.items:
        kinds[item.id] = (*kinds.get(item.id, ()), item.kind)
    for line in wanted:
        if line.kind is None and wanted_key(line) not in lock.wanted:
            kinds.pop(line.id, None)
    return kinds


def _kinds_of(
    ids: Sequence[str], locked: Mapping[str, tuple[str, ...]], sources: Sources
) -> dict[str, tuple[str, ...]]:
    """The kinds that each id exists as. Of one that is locked, the others are only looked for if it is not there any more: each
    kind of each id is a path of its own in the name map."""
    kinds = sources.kinds_of(ids, locked)
    gone = [one for one in ids if one in locked and not kinds[one]]
    return {**kinds, **(sources.kinds_of(gone) if gone else {})}


def _unknown(line: Requested, sources: Sources) -> RyeError:
    if sources.book is not None and sources.is_source(line.id.split("/", 1)[0]):
        return sources.book.unknown_item(line.id)
    client = sources.client(line.id.split("/", 1)[0])
    near = close_words(line.id, sorted({name.id for name in client.names(suggests=True) or ()}), 3)
    last = line.id.rsplit("/", 1)[-1]
    hint = f"Did you mean {', '.join(near)}?" if near else f"`rye search {last}` looks for it."
    return RyeError("no-such-item", f"The registry {client.origin} has no {line.id!r}{client.as_last_seen}.", hint)


class Solution(Struct, frozen=True):
    """A version for every item."""

    records: Mapping[Identity, Record | LockedItem]
    """A row of the lock, if its registry does not answer and nothing else is known of the release."""
    meant: Mapping[Requested, Identity]
    """What each line of the manifest means."""
    root: Root[Package]
    provider: Provider


def resolve(
    manifest: Manifest, lock: Lock, sources: Sources, environment: Environment, unlock: Unlock
) -> dict[Identity, Chosen]:
    """Choose one version per item. ``unlock``: locked items whose version may change.

    Raises Unsolvable with the proof, and the errors of the registries: also where one that does not answer would have to be asked
    for what is to move, or for something new.
    """
    sources.use_locked(lock, unlock)
    known = sources.told_of_rows(_needed(lock, manifest))
    held = sources.held(_needed(lock, manifest))
    _require_answers(manifest, lock, held, unlock)
    _require_no_news(manifest, lock, sources)
    try:
        solution = _solve(manifest, lock, sources, environment, unlock, known)
    except Unsolvable as error:
        if not (sources.holds and sources.not_asked):
            raise
        # Raises if silence is not the reason.
        _solve(manifest, lock, sources, environment, unlock, known, passes_over=True)
        why = sources.not_asked[0].error
        message = f"{why.message} What it has in rye.lock stays as it is, and then no choice of versions is left:"
        raise RyeError(why.code, f"{message}\n{error.message}", why.hint, details=why.details) from error
    provider = solution.provider
    if sources.holds and sources.not_asked:
        best = _solve(manifest, lock, sources, environment, unlock, known, passes_over=True)
        _require_newest(solution, best, lock, sources, unlock)
    chosen: dict[Identity, Record] = {}
    for identity, record in solution.records.items():
        if identity not in held:
            assert not isinstance(record, LockedItem)
            chosen[identity] = record
            continue
        row, why = held[identity]
        if isinstance(record, LockedItem) and why.code == "head-frozen":
            raise why
        if isinstance(record, LockedItem):
            message = f"{why.message} Too little of what it said before is here to keep {identity} {row.version}."
            raise RyeError(why.code, message, why.hint, details=why.details)
        chosen[identity] = locked_choice(row, provider.history(identity), sources)
    groups = _groups({(line.group, solution.meant[line]) for line in manifest.dependencies}, chosen, provider)
    return {
        identity: Chosen(
            record,
            tuple(map(str, provider.needs(record))),
            tuple(sorted(groups[identity])),
            forced_range(manifest.overrides, identity),
        )
        for identity, record in chosen.items()
    }


def _needed(lock: Lock, manifest: Manifest) -> list[LockedItem]:
    """The rows that rye.toml still needs. Whoever has the others may be in it no longer, and is asked nothing."""
    needed = reached(lock, manifest)
    return [row for row in lock.items if row.identity in needed]


def _require_answers(
    manifest: Manifest, lock: Lock, held: Mapping[Identity, tuple[LockedItem, RyeError]], unlock: Unlock
) -> None:
    """Require an answer of everybody whose rows are to move. An update of everything that left some out would look complete."""
    silent = [(row, why) for row, why in held.values() if unlock.frees(row.identity)]
    if not silent:
        return
    _, why = silent[0]
    names = [line.key for line in manifest.dependencies if not any(row.id == line.id for row, _ in held.values())]
    needed = len(_needed(lock, manifest))
    if not unlock.all or len(silent) == needed or not names:
        raise why
    some = names if len(names) <= _NEWEST else ["ID", "…"]
    count = f"{len(silent)} of {needed} items"
    message = f"{why.message} So nobody knows the newest version of {count}, and nothing was updated."
    hint = f"`rye update {' '.join(dict.fromkeys(some))}` updates what the others have. {why.hint or ''}"
    raise RyeError(why.code, message, hint.rstrip(), details=why.details)


def _require_no_news(manifest: Manifest, lock: Lock, sources: Sources) -> None:
    """Require an answer of everybody of whom rye.toml asks for something that rye.lock does not have: what is new is never chosen
    from memory."""
    rows: dict[str, list[LockedItem]] = {}
    for row in lock.items:
        rows.setdefault(row.id, []).append(row)
    if sources.holds:
        sources.ask_together(line.id.partition("/")[0] for line in manifest.dependencies)
    lacking: dict[str, tuple[RyeError, list[str]]] = {}
    for line in manifest.dependencies:
        why = sources.silence(line.id.partition("/")[0])
        locked = [row for row in rows.get(line.id, ()) if line.kind in (None, row.kind)]
        if why is None or any(_allows(line, row, manifest, sources) for row in locked):
            continue
        has = f"has it at {locked[0].version}" if locked else "does not have it"
        lacking.setdefault(why.message, (why, []))[1].append(
            f"{line.file} asks for {line.key} {line.range}, and rye.lock {has}."
        )
    if not lacking:
        return
    why, told = next(iter(lacking.values()))
    more = f" The same is true of {len(told) - 1} more." if len(told) > 1 else ""
    lines = "that line" if len(told) == 1 else "those lines"
    hint = f"Run this again when it answers, or take {lines} out of rye.toml until then. {why.hint or ''}"
    raise RyeError(why.code, f"{why.message} {told[0]}{more}", hint.rstrip(), details=why.details)


def _allows(line: Requested, row: LockedItem, manifest: Manifest, sources: Sources) -> bool:
    """Whether a line of rye.toml, or what ``[overrides]`` forces in its place, allows a row of the lock."""
    forced = _forced(manifest.overrides, row.identity)
    return Version.parse(row.version) in (forced if forced is not None else _range(line, sources))


def _require_newest(solution: Solution, best: Solution, lock: Lock, sources: Sources, unlock: Unlock) -> None:
    """Refuse a solution in which something that is to move stays below a release that could be chosen if those who are silent
    had all that it needs. Whoever silences a registry must not choose versions of another one. ``best``: what would be chosen
    then."""
    exact, rows = {identity for identity, _ in unlock.exact}, lock.by_identity()
    for identity, record in solution.records.items():
        stays = identity in rows and not unlock.frees(identity)
        newer = best.records.get(identity)
        if identity in exact or stays or isinstance(record, LockedItem) or newer is None:
            continue
        if Version.parse(newer.version) <= Version.parse(record.version):
            continue
        lacks = _lacking(best, identity, rows, sources)
        why = sources.silence(lacks.namespace) if lacks is not None else None
        if lacks is not None and why is not None:
            has = f"rye.lock has it at {rows[lacks].version}" if lacks in rows else "rye.lock does not have it"
            said = f"needs another {lacks} than is here: {has}"
        else:  # something that stays asks for no more
            why, said = sources.not_asked[0].error, "does not go with what rye.lock has of those who do not answer"
        message = f"{identity} {newer.version} {said}. {why.message}"
        verb = f"update {identity}@" if identity in rows else f"add {identity}@="
        hint = f"`rye {verb}{record.version}` goes no further than that needs. {why.hint or ''}"
        raise RyeError(why.code, message, hint.rstrip(), details=why.details)


def _lacking(best: Solution, start: Identity, rows: Mapping[Identity, LockedItem], sources: Sources) -> Identity | None:
    """The first item of a silent registry that a chosen item, or what it needs, cannot go with as rye.lock has it."""
    seen, waiting = {start}, [start]
    for identity in waiting:
        asked = best.provider.asked_by(identity, Version.parse(best.records[identity].version))
        for wanted, is_needed in (
            *((one, True) for one in asked.dependencies),
            *((one, False) for one in asked.conflicts),
        ):
            package = wanted.package
            if not isinstance(package, Identity) or package in seen or not (is_needed or package in rows):
                continue
            if sources.silence(package.namespace) is None:
                if is_needed and package in best.records:
                    seen.add(package)
                    waiting.append(package)
                continue
            row = rows.get(package)
            if (row is not None and Version.parse(row.version) in wanted.range) is not is_needed:
                return package
    return None


def solve(manifest: Manifest, lock: Lock, sources: Sources, environment: Environment, unlock: Unlock) -> Solution:
    """Choose versions, also where some registries do not answer. The same errors."""
    sources.use_locked(lock, unlock)
    return _solve(manifest, lock, sources, environment, unlock, sources.told_of_rows(_needed(lock, manifest)))


def _solve(
    manifest: Manifest,
    lock: Lock,
    sources: Sources,
    environment: Environment,
    unlock: Unlock,
    known: Mapping[Identity, History],
    *,
    passes_over: bool = False,
) -> Solution:
    """``known``: what is known of the lock's rows already. ``passes_over``: what nobody answers for is left out, as if it went
    with everything."""
    held = {identity: row for identity, (row, _) in sources.held(_needed(lock, manifest)).items()}
    meant = identify(manifest.dependencies, sources, lock)
    parts = {
        Part(member.path): [
            Requirement[Package](meant[line], _range(line, sources))
            for line in manifest.dependencies
            if line.member == member.path
        ]
        for member in manifest.members
    }
    provider = Provider(environment, lock, parts, sources.is_source, held)
    if passes_over:
        provider.passed_over |= {one for one in (*held, *meant.values()) if sources.silence(one.namespace) is not None}
    provider.learn({*known, *held}, known)
    locked: dict[Package, Version] = {}
    updated: dict[Package, Version] = {}
    for item in lock.items:
        moves = unlock.frees(item.identity) and item.identity not in held
        (updated if moves else locked)[item.identity] = Version.parse(item.version)
    for identity, version in unlock.exact:
        _require_exact(identity, version, [line for line in manifest.dependencies if meant[line] == identity], sources)
        _require_unforced(identity, version, manifest.overrides)
    requirements: list[Requirement[Package]] = []
    requirements.extend(
        Requirement(meant[line], _range(line, sources)) for line in manifest.dependencies if not line.member
    )
    requirements.extend(Requirement(part, Range.parse("*")) for part in parts)
    requirements.extend(exactly(identity, version) for identity, version in unlock.exact)
    root = Root[Package](
        requirements=provider.heeded(requirements),
        locked=locked,
        updated=updated,
        name="your workspace" if parts else "your project",
        parts=frozenset(parts),
        forced=lambda package: _forced(manifest.overrides, package) if isinstance(package, Identity) else None,
    )
    resolution = Resolution(root, provider)
    while isinstance(outcome := resolution.resolve(), NeedsMore):
        missing = [package for package in outcome.packages if isinstance(package, Identity)]
        new = [identity for identity in missing if sources.silence(identity.namespace) is None]
        provider.learn(missing, sources.histories(new))
        if passes_over and len(new) < len(missing):
            provider.passed_over |= set(missing).difference(new)
            resolution = Resolution(root, provider)
    records = {
        package: provider.record(package, version)
        for package, version in outcome.versions.items()
        if isinstance(package, Identity)
    }
    return Solution(records, meant, root, provider)


def _require_exact(identity: Identity, version: str, lines: Sequence[Requested], sources: Sources) -> None:
    """Require that a version exists and that rye.toml allows it. Raises RyeError ``no-such-version``, ``outside-range``."""
    history = sources.histories([identity]).get(identity)
    if history is not None and all(record.version != version for record in history.records):
        raise no_such_version(identity, version, history)
    for line in lines:
        if Version.parse(version) not in _range(line, sources):
            raise RyeError(
                "outside-range",
                f"{line.file} asks for {identity} {line.range}, but {version} is outside that range.",
                f"`rye add '{line.key}@{version}'` changes the range in rye.toml.",
            )


def _require_unforced(identity: Identity, version: str, overrides: Sequence[ForcedVersion]) -> None:
    """Require that ``[overrides]`` allows a version. Raises RyeError ``outside-range``."""
    forced = _forced(overrides, identity)
    if forced is not None and Version.parse(version) not in forced:
        raise RyeError(
            "outside-range",
            f"[overrides] of rye.toml forces {identity} {forced}, but {version} is outside that range.",
            "Change or remove that line of rye.toml.",
        )


def _forced(overrides: Sequence[ForcedVersion], identity: Identity) -> Range | None:
    """Return the range in ``[overrides]``, which replaces every other; None if there is none. Raises UsageError ``bad-range``."""
    text = forced_range(overrides, identity)
    if text is None:
        return None
    try:
        return Range.parse(text)
    except RyeError as error:
        message = f"rye.toml: [overrides] {identity.id}: {error.message}"
        raise UsageError(error.code, message, error.hint, details=error.details) from error


def no_such_version(identity: Identity, wanted: str, history: History) -> RyeError:
    """Return the error for a version or range without a release; it lists the newest versions."""
    versions = sorted((Version.parse(record.version) for record in history.records), reverse=True)
    newest = ", ".join(map(str, versions[:_NEWEST])) + (", …" if len(versions) > _NEWEST else "")
    return RyeError(
        "no-such-version",
        f"{identity} has no version {wanted}.",
        f"The newest: {newest}. `rye info {identity}` shows all.",
        details={"versions": [str(version) for version in versions[:_NEWEST]]},
    )


def _range(line: Requested, sources: Sources) -> Range:
    try:
        parsed = Range.parse(line.range)
    except RyeError as error:
        raise UsageError(
            error.code, f"{line.file}: {line.key}: {error.message}", error.hint, details=error.details
        ) from error
    any_release = line.pre_release or sources.is_source(
        line.id.partition("/")[0]
    )  # a source has one version of an item
    return Range(parsed.text, parsed.versions, parsed.versions) if any_release else parsed


def _groups(
    asked: Iterable[tuple[str, Identity]], chosen: Mapping[Identity, Record], provider: Provider
) -> dict[Identity, set[str]]:
    """Return the groups that need each item, directly or indirectly."""
    groups: dict[Identity, set[str]] = {identity: set() for identity in chosen}
    for group, start in asked:
        stack = [start]
        while stack:
            identity = stack.pop()
            if identity in chosen and group not in groups[identity]:
                groups[identity].add(group)
                stack.extend(provider.needs(chosen[identity]))
    return groups


def locked_record(history: ItemHistory | None, item: LockedItem) -> ReleaseRecord:
    """Return the release that a row of the lock names. Raises TrustError (``release-vanished``, ``release-changed``), RyeError
    ``lock-mismatch`` if its version or log position is wrong."""
    try:
        record = find_locked(history, item.identity, item.version, item.sha256)
    except TrustError as error:
        for other in history.records if history is not None else ():
            if other.release.file.sha256 == item.sha256:
                raise mismatch(item, f"its file is that of version {other.version}") from error
        raise
    if record.line.log != item.log:
        raise RyeError(
            "lock-mismatch",
            f"{item.identity} {item.version} is not at the position in the registry's log that rye.lock says.",
            "Someone changed rye.lock, or the registry was replaced. Compare rye.lock with version control.",
        )
    return record


def locked_records(lock: Lock, sources: Sources, environment: Environment) -> dict[Identity, Record]:
    """Return the releases that a lock names, in their current state. Yanked ones are accepted; revoked ones, and those that the
    policy now refuses, are not.

    Raises TrustError (``release-vanished``, ``release-changed``, ``signer-revoked``), RyeError ``lock-mismatch`` or
    ``locked-release-refused``.
    """
    sources.use_locked(lock, Unlock.nothing())
    histories = sources.histories(item.identity for item in lock.items)
    records: dict[Identity, Record] = {}
    for item in lock.items:
        record = locked_choice(item, histories.get(item.identity), sources)
        reasons = [(kind, why) for kind, why in environment.exclusions(record).items() if kind is not Exclusion.YANKED]
        if reasons:
            kind, why = reasons[0]
            hint = "`rye update` looks for another version."
            if kind is Exclusion.SOURCE:  # another version hardly helps
                hint = "One `rye remove` that names all that comes from there, or what needs it, takes it out."
            if kind is Exclusion.HELD:
                why = f"it is held back {why}"
            if kind is Exclusion.TOO_NEW:
                why = f"it is younger than minimum-release-age ({why})"
                hint = "Wait until it is old enough, or lock an older version: `rye update` looks for one."
            raise RyeError(
                "locked-release-refused",
                f"{item.identity} {item.version} in rye.lock cannot be installed: {why}.",
                f"{hint} Policies: [policy] of rye.toml, your own policy.toml, your organization's (`rye org show`).",
            )
        records[item.identity] = record
    return records


def locked_choice(item: LockedItem, history: History | None, sources: Sources) -> Record:
    """Return what a row of the lock names, from its registry or source. Raises RyeError ``lock-does-not-fit`` or
    ``other-registry``, TrustError ``not-cosigned``, and what :func:`locked_record` and
    :func:`rye.installation.sources.locked_source_record` raise."""
    if (item.source is not None) != sources.is_source(item.identity.namespace):
        raise another_place(item)
    if item.source is not None:
        return locked_source_record(item, history)
    client = sources.client(item.identity.namespace)
    expect_origin(client, item.registry, f"{item.identity} {item.version}")
    client.require_cosigned(item.log, f"{item.identity} {item.version}")
    record = locked_record(history if isinstance(history, ItemHistory) else None, item)
    check_installable(record)  # a revoked key is not a matter of policy
    return record


def latest_version(history: History | None, environment: Environment) -> str | None:
    """Return the highest version that is not excluded; a pre-release only if there is no other."""
    records = [record for record in history.records if not environment.exclusions(record)] if history else []
    versions = [Version.parse(record.version) for record in records]
    stable = [version for version in versions if not version.is_prerelease]
    best = max(stable or versions, default=None)
    return str(best) if best is not None else None
