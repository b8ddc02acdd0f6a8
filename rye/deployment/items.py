"""An installed or own item as a value with everything that adapters write, so that adapters read no files.

The inputs of a directive and the variables of a formula are replaced by their defaults. A single remaining one becomes
``$ARGUMENTS``; several become their names in angle brackets. Agents get no arguments, so there it is always the name.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.agreement import Agreement
from rye.customization.effective_files import Tree
from rye.customization.overlay_files import in_force
from rye.customization.places import Places
from rye.customization.role_files import directives_of
from rye.items.agent.model import Agent
from rye.items.directive.input_values import from_text
from rye.items.directive.model import Directive
from rye.items.formula.model import Formula
from rye.items.formula.resolution import substitute
from rye.items.identity import Identity
from rye.items.knowledge import Knowledge
from rye.items.reading import Metadata
from rye.items.role.model import Role
from rye.items.skill.reader import Skill
from rye.project.context import load_manifest
from rye.project.lock import LockedItem
from rye.rendering.formula_text import formula_text
from rye.rendering.prompt import first_uses, render, source_of
from rye.signing.sign_item import unsigned_text
from rye.signing.signature_line import layout_of
from rye.workspace.context import Context
from rye.workspace.customizing.formulas import resolved_formula
from rye.workspace.customizing.overlaying import apply_in_force, require_overlay
from rye.workspace.customizing.roles import require_directives
from rye.workspace.items.agreement import require_agreed, require_used_overrides
from rye.workspace.items.effective_item import EffectiveItem, entry_of
from rye.workspace.items.installed_items import InstalledItem
from rye.workspace.items.own_signatures import signer_of

Parsed = Agent | Directive | Formula | Knowledge | Role | Skill
_ONE = "$ARGUMENTS"


class ItemFile(Struct, frozen=True):
    """One file of an item."""

    path: str
    """Relative to the item's folder, with ``/``."""
    data: bytes
    executable: bool = False


class Argument(Struct, frozen=True):
    """An input without a default, given by the user of the item."""

    name: str
    description: str


class DeployableItem(Struct, frozen=True, kw_only=True):
    """One item, with its customizations."""

    identity: Identity
    version: str
    sha256: str
    """The hash of the item's signed file."""
    customizations: str
    """The SHA-256 of all changes to it; empty if there are none."""
    value: Parsed | None
    """The effective value; None for kinds that are not deployed."""
    metadata: Metadata
    text: str
    """The effective file without its signature line."""
    body: str
    """The text for the agent, with inputs, overlays and role directives filled in. Empty for formulas that are only part of
    others."""
    files: tuple[ItemFile, ...]
    """The item's own file as signed, then the attached files with overrides."""
    is_reworded: bool = False
    """Whether overrides changed the text of its own file."""
    arguments: tuple[Argument, ...] = ()
    asked: bool = True
    """Whether rye.toml asks for it; otherwise another item needs it."""
    original: str | None = None
    """:attr:`DeployedSource.original`."""

    @property
    def label(self) -> str:
        """``kind:id``."""
        return str(self.identity)

    @property
    def is_customized(self) -> bool:
        """Whether anything changed the signed text."""
        return bool(self.customizations)

    @property
    def executes(self) -> bool:
        """Whether it has any execute right (DESIGN 7)."""
        return _executes(self.metadata)


class DeployedSource(Struct, frozen=True, kw_only=True):
    """Where a deployable item comes from."""

    identity: Identity
    """Of an own item of a project without a namespace, the id is the local one."""
    version: str
    found: EffectiveItem
    data: bytes
    """Its own file as signed."""
    attached: Tree
    """The files attached to it, with overrides."""
    original: str | None = None
    """Where its own file lies in the folder that ``[sources]`` names, relative to the project; None for everything else."""


def of_installed(installed: InstalledItem) -> DeployedSource:
    """An installed item."""
    row = installed.row
    return DeployedSource(
        identity=row.identity,
        version=row.version,
        found=installed.found,
        data=installed.data,
        attached=installed.attached,
        original=_original(row),
    )


def _original(row: LockedItem) -> str | None:
    if row.source is None or row.source.path is None:
        return None
    return posixpath.normpath(f"{row.source.path}/{row.source.place}")


def deployable(
    context: Context, source: DeployedSource, places: Places, agreed: Agreement, *, asked: bool
) -> DeployableItem:
    """Return the value for one item. ``places``: the folders of the customizations to apply. ``agreed``: what this user agreed to
    in the project.

    Raises RyeError for an item that does not parse, and for invalid customizations.
    """
    found = source.found
    value = found.parsed()
    text = found.item.text or ""
    if not found.is_reworded:
        text = unsigned_text(text, layout_of(found.item.location.kind, found.item.path.name))
    overrides = [file.source for file in (found.result.files if found.result is not None else ()) if not file.refused]
    require_used_overrides(context, found, [one for one in overrides if one.level == "project"], agreed)
    changed = [one.evidence for one in overrides]
    body, arguments = text, tuple[Argument, ...]()
    match value:
        case Agent():
            body = value.system_prompt
        case Role():
            told = directives_of(places, found.item.location.local_id)
            require_directives(context, found, told, agreed)
            if told.text:
                changed.append(told.render().encode())
                body = f"{text.rstrip()}\n\n{told.render()}\n"
        case Directive():
            body, arguments = _directive(value, is_agent=_executes(found.item.reading.metadata))
        case Formula():
            body, arguments, overlay = _formula(context, found, places, agreed)
            changed += [overlay.encode()] if overlay else []
        case Knowledge():
            body = value.body
        case Skill():
            body = value.body
        case _:
            value = None
    metadata = found.item.reading.metadata
    own = ItemFile(found.item.path.name, source.data)
    attached = (ItemFile(path, file.data or b"", file.executable) for path, file in source.attached.items())
    return DeployableItem(
        identity=source.identity,
        version=source.version,
        sha256=sha256(source.data).hexdigest(),
        customizations=sha256(b"\0".join(changed)).hexdigest() if changed else "",
        value=value,
        metadata=metadata
        if metadata is not None
        else Metadata(name=found.item.location.local_id, version=source.version, description=""),
        text=text,
        body=body,
        files=(own, *attached),
        is_reworded=found.is_reworded,
        arguments=arguments,
        asked=asked,
        original=source.original,
    )


def _directive(value: Directive, *, is_agent: bool) -> tuple[str, tuple[Argument, ...]]:
    """Return the prompt with placeholders for its inputs, and those inputs."""
    values: dict[str, object] = {}
    needed: list[Argument] = []
    optional: list[Argument] = []
    for declared in value.inputs:
        if declared.default is not None:
            try:
                values[declared.name] = from_text(declared.type, declared.default)
            except ValueError:
                values[declared.name] = declared.default
        else:
            (needed if declared.required else optional).append(Argument(declared.name, declared.description or ""))
    source = source_of(value)
    known = {declared.name for declared in value.inputs}
    needed += [Argument(name, "") for name in first_uses(source) if name not in known]
    open_inputs = needed or optional[: 1 if len(optional) == 1 else 0]
    return render(source, {**values, **_stand_ins(open_inputs, is_agent=is_agent)}), tuple(open_inputs)


def _formula(
    context: Context, found: EffectiveItem, places: Places, agreed: Agreement
) -> tuple[str, tuple[Argument, ...], str | None]:
    """Return the steps with placeholders for the variables, those variables, and the text of the overlay in force.

    Raises RyeError if a formula that it inherits from must not be deployed.
    """
    resolved = resolved_formula(context, found.item, lambda parent: _require_parent(context, found, parent))
    if resolved.type != "workflow":
        return "", (), None
    force = in_force(places, found.item.location.name)
    require_overlay(context, found, force, agreed)
    resolved = apply_in_force(force, resolved).formula
    open_vars = [Argument(var.name, var.description) for var in resolved.vars if var.default is None and var.required]
    filled, _ = substitute(resolved, dict(_stand_ins(open_vars)))
    used = force.source
    overlay = used.data.decode("utf-8", "replace") if used is not None and used.data is not None else None
    return formula_text(filled), tuple(open_vars), overlay


def _require_parent(context: Context, child: EffectiveItem, parent: EffectiveItem) -> None:
    """Require for a formula whose steps another one inherits what is required to deploy it: neither ``include`` nor a refusal of
    the parent alone keeps its text out of the child's."""
    require_agreed(context, parent, customized=False)
    if parent.installed is not None:
        return
    namespace = load_manifest(child.project).namespace if child.project is not None else None
    entry = entry_of(context.home, parent, child.project, namespace)
    if entry is None or entry.space != "user":  # no commit writes the user's own folder
        signer_of(context, replace(parent, entry=entry, project=child.project), runs=True)


def _stand_ins(arguments: Sequence[Argument], *, is_agent: bool = False) -> Mapping[str, str]:
    if len(arguments) == 1 and not is_agent:
        return {arguments[0].name: _ONE}
    return {argument.name: f"<{argument.name}>" for argument in arguments}


def _executes(metadata: Metadata | None) -> bool:
    rights = metadata.capabilities if metadata is not None else ()
    return any(right == "rye.*" or right.startswith("rye.execute.") for right in rights)
