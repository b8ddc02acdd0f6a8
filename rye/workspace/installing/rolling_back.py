"""Returning to the lock before its last change, with the same verification and consent as any installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.errors import RyeError
from rye.installation.completeness import does_not_fit, problems
from rye.installation.install import check_rows, choose_locked, verify_chosen
from rye.installation.rollback import Previous, edits_since, read_previous
from rye.project.layout import Project
from rye.project.lock_file import Unlock, is_stale
from rye.verified.release import signed_words
from rye.workspace.context import Context
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_request import Agree, InstallRequest
from rye.workspace.installing.install_session import InstallSession, open_session
from rye.workspace.installing.install_steps import install_chosen, require_own_previous, session_sources
from rye.workspace.registries.registry_access import UNCHECKED, judging_environment, tell_not_asked

if TYPE_CHECKING:
    from rye.installation.environment import Environment
    from rye.installation.resolving import Chosen
    from rye.installation.sources import Sources
    from rye.items.identity import Identity
    from rye.project.lock import Lock

SHOWN_EDITS = 20


def rollback(context: Context, project: Project, request: InstallRequest, agree: Agree) -> InstallOutcome:
    """Install exactly the previous lock, under the previous manifest. Running it again undoes that.

    A registry that does not answer is not needed where its last verified state and the cache have all that the previous lock
    names: this user installed it before. What such a registry says now is not known, which is told.

    Raises RyeError ``nothing-to-roll-back``, ``edited-manifest`` if edits of rye.toml would be lost, and ``lock-mismatch`` or
    ``lock-does-not-fit`` if the previous lock was never valid.
    """
    previous = read_previous(project)
    lock, text = previous.lock()
    require_own_previous(context.home, project, previous)
    session = open_session(context, project, request, agree, text, previous.members.kept)
    if not session.keeps_manifests:
        _refuse_edits(context, session, previous)
    with session_sources(session, "hold") as sources:
        environment = judging_environment(context, session.manifest, session.policies)
        with context.progress("resolving"):
            chosen = _as_locked(lock, sources, environment)
        not_asked = tell_not_asked(context, sources, UNCHECKED)
        if not is_stale(lock, session.manifest):
            signed = {identity: signed_words(entry.record.release) for identity, entry in chosen.items()}
            if found := problems(session.manifest, lock, signed):
                raise does_not_fit(found)
        # The previous manifest may already have been edited; the lock records what it was made for.
        outcome = install_chosen(session, sources, environment, chosen, lock.wanted)
        return replace(outcome, not_asked=not_asked, deployed_before=previous.deployed)


def _as_locked(lock: Lock, sources: Sources, environment: Environment) -> dict[Identity, Chosen]:
    """The verified releases of the previous lock. Raises RyeError ``source-changed`` for a folder that changed since."""
    sources.use_locked(lock, Unlock.nothing())
    sources.told_of_rows(lock.items)
    sources.require_told(lock.items)
    try:
        chosen = choose_locked(lock, sources, environment)
        check_rows(lock.items, verify_chosen(chosen, sources))
    except RyeError as error:
        if error.code != "source-changed":
            raise
        hint = "Only registries and repositories keep older versions. Restore the folder's files, then run `rye rollback` again."
        message = f"The previous lock cannot be installed: {error.message}"
        raise RyeError(error.code, message, hint, details=error.details) from error
    return chosen


def _refuse_edits(context: Context, session: InstallSession, previous: Previous) -> None:
    """Refuse to discard a person's edits of rye.toml silently."""
    before = session.before
    edits = edits_since(previous, before.lock, before.manifest_text, before.members)
    if not edits:
        return
    shown = [*edits[:SHOWN_EDITS], *["…"] * (len(edits) > SHOWN_EDITS)]
    lost = "\n".join(
        ["rye.toml was edited since the last change of rye.lock; rolling back would discard these edits:", *shown]
    )
    if not context.assume_yes and not session.request.dry_run:
        raise RyeError(
            "edited-manifest",
            lost,
            "Commit or copy rye.toml, then `rye rollback --yes`; another `rye rollback` restores it.",
            details={"edits": edits},
        )
    context.warn(lost)
