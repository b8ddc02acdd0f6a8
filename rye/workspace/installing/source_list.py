"""The items of a source, as ``rye add SOURCE`` lists them before anything is chosen: what each is for, and what it may do."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from msgspec import Struct

from rye.items.agent_tools import AgentTools, shown
from rye.items.consented import Run
from rye.items.runs import attached_runs
from rye.sources.item import Judged
from rye.sources.opening import OpenSource


class ListedItem(Struct, frozen=True, kw_only=True):
    """One item that can be used."""

    kind: str
    name: str
    """What names it after the source: ``rye add SOURCE NAME``."""
    description: str
    runs: tuple[Run, ...] = ()
    """What of it can run."""
    tools: AgentTools | None = None
    """The tools of the agent program that it asks for."""
    rights: tuple[str, ...] = ()
    hooks: int = 0
    """How many actions it triggers."""

    def matches(self, words: Sequence[str]) -> bool:
        """Whether all words are in its name, kind or description, in upper or lower case."""
        text = f"{self.kind}:{self.name} {self.description}".casefold()
        return all(word.casefold() in text for word in words)

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


def list_items(opened: OpenSource, given: str, words: Sequence[str], *, whole: bool) -> SourceList:
    """Read all items of a source. ``words``: show only what has all of them; ``whole``: see :attr:`SourceList.whole`."""
    judged = opened.judge(opened.inventory.items)
    items = [
        _listed(found.kind, found.local_id, item)
        for found in opened.inventory.items
        if not isinstance(item := judged[(found.kind, found.local_id)], str)
    ]
    return SourceList(
        source=opened.source.spec,
        given=given,
        items=tuple(item for item in items if item.matches(words)),
        total=len(items),
        words=tuple(words),
        whole=whole,
        unusable=tuple((f"{kind}:{name}", why) for (kind, name), why in judged.items() if isinstance(why, str)),
        notes=opened.inventory.details,
    )


def _listed(kind: str, name: str, item: Judged) -> ListedItem:
    files = ((one.path, one.executable, hashlib.sha256(one.data).hexdigest(), one.data) for one in item.attached)
    metadata = item.metadata
    return ListedItem(
        kind=kind,
        name=name,
        description=" ".join(metadata.description.split()),
        runs=(*metadata.runs, *attached_runs(files, item.data)),
        tools=metadata.agent_tools,
        rights=tuple(sorted(metadata.capabilities)),
        hooks=len(metadata.hooks),
    )
