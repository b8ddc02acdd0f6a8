"""What rye.lock says of an item, against the item itself: a change of the lock alone must never hide a right.

Rules:

* An item that is being installed is compared whole with its verified release (:func:`check_lock`).
* One that is installed already is compared, without a network, with what its kind's reader finds in its own bytes
  (:func:`installed_declarations_hold`): capabilities, agent tools and hooks. The caller has compared every byte's hash with the
  lock. Registry, position, keyset and signer cannot be told from the bytes alone; there ``rye audit`` and a clean checkout ask.
* What a reader found is remembered (:mod:`rye.storage.verdicts`) under everything that it was given, so that the same bytes are
  read once on a machine: while nothing changes, no reader is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from rye.errors import RyeError
from rye.items.reading import HookAction, Metadata
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.storage.verdicts import Verdicts

_RELEASE_FIELDS = ("size", "suffix", "registry", "keyset", "signer", "attached", "capabilities", "agent_tools", "hooks")
"""What the lock says of a release, beside the fields that name it."""


class Declarations(Struct, frozen=True):
    """What an item's own bytes say, as the lock repeats it."""

    capabilities: tuple[str, ...]
    agent_tools: tuple[str, ...]
    hooks: tuple[HookAction, ...]

    @classmethod
    def of(cls, metadata: Metadata) -> Declarations:
        return cls(metadata.capabilities, tuple(sorted(set(metadata.agent_tools))), metadata.hooks)

    def encoded(self) -> bytes:
        return msgspec.msgpack.encode(self)


def check_lock(locked: LockedItem, found: LockedItem) -> None:
    """Where the lock names the very release that was verified, all that it says of it must be so: reviews rely on it.

    Raises RyeError ``lock-mismatch``.
    """
    if (locked.version, locked.sha256, locked.log) == (found.version, found.sha256, found.log):
        _check(locked, found, _RELEASE_FIELDS, "its release does")


def installed_declarations_hold(project: Project, items: Sequence[LockedItem], verdicts: Verdicts) -> bool:
    """Whether every installed item is known to say what the lock says of it; False where one cannot be read: the whole way of
    an installation says why. Raises RyeError ``lock-mismatch``."""
    keys = [declarations_key(verdicts, item) for item in items]
    known = verdicts.get(keys)
    for item, key in zip(items, keys, strict=True):
        if known.get(key) == Declarations(item.capabilities, item.agent_tools, item.hooks).encoded():
            continue
        declared = _read_declarations(project, item)
        if declared is None:
            return False
        verdicts.put({key: declared.encoded()})
        _check(item, declared, Declarations.__struct_fields__, "its file does")
    return True


def declarations_key(verdicts: Verdicts, item: LockedItem) -> bytes:
    """Names everything that the reader is given of an item; its hash stands for its text."""
    return verdicts.key("declarations", item.kind, item.id, item.suffix, item.sha256, *_attached(item))


def _attached(item: LockedItem) -> Iterable[str]:
    return sorted(entry.path for entry in item.attached)


def _check(locked: LockedItem, found: LockedItem | Declarations, names: Iterable[str], where: str) -> None:
    for name in names:
        says, true = getattr(locked, name), getattr(found, name)
        if says != true and not (isinstance(says, tuple) and set(says) == set(true) and len(says) == len(true)):
            raise RyeError(
                "lock-mismatch",
                f"rye.lock says something else of {locked.identity} {locked.version} than {where}: {name}.",
                "Somebody changed rye.lock: restore it from version control. Or delete it and run `rye install`, which asks for "
                "every right anew.",
            )


def _read_declarations(project: Project, item: LockedItem) -> Declarations | None:
    """What the installed bytes say; None where they are not the lock's any more, or no reader accepts them."""
    import hashlib

    from rye.installation.placement import item_path
    from rye.items.published import read_published

    try:
        data = (project.root / item_path(item)).read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data).hexdigest() != item.sha256:
        return None
    reading = read_published(item.identity, item.suffix, data, _attached(item))
    return Declarations.of(reading.metadata) if reading.metadata is not None and reading.ok else None
