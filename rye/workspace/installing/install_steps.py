"""The steps of an installation that has work to do: choose, fetch and verify, show, get consent, switch.
It is recorded which rollback state this user's rye wrote, so that one that came with a clone is not used (DESIGN 6.1).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.consent.agreement import byte_approvals
from rye.errors import RyeError
from rye.installation.completeness import does_not_fit, problems
from rye.installation.environment import Environment
from rye.installation.held_back import held_back
from rye.installation.install import (
    Prepared,
    changes,
    check_rows,
    choose_locked,
    prepare,
    verify_chosen,
)
from rye.installation.resolving import Chosen, resolve
from rye.installation.rollback import Previous, keep_previous, kept_sha256
from rye.installation.sources import Sources
from rye.installation.transaction import Change, Round, exclusive
from rye.items.identity import Identity
from rye.project.layout import LOCK, MANIFEST, Project, is_in_checkout
from rye.project.lock_file import Unlock, in_groups, is_stale, item_files
from rye.project.manifest import Manifest
from rye.registry.transport.seam import NoAnswer
from rye.sources.source_error import SourceError
from rye.storage import private_files
from rye.storage.home import Home
from rye.text.lazy import lazy_module
from rye.verified.on_disk import lost_flags, read_written, scan
from rye.verified.release import signed_words
from rye.verified.require import unverified, verified_before
from rye.workspace.installing.consent import Agreed, obtain_agreement, stopped
from rye.workspace.installing.following import follow
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_session import InstallSession, Look
from rye.workspace.installing.outdated_sources import OutdatedSource, outdated_sources
from rye.workspace.registries.registry_access import (
    STAYS,
    Outages,
    judging_environment,
    project_sources,
    tell_not_asked,
)
from rye.workspace.trusting.acceptance import own_record, remember, remember_or_warn
from rye.workspace.trusting.agreed_signers import agreed_signers, remember_signers
from rye.workspace.trusting.asking import ask, require_yes

if TYPE_CHECKING:
    from rye.installation import git_attributes
    from rye.workspace.installing import customization_losses
    from rye.workspace.installing.customization_losses import Fit
else:
    git_attributes = lazy_module("rye.installation.git_attributes")  # only in a checkout of git
    customization_losses = lazy_module(
        "rye.workspace.installing.customization_losses"
    )  # merging, for customized items only

_LOOKS_AGAIN = frozenset({"source-changed", "lock-does-not-fit"})
"""Problems that make a plain installation choose again: a changed folder, or a namespace's new place in rye.toml."""
_TOO_OLD = frozenset({"release-vanished", "no-such-item", "unsolvable"})
"""Errors that a head too old for rye.toml or rye.lock causes for later releases."""


def session_sources(
    session: InstallSession,
    outages: Outages = "fail",
    *,
    names_source: bool = False,
    silent: Mapping[str, NoAnswer] = MappingProxyType({}),
) -> Sources:
    """The session's registries; a context manager. ``names_source``: whether a person named the source in this command;
    ``silent``: see :func:`rye.workspace.registries.registry_access.project_sources`."""
    root, request = session.before.project.root, session.request
    return project_sources(
        session.context,
        session.manifest,
        root,
        request.airgap,
        outages=outages,
        contacts=names_source,
        rejudges=True,
        silent=silent,
    )


def change_project(session: InstallSession, unlock: Unlock, look: Look | None) -> InstallOutcome:
    """Make the change of an attempt that has work to do. ``look`` None means that the lock was made for another manifest."""
    if look is None:
        raise _stale(session)
    if look.in_order:  # only rye.lock's approvals of installed items are open
        items = in_groups(session.before.lock.items, session.request.without)
        project = session.before.project
        require_yes(session.context, look.waiting, session.agree, is_shown=True, project=project, rows=items)
        agreed = byte_approvals(look.rows).union(look.waiting)
        remember_or_warn(session.context, session.before.project, agreed, accepts=True)
        return InstallOutcome(result="in-order", warnings=look.warned, followed=follow(session))
    if not (session.manifest.dependencies or session.before.lock.items or session.before.conflicted):
        return InstallOutcome(result="nothing-wanted", followed=follow(session))
    return resolve_and_install(session, unlock)


def _stale(session: InstallSession) -> RyeError:
    """``no-lock`` or ``lock-does-not-fit``."""
    if session.before.lock_bytes is None:
        return RyeError("no-lock", "rye.lock does not exist.", "Run `rye install`, and commit rye.lock.")
    return does_not_fit(problems(session.manifest, session.before.lock, {}))


def resolve_and_install(session: InstallSession, unlock: Unlock) -> InstallOutcome:
    """Open the registries, choose versions, and install them.

    If the lock says everything, the last verified head is enough for a registry that does not answer. A registry that was only
    slow gets more time if that head lacks something. If one shows a head and falls silent, the run begins again as if it had not
    shown it: its answers under two heads are never mixed. Where something has to be chosen, nothing new is taken from memory.
    """
    if session.context.offline and unlock.is_nothing:
        return _install_offline(session, unlock)
    is_whole = session.request.airgap is not None  # nobody is silent in a file
    if not unlock.is_nothing or (is_stale(session.before.lock, session.manifest) and not is_whole):
        with session_sources(session, "hold") as sources:
            return install_from(session, sources, unlock)
    patience: tuple[Outages, ...] = ("survive", "survive-patiently")
    for outages in patience:
        silent: dict[str, NoAnswer] = {}
        while True:
            with session_sources(session, outages, silent=silent) as sources:
                try:
                    return install_from(session, sources, unlock)
                except RyeError as error:
                    if isinstance(error, NoAnswer) and sources.fell_silent:
                        silent |= sources.fell_silent  # they are not asked again, so each of them is here once
                        continue
                    outage = sources.outage
                    if outage is None or not (isinstance(error, NoAnswer) or error.code in _TOO_OLD):
                        raise
                    only_slow = outage.code == "fetch-deadline" and outages == "survive"
                    if not only_slow:
                        raise _does_not_suffice(error, outage) from error
                    break
    raise AssertionError("the last round returns or raises")


def _install_offline(session: InstallSession, unlock: Unlock) -> InstallOutcome:
    """Install from trusted state and cache only. A row that they cannot verify counts as unverified."""
    try:
        with session_sources(session) as sources:
            return install_from(session, sources, unlock)
    except RyeError as error:
        if error.code != "fetch-offline" or is_stale(session.before.lock, session.manifest):
            raise
        items = in_groups(session.before.lock.items, session.request.without)
        known = verified_before(session.context.home, items)
        unknown = [item for item in items if item.identity not in known]
        if not unknown:
            raise
        hint = f"`{session.request.command}` without --offline fetches and verifies what rye.lock lists."
        raise unverified(unknown, error.message, hint, error.code) from error


def _does_not_suffice(error: RyeError, outage: NoAnswer) -> NoAnswer:
    if isinstance(error, NoAnswer):
        return error
    message = f"{outage.message} Its last verified state is not enough: {error.message}"
    return NoAnswer(outage.code, message, outage.hint)


def install_from(session: InstallSession, sources: Sources, unlock: Unlock) -> InstallOutcome:
    """Choose versions, and install them."""
    environment = judging_environment(session.context, session.manifest, session.policies)
    with session.context.progress("resolving"):
        chosen = _choose(session, sources, environment, unlock)
    not_asked = tell_not_asked(session.context, sources, STAYS)
    outcome = replace(install_chosen(session, sources, environment, chosen), not_asked=not_asked)
    if unlock.is_nothing:
        return outcome
    histories = sources.histories(chosen)
    held = held_back(session.manifest, chosen, histories, environment)
    moving = {identity for identity, _ in unlock.exact}
    return replace(
        outcome,
        held_back=tuple(h for h in held if unlock.frees(h.identity) and h.identity not in moving),
        outdated_sources=_outdated_sources(session, sources, unlock),
    )


def _outdated_sources(session: InstallSession, sources: Sources, unlock: Unlock) -> tuple[OutdatedSource, ...]:
    """Not of a repository that does not answer, because a state that is pinned by its commit needs no answer."""
    if session.request.airgap is not None:
        return ()
    lock = session.before.lock
    freed = {item.identity for item in lock.items if unlock.frees(item.identity)}
    try:
        return tuple(outdated_sources(session.manifest, lock, sources, freed))
    except SourceError:
        return ()


def _choose(
    session: InstallSession, sources: Sources, environment: Environment, unlock: Unlock
) -> Mapping[Identity, Chosen]:
    """The releases of a matching lock; otherwise versions are chosen again, preferring the locked ones.

    Raises RyeError ``lock-does-not-fit`` if the lock must not or cannot be repaired.
    """
    manifest, lock = session.manifest, session.before.lock
    if unlock.is_nothing and not is_stale(lock, manifest):
        try:
            chosen = choose_locked(lock, sources, environment)
        except RyeError as error:
            if error.code not in _LOOKS_AGAIN or session.request.lock_use != "repair":
                raise
            session.context.tell(f"{error.message} Checking again.")
            return _chosen_again(session, sources, environment)
        signed = {identity: signed_words(entry.record.release) for identity, entry in chosen.items()}
        found = problems(manifest, lock, signed)
        if not found:
            return chosen
        check_rows(lock.items, verify_chosen(chosen, sources))  # first: a row that differs from its release is worse
        if session.request.lock_use != "repair" or not all(problem.repairable for problem in found):
            raise does_not_fit(found)
        session.context.tell(
            f"rye.lock does not match rye.toml: {found[0].rule} {found[0].item}: {found[0].message}; repairing"
        )
        return _chosen_again(session, sources, environment)
    return resolve(manifest, lock, sources, environment, unlock)


def _chosen_again(session: InstallSession, sources: Sources, environment: Environment) -> Mapping[Identity, Chosen]:
    """The choice for a lock that has to be repaired. Raises the error of a registry that does not answer: it may lack what was
    yanked since its last verified state."""
    if (why := sources.outage) is not None:
        raise why
    return resolve(session.manifest, session.before.lock, sources, environment, Unlock.nothing())


def install_chosen(
    session: InstallSession,
    sources: Sources,
    environment: Environment,
    chosen: Mapping[Identity, Chosen],
    wanted: Mapping[str, str] | None = None,
) -> InstallOutcome:
    """Fetch, verify, show, get consent, switch. ``wanted``: the requirements to record in the lock; None means the manifest's."""
    prepared = _fetched(session, sources, environment, chosen)
    moves = session.tell_moves(session.agreement.moved(prepared.plan.from_lock))
    prepared = replace(prepared, warnings=(*prepared.warnings, *moves.warnings))
    if wanted is not None:
        prepared = replace(prepared, wanted=wanted)
    fit = _fit(session, prepared)
    notes = prepared.warnings
    if fit is not None:
        prepared = replace(prepared, plan=fit.asked_in(prepared.plan))
        notes += fit.notes
        _refuse_strictly(session, prepared, fit)
    if session.request.sets_aside and (aside := stopped(session, prepared)):
        return InstallOutcome(result="stopped", warnings=prepared.warnings, set_aside=aside)
    planned = InstallOutcome(
        result="proposed", changes=prepared.plan.effective, warnings=prepared.warnings, yanked=prepared.yanked
    )
    agreed = obtain_agreement(session, prepared, notes, moves)
    if agreed is None:
        return planned
    written, followed = _switch(session, sources, prepared, agreed)
    return replace(planned, result="installed", files_written=written, followed=followed)


def _fetched(
    session: InstallSession, sources: Sources, environment: Environment, chosen: Mapping[Identity, Chosen]
) -> Prepared:
    """Everything to install, verified and compared with rye.lock and with what is on disk."""
    request, before = session.request, session.before
    with session.context.progress("fetching"):
        prepared = prepare(
            before.lock,
            session.manifest,
            chosen,
            sources,
            environment,
            request.without,
            agreed_signers(session.context.home),
            _found_manifest(session),
            session.agreement.knows_bytes,
        )
    if request.lock_use != "repair":
        _refuse_approvals_beyond(session, chosen, prepared)
    session.refuse_edits(request.command, scan(before.project), prepared.rows)
    known = before.lock.by_identity()
    session.look_for_shadows([item for item in prepared.rows if item.identity not in known])
    return replace(prepared, warnings=(*prepared.warnings, *session.look_for_absent(prepared)))


def _fit(session: InstallSession, prepared: Prepared) -> Fit | None:
    """How the customizations fit what is about to be installed; None without customizations."""
    project, own = session.before.project, session.context.home.user_space
    folders = (project.overrides, project.overlays, project.role_directives)
    if not any(path.is_dir() or (own / path.name).is_dir() for path in folders):
        return None
    return customization_losses.fit(session, prepared)


def _refuse_strictly(session: InstallSession, prepared: Prepared, fit: Fit) -> None:
    """Raise RyeError ``overrides-do-not-fit`` if that stops the run."""
    if session.request.strict_overrides and (fit.notes or fit.losses):
        ask(session.context, session.agree, prepared.plan, (*prepared.warnings, *fit.notes))
        raise RyeError(
            "overrides-do-not-fit",
            "Overrides do not fit the new versions, so nothing was changed.",
            "The warnings above say what does not fit. Fix the overrides, or leave --strict-overrides out.",
        )


def _require_same_fit(session: InstallSession, prepared: Prepared) -> None:
    """Raise RyeError ``changed-meanwhile`` if a customization was edited since the plan was shown and would lose more now."""
    fit = _fit(session, prepared)
    shown = {ask for change in prepared.plan.changes for ask in change.asks}
    if fit is not None and not fit.asks() <= shown:
        raise RyeError(
            "changed-meanwhile",
            "A customization was edited since the plan was made, and would be lost. Nothing was changed.",
            f"Run `{session.request.command}` again; it shows what would be lost.",
        )


def _found_manifest(session: InstallSession) -> Manifest:
    """What rye.toml and its members wanted before this command changed them. If it cannot be read, nothing counts as wanted
    before."""
    if session.keeps_manifests:
        return session.manifest
    try:
        return session.before.manifest
    except RyeError:
        return session.manifest


def _refuse_approvals_beyond(session: InstallSession, chosen: Mapping[Identity, Chosen], prepared: Prepared) -> None:
    """Check that the lock matches the items' bytes as well: what a release note omits, such as facts, was unknown when versions
    were chosen. Raises RyeError ``lock-does-not-fit``."""
    signed = {identity: signed_words(entry.record.release) for identity, entry in chosen.items()}
    signed.update({identity: item.signed for identity, item in prepared.items.items()})
    found = problems(session.manifest, session.before.lock, signed)
    if found:
        raise does_not_fit(found)


def _switch(session: InstallSession, sources: Sources, prepared: Prepared, agreed: Agreed) -> tuple[int, object | None]:
    """Write everything as one transaction, and remember what was agreed to. Returns the number of changed files, and the report
    of ``follow``.

    The user's consent is stored first, so that a run that reads the new rye.lock finds it. A crash in between leaves approvals
    that rye.lock does not have, which allow nothing.
    """
    request, before, project = session.request, session.before, session.before.project
    with exclusive(project) as writer:
        before.require_unchanged(request.command)
        _require_same_fit(session, prepared)
        present = scan(project)
        session.refuse_edits(request.command, present, prepared.rows)
        for flag in lost_flags(before.lock.items, present):
            session.context.tell(f"{flag.path} had another executable bit than its item; it is restored.")
        removable = set(present)
        if not request.discard_local_edits:
            removable &= set(read_written(project)).union(*map(item_files, (*before.lock.items, *before.rows)))
        texts_changed = not session.keeps_manifests
        found = changes(agreed.lock, prepared.items, removable, changed_manifests(session))
        if request.lock_use == "frozen":
            kept_as_they_are = {LOCK, MANIFEST, *(member.file for member in session.members)}
            found = [change for change in found if change.path not in kept_as_they_are]
        if texts_changed or any(c.path == LOCK and c.data != before.lock_bytes for c in found):
            kept = keep_previous(project, session.manifest_text, before.members, session.members)
            remember_previous(session.context.home, project, kept)
            found.extend(kept)
        if request.lock_use != "frozen" and is_in_checkout(project.root):
            attributes, told = git_attributes.own_attributes(project)
            found.extend(attributes)
            for line in told:
                session.context.tell(line)
        remember(session.context.home, project, agreed.asks)
        said: list[object] = []
        if request.follow is None:
            written = writer.apply(found)
        else:
            written = writer.apply(found, lambda: _following(session, sources, said))
    remember(session.context.home, project, (), accepts=agreed.accepts)
    remember_signers(session.context.home, agreed.signers)
    return written, said[0] if said else None


def changed_manifests(session: InstallSession) -> dict[str, str]:
    """The texts of the manifests to write, by file."""
    before = {member.file: member.text for member in session.before.members} | {MANIFEST: session.before.manifest_text}
    now = {member.file: member.text for member in session.members} | {MANIFEST: session.manifest_text}
    return {file: text for file, text in sorted(now.items()) if before.get(file) != text}


def _following(session: InstallSession, sources: Sources, said: list[object]) -> Round:
    """The second round of changes, after the items are in place. The report is appended to ``said``."""
    sources.verdicts.flush()  # the follow-up reads the new state; a run refused before this point stores nothing
    follow, project = session.request.follow, session.before.project
    found = follow(session.context, project) if follow is not None else None
    if found is None:
        return Round(())
    said.append(found[1])
    return found[0]


_FOLDER = "previous"
_REMEMBERED = 2
"""The states to remember: the new one, and the one before it, which stays in place if the switch is interrupted."""


def remember_previous(home: Home, project: Project, kept: Sequence[Change]) -> None:
    """Record that this user's rye saves these files (:func:`~rye.installation.rollback.keep_previous`), before the write."""
    place, sha256 = own_record(home, project, _FOLDER), kept_sha256(kept)
    known = [line for line in _read(place) if line != sha256]
    private_files.make_folder(place.parent)
    private_files.write(place, "\n".join([sha256, *known][:_REMEMBERED]) + "\n")


def require_own_previous(home: Home, project: Project, previous: Previous) -> None:
    """Raise RyeError ``nothing-to-roll-back`` unless this user's rye wrote the saved state that was read."""
    if previous.sha256 in _read(own_record(home, project, _FOLDER)):
        return
    raise RyeError(
        "nothing-to-roll-back",
        "Your rye did not write the earlier state in .ai/.rye/previous, so it may have come with the repository.",
        "Restore rye.toml and rye.lock from version control, then run `rye install`.",
    )


def _read(place: Path) -> list[str]:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return private_files.read_trusted(place).decode("ascii").split()
    return []
