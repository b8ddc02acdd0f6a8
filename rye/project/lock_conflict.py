"""Merging a rye.lock that git left with conflict markers. Pure.

The result is not a lock to install from, only a preference for choosing versions. For an item that both sides have,
the newer version is preferred, and only what both sides approve is approved. An item that only one side has gets no
approvals. The result matches no manifest, so versions are always chosen again.
"""

from __future__ import annotations

from io import StringIO
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rye.project.lock import CONFLICT_MARKER, Lock, LockedItem, LockError, parse_lock
from rye.resolution.versions import Version

T = TypeVar("T")
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
    return replace(
        item,
        approved_capabilities=(),
        approved_hooks=(),
        approved_tools=(),
        approved_limits=(),
        approved_runs=(),
        approved_facts=(),
        approved_signer="",
    )


def _joined(ours: LockedItem, theirs: LockedItem) -> LockedItem:
    newer = max(ours, theirs, key=lambda item: Version.parse(item.version))
    same = (ours.release, ours.signer) == (theirs.release, theirs.signer)
    pending = {ours.approved_signer, theirs.approved_signer}
    if pending == {None}:
        signer = None if same else ours.signer if ours.signer == theirs.signer else ""
    else:
        signer = pending.pop() if len(pending) == 1 else ""
    hooks = _both(ours.approved_hooks, theirs.approved_hooks)
    tools = ours.approved_tools, ours.approved_limits
    if tools != (theirs.approved_tools, theirs.approved_limits):
        tools = (), ()  # an approval of tools is only valid with its restrictions
    return replace(
        newer,
        approved_capabilities=_both(ours.approved_capabilities, theirs.approved_capabilities),
        approved_hooks=tuple(hook for hook in hooks if hook in newer.hooks),
        approved_tools=tools[0],
        approved_limits=tools[1],
        approved_runs=_both(ours.approved_runs, theirs.approved_runs),
        approved_facts=_both(ours.approved_facts, theirs.approved_facts),
        facts_rules=max(ours.facts_rules, theirs.facts_rules),
        approved_signer=signer,
    )


def _both(ours: tuple[T, ...], theirs: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(one for one in ours if one in theirs)
