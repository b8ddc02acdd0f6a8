"""Return an item's text only if this user agreed to everything that it comes with, and to everything in the project that changes
it (DESIGN 6.1).

An installed item comes with what rye.lock approves. An own item comes with nothing, because its author is its user. What
changes its text is asked about in both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.consent.agreement import Agreement, ItemAgreement, not_accepted, unapproved
from rye.consent.ask import Ask
from rye.consent.customized import agreed_files
from rye.project.context import load_manifest
from rye.project.manifest import Manifest
from rye.project.spaces import Spaces
from rye.project.user_config import OtherPolicies, read_other_policies
from rye.storage.home import Home
from rye.text import facts
from rye.text.lazy import lazy_module
from rye.workspace.items.organization_rules import require_organizations_allow
from rye.workspace.trusting.acceptance import agreement, remember_or_warn, trusts_lock
from rye.workspace.trusting.asking import require_yes
from rye.workspace.trusting.project_changes import forbidden, item_changes, require_item_allowed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rye.consent.customized import Sort
    from rye.customization.item_overrides import OverrideSource
    from rye.installation import environment
    from rye.project.layout import Project
    from rye.verified.installed import CheckedItem
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Agree
    from rye.workspace.items import effective_item
    from rye.workspace.items.effective_item import EffectiveItem
    from rye.workspace.trusting import customizations
    from rye.workspace.trusting.customizations import CustomizedItem
else:
    customizations = lazy_module("rye.workspace.trusting.customizations")
    effective_item = lazy_module("rye.workspace.items.effective_item")
    environment = lazy_module("rye.installation.environment")  # only where a policy restricts something


def item_agreement(context: Context, item: CheckedItem) -> ItemAgreement:
    """What this user agreed to for an installed item."""
    return agreement(context, item.project).of_item(item.row, item.release)


def require_agreed(
    context: Context,
    found: EffectiveItem,
    agree: Agree | None = None,
    *,
    customized: bool = True,
    manifest: Manifest | None = None,
    agreed: Agreement | None = None,
    others: OtherPolicies | None = None,
) -> None:
    """Require that this user has agreed, or agrees now, to everything that an item comes with and to every customization of it,
    and that the policies allow it. An item that needs no consent passes.

    ``agree``: None: ask no one. ``customized``: whether the project's customizations of the item are used. ``manifest``,
    ``agreed``, ``others``: the project's, what this user agreed to in it, and the other policies, if already read.
    Raises RyeError ``project-not-accepted``, ``declined``, ``policy-violation``, and ``consent-needed`` for what rye.lock
    does not approve.
    """
    others = require_organizations_allow(context, found, others)
    installed = found.installed
    project = installed.project if installed is not None else found.project
    if project is None or (installed is None and not customized):
        return
    if manifest is None:
        manifest = load_manifest(project)
    agreed = agreed or agreement(context, project)
    changed = _changed(context.home, project, manifest, found, agreed) if customized else None
    if installed is None and changed is None:
        return
    _require_allowed(context.home, others, project, manifest, found, changed)
    waiting: tuple[Ask, ...] = ()
    if installed is not None:
        lock = agreed.of_item(installed.row, installed.release)
        if lock.unapproved:
            raise unapproved(lock.identity, lock.unapproved)
        waiting = lock.waiting
    if customized and not trusts_lock(context):
        asks_grants = installed is not None
        waiting += item_changes(context.home, project, manifest, changed, agreed, asks_grants=asks_grants)
    require_yes(context, waiting, agree)
    if waiting:
        remember_or_warn(context, project, waiting)


def require_text_allowed(context: Context, name: str, project: Project | None, shown: str, text: str) -> None:
    """Require that no policy forbids what a text mentions that is about to be added to an item: an overlay or a role directive,
    of the user's own space as well. ``name``: the item, and ``shown``: the text's file, for the message. Raises RyeError
    ``policy-violation``."""
    manifest = load_manifest(project) if project is not None else Manifest()
    others = read_other_policies(context.home, context.now())
    if not others.restrict(manifest):
        return
    policy = environment.policy_in_force(manifest, others)
    for fact in facts.find_facts({shown: text}) if policy.facts else ():
        if fact.fact in policy.facts:
            raise forbidden(name, fact)


def require_used(
    context: Context,
    found: EffectiveItem,
    sort: Sort,
    shown: str,
    data: bytes | None,
    agreed: Agreement | None = None,
) -> None:
    """Require that this user agreed to exactly these bytes of a customization of the item, or to its absence. They are about to
    be used, and were read after the question. ``data``: None: there is none. ``agreed``: what this user agreed to in the project,
    if already read. Raises RyeError ``project-not-accepted``."""
    project = found.project
    if project is None:
        return
    agreed = agreed or agreement(context, project)
    if data is None and not agreed_files(agreed.lines):
        return
    namespace = load_manifest(project).namespace
    entry = effective_item.entry_of(context.home, found, project, namespace)
    if entry is None:  # nothing can be agreed to for it
        if data is None:
            return
        raise not_accepted((Ask(found.item.shown, "customization", shown),))
    if data is not None:
        used = [customizations.changed_by(entry, sort, shown, data)]
    else:
        lost = customizations.lost_changes(entry, Spaces(context.home, project, namespace), agreed, ())
        used = [one for one in lost if one.shown == shown]
    waiting = agreed.missing_from_lock(one.approval for one in used)
    if waiting:
        raise not_accepted(waiting)


def require_used_overrides(
    context: Context, found: EffectiveItem, used: Sequence[OverrideSource], agreed: Agreement
) -> None:
    """The same of all overrides that were applied to the item. ``used``: the project's."""
    for one in used:
        require_used(context, found, "override", one.shown, one.evidence, agreed)
    project = found.project
    if project is not None:
        changed = _changed(context.home, project, load_manifest(project), found, agreed)
        lost = (one.approval for one in (changed.changes if changed is not None else ()) if one.lost)
        waiting = agreed.missing_from_lock(lost)
        if waiting:
            raise not_accepted(waiting)


def not_agreed_changes(context: Context, found: EffectiveItem) -> tuple[Ask, ...]:
    """The project's customizations of an item that this user has not agreed to, for commands that only show it."""
    project = found.project
    if project is None:
        return ()
    agreed = agreement(context, project)
    changed = _changed(context.home, project, load_manifest(project), found, agreed)
    return agreed.missing_from_lock([one.approval for one in changed.changes]) if changed is not None else ()


def warn_not_agreed(context: Context, found: EffectiveItem) -> None:
    """Say that what is shown of an item contains what this user has not agreed to."""
    waiting = not_agreed_changes(context, found)
    if waiting:
        context.warn(
            f"You have not agreed to what changes this item, so nothing uses it: {', '.join(one.text for one in waiting)}.",
            "`rye trust project` shows what it changes and asks.",
        )


def _changed(
    home: Home, project: Project, manifest: Manifest, found: EffectiveItem, agreed: Agreement
) -> CustomizedItem | None:
    """The project's customizations of an item: overrides with the bytes that its text was made of, others as they are now, and
    those that this user agreed to and that count no longer. Who uses those that are no overrides checks their bytes with
    :func:`require_used`."""
    entry = effective_item.entry_of(home, found, project, manifest.namespace)
    if entry is None:
        return None
    files = found.result.files if found.result is not None else ()
    changes = [
        customizations.changed_by_override(entry, file.source) for file in files if file.source.level == "project"
    ]
    changes += customizations.changes_beside(home, project, entry)
    spaces = Spaces(home, project, manifest.namespace)
    if agreed_files(agreed.lines):
        changes += customizations.lost_changes(entry, spaces, agreed, [one.shown for one in changes])
    if not changes:
        return None
    row = found.installed.row if found.installed is not None else None
    return customizations.CustomizedItem(entry, row, tuple(changes), spaces)


def _require_allowed(
    home: Home,
    others: OtherPolicies,
    project: Project,
    manifest: Manifest,
    found: EffectiveItem,
    changed: CustomizedItem | None,
) -> None:
    """Require that the effective text mentions nothing that a policy forbids; of an own item, that no customization adds it."""
    if not others.restrict(manifest):
        return
    policy = environment.policy_in_force(manifest, others)
    if not policy.facts:
        return
    if found.installed is not None:
        name = str(found.installed.row.identity)
        for fact in facts.find_facts({found.item.shown: found.item.text or ""}):
            if fact.fact in policy.facts:
                path, line = found.place(fact.line)
                raise forbidden(name, replace(fact, path=path, line=line))
    if changed is not None:
        require_item_allowed(home, policy, project, manifest, changed)
