"""Customizations of installed items that this user has not seen: which need consent, and which are only reported
(DESIGN 6.1).

* The first acceptance of a project asks about all of them, together with what rye.lock approves.
* Later, new or changed ones are reported and nothing fails, so that people can edit files in their own projects by
  hand. One that brings an alarm to an installed item still needs consent.
* ``[policy.facts]`` also applies to the effective text.
* Grants of ``[sandbox]`` are asked about in the same two places. A grant without consent does not count, so a later
  one does not block an installation.

Grants of rye.toml are ``[sandbox]`` and calls allowed without asking (DESIGN 6.1, Agreed here; docs/how-to/tools.md,
docs/explanation/runtime.md). Anyone who can commit can write a grant. It takes effect once this user agreed to it, at
the project's first acceptance or with ``rye trust project``. On a build server, ``RYE_TRUST_LOCK=1`` accepts all
grants.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.consent.ask import Ask
from rye.errors import RyeError
from rye.items.needs import KEYS, NOTHING, Needs, joined, missing
from rye.storage.home import Home
from rye.text.facts import ALARM, NOTE
from rye.workspace.trusting.acceptance import accepted_before, agreement, remembered

if TYPE_CHECKING:
    from pathlib import Path

    from rye.permissions.policy import Policy
    from rye.project.layout import Project
    from rye.project.lock import LockedItem
    from rye.project.manifest import Manifest
    from rye.text.facts import Fact
    from rye.workspace.context import Context
    from rye.workspace.trusting.customizations import Customization


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


ReadSigned = Callable[["LockedItem"], bytes | None]
"""Reads the bytes of an item's signed file; None if not available. The default reads the project, then the user's cache."""


class ProjectChanges(Struct, frozen=True):
    """The customizations and grants of a project that this user has not seen."""

    asked: tuple[Ask, ...] = ()
    """Customizations, their facts and grants that need consent."""
    told: tuple[Customization, ...] = ()
    """Customizations that are only reported."""

    def notice(self) -> tuple[str, str] | None:
        """The warning about reported customizations, and the command that shows them."""
        if not self.told:
            return None
        files = sorted({one.shown for one in self.told})
        return (
            f"New or changed customizations of installed items since you accepted this project: {', '.join(files)}",
            "`rye trust project` shows what they change and marks them as seen.",
        )


def shown_lines(asked: Sequence[Ask]) -> list[str]:
    """A project's changes, in words: one line for each customization and grant."""
    lines: list[str] = []
    changes = [one for one in asked if one.sort == "customization"]
    if changes:
        count = len({one.item for one in changes})
        lines.append(f"This project changes {count} installed item{'s' * (count != 1)}:")
        lines += (f"  {one.text} → {one.item}" for one in changes)
    grants = [one for one in asked if one.sort == "grant"]
    if grants:
        lines.append("rye.toml grants tools additional access:")
        lines += (f"  {one.text}   {one.item}" for one in grants)
    return lines


def project_changes(
    home: Home,
    project: Project,
    manifest: Manifest,
    items: Sequence[LockedItem],
    signed: ReadSigned | None = None,
    *,
    asks_all: bool = False,
) -> ProjectChanges:
    """What this user has not seen. ``asks_all``: ask about everything, as ``rye trust project`` does."""
    found = _customizations(home, project, manifest, items)
    agreement = remembered(home, project)
    new = set(agreement.missing(one.approval for one in found))
    waiting = [one for one in found if one.approval in new]
    grants = agreement.missing(grant_approvals(manifest))
    if not waiting and not grants:
        return ProjectChanges()
    asks_all = asks_all or not accepted_before(home, project)
    asked: list[Ask] = list(grants) if asks_all else []
    told: list[Customization] = []
    by_item: dict[str, list[Customization]] = {}
    for one in waiting:
        by_item.setdefault(one.item, []).append(one)
    for item in items:
        mine = by_item.get(str(item.identity), [])
        facts = (
            [fact for fact in _facts(home, project, manifest, item, signed, mine) if fact.level != NOTE] if mine else []
        )
        if asks_all or any(fact.level == ALARM for fact in facts):
            asked += (one.approval for one in mine)
            asked += (
                Ask(str(item.identity), "customization-fact", f"{fact.fact} {fact.value} ({fact.path}:{fact.line})")
                for fact in facts
            )
        else:
            told += mine
    return ProjectChanges(tuple(sorted(set(asked))), tuple(told))


def require_allowed(
    home: Home,
    policy: Policy,
    project: Project,
    manifest: Manifest,
    items: Sequence[LockedItem],
    signed: ReadSigned | None = None,
) -> None:
    """Require that no customization adds facts that the policy forbids. Raises RyeError ``policy-violation``."""
    if not policy.facts:
        return
    found = _customizations(home, project, manifest, items)
    for item in items:
        mine = [one for one in found if one.item == str(item.identity)]
        for fact in _facts(home, project, manifest, item, signed, mine) if mine else ():
            if fact.fact in policy.facts:
                raise forbidden(str(item.identity), fact)


def forbidden(item: str, fact: Fact) -> RyeError:
    """The error for an effective text that mentions what the policy forbids."""
    return RyeError(
        "policy-violation",
        f"{item}: {fact.path}:{fact.line} mentions {fact.fact}, which the policy forbids: {fact.value}",
        "Change the customization, or ask the policy's maintainers to change the policy.",
        details={"fact": fact.as_json()},
    )


def _customizations(
    home: Home, project: Project, manifest: Manifest, items: Sequence[LockedItem]
) -> tuple[Customization, ...]:
    there = [_is_there(folder) for folder in (project.overrides, project.overlays, project.role_directives)]
    if not items or not any(there):
        return ()
    from rye.workspace.trusting.customizations import customizations  # most projects change no installed item

    return customizations(home, project, manifest.namespace, items)


def _is_there(folder: Path) -> bool:
    """Whether it exists. It and all folders in it are listed, because a listing is what :mod:`rye.cli.unchanged` goes by: a look
    at a file that is not there leaves no trace."""
    return bool(list(os.walk(folder))) or os.path.lexists(folder)


def _facts(
    home: Home,
    project: Project,
    manifest: Manifest,
    item: LockedItem,
    signed: ReadSigned | None,
    found: Sequence[Customization],
) -> tuple[Fact, ...]:
    from rye.workspace.trusting.customization_facts import (
        brought_facts,  # loads merging and the cache, which only unseen customizations need
        signed_file,
    )

    data = signed(item) if signed is not None else signed_file(home, project, item)
    return brought_facts(home, project, manifest, item, data, found)
