"""The head that the store shows, compared with the database: the registry never signs a second history.

Rules:

1. What the store shows must be in the database: the checkpoints of ``/head`` and ``/checkpoint`` are not larger than the
   database's log and match it at their size. Otherwise an older database was restored, and nothing is written
   (``database-behind``). Whether the checkpoint's signature can be verified does not matter: refusing to write is safe.
2. A store that shows another registry is never written to (``store-foreign``).
3. ``/head`` is replaced only if it is still the one that was compared.
4. A missing or damaged head or checkpoint shows nothing; it is written again.
5. With witnesses, both show what :mod:`registry_server.sequencer.cosigned_head` makes of the newest head and the cosigned one.
   ``/checkpoint`` never becomes smaller, even if this process knows less of the witnesses than the one that showed it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from registry_server.sequencer.cosigned_head import read_cosigned, shown_files, size_of
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.storage.objects import Objects
from registry_server.storage.store_seam import ABSENT
from rye.errors import RyeError
from rye.registry.protocol import merkle, notes, wire
from rye.registry.protocol.statements import Checkpoint
from rye.registry.trust.keysets import log_keys

_ATTEMPTS = 8
"""How often an attempt to replace the head is repeated when other processes replace it meanwhile."""


@lru_cache(maxsize=64)
def _read_checkpoint(text: str) -> Checkpoint:
    return Checkpoint.parse(notes.parse(text).text)


@lru_cache(maxsize=64)
def shown_checkpoint(path: str, data: bytes | None) -> Checkpoint | None:
    """Return the checkpoint in ``/head`` or ``/checkpoint``, without checking its signatures; None if it is missing
    or damaged.
    """
    if data is None:
        return None
    try:
        text = data.decode() if path == "checkpoint" else wire.decode_head(data).checkpoint
        return _read_checkpoint(text)  # both files show the same one
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


class _Seen(NamedTuple):
    """What a file was when this process read or wrote it last."""

    tag: str
    checkpoint: Checkpoint | None
    """What it shows; None: it is missing or damaged."""


class HeadPublication:
    """What the store shows, as last seen by this object's owner: the writer, or a single check."""

    def __init__(self, public: Objects) -> None:
        self._public = public
        self._seen: dict[str, _Seen] = {}
        """``head`` and ``checkpoint``; one is missing if nobody knows what the store shows there."""
        self.cosigned: bytes | None = None
        """The head that witnesses cosigned, as last learned; the newest one's files are written with it."""
        self.written: bytes | None = None
        """The one that the last head was written with."""

    def check(self, ledger: Ledger, *, thorough: bool = False) -> Checkpoint | None:
        """Compare ``/head`` with the database, and ``/checkpoint`` if ``thorough`` or if it has not been seen.

        Returns what the head shows. Raises RyeError.
        """
        shown = self._look(ledger, "head")
        if thorough or shown is None or "checkpoint" not in self._seen:
            self.check_checkpoint(ledger)
        return shown

    def check_checkpoint(self, ledger: Ledger) -> None:
        """Compare ``/checkpoint`` with the database. Raises RyeError."""
        self._look(ledger, "checkpoint")

    def check_beside(self, published: Published | None) -> tuple[Checkpoint, Callable[[], bool]] | None:
        """Begin to check that ``/head`` is still as this object saw it, if that is the newest head; otherwise None.

        Returns what it shows then, and a function that waits for the answer: whether it is still that one. A store that shows
        anything else is compared by :meth:`check`. The function raises RyeError.
        """
        seen = self._seen.get("head")
        if self._public.is_local or published is None or seen is None or "checkpoint" not in self._seen:
            return None
        tag, shown = seen
        if shown is None or tag == ABSENT or shown != shown_checkpoint("checkpoint", published.checkpoint):
            return None
        answer = self._public.get_tagged_soon("head")

        def is_same() -> bool:
            if answer()[1] == tag:
                return True
            self._seen.pop("head", None)
            return False

        return shown, is_same

    def is_behind(self, published: Published) -> bool:
        """Whether either file, as last seen, shows less than this head's."""
        for path, size in (("checkpoint", _covered(published, self.cosigned)), ("head", published.size)):
            shown = self._seen[path].checkpoint if path in self._seen else None
            if shown is None or shown.size < size:
                return True
        return False

    def replace(
        self, ledger: Callable[[], Ledger], published: Published, step: Callable[[str], None] = lambda _step: None
    ) -> bool:
        """Show this head, which the database contains; False if the store already shows a larger one. Raises RyeError.

        ``ledger``: opens it, if the store has to be compared with it. ``step``: called with ``checkpoint`` and ``shown`` when
        each is done.

        A bucket replaces both files at the same time, so for a moment, or after a crash, either can be the older one. A folder
        replaces ``/checkpoint`` first.
        """
        cosigned = self.cosigned
        files = shown_files(published.document, published.checkpoint, cosigned)
        first = {"checkpoint": (files["checkpoint"], _covered(published, cosigned))}
        last = {"head": (files["head"], published.size)}
        if self._public.is_local:
            self._put(ledger, first)
            step("checkpoint")
            done = self._put(ledger, last)
        else:
            done = self._put(ledger, first | last)
            step("checkpoint")
        if "head" not in done:
            return False
        self.written = cosigned
        step("shown")
        return True

    def _put(self, ledger: Callable[[], Ledger], wanted: Mapping[str, tuple[bytes, int]]) -> set[str]:
        """Replace files, given with the entries that each covers; returns those for which the store shows no more than that."""
        done: set[str] = set()
        left = dict(wanted)
        for _ in range(_ATTEMPTS):
            for path in list(left):
                shown = self._seen[path].checkpoint if path in self._seen else self._look(ledger(), path)
                if shown is not None and shown.size > left[path][1]:
                    del left[path]
            tags = self._public.replace_all(
                [(path, content, self._seen.pop(path).tag) for path, (content, _) in left.items()]
            )  # an error leaves them unseen: nobody knows what the store shows then
            for path, tag in zip(list(left), tags, strict=True):
                if tag is not None:
                    self._seen[path] = _Seen(tag, shown_checkpoint(path, left[path][0]))
                    done.add(path)
                    del left[path]
            if not left:
                return done
        raise RyeError("database-busy", "Other processes keep replacing the head.", "Try again in a moment.")

    def shows(self, ledger: Ledger, published: Published) -> bool:
        """Whether the store shows exactly this head. Raises RyeError like :meth:`check`."""
        return not outdated(
            ledger, published, {path: self._compared(ledger, path)[0] for path in ("checkpoint", "head")}
        )

    def _look(self, ledger: Ledger, path: str) -> Checkpoint | None:
        return self._compared(ledger, path)[1]

    def _compared(self, ledger: Ledger, path: str) -> tuple[bytes | None, Checkpoint | None]:
        """Return the content at this path, after checking that the database contains its checkpoint."""
        self._seen.pop(path, None)
        data, tag = self._public.get_tagged(path)
        shown = shown_checkpoint(path, data)
        if shown is not None:
            check_contained(ledger, shown)
        self._seen[path] = _Seen(tag, shown)
        return data, shown


def _covered(published: Published, cosigned: bytes | None) -> int:
    """The entries that ``/checkpoint`` covers beside this head."""
    return published.size if cosigned is None else size_of(cosigned)


def outdated(ledger: Ledger, published: Published, shown: Mapping[str, bytes | None]) -> list[str]:
    """Return which of ``checkpoint`` and ``head``, given with their contents, do not show this head (rule 5).

    With witnesses, ``/head`` may have or lack any of their lines, because servers learn of them one after the other, and
    ``/checkpoint`` may be any of this log from the cosigned one on.
    """
    plain = shown_files(published.document, published.checkpoint, None)
    wrong = [path for path in plain if shown[path] != plain[path]]
    cosigned = read_cosigned(ledger.connection)
    if not wrong or cosigned is None:
        return wrong
    wanted = shown_files(published.document, published.checkpoint, cosigned)
    is_good = {
        "checkpoint": lambda data: _is_checkpoint(ledger, data, size_of(cosigned)),
        "head": lambda data: _is_head(data, published),
    }
    return [path for path in wrong if shown[path] != wanted[path] and not is_good[path](shown[path])]


def _is_checkpoint(ledger: Ledger, data: bytes | None, least: int) -> bool:
    """Whether a stored checkpoint is a signed one of this log that covers at least so many entries."""
    shown = shown_checkpoint("checkpoint", data)
    if data is None or shown is None or shown.size < least:
        return False
    try:
        check_contained(ledger, shown)
        notes.verify(notes.parse(data), [key for root in ledger.roots() for key in log_keys(root)])
    except RyeError:
        return False
    return True


def _is_head(data: bytes | None, published: Published) -> bool:
    """Whether a stored head is the newest one, whatever cosignatures it has or lacks."""
    if data is None:
        return False
    try:
        head, newest = wire.decode_head(data), wire.decode_head(published.document)
        note, signed = notes.parse(head.checkpoint), notes.parse(newest.checkpoint)
    except RyeError:
        return False
    same = note.text == signed.text and set(signed.signatures) <= set(note.signatures)
    return same and (head.snapshot, head.proof, head.map) == (newest.snapshot, newest.proof, newest.map)
