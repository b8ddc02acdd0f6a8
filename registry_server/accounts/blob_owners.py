"""Which namespaces released a file, and its size: a table that is filled lazily from the log.

Only a registry with per-namespace read access or quotas needs it, so publishing does not update it. A look-up that finds
nothing first reads the log entries added since the last one.
"""

from __future__ import annotations

import sqlalchemy as sa

from registry_server.storage import database
from registry_server.storage.schema import blob_namespaces, log_entries, registry
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import Release

_CURSOR = "blob-namespaces"
_ROWS = 500


def owners(engine: sa.Engine, sha256: str) -> frozenset[str]:
    """The namespaces that released a file; empty if none did."""
    query = sa.select(blob_namespaces.c.namespace).where(blob_namespaces.c.sha256 == sha256)
    with database.reader(engine) as connection:
        identifiers = frozenset(connection.scalars(query))
        is_behind = not identifiers and _cursor(connection) < _size(connection)
    if not is_behind:
        return identifiers
    while _fill(engine):
        pass
    with database.reader(engine) as connection:
        return frozenset(connection.scalars(query))


def sizes_of(release: Release) -> dict[str, int]:
    """The sizes of a release's files, by their hashes."""
    return {release.file.sha256: release.file.size, **{entry.sha256: entry.size for entry in release.attached}}


def catch_up(engine: sa.Engine) -> None:
    """Read the entries added since the last call."""
    with database.reader(engine) as connection:
        if _cursor(connection) >= _size(connection):
            return
    while _fill(engine):
        pass


def _fill(engine: sa.Engine) -> bool:
    """Read the next few entries. Return whether there may be more."""
    with database.reader(engine) as connection:
        first = _cursor(connection)
        query = sa.select(log_entries.c.position, log_entries.c.leaf).where(log_entries.c.position >= first)
        rows = connection.execute(query.order_by(log_entries.c.position).limit(_ROWS)).all()
    if not rows:
        return False
    sizes: dict[tuple[str, str], int] = {}
    for row in rows:
        text = notes.parse(bytes(row.leaf)).text
        if text.startswith(Release.TITLE):
            release = statements.parse(text)
            assert isinstance(release, Release)
            namespace = release.identity.namespace
            sizes.update({(sha256, namespace): size for sha256, size in sizes_of(release).items()})

    def keep(connection: sa.Connection) -> None:
        for (sha256, namespace), size in sorted(sizes.items()):
            connection.execute(_INSERT, {"sha256": sha256, "namespace": namespace, "size": size})
        _move(connection, first, rows[-1].position + 1)

    database.changing(engine, keep)  # another reader may be doing the same
    return len(rows) == _ROWS


_INSERT = sa.text(
    "INSERT INTO blob_namespaces (sha256, namespace, size) VALUES (:sha256, :namespace, :size) ON CONFLICT DO NOTHING"
)


def _move(connection: sa.Connection, before: int, after: int) -> None:
    """Set the cursor, unless another process has moved it; both wrote the same rows."""
    if _cursor(connection) != before:
        return
    connection.execute(registry.delete().where(registry.c.key == _CURSOR))
    connection.execute(registry.insert().values(key=_CURSOR, value=str(after)))


def _cursor(connection: sa.Connection) -> int:
    return int(connection.scalar(sa.select(registry.c.value).where(registry.c.key == _CURSOR)) or 0)


def _size(connection: sa.Connection) -> int:
    return int(connection.scalar(sa.select(sa.func.max(log_entries.c.position))) or 0) + 1
