"""The revisions of the schema, oldest first by number; alembic finds them by folder."""
