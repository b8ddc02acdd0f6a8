"""The registry server: one process that accepts signed statements and writes the static files that clients read."""
