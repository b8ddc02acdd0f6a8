"""Deciding what to believe: the trusted state, keysets, records, auditing."""
