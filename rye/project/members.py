"""The members of a workspace: folders of a project with their own ``rye.toml``, and what that file can contain.

The rules of this file:

1. ``[workspace] members`` in the root's ``rye.toml`` names them (:mod:`rye.project.member_patterns`). There is one rye.lock and
   one ``.ai``, at the root. A member's manifest has only ``[project] name``, ``[dependencies]`` and ``[groups]``.
2. Everything about the whole workspace (``[policy]``, ``[overrides]``, ``[registries]``, ``[sources]``,
   ``[environment]``, ``[deploy]``, ``[sandbox]``, ``[audit]``, items and customizations below ``.ai``, a rye.lock)
   belongs to the root. In a member it would have no effect, so it is an error: no one should rely on a policy that
   does not apply.
3. A member is a real folder inside the root: no links in its path, its ``rye.toml`` is not a link, and it is not a workspace
   itself.
4. A pattern without a wildcard names a member that must exist; a wildcard matches the folders that have a ``rye.toml``.
5. A member's group belongs to the workspace's group of the same name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.items.kinds import KINDS
from rye.limits import PROJECT, WORKSPACE
from rye.project.layout import LOCK, MANIFEST
from rye.project.manifest import Manifest, MemberName, parse_manifest
from rye.project.member_patterns import is_member_name, is_wild, matches_part
from rye.storage.safe_files import read_bytes
from rye.text.spelling import close_words
from rye.text.tables import ManifestError

_ROOTS_OWN = (
    *("packages", "overrides", "formula-overlays", "role-directives"),
    *(kind.folder for kind in KINDS.values()),
)
"""Folders in ``.ai`` that have an effect only at the root (rule 2)."""
_MEMBER_TABLES = frozenset({"name", "dependencies"})
"""Fields of :class:`Manifest` that a member can set."""


class MemberText(Struct, frozen=True, order=True):
    """One member's ``rye.toml``."""

    path: str
    """Its folder, relative to the root, with ``/``."""
    text: str
    """The text, with its line endings unchanged."""

    @property
    def file(self) -> str:
        """Its manifest's path from the workspace's root."""
        return f"{self.path}/{MANIFEST}"


def read_members(root: Path, manifest: Manifest) -> tuple[MemberText, ...]:
    """Read the members of a workspace, sorted by path. Raises RyeError ``bad-member``."""
    if manifest.workspace is None:
        return ()
    members: dict[str, MemberText] = {}
    places: dict[tuple[int, int], str] = {}
    left = [WORKSPACE.folders]
    total = 0
    for pattern in manifest.workspace:
        must_be = not any(map(is_wild, pattern.split("/")))
        for path in _folders(root, pattern, left):
            if path in members:
                continue
            data = _manifest_of(root, path)
            if data is None:
                if must_be:
                    raise _bad(path, f"it has no {MANIFEST}", f"Run `rye init {path}`, or remove it from members.")
                continue
            total += len(data)
            _require_member(root, path, len(members), total)
            other = places.setdefault(_identity(root / path), path)
            if other != path:
                raise _bad(path, f"it is the same folder as {other}", "Name it only once.")
            members[path] = MemberText(path, _decoded(path, data))
        if must_be and pattern not in members:
            raise _bad(pattern, "the folder does not exist", f"Run `rye init {pattern}`, or remove it from members.")
    return tuple(sorted(members.values()))


@lru_cache(maxsize=4)
def whole_manifest(text: str, members: tuple[MemberText, ...]) -> Manifest:
    """Return the root's manifest with the dependencies of its members. Raises ManifestError, RyeError ``bad-member``."""
    manifest = parse_manifest(text)
    if not members:
        return manifest
    wanted = list(manifest.dependencies)
    names = []
    for member in members:
        own = _parse_member(member)
        names.append(MemberName(member.path, own.name))
        wanted.extend(replace(line, member=member.path) for line in own.dependencies)
    ordered = tuple(sorted(wanted, key=lambda line: (line.member, line.group, line.key)))
    return replace(manifest, dependencies=ordered, members=tuple(names))


def of_member(manifest: Manifest, member: str | None) -> Manifest:
    """Return the manifest with only one member's dependencies (``""``: the root's); None: unchanged."""
    if member is None:
        return manifest
    return replace(manifest, dependencies=tuple(line for line in manifest.dependencies if line.member == member))


def selected(manifest: Manifest, name: str | None) -> Manifest:
    """Return the manifest with only the named member's dependencies (:func:`find_member`); None: unchanged."""
    return manifest if name is None else of_member(manifest, find_member(manifest, name))


def find_member(manifest: Manifest, name: str) -> str:
    """Return the path of a member, given its path or its ``[project] name``; ``.`` is the root.

    Raises UsageError ``unknown-name`` or ``ambiguous``.
    """
    if name == ".":
        return ""
    wanted = name.removeprefix("./").rstrip("/")
    paths = [member.path for member in manifest.members]
    if wanted in paths:
        return wanted
    named = [member.path for member in manifest.members if member.name == name]
    named = named or [path for path in paths if path.rpartition("/")[2] == wanted]
    if len(named) == 1:
        return named[0]
    if named:
        raise UsageError(
            "ambiguous", f"{name!r} matches several members: {', '.join(named)}.", f"Use the path: -p {named[0]}."
        )
    if not paths:
        raise UsageError(
            "unknown-name",
            f"There is no member {name!r}: this project is not a workspace.",
            'To make it one, add [workspace] members = ["services/*"] to rye.toml.',
            what="member",
        )
    near = close_words(name, [*paths, *(member.name for member in manifest.members if member.name)], 1)
    hint = f"Did you mean {near[0]}?" if near else f"Members: {', '.join(paths)}. `-p .` is the root."
    raise UsageError("unknown-name", f"There is no member {name!r}.", hint, what="member")


def member_around(manifest: Manifest, root: Path, cwd: Path) -> str:
    """Return the member that a folder is in; empty for the root."""
    here = Path(os.path.abspath(cwd))
    try:
        inside = here.relative_to(os.path.abspath(root)).as_posix()
    except ValueError:
        return ""
    around = [m.path for m in manifest.members if inside == m.path or inside.startswith(f"{m.path}/")]
    return max(around, key=len, default="")


def _parse_member(member: MemberText) -> Manifest:
    own = parse_manifest(member.text, member.file)
    if own.workspace is not None:
        raise _bad(
            member.path,
            "it is a workspace itself, and workspaces do not nest",
            "Remove [workspace] from its rye.toml, or remove it from members.",
        )
    empty = Manifest()
    for field in Manifest.__struct_fields__:
        if field not in _MEMBER_TABLES and getattr(own, field) != getattr(empty, field):
            raise _root_only(member.path, _TABLES_OF.get(field, f"[{field}]"))
    return own


_TABLES_OF = {
    "namespace": "[project] namespace",
    "registry": "[project] registry",
    "provides": "[environment]",
    "tools": "[environment]",
    "ignored": "[audit]",
}


def _root_only(path: str, what: str) -> RyeError:
    return _bad(path, f"{what} is only allowed at the workspace root", f"Move it to the root's {MANIFEST}.")


def _require_member(root: Path, path: str, count: int, total: int) -> None:
    if count >= WORKSPACE.members:
        raise _bad(path, f"the workspace has more than {WORKSPACE.members} members", "Remove some from members.")
    if total > WORKSPACE.manifest_bytes:
        raise _bad(
            path,
            f"the members' manifests are larger than {WORKSPACE.manifest_bytes:,} bytes in total",
            "Remove some from members.",
        )
    below = [f".ai/{name}" for name in _ROOTS_OWN] if os.path.lexists(root / path / ".ai") else []
    for name in (LOCK, *below):
        if os.path.lexists(root / path / name):
            raise _bad(
                path,
                f"its {name} has no effect, because a workspace only uses the one at its root",
                f"Move what you need to the root, then remove {path}/{name}.",
            )


def _folders(root: Path, pattern: str, left: list[int]) -> Iterator[str]:
    """Yield the folders that match a pattern, sorted. ``left``: how many more entries can be visited."""
    waiting = [((), tuple(pattern.split("/")))]  # type: list[tuple[tuple[str, ...], tuple[str, ...]]]
    folders: list[str] = []
    while waiting:
        here, parts = waiting.pop()
        if not parts:
            folders.append("/".join(here))
            continue
        names = _names(root.joinpath(*here), parts[0], left) if is_wild(parts[0]) else [parts[0]]
        for name in names:
            if _is_real_folder(root, (*here, name), named=not is_wild(parts[0]), last=len(parts) == 1):
                waiting.append(((*here, name), parts[1:]))
    yield from sorted(folders)


def _names(folder: Path, part: str, left: list[int]) -> list[str]:
    names = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                left[0] -= 1
                if left[0] < 0:
                    raise ManifestError(
                        f"[workspace] members: the patterns visit more than {WORKSPACE.folders} folders and files.",
                        "Use narrower patterns.",
                    )
                if matches_part(part, entry.name) and (entry.is_symlink() or entry.is_dir(follow_symlinks=False)):
                    names.append(entry.name)
    except OSError as error:
        raise RyeError("unreadable", f"Cannot read the folder {str(folder)!r}: {error.strerror}.") from None
    return names


def _is_real_folder(root: Path, parts: Sequence[str], *, named: bool, last: bool) -> bool:
    """Whether it is a folder that can be a member or contain one. ``named``: without a wildcard; ``last``: a member itself.

    Raises RyeError ``bad-member`` for a link that was named or that points to a folder with a rye.toml.
    """
    path = root.joinpath(*parts)
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if stat.S_ISLNK(status.st_mode):
        if path.is_dir() and (named or (last and os.path.lexists(path / MANIFEST))):
            raise _bad("/".join(parts), "it is a link, which may point outside the project", "Use a real folder.")
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    if not is_member_name(parts[-1]):
        raise _bad("/".join(parts), "its name does not work on every system", "Rename it.")
    return True


def _manifest_of(root: Path, path: str) -> bytes | None:
    """Return the bytes of a member's rye.toml; None if it has none."""
    file = root / path / MANIFEST
    try:
        data = read_bytes(file, PROJECT.manifest_bytes)
    except RyeError as error:
        if error.code == "no-such-file" and not file.is_symlink():
            return None
        raise
    if file.is_symlink():
        raise _bad(path, f"its {MANIFEST} is a link", "Replace the link with a file.")
    if len(data) > PROJECT.manifest_bytes:
        raise _bad(path, f"its {MANIFEST} is larger than {PROJECT.manifest_bytes:,} bytes", "Make it smaller.")
    return data


def _decoded(path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _bad(path, f"its {MANIFEST} is not UTF-8", "Save it as UTF-8.") from None


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _bad(path: str, why: str, hint: str) -> RyeError:
    return RyeError("bad-member", f"Workspace member {path}: {why}.", hint)


def joined_text(text: str, members: Iterable[MemberText]) -> str:
    """Join all manifests into one text, to detect changes. Without members it is the root's text."""
    parts = [f"\n\0{member.path}\n{member.text}" for member in members]
    return "".join([text, *parts])
