"""Access to registries: pins, tokens, search, copies and the log."""
