"""Which old releases a registry need not keep, so that their files can be taken down. Pure but for reading the log.

Kept are, of every item:

1. the newest releases by version, a number of them: as many that are no pre-releases, and as many of all;
2. every release that is younger than the period, yanked or not;
3. whatever a kept release may need: **every** release of an item in a range that it depends on or requires, and every release of
   an item that its hooks run, and what these need in turn. Which one a lock holds depends on when it was made and on what else it
   holds, so no narrower rule is safe;
4. everything of namespaces that were not asked about, and what that needs;
5. every file that a kept release has as well.

Owners elsewhere may sign days after the plan was made. So what was released since then is looked at again before anything goes:
rules 3 and 5 hold for it as well (:func:`refuse_overtaken`).

What is left is taken down (:mod:`registry_server.upkeep.takedown`) by the registry's owners, with a reason that says why: log,
mirrors, backups and clients then know that nothing is missing. Its versions are never used again, and its bytes are not accepted
again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from registry_server.sequencer.ledger import Ledger
from registry_server.upkeep.takedown import files_of, placed_releases_of, releases_of, statement_about
from rye.errors import RyeError, UsageError
from rye.items.identity import Identity
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import Release, Snapshot, Takedown
from rye.registry.protocol.statements.takedown import RETENTION
from rye.resolution.ranges import Range
from rye.resolution.versions import Version, comparable

REASON = "older than {span}, not among the newest {keep}, and not needed by a release that is kept."


class RetentionRule(Struct, frozen=True, kw_only=True):
    """How much is kept."""

    keep: int
    """Newest releases of each item; at least 1."""
    before: datetime
    """Releases from this time on are kept."""
    namespace: str | None = None
    """Only old releases of this namespace are not kept. None: of all."""


def plan(ledger: Ledger, rule: RetentionRule, reason: str, now: datetime) -> list[Takedown]:
    """Draft the statements that take down what the rule does not keep; none for a release whose files all stay anyway."""
    releases = list(releases_of(ledger))
    old = not_kept(releases, rule)
    needed = {sha256 for release in releases if release not in old for sha256 in files_of(release)}
    gone = set(ledger.all_taken_down())
    drafted = []
    for release in releases:
        files = [sha256 for sha256 in files_of(release) if sha256 not in needed and sha256 not in gone]
        if release in old and files:
            drafted.append(statement_about(release, files, now, f"{RETENTION} {reason}"))
    return drafted


def not_kept(releases: Sequence[Release], rule: RetentionRule) -> frozenset[Release]:
    """The releases that the rules above do not keep. ``releases``: all of a log."""
    by_item: dict[Identity, list[Release]] = defaultdict(list)
    for release in releases:
        by_item[release.identity].append(release)
    kept: set[Release] = set()
    for identity, some in by_item.items():
        is_asked_about = rule.namespace in (None, identity.namespace)
        newest = _newest(some, rule.keep)
        kept.update(each for each in some if not is_asked_about or each.time >= rule.before or each in newest)
    return frozenset(releases) - _with_needed(kept, by_item)


def refuse_overtaken(ledger: Ledger, planned: Sequence[Takedown]) -> None:
    """Check that nothing released since the plan was made needs what it removes. Takedowns of other kinds are not looked at.

    Raises RyeError ``files-shared``.
    """
    by_rule = [takedown for takedown in planned if takedown.is_retention]
    if not by_rule:
        return
    when = min(takedown.time for takedown in by_rule)
    snapshots = (
        (position, statements.parse(notes.parse(leaf).text)) for position, leaf in ledger.titled(Snapshot.TITLE)
    )
    since = max((at for at, found in snapshots if isinstance(found, Snapshot) and found.time < when), default=0)
    removed = {(takedown.identity, takedown.version): takedown for takedown in by_rule}
    by_item: dict[Identity, list[Release]] = defaultdict(list)
    fresh: set[Release] = set()
    for position, release in placed_releases_of(ledger):
        by_item[release.identity].append(release)
        if position > since and (release.identity, release.version) not in removed:
            fresh.add(release)
    files = {sha256: takedown for takedown in by_rule for sha256 in takedown.files}
    for release in _with_needed(fresh, by_item):
        overtaken = removed.get((release.identity, release.version))
        shared = [files[sha256] for sha256 in files_of(release) if sha256 in files]
        for takedown in filter(None, (overtaken, *shared)):
            raise RyeError(
                "files-shared",
                f"What was released since {takedown.time:%Y-%m-%d %H:%M} UTC needs files of {takedown.identity} "
                f"{takedown.version}, so nothing was taken down.",
                "Draft the statements again: rye-registry takedown --older-than SPAN --draft FILE",
            )


def _with_needed(some: Iterable[Release], by_item: dict[Identity, list[Release]]) -> set[Release]:
    """These releases, and what they need (rule 3)."""
    kept = set(some)
    waiting = list(kept)
    while waiting:
        fresh = _needed(waiting.pop(), by_item) - kept
        kept |= fresh
        waiting += fresh
    return kept


def _newest(some: Sequence[Release], keep: int) -> frozenset[Release]:
    """Rule 1. A version that cannot be compared is always among them."""
    compared: list[tuple[Version, Release]] = []
    newest = set()
    for release in some:
        version = comparable(release.version)
        if version is None:
            newest.add(release)
        else:
            compared.append((version, release))
    compared.sort(key=lambda pair: pair[0], reverse=True)
    newest.update(release for _, release in compared[:keep])
    newest.update([release for version, release in compared if not version.is_prerelease][:keep])
    return frozenset(newest)


def _needed(release: Release, by_item: dict[Identity, list[Release]]) -> set[Release]:
    """Rule 3, one step."""
    needed: set[Release] = set()
    for relation in (*release.depends_on, *release.requires):
        if relation.identity is not None:
            needed.update(_within(by_item.get(relation.identity, ()), relation.range))
    for hook in release.hooks:
        for identity, some in by_item.items():
            if identity.id == hook.item_id:
                needed.update(some)
    return needed


def _within(some: Iterable[Release], text: str) -> Iterable[Release]:
    try:
        wanted = Range.parse(text)
    except UsageError:
        return some
    versions = ((comparable(release.version), release) for release in some)
    return [release for version, release in versions if version is None or version in wanted]
