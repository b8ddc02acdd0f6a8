"""Return an installed item's text only if this user agreed to everything that it comes with (DESIGN 6.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.consent.agreement import ItemAgreement, unapproved
from rye.project.context import load_manifest
from rye.project.user_config import read_other_policies
from rye.storage.home import Home
from rye.text import facts
from rye.text.lazy import lazy_module
from rye.workspace.trusting.acceptance import agreement, remember, require_yes, trusts_lock
from rye.workspace.trusting.project_changes import forbidden, project_changes, require_allowed

if TYPE_CHECKING:
    from rye.installation import environment
    from rye.project.manifest import Manifest
    from rye.verified.installed import CheckedItem
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Agree
    from rye.workspace.items.effective_item import EffectiveItem
else:
    environment = lazy_module("rye.installation.environment")  # only where a policy restricts something


def item_agreement(context: Context, item: CheckedItem, trust_lock: bool = False) -> ItemAgreement:
    """What this user agreed to for an installed item. ``trust_lock``: the option ``--trust-lock``."""
    return agreement(context, item.project, trust_lock).of_item(item.row, item.release)


def require_agreed(
    context: Context,
    found: EffectiveItem,
    trust_lock: bool = False,
    agree: Agree | None = None,
    *,
    customized: bool = True,
    manifest: Manifest | None = None,
) -> None:
    """Require that this user has agreed, or agrees now, to everything that an item comes with, and that the policy allows its
    text. An item that was not installed passes, as does one that needs no consent.

    ``trust_lock``: the option ``--trust-lock``. ``agree``: None: ask no one. ``customized``: whether the project's
    customizations of the item are used. ``manifest``: the project's, if already read. Raises RyeError
    ``project-not-accepted``, ``declined``, ``policy-violation``, and ``consent-needed`` for what rye.lock does not approve.
    """
    if found.installed is None:
        return
    installed = found.installed
    project, row = installed.project, installed.row
    if manifest is None:
        manifest = load_manifest(project)
    _require_allowed(context.home, found, installed, manifest, customized)
    agreed = item_agreement(context, installed, trust_lock)
    if agreed.unapproved:
        raise unapproved(agreed.identity, agreed.unapproved)
    waiting = agreed.waiting
    if customized and not trusts_lock(context, trust_lock):
        waiting += project_changes(context.home, project, manifest, [row]).asked
    require_yes(context, waiting, agree)
    remember(context.home, project, waiting)


def _require_allowed(
    home: Home, found: EffectiveItem, installed: CheckedItem, manifest: Manifest, customized: bool
) -> None:
    """Require that the effective text mentions nothing that a policy forbids."""
    others = read_other_policies(home)
    if not others.restrict(manifest):
        return
    policy = environment.policy_in_force(manifest, others)
    if not policy.facts:
        return
    name = str(installed.row.identity)
    for fact in facts.find_facts({found.item.shown: found.item.text or ""}):
        if fact.fact in policy.facts:
            path, line = found.place(fact.line)
            raise forbidden(name, replace(fact, path=path, line=line))
    if customized:
        project = installed.project
        require_allowed(home, policy, project, manifest, [installed.row])
