"""Reading an item's file from disk: bytes, text, location and the result of its kind's parser.

All code that needs a Reading of a path uses this module.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import UsageError
from rye.items.kinds import KINDS, Kind
from rye.items.location import PACKAGES, Location, guess, item_name, locate, told_by_title
from rye.items.reading import Reading, ReadOptions, Source
from rye.limits import CONTENT
from rye.project.context import main_file_in
from rye.project.ownership import refuse_linked
from rye.storage.safe_files import read_bytes
from rye.text import content
from rye.text.diagnostics import Diagnostic, in_order


class ItemFile(Struct, frozen=True):
    """One item as it is on disk. ``reading.value`` is None where the file does not parse."""

    path: Path
    """The signed file (for a folder, its main file)."""
    shown: str
    """The path as the person gave it, for messages."""
    data: bytes
    text: str | None
    """Decoded, LF, no BOM; None where the bytes are not text."""
    location: Location
    reading: Reading[object]

    @property
    def kind(self) -> Kind:
        """The item's kind."""
        return KINDS[self.location.kind]

    @property
    def suffix(self) -> str:
        """What the item's file name ends with (``.md``, ``.formula.toml``, ``SKILL.md``)."""
        return file_suffix(self.kind, self.path)


def file_suffix(kind: Kind, path: Path) -> str:
    """Return the suffix of its kind that the file name ends with, otherwise the file's own suffix."""
    if kind.main_file is not None:
        return kind.main_file
    return next((suffix for suffix in kind.suffixes if path.name.endswith(suffix)), path.suffix)


def load_item(
    path: Path,
    *,
    shown: str | None = None,
    kind: str | None = None,
    options: ReadOptions | None = None,
    root: Path | None = None,
) -> ItemFile:
    """Read the item at ``path`` (a file, or a skill's folder). ``root``: as for :func:`read_item_bytes`. Raises RyeError when it
    cannot be read or its kind is unknown."""
    shown = shown or str(path)
    if path.is_dir():
        path = main_file_in(path) or path
    return item_of(path, read_item_bytes(path, CONTENT.item_bytes, root), shown, kind=kind, options=options)


def read_item_bytes(path: Path, limit: int, root: Path | None = None) -> bytes:
    """Return the bytes of an item's file or of one attached to it, at most ``limit`` plus one. No link is followed below the root
    of the item's space. ``root``: that root; None: the project's, for a file in one, and elsewhere links are followed.

    Raises RyeError as :func:`rye.storage.safe_files.read_bytes` does.
    """
    if root is None:
        path, root = _in_project(path)
    return read_bytes(path, limit, root)


def _in_project(path: Path) -> tuple[Path, Path | None]:
    """The path without ``..``, and the root of the project's own or installed items above it. That root itself may be a
    link: :mod:`rye.project.ownership` decides where ``.ai`` may lead, also of a project that only the path names, and installed
    bytes are verified wherever they are. Raises RyeError ``linked-outside``."""
    place = path.absolute()
    if ".." in place.parts:
        after = len(place.parts) - place.parts[::-1].index("..")
        place = Path(*place.parts[:after]).resolve().joinpath(*place.parts[after:])
    parts = place.parts
    if ".ai" not in parts[:-1]:
        return path, None
    end = parts.index(".ai") + 1
    refuse_linked(Path(*parts[: end - 1]))
    if parts[end] == PACKAGES and len(parts) > end + 1:
        end += 1
    return place, Path(*parts[:end])


def item_of(
    path: Path, data: bytes, shown: str, *, kind: str | None = None, options: ReadOptions | None = None
) -> ItemFile:
    """Return the item that a file at ``path`` with these bytes is. Only attached files are read from disk.

    Raises UsageError if the kind is unknown.
    """
    decoded = content.decode(data)
    location = place(path, decoded.text if decoded.text is not None else _roughly(data), kind)
    if location is None:
        raise UsageError(
            "unknown-kind-of-file",
            f"Cannot tell what kind of item {shown!r} is.",
            f"Name it with --kind ({KINDS.names()}), or move the file into its kind's folder in .ai/.",
        )
    if decoded.text is None:
        return ItemFile(path, shown, data, None, location, Reading(None, None, tuple(decoded.diagnostics)))
    attached, problems = _attached(path, KINDS[location.kind])
    source = Source(decoded.text, shown, location.name, location.category, attached)
    reading = KINDS[location.kind].load().read(source, options or ReadOptions())
    merged = in_order((*decoded.diagnostics, *problems, *reading.diagnostics))
    return ItemFile(path, shown, data, decoded.text, location, replace(reading, diagnostics=merged))


def _roughly(data: bytes) -> str:
    """Decode invalid text with replacement characters, which is enough to guess the item's kind."""
    return data.decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")


def place(path: Path, text: str | None, kind: str | None) -> Location | None:
    """Return the item's location, from its folders or else from its content. ``kind`` overrides both."""
    absolute = path.resolve() if ".." in path.parts else path.absolute()
    located = locate(absolute)
    if kind is None and located is not None and text is not None:
        return told_by_title(located, text)
    if kind is None:
        return located or (guess(absolute, text) if text is not None else None)
    if located is not None and located.kind == kind:
        return located
    return Location(kind, item_name(KINDS[kind], absolute) or absolute.name.split(".", 1)[0], None)


def _attached(path: Path, kind: Kind) -> tuple[tuple[str, ...] | None, tuple[Diagnostic, ...]]:
    if kind.main_file is None or path.name != kind.main_file or not path.parent.is_dir():
        return None, ()
    from rye.items.attached import attached_files  # most items have none

    files, problems = attached_files(path)
    return tuple(file.path for file in files), tuple(problems)
