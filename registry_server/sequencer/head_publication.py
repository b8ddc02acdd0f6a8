"""The head that the store shows, compared with the database: the registry never signs a second history.

Rules:

1. What the store shows must be in the database: the checkpoints of ``/head`` and ``/checkpoint`` are not larger than the
   database's log and match it at their size. Otherwise an older database was restored, and nothing is written
   (``database-behind``). Whether the checkpoint's signature can be verified does not matter: refusing to write is safe.
2. A store that shows another registry is never written to (``store-foreign``).
3. ``/head`` is replaced only if it is still the one that was compared.
4. A missing or damaged head or checkpoint shows nothing; it is written again.
5. With witnesses, both show what :mod:`registry_server.sequencer.cosigned_head` makes of the newest head and the cosigned one.
   ``/checkpoint`` never becomes smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from registry_server.sequencer.cosigned_head import read_cosigned, shown_files, size_of
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.storage.objects import Objects
from registry_server.storage.store_seam import ChangedError
from rye.errors import RyeError
from rye.registry.protocol import merkle, notes, wire
from rye.registry.protocol.note_text import note_text
from rye.registry.protocol.statements import Checkpoint

_ATTEMPTS = 8
"""How often an attempt to replace the head is repeated when other processes replace it meanwhile."""


@lru_cache(maxsize=64)
def shown_checkpoint(path: str, data: bytes | None) -> Checkpoint | None:
    """Return the checkpoint in ``/head`` or ``/checkpoint``, without checking its signatures; None if it is missing
    or damaged.
    """
    if data is None:
        return None
    try:
        text = data.decode() if path == "checkpoint" else wire.decode_head(data).checkpoint
        return Checkpoint.parse(notes.parse(text).text)
    except (RyeError, UnicodeDecodeError):
        return None


def check_size(ledger: Ledger, shown: Checkpoint) -> None:
    """The part of rules 1 and 2 that costs one query: whose log it is, and its size. Raises RyeError."""
    if shown.origin != ledger.origin:
        raise RyeError(
            "store-foreign",
            f"The store shows the registry {shown.origin}, but the database belongs to {ledger.origin}.",
            "Check `objects` and `database` in registry.toml: each registry needs its own store.",
        )
    published = ledger.published()
    size = published.size if published else 0
    if shown.size > size:
        raise _behind(f"The store shows a log of {shown.size} entries, but the database has {size}")


def check_contained(ledger: Ledger, shown: Checkpoint) -> None:
    """Rules 1 and 2 for one checkpoint. Raises RyeError ``database-behind`` or ``store-foreign``."""
    check_size(ledger, shown)
    published = ledger.published()
    if shown.root_hash != _root_at(ledger, shown.size, published):
        raise _behind(f"The {shown.size} log entries that the store shows differ from those in the database")


def _behind(what: str) -> RyeError:
    return RyeError(
        "database-behind",
        f"{what}: an older database was restored. Nothing was written, because clients would see a forked log.",
        "Restore the missing entries from the store or a mirror, then serve again: rye-registry restore --from store",
    )


def _root_at(ledger: Ledger, size: int, published: Published | None) -> bytes:
    if published is not None and published.size == size:
        signed = shown_checkpoint("checkpoint", published.checkpoint)
        if signed is not None:
            return signed.root_hash
    tree = merkle.CompactRange()
    for leaf_hash in ledger.leaf_hashes(size):
        tree, _ = tree.append(leaf_hash)
    return tree.root()


class HeadPublication:
    """What the store shows, as last seen by this object's owner: the writer, or a single check."""

    def __init__(self, public: Objects) -> None:
        self._public = public
        self._tags: dict[str, str] = {}
        self.cosigned: bytes | None = None
        """The head that witnesses cosigned, as last learned; the newest one's files are written with it."""
        self.written: bytes | None = None
        """The one that the last head was written with."""
        self._covered = 0
        """The entries that ``/checkpoint`` covered last."""

    def check(self, ledger: Ledger, *, thorough: bool = False) -> Checkpoint | None:
        """Compare ``/head`` with the database, and ``/checkpoint`` if ``thorough``.

        Returns what the head shows. Raises RyeError.
        """
        shown = self._look(ledger, "head")
        if thorough or shown is None:
            self._look(ledger, "checkpoint")
        return shown

    def replace(
        self, ledger: Callable[[], Ledger], published: Published, step: Callable[[str], None] = lambda _step: None
    ) -> bool:
        """Show this head, which the database contains; False if the store already shows a larger one. Raises RyeError.

        ``ledger``: opens it, if the store has to be compared with it. ``step``: called with ``checkpoint`` and ``shown`` when
        each is done.
        """
        cosigned = self.cosigned
        files = shown_files(published.document, published.checkpoint, cosigned)
        covered = published.size if cosigned is None else size_of(cosigned)
        if covered >= self._covered:
            self._put(ledger, "checkpoint", files["checkpoint"], covered)
            self._covered = covered
        step("checkpoint")
        if not self._put(ledger, "head", files["head"], published.size):
            return False
        self.written = cosigned
        step("shown")
        return True

    def _put(self, ledger: Callable[[], Ledger], path: str, content: bytes, size: int) -> bool:
        for _ in range(_ATTEMPTS):
            if path not in self._tags:
                shown = self._look(ledger(), path)
                if shown is not None and shown.size > size:
                    return False
            try:
                self._tags[path] = self._public.replace(path, content, self._tags.pop(path))
            except ChangedError:
                continue
            return True
        raise RyeError("database-busy", "Other processes keep replacing the head.", "Try again in a moment.")

    def shows(self, ledger: Ledger, published: Published) -> bool:
        """Whether the store shows exactly this head. Raises RyeError like :meth:`check`."""
        cosigned = read_cosigned(ledger.connection)
        plain = shown_files(published.document, published.checkpoint, None)
        wanted = shown_files(published.document, published.checkpoint, cosigned)
        shown = {path: self._compared(ledger, path)[0] for path in wanted}
        return shown in (wanted, plain) or (cosigned is not None and _is_head(shown["head"], published))

    def _look(self, ledger: Ledger, path: str) -> Checkpoint | None:
        return self._compared(ledger, path)[1]

    def _compared(self, ledger: Ledger, path: str) -> tuple[bytes | None, Checkpoint | None]:
        """Return the content at this path, after checking that the database contains its checkpoint."""
        self._tags.pop(path, None)
        data, tag = self._public.get_tagged(path)
        shown = shown_checkpoint(path, data)
        if shown is not None:
            check_contained(ledger, shown)
        self._tags[path] = tag
        return data, shown


def _is_head(data: bytes | None, published: Published) -> bool:
    """Whether a stored head is the newest one, whatever cosignatures it has or lacks."""
    if data is None:
        return False
    try:
        head, newest = wire.decode_head(data), wire.decode_head(published.document)
    except RyeError:
        return False
    same = note_text(head.checkpoint) == note_text(newest.checkpoint)
    return same and (head.snapshot, head.map) == (newest.snapshot, newest.map)
