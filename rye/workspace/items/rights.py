"""What items may do: declared rights by tier, one action decided along a chain of callers, two versions compared (DESIGN 7).

An item counts with its overrides. One that does not parse is refused; its other findings are handed back
(DECISIONS Directives 13).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rye.items.agent_tools import AgentTools
from rye.items.reading import Run
from rye.permissions.containment import Diff, diff
from rye.permissions.matching import Decision
from rye.permissions.matching import check as decide
from rye.permissions.risk import Tier, tier
from rye.permissions.tool_risk import tools_tier
from rye.project.item_runs import runs_of
from rye.workspace.context import Context
from rye.workspace.findings import FileFindings
from rye.workspace.items.effective_item import effective_item


class Rights(Struct, frozen=True):
    """What one item declares. ``rows``: each capability with its tier, the worst first."""

    id: str
    rows: tuple[tuple[Tier, str], ...]
    agent_tools: AgentTools | None
    """Tools of the agent program that it names."""
    runs: tuple[Run, ...]
    """What of it can run."""
    diagnostics: tuple[FileFindings, ...]
    """Errors and warnings of the item itself."""
    findings: tuple[FileFindings, ...]
    """Findings about its overrides."""

    @property
    def capabilities(self) -> tuple[str, ...]:
        """The capability strings."""
        return tuple(capability for _, capability in self.rows)

    @property
    def tools_tier(self) -> Tier | None:
        """The tier of the worst of its agent tools; None where it names none."""
        return tools_tier(self.agent_tools)

    @property
    def highest(self) -> Tier | None:
        """The worst tier of capabilities and agent tools; None where it has neither."""
        found = [self.rows[0][0]] if self.rows else []
        found += [self.tools_tier] if self.tools_tier is not None else []
        return max(found, default=None)

    @property
    def does_nothing(self) -> bool:
        """Whether it may do nothing at all: no rights, no agent tools, and nothing that can run."""
        return not self.rows and (self.agent_tools is None or not self.agent_tools.names) and not self.runs


def rights_of(context: Context, argument: str) -> Rights:
    """The rights of the item ``FILE|ID``."""
    found = effective_item(context, argument)
    found.parsed()
    metadata = found.item.reading.metadata
    capabilities = metadata.capabilities if metadata else ()
    rows = sorted(((tier(each), each) for each in capabilities), key=lambda row: (-row[0], row[1]))
    tools = metadata.agent_tools if metadata else None
    return Rights(found.id, tuple(rows), tools, runs_of(found.item), found.own_findings(), found.findings)


def compare_rights(context: Context, old: str, new: str) -> tuple[Diff, tuple[Rights, Rights]]:
    """What the item ``new`` may do against what ``old`` may."""
    before, after = rights_of(context, old), rights_of(context, new)
    return diff(before.capabilities, after.capabilities), (before, after)


def decide_action(
    context: Context, chain: Sequence[str], primary: str, item_type: str, item_id: str | None
) -> tuple[Decision, tuple[Rights, ...]]:
    """Whether the last item of ``chain`` may do the action when the others called it, the root first."""
    callers = tuple(rights_of(context, argument) for argument in chain)
    return decide([caller.capabilities for caller in callers], primary, item_type, item_id), callers
