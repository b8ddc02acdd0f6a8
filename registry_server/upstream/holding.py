"""Which releases of another registry are held back here, why, and until when. Pure.

Index files are served whole, because the other registry's signed head proves them, and because yanks, advisories and takedowns in
them must reach everyone. What is held back is the bytes: a release whose files nobody gets is not installed.

How old a release is counts from the time in its note or, if that is later, from when this registry last saw a head of the log
that did not have it: a note that is dated back does not help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from registry_server.upstream_settings import Upstream
from rye.registry.protocol.doors import HeldRelease
from rye.registry.protocol.lines import write_time
from rye.registry.trust.records import ItemHistory, ReleaseRecord

EXAMINED = 20
"""The newest releases of an item whose texts are examined for facts; with such a rule, older ones are held back."""
MOST_SEEN = 256
"""How many earlier heads are remembered."""

Seen = Sequence[tuple[int, int]]
"""Size and time, in seconds since 1970, of heads of the log that were shown here, oldest first."""
Examine = Callable[[ReleaseRecord], str]
"""Returns why the texts of a release keep it out; empty: they do not."""


def with_seen(seen: Seen, size: int, now: int) -> list[tuple[int, int]]:
    """Return the heads with one more. The last ones all stay, of those before every second one once there are too many."""
    added = [*seen, (size, now)]
    if len(added) <= MOST_SEEN:
        return added
    recent = MOST_SEEN // 4
    return [*added[:-recent:2], *added[-recent:]]


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
    found: list[HeldRelease] = []
    examined = 0
    for record, reason in held:
        if reason is None and rules.facts and record.takedown is None and not record.revoked:
            examined += 1
            why = examine(record) if examined <= EXAMINED else f"only the newest {EXAMINED} releases are examined"
            reason = HeldRelease(record.version, why) if why else None
        if reason is not None:
            found.append(reason)
    return found


def _held(record: ReleaseRecord, rules: Upstream, seen: Seen, now: datetime) -> HeldRelease | None:
    if rules.blocks(str(record.identity), record.version):
        return HeldRelease(record.version, "it is blocked")
    until = published(record, seen) + timedelta(seconds=rules.minimum_release_age)
    if rules.minimum_release_age and now < until:
        hours = rules.minimum_release_age // 3600
        age = f"{hours // 24} days" if hours % 24 == 0 and hours > 24 else f"{hours} hours"
        return HeldRelease(record.version, f"it is younger than {age},", write_time(until))
    return None


def facts_words(names: Iterable[str]) -> str:
    """Return why a release with these facts is held back; empty without any."""
    found = sorted(set(names))
    return f"its texts show {', '.join(found)}"[:300] if found else ""
