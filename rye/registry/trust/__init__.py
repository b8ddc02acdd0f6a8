"""What to trust: the trusted state, keysets, records, auditing."""
