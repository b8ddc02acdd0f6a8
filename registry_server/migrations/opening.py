"""Opens the registry's database and brings its tables up to date first."""

from __future__ import annotations

import logging

import sqlalchemy as sa

from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.schema import REVISION
from rye.errors import RyeError

_log = logging.getLogger("rye.registry")


def open_database(settings: Settings, *, may_create: bool = False) -> sa.Engine:
    """Open the registry's database, with the waiting times of its settings.

    Unless ``may_create``, a missing file is not created: the registry's real database may be elsewhere, named by a
    variable that is not set here. Raises RyeError ``no-database`` and those of :func:`connect`.
    """
    if not (may_create or settings.database or settings.database_file.exists()):
        raise RyeError(
            "no-database",
            f"The registry in {settings.data} has no database: there is no {settings.database_file.name}.",
            "If its database is elsewhere, set RYE_REGISTRY_DATABASE as the server does. "
            f"If it is lost: rye-registry restore --from store --data {settings.data}",
        )
    return connect(
        settings.database_url,
        wait_seconds=settings.database_wait_seconds,
        idle_seconds=settings.leader_seconds,
    )


def is_blank(settings: Settings) -> bool:
    """Whether there is no database yet, or one without tables. Changes nothing. Raises RyeError."""
    if not settings.database and not settings.database_file.exists():
        return True
    engine = database.engine_of(settings.database_url, wait_seconds=settings.database_wait_seconds)
    try:
        with database.reader(engine) as connection:
            return not sa.inspect(connection).has_table("alembic_version")
    finally:
        engine.dispose()


def connect(url: str, *, wait_seconds: float = 30.0, idle_seconds: float = 20.0) -> sa.Engine:
    """Return an engine for the database at ``url``, at the newest revision. Raises RyeError if it cannot be opened."""
    engine = database.engine_of(url, wait_seconds=wait_seconds, idle_seconds=idle_seconds)
    _upgrade(engine)
    return engine


def _upgrade(engine: sa.Engine) -> None:
    with database.reader(engine) as connection:
        has_revision = sa.inspect(connection).has_table("alembic_version")
        if has_revision and connection.scalar(sa.text("SELECT version_num FROM alembic_version")) == REVISION:
            return  # every start but the first ends here, without importing alembic
    _log.info("bringing the database to revision %s", REVISION)
    from registry_server.migrations.upgrading import upgrade

    with database.writer(engine) as connection:
        upgrade(connection)
