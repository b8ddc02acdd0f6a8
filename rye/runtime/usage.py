"""How often each item was used, from the logs of runs and what else is on this machine. Pure: uses in, a report out.

A use is one of: a run as a directive, a call that was allowed, one that was refused, and what an agent program noted by itself.
Names come from files that others may have written, so a use of anything that does not look like an item is none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from msgspec import Struct

from rye.items.kinds import KINDS
from rye.limits import USAGE

Sort = Literal["run", "allowed", "denied", "program"]
_NAME = re.compile(r"([a-z]{1,20}:[A-Za-z0-9._/-]{1,300})(?:@[0-9A-Za-z.+-]{1,256})?")


class Use(Struct, frozen=True):
    """One use of an item. ``item``: ``kind:id``, or None for what belongs to no item; ``spend``: dollars."""

    when: datetime
    item: str | None
    sort: Sort
    tokens: int = 0
    spend: Decimal = Decimal(0)


class Carried(Struct, frozen=True):
    """An item that is here. ``carries``: about how many tokens its name and description are, in each context; ``text``: its own
    file. None: it must not be read (``rye check`` says why)."""

    item: str
    version: str | None
    space: str
    carries: int | None
    text: int | None


class UsageRow(Struct, frozen=True, kw_only=True):
    """What is known of one item's use. ``uses`` are runs and allowed calls, and those that a program noted."""

    item: str
    version: str | None
    space: str | None
    """None: it is no longer here."""
    last_used: str | None
    uses: int
    runs: int
    allowed: int
    denied: int
    noted: int
    """Uses that an agent program wrote down itself (``--program``)."""
    tokens: int
    spend: str
    """Dollars, as text."""
    carries: int | None
    text: int | None


class UsageWeek(Struct, frozen=True):
    """One week of ISO 8601, ``2026-W48``."""

    week: str
    uses: int
    denied: int
    tokens: int


class Usage(Struct, frozen=True, kw_only=True):
    """The report. ``since``: the first day that counts."""

    since: str
    days: int
    items: tuple[UsageRow, ...]
    unused: tuple[str, ...]
    """Items that are here and were not used since then."""
    unused_tokens: int
    """What they cost to carry, in each context."""
    weeks: tuple[UsageWeek, ...]
    tokens: int
    spend: str


def uses_of(events: Iterable[Mapping[str, Any]]) -> Iterator[Use]:
    """The uses in the log of one run (:mod:`rye.runtime.event_log`), whose lines have the right types."""
    first = True
    for event in events:
        when = moment(event["time"])
        if when is None:
            continue
        principal, item = item_of(event["principal"]), item_of(event["item"])
        if first:
            yield Use(when, principal, "run")
            first = False
        if event["event"] == "allow":
            yield Use(when, item, "allowed")
        elif event["event"] in ("deny", "limit") and event["tool"]:
            yield Use(when, item, "denied")
        elif event["event"] == "end":
            tokens, spend = _model_use(event["params_redacted"])
            if tokens or spend:
                yield Use(when, principal, "run", tokens, spend)


def moment(text: object) -> datetime | None:
    """A time with its zone, in UTC; None for anything else."""
    if not isinstance(text, str) or len(text) > 40:
        return None
    try:
        found = datetime.fromisoformat(text)
        return None if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def item_of(text: object) -> str | None:
    """``kind:id`` of ``kind:id@version``; None for anything else."""
    match = _NAME.fullmatch(text) if isinstance(text, str) else None
    return match[1] if match is not None and match[1].partition(":")[0] in KINDS else None


def _model_use(found: object) -> tuple[int, Decimal]:
    if not isinstance(found, dict):
        return 0, Decimal(0)
    tokens, spend = found.get("tokens"), found.get("spend")
    try:
        dollars = Decimal(spend) if isinstance(spend, str) and len(spend) <= 40 else Decimal(0)
    except InvalidOperation:
        dollars = Decimal(0)
    fits = dollars.is_finite() and 0 <= dollars <= USAGE.most_dollars
    return counted(tokens), dollars if fits else Decimal(0)


def counted(tokens: object) -> int:
    """A number of tokens; 0 for what cannot be one."""
    return tokens if type(tokens) is int and 0 <= tokens <= USAGE.most_tokens else 0


def report(uses: Iterable[Use], here: Sequence[Carried], now: datetime, days: int) -> Usage:
    """Count the uses of the last ``days`` days up to ``now``. What lies in the future does not count."""
    start = (now - timedelta(days=days)).astimezone(UTC)
    known = {one.item: one for one in here}
    of_item: dict[str, list[Use]] = defaultdict(list)
    of_week: dict[str, list[Use]] = defaultdict(list)
    everything: list[Use] = []
    for use in uses:
        if not start <= use.when <= now:
            continue
        everything.append(use)
        of_week[_week(use.when)].append(use)
        if use.item is not None:
            of_item[use.item].append(use)
    rows = [_row(item, known.get(item), of_item.get(item, [])) for item in {*known, *of_item}]
    rows.sort(key=lambda row: (-row.uses, -row.denied, row.item))
    unused = tuple(row.item for row in rows if row.space is not None and not row.uses)
    return Usage(
        since=start.date().isoformat(),
        days=days,
        items=tuple(rows),
        unused=unused,
        unused_tokens=sum(known[item].carries or 0 for item in unused),
        weeks=tuple(_counted_week(week, of_week[week]) for week in _weeks(start, now)),
        tokens=sum(use.tokens for use in everything),
        spend=_dollars(everything),
    )


def _is_counted(use: Use) -> bool:
    """Whether it is a use by itself, and not only what a model's provider billed for one."""
    return use.sort != "denied" and not use.tokens and not use.spend


def _row(item: str, here: Carried | None, uses: Sequence[Use]) -> UsageRow:
    counts = {sort: sum(use.sort == sort and (sort == "denied" or _is_counted(use)) for use in uses) for sort in _SORTS}
    last = max((use.when for use in uses if use.sort != "denied"), default=None)
    return UsageRow(
        item=item,
        version=here.version if here is not None else None,
        space=here.space if here is not None else None,
        last_used=last.strftime("%Y-%m-%dT%H:%M:%SZ") if last is not None else None,
        uses=counts["run"] + counts["allowed"] + counts["program"],
        runs=counts["run"],
        allowed=counts["allowed"],
        denied=counts["denied"],
        noted=counts["program"],
        tokens=sum(use.tokens for use in uses),
        spend=_dollars(uses),
        carries=here.carries if here is not None else None,
        text=here.text if here is not None else None,
    )


_SORTS: tuple[Sort, ...] = ("run", "allowed", "denied", "program")


def _dollars(uses: Iterable[Use]) -> str:
    return format(sum((use.spend for use in uses), Decimal(0)), "f")


def _week(when: datetime) -> str:
    year, week, _ = when.isocalendar()
    return f"{year}-W{week:02}"


def _weeks(start: datetime, now: datetime) -> list[str]:
    """Every week from the one to the other, also those without a use."""
    days = range((now - start).days + 1)
    return list(dict.fromkeys(_week(start + timedelta(days=day)) for day in days) | {_week(now): None})


def _counted_week(week: str, uses: Sequence[Use]) -> UsageWeek:
    return UsageWeek(
        week, sum(map(_is_counted, uses)), sum(use.sort == "denied" for use in uses), sum(use.tokens for use in uses)
    )
