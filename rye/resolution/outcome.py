"""What the solver returns: versions, a request for more data, or the proof that there is no solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic

from msgspec import Struct

from rye.errors import RyeError
from rye.resolution.explanation import Explanation
from rye.resolution.incompatibility import Incompatibility
from rye.resolution.problem import P
from rye.resolution.versions import Version


class Solution(Struct, Generic[P], frozen=True):
    """One version per package, ordered by package name."""

    versions: Mapping[P, Version]


class NeedsMore(Struct, Generic[P], frozen=True):
    """Packages to fetch before the next attempt, ordered by name: one wave."""

    packages: tuple[P, ...]


class Unsolvable(RyeError):
    """No choice of versions satisfies all constraints. ``explanation`` is the proof, ``root_cause`` its derivation graph."""

    def __init__(self, explanation: Explanation, root_cause: Incompatibility):
        super().__init__(
            "unsolvable",
            "\n".join(explanation.lines),
            "\n".join(explanation.hints) or None,
            details={"explanation": list(explanation.lines), "hints": list(explanation.hints)},
        )
        self.explanation = explanation
        self.root_cause = root_cause


class TooHard(RyeError):
    """The search exceeded its limit (``RESOLUTION.solver_looks``)."""

    def __init__(self, steps: int):
        super().__init__(
            "resolution-too-hard",
            f"The solver reached its limit of {steps} steps without finding a solution or ruling one out.",
            "Narrow the ranges in rye.toml, or pin some items to exact versions, and try again.",
        )
