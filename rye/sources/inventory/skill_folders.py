"""The folders of a source, and what belongs to the skills in them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from rye.items.attached import IGNORE_FILE, is_safe_path
from rye.items.ignore_patterns import IgnorePatterns, parse_ignore
from rye.limits import CONTENT
from rye.sources.inventory.order import rank
from rye.sources.listing import Listing, TreeEntry
from rye.sources.source_error import shown

MAIN = "SKILL.md"


def skill_folders(files: Listing) -> list[str]:
    """Return the folders with a SKILL.md, those first that count if several have a name."""
    mains = [path for path in files if path.rpartition("/")[2] == MAIN]
    return [path.rpartition("/")[0] for path in sorted(mains, key=lambda path: (bool(files[path].target), rank(path)))]


class SkillFolders:
    """The folders with a SKILL.md in ``files``. ``texts``: the bytes of their ignore files, by path."""

    def __init__(self, files: Listing, texts: Mapping[str, bytes]) -> None:
        self.ordered = skill_folders(files)
        """Those first that count if several have a name."""
        self.withheld: dict[str, str] = {}
        """Links that skills leave out: what they lead to, by their paths."""
        self._files = files
        self._texts = texts
        self._all = frozenset(self.ordered)
        self._by_folder = _by_folder(files)
        self._patterns: dict[str, IgnorePatterns] = {}
        """What skills ignore, by the beginning of their files' paths."""

    def hold(self, path: str) -> bool:
        """Whether a file is below the folder of a skill."""
        return any(path[:cut] in self._all for cut, letter in enumerate(path) if letter == "/")

    def directly_in(self, folder: str) -> Iterable[str]:
        """Return the files of a folder itself."""
        return self._by_folder.get(folder, ())

    def below(self, folder: str) -> Iterator[str]:
        """Yield the files of a folder and of those in it."""
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            yield from self._by_folder.get(here, ())
            waiting.extend(self._by_folder.folders.get(here, ()))

    def attached(self, folder: str) -> tuple[tuple[str, ...], str | None]:
        """Return the files attached to a skill, by the rules of :func:`rye.items.attached.attached_files`, or a problem."""
        prefix = f"{folder}/" if folder else ""
        ignored = self._ignored(prefix)
        paths: list[str] = []
        folded = {MAIN.lower()}
        for path in self.below(folder):
            relative = path.removeprefix(prefix)
            if relative == MAIN or _is_left_out(relative, ignored):
                continue
            entry = self._files[path]
            if self.is_withheld(path):
                self.withheld[path] = entry.target
                continue
            if not entry.is_file:
                return (), f"{shown(relative, 80)!r} is {unusable(entry)}"
            if not is_safe_path(relative):
                return (), f"{shown(relative, 80)!r} is not a name that works on every system"
            key = unicodedata.normalize("NFC", relative).lower()
            above = {key[:cut] for cut, letter in enumerate(key) if letter == "/"}
            if key in folded or above & folded:
                return (), f"{shown(relative, 80)!r} and another of its files have the same name on some systems"
            folded.add(key)
            paths.append(relative)
            if len(paths) > CONTENT.attached_files:
                return (), f"it has more than {CONTENT.attached_files} attached files"
        return tuple(sorted(paths)), None

    def is_withheld(self, path: str) -> bool:
        """Whether it is a link to a file that the ignore file of the skill around it leaves out: under another name nobody would
        know."""
        target = self._files[path].target
        if not target:
            return False
        above = ("", *(target[:cut] for cut, letter in enumerate(target) if letter == "/"))
        prefixes = [f"{folder}/" if folder else "" for folder in above if folder in self._all]
        return bool(prefixes) and _is_ignored(target.removeprefix(prefixes[-1]), self._ignored(prefixes[-1]))

    def _ignored(self, prefix: str) -> IgnorePatterns:
        if prefix not in self._patterns:
            data = self._texts.get(f"{prefix}{IGNORE_FILE}", b"")
            self._patterns[prefix] = parse_ignore(data[: CONTENT.ignore_file_bytes].decode("utf-8", "replace"))
        return self._patterns[prefix]


class _Folders(dict[str, list[str]]):
    """Files by folder; :attr:`folders`: folders by parent folder."""

    folders: dict[str, list[str]]


def _by_folder(files: Iterable[str]) -> _Folders:
    found = _Folders()
    found.folders = {}
    for path in sorted(files):
        folder = path.rpartition("/")[0]
        found.setdefault(folder, []).append(path)
    for folder in list(found):
        here = folder
        while here:
            above = here.rpartition("/")[0]
            rows = found.folders.setdefault(above, [])
            if here in rows:
                break
            rows.append(here)
            here = above
    return found


def unusable(entry: TreeEntry) -> str:
    """Return what an entry is that is no file, as the end of a sentence."""
    return "a link that leads to no file of this source" if entry.what == "link" else f"a {entry.what}"


def _is_left_out(relative: str, ignored: IgnorePatterns) -> bool:
    """Whether a path is hidden or ignored by the skill, itself or through a parent folder."""
    return any(part.startswith(".") for part in relative.split("/")) or _is_ignored(relative, ignored)


def _is_ignored(relative: str, ignored: IgnorePatterns) -> bool:
    """Whether a path is ignored by the skill, itself or through a parent folder."""
    parts = relative.split("/")
    return any(
        ignored.ignores("/".join(parts[:count]), folder=count < len(parts)) for count in range(1, len(parts) + 1)
    )
