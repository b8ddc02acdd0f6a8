"""The items of a source, as ``rye add SOURCE`` lists them before anything is chosen: what each is for, and what it may do."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from msgspec import Struct

from rye.describing.description import Description, describe
from rye.installation.install import mentions
from rye.items.agent_tools import AgentTools, shown
from rye.items.consented import Run
from rye.items.runs import attached_runs
from rye.limits import SOURCES
from rye.sources.inventory.found import FoundItem
from rye.sources.item import Judged
from rye.sources.opening import OpenSource
from rye.workspace.context import Context


class ListedItem(Struct, frozen=True, kw_only=True):
    """One item that can be used."""

    kind: str
    name: str
    """What names it after the source: ``rye add SOURCE NAME``."""
    description: str
    described: Description
    """What it may use and what its texts mention. The first :data:`SOURCES.listed_items` are searched, or all if a person asked
    for all of it; the others are not whole."""
    runs: tuple[Run, ...] = ()
    """What of it can run."""
    tools: AgentTools | None = None
    """The tools of the agent program that it asks for."""
    rights: tuple[str, ...] = ()
    hooks: int = 0
    """How many actions it triggers."""

    def as_json(self) -> dict[str, object]:
        """Return the item as ``--json`` prints it."""
        return {
            "kind": self.kind,
            "name": self.name,
            "description": self.description,
            "runs": [{"what": run.what, "where": run.where, "action": run.action} for run in self.runs],
            "agent_tools": list(shown(self.tools)) if self.tools is not None else [],
            "rights": list(self.rights),
            "hooks": self.hooks,
            "declared": self.described.declared,
            "alarms": self.described.alarms if self.described.is_whole else None,
            "cautions": self.described.cautions if self.described.is_whole else None,
        }


class SourceList(Struct, frozen=True, kw_only=True):
    """What a source has. Nothing was written."""

    source: str
    """The whole source on one line, as ``rye add`` takes it."""
    given: str
    """The word that named it."""
    items: tuple[ListedItem, ...]
    """The items that match, by kind and name."""
    total: int
    """The number of items that can be used, whether they match or not."""
    words: tuple[str, ...] = ()
    """What the items were filtered by."""
    whole: bool = False
    """Whether a person asked for all of it."""
    unusable: tuple[tuple[str, str], ...] = ()
    """What cannot be used, and why."""
    notes: tuple[str, ...] = ()
    """What else was skipped or is called otherwise, one by one."""

    def as_json(self) -> dict[str, object]:
        """Return the one document of ``--json``."""
        return {
            "source": self.source,
            "items": [item.as_json() for item in self.items],
            "total": self.total,
            "unusable": [{"item": item, "why": why} for item, why in self.unusable],
            "notes": list(self.notes),
        }


def list_items(context: Context, opened: OpenSource, given: str, words: Sequence[str], *, whole: bool) -> SourceList:
    """Read all items of a source. ``words``: show only what has all of them; ``whole``: see :attr:`SourceList.whole`."""
    judged = opened.judge(opened.inventory.items)
    usable = [
        (found, item)
        for found in opened.inventory.items
        if not isinstance(item := judged[(found.kind, found.local_id)], str)
    ]
    matching = [one for one in usable if _matches(*one, words)]
    searched = len(matching) if whole else SOURCES.listed_items
    items: list[ListedItem] = []
    with context.progress("reading the texts", len(matching)) as advance:
        for number, one in enumerate(matching):
            items.append(_listed(*one, search=number < searched))
            advance()
    return SourceList(
        source=opened.source.spec,
        given=given,
        items=tuple(items),
        total=len(usable),
        words=tuple(words),
        whole=whole,
        unusable=tuple((f"{kind}:{name}", why) for (kind, name), why in judged.items() if isinstance(why, str)),
        notes=opened.inventory.details,
    )


def _matches(found: FoundItem, item: Judged, words: Sequence[str]) -> bool:
    """Whether all words are in its name, kind or description, in upper or lower case."""
    text = f"{found.kind}:{found.local_id} {_line(item.metadata.description)}".casefold()
    return all(word.casefold() in text for word in words)


def _line(text: str) -> str:
    return " ".join(text.split())


def _listed(found: FoundItem, item: Judged, *, search: bool) -> ListedItem:
    """``search``: whether its texts are searched for what they mention."""
    files = ((one.path, one.executable, hashlib.sha256(one.data).hexdigest(), one.data) for one in item.attached)
    metadata = item.metadata
    runs = (*metadata.runs, *attached_runs(files, item.data))
    contents = {found.place.rpartition("/")[2]: item.data, **{one.path: one.data for one in item.attached}}
    described = describe(
        found.kind,
        contents,
        found.place.rpartition("/")[2],
        capabilities=metadata.capabilities,
        tools=metadata.agent_tools,
        hooks=len(metadata.hooks),
        runs=runs,
        mentions=mentions(contents) if search else (),
        is_whole=search,
    )
    return ListedItem(
        kind=found.kind,
        name=found.local_id,
        description=_line(metadata.description),
        described=described,
        runs=runs,
        tools=metadata.agent_tools,
        rights=tuple(sorted(metadata.capabilities)),
        hooks=len(metadata.hooks),
    )
