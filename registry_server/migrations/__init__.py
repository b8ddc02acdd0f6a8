"""Opening the database. Alembic's revisions run by themselves when the server or a command does so."""
