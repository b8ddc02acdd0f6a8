"""Which grants of rye.toml count on this machine: ``[sandbox]``, and calls that nobody is asked about (DESIGN 6.1, Agreed here;
docs/how-to/tools.md, docs/explanation/runtime.md).

Whoever can commit can write a grant. Each one counts once this user agreed to it: with the project's first acceptance, or by
``rye trust project``. A build server's ``RYE_TRUST_LOCK=1`` lets all count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.items.needs import KEYS, NOTHING, Needs, joined, missing
from rye.workspace.trusting.acceptance import Approval, trusts_lock, unseen

if TYPE_CHECKING:
    from rye.project.layout import Project
    from rye.project.manifest import Manifest
    from rye.workspace.context import Context


def grant_approvals(manifest: Manifest) -> list[Approval]:
    """One approval for each entry of each tool, and for each row of ``[policy.approval]`` that takes a question away."""
    return [
        *(
            Approval(tool, "grant", f"{key} {value}")
            for tool, grants in sorted(manifest.sandbox.items())
            for key, value in grants.lines()
        ),
        *(_unasked(pattern) for pattern, answer in sorted(manifest.policy.approval.items()) if answer == "allow"),
    ]


def _unasked(pattern: str) -> Approval:
    return Approval("[policy.approval]", "grant", f"{pattern} = allow")


def approval_in_force(context: Context, project: Project, manifest: Manifest) -> Mapping[str, str]:
    """What counts of rye.toml's ``[policy.approval]``: a row that asks or denies always, one that allows once this user
    agreed."""
    written = manifest.policy.approval
    if trusts_lock(context):
        return written
    waiting = set(unseen(project, grant_approvals(manifest)))
    return {
        pattern: answer for pattern, answer in written.items() if answer != "allow" or _unasked(pattern) not in waiting
    }


def grants_in_force(context: Context, project: Project, manifest: Manifest, tool: str) -> Needs:
    """What counts of the grants to ``tool:id``."""
    written = manifest.sandbox.get(tool, NOTHING)
    if trusts_lock(context):
        return written
    waiting = {(one.item, one.value) for one in unseen(project, grant_approvals(manifest))}
    return Needs(*(tuple(v for v in getattr(written, key) if (tool, f"{key} {v}") not in waiting) for key in KEYS))


def require_granted(tool: str, needs: Needs, manifest: Manifest, in_force: Needs) -> None:
    """That a tool gets what it needs. Raises RyeError ``not-runnable`` with the lines that rye.toml lacks, or with the command
    that agrees to those it has."""
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
            f"{tool} needs what is not granted to it: {named}.",
            f"If you want it to have that, write in rye.toml:\n{table}\nThen agree to it: rye trust project",
            details={"needs": [f"{key} {value}" for key, value in lacking.lines()], "toml": table},
        )
    raise RyeError(
        "not-runnable",
        f"rye.toml grants {tool} what you have not agreed to on this machine: {named}.",
        "`rye trust project` shows the grants and asks.",
        details={"needs": [f"{key} {value}" for key, value in lacking.lines()]},
    )


def toml_lines(tool: str, grants: Needs, keys: Iterable[str]) -> str:
    """The table of a tool with these of its keys, as rye.toml takes it. No entry holds a quote or a backslash."""
    wanted = dict.fromkeys(keys)
    quoted = {key: ", ".join(f'"{value}"' for value in getattr(grants, key)) for key in wanted}
    rows = [f"{key} = [{values}]" for key, values in quoted.items()]
    return "\n".join([f'[sandbox."{tool}"]', *rows])
