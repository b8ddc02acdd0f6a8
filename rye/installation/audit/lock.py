"""Looks at the lock by itself: what it approves, leaves out or forces, and whether the policy allows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from rye.consent.agreement import late_alarms, refused_alarms
from rye.consent.sorts import SORTS
from rye.describing.words import mention_words
from rye.errors import RyeError
from rye.installation import completeness, shadows
from rye.installation.audit.finding import HELP, Finding, lock_mismatch
from rye.installation.outside_range import overruled
from rye.installation.shadows import Shadow
from rye.items.agent_tools import widened as widened_tools
from rye.items.identity import Identity
from rye.items.signed_release import Mention, SignedRelease
from rye.permissions.containment import diff
from rye.permissions.policy import Policy, fact_violations, tool_violations, violations
from rye.project.forced_versions import unused
from rye.project.layout import LOCK, MANIFEST
from rye.project.lock import Lock, LockedItem
from rye.project.lock_file import item_folder, item_path
from rye.project.manifest import Manifest
from rye.verified.memory import check_words


def audit_lock(items: Iterable[LockedItem], policy: Policy) -> list[Finding]:
    """Report rights and hooks that no one approved, and what the policy forbids."""
    findings = []
    for item in items:
        path, name = item_path(item), f"{item.identity} {item.version}"
        for change in diff(item.approved.of("right"), item.capabilities).widened:
            message = f"{name} has the right {change.pattern}, which no one approved."
            findings.append(
                Finding(
                    rule="unapproved-right",
                    severity="error",
                    message=message,
                    path=path,
                    item=item,
                    hint="`rye install` asks for it.",
                )
            )
        for hook in item.hooks:
            if hook not in item.approved.of("hook"):
                message = f"{name} has a hook that no one approved: when {hook.when}, execute {hook.item_type} {hook.item_id}."
                hint = f"It is denied; `rye hooks approve {item.identity}` approves it."
                findings.append(
                    Finding(
                        rule="unapproved-hook", severity="warning", message=message, path=path, item=item, hint=hint
                    )
                )
        findings.extend(
            Finding(rule="policy", severity="error", message=f"{name}: {violation.message}.", path=path, item=item)
            for violation in (*violations(policy, item.capabilities), *tool_violations(policy, item.tools))
        )
    return findings


_WITH_RULE = frozenset(("right", "hook", "run", "tool", "fact"))
"""Sorts whose findings have rules of their own; the others have that of rights."""


def audit_runs(items: Iterable[LockedItem], signed: Mapping[Identity, SignedRelease], policy: Policy) -> list[Finding]:
    """Report code that can run, agent tools and alarms that no one approved, and facts that the policy forbids."""
    findings = []
    ask = "`rye install` asks for it."
    for item in items:
        words = signed.get(item.identity)
        path, name = item_path(item), f"{item.identity} {item.version}"
        for run in words.runs if words is not None else item.runs:
            if run not in item.approved.of("run"):
                message = f"{name} contains code that can run and that no one approved: {run.what} {run.where}."
                findings.append(
                    Finding(rule="unapproved-run", severity="error", message=message, path=path, item=item, hint=ask)
                )
        for tool in widened_tools(item.approved.tools, words.tools if words is not None else item.tools):
            message = f"{name} has tools of the agent program that no one approved: {tool}."
            findings.append(
                Finding(rule="unapproved-tool", severity="error", message=message, path=path, item=item, hint=ask)
            )
        for sort in SORTS:
            if sort.name not in _WITH_RULE:
                for value in sort.beyond(sort.values(item.approved), sort.asked(words if words is not None else item)):
                    message = f"{name} comes with what no one approved: {sort.name} {sort.text(value)}."
                    findings.append(
                        Finding(
                            rule="unapproved-right", severity="error", message=message, path=path, item=item, hint=ask
                        )
                    )
        mentioned = (words.mentions or ()) if words is not None else ()
        for mention in refused_alarms(item, mentioned):
            message = f"{name} {mention_words(mention)}. No one approved that."
            findings.append(
                Finding(
                    rule="unapproved-fact",
                    severity="error",
                    message=message,
                    path=mention_path(item, mention),
                    item=item,
                    hint=ask,
                )
            )
        for mention in late_alarms(item, mentioned):
            message = f"{name} {mention_words(mention)}. The rules did not find that when it was approved."
            approve = f"`rye install --approve {item.identity}@{item.version}` approves it."
            findings.append(
                Finding(
                    rule="unapproved-fact",
                    severity="warning",
                    message=message,
                    path=mention_path(item, mention),
                    item=item,
                    hint=approve,
                )
            )
        findings.extend(
            Finding(rule="policy", severity="error", message=f"{name}: {violation.message}.", path=path, item=item)
            for violation in fact_violations(policy, ((mention.fact, mention.value) for mention in mentioned))
        )
    return findings


def mention_path(item: LockedItem, mention: Mention) -> str:
    """Return the installed file of a mention."""
    attached = {entry.path for entry in item.attached}
    return f"{item_folder(item)}/{mention.path}" if mention.path in attached else item_path(item)


def audit_completeness(manifest: Manifest, lock: Lock, signed: Mapping[Identity, SignedRelease]) -> list[Finding]:
    """Report where the lock is not complete for the manifest."""
    items = {str(item.identity): item for item in lock.items}
    return [
        Finding(
            rule=problem.rule,
            severity="error",
            message=f"{problem.item}: {problem.message}" + (f" ({' → '.join(problem.chain)})" if problem.chain else ""),
            path=LOCK,
            item=items.get(problem.item),
            hint="`rye install` repairs rye.lock."
            if problem.repairable
            else "Change rye.toml to resolve the conflict.",
            about=problem.item,
        )
        for problem in completeness.problems(manifest, lock, signed)
    ]


def audit_forced(manifest: Manifest, lock: Lock, signed: Mapping[Identity, SignedRelease]) -> list[Finding]:
    """Report what ``[overrides]`` forces: a warning if the version is outside a range that something asks for."""
    items = lock.by_identity()
    needs = {identity: tuple(words.needs(manifest.provides)) for identity, words in signed.items() if identity in items}
    findings = []
    for one in overruled(manifest, {identity: item.version for identity, item in items.items()}, needs):
        severity: Literal["warning", "info"] = "warning" if one.askers else "info"
        hint = HELP["forced-version"] if one.askers else None
        findings.append(
            Finding(
                rule="forced-version",
                severity=severity,
                message=f"{one.message}.",
                path=MANIFEST,
                item=items[one.identity],
                hint=hint,
            )
        )
    for override in unused(manifest.overrides, items):
        message, hint = override.unused
        findings.append(
            Finding(
                rule="unused-override",
                severity="warning",
                message=message,
                path=MANIFEST,
                item=None,
                hint=hint,
                about=override.key,
            )
        )
    return findings


def audit_shadows(found: Iterable[Shadow]) -> list[Finding]:
    """Report own items with the ids of installed ones."""
    return [
        Finding(
            rule=shadows.CODE, severity="error", message=each.message, path=each.own, item=each.item, hint=each.hint
        )
        for each in found
    ]


def audit_words(items: Iterable[LockedItem], signed: Mapping[Identity, SignedRelease]) -> list[Finding]:
    """Report hooks and agent tools in the lock that differ from the release's verified bytes."""
    findings = []
    for item in items:
        try:
            check_words([item], signed)
        except RyeError as error:
            findings.append(lock_mismatch(item, error))
    return findings
