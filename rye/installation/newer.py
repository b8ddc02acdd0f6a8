"""A newer release of a locked item, as a value."""

from __future__ import annotations

from msgspec import Struct

from rye.items.identity import Identity


class Newer(Struct, frozen=True):
    """One item that is not at its newest version, or at one that may not be installed any more. ``wanted`` None: an update would
    no longer need it, or finds no release that may be."""

    identity: Identity
    current: str
    wanted: str | None
    latest: str | None
    refused: str | None = None
    """Why what is locked would not be installed today; a yank is no such reason."""
    forced: str | None = None
    """The range that ``[overrides]`` of rye.toml forces on it."""
