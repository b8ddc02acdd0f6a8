"""Reaching registries: pins, tokens, search, copies, the log."""
