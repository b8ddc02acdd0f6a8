"""A sixteenth sort of thing that needs a yes, for tests only, added as an author would: one row, with its key in rye.lock."""

from __future__ import annotations

from rye.consent import sorts
from rye.consent.ask import Key
from rye.consent.rows import Comes
from rye.consent.sorts import Sort, Values
from rye.items.signed_release import SignedRelease, identities_of


def _neighbours(comes: Comes) -> Values:
    """The items that it depends on: a release says them as relations, a row as names."""
    if isinstance(comes, SignedRelease):
        return {"neighbour": identities_of(comes.needs(frozenset()))}
    return {"neighbour": tuple(getattr(comes, "dependencies"))}  # noqa: B009 - no part of what other sorts read


ROW = Sort(
    name="neighbour",
    keys=(Key("neighbour", "approved-neighbours"),),
    asked=_neighbours,
    title="Items that it works with",
    question="these neighbours",
    json="neighbours",
)


def added() -> None:
    """Add the row to this process's table permanently, for programs that a test starts."""
    sorts.SORTS = (*sorts.SORTS, ROW)
