"""Puts whole folders among a project's skills: each appears complete or not at all, and nothing happens anywhere else.

The folder ``.ai/skills`` is opened once, without following a link, and everything moves within what was opened: a link that takes
its place meanwhile leads nowhere (:mod:`rye.storage.opened_folder`). A folder that is replaced is moved aside, compared
with what was decided about, and deleted only once the new one is in place.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from rye.errors import RyeError
from rye.storage.opened_folder import OpenedFolder, opened_folder

SKILLS = ".ai/skills"
_ASIDE = ".adopting-"


class NewFile(Struct, frozen=True):
    """A file to write."""

    data: bytes
    executable: bool = False


class SkillFolders(NamedTuple):
    """The opened folder of a project's skills."""

    folder: OpenedFolder

    def add(self, name: str, files: Mapping[str, NewFile]) -> None:
        """Put a new folder in its place. Raises OSError, also if a folder with files is there."""
        staged = self._staged(files)
        try:
            self._rename(staged, name)
        except BaseException:
            self.folder.remove(staged)
            raise

    def replace(
        self, name: str, files: Mapping[str, NewFile], kept: Iterable[str], is_unchanged: Callable[[Path], bool]
    ) -> None:
        """Put the folder in another's place, with the files and links ``kept`` of that. ``is_unchanged``: whether the other one,
        which was moved away already, is what was decided about. Raises RyeError ``changed-meanwhile``."""
        staged, old = self._staged(files), _new_name()
        try:
            self._rename(name, old)
            try:
                if not is_unchanged(self.folder.path / old):
                    raise _changed(f"{SKILLS}/{name}")
                self._rename(staged, name)
            except BaseException:
                self._rename(old, name)
                raise
        except BaseException:
            self.folder.remove(staged)
            raise
        for path in kept:
            self._move(f"{old}/{path}", f"{name}/{path}")
        self.folder.remove(old)

    def _staged(self, files: Mapping[str, NewFile]) -> str:
        """Write the folder under a temporary name, and return that."""
        staged = _new_name()
        try:
            for path, file in files.items():
                with (
                    self.folder.around(f"{staged}/{path}", make=True) as (folder, name),
                    folder.create(name, 0o777 if file.executable else 0o666) as stream,
                ):
                    stream.write(file.data)
        except BaseException:
            self.folder.remove(staged)
            raise
        return staged

    def _move(self, source: str, target: str) -> None:
        with self.folder.around(source) as (above, name), self.folder.around(target, make=True) as (folder, new):
            above.move(name, folder, new)

    def _rename(self, source: str, target: str) -> None:
        self.folder.move(source, self.folder, target)


@contextmanager
def skill_folders(root: Path) -> Iterator[SkillFolders]:
    """Open the folder of a project's skills; it is made if it is missing. Raises RyeError ``symlink-in-the-way``, and OSError."""
    with opened_folder(root, SKILLS, make=True) as folder:
        yield SkillFolders(folder)


def replace_read(root: Path, place: Path, shown: str, old: bytes, new: bytes) -> None:
    """Replace a file below ``root`` that still has the bytes that were read, in folders that are opened without following links.

    Raises RyeError ``changed-meanwhile``, ``symlink-in-the-way``, and OSError.
    """
    with opened_folder(root) as opened, opened.around(place.relative_to(root).as_posix()) as (folder, name):
        if not folder.has(name, old):
            raise _changed(shown)
        folder.replace(name, new)


def _new_name() -> str:
    return f"{_ASIDE}{secrets.token_hex(8)}"


def _changed(shown: str) -> RyeError:
    return RyeError("changed-meanwhile", f"{shown} was changed just now, so it was left as it is.", "Run it again.")
