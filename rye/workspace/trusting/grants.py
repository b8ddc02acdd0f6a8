"""The grants of rye.toml in force on this machine: ``[sandbox]`` and calls allowed without asking (DESIGN 6.1, Agreed here;
docs/how-to/tools.md, docs/explanation/runtime.md).

Anyone who can commit can write a grant. It takes effect once this user agreed to it, at the project's first acceptance or
with ``rye trust project``. On a build server, ``RYE_TRUST_LOCK=1`` accepts all grants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rye.consent.ask import Ask
from rye.errors import RyeError
from rye.items.needs import KEYS, NOTHING, Needs, joined, missing
from rye.workspace.trusting.acceptance import agreement

if TYPE_CHECKING:
    from rye.project.layout import Project
    from rye.project.manifest import Manifest
    from rye.workspace.context import Context


def grant_approvals(manifest: Manifest) -> list[Ask]:
    """One approval for each entry of each tool, and for each row of ``[policy.approval]`` that allows without asking."""
    return [
        *(
            Ask(tool, "grant", f"{key} {value}")
            for tool, grants in sorted(manifest.sandbox.items())
            for key, value in grants.lines()
        ),
        *(_unasked(pattern) for pattern, answer in sorted(manifest.policy.approval.items()) if answer == "allow"),
    ]


def _unasked(pattern: str) -> Ask:
    return Ask("[policy.approval]", "grant", f"{pattern} = allow")


def approval_in_force(context: Context, project: Project, manifest: Manifest) -> Mapping[str, str]:
    """The rows of rye.toml's ``[policy.approval]`` in force: a row that asks or denies always is; one that allows, once this
    user agreed."""
    written = manifest.policy.approval
    waiting = set(agreement(context, project).missing_from_lock(grant_approvals(manifest)))
    return {
        pattern: answer for pattern, answer in written.items() if answer != "allow" or _unasked(pattern) not in waiting
    }


def grants_in_force(context: Context, project: Project, manifest: Manifest, tool: str) -> Needs:
    """The grants to ``tool:id`` in force."""
    written = manifest.sandbox.get(tool, NOTHING)
    missing_here = agreement(context, project).missing_from_lock(grant_approvals(manifest))
    waiting = {(ask.item, ask.text) for ask in missing_here}
    return Needs(*(tuple(v for v in getattr(written, key) if (tool, f"{key} {v}") not in waiting) for key in KEYS))


def require_granted(tool: str, needs: Needs, manifest: Manifest, in_force: Needs) -> None:
    """Require that a tool is granted what it needs. Raises RyeError ``not-runnable`` with the lines to add to rye.toml, or
    with the command to agree to existing ones."""
    lacking = missing(needs, in_force)
    if not lacking.lines():
        return
    named = "; ".join(f"{key} {value}" for key, value in lacking.lines())
    written = manifest.sandbox.get(tool, NOTHING)
    unwritten = missing(needs, written)
    if unwritten.lines():
        table = toml_lines(tool, joined(written, unwritten), [key for key, _ in unwritten.lines()])
        raise RyeError(
            "not-runnable",
            f"{tool} needs access that rye.toml does not grant: {named}.",
            f"To grant it, add to rye.toml:\n{table}\nThen agree to it: rye trust project",
            details={"needs": [f"{key} {value}" for key, value in lacking.lines()], "toml": table},
        )
    raise RyeError(
        "not-runnable",
        f"rye.toml grants {tool} access that you have not agreed to on this machine: {named}.",
        "Run `rye trust project` to review and accept the grants.",
        details={"needs": [f"{key} {value}" for key, value in lacking.lines()]},
    )


def toml_lines(tool: str, grants: Needs, keys: Iterable[str]) -> str:
    """A tool's table for rye.toml with these keys. No entry contains a quote or a backslash."""
    wanted = dict.fromkeys(keys)
    quoted = {key: ", ".join(f'"{value}"' for value in getattr(grants, key)) for key in wanted}
    rows = [f"{key} = [{values}]" for key, values in quoted.items()]
    return "\n".join([f'[sandbox."{tool}"]', *rows])
