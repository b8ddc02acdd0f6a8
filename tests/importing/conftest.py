"""A git server on this machine, and a user with an empty home."""

from __future__ import annotations

from tests.sources.conftest import program, server

__all__ = ["program", "server"]
