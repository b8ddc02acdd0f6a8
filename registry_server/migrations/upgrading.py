"""Upgrades a database to this version's schema, by the steps in ``registry_server/migrations``.

The only user of Alembic.

A step changes the schema and fills its own columns. Data that this version computes from the log differently than the
version before, namely which releases are withdrawn and what search finds, is refreshed after the last step.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError
from alembic.util import CommandError
from msgspec import Struct

from registry_server.search import documents as search
from registry_server.sequencer import search_offers
from registry_server.sequencer.ledger import Ledger
from registry_server.storage.schema import keysets, registry
from rye.errors import RyeError
from rye.registry.protocol import notes, statements, wire
from rye.registry.protocol.statements import Deprecation

_DEPRECATED = "0005"
"""The first revision whose rows say what is deprecated."""
_SEARCH = {"postgresql": "0016", "sqlite": "0015"}
"""The first revision that has today's search index."""
_STEPS = Path(__file__).parent


class UpgradeStep(Struct, frozen=True):
    """One revision, and its summary in one line."""

    revision: str
    what: str


class UpgradePlan(Struct, frozen=True):
    """The steps that a database needs."""

    current: str | None
    """None: the database is empty."""
    newest: str
    steps: tuple[UpgradeStep, ...]


def pending(connection: sa.Connection) -> UpgradePlan:
    """Return the steps that the database needs, in order. Changes nothing.

    Raises RyeError ``database-too-new`` for a revision that this version does not know.
    """
    current = MigrationContext.configure(connection).get_current_revision()
    try:
        script = ScriptDirectory.from_config(_config())
        revisions = [step for step in script.iterate_revisions("head", current or "base") if step.revision != current]
    except (CommandError, RevisionError) as error:
        raise _too_new(error) from error
    steps = tuple(UpgradeStep(step.revision, (step.doc or "").partition("\n")[0]) for step in reversed(revisions))
    return UpgradePlan(current, script.get_current_head() or "", steps)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_STEPS).replace("%", "%%"))
    return config


def _too_new(error: Exception) -> RyeError:
    return RyeError(
        "database-too-new",
        f"A newer rye-registry upgraded the database: {error}",
        "Install the newer version. Nothing was changed.",
    )


def upgrade(connection: sa.Connection) -> None:
    """Run the steps that the database needs, in the connection's transaction.

    Raises RyeError ``database-too-new`` for a revision that this version does not know.
    """
    config = _config()
    config.attributes["connection"] = connection
    before = MigrationContext.configure(connection).get_current_revision() or ""
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise _too_new(error) from error
    if connection.scalar(sa.select(registry.c.key).where(registry.c.key == "origin")) is not None:
        ledger = Ledger(connection)
        if before < _SEARCH[connection.dialect.name]:
            search.refill(connection)
        if before < _DEPRECATED:
            _refresh_deprecated(ledger)
        _refresh_withdrawn(ledger)


def _refresh_deprecated(ledger: Ledger) -> None:
    """Mark deprecated items. Before revision 0005 only the log recorded deprecations."""
    published = ledger.published()
    if published is None:
        return
    deprecations = {statements.parse(notes.parse(leaf).text) for _, leaf in ledger.titled(Deprecation.TITLE)}
    for name in sorted(
        {wire.index_name(statement.identity) for statement in deprecations if isinstance(statement, Deprecation)}
    ):
        search_offers.refresh(ledger, name, published.time)


def _refresh_withdrawn(ledger: Ledger) -> None:
    """Withdraw the releases that only revoked keys signed, and update search.

    Revision 0001 considered nothing but yanks. A namespace can have revoked keys, or lost its first ones to a recovery,
    only if it has a second keyset. A recovery that takes effect after the newest head is left to the next batch.
    """
    published = ledger.published()
    if published is None:
        return
    changed = sa.select(keysets.c.namespace).group_by(keysets.c.namespace).having(sa.func.count() > 1)
    for namespace in ledger.connection.scalars(changed.order_by(keysets.c.namespace)).all():
        search_offers.refresh_namespace(ledger, namespace, published.time)
