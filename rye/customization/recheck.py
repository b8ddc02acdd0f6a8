"""Overrides against another version of their item: what ``rye update`` says before it switches.

The findings are those that :mod:`rye.customization.effective_text` would have: orphaned directives, a ``base-version`` other than
the new one, errors, wider rights. Each message begins with the overrides file's path.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from msgspec.structs import replace

from rye.customization.display import visible
from rye.customization.effective_text import Applied, Effective, effective, reader, unsigned
from rye.customization.item_overrides import OverrideSource, sources
from rye.customization.places import rye_places
from rye.errors import RyeError
from rye.items.identity import Identity, Reference
from rye.items.kinds import KINDS
from rye.items.location import Location
from rye.items.reading import ReadOptions
from rye.project.layout import Project
from rye.project.spaces import find
from rye.text.diagnostics import Diagnostic


def check_overrides(
    base: str,
    files: Sequence[OverrideSource],
    identity: Identity,
    *,
    version: str | None = None,
    today: date | None = None,
    widening_allowed: bool = False,
    options: ReadOptions | None = None,
) -> Effective:
    """Apply ``files`` to the item's published text (LF; its signature line is taken out)."""
    category, _, name = identity.local_id.rpartition("/")
    kind = KINDS[identity.kind]
    location = Location(identity.kind, name, category if kind.nested else "", identity.namespace)
    file_name = f"{name}{kind.suffixes[0]}"
    return effective(
        unsigned(base, location, file_name),
        files,
        reader(location, file_name, options or ReadOptions()),
        name=name,
        version=version,
        file_name=file_name,
        today=today,
        widening_allowed=widening_allowed,
    )


def findings(
    project: Project,
    identity: Identity,
    new_text: str,
    *,
    version: str | None = None,
    today: date | None = None,
    widening_allowed: bool = False,
    options: ReadOptions | None = None,
) -> list[Diagnostic]:
    """What the user's and the project's overrides of an installed item would meet in ``new_text`` (decoded, LF).

    ``version``: the release's, for kinds whose file has none. Notices are left out. A file that cannot be read is an error among
    the findings, never an exception.
    """
    kind = identity.kind
    try:
        files = sources(
            rye_places(project), kind, (identity.id, identity.local_id), lambda name: _means(name, identity, project)
        )
    except RyeError as error:
        return [Diagnostic("error", error.code, error.message, hint=error.hint)]
    if not files:
        return []
    result = check_overrides(
        new_text,
        files,
        identity,
        version=version,
        today=today,
        widening_allowed=widening_allowed,
        options=options,
    )
    return [
        replace(finding, message=f"{file.source.shown}: {_in_one_line(file, finding)}")
        for file in result.files
        for finding in file.diagnostics
        if finding.severity in ("error", "warning")
    ]


def _in_one_line(file: Applied, finding: Diagnostic) -> str:
    """An orphan's warning as a line of a list; the others are lines already."""
    step = next((step for step in file.result.steps if step.line == finding.line), None)
    if finding.code != "orphaned-directive" or step is None:
        return finding.message
    return f"the {step.operation} on line {step.line} is orphaned: {visible(step.target)!r} no longer exists."


def _means(name: str, identity: Identity, project: Project) -> bool:
    """Whether an id in a file's name means this installed item, which may not be on disk yet."""
    if name == identity.id:
        return True
    try:
        entry = find(Reference(name, identity.kind), project, None)
    except RyeError as error:
        return error.code == "no-such-item"
    return entry.id == identity.id or entry.space not in ("project", "installed")
