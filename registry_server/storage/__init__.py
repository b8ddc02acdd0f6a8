"""Where the registry stores its data: tables in a database, bytes in a folder or a bucket."""
