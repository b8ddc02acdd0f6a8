"""The value type for an available update of a locked item."""

from __future__ import annotations

from msgspec import Struct

from rye.items.identity import Identity


class Newer(Struct, frozen=True):
    """One item with a newer version, or whose version is now refused. ``wanted`` None: an update would no longer need it, or
    finds no release that is allowed."""

    identity: Identity
    current: str
    wanted: str | None
    latest: str | None
    refused: str | None = None
    """Why the locked release would be refused today; None if it would not. A yank is not a reason."""
    forced: str | None = None
    """The range that ``[overrides]`` in rye.toml forces on it."""
