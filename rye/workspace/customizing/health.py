"""Checks of this machine's setup and of the health of customizations, and the one fix of ``rye doctor``.

:mod:`rye.workspace.project_checks` lists them.

The fix changes only overlay files. It removes entries whose step is missing from the formula and changes no other byte,
keeps the old file next to it (``<file>.bak``), and replaces files whole. It deletes a file only if all of its entries are
stale and its formula is known.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from rye.customization import doctor as checks
from rye.customization.doctor import Check
from rye.customization.overlay_health import fixed, worst
from rye.customization.places import Places
from rye.customization.role_files import all_files
from rye.errors import RyeError
from rye.project.layout import find_project
from rye.registry.client import RegistryClient
from rye.signing.key_store import KeyStore
from rye.signing.trust_store import TrustStore
from rye.storage.home import Home
from rye.storage.opened_folder import opened_folder
from rye.storage.safe_files import refuse_links
from rye.text.diagnostics import to_mend
from rye.workspace.context import Context
from rye.workspace.customizing.lapsed import CustomizationChecks, lapsed_customizations
from rye.workspace.customizing.overlaying import OverlayChecked, formula_problems, overlay_checks
from rye.workspace.customizing.overriding import OverrideChecked
from rye.workspace.customizing.roles import known_roles
from rye.workspace.registries.project_registries import require_contact
from rye.workspace.registries.registry_access import ask_at_once, configured
from rye.workspace.trusting.customizations import remember_made_here
from rye.workspace.trusting.key_uses import key_uses


class Fixed(Struct, frozen=True):
    """One fixed file: the removed entries, whether the file was deleted, and where the old one is kept."""

    shown: str
    removed: tuple[str, ...]
    deleted: bool
    backup: str

    def as_json(self) -> dict[str, object]:
        """An entry of ``fixed`` of ``rye doctor --json``."""
        return {"path": self.shown, "removed": list(self.removed), "deleted": self.deleted, "backup": self.backup}


def overlays(found: Iterable[OverlayChecked]) -> Check:
    """Check the overlays of formulas, in any layout. ``found``: what each file does."""
    return checks.overlay_health([one.health for one in found])


def overrides(found: Iterable[OverrideChecked]) -> Check:
    """Check the overrides of items. ``found``: what each file does."""
    return checks.override_health(
        [(one.shown, one.state, [finding.message.split("\n")[0] for finding in to_mend(one.findings)]) for one in found]
    )


def role_directives(context: Context, where: Places) -> Check:
    """Check that role directives are for roles that exist."""
    return checks.role_directives(all_files(where), known_roles(context))


def formulas(context: Context) -> Check:
    """Check that formulas can be used."""
    return checks.unreachable_formulas(formula_problems(context))


def applying(context: Context, found: CustomizationChecks) -> Check:
    """Check that the project's customizations apply to what is installed. ``found``: what each does."""
    lapsed = [one for one in lapsed_customizations(context, found) if one.in_project]
    return checks.lapsed([one.message for one in lapsed], lapsed[0].hint if lapsed else None)


def own_keys(home: Home) -> Check:
    """Check the user's own keys."""
    try:
        store = KeyStore(home.config)
        stored, default = store.list(), store.default_name()
    except RyeError as error:
        return Check("keys", "error", error.message, hint=error.hint)
    return checks.keys([key.name for key in stored], [key.warning for key in stored if key.warning], default)


def trusted_keys(home: Home) -> Check:
    """Check that the store of trusted keys can be read."""
    try:
        entries = TrustStore(home.config).entries()
    except RyeError as error:
        return Check("trust", "error", error.message, hint=error.hint)
    trusted = sum(entry.revoked is None for entry in entries)
    said = f"{trusted} trusted key{'' if trusted == 1 else 's'}, {len(entries) - trusted} revoked"
    return Check("trust", "ok", said)


def own_namespaces(context: Context) -> Check:
    """Check that no namespace of this user hangs on a single key."""
    try:
        uses = key_uses(context, KeyStore(context.home.config).list())
    except RyeError as error:
        return Check("namespaces", "error", error.message, hint=error.hint)
    single = dict.fromkeys(one.namespace for one in uses.namespaces if one.keys == 1)  # several registries may have one
    return checks.single_keys(list(single), len(uses.namespaces))


def registry(context: Context) -> tuple[Check, Check]:
    """Check that each registry of the project has a trusted head, and this machine's clock against the latest signed time."""
    now = context.now()
    try:
        named = configured(context)
    except RyeError as error:
        return Check("registry", "error", error.message, hint=error.hint), checks.clock(now, None)
    addresses = dict.fromkeys(
        one for one in (named.default, *map(named.serving, named.by_namespace)) if one is not None
    )
    if not addresses:
        hint = "`rye registry add ADDRESS --default` pins one."
        return Check("registry", "ok", "none configured", hint=hint), checks.clock(now, None)
    try:
        asked = ask_at_once(context, addresses)
    except RyeError as error:
        return Check("registry", "error", error.message, hint=error.hint), checks.clock(now, None)
    checked = [_registry(context, address, asked.get(address)) for address in addresses]
    every = [one.found for one in checked]
    told = [one for one in every if one.status != "ok"] or every
    next_step = next((one.hint for one in told if one.hint is not None), None)
    status = worst([one.status for one in told])
    together = Check("registry", status, "\n".join(one.message for one in told), hint=next_step)
    ahead = next((one.ahead for one in checked if one.ahead is not None), None)
    if ahead is not None:
        return together, Check("clock", "error", ahead, hint="Set this machine's clock.")
    return together, checks.clock(now, max((one.time for one in checked if one.time is not None), default=None))


class _Checked(Struct, frozen=True):
    """What is known of one registry."""

    found: Check
    time: datetime | None = None
    """The signed time of its head."""
    ahead: str | None = None
    """What is wrong if that time has not come yet."""


def _registry(context: Context, address: str, asked: RegistryClient | None) -> _Checked:
    """``asked``: its client; None if this user did not pin it. The head is not remembered: if the registry fell silent then,
    there would be no more than a head to go on with, and none of what the project's items need under it."""
    try:
        require_contact(context, address, asks=False)
        assert asked is not None  # offline, every registry has a client
        with contextlib.closing(asked.opened()) as client:
            time, origin, warnings = client.head.snapshot.time, client.origin, client.warnings
    except RyeError as error:
        found = Check("registry", "warning" if context.offline else "error", error.message, hint=error.hint)
        return _Checked(found, ahead=error.message if error.code == "snapshot-future" else None)
    offline = " (offline: last known state)" if context.offline else ""
    if warnings:
        return _Checked(Check("registry", "warning", "\n".join(warnings)), time)
    return _Checked(Check("registry", "ok", f"{origin} at {address}{offline}"), time)


# -- the fix -----------------------------------------------------------------------------------------------------------


def fix_overlays(context: Context, where: Places) -> tuple[list[Fixed], list[RyeError]]:
    """Remove the stale entries of all overlays. Returns the fixed files, and errors for those that could not be fixed."""
    done: list[Fixed] = []
    problems: list[RyeError] = []
    for one in overlay_checks(context, where):
        if not one.health.fixable or one.data is None:
            continue
        try:
            new, removed = fixed(one.data, one.known_ids)
            done.append(_fix(context, one, one.data, new, removed))
            remember_made_here(context.home, find_project(context.cwd), one.path, one.data, new)
        except RyeError as error:
            problems.append(RyeError(error.code, f"{one.shown} was not fixed: {error.message}", error.hint))
    return done, problems


def _fix(context: Context, one: OverlayChecked, data: bytes, new: bytes | None, removed: tuple[str, ...]) -> Fixed:
    """Fix one overlay in its folder, which is opened once: in a project without following links, so that none that takes the
    place of a folder meanwhile leads out of it."""
    project, above = find_project(context.cwd), one.path.parent
    root = project.root if project is not None and above.is_relative_to(project.root) else above
    with opened_folder(root) as opened, opened.around(one.path.relative_to(root).as_posix()) as (folder, name):
        try:
            with folder.open(name) as stream:
                is_same, mode = stream.read(len(data) + 1) == data, os.fstat(stream.fileno()).st_mode & 0o7777
        except OSError:
            refuse_links(root, one.path)
            is_same, mode = False, 0
        if not is_same:
            raise RyeError("changed-meanwhile", "it was changed just now.", "Run the command again.")
        backup = folder.keep(f"{name}.bak", data, mode=mode)
        if new is None:
            folder.unlink(name)
        else:
            folder.replace(name, new, mode=mode)
    return Fixed(one.shown, removed, new is None, one.shown.removesuffix(one.path.name) + backup)
