"""Which of several files of a source a name means, and what there is to say about the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from rye.items.attached import IGNORE_FILE
from rye.items.identity import is_id, is_segment
from rye.items.kinds import KINDS
from rye.limits import SOURCES
from rye.project.declared_sources import BadSource, inner_path
from rye.sources.inventory.found import FoundItem
from rye.sources.inventory.order import rank
from rye.sources.inventory.skill_folders import SkillFolders, unusable
from rye.sources.listing import Listing
from rye.sources.source_error import shown

Problems: TypeAlias = Callable[[Sequence[FoundItem]], Mapping[str, str]]
"""Returns, by their places, why some of these items cannot be used, as the end of a sentence."""


class _Contender(Struct, frozen=True):
    """One of the files that would have the same name."""

    place: str
    program: str | None
    is_copy: bool
    """Whether it is the same object as the first."""
    order: int
    """How many were found before it, of any name."""

    @property
    def folder(self) -> str:
        return self.place.rpartition("/")[0]


class Names:
    """The files that were found for each name, in the order in which they were found."""

    def __init__(self, files: Listing, skills: SkillFolders) -> None:
        self.places: set[str] = set()
        """The files that have been found."""
        self.doubles: list[str] = []
        """Notes about files that are left out since another item has their name."""
        self.for_others: list[str] = []
        """Agents that were found in another program's form."""
        self._files = files
        self._skills = skills
        self._found: dict[tuple[str, str], list[_Contender]] = {}
        """By kind and id."""

    def add(self, kind: str, local_id: str, place: str, program: str | None = None) -> None:
        """Take a file for a name, unless it was taken before."""
        if place in self.places:
            return
        some = self._found.setdefault((kind, local_id), [])
        is_copy = bool(some) and self._is_copy(some[0].place, place)
        some.append(_Contender(place, program, is_copy, len(self.places)))
        self.places.add(place)

    def inside_skills(self) -> tuple[str, ...]:
        """Return the beginnings of the paths of the files that belong to skills found so far."""
        folders = (_by_preference(key, some)[0].folder for key, some in self._found.items() if key[0] == "skill")
        return tuple(f"{folder}/" for folder in folders if folder)

    def settle(self, problems: Problems) -> list[FoundItem]:
        """Return the item of each name: the first that can be used, or the first if none of the first few can. Note which are
        left out, and why those that come before it are."""
        waiting = {key: _by_preference(key, some) for key, some in self._found.items()}
        items: dict[tuple[str, str], FoundItem] = {}
        passed: dict[tuple[str, str], list[tuple[_Contender, FoundItem, str]]] = {}
        while waiting:
            tried = {key: self._item(*key, some[0]) for key, some in waiting.items()}
            contested = [key for key, some in waiting.items() if len(some) > 1 or key in passed]
            asked = [tried[key] for key in contested if tried[key].problem is None]
            found = problems(asked) if asked else {}
            for key in list(waiting):
                item = tried[key]
                problem = (item.problem or found.get(item.place)) if key in contested else None
                if problem is None:
                    items[key] = item
                    del waiting[key]
                    continue
                passed.setdefault(key, []).append((waiting[key][0], item, problem))
                waiting[key] = waiting[key][1:]
                if not waiting[key] or len(passed[key]) == SOURCES.contenders:
                    items[key] = passed.pop(key)[0][1]
                    del waiting[key]
        self._report(items, {place.place: why for some in passed.values() for place, _, why in some})
        return list(items.values())

    def _report(self, items: Mapping[tuple[str, str], FoundItem], passed: Mapping[str, str]) -> None:
        """Note what is left out. ``passed``: why those cannot be used, by their places, that come before the one that is used."""
        left = [
            (other, key)
            for key, some in self._found.items()
            for other in some
            if other.place != items[key].place and (other.place in passed or not other.is_copy)
        ]
        for other, key in sorted(left, key=lambda entry: entry[0].order):
            used = items[key]
            what = f"{shown(other.place)} is another {key[0]} named {shown(key[1], 80)}"
            if other.place in passed:
                self.doubles.append(
                    f"{what}, which cannot be used ({passed[other.place]}); {used.place} is used instead"
                )
            elif other.program is not None and used.program not in (None, other.program):
                self.for_others.append(other.place)
            elif not self._is_copy(used.place, other.place):
                self.doubles.append(f"{what}; {used.place} is used instead")

    def _item(self, kind: str, local_id: str, one: _Contender) -> FoundItem:
        row, place, program = KINDS[kind], one.place, one.program
        suffix = row.main_file or next((end for end in row.suffixes if place.endswith(end) or program is not None), "")
        entry = self._files[place]
        problem = None
        if not is_id(local_id) or not all(map(is_segment, local_id.split("/"))):
            problem = f"{shown(local_id, 80)!r} is not a valid item name (a-z, 0-9, '-' and '_')"
        elif not entry.is_file:
            problem = f"its file is {unusable(entry)}"
        elif self._skills.is_withheld(place):
            problem = (
                f"its file is a link to {shown(entry.target, 80)}, which the {IGNORE_FILE} of its skill leaves out"
            )
        elif (named := _unlockable(place)) is not None:
            problem = named
        elif not suffix or suffix not in row.endings:
            problem = f"this type of file cannot be a {kind}"
        attached: tuple[str, ...] = ()
        if row.main_file is not None and problem is None:
            attached, problem = self._skills.attached(place.rpartition("/")[0])
        return FoundItem(
            kind=kind,
            local_id=local_id,
            suffix=suffix,
            place=place,
            attached=attached,
            problem=problem,
            program=program,
        )

    def _is_copy(self, one: str, other: str) -> bool:
        """Whether both are the same object of the repository: collections keep a skill for each program."""
        first, second = self._files[one], self._files[other]
        same_bytes = bool(first.blob) and first.blob == second.blob
        return same_bytes or (first.target or one) == (second.target or other)


def _by_preference(key: tuple[str, str], some: Sequence[_Contender]) -> list[_Contender]:
    """Return those of a name in the order in which they count: as they were found, but of skills that lie equally deep, one that
    is in a folder of the name first."""
    if key[0] != "skill" or len(some) < 2:
        return list(some)
    ranks = [rank(one.place)[:2] for one in some]
    first = {found: at for at, found in reversed(list(enumerate(ranks)))}
    order = sorted(
        range(len(some)),
        key=lambda at: (first[ranks[at]], some[at].folder.rpartition("/")[2] != key[1], at),
    )
    return [some[at] for at in order]


def _unlockable(place: str) -> str | None:
    """Why rye.lock cannot name a file, or None."""
    try:
        inner_path(place)
    except BadSource as error:
        return shown(str(error), 200)
    return None
