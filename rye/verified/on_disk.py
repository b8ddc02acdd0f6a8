"""Compares ``.ai/packages`` with the lock: missing, changed and extra files.

Every byte is hashed; times and sizes prove nothing. Links, and files that the lock does not name, are reported,
because agent tools read whatever is there. :func:`scan` reads the disk; :func:`drift` compares and is pure.

A file that differs from the lock was *edited* by a person only if it also differs from what the last run here wrote:
after a pull, the lock is newer than the files, and no one edited them. ``.ai/.rye/installed.json`` remembers what was
written. If that file is wrong, a file can at worst count as ours, and the bytes of rye.lock replace it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from rye.errors import RyeError
from rye.limits import CONTENT, PROJECT
from rye.project.item_file import read_item_bytes
from rye.project.layout import Project, read_project_file
from rye.project.lock import LockedItem
from rye.project.lock_file import item_files, item_path
from rye.storage.safe_files import first_link
from rye.text.json_reading import UNDECODABLE

RESTORES = "rye install"
"""Sets executable bits as the lock has them, and writes what is missing."""
DISCARDS = f"{RESTORES} --discard-local-edits"
"""Overwrites files that were edited."""
State = Literal["missing", "changed", "extra", "wrong-flag"]
"""``wrong-flag``: the bytes are right, and the executable bit is not."""
INSTALLED = ".ai/.rye/installed.json"
_PACKAGES = ".ai/packages"
_READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CHUNK = 1 << 20
_LEAST = 1 << 12
"""Read sizes in bytes: a little more than the file's size, within these limits."""


class Present(Struct, frozen=True):
    """One existing file."""

    sha256: str | None
    """None if it is not a readable regular file (a link, a pipe)."""
    executable: bool = False


class Drift(Struct, frozen=True):
    """One file that differs from the lock."""

    path: str
    """Relative to the project, with ``/``."""
    state: State
    item: LockedItem | None
    """None for an extra file."""


def scan(project: Project, folder: str | None = None) -> dict[str, Present]:
    """Hash every file below ``.ai/packages``, or only those below a folder there: none if a link leads to it."""
    files: dict[str, Present] = {}
    if first_link(project.ai, project.root / (folder or _PACKAGES)) is not None:
        return {_PACKAGES: Present(None)} if folder is None else {}
    waiting = [(str(project.root / (folder or _PACKAGES)), folder or _PACKAGES)]
    while waiting:
        folder, shown = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except FileNotFoundError:
            continue
        except OSError:
            files[shown] = Present(None)
            continue
        for entry in entries:
            path = f"{shown}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, path))
            else:
                files[path] = read_present(entry.path) if entry.is_file(follow_symlinks=False) else Present(None)
    return files


def read_present(path: str) -> Present:
    """Hash one file, without following links."""
    try:
        descriptor = os.open(path, _READING)
    except OSError:
        return Present(None)
    try:
        status = os.fstat(descriptor)
        mode = status.st_mode
        if not stat.S_ISREG(mode):
            return Present(None)
        asked = min(max(status.st_size + 1, _LEAST), _CHUNK)  # a short read means the end of the file
        data = os.read(descriptor, asked)
        digest = hashlib.sha256(data)
        while len(data) == asked:
            data = os.read(descriptor, asked)
            digest.update(data)
        return Present(digest.hexdigest(), bool(mode & 0o100))
    except OSError:
        return Present(None)
    finally:
        os.close(descriptor)


def drift(items: Iterable[LockedItem], present: Mapping[str, Present]) -> list[Drift]:
    """Return every difference between the result of :func:`scan` and these items, sorted by path."""
    differences = []
    left = set(present)
    for item in items:
        for path, (sha256, executable) in item_files(item).items():
            left.discard(path)
            here = present.get(path)
            if here is None:
                differences.append(Drift(path, "missing", item))
            elif here.sha256 != sha256:
                differences.append(Drift(path, "changed", item))
            elif here.executable != executable and os.name == "posix":
                differences.append(Drift(path, "wrong-flag", item))
    differences.extend(Drift(path, "extra", None) for path in left)
    return sorted(differences, key=lambda entry: entry.path)


def other_line_ends(data: bytes, digest: str) -> bool:
    """Whether these bytes have the SHA-256 ``digest`` once all lines end in LF, or all in CRLF: git changes line ends in a
    checkout where ``core.autocrlf`` or an attribute asks for it. A file that mixed both is not recognized."""
    unix = data.replace(b"\r\n", b"\n")
    return any(hashlib.sha256(one).hexdigest() == digest for one in (unix, unix.replace(b"\n", b"\r\n")))


def only_line_ends(project: Project, entry: Drift) -> bool:
    """Whether a file differs from the lock in its line ends alone. A link, and a file that cannot be read, differ in more."""
    if entry.state != "changed" or entry.item is None:
        return False
    try:
        data = read_item_bytes(project.root / entry.path, CONTENT.attached_bytes)
    except RyeError:
        return False
    return other_line_ends(data, item_files(entry.item)[entry.path][0])


def line_ends_explained(command: str) -> tuple[str, str]:
    """What to say of a file that differs in its line ends alone, and what mends it. ``command``: writes its bytes again."""
    mends = f"`{command}` restores them; commit the `.gitattributes` that it writes."
    return "differs only in its line ends, which git changes in a checkout (`core.autocrlf`)", mends


def signed_with_lf(path: str) -> tuple[str, str]:
    """What to say of an own file whose signature holds although git changed its line ends, and what mends it."""
    said = f"{path} has CR LF line ends and was signed with LF: git changed them in a checkout (`core.autocrlf`)."
    return said, f"`rye validate --fix {path}` restores them; commit the `.gitattributes` that `rye install` writes."


def flag_explained(path: str, command: str, *, lost: bool) -> tuple[str, str]:
    """What to say of a file that lost or gained its executable bit, and what mends it. ``command``: sets the bit again."""
    mends = (
        f"`{command}` restores the bit. If it is wrong in every checkout (`core.filemode=false`), commit it: "
        f"`git update-index --chmod={'+' if lost else '-'}x {path}`."
    )
    return "lost its executable bit" if lost else "is executable, and its item's file is not", mends


def explained(project: Project, entry: Drift, discards: str, restores: str) -> tuple[str, str] | None:
    """What to say of a link, and of a file that a checkout may have changed, and what mends it; None if it differs in more.

    ``discards``: the command that overwrites edits; ``restores``: the one that sets executable bits and writes what is missing.
    """
    if entry.state == "wrong-flag" and entry.item is not None:
        return flag_explained(entry.path, restores, lost=item_files(entry.item)[entry.path][1])
    if entry.state == "changed" and os.path.islink(project.root / entry.path):
        mends = f"Remove the link; then `{restores}` puts the file itself in its place."
        return "is a symbolic link, through which Rye reads nothing", mends
    return line_ends_explained(discards) if only_line_ends(project, entry) else None


def lost_flags(items: Iterable[LockedItem], present: Mapping[str, Present]) -> list[Drift]:
    """Return the installed files whose executable bit alone is wrong. Files of an item that is not installed in this very
    version are left out: after a pull, the lock is newer than they are, and their bit may have been right."""
    return [
        entry
        for entry in drift(items, present)
        if entry.state == "wrong-flag" and entry.item is not None and _is_installed(entry.item, present)
    ]


def _is_installed(item: LockedItem, present: Mapping[str, Present]) -> bool:
    here = present.get(item_path(item))
    return here is not None and here.sha256 == item.sha256


def find_drift(project: Project, items: Iterable[LockedItem]) -> list[Drift]:
    """Return every difference between the disk and these items, sorted by path."""
    return drift(items, scan(project))


def edited(project: Project, items: Iterable[LockedItem], present: Mapping[str, Present]) -> list[Drift]:
    """Return the files that a person changed or added: they match neither these items nor the last run (:func:`read_written`)."""
    found = [entry for entry in drift(items, present) if entry.state in ("changed", "extra")]
    written = read_written(project) if found else {}
    return [entry for entry in found if _differs(present[entry.path].sha256, written.get(entry.path))]


def _differs(sha256: str | None, written: str | None) -> bool:
    return sha256 is None or sha256 != written


def read_written(project: Project) -> dict[str, str]:
    """Return the hashes of what the last run here wrote, by path; empty if unknown."""
    try:
        table = msgspec.json.decode(read_project_file(project.root / INSTALLED, PROJECT.lock_bytes) or b"{}")
    except (RyeError, ValueError, *UNDECODABLE):
        return {}
    if not isinstance(table, dict):
        return {}
    return {path: sha256 for path, sha256 in table.items() if isinstance(sha256, str)}


def written_text(items: Iterable[LockedItem]) -> str:
    """Return the content of ``installed.json`` after these items are installed."""
    files = {path: sha256 for item in items for path, (sha256, _) in item_files(item).items()}
    if not files:
        return "{}\n"
    lines = (msgspec.json.encode({path: files[path]}).decode()[1:-1].replace('":"', '": "') for path in sorted(files))
    return "{\n" + ",\n".join(lines) + "\n}\n"
