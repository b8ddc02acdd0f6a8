"""The facts that customizations add to installed items, beyond those of the signed texts (DESIGN 6.1, 7.2).

For overrides: facts of the effective text that are not in the signed one, each with the file and line where it was
written. For an overlay or a role directive: facts of its own text that are not in the item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from rye.customization.effective_text import effective, reader, unsigned
from rye.customization.item_overrides import entry_sources
from rye.customization.places import rye_places
from rye.customization.provenance import Origin, file_lines, origin_of
from rye.errors import RyeError
from rye.items.location import locate
from rye.items.reading import ReadOptions
from rye.limits import CONTENT, OVERRIDES
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.lock_file import item_path
from rye.project.manifest import Manifest
from rye.project.spaces import Entry
from rye.project.user_config import read_other_policies
from rye.registry.store.cache import Cache
from rye.storage.home import Home
from rye.storage.safe_files import read_bytes
from rye.text.facts import Fact, difference
from rye.text.facts.finding import find_facts
from rye.workspace.trusting.customizations import Customization


def brought_facts(
    home: Home,
    project: Project,
    manifest: Manifest,
    item: LockedItem,
    data: bytes | None,
    found: Sequence[Customization],
) -> tuple[Fact, ...]:
    """The facts that these customizations add to an item. ``data``: the item's signed file; None: return all facts of the
    customizations' own texts."""
    if data is None:
        texts = {one.shown: text for one in found if (text := _text(project.root / one.shown)) is not None}
        return tuple(find_facts(texts))
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    shown = item_path(item)
    known = find_facts({shown: text})
    facts: list[Fact] = []
    if any(one.sort == "override" for one in found):
        facts += _of_overrides(home, project, manifest, item, text)
    for one in found:
        if one.sort != "override":
            own = _text(project.root / one.shown)
            facts += difference(known, find_facts({one.shown: own}))[0] if own is not None else ()
    return tuple(facts)


def signed_file(home: Home, project: Project, item: LockedItem) -> bytes | None:
    """The signed bytes of an item: from the project if unchanged there, otherwise from the user's cache."""
    try:
        data = read_bytes(project.root / item_path(item), CONTENT.item_bytes)
    except RyeError:
        data = b""
    return data if sha256(data).hexdigest() == item.sha256 else Cache(home.registry_cache).get(item.sha256)


def _of_overrides(home: Home, project: Project, manifest: Manifest, item: LockedItem, text: str) -> Iterable[Fact]:
    path = project.root / item_path(item)
    location = locate(path)
    if location is None:
        return ()
    shown = item_path(item)
    base = unsigned(text, location, path.name)
    entry = Entry("installed", path, location, location.namespace)
    try:
        files = entry_sources(home, rye_places(home, project), entry, project, manifest.namespace)
    except RyeError:
        return ()  # unreadable files produce no effective text
    result = effective(
        base,
        files,
        reader(location, shown, ReadOptions(tools=manifest.tools)),
        name=location.name,
        version=item.version,
        file_name=shown,
        widening_allowed=read_other_policies(home).allow_override_widening(manifest),
        origins=file_lines(shown, text, base),
    )
    before, after = find_facts({shown: base}), find_facts({shown: result.text})
    return placed(difference(before, after)[0], {shown: result.origins})


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


def _text(path: Path) -> str | None:
    try:
        return read_bytes(path, OVERRIDES.file_bytes).decode("utf-8", "replace")
    except RyeError:
        return None
