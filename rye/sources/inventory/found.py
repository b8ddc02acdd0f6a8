"""What is found in a source: its items, and what there is to say about the others."""

from __future__ import annotations

from msgspec import Struct


class FoundItem(Struct, frozen=True, kw_only=True):
    """One item of a source. Paths are relative to the source's own folder."""

    kind: str
    local_id: str
    suffix: str
    """As :attr:`rye.project.lock.LockedItem.suffix`."""
    place: str
    """The item's own file."""
    attached: tuple[str, ...] = ()
    """Paths relative to the item's folder."""
    problem: str | None = None
    """Why it cannot be used, as the end of a sentence."""
    program: str | None = None
    """Of an agent: the program whose form its file may have."""

    @property
    def folder(self) -> str:
        """The folder of the item's own file, relative to the source's folder."""
        return self.place.rpartition("/")[0]

    def path_of(self, attached: str) -> str:
        """Return an attached file's path relative to the source's folder."""
        return f"{self.folder}/{attached}".removeprefix("/")


class Inventory(Struct, frozen=True):
    """The items of a source."""

    items: tuple[FoundItem, ...]
    """By kind and id."""
    notes: tuple[str, ...] = ()
    """What was skipped, and why; of a sort that is long, the number and one as an example."""
    details: tuple[str, ...] = ()
    """The same one by one."""
