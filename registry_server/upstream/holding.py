"""Which releases of another registry are held back here, why, and until when.

Index files are served whole, because the other registry's signed head proves them, and because yanks, advisories and takedowns in
them must reach everyone. What is held back is the bytes: a release whose files nobody gets is not installed.

How old a release is counts from the time in its note or, if that is later, from when this registry last saw a head of the log
that did not have it: a note that is dated back does not help, neither in a log that was quiet before nor in one that grows so
fast that not every head can be remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from registry_server.pages.examined import facts_of
from registry_server.upstream_settings import Upstream
from rye.errors import RyeError
from rye.registry.protocol.doors import HeldRelease
from rye.registry.protocol.lines import write_time
from rye.registry.trust.records import ItemHistory, ReleaseRecord
from rye.registry.waves import Waves

EXAMINED = 20
"""The newest releases of an item whose texts are examined for facts; with such a rule, older ones are held back."""
_MOST_KNOWN = 10_000
"""Releases whose facts are remembered."""
_FINENESS = 16
"""How much later than it was a time can be remembered, as a part of its age."""

Seen = Sequence[tuple[int, int]]
"""Size and last time, in seconds since 1970, of heads of the log that were shown here, oldest first."""
Examine = Callable[[ReleaseRecord], str]
"""Returns why the texts of a release keep it out; empty: they do not."""


def with_seen(seen: Seen, size: int, now: int) -> list[tuple[int, int]]:
    """Return the heads with one more. Heads from the same part of time, which is larger the longer ago it is, become one, with
    the smallest size and the last time of them: so a release only ever counts as younger than it is, never as older."""
    kept: list[tuple[int, int]] = []
    for one, time in sorted({*seen, (size, now)}, key=lambda head: (head[1], head[0])):
        part = 1 << (max((now - time) // _FINENESS, 1).bit_length() - 1)
        if kept and (kept[-1][0] == one or kept[-1][1] // part == time // part):
            kept[-1] = (min(kept[-1][0], one), time)
        else:
            kept.append((one, time))
    return kept


def published(record: ReleaseRecord, seen: Seen) -> datetime:
    """Return the time from which a release's age counts."""
    absent = max((time for size, time in seen if size <= record.line.log), default=0)
    return max(record.release.time, datetime.fromtimestamp(absent, UTC))


def held_releases(
    history: ItemHistory, rules: Upstream, seen: Seen, now: datetime, examine: Examine
) -> list[HeldRelease]:
    """Return the releases of an item that are held back, newest first. ``examine`` is called only where its answer matters."""
    newest = sorted(history.records, key=lambda record: -record.line.log)
    held = ((record, _held(record, rules, seen, now)) for record in newest)
    holding: list[HeldRelease] = []
    examined = 0
    for record, reason in held:
        if reason is None and rules.facts and record.takedown is None and not record.revoked:
            examined += 1
            why = examine(record) if examined <= EXAMINED else f"only the newest {EXAMINED} releases are examined"
            reason = HeldRelease(record.version, why) if why else None
        if reason is not None:
            holding.append(reason)
    return holding


def _held(record: ReleaseRecord, rules: Upstream, seen: Seen, now: datetime) -> HeldRelease | None:
    if rules.blocks(str(record.identity), record.version):
        return HeldRelease(record.version, "it is blocked")
    until = published(record, seen) + timedelta(seconds=rules.minimum_release_age)
    if rules.minimum_release_age and now < until:
        hours = rules.minimum_release_age // 3600
        age = f"{hours // 24} days" if hours % 24 == 0 and hours > 24 else f"{hours} hours"
        return HeldRelease(record.version, f"it is younger than {age},", write_time(until))
    return None


class Examiner:
    """Looks for facts in the texts of releases. Its files are fetched for that, and its answers are remembered."""

    def __init__(self, waves: Waves, facts: Sequence[str]) -> None:
        self._waves = waves
        self._facts = frozenset(facts)
        self._known: dict[str, str] = {}

    def examine(self, record: ReleaseRecord) -> str:
        """Return why the texts of a release keep it out (:data:`Examine`). What cannot be examined is kept out, too."""
        key = record.release.sha256()
        words = self._known.get(key)
        if words is None:
            release = record.release
            try:
                contents = self._waves.blobs(file_sizes(record).items())
            except RyeError as error:
                return f"its texts cannot be examined now ({error.code})"
            attached = {entry.path: contents[entry.sha256] for entry in release.attached}
            facts = facts_of(release, contents[release.file.sha256], attached)
            shown = sorted({fact.fact for fact in facts.facts} & self._facts)
            words = f"its texts show {', '.join(shown)}" if shown else ""
            if not words and facts.unread:
                words = f"{len(facts.unread)} of its files are too large to be examined"
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = words
        return words


def file_sizes(record: ReleaseRecord) -> dict[str, int]:
    """Return the size of each file of a release, by hash."""
    release = record.release
    return {release.file.sha256: release.file.size} | {entry.sha256: entry.size for entry in release.attached}
