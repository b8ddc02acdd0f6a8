"""What rendering gives, and what it may ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from rye.workspace.findings import FileFindings, as_json
from rye.workspace.items.effective_item import EffectiveItem

if TYPE_CHECKING:
    from rye.items.formula.model import Formula

AskValue = Callable[[str, str, str], str]
"""Asks a person for one input's value as text; gets its name, declared type and description."""
Steps = Callable[[EffectiveItem, "Formula"], tuple["Formula", tuple[FileFindings, ...]]] | Literal["in force"]
"""Changes a resolved formula before its variables are filled in; gives findings about the file that did, too.
``in force``: the project's own overlays."""


class Rendered(Struct, frozen=True):
    """A rendered item."""

    id: str
    kind: str
    shown: str
    """The item's file, as people see it."""
    prompt: str
    inputs: Mapping[str, object]
    """The values that were filled in, defaults included."""
    capabilities: tuple[str, ...]
    """As :func:`rye.permissions.matching.check` takes them."""
    rights: object
    """The capabilities in the form of ``rye show``."""
    hooks: object
    model: object
    limits: object
    agent_tools: tuple[str, ...]
    """Tools of the agent program that an agent or a skill names."""
    diagnostics: tuple[FileFindings, ...] = ()
    """Errors and warnings of the item itself; it parses all the same (DECISIONS Directives 13)."""
    findings: tuple[FileFindings, ...] = ()
    """Findings about overrides and overlays."""

    def as_json(self) -> dict[str, object]:
        """The stable JSON of ``rye render`` (DESIGN 9), with ``agent_tools`` and ``diagnostics`` added."""
        return {
            "prompt": self.prompt,
            "inputs": dict(self.inputs),
            "capabilities": self.rights,
            "hooks": self.hooks,
            "model": self.model,
            "limits": self.limits,
            "agent_tools": list(self.agent_tools),
            "diagnostics": as_json(self.diagnostics),
        }
