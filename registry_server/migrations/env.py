"""Alembic's entry point for an upgrade.

The connection comes from :mod:`registry_server.migrations.opening`, inside its transaction.
"""

from __future__ import annotations

from alembic import context

from registry_server.storage.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
