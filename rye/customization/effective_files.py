"""The effective files of a skill: its attached files with the overrides of whole files applied (DECISIONS Overrides 21–24). Pure.

A whole-file merge: an entry names the author's file that it was written for, by its hash.

* The file is still that one, or for ``add`` there is none: the entry is applied.
* The file is another one by now: the entry stays applied, and that is a conflict. The author's change has no effect, so somebody
  has to look at it. Whoever updates is asked, and the project's checks fail until the entry is renewed.
* The file is gone: the entry is an orphan and has no effect. What it changed may have another name by now.
* The file is already what the entry makes of it: there is nothing to do.

A file of entries is applied completely or not at all, like other overrides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.customization.file_overrides import FileOverride, read_file_overrides
from rye.customization.item_overrides import Contents
from rye.customization.merge import MergeStep, Outcome, drift
from rye.items.consented import Run
from rye.items.runs import attached_runs
from rye.limits import CONTENT
from rye.text.diagnostics import Diagnostic, has_errors
from rye.text.display import visible

if TYPE_CHECKING:
    from rye.project.lock import LockedItem

CONFLICT = "override-conflict"
ORPHAN = "orphaned-directive"


class TreeFile(Struct, frozen=True):
    """One attached file. ``data``: None if only its hash is known."""

    sha256: str
    executable: bool
    data: bytes | None = None

    @classmethod
    def of(cls, data: bytes, *, executable: bool) -> TreeFile:
        """The file with these bytes."""
        return cls(sha256(data).hexdigest(), executable, data)

    def is_same(self, other: TreeFile | None) -> bool:
        """Whether both have the same bytes and the same execute bit."""
        return other is not None and (self.sha256, self.executable) == (other.sha256, other.executable)

    @property
    def text(self) -> str | None:
        """Its text; None if it is not text, or not known."""
        if self.data is None or b"\0" in self.data:
            return None
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError:
            return None


Tree = Mapping[str, TreeFile]
"""The files attached to an item, by their path in its folder."""


def tree_of_row(row: LockedItem, attached: Mapping[str, bytes] | None = None) -> Tree:
    """The files that a row of rye.lock names. ``attached``: their bytes, which were compared with it; None: not known."""
    known = attached or {}
    return {entry.path: TreeFile(entry.sha256, entry.executable, known.get(entry.path)) for entry in row.attached}


class FilesResult(Struct, frozen=True):
    """``tree``: None if the file of entries has an error, and then changes nothing. ``steps``: in its order."""

    tree: Tree | None
    steps: tuple[MergeStep, ...]
    diagnostics: tuple[Diagnostic, ...]


def apply_files(base: Tree, current: Tree, text: str, contents: Contents, main_file: str) -> FilesResult:
    """Apply a ``.files.toml`` to the files of an item. ``base``: as published, which entries are compared with; ``current``: with
    the overrides before this one; ``main_file``: the name of the item's own file."""
    reading = read_file_overrides(text, main_file)
    found = [*reading.diagnostics, *contents.problems]
    if reading.entries is None or has_errors(found):
        return FilesResult(None, (), tuple(found))
    tree = dict(current)
    steps = []
    for entry in reading.entries:
        data = contents.files.get(entry.path) if entry.has_content else None
        if entry.has_content and data is None:
            message = f"The content of {visible(entry.path)!r} is missing."
            hint = "Put the file back, or remove the entry."
            found.append(Diagnostic("error", "missing-content", message, entry.line, hint=hint))
            continue
        outcome, detail = _one(entry, base, tree, data, found)
        steps.append(
            MergeStep(
                line=entry.line,
                operation=entry.do,
                target=entry.path,
                reason=entry.reason,
                outcome=outcome,
                detail=detail,
            )
        )
    wanted = {entry.path for entry in reading.entries if entry.has_content}
    for path in sorted(contents.files.keys() - wanted):
        message = f"No entry says what to do with {visible(path)!r}."
        found.append(Diagnostic("warning", "unused-content", message, hint="Remove the file, or write an entry."))
    found += _not_a_tree(tree, main_file)
    return FilesResult(None if has_errors(found) else tree, tuple(steps), tuple(found))


def _one(
    entry: FileOverride, base: Tree, tree: dict[str, TreeFile], data: bytes | None, found: list[Diagnostic]
) -> tuple[Outcome, str]:
    there = base.get(entry.path)
    new = TreeFile.of(data, executable=entry.executable) if data is not None else None
    if there is None and entry.do != "add":
        message = f"The {entry.do} of {visible(entry.path)!r} has no effect: the author has no such file any more."
        hint = "Look whether it has another name now. Then renew the entry, or remove it."
        found.append(Diagnostic("warning", ORPHAN, message, entry.line, hint=hint))
        return "orphaned", "the file is gone"
    if new is not None and new.is_same(there):
        return "no-op", "the file is the same"
    if new is None:
        tree.pop(entry.path, None)
    else:
        tree[entry.path] = new
    if there is None or there.sha256 == entry.base:
        return "applied", {"replace": "replaced", "add": "added"}.get(entry.do, "left out")
    message = (
        f"The author now has a {visible(entry.path)!r}, too, which the entry replaces."
        if entry.do == "add"
        else f"The author changed {visible(entry.path)!r} since the entry was written, and the change has no effect."
    )
    hint = "Read the author's file, then renew the entry with `rye override new ID --file PATH`."
    found.append(Diagnostic("warning", CONFLICT, message, entry.line, hint=hint))
    return "applied", "the author's file changed since"


def _not_a_tree(tree: Tree, main_file: str) -> Iterator[Diagnostic]:
    """What keeps the result from being the files of a skill: too much, or names that are one name on some systems."""
    if len(tree) > CONTENT.attached_files:
        yield Diagnostic(
            "error", "too-many-files", f"There would be more than {CONTENT.attached_files} attached files."
        )
    size = sum(len(file.data) for file in tree.values() if file.data is not None)
    if size > CONTENT.attached_bytes:
        message = f"The attached files would have more than {CONTENT.attached_bytes:,} bytes."
        yield Diagnostic("error", "file-too-large", message)
    seen = {main_file.lower(): main_file}
    for path in sorted(tree):
        other = seen.setdefault(path.lower(), path)
        if other != path:
            message = f"{visible(path)!r} and {visible(other)!r} would be the same name on some systems."
            yield Diagnostic("error", "bad-entry", message)
    for path in sorted(tree):
        above = next((seen[folder] for folder in _folders(path.lower()) if folder in seen), None)
        if above is not None:
            message = f"{visible(path)!r} would be below the file {visible(above)!r}."
            yield Diagnostic("error", "bad-entry", message)


def _folders(path: str) -> Iterable[str]:
    while path := path.rpartition("/")[0]:
        yield path


# -- what became of the files ------------------------------------------------------------------------------------------


def changed_paths(before: Tree, after: Tree) -> list[str]:
    """The paths whose files differ, sorted."""
    return [path for path in sorted({*before, *after}) if not _same(before.get(path), after.get(path))]


def _same(one: TreeFile | None, other: TreeFile | None) -> bool:
    return one is not None and one.is_same(other)


def files_diff(before: Tree, after: Tree, name: str, called: str = "published") -> str:
    """What became of the files, as unified differences; of those that are not text, one line each. Empty if nothing did.
    ``called``: what the files were before."""
    changed = changed_paths(before, after)
    return "".join(_file_diff(path, before.get(path), after.get(path), name, called) for path in changed)


def _file_diff(path: str, old: TreeFile | None, new: TreeFile | None, name: str, called: str) -> str:
    before = f"{name}/{path} ({called})" if old is not None else "/dev/null"
    after = f"{name}/{path} (effective)" if new is not None else "/dev/null"
    bits = [
        f"{mark}{path} is executable\n"
        for mark, one, other in (("-", old, new), ("+", new, old))
        if one is not None and one.executable and not (other is not None and other.executable)
    ]
    texts = ["" if one is None else one.text for one in (old, new)]
    if texts[0] is not None and texts[1] is not None:
        diff = drift(texts[1], texts[0], merged_name=after, actual_name=before)
        return (diff or f"--- {before}\n+++ {after}\n") + "".join(bits)
    sizes = [
        f"{mark}{path}: {f'{len(one.data):,} bytes' if one.data is not None else 'a file'}, sha256 {one.sha256}\n"
        for mark, one in (("-", old), ("+", new))
        if one is not None
    ]
    return "".join([f"--- {before}\n+++ {after}\n", *sizes, *bits])


def runs_of_files(tree: Tree, text: str) -> tuple[Run, ...]:
    """What in the files can run; files that only their hash is known of are judged by their names. ``text``: the item's own."""
    files = ((path, one.executable, one.sha256, one.data or b"") for path, one in sorted(tree.items()))
    return attached_runs(files, text.encode())


def runs_brought(before: Tree, after: Tree, text_before: str, text_after: str) -> tuple[Run, ...]:
    """What can run with the changes, and could not without them, to the byte."""
    known = set(runs_of_files(before, text_before))
    return tuple(run for run in runs_of_files(after, text_after) if run not in known)
