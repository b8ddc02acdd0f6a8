"""Opening a run: its principal, its rules and its log.

The policies of project, user and organization are combined, which can only make them stricter. They are read again for each
call, and so are the directives that the run was started for. A change can therefore end a run's rights at once, but not widen
them: the rules of the start count as well, and for a child run those of its parent's start, for a run of a server over HTTP
those of the server's.

An ``allow`` in ``[policy.approval]`` removes a question. In a project's rye.toml it therefore has no effect until this user
accepts the project: anyone who can commit can write it (DESIGN 6.1).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.installation.environment import policy_in_force
from rye.items.identity import parse_reference
from rye.permissions.policy_table import PolicyTable
from rye.project.context import load_manifest, require_project
from rye.project.layout import Project
from rye.project.manifest import Manifest
from rye.project.organizations import PolicyInForce
from rye.project.user_config import OtherPolicies, read_other_policies
from rye.runtime.approvals import Answer
from rye.runtime.chain import READ_ONLY, Chain, Level
from rye.runtime.effects import Ask, Children, Tools, UsableItem, World
from rye.runtime.event_log import Event, EventLog
from rye.runtime.limits import Limits, minimum
from rye.runtime.own_signing import OwnSigner
from rye.runtime.project_items import ProjectItems
from rye.runtime.redaction import known_secrets
from rye.runtime.rules import Rules
from rye.runtime.session import Binding, Session
from rye.runtime.ulid import new_ulid
from rye.workspace.context import Context
from rye.workspace.trusting.project_changes import approval_in_force

RUNS = "runs"
"""The folder of logs below ``.ai``."""


class Opened(Struct, frozen=True):
    """A run that can begin."""

    session: Session
    items: ProjectItems
    project: Project
    directive: UsableItem | None
    """The directive that it was started for."""


class SessionClock:
    """The context's time, and the machine's steady clock."""

    def __init__(self, context: Context):
        self.context = context

    def now(self) -> datetime:
        """The context's time."""
        return self.context.now()

    def monotonic(self) -> float:
        """The machine's steady clock, in seconds."""
        return time.monotonic()


def open_session(
    context: Context,
    reference: str | None,
    tools: Callable[[ProjectItems], Tools],
    *,
    read_only: bool = False,
    ask: Ask = lambda question: None,
    passphrase: Callable[[str], str] = lambda question: "",
    children: Children | None = None,
    binding: Binding = "advisory",
    not_enforced: Sequence[str] = (),
    above: Sequence[Level] = (),
    limits: Limits | None = None,
    rules: Rules | None = None,
    run: str | None = None,
    secrets: Sequence[str] = (),
) -> Opened:
    """Open a run for the directive ``[directive:]ID[@VERSION]``; without one, a run that may only search and load.

    ``tools``: creates the runner of tools from the items; ``read_only``: search and load only, whatever the directive may
    do; ``above``: the callers of a child run, root first; ``limits``: the maximum that a parent or a person allows;
    ``rules``: what its parent, or its server, started under; ``run``: its name, by default a new one; ``secrets``: more values
    that the log must not contain. Raises RyeError.
    """
    project = require_project(context.cwd)
    manifest = load_manifest(project)
    items = ProjectItems(context, project)
    directive, levels = None, tuple(above)
    if reference is not None:
        directive, level = read_directive(items, reference)
        levels = (*levels, level)
    if read_only or not levels:
        levels = (*levels, READ_ONLY)
    run = run or new_ulid(context.now())
    others = read_other_policies(context.home, context.now())
    log = EventLog(project.ai / RUNS / run, levels[0].label, tuple(map(_noted, others.organizations)))
    world = World(
        items=items,
        tools=tools(items),
        signer=OwnSigner(context, project, passphrase),
        clock=SessionClock(context),
        ask=ask,
        children=children,
        secrets=tuple(sorted({*secrets, *known_secrets(context.environment)}, key=lambda value: (-len(value), value))),
    )
    start, noted = rules_in_force(context, project, manifest, others), others.organizations
    if rules is not None:
        start = start.beside(rules)

    def read_rules() -> Rules:
        nonlocal noted
        _require_unchanged(items, levels)
        others = read_other_policies(context.home, context.now())
        if others.organizations != noted:
            noted = others.organizations
            log.before_next = tuple(map(_noted, noted))
        return rules_in_force(context, project, load_manifest(project), others).beside(start)

    session = Session(
        run,
        Chain(levels),
        world,
        log,
        read_rules,
        binding=binding,
        not_enforced=not_enforced,
        limits=limits,
        declared=directive.directive.outputs if directive is not None and directive.directive is not None else None,
    )
    return Opened(session, items, project, directive)


def read_directive(items: ProjectItems, reference: str) -> tuple[UsableItem, Level]:
    """Read the directive ``[directive:]ID[@VERSION]`` and its level in a chain. Raises RyeError."""
    wanted = parse_reference(reference)
    if wanted.kind not in (None, "directive"):
        message = f"A run needs a directive; {wanted.kind}:{wanted.id} is not one."
        raise UsageError("wrong-kind", message, f"`rye show {wanted.kind}:{wanted.id}` shows it.", what="directive")
    item, level = items.level(wanted.id, wanted.range)
    return item, replace(level, id=item.id)


def _require_unchanged(items: ProjectItems, levels: Sequence[Level]) -> None:
    """Require that the directives of a chain are still what they were, and may still be used. Raises RyeError ``modified-item``,
    and what reading raises."""
    for level in levels:
        if level.kind == "directive" and items.read("directive", level.id, runs=True).sha256 != level.sha256:
            message = f"{level.label} has changed since this run started."
            raise RyeError("modified-item", message, "Start the run, or the server, again: it then uses the new text.")


def _noted(policy: PolicyInForce) -> Event:
    """The event that says under which policy of an organization a run goes on."""
    return Event(event="policy", item=f"{policy.origin} {policy.number}", sha256=policy.sha256)


def rules_now(context: Context, project: Project) -> Rules:
    """Read all policies. Raises RyeError for a file that cannot be read."""
    return rules_in_force(context, project, load_manifest(project), read_other_policies(context.home, context.now()))


def rules_in_force(context: Context, project: Project, manifest: Manifest, others: OtherPolicies) -> Rules:
    """Combine policies, approvals and limits. Raises RyeError for a file that cannot be read."""
    own = approval_in_force(context, project, manifest)
    asked = ({key: say for key, say in one.table.approval.items() if say != "allow"} for one in others.organizations)
    tables = [cast("Mapping[str, Answer]", table) for table in (own, *(each.approval for each in others.own), *asked)]
    return Rules(
        policy_in_force(manifest, others),
        tuple(table for table in tables if table),
        minimum(limits_of(table) for table in (manifest.policy, *others.tables)),
    )


def limits_of(table: PolicyTable) -> Limits:
    """Convert one ``[policy.limits]`` table."""
    given = table.limits
    whole = {name: int(value) for name, value in given.items() if name != "spend"}
    return Limits(**whole, spend=Decimal(given["spend"]) if "spend" in given else None)
