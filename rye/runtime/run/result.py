"""How a run ended, as ``rye run --json`` prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from rye.runtime.limits import Used

Status = Literal["ok", "error", "limit", "denied", "cancelled"]


class RunProblem(Struct, frozen=True):
    """Why a run did not succeed."""

    code: str
    message: str
    details: Mapping[str, object] = {}


class RunResult(Struct, frozen=True, kw_only=True):
    """How one run ended, and what it used."""

    run: str
    status: Status
    outputs: Mapping[str, object] | None
    used: Used
    """Includes what its child runs used."""
    priced: bool
    """Whether every model that was used has prices."""
    allowed: int
    denied: int
    log: str
    """The path of the log, relative to the project."""
    problem: RunProblem | None = None

    def as_json(self) -> dict[str, object]:
        """Return ``{"run", "status", "outputs", "cost": {"turns", "tokens", "spend", "seconds"}, "calls": {"allowed",
        "denied"}, "log"}``, and ``"error"`` if it did not succeed."""
        document: dict[str, object] = {
            "run": self.run,
            "status": self.status,
            "outputs": dict(self.outputs) if self.outputs is not None else None,
            "cost": {
                "turns": self.used.turns,
                "tokens": self.used.tokens,
                "spend": float(self.used.spend) if self.priced else None,
                "seconds": round(self.used.duration, 3),
            },
            "calls": {"allowed": self.allowed, "denied": self.denied},
            "log": self.log,
        }
        if self.problem is not None:
            document["error"] = {
                "code": self.problem.code,
                "message": self.problem.message,
                **dict(self.problem.details),
            }
        return document
