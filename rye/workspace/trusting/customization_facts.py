"""The facts that customizations add to items, beyond those of the items' own texts (DESIGN 6.1, 7.2).

For overrides: facts of the effective text that are not in the signed one, each with the file and line where it was
written. For an overlay or a role directive: facts of its own text that are not in the item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from rye.customization.effective_diff import effective_diff
from rye.customization.effective_text import Applied, Effective, effective, reader, unsigned
from rye.customization.item_overrides import entry_sources
from rye.customization.places import rye_places
from rye.customization.provenance import Origin, file_lines, origin_of
from rye.errors import RyeError
from rye.items.reading import ReadOptions
from rye.limits import CONTENT, OVERRIDES
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.manifest import Manifest
from rye.project.user_config import read_other_policies
from rye.registry.store.cache import Cache
from rye.storage.home import Home
from rye.storage.safe_files import read_bytes
from rye.text.facts import Fact, difference
from rye.text.facts.finding import find_facts
from rye.workspace.trusting.customizations import Customization, CustomizedItem, ShownChange


def brought_facts(
    home: Home, project: Project, manifest: Manifest, item: CustomizedItem, data: bytes | None
) -> tuple[Fact, ...]:
    """The facts that its customizations add to an item. ``data``: the item's own file; None: return all facts of the
    customizations' own texts."""
    if data is None:
        texts = {one.shown: text for one in item.changes if (text := _text(project, one)) is not None}
        return tuple(find_facts(texts))
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    shown = _shown(project, item)
    known = find_facts({shown: text})
    facts: list[Fact] = []
    if any(one.sort == "override" for one in item.changes):
        facts += _of_overrides(home, project, manifest, item, text)
    for one in item.changes:
        if one.sort != "override":
            own = _text(project, one)
            facts += difference(known, find_facts({one.shown: own}))[0] if own is not None else ()
    return tuple(facts)


def own_file(home: Home, project: Project, item: CustomizedItem) -> bytes | None:
    """The bytes that an item's customizations are applied to: of an installed item the signed ones, from the project if unchanged
    there, otherwise from the user's cache. None if they are not available."""
    if item.row is not None:
        return installed_file(home, item.entry.path, item.row)
    try:
        return read_bytes(item.entry.path, CONTENT.item_bytes) or None
    except RyeError:
        return None


def installed_file(home: Home, path: Path, row: LockedItem) -> bytes | None:
    """The signed bytes of an installed item's file: from ``path`` if unchanged there, otherwise from the user's cache. None if
    they are not available."""
    try:
        data = read_bytes(path, CONTENT.item_bytes)
    except RyeError:
        data = b""
    return data if sha256(data).hexdigest() == row.sha256 else Cache(home.registry_cache).get(row.sha256)


def shown_changes(
    home: Home, project: Project, manifest: Manifest, item: CustomizedItem, data: bytes | None
) -> dict[str, ShownChange]:
    """What each of an item's customizations changes, by its file: of overrides the difference that they make together, under the
    first; of others the text that they add. ``data``: the item's own file; None leaves out overrides."""
    changes: dict[str, ShownChange] = {}
    name = item.entry.location.name
    overrides = [one.shown for one in item.changes if one.sort == "override"]
    if overrides and data is not None:
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        result = effective_change(home, project, manifest, item, text)
        if result is not None:
            diff = effective_diff(result, item.entry.id).diff
            lines = tuple(diff.removesuffix("\n").split("\n")) if diff else ()
            changes[overrides[0]] = ShownChange(lines, f"rye diff {item.name} --effective")
            for file in result.files:
                if file.source.shown in overrides and _is_in_part(file):
                    changes[file.source.shown] = _whole(file.source.text, f"rye override edit {item.name}")
    for one in item.changes:
        own = _text(project, one) if one.sort != "override" else None
        if own is not None:
            changes[one.shown] = _whole(own, f"rye {'overlay' if one.sort == 'overlay' else 'role'} show {name}")
    return changes


def _is_in_part(file: Applied) -> bool:
    """Whether anything in an overrides file has no effect now. Agreed to with the rest, it would count as soon as its heading is
    there, so a difference of today's texts does not show enough."""
    return file.refused or any(step.outcome != "applied" for step in file.result.steps)


def _whole(text: str, command: str) -> ShownChange:
    return ShownChange(tuple(f"+{line}" for line in text.removesuffix("\n").split("\n")), command)


def _shown(project: Project, item: CustomizedItem) -> str:
    path = item.entry.path
    return path.relative_to(project.root).as_posix() if path.is_relative_to(project.root) else str(path)


def effective_change(
    home: Home, project: Project, manifest: Manifest, item: CustomizedItem, text: str
) -> Effective | None:
    """The effect of an item's overrides on its text (LF); None if they cannot be read, and then have none."""
    shown, location = _shown(project, item), item.entry.location
    base = unsigned(text, location, item.entry.path.name)
    try:
        files = entry_sources(home, rye_places(home, project), item.entry, project, manifest.namespace)
    except RyeError:
        return None
    for file in files:
        for one in item.changes:
            if file.shown == one.shown:
                _require_same(one, file.text.encode())
    return effective(
        base,
        files,
        reader(location, shown, ReadOptions(tools=manifest.tools)),
        name=location.name,
        version=item.row.version if item.row is not None else None,
        file_name=shown,
        widening_allowed=read_other_policies(home).allow_override_widening(manifest),
        origins=file_lines(shown, text, base),
    )


def _of_overrides(home: Home, project: Project, manifest: Manifest, item: CustomizedItem, text: str) -> Iterable[Fact]:
    result, shown = effective_change(home, project, manifest, item, text), _shown(project, item)
    if result is None:
        return ()
    before, after = find_facts({shown: result.base}), find_facts({shown: result.text})
    facts = placed(difference(before, after)[0], {shown: result.origins})
    asked = {one.shown for one in item.changes}
    for file in result.files:
        if file.source.shown in asked and _is_in_part(file):
            facts += difference((*before, *facts), find_facts({file.source.shown: file.source.text}))[0]
    return facts


def placed(facts: Iterable[Fact], origins: Mapping[str, Sequence[Origin]]) -> list[Fact]:
    """Facts of merged texts, each with the file and line where it was written. ``origins``: by the text's name."""
    found = []
    for fact in facts:
        lines = origins.get(fact.path)
        if lines:
            origin = origin_of(lines, fact.line)
            fact = replace(fact, path=origin.shown, line=origin.line)
        found.append(fact)
    return found


def _text(project: Project, one: Customization) -> str | None:
    if one.sha256 is None:
        return None
    try:
        data = read_bytes(project.root / one.shown, OVERRIDES.file_bytes)
    except RyeError:
        return None
    _require_same(one, data)
    return data.decode("utf-8", "replace")


def _require_same(one: Customization, data: bytes) -> None:
    """Require that what is looked at is what a yes would be for: another process may exchange the file between two readings.
    Raises RyeError ``changed-meanwhile``."""
    if one.sha256 != sha256(data).hexdigest():
        raise RyeError("changed-meanwhile", f"{one.shown} was changed just now.", "Run the command again.")
