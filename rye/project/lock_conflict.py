"""Merging a rye.lock that git left with conflict markers. Pure.

The result is not a lock to install from, only a preference for choosing versions. For an item that both sides have,
the newer version is preferred, and only what both sides approve is approved. An item that only one side has gets no
approvals. The result matches no manifest, so versions are always chosen again.
"""

from __future__ import annotations

from io import StringIO
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.ask import approving
from rye.consent.sorts import SORTS
from rye.project.lock import CONFLICT_MARKER, Lock, LockedItem, LockError, parse_lock
from rye.resolution.versions import Version

_TAKE_ONE = "Take one side with `git checkout --ours rye.lock` (or --theirs), then run `rye install`."

_OURS, _BASE, _MIDDLE, _THEIRS = CONFLICT_MARKER, "|||||||", "=======", ">>>>>>>"


class ConflictedLock(Struct, frozen=True):
    """Both sides of a conflict, merged."""

    lock: Lock
    rows: tuple[LockedItem, ...]
    """The unchanged rows of both sides, because files of either can be on disk."""


def join_sides(text: str) -> ConflictedLock:
    """Merge both sides. Raises LockError if the markers do not match up or a side is not a lock."""
    try:
        ours, theirs = (parse_lock(side) for side in sides(text))
    except LockError as error:
        raise LockError(
            f"one side of the conflict is not a valid lock: {error.message.removeprefix('rye.lock: ')}", _TAKE_ONE
        ) from None
    other = theirs.by_identity()
    items = [_joined(item, other[item.identity]) if item.identity in other else _alone(item) for item in ours.items]
    mine = ours.by_identity()
    items += [_alone(item) for item in theirs.items if item.identity not in mine]
    return ConflictedLock(Lock({}, tuple(items)), (*ours.items, *theirs.items))


def sides(text: str) -> tuple[str, str]:
    """The text of each side, without markers and base. Raises LockError if the markers do not match up."""
    ours: list[str] = []
    theirs: list[str] = []
    writing: tuple[list[str], ...] = (ours, theirs)
    expected: tuple[str, ...] = (_OURS,)
    for line in StringIO(text, newline="\n"):
        marker = line[: len(_OURS)]
        if marker not in (_OURS, _BASE, _MIDDLE, _THEIRS):
            for side in writing:
                side.append(line)
            continue
        if marker not in expected:
            raise LockError("its conflict markers do not match up.", _TAKE_ONE)
        writing, expected = {
            _OURS: ((ours,), (_BASE, _MIDDLE)),
            _BASE: ((), (_MIDDLE,)),
            _MIDDLE: ((theirs,), (_THEIRS,)),
            _THEIRS: ((ours, theirs), (_OURS,)),
        }[marker]
    if expected != (_OURS,):
        raise LockError("its conflict markers do not match up.", _TAKE_ONE)
    return "".join(ours), "".join(theirs)


def _alone(item: LockedItem) -> LockedItem:
    return replace(item, approved=approving(item.approved.rules, ""))


def _joined(ours: LockedItem, theirs: LockedItem) -> LockedItem:
    newer = max(ours, theirs, key=lambda item: Version.parse(item.version))
    same = (ours.release, ours.signer) == (theirs.release, theirs.signer)
    pending = {ours.approved.signer, theirs.approved.signer}
    if pending == {None}:
        signer = None if same else ours.signer if ours.signer == theirs.signer else ""
    else:
        signer = pending.pop() if len(pending) == 1 else ""
    given: dict[str, tuple[Any, ...]] = {}
    for sort in SORTS:
        both = sort.both(sort.values(ours.approved), sort.values(theirs.approved))
        given |= sort.kept(both, sort.asked(newer)) if sort.is_denied else both
    return replace(newer, approved=approving(max(ours.approved.rules, theirs.approved.rules), signer, **given))
