"""The editor's face: diagnostics, hover, completion and quick fixes over the Language Server Protocol (``rye lsp``).

The core is pure: text and a place go in, values come out. :mod:`rye.lsp.server` is the only module that knows the protocol.
"""
