"""The files attached to an item that is a folder, such as a skill, with sizes and hashes (DECISIONS Skills 1).

The only module of this package that reads the disk.

Only regular files and safe path segments, no symlinks (neither followed nor attached), and at most the limits' number and bytes.
Hidden files and those that ``.ryeignore`` matches are skipped. Files are opened without following links and checked after
opening, so a file that is swapped in the meantime is not read.

A file with one of these findings is left out. :mod:`rye.items.skill.reader` reports them with its own.

S10   A link, device, pipe or socket.
S11   A path that is not safe on every system.
S12   Too many files or entries.
S13   Too many bytes.
S14   A file that cannot be read.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from pathlib import Path

from msgspec import Struct

from rye.items.ignore_patterns import IgnorePatterns, parse_ignore
from rye.limits import CONTENT, ContentLimits
from rye.text.diagnostics import Diagnostic, in_order

IGNORE_FILE = ".ryeignore"
_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
_CHUNK = 1 << 16


class AttachedFile(Struct, frozen=True, order=True):
    """One attached file: path relative to the item's folder with ``/``, size in bytes, hash, and the owner's execute bit."""

    path: str
    size: int
    sha256: str
    executable: bool


def is_safe_path(path: str) -> bool:
    """Whether an attached file can have this relative path on every system."""
    parts = path.split("/")
    return len(path) <= CONTENT.attached_path_characters and all(
        _SEGMENT.fullmatch(part) and not part.endswith(".") and not _DEVICE.fullmatch(part) for part in parts
    )


def attached_files(
    main_file: Path, limits: ContentLimits = CONTENT
) -> tuple[tuple[AttachedFile, ...], tuple[Diagnostic, ...]]:
    """Return the files attached to the item whose signed file is ``main_file``, by path, and the findings."""
    walk = _Walk(main_file, _ignore_patterns(main_file.parent, limits), limits)
    walk.run()
    files = sorted(walk.files)
    folded: dict[str, str] = {}
    for file in files:
        key = unicodedata.normalize("NFC", file.path).lower()
        other = folded.setdefault(key, file.path)
        if other != file.path or key == main_file.name.lower():
            same = main_file.name if key == main_file.name.lower() else other
            walk.report("S11", f"{file.path!r} and {same!r} are the same name on some systems.")
    return tuple(files), in_order(walk.problems)


class _Walk:
    def __init__(self, main_file: Path, ignored: IgnorePatterns, limits: ContentLimits):
        self.folder = main_file.parent
        self.main_file = main_file.name
        self.ignored = ignored
        self.limits = limits
        self.files: list[AttachedFile] = []
        self.problems: list[Diagnostic] = []
        self.entries = 0
        self.bytes = 0

    def report(self, code: str, message: str, hint: str | None = None) -> None:
        self.problems.append(Diagnostic("error", code, message, hint=hint))

    def run(self) -> None:
        waiting = [""]
        while waiting:
            relative = waiting.pop()
            for entry in self.scan(relative):
                path = f"{relative}/{entry.name}" if relative else entry.name
                self.entries += 1
                if self.entries > self.limits.folder_entries:
                    self.report("S12", f"More than {self.limits.folder_entries} files and folders.", _IGNORE_HINT)
                    return
                is_folder = entry.is_dir(follow_symlinks=False)
                if entry.name.startswith(".") or path == self.main_file or self.ignored.ignores(path, folder=is_folder):
                    continue
                if entry.is_symlink():
                    self.report(
                        "S10", f"{path!r} is a symbolic link.", "Replace it with the file itself, or ignore it."
                    )
                elif is_folder:
                    if is_safe_path(path):
                        waiting.append(path)
                    else:
                        self.unsafe(path)
                elif not entry.is_file(follow_symlinks=False):
                    self.report("S10", f"{path!r} is not a regular file.", _IGNORE_HINT)
                elif not is_safe_path(path):
                    self.unsafe(path)
                elif not self.attach(path):
                    return

    def scan(self, relative: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.folder / relative) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.report("S14", f"The folder {relative or '.'!r} cannot be read: {error.strerror}.")
            return []

    def unsafe(self, path: str) -> None:
        hint = "Use short paths of letters, digits, '.', '-' and '_', or ignore it."
        self.report("S11", f"{path!a} is not a name that works on every system.", hint)

    def attach(self, path: str) -> bool:
        """Add the file. Returns False if a limit is reached and there is no point in continuing."""
        if len(self.files) == self.limits.attached_files:
            self.report("S12", f"There are more than {self.limits.attached_files} attached files.", _IGNORE_HINT)
            return False
        try:
            file = self.read(path)
        except OSError as error:
            self.report("S14", f"{path!r} cannot be read: {error.strerror}.")
            return True
        if file is None:
            self.report("S13", f"The attached files have more than {self.limits.attached_bytes:,} bytes.", _IGNORE_HINT)
            return False
        self.bytes += file.size
        self.files.append(file)
        return True

    def read(self, path: str) -> AttachedFile | None:
        """Hash one file; None if it exceeds what remains of the limit."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(self.folder / path, flags)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError(0, "it is no longer a regular file")
            digest, size = hashlib.sha256(), 0
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if self.bytes + size > self.limits.attached_bytes:
                    return None
                digest.update(chunk)
        return AttachedFile(path, size, digest.hexdigest(), bool(status.st_mode & stat.S_IXUSR))


_IGNORE_HINT = f"List files that do not belong to the item in {IGNORE_FILE}."


def _ignore_patterns(folder: Path, limits: ContentLimits) -> IgnorePatterns:
    """The folder's ``.ryeignore``; empty if there is no such regular file."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(folder / IGNORE_FILE, flags)
    except OSError:
        return IgnorePatterns()
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            return IgnorePatterns()
        return parse_ignore(stream.read(limits.ignore_file_bytes).decode("utf-8", "replace"))
