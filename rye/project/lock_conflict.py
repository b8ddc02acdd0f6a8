"""Merging rye.lock: three versions of it as git's merge driver gives them, and one that git left with conflict markers. Pure.

Three versions are merged by row (:func:`merge`): a row that only one side changed is taken as that side has it, with what that
side approves. Only rows that both sides changed stay in conflict, so fewer questions come again than from a merge by lines.

Of a file with conflict markers (:func:`join_sides`):

The result is not a lock to install from, only a preference for choosing versions. For an item that both sides have,
the newer version is preferred, and only what both sides approve is approved. An item that only one side has gets no
approvals. The result matches no manifest, so versions are always chosen again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from io import StringIO
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.ask import approving
from rye.consent.sorts import SORTS
from rye.project.lock import CONFLICT_MARKER, Lock, LockedItem, LockError, lock_text, parse_lock
from rye.resolution.versions import Version

_TAKE_ONE = "Take one side with `git checkout --ours rye.lock` (or --theirs), then run `rye install`."

_OURS, _BASE, _MIDDLE, _THEIRS = CONFLICT_MARKER, "|||||||", "=======", ">>>>>>>"


class ConflictedLock(Struct, frozen=True):
    """Both sides of a conflict, merged."""

    lock: Lock
    rows: tuple[LockedItem, ...]
    """The unchanged rows of both sides, because files of either can be on disk."""


class Merged(Struct, frozen=True):
    """The merge of three locks: both sides, which are equal but for what is in conflict."""

    ours: Lock
    theirs: Lock

    @property
    def text(self) -> str:
        """The lock's text, with git's conflict markers where the sides differ."""
        return conflict_text(lock_text(self.ours), lock_text(self.theirs))

    @property
    def is_clean(self) -> bool:
        """Whether nothing is in conflict."""
        return lock_text(self.ours) == lock_text(self.theirs)


def merge(base: Lock, ours: Lock, theirs: Lock) -> Merged:
    """Merge what each side changed since ``base``: rows by identity, wanted ranges by key."""
    wanted = _three_way(base.wanted, ours.wanted, theirs.wanted)
    rows = _three_way(base.by_identity(), ours.by_identity(), theirs.by_identity())
    heads = _larger_heads(ours, theirs)
    return Merged(*(Lock(wanted[side], tuple(rows[side].values()), heads) for side in (0, 1)))


def _larger_heads(ours: Lock, theirs: Lock) -> dict[str, str]:
    """The larger head of each registry. It is compared with the registry's present one, like any."""
    heads = dict(ours.heads)
    for origin, note in theirs.heads.items():
        heads[origin] = max(note, heads.get(origin, note), key=_size_said)
    return dict(sorted(heads.items()))


def _size_said(note: str) -> tuple[int, str]:
    """The size that a head names, unchecked; two of one size are ordered by their text, so that both sides merge alike."""
    said = note.split("\n", 2)[1:2]
    return (int(said[0]) if said and said[0].isdecimal() and len(said[0]) < 17 else -1), note


_K = TypeVar("_K")
_V = TypeVar("_V")


def _three_way(
    base: Mapping[_K, _V], ours: Mapping[_K, _V], theirs: Mapping[_K, _V]
) -> tuple[dict[_K, _V], dict[_K, _V]]:
    """Return both sides after each took what only the other changed, removed or added."""
    sides_: tuple[dict[_K, _V], dict[_K, _V]] = {}, {}
    for key in dict.fromkeys((*ours, *theirs)):
        mine, other, before = ours.get(key), theirs.get(key), base.get(key)
        if mine == before:
            mine = other
        elif other == before:
            other = mine
        for side, value in zip(sides_, (mine, other), strict=True):
            if value is not None:
                side[key] = value
    return sides_


def conflict_text(ours: str, theirs: str) -> str:
    """Return one text with conflict markers around the rows that differ (:func:`sides` reads it back)."""
    mine, other = _rows(ours), _rows(theirs)
    parts: list[str] = []
    for change, start, end, from_, to in SequenceMatcher(None, mine, other, autojunk=False).get_opcodes():
        if change == "equal":
            parts += mine[start:end]
        else:
            parts += [f"{_OURS} ours\n", *mine[start:end], f"{_MIDDLE}\n", *other[from_:to], f"{_THEIRS} theirs\n"]
    return "".join(parts)


def _rows(text: str) -> list[str]:
    """The text in parts, each of which begins with a table. Every part ends with a line break."""
    whole = text if text.endswith("\n") or not text else f"{text}\n"
    return [part for part in re.split(r"^(?=\[)", whole, flags=re.MULTILINE) if part]


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
    return ConflictedLock(Lock({}, tuple(items), _larger_heads(ours, theirs)), (*ours.items, *theirs.items))


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
