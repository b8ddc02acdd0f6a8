"""Where the registry keeps things: tables in a database, bytes in a folder or a bucket."""
