"""Bringing a database to this version's schema, by the steps in ``registry_server/migrations``. The one user of Alembic.

A step changes the schema and fills its own columns. What this version concludes from the log in another way than the version
before, namely which releases are withdrawn, is brought up to date once the schema is the newest.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError

from registry_server.sequencer.ledger import Ledger
from registry_server.storage.schema import keysets, registry
from rye.errors import RyeError

_STEPS = Path(__file__).parent


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
    if connection.scalar(sa.select(registry.c.key).where(registry.c.key == "origin")) is not None:
        _refresh_withdrawn(Ledger(connection))


def _refresh_withdrawn(ledger: Ledger) -> None:
    """Withdraw the releases that only revoked keys signed, and offer no others in search.

    Revision 0001 counted nothing but yanks. Only a namespace with a second keyset can have revoked a key or lost its first ones
    to a recovery. A recovery that takes effect after the newest head is the business of the next batch.
    """
    published = ledger.published()
    if published is None:
        return
    changed = sa.select(keysets.c.namespace).group_by(keysets.c.namespace).having(sa.func.count() > 1)
    for namespace in ledger.connection.scalars(changed.order_by(keysets.c.namespace)).all():
        ledger.refresh_namespace(namespace, published.time)
