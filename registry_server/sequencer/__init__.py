"""The log's only writer: what may become an entry, and what follows from the entries."""
