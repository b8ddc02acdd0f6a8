"""A git server on this machine, and a user with an empty home."""

from __future__ import annotations

from tests.sources.conftest import person, server

__all__ = ["person", "server"]
