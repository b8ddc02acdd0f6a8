"""Facts of lock rows that were approved under a different version of the rules (DESIGN 7.2). Pure.

A row records which rules found its ``approved-facts``. Other rules can find more in the same bytes, or name the same
thing differently. If the row is installed exactly as it was agreed to, such an alarm becomes a caution and nothing is
refused. A changed text makes a different row, and its alarms need consent as usual. So do alarms of items in an
editable folder, because nothing proves that their text is the one that was agreed to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rye.project.lock import LockedItem
from rye.text.facts.fact import RULES_VERSION

if TYPE_CHECKING:
    from rye.items.signed_release import Mention


def by_other_rules(row: LockedItem) -> bool:
    """Whether the row's approved facts were found by rules other than this Rye's. False for a row that was never installed,
    and for an editable folder."""
    return row.approved.rules != RULES_VERSION and row.approved.signer is None and not row.is_editable


def refused_alarms(row: LockedItem, mentions: Iterable[Mention] | None) -> list[Mention]:
    """Return the alarms of the row's text that need an approval and have none."""
    return [] if by_other_rules(row) else _open(row, mentions)


def late_alarms(row: LockedItem, mentions: Iterable[Mention] | None) -> list[Mention]:
    """Return the alarms that are only reported, because the rules at approval did not find them or named them differently."""
    return _open(row, mentions) if by_other_rules(row) else []


def _open(row: LockedItem, mentions: Iterable[Mention] | None) -> list[Mention]:
    return [mention for mention in mentions or () if mention.is_alarm and mention.word not in row.approved.of("fact")]
