"""The log's one writer: what may become an entry, and what follows from the entries."""
