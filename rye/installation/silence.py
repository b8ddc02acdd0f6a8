"""A registry or repository that could not be asked, as commands report it."""

from __future__ import annotations

from msgspec import Struct

from rye.errors import RyeError


class NotAsked(Struct, frozen=True):
    """One that did not answer, and why."""

    registry: str
    """Its address; empty if the project's registries could not be told."""
    error: RyeError

    @property
    def last_seen(self) -> str | None:
        """The time of its last verified head, in UTC; None if there is none, and for a repository."""
        seen = self.error.details.get("last_seen")
        return seen if isinstance(seen, str) else None

    def as_json(self) -> dict[str, object]:
        """``{"registry", "code", "message", "hint"}``, and ``last_seen`` if it is known."""
        error, seen = self.error, self.last_seen
        return {
            "registry": self.registry,
            "code": error.code,
            "message": error.message,
            "hint": error.hint,
            **({} if seen is None else {"last_seen": seen}),
        }

    def told(self, what_follows: str) -> str:
        """What happened, with the time of its last verified state, and what follows from that."""
        seen = self.last_seen if self.error.code != "head-frozen" else None  # which tells the age itself
        when = f" Its last verified state is from {seen[:10]} {seen[11:16]} UTC." if seen is not None else ""
        return f"{self.error.message}{when} {what_follows}"
