"""Writing rye.lock without installing: choosing versions, checking it against its manifest, and merging three locks."""

from __future__ import annotations

from pathlib import Path

from rye.errors import RyeError
from rye.installation.completeness import OTHER_REGISTRY, Problem, does_not_fit, next_step, problems
from rye.installation.install import mentions_of, prepare, unapproved
from rye.installation.resolving import resolve
from rye.installation.rollback import keep_previous
from rye.installation.transaction import Change, exclusive
from rye.project.layout import LOCK, Project
from rye.project.lock import Lock, LockError, lock_text, parse_lock
from rye.project.lock_conflict import conflict_text, merge
from rye.project.lock_file import Unlock, is_stale, wanted_ranges
from rye.project.manifest import Manifest
from rye.storage.atomic import replace_file
from rye.text.json_reading import UNDECODABLE
from rye.verified.require import verified_before
from rye.workspace.context import Context
from rye.workspace.installing.install_outcome import LockCheck, LockOutcome
from rye.workspace.installing.install_session import retry_when_overtaken
from rye.workspace.installing.install_steps import remember_previous
from rye.workspace.installing.lock_moves import lock_moves
from rye.workspace.installing.project_state import ProjectState, read_state
from rye.workspace.registries.project_registries import locked_elsewhere
from rye.workspace.registries.registry_access import STAYS, judging_environment, project_sources, tell_not_asked
from rye.workspace.trusting.verified_items import require_verified


def relock(context: Context, project: Project, *, dry_run: bool = False) -> LockOutcome:
    """Choose versions and write rye.lock. This approves nothing."""
    return retry_when_overtaken(context, lambda: _relock(context, project, dry_run))


def check_lock(context: Context, project: Project) -> LockCheck:
    """Check whether rye.lock matches rye.toml. A registry is asked only about rows not verified here before."""
    state = read_state(context, project)
    return _check(context, state, state.manifest)


def _check(context: Context, state: ProjectState, manifest: Manifest) -> LockCheck:
    moved = _moved(context, state, manifest)
    found = [*moved, *problems(manifest, state.lock, {})] if moved else _lock_problems(context, state, manifest)
    return LockCheck(state.lock_bytes is not None, tuple(found), next_step(found) if found else None)


def _lock_problems(context: Context, state: ProjectState, manifest: Manifest) -> list[Problem]:
    """The known problems. Each row must be verified, now or before. If that is not possible, or the lock was made for another
    manifest, problems visible in the lock itself are enough.

    Raises RyeError ``unverified-item``, ``lock-mismatch``, TrustError.
    """
    items = state.lock.items
    if is_stale(state.lock, manifest):
        return problems(manifest, state.lock, verified_before(context.home, items))
    try:
        signed = require_verified(context, state.project, items)
    except RyeError as error:
        found = problems(manifest, state.lock, {})
        if error.code != "unverified-item" or not found:
            raise
        return found
    return problems(manifest, state.lock, signed)


def _moved(context: Context, state: ProjectState, manifest: Manifest) -> list[Problem]:
    """Items that rye.lock has from a registry other than the one in rye.toml."""
    try:
        found = locked_elsewhere(context, manifest, state.lock, state.project.root)
    except (OSError, *UNDECODABLE):  # asking the registries reports the error
        return []
    return [
        Problem(
            OTHER_REGISTRY,
            str(one.item.identity),
            f"rye.lock has it from registry {one.item.registry}, but rye.toml names {one.address}, which is {one.origin}",
        )
        for one in found
    ]


def _relock(context: Context, project: Project, dry_run: bool) -> LockOutcome:
    state = read_state(context, project, joins_sides=True)
    manifest, before = state.manifest, state.lock
    if state.lock_bytes is not None and not state.conflicted:
        found = _check(context, state, manifest)
        if found.fits:
            return LockOutcome(False, len(before.items), dry_run)
        if not is_stale(before, manifest) and not all(problem.repairable for problem in found.problems):
            raise does_not_fit(found.problems)
    environment = judging_environment(context, manifest)
    with project_sources(context, manifest, project.root, outages="hold", rejudges=True) as sources:
        with context.progress("resolving"):
            chosen = resolve(manifest, before, sources, environment, Unlock.nothing())
        not_asked = tell_not_asked(context, sources, STAYS)
        with context.progress("fetching"):
            prepared = prepare(before, manifest, chosen, sources, environment)
    agreed = Lock(before.wanted, tuple(c.old for c in prepared.plan.changes if c.old is not None))  # with known signers
    items = unapproved(agreed, [item.locked for item in prepared.items.values()], mentions_of(prepared.items))
    text = lock_text(Lock(wanted_ranges(manifest), tuple(items)).after(before, prepared.heads))
    changed = text.encode() != state.lock_bytes
    if changed and not dry_run:
        with exclusive(project) as writer:
            state.require_unchanged("rye lock")
            kept = keep_previous(project, state.manifest_text, state.members, state.members)
            remember_previous(context.home, project, kept)
            writer.apply([Change(LOCK, text.encode()), *kept])
    return LockOutcome(changed, len(items), dry_run, lock_moves(before, items), not_asked)


def merge_files(base: Path, ours: Path, theirs: Path) -> bool:
    """Merge three versions of rye.lock into ``ours`` as git's merge driver (gitattributes(5)), and return whether nothing is in
    conflict. What is stays in the file between git's markers, and so does the whole file if a side is not a lock. Raises RyeError
    ``unreadable``.
    """
    texts = [_text(path) for path in (base, ours, theirs)]
    try:
        merged = merge(*(parse_lock(text) if text else Lock() for text in texts))
    except LockError:
        clean, text = False, conflict_text(texts[1], texts[2])
    else:
        clean, text = merged.is_clean, merged.text
    replace_file(ours, text.encode())
    return clean


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror or str(error) if isinstance(error, OSError) else "it is not UTF-8 text"
        hint = "Take one side: `git checkout --ours rye.lock` (or --theirs), then run `rye install`."
        raise RyeError("unreadable", f"{path} cannot be read: {why}.", hint) from error
