"""Rights of items: list them by tier, check an action along a chain of callers, compare two versions (DESIGN 7).

Items are read with their overrides. An item that does not parse is refused; other findings are returned
(DECISIONS Directives 13). For an installed item, only what this user agreed to counts
(:mod:`rye.consent.agreement`), except when versions are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rye.consent.agreement import ItemAgreement
from rye.consent.ask import Ask, run_text
from rye.customization.effective_files import runs_of_files
from rye.errors import RyeError
from rye.items.agent_tools import AgentTools
from rye.items.consented import Run
from rye.permissions.containment import Diff, diff
from rye.permissions.matching import CheckAnswer
from rye.permissions.matching import check as decide
from rye.permissions.risk import Tier, tiers, tools_tier
from rye.workspace.context import Context
from rye.workspace.findings import FileFindings
from rye.workspace.items.agreement import item_agreement, warn_not_agreed
from rye.workspace.items.effective_item import EffectiveItem, effective_item
from rye.workspace.items.item_tree import effective_tree


class Rights(Struct, frozen=True, kw_only=True):
    """What one item may do here. ``rows``: each capability with its tier, the worst first."""

    id: str
    rows: tuple[tuple[Tier, str], ...]
    agent_tools: AgentTools | None
    """Tools of the agent program that it names."""
    runs: tuple[Run, ...]
    """The parts of it that can run."""
    diagnostics: tuple[FileFindings, ...]
    """Errors and warnings of the item itself."""
    findings: tuple[FileFindings, ...]
    """Findings about its overrides."""
    missing: tuple[Ask, ...] = ()
    """Parts of it that still need consent. They are denied and not included above."""
    refusal: RyeError | None = None
    """The error for ``missing``, with the reason and the next command."""
    declared: tuple[str, ...] = ()
    """The capabilities that its text declares."""

    @property
    def capabilities(self) -> tuple[str, ...]:
        """The capability strings."""
        return tuple(capability for _, capability in self.rows)

    @property
    def tools_tier(self) -> Tier | None:
        """The tier of its worst agent tool; None without agent tools."""
        return tools_tier(self.agent_tools)

    @property
    def highest(self) -> Tier | None:
        """The worst tier of capabilities and agent tools; None without either."""
        found = [self.rows[0][0]] if self.rows else []
        found += [self.tools_tier] if self.tools_tier is not None else []
        return max(found, default=None)

    @property
    def does_nothing(self) -> bool:
        """Whether it has no rights, no agent tools and nothing that can run."""
        return not self.rows and (self.agent_tools is None or not self.agent_tools.names) and not self.runs


class ActionDecision(Struct, frozen=True):
    """Whether an action is allowed, for a chain of callers."""

    decision: CheckAnswer
    callers: tuple[Rights, ...]
    reason: str | None = None
    """Why it is denied, if the item's text would allow it and only this user's consent is missing."""

    def as_json(self) -> dict[str, object]:
        """The stable JSON of ``rye permissions check``, with ``levels`` and ``reason`` added."""
        return {**self.decision.as_json(), "reason": self.reason}


def declared_rights(context: Context, argument: str) -> Rights:
    """The rights that the text of the item ``FILE|ID`` declares, agreed to or not."""
    return _rights(context, effective_item(context, argument), None)


def rights_of(context: Context, argument: str) -> Rights:
    """The rights of the item ``FILE|ID`` here."""
    found = effective_item(context, argument)
    warn_not_agreed(context, found)
    return _rights(context, found, item_agreed_here(context, found))


def item_agreed_here(context: Context, found: EffectiveItem) -> ItemAgreement | None:
    """What this user agreed to for an item. None if it was not installed: then its author is its user, and all is allowed."""
    return item_agreement(context, found.installed) if found.installed is not None else None


def capabilities_here(context: Context, found: EffectiveItem, declared: Sequence[str]) -> tuple[str, ...]:
    """The capabilities of ``declared`` that are granted to the item on this machine."""
    agreed = item_agreed_here(context, found)
    return tuple(declared) if agreed is None else agreed.allowed(declared)


def _rights(context: Context, found: EffectiveItem, agreed: ItemAgreement | None) -> Rights:
    found.parsed()
    metadata = found.item.reading.metadata
    declared = metadata.capabilities if metadata else ()
    tools = metadata.agent_tools if metadata else None
    runs = runs_of(context, found)
    allowed = declared if agreed is None else agreed.allowed(declared)
    if agreed is not None and agreed.waits_for("tool"):
        tools = None  # tools are granted all together or not at all, since their restrictions belong together
    if agreed is not None:
        refused = agreed.waits_for("run")
        runs = tuple(run for run in runs if run_text(run) not in refused)
    levels = tiers(allowed)
    rows = sorted(((levels[each], each) for each in allowed), key=lambda row: (-row[0], row[1]))
    missing = (*agreed.waiting, *agreed.unapproved) if agreed is not None else ()
    refusal = agreed.refusal() if agreed is not None else None
    return Rights(
        id=found.id,
        rows=tuple(rows),
        agent_tools=tools,
        runs=runs,
        diagnostics=found.own_findings(),
        findings=found.findings,
        missing=missing,
        refusal=refusal,
        declared=tuple(declared),
    )


def compare_rights(context: Context, old: str, new: str) -> tuple[Diff, tuple[Rights, Rights]]:
    """Compare the rights that the texts of ``old`` and ``new`` declare."""
    before, after = declared_rights(context, old), declared_rights(context, new)
    return diff(before.capabilities, after.capabilities), (before, after)


def decide_action(
    context: Context,
    chain: Sequence[str],
    primary: str,
    item_type: str,
    item_id: str | None,
) -> ActionDecision:
    """Whether the last item of ``chain`` may do the action when called by the others. The root caller comes first."""
    callers = tuple(rights_of(context, argument) for argument in chain)
    decision = decide([caller.capabilities for caller in callers], primary, item_type, item_id)
    if decision.allowed:
        return ActionDecision(decision, callers)
    by_text = decide([caller.declared for caller in callers], primary, item_type, item_id)
    stopping = (
        caller.refusal
        for caller, here, there in zip(callers, decision.levels, by_text.levels, strict=True)
        if here is None and there is not None
    )
    why = next((error for error in stopping if error is not None), None)
    reason = f"{why.code}: {why.message} {why.hint}" if why is not None else None
    return ActionDecision(decision, callers, reason)


def runs_of(context: Context, found: EffectiveItem) -> tuple[Run, ...]:
    """Return the parts of an item that can run as it is used, attached files included. Raises the errors of
    :func:`rye.workspace.items.item_tree.base_tree`."""
    metadata = found.item.reading.metadata
    own = metadata.runs if metadata is not None else ()
    return tuple(sorted({*own, *runs_of_files(effective_tree(context, found), found.item.text or "")}))
