"""What rye.lock has in place of what this user installed last, as after a pull (design/sources.md 1).

A publisher's signature vouches for other bytes of an item, so that they are only told. Bytes that nobody signed and that
this user never agreed to are asked about on a terminal; ``--yes`` answers. Elsewhere, and where rye.lock is installed as it
is, they are told as a warning at each run, until somebody agreed to them here: such a run remembers nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.consent.agreement import MovedRow
from rye.consent.ask import Ask
from rye.limits import CONSENT
from rye.project.lock import LockedItem

if TYPE_CHECKING:
    from rye.workspace.context import Context


class MovedTexts(Struct, frozen=True):
    """What moved, by what becomes of it."""

    seen: tuple[MovedRow, ...] = ()
    """Told, and remembered."""
    asked: tuple[MovedRow, ...] = ()
    """A person is asked."""
    left: tuple[MovedRow, ...] = ()
    """A warning, and not remembered."""
    answered: tuple[MovedRow, ...] = ()
    """Told that ``--yes`` agrees to it, and remembered. The command may be about something else."""

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The questions."""
        return tuple(one.needs for one in self.asked)

    @property
    def told(self) -> tuple[str, ...]:
        """A line for each that is only told, up to a limit."""
        return (
            *_lines(self.seen, "rye.lock moved {item} since you installed here last: {states} (`{command}`)"),
            *_lines(
                self.answered,
                "{item}: nobody signed its text, which rye.lock moved, and --yes agrees to it: {states} (`{command}`)",
            ),
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning for each that nobody agreed to, up to a limit."""
        return tuple(
            _lines(
                self.left,
                "{item}: nobody signed its text, and you have not agreed to it here: {states}. `{command}` shows it, "
                "`rye install --yes` agrees to it",
            )
        )

    def agreed(self, rows: Iterable[LockedItem]) -> list[LockedItem]:
        """Of the rows that are installed, those whose bytes this user agreed to."""
        left = {one.row.identity for one in self.left}
        return [row for row in rows if row.identity not in left]


def moved_texts(context: Context, moved: Sequence[MovedRow], *, takes_lock: bool) -> MovedTexts:
    """What becomes of items that moved (:meth:`rye.consent.agreement.Agreement.moved`). ``takes_lock``: whether rye.lock is
    installed as it is, whatever somebody would say to it."""
    unseen = tuple(one for one in moved if one.is_unseen)
    seen = tuple(one for one in moved if not one.is_unseen)
    if takes_lock or not (context.assume_yes or context.interactive):
        return MovedTexts(seen, left=unseen)
    return MovedTexts(seen, answered=unseen) if context.assume_yes else MovedTexts(seen, asked=unseen)


def _lines(moved: Sequence[MovedRow], words: str) -> Iterable[str]:
    for one in moved[: CONSENT.moved_lines]:
        yield words.format(item=one.row.identity, states=one.states, command=one.command)
    if len(moved) > CONSENT.moved_lines:
        yield f"And {len(moved) - CONSENT.moved_lines:,} more items like these."
