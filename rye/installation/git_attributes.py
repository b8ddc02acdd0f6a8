"""The block in ``.gitattributes`` by which git keeps the bytes of what Rye wrote: signatures and locks are about exact bytes, and
git changes line ends where ``core.autocrlf`` or another attribute asks for it.

One file is in ``.ai``, for everything below it; one is in each folder that items are deployed to (``.claude/.gitattributes``),
and names only deployed files and itself. The block is always the last of its file, because git obeys the last line that fits.
What a user wrote outside of it stays byte for byte. A file without anything else goes with its block.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from rye.errors import RyeError
from rye.installation.transaction import NOTHING, Change
from rye.limits import PROJECT
from rye.project.agent_programs import ATTRIBUTES, attribute_folders
from rye.project.layout import Project, read_project_file
from rye.text.lazy import lazy_pattern

_OWN = ".ai"
_KEPT = "-text -ident !working-tree-encoding"
"""Line ends, ``$Id$`` and the encoding stay. Filters stay too: what encrypts or stores elsewhere gives back the same bytes."""
_BEGIN = b"# BEGIN rye"
_END = b"# END rye"
_NO_END = b" (the line above has no end)"
"""Marks a block that begins with the line break that the user's last line lacks, so that both go together."""
_BLOCK = lazy_pattern(
    rb"(?:(?:\A|\r?\n)(?=# BEGIN rye \(the line above has no end\))|^)# BEGIN rye[^\r\n]*\r?\n"
    rb"(?:(?!# BEGIN rye|# END rye)[^\n]*\n)*# END rye[^\S\n]*(?:\n|\Z)",
    re.MULTILINE,
)


def own_attributes(project: Project) -> tuple[list[Change], list[str]]:
    """The change of ``.ai/.gitattributes``, if it has to change, and what to say about it."""
    return _changes(project.root, {_OWN: ["*"]})


def deployed_attributes(project: Project, deployed: Iterable[str]) -> tuple[list[Change], list[str]]:
    """The changes of the files in folders that agent programs read, and what to say about them. ``deployed``: the paths of all
    files that are deployed after the run, without files that others write too."""
    wanted: dict[str, list[str]] = {folder: [] for folder in attribute_folders()}
    for path in sorted(deployed):
        folder, _, inner = path.partition("/")
        parts = inner.split("/")
        pattern = f"/{'/'.join(parts[:2])}/**" if len(parts) > 2 else f"/{inner}"
        patterns = wanted.setdefault(folder, [])
        patterns += [each for each in (f"/{ATTRIBUTES}", pattern) if each not in patterns]
    return _changes(project.root, wanted)


def _changes(root: Path, wanted: Mapping[str, list[str]]) -> tuple[list[Change], list[str]]:
    changes: list[Change] = []
    said: list[str] = []
    for folder, patterns in wanted.items():
        shown = f"{folder}/{ATTRIBUTES}"
        try:
            before = _read(root, shown)
        except RyeError as error:
            if patterns:
                said.append(f"{shown} cannot keep git from changing bytes: {error.message}")
            continue
        after = with_block(before, [f"{pattern} {_KEPT}" for pattern in patterns])
        if after != before:
            changes.append(Change(shown, after, before=NOTHING if before is None else sha256(before).hexdigest()))
            if after is not None and not _BLOCK.search(before or b""):  # said once; git shows what changes later
                said.append(f"{shown} makes git keep the bytes that Rye wrote there. Commit it with them.")
    return changes, said


def _read(root: Path, shown: str) -> bytes | None:
    """The file's bytes; None if there is none. Raises RyeError for a link on the way, and for what is no small regular file."""
    for path in (root / shown).parent, root / shown:
        try:
            mode = os.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None  # a file in the folder's place is for the deploy to refuse
        if stat.S_ISLNK(mode):
            raise RyeError("unsafe-path", f"{path.relative_to(root).as_posix()} is a symbolic link.")
    return read_project_file(root / shown, PROJECT.manifest_bytes)


def with_block(before: bytes | None, lines: Iterable[str]) -> bytes | None:
    """A file's bytes with exactly these lines in Rye's block, as the last one; None for no file. Pure."""
    rest = b"".join(_outside(before or b""))
    inside = "".join(f"{line}\n" for line in lines).encode("ascii")
    if not inside:
        return before if rest == before else rest or None
    glued = rest != b"" and not rest.endswith(b"\n")
    begin = b"\n" + _BEGIN + _NO_END if glued else _BEGIN
    return rest + begin + b": these bytes are signed or locked\n" + inside + _END + b"\n"


def _outside(data: bytes) -> Iterator[bytes]:
    at = 0
    for found in _BLOCK.finditer(data):
        yield data[at : found.start()]
        at = found.end()
    yield data[at:]
