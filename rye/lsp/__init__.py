"""Editor support: diagnostics, hover, completion and quick fixes over the Language Server Protocol (``rye lsp``).

The core is pure: functions from a text and a position to values. Only :mod:`rye.lsp.server` deals with the protocol.
"""
