"""Puts whole folders among a project's skills: each appears complete or not at all, and nothing happens anywhere else.

The folder ``.ai/skills`` is opened once, without following a link, and everything moves within what was opened: a link that takes
its place meanwhile leads nowhere (:func:`rye.storage.safe_files.real_folder`). A folder that is replaced is moved aside, compared
with what was decided about, and deleted only once the new one is in place.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.storage.atomic import replace_file
from rye.storage.safe_files import open_regular, real_folder, remove_tree

SKILLS = ".ai/skills"
_ASIDE = ".adopting-"


class NewFile(Struct, frozen=True):
    """A file to write."""

    data: bytes
    executable: bool = False


class SkillFolders(Struct, frozen=True):
    """The opened folder of a project's skills. ``descriptor``: None where the system cannot work below one."""

    path: Path
    descriptor: int | None
    prefix: str

    def add(self, name: str, files: Mapping[str, NewFile]) -> None:
        """Put a new folder in its place. Raises OSError, also if a folder with files is there."""
        staged = self._staged(files)
        try:
            self._rename(staged, name)
        except BaseException:
            self._remove(staged)
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
                if not is_unchanged(self.path / old):
                    raise _changed(f"{SKILLS}/{name}")
                self._rename(staged, name)
            except BaseException:
                self._rename(old, name)
                raise
        except BaseException:
            self._remove(staged)
            raise
        for path in kept:
            self._move(f"{old}/{path}", f"{name}/{path}")
        self._remove(old)

    def _staged(self, files: Mapping[str, NewFile]) -> str:
        """Write the folder under a temporary name, and return that."""
        staged = _new_name()
        try:
            for path, file in files.items():
                folder, _, name = f"{staged}/{path}".rpartition("/")
                with real_folder(self.path, folder, make=True, opened=self.descriptor) as (descriptor, prefix):
                    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
                    mode = 0o777 if file.executable else 0o666
                    with os.fdopen(os.open(f"{prefix}{name}", flags, mode, dir_fd=descriptor), "wb") as stream:
                        stream.write(file.data)
        except BaseException:
            self._remove(staged)
            raise
        return staged

    def _move(self, source: str, target: str) -> None:
        above, _, name = source.rpartition("/")
        folder, _, new = target.rpartition("/")
        with (
            real_folder(self.path, above, make=False, opened=self.descriptor) as (before, prefix),
            real_folder(self.path, folder, make=True, opened=self.descriptor) as (after, other),
        ):
            os.rename(f"{prefix}{name}", f"{other}{new}", src_dir_fd=before, dst_dir_fd=after)

    def _rename(self, source: str, target: str) -> None:
        folder = self.descriptor
        os.rename(f"{self.prefix}{source}", f"{self.prefix}{target}", src_dir_fd=folder, dst_dir_fd=folder)

    def _remove(self, name: str) -> None:
        remove_tree(f"{self.prefix}{name}", self.descriptor)


@contextmanager
def skill_folders(root: Path) -> Iterator[SkillFolders]:
    """Open the folder of a project's skills; it is made if it is missing. Raises RyeError ``symlink-in-the-way``, and OSError."""
    with real_folder(root, SKILLS, make=True) as (descriptor, prefix):
        yield SkillFolders(root / SKILLS, descriptor, prefix)


def replace_read(root: Path, place: Path, shown: str, old: bytes, new: bytes) -> None:
    """Replace a file below ``root`` that still has the bytes that were read, in folders that are opened without following links.

    Raises RyeError ``changed-meanwhile``, ``symlink-in-the-way``, and OSError.
    """
    folder = place.parent.relative_to(root).as_posix()
    with real_folder(root, "" if folder == "." else folder, make=False) as (descriptor, prefix):
        name = f"{prefix}{place.name}"
        try:
            with open_regular(name, descriptor) as stream:
                is_same = stream.read(len(old) + 1) == old
        except OSError:
            is_same = False
        if not is_same:
            raise _changed(shown)
        replace_file(Path(name), new, folder=descriptor)


def _new_name() -> str:
    return f"{_ASIDE}{secrets.token_hex(8)}"


def _changed(shown: str) -> RyeError:
    return RyeError("changed-meanwhile", f"{shown} was changed just now, so it was left as it is.", "Run it again.")
