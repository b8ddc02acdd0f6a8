"""Bringing a database to this version's schema, by the steps in ``registry_server/migrations``. The one user of Alembic."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError

from rye.errors import RyeError

_STEPS = Path(__file__).parent / "migrations"


def upgrade(connection: sa.Connection) -> None:
    """Take the steps that the database lacks, in the connection's transaction.

    Raises RyeError ``database-too-new`` for a revision that this version does not know.
    """
    config = Config()
    config.set_main_option("script_location", str(_STEPS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise RyeError(
            "database-too-new",
            f"The database was made by a newer rye-registry: {error}",
            "Install the newer version; nothing was changed.",
        ) from error
