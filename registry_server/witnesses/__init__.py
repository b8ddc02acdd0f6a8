"""Witnesses of the log: sending each head, and keeping the newest that enough of them cosigned."""
