"""What the caller of the solver gets back: versions, a wish for more of the registry, or the proof that there is no choice."""

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
    """One version per package, in the order of the packages' names."""

    versions: Mapping[P, Version]


class NeedsMore(Struct, Generic[P], frozen=True):
    """Packages to fetch before the next try, in the order of their names: one wave."""

    packages: tuple[P, ...]


class Unsolvable(RyeError):
    """No choice of versions satisfies everything. ``explanation`` is the proof; ``root_cause`` its derivation graph."""

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
    """The search was given up (``RESOLUTION.solver_looks``)."""

    def __init__(self, steps: int):
        super().__init__(
            "resolution-too-hard",
            f"No choice of versions was found within {steps} steps, and none was ruled out.",
            "Narrow the ranges in rye.toml, or name exact versions for some items, and try again.",
        )
