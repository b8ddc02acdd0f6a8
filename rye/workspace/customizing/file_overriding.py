"""``rye override new ID --file PATH``: replace, add or leave out an attached file of a skill as a whole.

An entry that exists already is renewed: it then stands on the file that the author has now, with the content that it has, or with
a new one.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from rye.customization.effective_files import TreeFile
from rye.customization.file_overrides import (
    ACTIONS,
    Action,
    FileOverride,
    path_problem,
    read_file_overrides,
    written,
)
from rye.customization.item_overrides import (
    FILES_SUFFIX,
    Contents,
    OverrideSource,
    content_folder,
    file_paths_for,
    ids_of,
    means,
    read_contents,
    source_at,
)
from rye.customization.places import Folder, rye_places
from rye.errors import RyeError, UsageError
from rye.items.identity import is_id
from rye.limits import CONTENT
from rye.text.diagnostics import Diagnostic, has_errors
from rye.text.display import visible
from rye.workspace.context import Context
from rye.workspace.customizing.overriding import Overridable, overridable
from rye.workspace.given_file import ReadStream, given_bytes
from rye.workspace.items.item_tree import base_tree
from rye.workspace.named_file import NamedFile
from rye.workspace.trusting.customizations import remember_made_here


class NewFileOverride(Struct, frozen=True, kw_only=True):
    """An entry to write."""

    item: str
    path: str
    """Relative to the skill's folder."""
    do: str | None = None
    """One of :data:`~rye.customization.file_overrides.ACTIONS`; None renews the entry that is there."""
    content: NamedFile | None = None
    """None: the content that the entry has, for a new replacement the author's file."""
    reason: str | None = None
    """None: that of the entry that is there."""
    user: bool = False


class WrittenFileOverride(Struct, frozen=True, kw_only=True):
    """The file of entries after one was written."""

    shown: str
    content: str | None
    """The file to edit, as shown to people; None for a file that is left out."""
    created: bool
    id: str
    kind: str
    text: str
    entry: FileOverride
    findings: tuple[Diagnostic, ...]


def override_attached(context: Context, request: NewFileOverride, stream: ReadStream) -> WrittenFileOverride:
    """Write an entry and its content. ``stream``: reads standard input.

    Raises UsageError ``wrong-kind``, ``bad-argument``, ``usage`` and RyeError if the result would be invalid. Then nothing is
    written.
    """
    item = overridable(context, request.item)
    main_file = item.found.item.kind.main_file
    if main_file is None:
        hint = (
            f'A {item.kind} is one file. Name a section instead, e.g. `rye override new {item.found.id} "## Section"`.'
        )
        raise UsageError("wrong-kind", f"{item.name} has no attached files.", hint, what="files")
    path = request.path.removeprefix("./")
    problem = path_problem(path, main_file)
    if problem is not None:
        hint = "Give a path relative to the skill's folder, e.g. scripts/run.sh."
        raise UsageError("bad-argument", f"No override can have this file: {problem}.", hint, what="file")
    folder, place = _place(item, request.user)
    source = source_at(folder, place)
    entries = _entries(source, main_file)
    given = _given(request.content, stream) if request.content is not None else None
    there = base_tree(context, item.found).get(path)
    entry, data = _entry(request, path, entries.get(path), source, there, given)
    entries[path] = entry
    contents = dict(source.contents.files) if source is not None and source.contents is not None else {}
    if data is not None:
        contents[path] = data
    text = written(entries.values())
    new = OverrideSource(folder.level, place, folder.shown(place), text, Contents(contents))
    others = [each for each in item.files() if each.path != place and each.level == "user"]
    applied = item.judge((*others, new)).files[-1]
    _require_valid(applied.diagnostics)
    _write(folder, place, path, data, text, source)
    before = source.evidence if source is not None else None
    remember_made_here(context.home, item.project, place, before, new.evidence, *contents.values())
    return WrittenFileOverride(
        shown=new.shown,
        content=folder.shown(content_folder(place) / path) if data is not None else None,
        created=source is None,
        id=item.found.id,
        kind=item.kind,
        text=text,
        entry=entry,
        findings=applied.diagnostics,
    )


def _place(item: Overridable, user: bool) -> tuple[Folder, Path]:
    """The existing file of entries, or else the one to create."""
    places = rye_places(item.home, item.project)
    folder = places.of(places.overrides, "user" if user else "project")
    if folder is None:
        raise RyeError("no-project", "This folder has no project.", "--user writes the override to your own space.")

    def meant(identifier: str) -> bool:
        return means(item.spaces, identifier, item.entry)

    ids = [identifier for identifier in ids_of(item.entry) if is_id(identifier)]
    present = file_paths_for(folder, item.kind, ids, meant)
    if len(present) > 1:
        listed = " and ".join(folder.shown(path) for path in present)
        raise RyeError("ambiguous-overrides", f"{listed} are for the same item.", "Keep only one of them.")
    if present:
        return folder, present[0]
    named = next((name for name in ids if meant(name)), None)
    if named is None:
        hint = f"`rye validate {item.found.item.shown}` says why."
        raise UsageError("bad-argument", f"{item.found.id!r} is not a valid id.", hint, what="id")
    return folder, folder.path / f"{named}{FILES_SUFFIX}"


def _entries(source: OverrideSource | None, main_file: str) -> dict[str, FileOverride]:
    """The entries that are there. Raises RyeError for a file that has errors: it is mended by hand, never written over."""
    if source is None:
        return {}
    reading = read_file_overrides(source.text, main_file)
    problems = source.contents.problems if source.contents is not None else ()
    if reading.entries is None or problems:
        first = next(one for one in (*reading.diagnostics, *problems) if one.severity == "error")
        place = f"{source.shown}:{first.line}" if first.line is not None else source.shown
        raise UsageError("rejected-overrides", f"{place}: {first.message}", first.hint or "Correct it first.")
    return {entry.path: entry for entry in reading.entries}


def _entry(
    request: NewFileOverride,
    path: str,
    old: FileOverride | None,
    source: OverrideSource | None,
    there: TreeFile | None,
    given: TreeFile | None,
) -> tuple[FileOverride, bytes | None]:
    """The entry, and the content to write; None for a file that is left out. ``there``: the author's file."""
    do = request.do or (old.do if old is not None else None)
    if do not in ACTIONS:
        ways = ", ".join(f"--{each}" for each in ACTIONS)
        raise UsageError(
            "usage", f"Say what to do with {path}: {ways}.", "--content FILE has what it is replaced with."
        )
    if old is not None and old.do != do:
        message = f"{source.shown if source is not None else path} has an entry with {old.do!r} for {path} already."
        hint = "Remove the entry and its content first, then run the command again."
        raise RyeError("already-exists", message, hint, what="file")
    if do == "add" and there is not None and old is None:
        message = f"The skill has a file {path}."
        raise UsageError("usage", message, "--replace puts yours in its place.")
    if do != "add" and there is None:
        raise RyeError(
            "no-such-entry",
            f"The skill has no file {visible(path)}.",
            f"`rye show {request.item}` lists its files.",
            what="file",
        )
    if do == "leave-out" and given is not None:
        raise UsageError("usage", "A file that is left out has no content.", "Leave out --content.")
    kept = source.contents.files.get(path) if source is not None and source.contents is not None else None
    entry = FileOverride(
        path=path,
        do=_action(do, there),
        base=there.sha256 if there is not None else None,
        executable=_is_executable(old, there, given) if do != "leave-out" else False,
        reason=request.reason or (old.reason if old is not None else "Not said yet"),
    )
    if do == "leave-out":
        return entry, None
    data = given.data if given is not None else kept if kept is not None else there.data if there is not None else None
    if data is None:
        raise UsageError("usage", f"{path} has no content yet.", "--content FILE gives the file to add.")
    return entry, data


def _action(do: str, there: TreeFile | None) -> Action:
    """What the entry does from now on: where the author has a file now, what was added replaces it."""
    action = next(each for each in ACTIONS if each == do)
    return "replace" if action == "add" and there is not None else action


def _is_executable(old: FileOverride | None, there: TreeFile | None, given: TreeFile | None) -> bool:
    """A replacement is executable if the author's file is; what is added, if the given file is."""
    if there is not None:
        return there.executable
    return given.executable if given is not None else old is not None and old.executable


def _given(file: NamedFile, stream: ReadStream) -> TreeFile:
    """The file that a person named. A link is refused: a project could bring one that leads to a file of this machine, and the
    content would be committed."""
    if file.shown != "-" and file.path.is_symlink():
        message = f"{file.shown!r} is a symbolic link, and its content would become part of the repository."
        raise RyeError("symlink", message, "Name the file itself.")
    data = given_bytes(file, stream, CONTENT.attached_bytes)
    if len(data) > CONTENT.attached_bytes:
        message = f"{file.shown!r} has more than {CONTENT.attached_bytes:,} bytes."
        raise RyeError("file-too-large", message, "An attached file cannot be that large.")
    executable = file.shown != "-" and bool(os.stat(file.path).st_mode & stat.S_IXUSR)
    return TreeFile.of(data, executable=executable)


def _require_valid(findings: tuple[Diagnostic, ...]) -> None:
    if not has_errors(findings):
        return
    first = next(finding for finding in findings if finding.severity == "error")
    raise RyeError(
        first.code,
        f"Nothing was written: {first.message}",
        first.hint,
        details={"diagnostics": [finding.as_json() for finding in findings]},
    )


def _write(
    folder: Folder, place: Path, path: str, data: bytes | None, text: str, source: OverrideSource | None
) -> None:
    """Write the content, then the entries: a content without an entry has no effect. ``source``: what was read of both; what
    somebody wrote since is left alone."""
    folder.refuse_links(place)
    kept = source.contents if source is not None else read_contents(folder, place)
    contents = kept.files if kept is not None else {}
    if data is not None:
        _replace(folder, content_folder(place) / path, contents.get(path), data)
    _replace(folder, place, source.text.encode() if source is not None else None, text.encode())


def _replace(folder: Folder, path: Path, before: bytes | None, data: bytes) -> None:
    if not folder.replace(path, before, data):
        message = f"{folder.shown(path)} was changed just now, and was left alone."
        raise RyeError("changed-meanwhile", message, "Run the command again.")
