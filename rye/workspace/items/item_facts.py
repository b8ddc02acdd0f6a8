"""The facts that rules find in items, offline (DESIGN 7.2). A fact is never a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.customization.effective_files import Tree
from rye.customization.overlay_files import in_force
from rye.customization.places import rye_places
from rye.customization.role_files import directives_of
from rye.errors import RyeError
from rye.items.attached import attached_files
from rye.items.identity import is_segment
from rye.items.kinds import KINDS
from rye.items.location import Location
from rye.limits import CONTENT
from rye.project.context import FileToRead, expand, load_manifest
from rye.project.item_file import ItemFile, place, read_item_bytes
from rye.project.spaces import looks_like_path
from rye.storage.home import Home
from rye.text.facts import ALARM, Fact, as_json, difference, find_facts
from rye.text.facts.readable import readable_text
from rye.workspace.context import Context
from rye.workspace.items.effective_item import EffectiveItem, effective_item, refuse_named_like_installed
from rye.workspace.items.installed_items import installed_item
from rye.workspace.items.item_tree import effective_tree


class ItemFacts(Struct, frozen=True):
    """The facts of one item and its attached files. ``Fact.path`` is the file's path as the user would write it."""

    path: str
    id: str | None
    """None if the file is not in the folder of a kind."""
    facts: tuple[Fact, ...]


class UnreadItem(Struct, frozen=True):
    """An item whose facts are not known, because it cannot be read."""

    path: str
    """As the user would write it."""
    error: RyeError

    def as_json(self) -> dict[str, str]:
        """The entry of ``unread`` in the JSON of ``rye facts``."""
        return {"path": self.path, "code": self.error.code, "message": self.error.message}


class FactsReport(Struct, frozen=True):
    """The facts of the requested items, and the difference from the items they were compared with."""

    results: tuple[ItemFacts, ...]
    unread: tuple[UnreadItem, ...] = ()
    """Items among others that cannot be read: of these nothing is known, so they count as a failure."""
    difference: tuple[tuple[Fact, ...], tuple[Fact, ...]] | None = None
    """Added and removed facts; None without a comparison."""

    def as_json(self) -> dict[str, object]:
        """The stable JSON of ``rye facts``."""
        rows = ((item.path, item.id, item.facts) for item in self.results)
        document = as_json(rows)
        if self.unread:
            document["unread"] = [item.as_json() for item in self.unread]
        if self.difference is None:
            return document
        added, removed = self.difference
        return {
            **document,
            "added": [fact.as_json() for fact in added],
            "removed": [fact.as_json() for fact in removed],
        }


def facts_report(context: Context, arguments: Sequence[str], against: str | None = None) -> FactsReport:
    """The facts of ``PATH…|ID``. ``against``: a path or an id to compare with. For an id, the facts are those of the text in use,
    with overrides, overlay and role directives.

    An item that cannot be read does not keep the others back: it is listed as ``unread``. Raises RyeError if an item is not
    found, for an installed item that was changed, if no item can be read, and if one of a comparison cannot.
    """
    results: list[ItemFacts] = []
    unread: list[UnreadItem] = []
    with context.progress("reading the texts"):
        for argument in arguments:
            _of_argument(context, argument, results, unread)
    if unread and (not results or against is not None):
        raise unread[0].error
    if against is None:
        return FactsReport(tuple(results), tuple(unread))
    old: list[ItemFacts] = []
    _of_argument(context, against, old, unread)
    if unread:
        raise unread[0].error
    return FactsReport(tuple(results), difference=difference(_all(old), _all(results)))


def alarms_of(item: ItemFile, data: bytes) -> tuple[Fact, ...]:
    """The alarms of an item with ``data`` as its own file, and of its attached files; ``Fact.path`` is as the user would write
    it. A file that cannot be read has none: the list of attached files names it."""
    shown = _shown(FileToRead(item.path, item.shown))
    texts = {shown: readable_text(data)}
    for file in attached_files(item.path)[0] if item.kind.main_file == item.path.name else ():
        with suppress(RyeError):
            read = _read(item.path.parent / file.path, CONTENT.attached_bytes)
            texts[(Path(shown).parent / file.path).as_posix()] = readable_text(read)
    return tuple(fact for fact in find_facts(texts) if fact.level == ALARM)


def _all(items: Iterable[ItemFacts]) -> list[Fact]:
    return [fact for item in items for fact in item.facts]


def _of_argument(context: Context, argument: str, results: list[ItemFacts], unread: list[UnreadItem]) -> None:
    """Add the items that an argument names to the results, or to those that cannot be read."""
    refuse_named_like_installed(context, argument)
    if (context.cwd / argument).exists() or looks_like_path(argument, context.cwd) or "*" in argument:
        for entry in expand([argument], context.cwd):
            try:
                results.append(_of_file(context, entry))
            except RyeError as error:
                unread.append(UnreadItem(_shown(entry), error))
        return
    found = effective_item(context, argument, inspect=True)
    if found.is_editable:
        results.append(_of_editable(context, found))
        return
    path = found.item.path
    shown = str(path.relative_to(context.cwd)) if path.is_relative_to(context.cwd) else str(path)
    results.append(_of_file(context, FileToRead(path, shown), found))


def _customizing_texts(home: Home, found: EffectiveItem) -> dict[str, str]:
    """Texts used with the item that are not part of it: the overlay in force, and role directives."""
    places, name = rye_places(home, found.project), found.item.location.name
    if not is_segment(name):
        return {}
    if found.item.kind.name == "formula":
        source = in_force(places, name).source
        return {source.shown: source.data.decode("utf-8", "replace")} if source is not None and source.data else {}
    if found.item.kind.name == "role":
        return {file.path: file.text for file in directives_of(places, name).sources if file.text}
    return {}


def _of_editable(context: Context, found: EffectiveItem) -> ItemFacts:
    """The facts of an item of an editable folder, from the checked bytes."""
    assert found.project is not None
    assert found.installed is not None
    now = installed_item(context, found.project, found.installed.row, load_manifest(found.project))
    folder = Path(found.item.shown).parent
    files = {found.item.shown: now.found.item.data}
    files |= _files(folder, now.found, now.attached)
    texts = {path: readable_text(content) for path, content in files.items()}
    facts = find_facts({**texts, **_customizing_texts(context.home, now.found)})
    placed = tuple(_placed(fact, found.item.shown, now.found) for fact in facts)
    return ItemFacts(found.item.shown, found.id, placed)


def _of_file(context: Context, entry: FileToRead, used: EffectiveItem | None = None) -> ItemFacts:
    """The facts of a file. ``used``: the item as it is used; then the facts are those of its text with customizations."""
    data = _read(entry.path, CONTENT.item_bytes)
    if used is not None and used.is_reworded:
        data = used.item.data
    files = {_shown(entry): data}
    if used is not None and used.result is not None and used.result.changes_files:
        files |= _files(Path(_shown(entry)).parent, used, effective_tree(context, used))
    elif entry.path.name in KINDS.main_files():
        attached, problems = attached_files(entry.path)
        for problem in problems:
            context.warn(f"{entry.shown}: {problem.message}", "It is not attached, so its facts are not listed.")
        folder = Path(_shown(entry)).parent
        for file in attached:
            files[(folder / file.path).as_posix()] = _read(entry.path.parent / file.path, CONTENT.attached_bytes)
    texts = {path: readable_text(content) for path, content in files.items()}
    if used is None:
        return ItemFacts(entry.shown, _id(_place(entry.path, data)), find_facts(texts))
    facts = find_facts({**texts, **_customizing_texts(context.home, used)})
    return ItemFacts(entry.shown, used.id, tuple(_placed(fact, _shown(entry), used) for fact in facts))


def _files(folder: Path, used: EffectiveItem, tree: Tree) -> dict[str, bytes]:
    """The attached files by the paths where they were written: in the item's folder, or in that of an override."""
    written = used.result.written_at if used.result is not None else lambda _: None
    return {written(path) or (folder / path).as_posix(): file.data or b"" for path, file in tree.items()}


def _placed(fact: Fact, shown: str, used: EffectiveItem) -> Fact:
    """A fact of the item's own text, with the file and line where it was written."""
    if fact.path != shown or not used.is_reworded:
        return fact
    path, line = used.place(fact.line)
    return replace(fact, path=shown if path == used.item.shown else path, line=line)


def _read(path: Path, limit: int) -> bytes:
    data = read_item_bytes(path, limit)
    if len(data) > limit:
        raise RyeError(
            "file-too-large",
            f"{str(path)!r} has more than {limit:,} bytes.",
            "An item cannot be that large. Name a smaller file.",
        )
    return data


def _shown(entry: FileToRead) -> str:
    """The path of the item's own file, as the user would write it: a skill is named by its folder, so the file is added."""
    shown = Path(entry.shown)
    return (shown / entry.path.name if shown.name != entry.path.name else shown).as_posix()


def _place(path: Path, data: bytes) -> Location | None:
    return place(path, data.decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff"), None)


def _id(location: Location | None) -> str | None:
    if location is None:
        return None
    return f"{location.namespace}/{location.local_id}" if location.namespace is not None else location.local_id
