"""Compare two versions of an item file by file, and line by line if both sides are text. Pure.

The signature line of the item's own file differs between any two versions and says nothing that people can read, so the lines
only tell that it changed. That holds for a line that is nothing but a signature: anything else in its place is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages.limits import COMPARISON
from registry_server.pages.text_changes import Changes, Hunk, Line, text_changes
from rye.registry.protocol.statements import Release
from rye.signing.signature_line import FoundLine, find, layout_of
from rye.text.content import hidden_characters
from rye.text.matching_lines import Budget

FileState = Literal["added", "removed", "changed", "renamed", "mode"]
FileForm = Literal["text", "same-bytes", "binary", "too-large", "gone"]


class Contents(Struct, frozen=True):
    """A release and the files of it that exist."""

    release: Release
    files: Mapping[str, bytes]
    """By path, the item's own file by its name. Files whose bytes are gone are missing."""
    is_taken_down: bool = False

    @property
    def own_file(self) -> str:
        """The name of the item's own file."""
        return self.release.file_name


class FileSide(Struct, frozen=True):
    """One version of a file."""

    size: int
    sha256: str
    executable: bool


class FileChange(Struct, frozen=True, kw_only=True):
    """A file that differs between two versions."""

    path: str
    anchor: str
    """The id of its part of a page."""
    is_own: bool
    """Whether it is the item's own file, not an attached one."""
    state: FileState
    form: FileForm
    """``text``: ``hunks`` has its lines; ``same-bytes``: only its name or mode changed."""
    renamed_from: str | None
    old: FileSide | None
    new: FileSide | None
    added: int = 0
    """How many lines were added."""
    removed: int = 0
    notes: tuple[str, ...] = ()
    """What is hard to see in the lines themselves."""
    hunks: tuple[Hunk, ...] = ()
    skipped: int = 0
    """Unchanged lines omitted at the end."""


def file_changes(old: Contents, new: Contents) -> Iterator[FileChange]:
    """Yield the files that differ: the item's own file first, then attached files by path."""
    before, after = _listed(old), _listed(new)
    renamed = _renamed(before, after)
    budget, room, lines_left = Budget(), COMPARISON.all_text_bytes, COMPARISON.all_lines
    own = (new.own_file, old.own_file)
    number = 0
    for path in sorted(before.keys() | after.keys(), key=lambda path: (path not in own, path)):
        if path in renamed.values() or before.get(path) == after.get(path):
            continue
        earlier = renamed.get(path, path)
        one, other = before.get(earlier), after.get(path)
        number += 1
        change = FileChange(
            path=path,
            anchor=f"file-{number}",
            is_own=path in own,
            state=_state(one, other, path != earlier),
            form="same-bytes",
            renamed_from=earlier if path != earlier else None,
            old=one,
            new=other,
        )
        if one is not None and other is not None and one.sha256 == other.sha256:
            yield change
            continue
        size = (one.size if one else 0) + (other.size if other else 0)
        form, texts = _texts(old.files.get(earlier) if one else b"", new.files.get(path) if other else b"")
        lines = sum(text.count("\n") for text in texts)
        if form == "text" and (size > room or lines > lines_left):
            form = "too-large"
        if form == "text":
            room, lines_left = room - size, lines_left - lines
            change = _with_lines(change, text_changes(*texts, budget), _notes(*texts))
            if change.is_own:
                kind, names = new.release.identity.kind, (old.own_file, new.own_file)
                change = _signatures_folded(change, *map(_signature_number, (kind, kind), names, texts))
        yield replace(change, form=form)


def _listed(side: Contents) -> dict[str, FileSide]:
    release = side.release
    files = {side.own_file: FileSide(release.file.size, release.file.sha256, False)}
    files.update((entry.path, FileSide(entry.size, entry.sha256, entry.executable)) for entry in release.attached)
    return files


def _renamed(before: Mapping[str, FileSide], after: Mapping[str, FileSide]) -> dict[str, str]:
    """Return new path → old path of renamed files: their bytes appear exactly once among the added and the removed
    files."""
    gone = _by_hash(before, after)
    come = _by_hash(after, before)
    return {come[sha256][0]: gone[sha256][0] for sha256 in come if len(come[sha256]) == len(gone.get(sha256, ())) == 1}


def _by_hash(files: Mapping[str, FileSide], others: Mapping[str, FileSide]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path, file in files.items():
        if path not in others and file.size:
            found.setdefault(file.sha256, []).append(path)
    return found


def _state(old: FileSide | None, new: FileSide | None, moved: bool) -> FileState:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    if moved:
        return "renamed"
    return "mode" if old.sha256 == new.sha256 else "changed"


def _texts(old: bytes | None, new: bytes | None) -> tuple[FileForm, tuple[str, str]]:
    """Decode both sides. A file that one side does not have is empty there."""
    if old is None or new is None:
        return "gone", ("", "")
    if max(len(old), len(new)) > COMPARISON.text_bytes:
        return "too-large", ("", "")
    try:
        texts = old.decode("utf-8"), new.decode("utf-8")
    except UnicodeDecodeError:
        return "binary", ("", "")
    return ("binary", ("", "")) if "\0" in texts[0] or "\0" in texts[1] else ("text", texts)


def _notes(old: str, new: str) -> tuple[str, ...]:
    """Return what is hard to see in the lines."""
    found = []
    hidden_before, hidden_after = len(hidden_characters(old)), len(hidden_characters(new))
    if hidden_after:
        found.append(f"The new text has {_count(hidden_after, 'hidden character')}, marked below.")
    if hidden_before and not hidden_after:
        found.append(f"{_count(hidden_before, 'hidden character')} removed.")
    if old and new and old.replace("\r\n", "\n") == new.replace("\r\n", "\n"):
        found.append("Only line endings differ.")
    elif old and new and "".join(old.split()) == "".join(new.split()):
        found.append("Only spaces and line breaks differ.")
    return tuple(found)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _with_lines(change: FileChange, lines: Changes, notes: tuple[str, ...]) -> FileChange:
    return replace(
        change, hunks=lines.hunks, added=lines.added, removed=lines.removed, skipped=lines.skipped, notes=notes
    )


def _signature_number(kind: str, name: str, text: str) -> int | None:
    """Return the number of the line that is nothing but a signature; None if there is none."""
    found = find(text.replace("\r\n", "\n"), layout_of(kind, name))
    if isinstance(found, FoundLine) and found.line is not None and found.line.attested is None:
        return found.number
    return None


def _signatures_folded(change: FileChange, old: int | None, new: int | None) -> FileChange:
    """Put one line in the place of the signature lines before and after, which are not counted if both are there."""
    changed = [line for hunk in change.hunks for line in hunk.lines if _is_signature(line, old, new)]
    if not changed:
        return change
    both = len(changed) == 2
    told = Line(sign=" ", old=old, new=new, parts=(), is_signature=True) if both else None

    def folded(lines: Iterable[Line]) -> Iterator[Line]:
        for line in lines:
            if line not in changed:
                yield line
            elif told is None:
                yield replace(line, parts=(), after=0, is_signature=True)
            elif line is changed[0]:
                yield told

    hunks = tuple(replace(hunk, lines=tuple(folded(hunk.lines))) for hunk in change.hunks)
    return replace(change, hunks=hunks, added=change.added - both, removed=change.removed - both)


def _is_signature(line: Line, old: int | None, new: int | None) -> bool:
    return (line.sign == "-" and line.old == old) or (line.sign == "+" and line.new == new)
