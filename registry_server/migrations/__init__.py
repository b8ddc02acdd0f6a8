"""The database's schema over time. The server and every command bring the database up to date when they open it."""
