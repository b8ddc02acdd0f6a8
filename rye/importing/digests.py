"""The folder hashes of other tools. Pure.

====================  ==========================================================================================================
Sort                  What is hashed
====================  ==========================================================================================================
``git-tree``          The git tree id of the folder; read from the repository, not computed here.
``skills-folder``     SHA-256 over each file's path and bytes, without separators or ``.git`` and ``node_modules``, in the order
                      of JavaScript's ``localeCompare`` (vercel-labs/skills, ``computeSkillFolderHash``).
``apm-package``       SHA-256 over each file's path and bytes, without separators or ``.git``, ``__pycache__`` and ``.apm-pin``,
                      in the order of the paths' code points (microsoft/apm, ``compute_package_hash``).
``toolhive-files``    SHA-256 over each path, a NUL, the SHA-256 of the bytes and a line feed, in the order of the paths' bytes
                      (stacklok/toolhive, ``ContentDigest``).
====================  ==========================================================================================================

Without separators, two different folders can have the same digest. So these digests are only a hint that a folder is the
intended one: rye.lock has the SHA-256 of each file and the commit.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Mapping

from rye.importing.foreign import DigestSort

Files = Mapping[str, bytes]
"""The bytes of each file by its path in the folder, with ``/``. Links and submodules are not included."""

_PUNCTUATION = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789"
"""ASCII characters other than letters, in the order of the CLDR root collation (UTS 35), which ``localeCompare`` uses."""


def folder_digest(sort: DigestSort, files: Files) -> str:
    """The digest of a folder, in hex. ``git-tree`` is not supported here."""
    return _SORTS[sort](files)


def _skills_folder(files: Files) -> str:
    kept = [path for path in files if not {".git", "node_modules"} & set(path.split("/")[:-1])]
    return _joined(files, sorted(kept, key=collation_key))


def _apm_package(files: Files) -> str:
    kept = [path for path in files if not {".git", "__pycache__"} & set(path.split("/")) and path != ".apm-pin"]
    return _joined(files, sorted(kept))


def _joined(files: Files, order: list[str]) -> str:
    digest = hashlib.sha256()
    for path in order:
        digest.update(path.encode())
        digest.update(files[path])
    return digest.hexdigest()


def _toolhive_files(files: Files) -> str:
    digest = hashlib.sha256()
    for path in sorted(files, key=str.encode):
        digest.update(path.encode() + b"\0" + hashlib.sha256(files[path]).digest() + b"\n")
    return digest.hexdigest()


_SORTS: Mapping[DigestSort, Callable[[Files], str]] = {
    "skills-folder": _skills_folder,
    "apm-package": _apm_package,
    "toolhive-files": _toolhive_files,
}


def collation_key(path: str) -> tuple[list[tuple[int, str]], list[str], list[bool]]:
    """A sort key with the order of ``localeCompare`` for ASCII and accented letters: base letters are compared first, then
    accents, then case (lower case first). Other characters sort last, by code point."""
    primary: list[tuple[int, str]] = []
    accents: list[str] = []
    upper: list[bool] = []
    for character in unicodedata.normalize("NFD", path):
        if unicodedata.combining(character) and accents:
            accents[-1] += character
            continue
        place = _PUNCTUATION.find(character)
        primary.append((place, "") if place >= 0 else (len(_PUNCTUATION), character.lower()))
        accents.append("")
        upper.append(character.isupper())
    return primary, accents, upper
