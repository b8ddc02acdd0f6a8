"""The overrides of an installed item with another version of its text, which might not be on disk yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from msgspec.structs import replace

from rye.customization.effective_files import Tree
from rye.customization.effective_text import Applied, Effective, effective, reader, unsigned
from rye.customization.item_overrides import OverrideSource, sources
from rye.customization.places import rye_places
from rye.errors import RyeError
from rye.items.identity import Identity, Reference
from rye.items.kinds import KINDS, Kind
from rye.items.location import Location
from rye.items.reading import ReadOptions
from rye.project.layout import Project
from rye.project.spaces import find
from rye.rendering.prompt import unfilled
from rye.storage.home import Home
from rye.text.diagnostics import Diagnostic
from rye.text.display import visible


def overrides_of(home: Home, project: Project, identity: Identity) -> tuple[OverrideSource, ...]:
    """The overrides files of an installed item, the user's first. Raises RyeError for one that cannot be read, and for two at one
    level."""
    return sources(
        rye_places(home, project),
        identity.kind,
        (identity.id, identity.local_id),
        lambda name: _means(home, name, identity, project),
    )


def check_overrides(
    base: str,
    files: Sequence[OverrideSource],
    identity: Identity,
    *,
    version: str | None = None,
    today: date | None = None,
    widening_allowed: bool = False,
    options: ReadOptions | None = None,
    attached: Tree | None = None,
) -> Effective:
    """Apply ``files`` to the item's published text (LF) and to its ``attached`` files. Its signature line is removed first.
    ``version``: the release's version, for kinds whose files have none."""
    category, _, name = identity.local_id.rpartition("/")
    kind = KINDS[identity.kind]
    location = Location(identity.kind, name, category if kind.nested else "", identity.namespace)
    file_name = kind.main_file or f"{name}{kind.suffixes[0]}"
    return effective(
        unsigned(base, location, file_name),
        files,
        reader(location, file_name, options or ReadOptions()),
        name=name,
        version=version,
        file_name=file_name,
        today=today,
        widening_allowed=widening_allowed,
        attached=attached,
        prompt=lambda value, text: _prompt(kind, value, text),
    )


def _prompt(kind: Kind, value: Any, text: str) -> str:
    """What an agent reads of an item, without inputs filled in. Of an agent's file that is one section, of a directive's nothing
    above its title."""
    own = kind.load_prompt()
    return own.prompt(value, text) if own is not None else unfilled(value)


def findings(result: Effective) -> Iterator[tuple[Applied, Diagnostic]]:
    """The errors and warnings about each file, each on one line that begins with the file's path."""
    for file in result.files:
        for finding in file.diagnostics:
            if finding.severity in ("error", "warning"):
                yield file, replace(finding, message=f"{file.source.shown}: {_in_one_line(file, finding)}")


def _in_one_line(file: Applied, finding: Diagnostic) -> str:
    """The finding's message on one line. Only the warning about an orphan has several."""
    step = next((step for step in file.result.steps if step.line == finding.line), None)
    if finding.code != "orphaned-directive" or step is None:
        return finding.message
    return f"the {step.operation} on line {step.line} is orphaned: {visible(step.target)!r} no longer exists."


def _means(home: Home, name: str, identity: Identity, project: Project) -> bool:
    """Whether an id in a file name means this installed item, which might not be on disk yet."""
    if name == identity.id:
        return True
    try:
        entry = find(home, Reference(name, identity.kind), project, None)
    except RyeError as error:
        return error.code == "no-such-item"
    return entry.id == identity.id or entry.space not in ("project", "installed")
