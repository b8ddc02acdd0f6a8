"""Alembic revisions of the database. They run by themselves when the server or a command opens it."""
