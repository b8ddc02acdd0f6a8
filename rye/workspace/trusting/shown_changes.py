"""What the question about an item's customizations shows: what they make of the text that this user agreed to last (DESIGN 6.1).

What was agreed to is read from its place if it is there unchanged, otherwise from the user's cache, by its hash. Where neither
has it, the question says so, and the difference is one from the item's own text.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.agreement import Agreement
from rye.consent.customized import LOST, UNKNOWN, Customization, ShownChange
from rye.customization.effective_diff import effective_diff
from rye.customization.item_overrides import FILES_SUFFIX, SUFFIX, Contents, OverrideSource, source_at
from rye.customization.places import OVERLAY_SUFFIX, Folder, rye_places
from rye.errors import RyeError
from rye.permissions.comparing import unified_lines
from rye.project.layout import Project
from rye.project.manifest import Manifest
from rye.registry.store.cache import Cache
from rye.storage.home import Home
from rye.workspace.trusting.customization_facts import (
    PublishedFiles,
    effective_change,
    is_in_part,
    said_by,
    texts_of,
)
from rye.workspace.trusting.customizations import CustomizedItem, agreed_states, changed_by


def shown_changes(
    home: Home,
    project: Project,
    manifest: Manifest,
    item: CustomizedItem,
    files: PublishedFiles | None,
    agreed: Agreement,
) -> tuple[ShownChange, ...]:
    """What each of an item's customizations changes: of overrides the difference that they make together, under the first; of
    others that of the file. What was in force until now is what the difference is from: the user's own customizations, and the
    project's that the user agreed to last. A file of which something has no effect now is shown whole, below the difference.
    ``files``: the item's own; None leaves out overrides of the text."""
    every = agreed_states(item.entry, item.spaces, agreed)
    counted = {shown: state for shown, state in every.items() if state not in LOST}
    before = _Before(home, project, item, agreed, counted)
    overrides = [one for one in item.changes if one.sort == "override"]
    shown = [_beside(home, project, item, one, before) for one in item.changes if one.sort != "override"]
    return (*_of_overrides(home, project, manifest, replace(item, changes=tuple(overrides)), files, before), *shown)


class _Before(Struct):
    """What this user agreed to last about an item."""

    home: Home
    project: Project
    item: CustomizedItem
    agreed: Agreement
    states: Mapping[str, str]
    """Of each file that was agreed to and counted: a hash, or ``UNKNOWN``."""

    @property
    def overrides(self) -> tuple[OverrideSource, ...]:
        """The overrides of the text and then those of attached files, as far as they are at hand."""
        found = (self.override(shown) for shown in sorted(self.states) if shown.endswith((SUFFIX, FILES_SUFFIX)))
        return tuple(sorted((one for one in found if one is not None), key=lambda one: one.contents is not None))

    def lacks(self, one: Customization) -> bool:
        """Whether the user agreed to another text of a file, which is not at hand."""
        if one.shown not in self.states:
            return False
        return (self.override(one.shown) if one.sort == "override" else self.text(one)) is None

    def override(self, shown: str) -> OverrideSource | None:
        """An overrides file."""
        project = self.project
        path, there = project.root / shown, None
        with contextlib.suppress(RyeError):
            there = source_at(Folder("project", project.overrides, project.root, project.root), path)
        if there is not None and self._is_agreed(changed_by(self.item.entry, "override", shown, there.evidence)):
            return there
        data = self._cached(self.states.get(shown, UNKNOWN))
        if data is None or not shown.endswith(FILES_SUFFIX):
            return OverrideSource("project", path, shown, data.decode()) if data is not None else None
        text, _, listed = data.rpartition(b"\0")
        files: dict[str, bytes] = {}
        for line in listed.decode().removesuffix("\n").split("\n") if listed else ():
            digest, _, name = line.partition(" ")
            content = self._cached(digest)
            if content is None:
                return None
            files[name] = content
        return OverrideSource("project", path, shown, text.decode(), Contents(files))

    def text(self, one: Customization) -> str | None:
        """An overlay or a role directive."""
        there = self.project.root / one.shown
        data = None
        with contextlib.suppress(RyeError):
            data = Folder("project", there.parent, self.project.root, self.project.root).read(there)
        if data is None or not self._is_agreed(changed_by(self.item.entry, one.sort, one.shown, data)):
            data = self._cached(self.states.get(one.shown, UNKNOWN))
        return data.decode("utf-8", "replace") if data is not None else None

    def _is_agreed(self, one: Customization) -> bool:
        """Whether what is at its place is what was agreed to last, or agreed to at all where the last state is not known."""
        state = self.states.get(one.shown)
        return state == one.sha256 or (state == UNKNOWN and self.agreed.covers(one.approval))

    def _cached(self, digest: str) -> bytes | None:
        with contextlib.suppress(ValueError):  # no hash
            return Cache(self.home.registry_cache).get(digest)
        return None


def _of_overrides(
    home: Home,
    project: Project,
    manifest: Manifest,
    item: CustomizedItem,
    files: PublishedFiles | None,
    before: _Before,
) -> Sequence[ShownChange]:
    """Those of the item's overrides, which are all of its changes."""
    changes = sorted(item.changes, key=lambda one: bool(one.lost))
    result = effective_change(home, project, manifest, item, files) if changes and files is not None else None
    shown = [ShownChange(one, is_whole=False, not_kept=before.lacks(one)) for one in changes]
    if result is not None and files is not None:
        earlier = before.overrides
        until_now = effective_change(home, project, manifest, item, files, instead=earlier)
        diff = effective_diff(result, item.entry.id, until_now, agreed=bool(earlier)).diff
        lines = tuple(diff.removesuffix("\n").split("\n")) if diff else ()
        command = changes[0].history if earlier else f"rye diff {item.name} --effective"
        replaces = tuple(one for one in changes[1:] if one.lost)
        shown[0] = replace(shown[0], lines=lines, command=command, replaces=replaces, is_whole=True)
        parts = {file.source.shown: file.source for file in result.files if is_in_part(file)}
    else:
        parts = {}
    return [_with_whole(project, item, one, parts.get(one.change.shown), result is not None) for one in shown]


def _with_whole(
    project: Project, item: CustomizedItem, shown: ShownChange, source: OverrideSource | None, is_compared: bool
) -> ShownChange:
    """With all that the file says, if something of it has no effect now or there is nothing to compare."""
    one = shown.change
    if source is not None:
        said = said_by(source)
    elif not is_compared and one.shown.endswith(FILES_SUFFIX) and one.sha256 is not None:
        said = "\n".join(f"{path}\n{text}" for path, text in texts_of(project, one).items())
    else:
        return shown
    lines = (*shown.lines, *_added(said))
    return replace(shown, lines=lines, command=f"rye override show {item.name}", is_whole=True)


def _beside(home: Home, project: Project, item: CustomizedItem, one: Customization, before: _Before) -> ShownChange:
    """That of an overlay or a role directive. A user's own overlay counts where the project has none."""
    name, is_overlay = item.entry.location.name, one.sort == "overlay"
    own = _own_overlay(home, project, name) if is_overlay else ""
    now = next(iter(texts_of(project, one).values()), None)
    text = now if now is not None else own if one.lost else ""
    earlier = before.text(one) if one.shown in before.states else None
    until_now = earlier if earlier is not None else own
    if until_now:
        texts = _lines(until_now), _lines(text)
        names = f"{one.shown} (until now)", f"{one.shown} (from now on)"
        lines = unified_lines(*texts, *names) if texts[0] != texts[1] else ()
    else:
        lines = _added(text)
    show = f"rye {'overlay' if is_overlay else 'role'} show {name}"
    command = one.history if earlier is not None or one.lost else show
    return ShownChange(one, lines, command, not_kept=before.lacks(one))


def _own_overlay(home: Home, project: Project, name: str) -> str:
    """The text of the user's own overlay of a formula; empty if there is none."""
    places = rye_places(home, project)
    folder = places.of(places.overlays, "user")
    try:
        text = folder.text(folder.file(name, OVERLAY_SUFFIX)) if folder is not None else None
    except RyeError:  # what cannot be read has no effect
        text = None
    return text or ""


def _added(text: str) -> tuple[str, ...]:
    return tuple(f"+{line}" for line in _lines(text))


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
