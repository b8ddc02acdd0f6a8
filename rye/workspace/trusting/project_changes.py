"""Customizations that this user has not agreed to, of installed items and of own ones, and grants (DESIGN 6.1).

* A customization counts once this user agreed to its exact bytes, and its absence once they agreed to that. One function says
  which do not: :func:`item_changes` for the item that is about to be used, with the bytes that were read for it, and
  :func:`project_changes` for all. Everything that returns, runs or judges an item's effective text asks one of the two.
* ``[policy.facts]`` also applies to the effective text.
* Grants of ``[sandbox]`` are asked about at the first acceptance of a project, and by ``rye trust project``. A grant without
  consent does not count, so a later one does not block an installation.

Grants of rye.toml are ``[sandbox]`` and calls allowed without asking (DESIGN 6.1, Agreed here; docs/how-to/tools.md,
docs/explanation/runtime.md). Anyone who can commit can write a grant. It takes effect once this user agreed to it, at
the project's first acceptance or with ``rye trust project``. On a build server, ``RYE_TRUST_LOCK=1`` accepts all
grants.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.consent.agreement import Agreement
from rye.consent.ask import Ask, run_text
from rye.consent.customized import ShownChange, agreed_files, is_lost
from rye.errors import RyeError
from rye.items.identity import Reference
from rye.items.needs import KEYS, NOTHING, Needs, joined, missing
from rye.limits import CONTENT
from rye.project.item_file import read_item_bytes
from rye.storage.home import Home
from rye.text.facts import NOTE
from rye.text.lazy import lazy_module
from rye.workspace.trusting.acceptance import accepted_before, agreement, remembered

if TYPE_CHECKING:
    from pathlib import Path

    from rye.consent.customized import Customization
    from rye.items.consented import Run
    from rye.permissions.policy import Policy
    from rye.project import lock_file, spaces
    from rye.project.layout import Project
    from rye.project.lock import LockedItem
    from rye.project.manifest import Manifest
    from rye.project.spaces import Entry
    from rye.signing import verification
    from rye.text.facts import Fact
    from rye.verified import require
    from rye.verified.release import VerifiedItem
    from rye.workspace.context import Context
    from rye.workspace.trusting import customization_facts, customizations, shown_changes, trusted_keys
    from rye.workspace.trusting.customizations import CustomizedItem
else:  # only for grants
    lock_file, spaces = lazy_module("rye.project.lock_file"), lazy_module("rye.project.spaces")
    verification, require = lazy_module("rye.signing.verification"), lazy_module("rye.verified.require")
    trusted_keys = lazy_module("rye.workspace.trusting.trusted_keys")
    # only for projects that change items; merging and the cache only for changes that the user has not agreed to
    customizations = lazy_module("rye.workspace.trusting.customizations")
    customization_facts = lazy_module("rye.workspace.trusting.customization_facts")
    shown_changes = lazy_module("rye.workspace.trusting.shown_changes")


PublisherOf = Callable[[str], str]
"""Who publishes the item ``kind:id``, in words; empty if there is none that could be executed."""


def _nobody(_name: str) -> str:
    return ""


def grant_approvals(manifest: Manifest, publisher: PublisherOf = _nobody) -> list[Ask]:
    """One approval for each entry of each tool, and for each row of ``[policy.approval]`` that allows without asking.

    Each names who publishes the item that it is for, so that an item of the same id from elsewhere is another question. A pattern
    of several items names nobody.
    """
    return [
        *(
            _granted(tool, f"{key} {value}", publisher(tool))
            for tool, grants in sorted(manifest.sandbox.items())
            for key, value in grants.lines()
        ),
        *(
            _unasked(pattern, publisher)
            for pattern, answer in sorted(manifest.policy.approval.items())
            if answer == "allow"
        ),
    ]


def _granted(tool: str, line: str, publisher: str) -> Ask:
    return Ask(tool, "grant", f"{line} to {publisher}" if publisher else line)


def _unasked(pattern: str, publisher: PublisherOf) -> Ask:
    root, _, rest = pattern.partition(".")
    _, _, item = rest.partition(".")
    kind, _, identifier = item.partition(".")
    is_one = root == "rye" and identifier and not any(sign in pattern for sign in "*?[")
    whose = publisher(f"{kind}:{identifier.replace('.', '/')}") if is_one else ""
    return Ask("[policy.approval]", "grant", f"{pattern} = allow{f' for {whose}' if whose else ''}")


def published_by(row: LockedItem) -> str:
    """The publisher of an installed item, a source's with the signer found here: rye.lock has none. A registry's keysets
    vouch for the keys of a namespace, so these are not named."""
    if row.source is None:
        return row.registry
    return f"{row.registry}, {'not signed' if row.is_unsigned else f'signed by {row.signer}'}"


def own_publisher(space: str, signer: str) -> str:
    """The publisher of an item that is not installed: its space, and the key that signed it."""
    return f"{_SPACES.get(space, space)}, signed by {signer}"


_SPACES = {"project": "this project", "user": "your own space", "system": "this machine"}


def publishers(home: Home, project: Project, manifest: Manifest, items: Iterable[LockedItem] = ()) -> PublisherOf:
    """Who publishes each item here. ``items``: rows that are about to be installed; the others are those of rye.lock."""
    chosen = {str(row.identity): row for row in items}

    def publisher(name: str) -> str:
        if name not in chosen:
            for row in lock_file.read_lock(project).items:
                chosen.setdefault(str(row.identity), row)
        if name not in chosen:
            return _own(home, project, manifest, name)
        row = chosen[name]
        known = require.verified_before(home, [row]).get(row.identity) if row.source is not None else None
        return published_by(row.with_signer(known.signed_by) if known is not None else row)

    return publisher


def _own(home: Home, project: Project, manifest: Manifest, name: str) -> str:
    kind, _, identifier = name.partition(":")
    try:
        entry = spaces.find(home, Reference(identifier, kind), project, manifest.namespace)
        data = read_item_bytes(entry.path, CONTENT.item_bytes)
    except RyeError:
        return ""
    keys = trusted_keys.trusted_keys(home, (), project if entry.space == "project" else None)
    judged = verification.verify(data, kind, entry.path.name, keys.keys, keys.revoked)
    if entry.space == "installed" or judged.verdict != "valid" or judged.key is None:
        return ""
    return own_publisher(entry.space, judged.key.fingerprint)


def approval_in_force(context: Context, project: Project, manifest: Manifest) -> Mapping[str, str]:
    """The rows of rye.toml's ``[policy.approval]`` in force: a row that asks or denies always is; one that allows, once this
    user agreed."""
    written = manifest.policy.approval
    here, publisher = agreement(context, project), publishers(context.home, project, manifest)
    return {
        pattern: answer
        for pattern, answer in written.items()
        if answer != "allow" or not here.missing_from_lock([_unasked(pattern, publisher)])
    }


def grants_in_force(context: Context, project: Project, manifest: Manifest, tool: str, publisher: str = "") -> Needs:
    """The grants to ``tool:id`` in force. ``publisher``: of the very item that is to be executed (:func:`published_by`,
    :func:`own_publisher`)."""
    written = manifest.sandbox.get(tool, NOTHING)
    here = agreement(context, project)

    def counts(key: str, value: str) -> bool:
        return not here.missing_from_lock([_granted(tool, f"{key} {value}", publisher)])

    return Needs(*(tuple(value for value in getattr(written, key) if counts(key, value)) for key in KEYS))


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


ReadSigned = Callable[["LockedItem"], "VerifiedItem | None"]
"""Gives an item with its signed files; None if not available. The default reads the project, then the user's cache."""


def shown_lines(asked: Sequence[Ask]) -> list[str]:
    """A project's changes, in words: one line for each customization, those that count no longer apart, and for each grant."""
    lines: list[str] = []
    changes = [one for one in asked if one.sort == "customization"]
    if changes:
        lost = [one for one in changes if is_lost(one)]
        kept = [one for one in changes if one not in lost]
        if kept:
            count = len({one.item for one in kept})
            lines.append(f"This project changes {count} item{'s' * (count != 1)}:")
            lines += (f"  {one.text} → {one.item}" for one in kept)
        if lost:
            lines.append("What you agreed to, and this project no longer has:")
            lines += (f"  {one.text} → {one.item}" for one in lost)
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
    own: bool = True,
    asks_grants: bool = False,
) -> tuple[Ask, ...]:
    """What this user has not agreed to: customizations of these items and, with ``own``, of items that are not installed; facts
    that these customizations bring, and what they make an item able to run; grants, at the first acceptance or with
    ``asks_grants``."""
    agreed = remembered(home, project)
    found = _customized(home, project, manifest, items, agreed, own=own)
    asks_grants = asks_grants or not accepted_before(home, project)
    grants = grant_approvals(manifest, publishers(home, project, manifest, items)) if asks_grants else ()
    return _asks(home, project, manifest, found, signed, grants, agreed)


def agreed_changes(home: Home, project: Project, manifest: Manifest, items: Sequence[LockedItem]) -> tuple[Ask, ...]:
    """The customizations of these items and of those that are not installed that this user agreed to. To remember them again
    makes what counts now the state that was agreed to last, and keeps its bytes."""
    agreed = remembered(home, project)
    found = _customized(home, project, manifest, items, agreed)
    asks = (replace(one.approval, subject=ShownChange(one)) for item in found for one in item.changes)
    return tuple(ask for ask in asks if agreed.covers(ask))


def item_changes(
    home: Home,
    project: Project,
    manifest: Manifest,
    item: CustomizedItem | None,
    agreed: Agreement,
    *,
    asks_grants: bool,
) -> tuple[Ask, ...]:
    """The same of one item that is about to be used, with the bytes that were read for it. ``item``: None: nothing changes it.
    ``agreed``: what this user agreed to in the project. ``asks_grants``: whether grants are asked about, at the first
    acceptance."""
    found = [item] if item is not None else []
    asks_grants = asks_grants and not accepted_before(home, project)
    grants = grant_approvals(manifest, publishers(home, project, manifest)) if asks_grants else ()
    return _asks(home, project, manifest, found, None, grants, agreed)


def not_agreed(
    home: Home, project: Project, manifest: Manifest, items: Sequence[LockedItem], *, trusts_lock: bool
) -> list[tuple[Entry, Customization]]:
    """The customizations that do not count here, of these items and of those that are not installed, each with its item, for
    commands that report and ask nothing. ``trusts_lock``: whether this run accepts what the repository brings."""
    if trusts_lock:
        return []
    agreed = remembered(home, project)
    found = _customized(home, project, manifest, items, agreed)
    files = [(item.entry, one) for item in found for one in item.changes]
    waiting = set(agreed.missing(one.approval for _, one in files))
    return [(entry, one) for entry, one in files if one.approval in waiting]


def _asks(
    home: Home,
    project: Project,
    manifest: Manifest,
    found: Sequence[CustomizedItem],
    signed: ReadSigned | None,
    grants: Iterable[Ask],
    agreed: Agreement,
) -> tuple[Ask, ...]:
    asked: set[Ask] = set(agreed.missing(grants))
    for item in found:
        new = set(agreed.missing(one.approval for one in item.changes))
        waiting = tuple(one for one in item.changes if one.approval in new)
        if waiting:
            facts, shown, runs = _look_at(home, project, manifest, replace(item, changes=waiting), signed, agreed)
            asked |= {replace(one.change.approval, subject=one) for one in shown}
            asked |= {
                Ask(item.name, "customization-fact", f"{fact.fact} {fact.value} ({fact.path}:{fact.line})")
                for fact in facts
                if fact.level != NOTE
            }
            asked |= {Ask(item.name, "customization-run", run_text(run), run) for run in runs}
    return tuple(sorted(asked))


def require_allowed(
    home: Home,
    policy: Policy,
    project: Project,
    manifest: Manifest,
    items: Sequence[LockedItem],
    signed: ReadSigned | None = None,
    *,
    own: bool = True,
) -> None:
    """Require that no customization adds facts that the policy forbids, to these items or, with ``own``, to one that is not
    installed. Raises RyeError ``policy-violation``."""
    if not policy.facts:
        return
    for item in _customized(home, project, manifest, items, remembered(home, project), own=own):
        require_item_allowed(home, policy, project, manifest, item, signed)


def require_item_allowed(
    home: Home,
    policy: Policy,
    project: Project,
    manifest: Manifest,
    item: CustomizedItem,
    signed: ReadSigned | None = None,
) -> None:
    """The same of one item. Raises RyeError ``policy-violation``."""
    for fact in customization_facts.brought_facts(home, project, manifest, item, _files(home, project, item, signed)):
        if fact.fact in policy.facts:
            raise forbidden(item.name, fact)


def forbidden(item: str, fact: Fact) -> RyeError:
    """The error for an effective text that mentions what the policy forbids."""
    return RyeError(
        "policy-violation",
        f"{item}: {fact.path}:{fact.line} mentions {fact.fact}, which the policy forbids: {fact.value}",
        "Change the customization, or ask the policy's maintainers to change the policy.",
        details={"fact": fact.as_json()},
    )


def _customized(
    home: Home,
    project: Project,
    manifest: Manifest,
    items: Sequence[LockedItem],
    agreed: Agreement,
    *,
    own: bool = True,
) -> list[CustomizedItem]:
    there = [_is_there(folder) for folder in (project.overrides, project.overlays, project.role_directives)]
    if not any(there) and not agreed_files(agreed.lines):
        return []
    return customizations.customized_items(home, project, manifest.namespace, items, agreed, own=own)


def _is_there(folder: Path) -> bool:
    """Whether it exists. It and all folders in it are listed, because a listing is what :mod:`rye.cli.unchanged` goes by: a look
    at a file that is not there leaves no trace."""
    return bool(list(os.walk(folder))) or os.path.lexists(folder)


def _look_at(
    home: Home,
    project: Project,
    manifest: Manifest,
    item: CustomizedItem,
    signed: ReadSigned | None,
    agreed: Agreement,
) -> tuple[tuple[Fact, ...], Sequence[ShownChange], tuple[Run, ...]]:
    """The facts that an item's customizations bring, what each changes, and what they make it able to run."""
    files = _files(home, project, item, signed)
    return (
        customization_facts.brought_facts(home, project, manifest, item, files),
        shown_changes.shown_changes(home, project, manifest, item, files, agreed),
        customization_facts.brought_runs(home, project, manifest, item, files),
    )


def _files(
    home: Home, project: Project, item: CustomizedItem, signed: ReadSigned | None
) -> customization_facts.PublishedFiles | None:
    if signed is None or item.row is None:
        return customization_facts.own_files(home, project, item)
    found = signed(item.row)
    return customization_facts.files_of(found) if found is not None else None
