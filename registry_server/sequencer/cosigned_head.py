"""The head that witnesses cosigned, and what the store shows because of it.

Rules:

1. ``/head`` is the newest head of all. If witnesses cosigned exactly that one, its checkpoint has their lines; if they cosigned
   an older one, that is its member ``cosigned``. Without witnesses it has the bytes that it always had.
2. ``/checkpoint`` is the cosigned checkpoint, if there is one: other programs see what witnesses saw.
3. The cosigned head is kept in the database as a whole head whose checkpoint has cosignatures. It only grows.
"""

from __future__ import annotations

import sqlalchemy as sa

from registry_server.storage.schema import registry
from rye.registry.protocol import notes, wire
from rye.registry.protocol.note_text import note_text
from rye.registry.protocol.statements import Checkpoint

_KEY = "cosigned-head"


def read_cosigned(connection: sa.Connection) -> bytes | None:
    """Return the newest cosigned head; None if there is none."""
    value = connection.scalar(sa.select(registry.c.value).where(registry.c.key == _KEY))
    return None if value is None else str(value).encode()


def keep_cosigned(connection: sa.Connection, document: bytes) -> bool:
    """Keep a cosigned head, unless a larger one is here: another server may have got it meanwhile."""
    here = registry.c.key == _KEY
    value = connection.scalar(sa.select(registry.c.value).where(here).with_for_update())
    if value is None:
        connection.execute(registry.insert().values(key=_KEY, value=document.decode()))
    elif size_of(str(value).encode()) > size_of(document):
        return False
    else:
        connection.execute(registry.update().where(here).values(value=document.decode()))
    return True


def forget_cosigned(connection: sa.Connection) -> None:
    """Keep no cosigned head any more."""
    connection.execute(registry.delete().where(registry.c.key == _KEY))


def size_of(document: bytes) -> int:
    """The size of the tree of a head."""
    return Checkpoint.parse(note_text(wire.decode_head(document).checkpoint)).size


def shown_files(document: bytes, checkpoint: bytes, cosigned: bytes | None) -> dict[str, bytes]:
    """Return what ``/checkpoint`` and ``/head`` say. ``document``, ``checkpoint``: the newest head; ``cosigned``: the older or
    equal one that witnesses cosigned."""
    if cosigned is None:
        return {"checkpoint": checkpoint, "head": document}
    newest, older = wire.decode_head(document), wire.decode_head(cosigned)
    if notes.parse(newest.checkpoint).text == notes.parse(older.checkpoint).text:
        return {"checkpoint": older.checkpoint.encode(), "head": cosigned}
    member = wire.CosignedHead(older.checkpoint, older.snapshot, older.proof, older.map)
    head = wire.Head(newest.checkpoint, newest.snapshot, newest.proof, newest.map, member)
    return {"checkpoint": older.checkpoint.encode(), "head": wire.encode_head(head)}
