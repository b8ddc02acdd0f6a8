"""Merging files that a person names: a text with its overrides, and an old overrides file rewritten
(DECISIONS Overrides 16, 19)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path

from msgspec import Struct

from rye.customization.legacy import Migration, migrate_legacy
from rye.customization.merge import MergeResult, RejectedOverrides, drift
from rye.customization.merge import merge as merge_texts
from rye.customization.places import decode
from rye.customization.recovery import recover
from rye.errors import RyeError, UsageError
from rye.items.location import locate
from rye.limits import OVERRIDES
from rye.storage.atomic import replace_file
from rye.storage.safe_files import read_bytes
from rye.text.diagnostics import Diagnostic
from rye.workspace.named_file import NamedFile


class MergeRequest(Struct, frozen=True):
    """What to merge. ``output``: where to write the result. ``check``: the file to compare it with."""

    base: NamedFile
    overrides: NamedFile
    output: NamedFile | None = None
    check: NamedFile | None = None
    today: date | None = None
    """The date for the age of reviews; None skips that check."""


class Merged(Struct, frozen=True):
    """``drift``: a unified diff from the compared file to the result; None if equal or not compared."""

    result: MergeResult
    drift: str | None = None


def merge(request: MergeRequest) -> Merged:
    """Merge the files. For a rejected overrides file, the result has no output and nothing is written.

    Raises RyeError for an unreadable or unwritable file, and RejectedOverrides for overrides that are not text.
    """
    _refuse_overwriting(request.output, (request.base, request.overrides))
    base = _read(request.base)
    result = merge_texts(
        base,
        _read(request.overrides, rejects=True),
        base_name=_name_of(request.base.path),
        overrides_name=request.overrides.path.name,
        base_file=request.base.path.name,
        today=request.today,
    )
    if result.output is None:
        return Merged(result)
    difference = None
    if request.check is not None:
        actual = _read(request.check)
        difference = drift(result.output, actual, merged_name="merged", actual_name=request.check.shown)
    if request.output is not None:
        _write(request.output.path, result.output)
    return Merged(result, difference)


def migrate(files: tuple[NamedFile, ...], output: NamedFile | None, today: date | None) -> Migration:
    """Convert an old overrides file (one file), or the result of an old merge (a target and its merged text).

    On errors, nothing is written. Raises RyeError like :func:`merge`.
    """
    _refuse_overwriting(output, files)
    if len(files) == 2:
        base, effective = files
        migration = recover(_read(base), _read(effective), name=_name_of(base.path), today=today)
    else:
        (overrides,) = files
        text = _read(overrides, rejects=True)
        migration = migrate_legacy(text, agent=overrides.path.resolve().parent.name or None, today=today)
    if output is not None and migration.output is not None:
        _write(output.path, migration.output)
    return migration


def _refuse_overwriting(output: NamedFile | None, files: Iterable[NamedFile]) -> None:
    if output is None or not output.path.exists():
        return
    for file in files:
        if file.path.exists() and output.path.samefile(file.path):
            raise UsageError("overwrites-input", f"-o {output.shown} would overwrite an input.", "Name another file.")


def _name_of(path: Path) -> str | None:
    """The name of a target without ``name``: its path below ``.ai``, or else its folder (DECISIONS Overrides 19)."""
    absolute = path.resolve()
    location = locate(absolute) if ".ai" in absolute.parts else None
    return location.name if location is not None else absolute.parent.name or None


def _read(file: NamedFile, *, rejects: bool = False) -> str:
    """A file's text, with line endings and BOM. ``rejects``: text that cannot be decoded raises RejectedOverrides."""
    data = read_bytes(file.path, OVERRIDES.merged_bytes)
    if len(data) > OVERRIDES.merged_bytes:
        raise RyeError("file-too-large", f"{file.shown!r} has more than {OVERRIDES.merged_bytes:,} bytes.", "Split it.")
    try:
        return decode(data, repr(file.shown))
    except RyeError as error:
        if not rejects:
            raise
        raise RejectedOverrides((Diagnostic("error", error.code, error.message, hint=error.hint),)) from error


def _write(path: Path, text: str) -> None:
    if not path.parent.is_dir():
        raise RyeError("no-such-folder", f"The folder {str(path.parent)!r} does not exist.", "Create it first.")
    if path.exists() and not path.is_file():
        raise RyeError("not-a-file", f"{str(path)!r} is not a regular file.", "Name a regular file.")
    replace_file(path.resolve(), text.encode("utf-8"))
