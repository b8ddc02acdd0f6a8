"""Opening a run: its principal, its rules and its log.

One of the project's own items can be signed for the run: exactly the bytes that a person approved. The key stays in this process.

The policies of project, user and organization are combined, which can only make them stricter.

An ``allow`` in ``[policy.approval]`` removes a question. In a project's rye.toml it therefore has no effect until this user
accepts the project: anyone who can commit can write it (DESIGN 6.1).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.installation.environment import policy_in_force
from rye.installation.policy_files import read_other_policies
from rye.items.identity import Reference, parse_reference
from rye.items.reading import ReadOptions
from rye.project.checking import check_files
from rye.project.context import FileToRead, load_manifest, require_project
from rye.project.layout import Project
from rye.project.manifest import Manifest, PolicyTable
from rye.project.spaces import Entry, find
from rye.runtime.approvals import Answer
from rye.runtime.chain import READ_ONLY, Chain, Level
from rye.runtime.effects import Ask, Children, OwnFile, Tools, UsableItem, World
from rye.runtime.event_log import EventLog
from rye.runtime.limits import Limits, minimum
from rye.runtime.project_items import ProjectItems
from rye.runtime.redaction import known_secrets
from rye.runtime.rules import Rules
from rye.runtime.session import Binding, Session
from rye.runtime.ulid import new_ulid
from rye.signing.sign_item import sign_bytes
from rye.storage.atomic import replace_file
from rye.workspace.context import Context
from rye.workspace.trusting.grants import approval_in_force
from rye.workspace.trusting.own_keys import OwnKeys

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
    run: str | None = None,
    secrets: Sequence[str] = (),
) -> Opened:
    """Open a run for the directive ``[directive:]ID[@VERSION]``; without one, a run that may only search and load.

    ``tools``: creates the runner of tools from the items; ``read_only``: search and load only, whatever the directive may
    do; ``above``: the callers of a child run, root first; ``limits``: the maximum that a parent or a person allows;
    ``run``: its name, by default a new one; ``secrets``: more values that the log must not contain. Raises RyeError.
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
    log = EventLog(project.ai / RUNS / run, levels[0].label)
    world = World(
        items=items,
        tools=tools(items),
        signer=OwnSigner(context, project, passphrase),
        clock=SessionClock(context),
        ask=ask,
        children=children,
        secrets=tuple(sorted({*secrets, *known_secrets(context.environment)}, key=lambda value: (-len(value), value))),
    )
    session = Session(
        run,
        Chain(levels),
        world,
        log,
        rules_in_force(context, project, manifest),
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


class OwnSigner:
    """:class:`rye.runtime.effects.Signer` with the user's default key."""

    def __init__(self, context: Context, project: Project, passphrase: Callable[[str], str]):
        self.context = context
        self.project = project
        self._passphrase = passphrase

    def find(self, kind: str, item_id: str) -> OwnFile:
        """Return the file of an own item. Raises RyeError ``installed-item``, ``invalid-item``."""
        entry = self._entry(kind, item_id)
        data, _ = self._valid(entry)
        return OwnFile(kind, entry.id, os.path.relpath(entry.path, self.project.root), sha256(data).hexdigest())

    def sign(self, file: OwnFile) -> dict[str, object]:
        """Sign the file in place. Raises RyeError ``modified-item`` if its bytes changed since it was found."""
        entry = self._entry(file.kind, file.id)
        data, kind = self._valid(entry)
        if sha256(data).hexdigest() != file.sha256:
            raise RyeError(
                "modified-item", f"{file.path} was changed while waiting for approval.", "Make the call again."
            )
        private = OwnKeys(self.context, self._passphrase).private(None)
        signed = sign_bytes(data, kind, entry.path.name, private, self.context.now())
        replace_file(entry.path.resolve(), signed)
        return {"path": file.path, "sha256": sha256(signed).hexdigest(), "key": private.public.fingerprint}

    def _entry(self, kind: str, item_id: str) -> Entry:
        entry = find(self.context.home, Reference(item_id, kind), self.project, load_manifest(self.project).namespace)
        inside = entry.path.resolve().is_relative_to(self.project.root.resolve())
        if entry.space != "project" or not inside:
            message = f"{kind}:{item_id} is not one of this project's own items; its author's signature stays."
            raise RyeError("installed-item", message, "Only items in the project's .ai folder can be signed.")
        return entry

    def _valid(self, entry: Entry) -> tuple[bytes, str]:
        """Return the bytes and the kind of an item that has no errors. Raises RyeError ``invalid-item``."""
        shown = os.path.relpath(entry.path, self.project.root)
        options = ReadOptions(tools=load_manifest(self.project).tools)
        (checked,) = check_files([FileToRead(entry.path, shown)], entry.location.kind, options)
        errors = [finding for finding in checked.diagnostics if finding.severity == "error"]
        if errors or checked.item is None:
            first = errors[0].message if errors else "it cannot be read"
            raise RyeError(
                "invalid-item", f"{shown} is not valid: {first}", f"`rye validate {shown}` shows all findings."
            )
        return checked.item.data, entry.location.kind


def rules_in_force(context: Context, project: Project, manifest: Manifest) -> Rules:
    """Read and combine policies, approvals and limits. Raises RyeError for a file that cannot be read."""
    others = read_other_policies(context.home)
    own = approval_in_force(context, project, manifest)
    tables = [cast("Mapping[str, Answer]", table) for table in (own, *(each.approval for each in others.tables))]
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
