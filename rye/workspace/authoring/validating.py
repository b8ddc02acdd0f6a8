"""Validating a person's items: each by the rules of its kind, and folders as closed sets."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.consented import PASSED_TO, READ_BY
from rye.items.kinds import KINDS
from rye.items.named import ABSENT, AbsentItem
from rye.items.placeholder_text import PLACEHOLDER_TEXT
from rye.items.reading import ReadOptions, Source
from rye.items.rights import NamedItem
from rye.limits import CONTENT
from rye.permissions.static_check import UNCOVERED
from rye.project.checking import Checked, check_among, check_files, check_item
from rye.project.context import arguments_or_own_items, own_items, read_options
from rye.project.item_file import ItemFile, item_of, load_item, place, read_item_bytes
from rye.project.layout import find_project
from rye.project.same_ids import same_ids
from rye.text.diagnostics import Diagnostic, in_order
from rye.text.diagnostics import strict as as_errors
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from rye.items import attached
    from rye.items import runs as item_runs
    from rye.workspace.context import Context
else:  # only for items with attached files
    attached, item_runs = lazy_module("rye.items.attached"), lazy_module("rye.items.runs")

_NO_RULE = frozenset({PLACEHOLDER_TEXT, ABSENT})
"""Warnings that are about no rule of a format."""


def validate_items(
    context: Context, paths: Sequence[str], kind: str | None = None, *, strict: bool = False
) -> tuple[Checked, ...]:
    """The findings of each file, sorted by line. ``paths``: by default, the project's own items.

    ``strict``: warnings become errors, except ``placeholder-text`` and ``absent-item``.

    Raises RyeError if no item is found, or if a single named file cannot be read.
    """
    checked = check_files(arguments_or_own_items(context.cwd, paths), kind, read_options(context.cwd))
    checked = _with_absent(context, [_with_obeyed(one) for one in checked])
    if strict:
        checked = [replace(one, diagnostics=in_order(_strictly(one.diagnostics))) for one in checked]
    return tuple(checked)


def _with_absent(context: Context, checked: list[Checked]) -> list[Checked]:
    """The findings, with a warning for each item that a text names and that is not here. Outside a project nothing is
    installed, so nothing is missing."""
    project = find_project(context.cwd)
    if project is None or not any(_names(one) for one in checked):
        return checked
    from rye.workspace.items.absences import present_items  # lists all spaces, which only texts with calls need

    present = present_items(context, project).joined(
        (one.item.location.kind, one.item.shown, one.item.location.local_id) for one in checked if one.item is not None
    )
    return [
        replace(one, diagnostics=in_order(_said_once(one, absent))) if (absent := present.lacks(_names(one))) else one
        for one in checked
    ]


def _with_obeyed(checked: Checked) -> Checked:
    """The findings, with one for each attached file that counts as a run because a program obeys it without being asked, or
    because a text passes it to an interpreter: nothing in its name tells the author. Scripts are no surprise."""
    item = checked.item
    if item is None or item.kind.main_file != item.path.name:
        return checked
    folder, files = item.path.parent, []
    for entry in attached.attached_files(item.path)[0]:
        try:
            files.append(
                (
                    entry.path,
                    entry.executable,
                    entry.sha256,
                    read_item_bytes(folder / entry.path, CONTENT.attached_bytes),
                )
            )
        except RyeError:  # it is a finding already
            continue
    runs = [run for run in item_runs.attached_runs(files, item.data) if run.action.startswith((READ_BY, PASSED_TO))]
    found = [
        Diagnostic("notice", "S09", f"{run.where} is {run.action}: it counts as something that can run.", hint=_OBEYED)
        for run in runs
    ]
    return replace(checked, diagnostics=in_order((*checked.diagnostics, *found))) if found else checked


_OBEYED = "Whoever installs the skill is asked about it. If it is not meant to run, rename it, or leave it out with .ryeignore."


def _names(checked: Checked) -> tuple[NamedItem, ...]:
    metadata = checked.item.reading.metadata if checked.item is not None else None
    return metadata.names if metadata is not None else ()


def _said_once(checked: Checked, absent: Iterable[AbsentItem]) -> list[Diagnostic]:
    """The findings of a file, those about absent items included. A call that no capability covers either is one finding, and
    what the rules of a closed set say of a name is not said again."""
    found = list(checked.diagnostics)
    closed = checked.kind if checked.kind is not None and KINDS[checked.kind].set_rules is not None else None
    for one in absent:
        at = next((n for n, other in enumerate(found) if other.code == UNCOVERED and _is_about(other, one)), None)
        if at is not None:
            message = f"{found[at].message} The item is not installed either."
            hint = f"{found[at].hint or ''} `rye add {one.name}` adds the item; or correct the name.".strip()
            found[at] = replace(found[at], message=message, hint=hint)
        elif one.kind != closed or all(other.line != one.line or other.severity != "error" for other in found):
            found.append(one.as_diagnostic())
    return found


def _is_about(uncovered: Diagnostic, named: AbsentItem) -> bool:
    return uncovered.line == named.line and f" {named.kind} {named.id!r}:" in uncovered.message


def _strictly(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Warnings as errors, except for a template's placeholder text and for what is not installed on this machine."""
    kept = [one for one in found if one.code in _NO_RULE]
    return [*as_errors(one for one in found if one.code not in _NO_RULE), *kept]


Members = MutableMapping[Path, tuple[tuple[int, int], ItemFile]]
"""The items read for :func:`validate_text`, each with its file's modification time and size; kept by the caller."""


def validate_text(path: Path, text: str, members: Members) -> Checked | None:
    """The findings that `rye validate` would report if an editor's text were saved.

    None if the text is not an item: it is outside every kind's folder and has no sign of a kind. ``members`` caches the
    other items of a closed set (agents, roles), which are read from disk. Nothing is written. Raises RyeError, for example
    for an invalid rye.toml.
    """
    data = text.encode("utf-8", "surrogatepass")
    folder = path.parent
    if len(data) <= CONTENT.item_bytes and place(path, text.replace("\r\n", "\n").removeprefix("\ufeff"), None) is None:
        return None
    try:
        options = read_options(folder)
        item = item_of(path, data, str(path), options=options)
    except RyeError as error:
        if error.code == "unknown-kind-of-file":
            return None
        raise
    checked = _among_members(item, options, members)
    twice = same_ids([item]).get(item.shown, ())
    return replace(checked, diagnostics=in_order((*checked.diagnostics, *twice)))


def _among_members(item: ItemFile, options: ReadOptions, members: Members) -> Checked:
    """One text's findings, including those about the closed set that its file belongs to."""
    path = item.path
    project = find_project(path.parent)
    kind = KINDS[item.location.kind]
    if kind.set_rules is None or project is None or item.location.namespace is not None or item.reading.value is None:
        return check_item(item)
    own = {found for found in own_items(project.ai) if found.name.endswith(kind.endings)}
    others = {
        str(other): member.reading
        for other in own - {path}
        if (member := _member(other, members)) is not None and member.location.kind == kind.name
    }
    return check_among(item, others, options) if path in own else check_item(item)


def _member(path: Path, members: Members) -> ItemFile | None:
    """Another item of the set, or None if it cannot be read."""
    try:
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size)
        known = members.get(path)
        if known is None or known[0] != stamp:
            members[path] = known = (stamp, load_item(path, options=read_options(path.parent)))
        return known[1]
    except (OSError, RyeError):
        return None


def fixed_text(path: Path, text: str) -> tuple[str, tuple[str, ...]]:
    """The text as `rye validate --fix` would write it, and what changes; the same text if nothing can be fixed."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    location = place(path, plain, None)
    if location is None or location.namespace is not None or len(text) > CONTENT.item_bytes:
        return text, ()
    changes = []
    if text.startswith("\ufeff"):
        changes.append("Removed the byte order mark.")
    if "\r\n" in text:
        changes.append("Changed CR LF line endings to LF.")
    fixer = KINDS[location.kind].load_fixer()
    if fixer is None:
        return plain, tuple(changes)
    fixed = fixer.fix(plain, Source(plain, str(path), location.name, location.category))
    return fixed.text, (*changes, *fixed.changes)
