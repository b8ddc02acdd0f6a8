"""One installation: a request in, a result out, with consent through one callback.

If there is nothing to do (:func:`up_to_date`), it uses no network and does not touch the project. Otherwise it resolves
versions or uses the lock, fetches, verifies, shows the plan, gets consent, and writes the files as one transaction
(:mod:`rye.workspace.installing.install_steps`). Nothing is written before that, and nothing at all if the project was
changed since it was read.

Only the command line's own memory (:mod:`rye.cli.unchanged`) also answers whether there is anything to do. There is
nothing to do if every byte and executable bit on disk matches the lock, every row was verified here, the lock is
complete (:mod:`rye.installation.completeness`), every right is approved, the policy in force allows everything, and
each namespace still has its items' registry. What was verified and found complete is remembered; the rest must hold
today, and is looked at each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.consent.agreement import MovedRow, by_other_rules, byte_approvals, late_facts, late_notice, not_in_lock
from rye.project.lock_file import Unlock, in_groups, is_stale, require_fixed
from rye.project.user_config import OtherPolicies
from rye.text.lazy import lazy_module
from rye.verified.memory import Memory, check_words, policies_hash, user_memory
from rye.verified.on_disk import Present, drift, scan
from rye.verified.require import verified_before
from rye.workspace.installing.following import follow
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_session import InstallSession, Look, open_session, retry_when_overtaken
from rye.workspace.registries.project_registries import refuse_other_pins, same_registries
from rye.workspace.trusting.acceptance import remember

if TYPE_CHECKING:
    from rye.project.layout import Project
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Agree, InstallRequest

if TYPE_CHECKING:
    from rye.installation import completeness, environment, plan, sources
    from rye.items.identity import Identity
    from rye.items.signed_release import SignedRelease
    from rye.permissions import policy as policies_of_rights
    from rye.project.lock import Lock, LockedItem
    from rye.project.manifest import Manifest
    from rye.registry import airgap
    from rye.workspace.context import Context
    from rye.workspace.installing.project_state import ProjectState
    from rye.workspace.registries import registry_access
else:  # not needed for a lock that is known to be complete, approved and not restricted
    completeness = lazy_module("rye.installation.completeness")
    plan = lazy_module("rye.installation.plan")
    policies_of_rights = lazy_module("rye.permissions.policy")
    environment = lazy_module("rye.installation.environment")
    registry_access = lazy_module("rye.workspace.registries.registry_access")
    sources = lazy_module("rye.installation.sources")
    airgap = lazy_module("rye.registry.airgap")


def up_to_date(
    context: Context,
    state: ProjectState,
    manifest: Manifest,
    without: frozenset[str],
    present: Mapping[str, Present],
    policies: OtherPolicies,
) -> bool:
    """Whether the project is up to date. ``present``: the result of :func:`rye.verified.on_disk.scan`. ``policies``: those
    besides the project's.

    Raises RyeError ``lock-mismatch`` if the lock contradicts an item's release, and what
    :func:`rye.workspace.registries.project_registries.given_pins` raises.
    """
    refuse_other_pins(context)
    if state.conflicted or is_stale(state.lock, manifest):
        return False
    items = in_groups(state.lock.items, without)
    if drift(items, present) or any(item.approved.is_pending for item in items):
        return False
    if not same_registries(context, manifest, state.lock, state.project.root):
        return False
    if any(item.source is not None and item.source.path is not None for item in items) and not (
        registry_access.folders_match(context, manifest, state.project.root, state.lock.items)
    ):
        return False
    whole = (
        state.lock_bytes or b"",
        state.joined_manifests,
        policies_hash(context.home),
        state.lock.items,
    )
    with user_memory(context.home) as memory:
        known = not (state.lock.items or manifest.dependencies) or memory.knows_whole(*whole)
        plainly_approved = all(set(item.capabilities) <= set(item.approved.of("right")) for item in items)
        if known and plainly_approved and not policies.restrict(manifest):
            return True
        if not known:
            if not _verified_and_complete(memory, state.lock, manifest, items):
                return False
            if len(items) == len(state.lock.items):
                memory.remember_whole(*whole)
        return _approved(state.lock, items) and _allowed(memory, manifest, items, policies, context.now())


def _verified_and_complete(memory: Memory, lock: Lock, manifest: Manifest, items: Sequence[LockedItem]) -> bool:
    """Whether every row was verified here, and the lock is complete and approves what its releases run."""
    signed = memory.known(lock.items)
    if any(item.identity not in signed for item in items):
        return False
    check_words(lock.items, signed)
    if not all(_is_approved(item, signed[item.identity]) for item in items):
        return False
    return not completeness.problems(manifest, lock, signed)


def _is_approved(item: LockedItem, signed: SignedRelease) -> bool:
    """Whether the entry has every run and agent tool of its release, and approves all that it comes with. What older locks omit
    is asked about."""
    listed = (signed.runs, signed.agent_tools, signed.agent_limits) == (item.runs, item.agent_tools, item.agent_limits)
    return listed and not any(not_in_lock(item, signed))


def _approved(lock: Lock, items: Sequence[LockedItem]) -> bool:
    """Whether rye.lock approves what is installed."""
    return not any(change.needs_consent for change in plan.make_plan(lock, items).changes)


def _allowed(
    memory: Memory, manifest: Manifest, items: Sequence[LockedItem], policies: OtherPolicies, now: datetime
) -> bool:
    """Whether the policy allows the installed items, going by the lock. If not, the installation says why."""
    if not policies.restrict(manifest):
        return True
    policy = environment.policy_in_force(manifest, policies)
    if policies.organizations or policy.namespaces or policy.reviewers:
        known = memory.known(items)
        return all(
            item.identity in known and environment.installed_refusal(policy, item, known[item.identity], now) is None
            for item in sources.with_signers(items, known)
        )
    unclear = policy.sources != "path" or policy.signers
    from_sources = unclear and any(item.source is not None for item in items)
    signed = memory.known(items) if policy.facts or from_sources else {}
    if any(item.source is not None for item in items):
        items = sources.with_signers(items, signed)
    return all(_allows(policy, item, signed) for item in items)


def _allows(policy: policies_of_rights.Policy, item: LockedItem, signed: Mapping[Identity, SignedRelease]) -> bool:
    if (
        policies_of_rights.violations(policy, item.capabilities)
        or policies_of_rights.tool_violations(policy, item.tools)
        or not policy.accepts_signer([item.signer])
        or (item.source is not None and sources.source_refused(policy, item))
    ):
        return False
    if not policy.facts:
        return True
    release = signed.get(item.identity)
    if release is None:
        return False
    return not policies_of_rights.fact_violations(policy, ((m.fact, m.value) for m in release.mentions or ()))


def install(context: Context, project: Project, request: InstallRequest, agree: Agree) -> InstallOutcome:
    """Bring a project in line with its rye.toml and rye.lock."""
    return retry_when_overtaken(
        context, lambda: run_attempt(open_session(context, project, request, agree), Unlock.nothing())
    )


def run_attempt(session: InstallSession, unlock: Unlock) -> InstallOutcome:
    """Run one attempt to bring disk and lock in line with the session's manifest."""
    return replace(_attempted(session, unlock), policies=session.policies.organizations)


def _attempted(session: InstallSession, unlock: Unlock) -> InstallOutcome:
    if session.request.lock_use != "repair":
        require_fixed(session.before.lock.items, session.manifest)
    stale = session.request.lock_use != "repair" and is_stale(session.before.lock, session.manifest)
    look = None if stale else _look(session, unlock)
    if look is not None and look.in_order and not look.waiting:
        if session.request.airgap is not None:
            airgap.open_airgap(session.request.airgap.path)  # one that is named is read, though nothing is missing
        is_empty = not (session.manifest.dependencies or session.before.lock.items)
        return InstallOutcome(result="in-order", is_empty=is_empty, warnings=look.warned, followed=follow(session))
    from rye.workspace.installing.install_steps import (
        change_project,  # loads solver, client and plan, not needed if all is up to date
    )

    return change_project(session, unlock, look)


def _look(session: InstallSession, unlock: Unlock) -> Look:
    """The state of the project, and whether anything has to be done."""
    request, before = session.request, session.before
    warned = (*session.look_for_shadows(before.lock.items), *session.look_for_unused_overrides())
    present = scan(before.project)
    if request.lock_use == "frozen":
        session.refuse_edits("rye install", present)
        session.refuse_lost_flags(present)
    unchanged = unlock.is_nothing and session.keeps_manifests
    if not unchanged or not up_to_date(
        session.context, before, session.manifest, request.without, present, session.policies
    ):
        return Look(warned, in_order=False)
    items = in_groups(before.lock.items, request.without)
    changes = session.look_at_changes(items)
    moves = session.tell_moves(_moved(session, items))
    for line in moves.warnings:
        session.context.warn(line)
    warned += (*moves.warnings, *session.look_for_advisories(items))
    if request.dry_run:
        return Look(warned, in_order=True)
    agreement, others = session.agreement, [item for item in items if by_other_rules(item)]
    waiting = (*agreement.new_in(items), *changes, *moves.asks)
    if others:
        signed = verified_before(session.context.home, others)
        waiting += agreement.late_in(others, signed)
        late = late_facts(others, signed)
        if late and request.approved:
            return Look(warned, in_order=False)
        if late and not waiting:
            session.context.warn(*late_notice(late))
    agreed = tuple(moves.agreed(items))
    if not waiting and not agreement.trusts_lock and not session.first_own:
        remember(session.context.home, before.project, byte_approvals(agreed), accepts=True)
    return Look(warned, in_order=True, waiting=waiting, rows=agreed)


def _moved(session: InstallSession, items: Sequence[LockedItem]) -> Sequence[MovedRow]:
    """What of the installed items is not what this user agreed to last: a pull can bring rye.lock and installed files."""
    agreement = session.agreement
    moved = agreement.moved(items)
    if any(one.is_unseen for one in moved):  # rye.lock does not say who signed a source's item
        return agreement.moved(sources.with_signers(items, verified_before(session.context.home, items)))
    return moved
