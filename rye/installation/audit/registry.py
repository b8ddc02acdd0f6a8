"""Compares the lock with what registries and sources say now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from rye.errors import RyeError
from rye.installation.audit.finding import Finding, lock_mismatch
from rye.installation.silence import NotAsked
from rye.installation.sources import expect_origin, source_refused, with_signers
from rye.items.identity import Identity
from rye.items.signed_release import SignedRelease
from rye.permissions.containment import diff
from rye.permissions.policy import Policy
from rye.project.layout import LOCK
from rye.project.lock import LockedFile, LockedItem
from rye.project.lock_file import item_path
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
from rye.verified.memory import check_row

if TYPE_CHECKING:
    from rye.installation.environment import Environment
    from rye.installation.sources import Sources
    from rye.registry.store.seen_advisories import Seen


_NAMED = 3
"""So many items are named of a registry that did not answer."""


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
            findings.append(lock_mismatch(item, error))
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


def audit_silent(held: Iterable[tuple[LockedItem, RyeError]]) -> list[Finding]:
    """Report registries that did not answer: what they say now is unknown. Such a finding is about no item, so nothing in
    rye.toml can ignore it, and whoever silences a registry cannot make an audit look clean."""
    reasons: dict[str, tuple[RyeError, list[LockedItem]]] = {}
    for item, why in held:
        reasons.setdefault(why.message, (why, []))[1].append(item)
    findings = []
    for why, items in reasons.values():
        names = ", ".join(str(item.identity) for item in items[:_NAMED]) + (", …" if len(items) > _NAMED else "")
        message = NotAsked(items[0].registry, why).told(f"Nobody knows what it says now of {names}.")
        findings.append(Finding(rule="not-examined", severity="error", message=message, path=LOCK, hint=why.hint))
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
        for kind, begins in ((Exclusion.SOURCE, "is refused: "), (Exclusion.HELD, "is held back ")):
            if kind in excluded:
                message = f"{name} {begins}{excluded[kind]}."
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
        found.append(lock_mismatch(item, error))
    return found
