"""The facts that customizations add to items, beyond those of the items' own texts (DESIGN 6.1, 7.2).

For overrides: facts of the effective text and files that are not in the signed ones, each with the file and line where it was
written. For an overlay or a role directive: facts of its own text that are not in the item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.customized import Customization
from rye.customization.effective_files import Tree, TreeFile, runs_brought, tree_of_row
from rye.customization.effective_text import Applied, Effective, effective, reader, unsigned
from rye.customization.item_overrides import CONTENT_SUFFIX, FILES_SUFFIX, OverrideSource, entry_sources, source_at
from rye.customization.places import Folder, rye_places
from rye.customization.provenance import Origin, file_lines, origin_of
from rye.errors import RyeError
from rye.items.attached import attached_files
from rye.items.consented import Run
from rye.items.kinds import KINDS
from rye.items.reading import ReadOptions
from rye.limits import CONTENT, OVERRIDES
from rye.project.item_file import read_item_bytes
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.manifest import Manifest
from rye.registry.store.cache import Cache
from rye.storage.home import Home
from rye.storage.safe_files import read_bytes
from rye.text.facts import Fact, difference
from rye.text.facts.finding import find_facts
from rye.text.facts.readable import readable_text
from rye.verified.release import VerifiedItem
from rye.workspace.trusting.customizations import CustomizedItem


class PublishedFiles(Struct, frozen=True):
    """What an item's customizations are applied to."""

    data: bytes
    """Its own file."""
    attached: Tree
    """The files attached to it."""


def files_of(item: VerifiedItem) -> PublishedFiles:
    """Those of an item that is about to be installed."""
    return PublishedFiles(item.data, tree_of_row(item.locked, item.attached))


def brought_facts(
    home: Home, project: Project, manifest: Manifest, item: CustomizedItem, files: PublishedFiles | None
) -> tuple[Fact, ...]:
    """The facts that its customizations add to an item. ``files``: the item's own; None: return all facts of the
    customizations' own texts."""
    if files is None:
        texts: dict[str, str] = {}
        for one in item.changes:
            texts |= texts_of(project, one)
        return tuple(find_facts(texts))
    text = _text_of(files)
    shown = _shown(project, item)
    known = find_facts({shown: text})
    facts: list[Fact] = []
    if any(one.sort == "override" for one in item.changes):
        facts += _of_overrides(home, project, manifest, item, files)
    for one in item.changes:
        if one.sort != "override":
            facts += difference(known, find_facts(texts_of(project, one)))[0]
    return tuple(facts)


def brought_runs(
    home: Home, project: Project, manifest: Manifest, item: CustomizedItem, files: PublishedFiles | None
) -> tuple[Run, ...]:
    """What overrides of attached files make an item able to run: each script that they replace or add, to the byte.

    ``files``: the item's own; None: those that its overrides bring, whatever it has itself.
    """
    if not any(one.shown.endswith(FILES_SUFFIX) for one in item.changes):
        return ()
    text = _text_of(files) if files is not None else ""
    result = effective_change(home, project, manifest, item, files or PublishedFiles(b"", {}))
    if result is None:
        return ()
    after = result.tree
    if files is None:
        after = {path: TreeFile.of(data, executable=True) for path, data in _contents(result).items()}
    return runs_brought(result.base_tree, after, text, result.text)


def _contents(result: Effective) -> dict[str, bytes]:
    contents = (file.source.contents for file in result.files)
    return {path: data for one in contents if one is not None for path, data in one.files.items()}


def own_files(home: Home, project: Project, item: CustomizedItem) -> PublishedFiles | None:
    """What an item's customizations are applied to: of an installed item the signed files, from the project if unchanged there,
    otherwise from the user's cache. None if its own file is not available; an attached one may be known by its hash only."""
    path = item.entry.path
    if item.row is not None:
        data = installed_file(home, path, item.row)
        return PublishedFiles(data, installed_tree(home, path, item.row)) if data is not None else None
    try:
        data = read_item_bytes(path, CONTENT.item_bytes)
        found = attached_files(path)[0] if path.name in KINDS.main_files() else ()
        read = {file.path: read_item_bytes(path.parent / file.path, CONTENT.attached_bytes) for file in found}
    except RyeError:
        return None
    attached = {file.path: TreeFile.of(read[file.path], executable=file.executable) for file in found}
    return PublishedFiles(data, attached) if data else None


def installed_file(home: Home, path: Path, row: LockedItem) -> bytes | None:
    """The signed bytes of an installed item's file: from ``path`` if unchanged there, otherwise from the user's cache. None if
    they are not available."""
    return _as_signed(home, path, row.sha256, CONTENT.item_bytes)


def installed_tree(home: Home, path: Path, row: LockedItem) -> Tree:
    """The files attached to an installed item whose own file is ``path``, in the same way."""
    found = {
        file.path: _as_signed(home, path.parent / file.path, file.sha256, CONTENT.attached_bytes)
        for file in row.attached
    }
    return tree_of_row(row, {name: data for name, data in found.items() if data is not None})


def _as_signed(home: Home, path: Path, digest: str, limit: int) -> bytes | None:
    try:
        data = read_bytes(path, limit)
    except RyeError:
        data = b""
    return data if sha256(data).hexdigest() == digest else Cache(home.registry_cache).get(digest)


def said_by(source: OverrideSource) -> str:
    """All that an overrides file says, with the contents that belong to it."""
    files = source.contents.files if source.contents is not None else {}
    return "\n".join([source.text, *(f"{path}\n{readable_text(data)}" for path, data in sorted(files.items()))])


def is_in_part(file: Applied) -> bool:
    """Whether anything in an overrides file has no effect now. Agreed to with the rest, it would count as soon as its heading is
    there, so a difference of today's texts does not show enough."""
    return file.refused or any(step.outcome != "applied" for step in file.result.steps)


def _shown(project: Project, item: CustomizedItem) -> str:
    path = item.entry.path
    return path.relative_to(project.root).as_posix() if path.is_relative_to(project.root) else str(path)


def effective_change(
    home: Home,
    project: Project,
    manifest: Manifest,
    item: CustomizedItem,
    files: PublishedFiles,
    *,
    instead: Sequence[OverrideSource] | None = None,
) -> Effective | None:
    """The effect of an item's overrides on its files; None if they cannot be read, and then have none. ``instead``: of these in
    place of the project's, after those in the user's own space; None if there are none at all."""
    shown, location, text = _shown(project, item), item.entry.location, _text_of(files)
    base = unsigned(text, location, item.entry.path.name)
    try:
        sources = entry_sources(rye_places(home, project), item.entry, item.spaces)
    except RyeError:
        return None
    if instead is not None:
        sources = (*(source for source in sources if source.level == "user"), *instead)
        if not sources:
            return None
    for source in sources if instead is None else ():
        for one in item.changes:
            if source.shown == one.shown:
                _require_same(one, source.evidence)
    return effective(
        base,
        sources,
        reader(location, shown, ReadOptions(tools=manifest.tools)),
        name=location.name,
        version=item.row.version if item.row is not None else None,
        file_name=shown,
        widening_allowed=item.spaces.other_policies.allow_override_widening(manifest),
        origins=file_lines(shown, text, base),
        attached=files.attached,
    )


def _of_overrides(
    home: Home, project: Project, manifest: Manifest, item: CustomizedItem, files: PublishedFiles
) -> Iterable[Fact]:
    result, shown = effective_change(home, project, manifest, item, files), _shown(project, item)
    if result is None:
        return ()
    folder = shown.rpartition("/")[0]
    before = find_facts({shown: result.base, **_readable(result.base_tree, lambda path: f"{folder}/{path}")})
    now = _readable(result.tree, lambda path: result.written_at(path) or f"{folder}/{path}")
    after = find_facts({shown: result.text, **now})
    facts = placed(difference(before, after)[0], {shown: result.origins})
    asked = {one.shown for one in item.changes}
    for file in result.files:
        if file.source.shown in asked and is_in_part(file):
            facts += difference((*before, *facts), find_facts({file.source.shown: said_by(file.source)}))[0]
    return facts


def _readable(tree: Tree, written: Callable[[str], str]) -> dict[str, str]:
    return {written(path): readable_text(file.data) for path, file in tree.items() if file.data is not None}


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


def texts_of(project: Project, one: Customization) -> dict[str, str]:
    """The texts of a customization by their files, with the contents that belong to it; empty if it cannot be read."""
    if one.sha256 is None:
        return {}
    path = project.root / one.shown
    try:
        if one.shown.endswith(FILES_SUFFIX):
            source = source_at(Folder("project", project.overrides, project.root, project.root), path)
            if source is None or source.contents is None:
                return {}
            _require_same(one, source.evidence)
            folder = one.shown.removesuffix(FILES_SUFFIX) + CONTENT_SUFFIX
            contents = {f"{folder}/{name}": readable_text(data) for name, data in source.contents.files.items()}
            return {one.shown: source.text, **contents}
        data = read_bytes(path, OVERRIDES.file_bytes)
    except RyeError as error:
        if error.code == "changed-meanwhile":
            raise
        return {}
    _require_same(one, data)
    return {one.shown: data.decode("utf-8", "replace")}


def _text_of(files: PublishedFiles) -> str:
    return files.data.decode("utf-8", "replace").replace("\r\n", "\n")


def _require_same(one: Customization, data: bytes) -> None:
    """Require that what is looked at is what a yes would be for: another process may exchange the file between two readings.
    Raises RyeError ``changed-meanwhile``."""
    if one.sha256 != sha256(data).hexdigest():
        raise RyeError("changed-meanwhile", f"{one.shown} was changed just now.", "Run the command again.")
