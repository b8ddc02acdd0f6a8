"""What a command needs from the project it runs in: the manifest, read options and the project's own items.

Among path arguments, a file means itself. A folder means every item below it (and, for kinds with rules across files, a
closed set: DECISIONS Agents 11). A pattern that is not a file is expanded. Folders are walked in sorted order without
following symlinks. ``.git``, virtual environments, ``node_modules`` and installed packages are skipped unless they are
named.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.kinds import KINDS
from rye.items.location import PACKAGES, guess, locate, tells_kind
from rye.items.reading import ReadOptions
from rye.limits import CONTENT, PROJECT
from rye.project.layout import Project, find_project, read_project_file
from rye.project.manifest import Manifest, parse_manifest
from rye.project.members import MemberText, read_members, whole_manifest
from rye.text.spelling import close_words

_LEFT_OUT = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__"})
_MOST_COMPARED = 2000
"""How many items a hint for a misspelled path looks at."""
CUSTOMIZATIONS = frozenset({"overrides", "formula-overlays", "role-directives"})
MAX_FILES = 100_000
"""The most files that one folder argument can hold."""


class FileToRead(Struct, frozen=True):
    """One file to read as an item. ``set_root``: the folder argument it was found in; None: the file itself was named."""

    path: Path
    shown: str
    set_root: Path | None = None


def expand(arguments: Iterable[str], base: Path) -> list[FileToRead]:
    """Return the item files that the arguments name, without duplicates, in argument order. Raises RyeError if one is missing."""
    files: dict[Path, FileToRead] = {}
    for argument in arguments:
        for entry in _expand_one(argument, base):
            files.setdefault(entry.path, entry)
    return list(files.values())


def _expand_one(argument: str, base: Path) -> Iterator[FileToRead]:
    if not argument:
        raise RyeError("no-such-file", "A path is empty.", "Name a file, a folder or a pattern.")
    path = base / argument
    if _is_folder(path):
        main = main_file_in(path)
        if main is not None:
            yield FileToRead(main, argument)
            return
        before = True
        for file in walk(path):
            before = False
            yield FileToRead(file, str(Path(argument) / file.relative_to(path)), set_root=path)
        if before:
            raise RyeError(
                "no-items",
                f"No items below {argument!r}.",
                "Put items into folders such as .ai/directives/<category>/.",
                what="items",
            )
    elif path.exists() or path.is_symlink():
        yield FileToRead(path, argument)
    elif any(character in argument for character in "*?["):
        yield from _matching(argument, base)
    else:
        near = _similar_items(argument, base)
        hint = f"Did you mean {' or '.join(near)}?" if near else _other_than_a_path(argument)
        raise RyeError("no-such-file", f"There is no file or folder {argument!r}.", hint)


def _other_than_a_path(argument: str) -> str:
    """What helps where a path was expected and something else was typed."""
    kind, _, identifier = argument.rpartition(":")
    if kind in KINDS or (identifier.count("/") >= 1 and not identifier.startswith((".", "/"))):
        return "Check the path: this command takes files and folders, not ids. Installed items are in .ai/packages/NAMESPACE/."
    return "Check the path."


def _similar_items(argument: str, base: Path) -> list[str]:
    """The paths of the items below ``base/.ai`` whose path or name is similar; at most two."""
    folder = base / ".ai"
    try:
        files = list(islice(walk(folder), _MOST_COMPARED)) if _is_folder(folder) else []
    except RyeError:  # that the path does not exist is the error to report
        return []
    paths: dict[str, str] = {}
    for file in files:
        item = file.parent if file.name in KINDS.main_files() else file
        shown = str(item.relative_to(base))
        for name in (shown, item.name, item.stem):
            paths.setdefault(name, shown)
    wanted = argument.rstrip("/")
    near = [*close_words(wanted, paths, 2), *close_words(wanted.rpartition("/")[2], paths, 2)]
    return list(dict.fromkeys(paths[name] for name in near))[:2]


def _matching(pattern: str, base: Path) -> Iterator[FileToRead]:
    """Expand a pattern like a shell does: a file is itself, a folder is walked."""
    root, relative = (base, pattern) if not Path(pattern).is_absolute() else (Path("/"), pattern.lstrip("/"))
    if any(
        "**" in part and part != "**" for part in Path(relative).parts
    ):  # what Python makes of it depends on its version
        raise _no_pattern(pattern, "`**` stands alone between slashes")
    try:
        matches = sorted(islice(root.glob(relative), MAX_FILES + 1))
    except ValueError as error:
        raise _no_pattern(pattern, str(error)) from None
    if len(matches) > MAX_FILES:
        raise RyeError("too-many-files", f"More than {MAX_FILES} files match {pattern!r}.", "Name a folder.")
    named = set(Path(relative).parts)
    none = True
    for match in matches:
        if any(part in _LEFT_OUT and part not in named for part in match.relative_to(root).parts):
            continue
        shown = str(match.relative_to(base)) if match.is_relative_to(base) else str(match)
        if not _is_folder(match):
            none = False
            yield FileToRead(match, shown)
            continue
        main = main_file_in(match)
        for file in walk(match) if main is None else [main]:
            none = False
            yield FileToRead(file, str(Path(shown) / file.relative_to(match)), set_root=match)
    if none:
        raise RyeError("no-such-file", f"No item matches {pattern!r}.", "Check the pattern.")


def _no_pattern(pattern: str, why: str) -> UsageError:
    hint = "Use `*` for a name and `**` for any folders."
    return UsageError("bad-argument", f"{pattern!r} is not a pattern: {why}.", hint, what="pattern")


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a symlink loop is not a folder
        return False


def main_file_in(folder: Path) -> Path | None:
    """Return the main file of a folder that is an item, such as a skill's ``SKILL.md``; None for other folders."""
    return next((folder / name for name in KINDS.main_files() if (folder / name).is_file()), None)


def walk(root: Path) -> Iterator[Path]:
    """Yield the item files below a folder, sorted: those in a kind's folder, and others whose name or content shows a kind."""
    inside_packages = PACKAGES in root.absolute().parts
    seen = 0
    for folder, folders, files in os.walk(root, onerror=_unreadable, followlinks=False):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if _enter(here, name, inside_packages))
        for name in sorted(files):
            seen += 1
            if seen > MAX_FILES:
                raise RyeError(
                    "too-many-files", f"More than {MAX_FILES} files below {str(root)!r}.", "Name a folder in it."
                )
            path = here / name
            if path.is_symlink() or not path.is_file():
                continue
            if locate(path.absolute()) is not None or _shows_kind(path):
                yield path
        if any(name in files and locate((here / name).absolute()) is not None for name in KINDS.main_files()):
            folders[:] = []  # files below it are attached to the item


def _unreadable(error: OSError) -> None:
    """Raise for a folder that cannot be read: unread files must not count as valid."""
    raise RyeError("unreadable", f"Cannot read the folder {error.filename!r}: {error.strerror}.")


def _enter(here: Path, name: str, inside_packages: bool) -> bool:
    if name in _LEFT_OUT:
        return False
    if here.name == ".ai":
        return name not in CUSTOMIZATIONS and (inside_packages or name != PACKAGES)
    return True


def _shows_kind(path: Path) -> bool:
    """Whether a file outside of every kind's folder is an item, judging by its name and content."""
    if tells_kind(path) is not None:
        return True
    if path.suffix != ".md":
        return False
    try:
        with path.open("rb") as stream:
            data = stream.read(CONTENT.item_bytes)
    except OSError:
        return True  # reading it later reports why
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")
    return guess(path, text) is not None


def own_items(ai: Path) -> list[Path]:
    """Return the item files in a project's ``.ai`` folder, sorted, without installed items and customizations."""
    paths: list[Path] = []
    try:
        there = frozenset(os.listdir(ai))  # a listing, which rye.cli.unchanged notices, unlike a look at each folder
    except OSError:
        return []
    for kind in KINDS.values():
        folder = ai / kind.folder
        if kind.folder in there and folder.is_dir() and not folder.is_symlink():
            paths.extend(
                path for path in walk(folder) if (place := locate(path.absolute())) and place.kind == kind.name
            )
    return sorted(paths)


def require_project(start: Path) -> Project:
    """Return the project around ``start``. Raises RyeError ``no-project`` or ``no-manifest``."""
    return Project.find(start)


def load_manifest(project: Project) -> Manifest:
    """Return the project's manifest with its members' dependencies; an empty one if it has only an ``.ai`` folder."""
    text, members = read_manifests(project)
    return whole_manifest(text, members)


def read_manifests(project: Project) -> tuple[str, tuple[MemberText, ...]]:
    """Return the texts of the manifests of the project (empty if it has none) and its members, with unchanged line endings."""
    data = read_project_file(project.manifest_path, PROJECT.manifest_bytes)
    try:
        text = data.decode("utf-8") if data is not None else ""
    except UnicodeDecodeError:
        raise RyeError("bad-manifest", "rye.toml is not UTF-8.", "Save it as UTF-8.") from None
    return text, members_of(project, text)


def members_of(project: Project, text: str) -> tuple[MemberText, ...]:
    """Read the members that a root's manifest names. A text that does not mention a workspace is not parsed, so it can be
    invalid."""
    return read_members(project.root, parse_manifest(text)) if "workspace" in text else ()


def read_options(start: Path, *, publishing: bool = False) -> ReadOptions:
    """Return the read options, with the agent tools that the project's manifest adds."""
    project = find_project(start)
    tools = load_manifest(project).tools if project is not None else frozenset()
    return ReadOptions(tools=tools, publishing=publishing)


def arguments_or_own_items(cwd: Path, arguments: Sequence[str]) -> list[FileToRead]:
    """The files that the arguments name or, without any, the project's own items."""
    if arguments:
        return expand(arguments, cwd)
    project = require_project(cwd)
    paths = own_items(project.ai)
    if not paths and project.packages.is_dir():
        raise RyeError(
            "no-items",
            "This project has no items of its own.",
            "`rye audit` checks what is installed; `rye new directive ID` creates an item.",
            what="items",
        )
    if not paths:
        raise RyeError(
            "no-items", "This project has no items of its own.", "Create one with `rye new directive ID`.", what="items"
        )
    return [FileToRead(path, os.path.relpath(path, cwd), set_root=project.ai) for path in paths]
