"""The settings of agent programs that match the policies of joined organizations.

Rye enforces a policy where Rye is used. A program's own settings close what goes past it: marketplaces, a mode without questions,
and edits of Rye's own files by an agent. Only documented keys are written
(https://code.claude.com/docs/en/settings, https://code.claude.com/docs/en/permissions).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rye.permissions.policy_table import PolicyTable
from rye.project.organizations import PolicyInForce

_OWN_FILES = ("Edit(//etc/rye/**)", "Edit(~/.config/rye/**)", "Edit(~/.local/share/rye/**)")
_OWN_COMMANDS = ("Bash(rye org leave:*)", "Bash(rye registry remove:*)")
_ALWAYS = (
    (
        "permissions.deny: a rule for commands compares how a command is written, and one for files does not bind what a "
        "command does to them. They stop mistakes, not intent: use the program's sandbox as well, and /etc/rye/org.toml."
    ),
    (
        "permissions.deny: the files are those in Rye's usual folders on Linux. Add your own if they are elsewhere "
        "(macOS, RYE_CONFIG_DIR, RYE_DATA_DIR)."
    ),
)
"""What no policy changes (https://code.claude.com/docs/en/permissions)."""


class ProgramSettings(Struct, frozen=True):
    """The settings of one program, and what of the policies they do not cover."""

    settings: dict[str, object]
    not_covered: tuple[str, ...]
    """Sentences for an administrator."""


def claude_settings(policies: Sequence[PolicyInForce]) -> ProgramSettings:
    """Return managed settings of Claude Code (``managed-settings.json``)."""
    tables = [policy.table for policy in policies]
    settings: dict[str, object] = {}
    permissions: dict[str, object] = {"deny": [*_OWN_COMMANDS, *_OWN_FILES]} if tables else {}
    if any(_asks(table) for table in tables):
        permissions["disableBypassPermissionsMode"] = "disable"
    if permissions:
        settings["permissions"] = permissions
    if any(_narrows_places(table) for table in tables):
        settings["strictKnownMarketplaces"] = []
    said = (line for table in tables for line in (*_ALWAYS, *_not_covered(table)))
    return ProgramSettings(settings, tuple(dict.fromkeys(said)))


def _asks(table: PolicyTable) -> bool:
    """Whether the policy limits what items may do, or has a person asked."""
    return bool(table.allow is not None or table.forbid or table.max_tier or table.approval)


def _narrows_places(table: PolicyTable) -> bool:
    """Whether the policy limits where items come from, or which releases count."""
    releases = table.required_signers or table.required_reviewers or table.minimum_release_age
    return table.namespaces is not None or table.sources not in (None, "path") or bool(releases)


def _not_covered(table: PolicyTable) -> list[str]:
    said = {
        "allow, forbid and max-tier: patterns of Rye's rights mean calls of items; Rye enforces them when it installs, deploys "
        "and runs. The program's own tools stay as they are.": _asks(table),
        "facts: what texts mention is looked at when Rye installs, renders or deploys them.": bool(
            table.forbidden_facts
        ),
        "minimum-release-age, required-signers, required-reviewers and required-witnesses: the program knows none of them. An "
        "empty strictKnownMarketplaces lets no marketplace be added.": bool(
            table.minimum_release_age or table.required_signers or table.required_reviewers or table.required_witnesses
        ),
        "namespaces, sources and which releases count: neither the program nor Rye knows where a file in .claude came from "
        "that Rye did not deploy. Servers of tools (MCP) have keys of their own.": _narrows_places(table),
        "forbid-targets names claude: Rye deploys nothing there, but the program reads what others put there.": "claude"
        in table.forbidden_targets,
        "limits: they count for `rye run` and `rye mcp serve`.": bool(table.limits),
    }
    return [line for line, applies in said.items() if applies]
