"""Alarms that a different version of the rules missed or named differently: asked at first contact, then reported.

Which rules found a row's facts is a claim, like everything in rye.lock. So it counts only for exact bytes that this
user agreed to before. A user who never did sees the alarms and is asked. A run that trusts the lock also trusts this
claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from rye.consent.ask import Ask
from rye.installation.fact_rules import by_other_rules, late_alarms
from rye.storage.home import Home
from rye.verified.require import verified_before
from rye.workspace.trusting.acceptance import unseen

if TYPE_CHECKING:
    from rye.items.identity import Identity
    from rye.items.signed_release import SignedRelease
    from rye.project.layout import Project
    from rye.project.lock import LockedItem

_LISTED = 3


def texts(rows: Iterable[LockedItem]) -> set[Ask]:
    """The approvals of exactly these bytes, whatever rules find in them later."""
    return {_text(row) for row in rows}


def unseen_alarms(
    home: Home, project: Project, rows: Sequence[LockedItem], signed: Mapping[Identity, SignedRelease] | None = None
) -> tuple[Ask, ...]:
    """The alarms that another version of the rules did not find, in bytes that this user never agreed to, with those bytes.

    ``signed``: the signed releases; None: those verified on this machine before.
    """
    found: list[Ask] = []
    for row, alarms in _late(home, rows, signed):
        mark = _text(row)
        asked = unseen(home, project, [mark, *(Ask(mark.item, "fact", alarm) for alarm in alarms)])
        found += asked if mark in asked else ()
    return tuple(sorted(set(found)))


def notice(
    home: Home, rows: Sequence[LockedItem], signed: Mapping[Identity, SignedRelease] | None = None
) -> tuple[str, str] | None:
    """The warning about such alarms and the command that approves them; None without alarms."""
    late = _late(home, rows, signed)
    if not late:
        return None
    listed = "; ".join(f"{row.identity} mentions {alarms[0]}" for row, alarms in late[:_LISTED])
    more = f"; and {len(late) - _LISTED} more" if len(late) > _LISTED else ""
    named = " ".join(f"--approve {row.identity}@{row.version}" for row, _ in late)
    return (
        f"The rules of this version of rye find more than the rules that rye.lock was approved with: {listed}{more}",
        f"`rye facts ID` shows it. `rye install {named}` approves it in rye.lock.",
    )


def _late(
    home: Home, rows: Sequence[LockedItem], signed: Mapping[Identity, SignedRelease] | None
) -> list[tuple[LockedItem, list[str]]]:
    others = [row for row in rows if by_other_rules(row)]
    if not others:
        return []
    words = verified_before(home, others) if signed is None else signed
    found = []
    for row in others:
        release = words.get(row.identity)
        alarms = [mention.word for mention in late_alarms(row, release.mentions if release is not None else None)]
        if alarms:
            found.append((row, alarms))
    return found


def _text(row: LockedItem) -> Ask:
    whole = "\n".join([row.sha256, *(f"{entry.path} {entry.sha256}" for entry in row.attached)])
    return Ask(str(row.identity), "text", sha256(whole.encode()).hexdigest()[:32])
