"""The witnesses that the operator configured, and what each has done: rows of the registry's own facts.

A witness is a key and the address that answers for it. A witness with two keys has two rows with one address, and is asked once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

import msgspec
import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace

from registry_server.sequencer.cosigned_head import forget_cosigned
from registry_server.storage.schema import registry
from rye.errors import RyeError
from rye.registry.protocol.cosignatures import CosignerKey
from rye.registry.protocol.notes import NoteError

MOST_WITNESSES = 16
"""Keys. With the log's own lines, a note can have 32 signatures, and 60,000 bytes."""
_PREFIX = "witness "


class WitnessRow(Struct, frozen=True, kw_only=True):
    """One key of a witness."""

    vkey: str
    url: str
    """The submission prefix: ``add-checkpoint`` is below it."""
    created: str
    size: int = 0
    """The size of the head that it cosigned last."""
    cosigned: int | None = None
    """When, by its own clock, in seconds since 1970."""
    error: str = ""
    """Why the last attempt failed; empty after a success."""
    failures: int = 0
    """Failed attempts in a row."""

    @property
    def key(self) -> CosignerKey:
        """Its key."""
        return CosignerKey.from_vkey(self.vkey)


def listing(connection: sa.Connection) -> list[WitnessRow]:
    """All witnesses, oldest first."""
    query = sa.select(registry.c.value).where(registry.c.key.startswith(_PREFIX, autoescape=True))
    rows = [msgspec.json.decode(value, type=WitnessRow) for (value,) in connection.execute(query)]
    return sorted(rows, key=lambda row: (row.created, row.vkey))


def add(connection: sa.Connection, vkey: str, url: str, now: str) -> WitnessRow:
    """Add a witness. Raises RyeError ``note-key-invalid``, ``invalid-value``, ``already-exists``."""
    key = _key(vkey)
    present = listing(connection)
    if any(row.key.key == key.key for row in present):
        raise RyeError("already-exists", f"{key.name} is a witness already.", None, what="witness")
    if len(present) >= MOST_WITNESSES:
        message = f"There are {MOST_WITNESSES} keys of witnesses already, the most that a head can carry."
        raise RyeError("invalid-value", message, "Remove one: rye-registry witness remove NAME", what="witness")
    witness = WitnessRow(vkey=vkey, url=_address(url), created=now)
    connection.execute(registry.insert().values(key=_row(vkey), value=msgspec.json.encode(witness).decode()))
    return witness


def remove(connection: sa.Connection, named: str) -> list[WitnessRow]:
    """Remove a witness, by its name or the whole key; both of its keys, by name. Without witnesses, no head is cosigned any more.

    Raises RyeError ``no-such-entry``.
    """
    present = listing(connection)
    gone = [row for row in present if named in (row.vkey, row.key.name)]
    if not gone:
        hint = "`rye-registry witness list` shows all witnesses."
        raise RyeError("no-such-entry", f"There is no witness {named[:200]!r}.", hint, what="witness")
    for row in gone:
        connection.execute(registry.delete().where(registry.c.key == _row(row.vkey)))
    if len(gone) == len(present):
        forget_cosigned(connection)
    return gone


def note_success(connection: sa.Connection, vkeys: Iterable[str], size: int, time: int) -> None:
    """Record that these keys cosigned a head."""
    for vkey in vkeys:
        _change(connection, vkey, lambda row: replace(row, size=size, cosigned=time, error="", failures=0))


def note_failure(connection: sa.Connection, vkeys: Iterable[str], error: str) -> None:
    """Record why these keys did not."""
    for vkey in vkeys:
        _change(connection, vkey, lambda row: replace(row, error=error[:500], failures=row.failures + 1))


def _change(connection: sa.Connection, vkey: str, change: Callable[[WitnessRow], WitnessRow]) -> None:
    value = connection.scalar(sa.select(registry.c.value).where(registry.c.key == _row(vkey)))
    if value is None:
        return  # removed meanwhile
    changed = msgspec.json.encode(change(msgspec.json.decode(value, type=WitnessRow))).decode()
    connection.execute(registry.update().where(registry.c.key == _row(vkey)).values(value=changed))


def _row(vkey: str) -> str:
    return _PREFIX + CosignerKey.from_vkey(vkey).key_id.hex()


def _key(vkey: str) -> CosignerKey:
    try:
        return CosignerKey.from_vkey(vkey)
    except NoteError as error:
        hint = "Copy the whole verifier key (NAME+ID+KEY) that the witness's operator publishes."
        raise RyeError("note-key-invalid", error.message, hint) from error


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and len(url) <= 1000
    except ValueError:  # not an address, or no valid port
        good = False
    if not good or not url.isascii() or not url.isprintable() or " " in url or "@" in url or "?" in url or "#" in url:
        message = f"{url[:200]!r} is not the address of a witness."
        raise RyeError("invalid-value", message, "Give https://host/path, without add-checkpoint.", what="witness")
    return url.rstrip("/")
