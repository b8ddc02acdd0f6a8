"""The program ``rye-registry``: arguments and printing, nothing else."""

from registry_server.cli.program import main

__all__ = ["main"]
