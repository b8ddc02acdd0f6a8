"""The result of rendering, and the types of its callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from rye.workspace.findings import FileFindings, as_json
from rye.workspace.items.effective_item import EffectiveItem

if TYPE_CHECKING:
    from rye.items.formula.model import Formula
    from rye.workspace.customizing.overlaying import Overlaid

AskValue = Callable[[str, str, str], str]
"""Asks a person for one input's value as text; gets its name, declared type and description."""
Steps = Callable[[EffectiveItem, "Formula"], "Overlaid"]
"""Changes a resolved formula before its variables are filled in, and reports which file did and the findings in it."""


class Used(Struct, frozen=True):
    """A customization that an item was rendered with."""

    sort: Literal["override", "overlay"]
    path: str
    """The file's path, as shown in messages."""


class Rendered(Struct, frozen=True, kw_only=True):
    """A rendered item."""

    id: str
    kind: str
    shown: str
    """The path of the item's file, as shown in messages."""
    prompt: str
    inputs: Mapping[str, object]
    """The values that were filled in, defaults included."""
    capabilities: tuple[str, ...]
    """As :func:`rye.permissions.matching.check` accepts them."""
    rights: object
    """The capabilities in the form of ``rye show``."""
    hooks: object
    model: object
    limits: object
    agent_tools: tuple[str, ...]
    """Tools of the agent program that an agent or a skill names."""
    diagnostics: tuple[FileFindings, ...] = ()
    """Errors and warnings of the item itself; it parses anyway (DECISIONS Directives 13)."""
    findings: tuple[FileFindings, ...] = ()
    """Findings about overrides and overlays."""
    customizations: tuple[Used, ...] = ()
    """The customizations that changed the item's own text, in the order in which they were applied."""

    def as_json(self) -> dict[str, object]:
        """The stable JSON of ``rye render`` (DESIGN 9), with ``agent_tools``, ``customizations`` and ``diagnostics`` added."""
        return {
            "prompt": self.prompt,
            "inputs": dict(self.inputs),
            "capabilities": self.rights,
            "hooks": self.hooks,
            "model": self.model,
            "limits": self.limits,
            "agent_tools": list(self.agent_tools),
            "customizations": [{"sort": each.sort, "path": each.path} for each in self.customizations],
            "diagnostics": as_json(self.diagnostics),
        }
