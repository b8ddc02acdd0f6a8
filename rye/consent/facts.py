"""Facts of rows that were approved under other rules (DESIGN 7.2), and bytes that were agreed to as they are.

A row records which rules found its ``approved-facts``. Other rules can find more in the same bytes, or name the same
thing differently. If the row is installed exactly as it was agreed to, such an alarm becomes a caution and nothing is
refused. A changed text makes a different row, and its alarms need consent as usual. So do alarms of items in an
editable folder, because nothing proves that their text is the one that was agreed to.

Which rules found a row's facts is a claim, like everything in rye.lock. So it counts only for exact bytes that this
user agreed to before. A user who never did sees the alarms and is asked. A run that trusts the lock also trusts this
claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from rye.consent.ask import Ask
from rye.text.facts.fact import RULES_VERSION

if TYPE_CHECKING:
    from rye.consent.rows import Row
    from rye.items.identity import Identity
    from rye.items.signed_release import Mention, SignedRelease

_LISTED = 3


def by_other_rules(row: Row) -> bool:
    """Whether the row's approved facts were found by rules other than this Rye's. False for a row that was never installed,
    and for an editable folder."""
    return row.approved.rules != RULES_VERSION and not row.approved.is_pending and not row.is_editable


def refused_alarms(row: Row, mentions: Iterable[Mention] | None) -> list[Mention]:
    """The alarms of the row's text that need an approval and have none."""
    return [] if by_other_rules(row) else _open(row, mentions)


def late_alarms(row: Row, mentions: Iterable[Mention] | None) -> list[Mention]:
    """The alarms that are only reported, because the rules at approval did not find them or named them differently."""
    return _open(row, mentions) if by_other_rules(row) else []


def late_facts(rows: Iterable[Row], signed: Mapping[Identity, SignedRelease]) -> list[tuple[Row, list[str]]]:
    """The late alarms of each row that has any, as words. ``signed``: the releases, as far as known."""
    late = []
    for row in rows:
        release = signed.get(row.identity)
        words = [mention.word for mention in late_alarms(row, release.mentions if release is not None else None)]
        if words:
            late.append((row, words))
    return late


def byte_approval(row: Row) -> Ask:
    """The approval of exactly these bytes, whatever rules find in them later."""
    whole = "\n".join([row.sha256, *(f"{entry.path} {entry.sha256}" for entry in row.attached)])
    return Ask(str(row.identity), "text", sha256(whole.encode()).hexdigest()[:32])


def byte_approvals(rows: Iterable[Row]) -> frozenset[Ask]:
    """The same of several rows."""
    return frozenset(map(byte_approval, rows))


def late_notice(late: Sequence[tuple[Row, list[str]]]) -> tuple[str, str]:
    """The warning about late alarms (at least one), and the command that approves them."""
    listed = "; ".join(f"{row.identity} mentions {words[0]}" for row, words in late[:_LISTED])
    more = f"; and {len(late) - _LISTED} more" if len(late) > _LISTED else ""
    named = " ".join(f"--approve {row.identity}@{row.version}" for row, _ in late)
    return (
        f"The rules of this version of rye find more than the rules that rye.lock was approved with: {listed}{more}",
        f"`rye facts ID` shows it. `rye install {named}` approves it in rye.lock.",
    )


def _open(row: Row, mentions: Iterable[Mention] | None) -> list[Mention]:
    return [mention for mention in mentions or () if mention.is_alarm and mention.word not in row.approved.of("fact")]
