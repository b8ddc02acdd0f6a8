"""Audits an installation: compares the lock, the files on disk and the registries' current state, and returns findings.

=================  ===========  ==========================================================================================
Rule               Severity     What it says
=================  ===========  ==========================================================================================
modified-file      error        An installed file differs from the lock (and so from what the publisher signed).
missing-file       error        A file of the lock is missing.
wrong-flag         error        An installed file's executable bit differs from the release's.
extra-file         error        A file that Rye did not install is among the installed ones; agent tools would read it.
revoked-key        error        The release is signed with a key that was revoked.
changed-release    error        The registry no longer has the release as the lock names it.
lock-mismatch      error        The lock contradicts the release itself.
not-examined       error        The release could not be checked, e.g. because its bytes could not be fetched.
policy             error        The policy forbids what the item asks for, its signer, or a release as young as this one.
advisory           error        An advisory is about this version (a warning when its severity is low).
advisory-vanished  error        The registry's index lacks an advisory that this machine saw and no one withdrew.
unapproved-right   error        The item has a right that no one approved.
unapproved-hook    warning      The item has a hook that no one approved; it is denied.
unapproved-run     error        Part of the item can run, and no one approved it, or only other bytes were approved.
unapproved-tool    error        The item may use more tools of the agent program, or is less restricted, than approved.
unapproved-fact    error        The item mentions something alarming that no one approved.
unapproved-change  error         A customization of the project changes an item, and you have not agreed to it here.
pending-recovery   warning      The registry's owners will give a namespace to other keys, unless its own owners object.
yanked             warning      The publisher yanked this version.
unsigned           info         The item comes from a git repository or a folder, without a signature by a trusted key.
source-changed     error        A folder that an item comes from differs from what the lock says.
editable-source    warning      An item is used straight from an editable folder: the lock pins nothing of it.
shadows-installed  error        One of the project's own items has an installed item's id and would be used instead.
customization-lapsed  error     A customization no longer applies (a warning in the user's own space).
G1 … G6            error        The lock is not complete for rye.toml (:mod:`rye.installation.completeness`).
deprecated         warning      The item should no longer be used.
forced-version     warning      [overrides] of rye.toml forces a version outside of what others ask for (otherwise info).
unused-override    warning      A line of [overrides] of rye.toml has no effect.
absent-item        warning      The item names another one that is not installed.
deploy-missing     warning      An item is not deployed yet to a target that rye.toml names.
deploy-drift       error        A deployed file was edited.
not-as-deployed    error        A deployed file is missing, or from another version, or from other customizations.
deploy-stale       warning      A deployed file is as it should be, and its row in .ai/deploy.lock is from another version.
deploy-conflict    error        A file that Rye did not write takes the place of a deployed one.
deploy-unchecked   error        The deployed files cannot be compared.
unexplained-hook   info         An agent program's project settings name a hook that no deployed item explains.
unexplained-server info         They name a server that no deployed item explains.
=================  ===========  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.agreement import late_alarms, refused_alarms
from rye.consent.sorts import SORTS
from rye.describing.words import mention_words
from rye.errors import RyeError
from rye.installation import completeness, shadows
from rye.installation.outside_range import overruled
from rye.installation.shadows import Shadow
from rye.installation.sources import expect_origin, source_refused, with_signers
from rye.items.agent_tools import widened as widened_tools
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.items.named import ABSENT
from rye.items.signed_release import Mention, SignedRelease
from rye.permissions.containment import diff
from rye.permissions.policy import Policy, fact_violations, tool_violations, violations
from rye.project.forced_versions import unused
from rye.project.layout import LOCK, MANIFEST, Project
from rye.project.lock import Lock, LockedFile, LockedItem
from rye.project.lock_file import item_folder, item_path
from rye.project.manifest import Manifest
from rye.registry.protocol.lines import write_time
from rye.registry.trust.keysets import Link
from rye.registry.trust.records import (
    ItemHistory,
    ReleaseRecord,
    advisory_words,
    find_locked,
    is_about_nothing,
    slot_of,
)
from rye.registry.trust.trust_error import TrustError
from rye.resolution.problem import Exclusion
from rye.signing.keys import PublicKey
from rye.verified.memory import check_row, check_words
from rye.verified.on_disk import DISCARDS, RESTORES, Present, drift, explained

if TYPE_CHECKING:
    from rye.installation.environment import Environment
    from rye.installation.sources import Sources
    from rye.registry.store.seen_advisories import Seen

RULES: Mapping[str, str] = {
    "modified-file": "An installed file differs from what its publisher signed.",
    "missing-file": "An installed file is missing.",
    "wrong-flag": "An installed file is executable but should not be, or the reverse.",
    "extra-file": "A file among the installed ones was not installed by Rye.",
    "revoked-key": "The release is signed with a revoked key, or the key you want to use is revoked.",
    "changed-release": "The registry no longer has the release that rye.lock records.",
    "lock-mismatch": "rye.lock and the publisher's signed release disagree.",
    "not-examined": "A release could not be examined, so its state is unknown.",
    "policy": "The policy forbids what an installed item asks for, its signer, or its age.",
    "advisory": "A security advisory affects a version that you use.",
    "advisory-vanished": "The registry no longer shows an advisory that this machine saw, although nobody withdrew it.",
    "unapproved-right": "An item has an unapproved right.",
    "unapproved-hook": "An item has an unapproved hook, which is denied.",
    "unapproved-run": "An item contains something that can run and is not approved, or has changed since.",
    "unapproved-tool": "An item can use tools of the agent program that are not approved.",
    "unapproved-fact": "An item mentions something alarming that no one approved.",
    "unapproved-change": "A customization in the project changes an item, and you have not agreed to it on this machine.",
    "pending-recovery": "The registry is about to transfer a namespace that you use to other keys.",
    "yanked": "The publisher withdrew an installed version.",
    "deprecated": "The publisher says that the item should no longer be used.",
    "forced-version": "[overrides] in rye.toml forces a version that other items do not ask for.",
    "unused-override": "A line of [overrides] in rye.toml forces nothing.",
    ABSENT: "The item names another item that is not installed.",
    "unsigned": "The item comes from a git repository or folder, and no key that counts here signed it.",
    "source-changed": "A folder that an item comes from does not match rye.lock.",
    "editable-source": "Items of an editable folder are used in place, so rye.lock does not pin their content.",
    "deploy-missing": "A file is missing that rye.toml deploys to a target.",
    "not-as-deployed": "A file that an agent program reads is not what the installed item gives.",
    "deploy-drift": "A deployed file was edited.",
    "deploy-stale": "The record of a deployed file is out of date: the version or the customizations have changed.",
    "deploy-conflict": "A file that Rye did not write is where it would deploy one.",
    "deploy-unchecked": "The deployed files cannot be checked.",
    "unexplained-hook": "An agent program's settings name a hook that no deployed item explains.",
    "unexplained-server": "An agent program's settings name a server that no deployed item explains.",
    shadows.CODE: "An item of your own has the id of an installed one and would be used in its place.",
    "customization-lapsed": "A customization in the project no longer applies, so the items would be used without it.",
    **completeness.RULES,
}


SEVERITIES = ("error", "warning", "info")

_INSTALL = (
    "Run `rye install` on a terminal: it shows {} and asks. Without a terminal: `rye install --approve ID@VERSION`."
)
_CHECK = "Check it: Rye did not write it, but anyone who can commit could have."
_REPAIR = "Run `rye install` to repair `rye.lock`, and commit it. `rye lock --check` lists all problems."
_FIND_OUT = f"{_REPAIR} If no one edited the lock by accident, find out who changed it."

HELP: Mapping[str, str] = {
    "modified-file": (
        "Run `rye install --discard-local-edits` to restore it as `rye.lock` has it, or move your change "
        "into an override."
    ),
    "missing-file": "Run `rye install`.",
    "wrong-flag": "Run `rye install`; it corrects executable bits.",
    "extra-file": (
        "Move it out of `.ai/packages`: agent programs read everything in that folder. Your own items belong in `.ai`."
    ),
    "revoked-key": (
        "Run `rye update ID` to look for a release that another key signed, or `rye remove ID`. A revocation "
        "cannot be undone: for a key of yours, `rye keys generate` creates another."
    ),
    "changed-release": (
        "Compare `rye.lock` with version control: `git log -p rye.lock`. If no one edited it, install "
        "nothing from the registry and tell its operator; `rye log verify` checks the log."
    ),
    "lock-mismatch": (
        "Compare `rye.lock` with version control: `git log -p rye.lock` shows who changed it. Restore it, "
        "then run `rye install`."
    ),
    "not-examined": "Run `rye audit` again when the registry answers. Until then the item is not checked.",
    "policy": "Choose another item or version, or ask the people responsible for the policy to change it.",
    "advisory-vanished": (
        "Treat the advisory as in force. `rye log verify` finds what the registry leaves out: tell its operator, or ask a mirror."
    ),
    "advisory": "Read it with `rye advisory list ID`, then run `rye update ID` or `rye remove ID`.",
    "unapproved-right": _INSTALL.format("the right"),
    "unapproved-hook": "It is denied. Read it, then run `rye hooks approve ID` if you want it.",
    "unapproved-run": _INSTALL.format("what can run"),
    "unapproved-tool": _INSTALL.format("them"),
    "unapproved-fact": _INSTALL.format("the line") + " `rye facts ID` shows all of them.",
    "unapproved-change": (
        "`rye trust project` shows what it changes and asks. If nobody in your project wrote it, remove the file."
    ),
    "pending-recovery": (
        "Ask its owners whether they lost their keys. If not, they should run `rye namespace object NAMESPACE`."
    ),
    "yanked": "Read the reason in the message, then run `rye update ID` or `rye remove ID`.",
    "deprecated": "Move to the replacement in the message, then run `rye remove ID`.",
    "forced-version": "Remove the line from `[overrides]` once the items that it is for ask for a version that fits.",
    "unused-override": "Check its spelling with `rye tree`, or remove the line.",
    shadows.CODE: "Rename your item, or remove it and use the installed one.",
    "unsigned": (
        "No publisher vouches for its text, so read what changes: `rye diff ID` before an update. `[policy] sources` says where "
        "items may come from."
    ),
    "source-changed": "Run `rye install`: it shows what changed and writes `rye.lock`.",
    "editable-source": (
        "Remove `editable = true` from `[sources]` in `rye.toml` before others rely on the project, then run "
        "`rye install`."
    ),
    "deploy-missing": "Run `rye deploy`.",
    "deploy-drift": "`rye deploy --overwrite-edited ID` discards the edit. To keep it, move it into an override, "
    "of a formula into an overlay; of a skill, `rye override new ID --file PATH` takes a whole file.",
    "deploy-stale": "Run `rye deploy`.",
    "deploy-conflict": "Move the file away, or take it over with `rye deploy --adopt PATH` if it is identical.",
    ABSENT: "Add the item with `rye add KIND:ID`. If its name is wrong, correct the text, or tell its publisher.",
    "not-as-deployed": (
        "`rye deploy` writes such files, and says what it would discard; commit what it wrote. `rye deploy --check` lists all. "
        "`rye install` and `rye ci` only compare. If nobody here made the difference, find out who did."
    ),
    "deploy-unchecked": "Run `rye deploy --check`; the message says why.",
    "unexplained-hook": _CHECK,
    "unexplained-server": _CHECK,
    "customization-lapsed": (
        "Renew it with `rye override edit ID` or `rye overlay edit FORMULA`, or remove the file, and commit that."
    ),
    **dict.fromkeys(completeness.RULES, _REPAIR),
    **dict.fromkeys(("G2", "G5"), _FIND_OUT),
    "G6": "Change `rye.toml` to resolve the conflict. `rye why ID` shows why an item is here.",
}
"""Rule → what to do, for programs that show it next to a finding."""

_WARNINGS = frozenset(
    (
        "unapproved-hook",
        "pending-recovery",
        "yanked",
        "deprecated",
        "forced-version",
        "unused-override",
        ABSENT,
        "deploy-missing",
        "deploy-stale",
    )
)
_NOTES = frozenset(("unexplained-hook", "unexplained-server", "unsigned"))
RULE_SEVERITIES: Mapping[str, str] = {
    rule: "info" if rule in _NOTES else "warning" if rule in _WARNINGS else "error" for rule in RULES
}
"""Rule → the severity of its findings, except for advisories of low severity."""

_DRIFT = {
    "changed": ("modified-file", "was changed"),
    "missing": ("missing-file", "is missing"),
    "wrong-flag": ("wrong-flag", "has a different executable bit than in its release"),
}


class Finding(Struct, frozen=True, kw_only=True):
    """One result of an audit."""

    rule: str
    severity: Literal["error", "warning", "info"]
    """``info`` never fails an audit by default."""
    message: str
    path: str
    """The file, relative to the project: the item's main file for an item, the lock for a namespace."""
    item: LockedItem | None = None
    hint: str | None = None
    about: str | None = None
    """``[kind:]id`` of an item that is not locked."""
    advisory: str | None = None
    """The number of the advisory."""
    line: int = 1
    """The line in ``path``."""

    @property
    def names(self) -> frozenset[str]:
        """The names by which ``[audit] ignore`` can refer to it."""
        item = str(self.item.identity) if self.item is not None else self.about or ""
        items = [item] if ":" in item or not item else [f"{kind}:{item}" for kind in KINDS]
        found = {f"{self.rule}:{name}" for name in items if name}
        return frozenset(found | ({self.advisory} if self.advisory is not None else set()))

    def as_json(self) -> dict[str, object]:
        """Return the finding as ``rye audit --json`` prints it."""
        return {
            **({"code": "lock-does-not-fit"} if self.rule in completeness.RULES else {}),
            "rule": self.rule,
            "severity": self.severity,
            "message": self.message,
            "path": self.path,
            "item": str(self.item.identity) if self.item is not None else None,
            "version": self.item.version if self.item is not None else None,
            "hint": self.hint,
        }


def audit_disk(project: Project, items: Iterable[LockedItem], present: Mapping[str, Present]) -> list[Finding]:
    """Compare files with the lock. ``present``: the result of :func:`rye.verified.on_disk.scan`."""
    findings = []
    for entry in drift(items, present):
        name = f" of {entry.item.identity} {entry.item.version}" if entry.item is not None else ""
        if entry.state == "extra":
            finding = Finding(
                rule="extra-file", severity="error", message=f"{entry.path} was not installed by Rye.", path=entry.path
            )
        else:
            rule, verb = _DRIFT[entry.state]
            verb, hint = explained(project, entry, DISCARDS, RESTORES) or (verb, None)
            finding = Finding(
                rule=rule,
                severity="error",
                message=f"{entry.path}{name} {verb}.",
                path=entry.path,
                item=entry.item,
                hint=hint,
            )
        findings.append(finding)
    return findings


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
            findings.append(
                Finding(
                    rule="lock-mismatch",
                    severity="error",
                    message=error.message,
                    path=item_path(item),
                    item=item,
                    hint=error.hint,
                )
            )
    return findings


def audit_origin(items: Iterable[LockedItem], sources: Sources) -> list[Finding]:
    """Report items that are locked to a different registry than their namespace is mapped to."""
    findings = []
    for item in items:
        if item.source is not None:
            continue
        try:
            expect_origin(sources.client(item.identity.namespace), item.registry, f"{item.identity} {item.version}")
        except RyeError as error:
            if error.code != "other-registry":
                raise
            findings.append(
                Finding(
                    rule="lock-mismatch",
                    severity="error",
                    message=error.message,
                    path=item_path(item),
                    item=item,
                    hint=error.hint,
                )
            )
    return findings


def audit_refused(refused: Iterable[tuple[LockedItem, RyeError]]) -> list[Finding]:
    """Report rows that could not be verified. An item whose bytes could not be fetched is reported as not examined, because
    the release's note alone lacks hooks' conditions and what can run."""
    findings = []
    for item, error in refused:
        rule, message = "not-examined", f"{item.identity} {item.version} could not be checked: {error.message}"
        if error.code == "source-changed":
            rule, message = error.code, error.message
        elif error.code == "lock-mismatch" or (isinstance(error, TrustError) and error.code != "blob-missing"):
            rule = "lock-mismatch" if error.code == "lock-mismatch" else "changed-release"
            message = error.message
        findings.append(
            Finding(rule=rule, severity="error", message=message, path=item_path(item), item=item, hint=error.hint)
        )
    return findings


def audit_registry(
    items: Iterable[LockedItem], histories: Mapping[Identity, ItemHistory], environment: Environment
) -> list[Finding]:
    """Report statements about these releases since they were locked, violations of the current policy, and differences
    between the lock and the releases."""
    findings = []
    for item in items:
        path, name = item_path(item), f"{item.identity} {item.version}"
        update = f"`rye update {item.identity}` looks for another version."
        try:
            record = find_locked(histories.get(item.identity), item.identity, item.version, item.sha256)
        except RyeError as error:
            findings.append(
                Finding(
                    rule="changed-release",
                    severity="error",
                    message=error.message,
                    path=path,
                    item=item,
                    hint=error.hint,
                )
            )
            continue
        findings.extend(_hidden_by_lock(item, record, path, name))
        findings.extend(_mismatches(item, record, path, name))
        excluded = environment.exclusions(record)
        if Exclusion.REVOKED in excluded:
            message = f"{name} is signed with a key that was revoked."
            findings.append(
                Finding(rule="revoked-key", severity="error", message=message, path=path, item=item, hint=update)
            )
        if Exclusion.OTHER_SIGNER in excluded:
            message = f"{name} is not signed by a key that the policy requires."
            findings.append(
                Finding(rule="policy", severity="error", message=message, path=path, item=item, hint=update)
            )
        if (why := excluded.get(Exclusion.TOO_NEW)) is not None:
            message = f"{name} is younger than the policy's minimum-release-age ({why})."
            findings.append(
                Finding(
                    rule="policy",
                    severity="error",
                    message=message,
                    path=path,
                    item=item,
                    hint=f"Wait until it is old enough; {update}",
                )
            )
        if record.yank is not None:
            findings.append(
                Finding(
                    rule="yanked",
                    severity="warning",
                    message=f"{name} was yanked: {record.yank.reason}",
                    path=path,
                    item=item,
                    hint=update,
                )
            )
        if record.deprecation is not None:
            instead = record.deprecation.replacement
            hint = f"Use {instead} instead." if instead else None
            message = f"{item.identity} is deprecated: {record.deprecation.reason}"
            findings.append(
                Finding(rule="deprecated", severity="warning", message=message, path=path, item=item, hint=hint)
            )
        for advisory in record.advisories:
            message = f"{name}: {advisory_words(advisory)}"
            severity: Literal["error", "warning"] = "warning" if advisory.severity == "low" else "error"
            findings.append(
                Finding(
                    rule="advisory",
                    severity=severity,
                    message=message,
                    path=path,
                    item=item,
                    hint=update,
                    advisory=advisory.number,
                )
            )
    return findings


def audit_vanished(
    items: Iterable[LockedItem],
    histories: Mapping[Identity, ItemHistory],
    sizes: Mapping[str, int],
    seen: Mapping[str, Seen],
) -> list[Finding]:
    """Report advisories about these items that this machine saw in a log no larger than the registry's and that its index now
    lacks, or replaces by an older one, although nobody withdrew them. ``sizes``, ``seen``: by the registry's origin."""
    findings = []
    for item in items:
        before, history = seen.get(item.registry, {}).get(str(item.identity)), histories.get(item.identity)
        if before is None or history is None or before.size > sizes[item.registry]:
            continue
        here = {slot_of(advisory): advisory for advisory in history.advisories}
        for advisory in before.advisories:
            now = here.get(slot_of(advisory))
            disowned = advisory.keyset is not None and advisory.number in history.disowned
            if is_about_nothing(advisory) or disowned or (now is not None and now.time >= advisory.time):
                continue
            message = (
                f"{item.registry} no longer shows, about {item.identity}, {advisory_words(advisory)}. "
                "This machine saw it, and nobody withdrew it."
            )
            findings.append(
                Finding(
                    rule="advisory-vanished",
                    severity="error",
                    message=message,
                    path=item_path(item),
                    item=item,
                    hint="Treat it as in force, and tell the registry's operator. `rye log verify` finds what is left out.",
                )
            )
    return findings


def audit_sources(
    items: Iterable[LockedItem], signed: Mapping[Identity, SignedRelease], policy: Policy
) -> list[Finding]:
    """Report unsigned items, and items whose source the policy does not allow."""
    findings = []
    for item in with_signers([item for item in items if item.source is not None], signed):
        path, name = item_path(item), f"{item.identity} {item.version}"
        if item.is_unsigned:
            findings.append(
                Finding(rule="unsigned", severity="info", message=f"{name} is {item.how_signed}.", path=path, item=item)
            )
        if item.is_editable:
            message = f"{name} is used straight from the folder {item.registry}; nothing is verified."
            findings.append(Finding(rule="editable-source", severity="warning", message=message, path=path, item=item))
        refused = source_refused(policy, item)
        if refused is None and not policy.accepts_signer([item.signer]):
            refused = "it is not signed by a key that the policy requires"
        if refused is not None:
            findings.append(
                Finding(rule="policy", severity="error", message=f"{name}: {refused}.", path=path, item=item)
            )
    return findings


def audit_recoveries(pending: Iterable[Link]) -> list[Finding]:
    """Report namespaces that are about to get other keys, so that a different owner signs their later releases."""
    findings = []
    for link in pending:
        namespace = link.keyset.namespace
        assert link.keyset.recovery is not None
        keys = ", ".join(PublicKey(key).fingerprint for key in link.keyset.keys)
        time = write_time(link.keyset.recovery)
        message = f"The registry's owners will give the namespace {namespace!r} to other keys at {time}: {keys}."
        hint = (
            f"Ask its owners whether they lost their keys. If not, they can object: `rye namespace object {namespace}`."
        )
        findings.append(Finding(rule="pending-recovery", severity="warning", message=message, path=LOCK, hint=hint))
    return findings


def _hidden_by_lock(item: LockedItem, record: ReleaseRecord, path: str, name: str) -> list[Finding]:
    """Report rights and hooks of the signed release that an edited rye.lock leaves out to hide that they need approval."""
    hint = "Restore rye.lock from version control, then run `rye install`."
    found = [
        Finding(
            rule="unapproved-right",
            severity="error",
            message=f"{name} has the right {c.pattern}, which rye.lock hides.",
            path=path,
            item=item,
            hint=hint,
        )
        for c in diff(item.capabilities, record.release.capabilities).widened
    ]
    locked = {(hook.item_type, hook.item_id) for hook in item.hooks}
    for hook in record.release.hooks:
        if (hook.item_type, hook.item_id) not in locked:
            message = f"{name} has a hook, which rye.lock hides: execute {hook.item_type} {hook.item_id}."
            found.append(
                Finding(rule="unapproved-hook", severity="error", message=message, path=path, item=item, hint=hint)
            )
    return found


def _mismatches(item: LockedItem, record: ReleaseRecord, path: str, name: str) -> list[Finding]:
    """Report other differences between the lock and the release that it names."""
    release, found = record.release, []
    if item.log != record.line.log:
        message = f"{name} is at position {record.line.log} of the registry's log; rye.lock says {item.log}."
        hint = "Someone changed rye.lock, or the registry was replaced. Compare rye.lock with version control."
        found.append(Finding(rule="lock-mismatch", severity="error", message=message, path=path, item=item, hint=hint))
    hidden = set(release.capabilities) - set(item.capabilities)
    true = replace(
        item,
        size=release.file.size,
        suffix=release.file.suffix,
        registry=release.origin,
        keyset=release.keyset,
        signer=PublicKey(record.signers[0]).fingerprint,
        attached=tuple(LockedFile(a.path, a.size, a.sha256, a.executable) for a in release.attached),
        capabilities=item.capabilities if hidden else release.capabilities,
    )
    try:
        check_row(item, true)
    except RyeError as error:
        found.append(
            Finding(
                rule="lock-mismatch", severity="error", message=error.message, path=path, item=item, hint=error.hint
            )
        )
    return found


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings by severity, rule and path."""
    return sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), list(RULES).index(f.rule), f.path, f.message))
