"""The program ``rye-registry``: arguments and printing only."""

from registry_server.cli.program import main

__all__ = ["main"]
