"""Auditing an installation against the disk, the lock, the policy and the registries' current state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.customized import Customization
from rye.errors import RyeError, UsageError
from rye.installation.audit.choice import SetAside, check_rules, set_aside
from rye.installation.audit.disk import audit_disk
from rye.installation.audit.finding import Finding, in_order
from rye.installation.audit.lock import (
    audit_completeness,
    audit_forced,
    audit_lock,
    audit_runs,
    audit_shadows,
    audit_words,
    mention_path,
)
from rye.installation.audit.registry import (
    audit_origin,
    audit_recoveries,
    audit_refused,
    audit_registry,
    audit_silent,
    audit_sources,
    audit_vanished,
)
from rye.installation.environment import Environment
from rye.installation.sarif import Mentioned, sarif
from rye.installation.shadows import project_shadows
from rye.installation.sources import Sources
from rye.items.identity import Identity
from rye.items.named import ABSENT
from rye.items.signed_release import SignedRelease
from rye.project.layout import LOCK, Project
from rye.project.lock import LockedItem, row_lines
from rye.project.lock_file import in_groups, item_files, item_path, require_groups
from rye.registry.store.seen_advisories import Seen, read_advisories
from rye.verified.on_disk import scan
from rye.verified.require import verified_before
from rye.workspace.context import Context
from rye.workspace.customizing.lapsed import CustomizationChecks, Lapsed, lapsed_customizations
from rye.workspace.installing.install_session import retry_when_overtaken
from rye.workspace.installing.project_state import read_state
from rye.workspace.items.absences import absent_from_installed
from rye.workspace.registries.pinned_registries import cosigners
from rye.workspace.registries.registry_access import judging_environment, project_sources
from rye.workspace.trusting.acceptance import trusts_lock
from rye.workspace.trusting.project_changes import not_agreed
from rye.workspace.trusting.row_verification import verify_each

_ABOUT_ROWS = ("lock-mismatch", "changed-release", "revoked-key", "unapproved-right", "unapproved-hook")
"""Findings that a row's verification would only repeat."""


class AuditedHead(Struct, frozen=True):
    """The head of a registry with a policy of witnesses, which the audit trusted: its entries, and who cosigned it, each with the
    time."""

    registry: str
    size: int
    cosigned_by: tuple[str, ...]


class Audit(Struct, frozen=True):
    """The result of an audit."""

    findings: tuple[Finding, ...]
    """By severity, rule and place."""
    items: int
    ignored: tuple[SetAside, ...] = ()
    """The findings that ``[audit] ignore`` in rye.toml ignores, in the same order."""
    mentioned: tuple[Mentioned, ...] = ()
    """What the verified installed items mention. These are not findings, so they fail nothing."""
    heads: tuple[AuditedHead, ...] = ()
    """By address."""

    def joined(self, more: Iterable[Finding]) -> Audit:
        """This audit with more findings about the same project."""
        return replace(self, findings=tuple(in_order([*self.findings, *more])))

    def as_sarif(self) -> dict[str, object]:
        """The findings as SARIF 2.1.0."""
        return sarif(self.findings, self.mentioned)


def audit(
    context: Context,
    project: Project,
    without: frozenset[str] = frozenset(),
    *,
    customizations: CustomizationChecks | None = None,
) -> Audit:
    """Check a project. ``without``: groups whose items are skipped; the lock is still checked as a whole. ``customizations``: of
    a caller who asks for them more than once.

    A registry that does not answer is a finding, which nothing in rye.toml can ignore. If one must not be asked, or answers
    wrongly, its error is raised with the other findings: as warnings, and as ``findings`` in its details. Raises UsageError
    ``unknown-name``.
    """
    return retry_when_overtaken(context, lambda: _audit(context, project, without, customizations))


def _audit(
    context: Context, project: Project, without: frozenset[str], customizations: CustomizationChecks | None
) -> Audit:
    state = read_state(context, project)
    manifest = state.manifest
    require_groups(manifest, without)
    check_rules(manifest.ignored)
    items = tuple(in_groups(state.lock.items, without))
    left_out = {path for item in state.lock.items if item not in items for path in item_files(item)}
    present = {path: here for path, here in scan(project).items() if path not in left_out}
    environment = judging_environment(context, manifest)
    hidden = project_shadows(context.home, project, manifest.namespace, items)
    findings = [*audit_disk(project, items, present), *audit_lock(items, environment.policy), *audit_shadows(hidden)]
    signed = verified_before(context.home, items)
    unfit = audit_completeness(manifest, state.lock, signed)
    heads: tuple[AuditedHead, ...] = ()
    if items:
        try:
            with (
                project_sources(context, manifest, project.root, outages="hold", rejudges=True) as sources,
                context.progress("asking the registries"),
            ):
                seen = _seen(context, items)
                findings.extend(_registry_findings(items, sources, environment, signed, seen))
                heads = _heads(sources)
                unfit = audit_completeness(manifest, state.lock, signed)
        except RyeError as error:
            if error.code == "policy-changed":
                raise
            raise _with_findings(context, error, in_order([*findings, *unfit])) from error
    findings.extend([*unfit, *_new_words(findings, audit_words(items, signed))])
    findings.extend(audit_runs(items, signed, environment.policy))
    findings.extend(audit_forced(manifest, state.lock, signed))
    findings.extend(_lapsed(lapsed_customizations(context, customizations)))
    findings.extend(_absent(context, project))
    changes = not_agreed(context.home, project, manifest, items, trusts_lock=trusts_lock(context))
    findings.extend(_changes([one for _, one in changes], items))
    kept, aside = set_aside(in_order(findings), manifest.ignored, context.now().date())
    lines = row_lines((state.lock_bytes or b"").decode("utf-8", "replace"))
    placed = tuple(replace(one, line=_line_of(one, lines)) if one.path == LOCK else one for one in kept)
    return Audit(placed, len(items), tuple(aside), _mentioned(items, signed), heads)


def _seen(context: Context, items: Iterable[LockedItem]) -> dict[str, Seen]:
    """What this machine has seen of advisories, by the registry's origin. An audit that could not read it may miss one that a
    registry now leaves out. Raises RyeError ``state-damaged`` and ``state-exposed``."""
    origins = dict.fromkeys(item.registry for item in items if item.source is None)
    return {origin: read_advisories(context.home.registries, origin) for origin in origins}


def _heads(sources: Sources) -> tuple[AuditedHead, ...]:
    return tuple(AuditedHead(where, head.checkpoint.size, cosigners(head)) for where, head in sources.cosigned())


def _line_of(finding: Finding, lines: Mapping[str, int]) -> int:
    """The line of rye.lock that a finding is about."""
    item = str(finding.item.identity) if finding.item is not None else finding.about or ""
    return next((line for name, line in lines.items() if item in (name, name.partition(":")[2])), 1)


def _lapsed(customizations: Iterable[Lapsed]) -> list[Finding]:
    return [
        Finding(
            rule="customization-lapsed",
            severity="error" if one.in_project else "warning",
            message=one.message,
            path=one.shown,
            hint=one.hint,
            about=one.item,
            line=one.line,
        )
        for one in customizations
    ]


def _absent(context: Context, project: Project) -> list[Finding]:
    return [
        Finding(
            rule=ABSENT,
            severity="warning",
            message=one.message,
            path=item_path(one.item),
            item=one.item,
            hint=one.absent.hint,
            line=one.absent.line or 1,
        )
        for one in absent_from_installed(context, project)
    ]


def _changes(found: Sequence[Customization], items: Sequence[LockedItem]) -> list[Finding]:
    """A finding for each customization that this user has not agreed to. ``items``: the installed ones."""
    rows = {str(item.identity): item for item in items}
    return [
        Finding(
            rule="unapproved-change",
            severity="error",
            message=f"{one.shown} {one.does} {one.item}, and you have not agreed to it on this machine.",
            path=one.shown,
            item=rows.get(one.item),
            hint="`rye trust project` shows what it changes and asks.",
            about=one.item,
        )
        for one in found
    ]


def _mentioned(items: Iterable[LockedItem], signed: Mapping[Identity, SignedRelease]) -> tuple[Mentioned, ...]:
    rows = []
    for item in items:
        words = signed.get(item.identity)
        for mention in (words.mentions or ()) if words is not None else ():
            rows.append(Mentioned(str(item.identity), item.version, mention_path(item, mention), mention))
    return tuple(rows)


def _new_words(findings: Sequence[Finding], more: Sequence[Finding]) -> list[Finding]:
    """The findings that do not repeat what the registry said about the same item."""
    known = {
        finding.item for finding in findings if finding.rule in ("lock-mismatch", "unapproved-right", "unapproved-hook")
    }
    return [finding for finding in more if finding.item not in known]


def _with_findings(context: Context, error: RyeError, findings: Sequence[Finding]) -> RyeError:
    for finding in findings:
        context.warn(finding.message)
    details = {"findings": [finding.as_json() for finding in findings], **error.details}
    family = UsageError if isinstance(error, UsageError) else RyeError
    return family(error.code, error.message, error.hint, details=details)


def _registry_findings(
    items: Iterable[LockedItem],
    sources: Sources,
    environment: Environment,
    signed: dict[Identity, SignedRelease],
    seen: Mapping[str, Seen],
) -> list[Finding]:
    """The registries' findings. ``signed`` receives the releases' statements about rows not verified here before. ``seen``: the
    advisories that this machine knows, by origin."""
    items = list(items)
    released = [item for item in items if item.source is None]
    sources.held(released)  # asks all of them
    foreign = audit_origin([item for item in released if sources.tells_of(item.identity.namespace)], sources)
    elsewhere = {finding.item for finding in foreign}
    asked = [
        item for item in released if item not in elsewhere
    ]  # another registry cannot speak about the locked release
    histories = sources.releases_told(item.identity for item in asked)
    silent = sources.held(released)
    namespaces = {item.identity.namespace for item in released}
    asked = [item for item in asked if item.identity in histories or item.identity not in silent]
    known = sources.memory.known(asked)  # under the registries' current state
    unknown = [item for item in asked if item.identity not in known]
    from_sources = [item for item in items if item.source is not None]  # a folder can have changed since
    verified, refused = verify_each([*unknown, *from_sources], sources)
    signed.update(verified)
    said = audit_registry(asked, histories, environment)
    sizes = {item.registry: sources.client(item.identity.namespace).head.checkpoint.size for item in asked}
    told = {finding.item for finding in said if finding.rule in _ABOUT_ROWS}
    return [
        *foreign,
        *said,
        *audit_vanished(asked, histories, sizes, seen),
        *audit_sources(items, signed, environment.policy),
        *audit_refused((item, error) for item, error in refused if item not in told),
        *audit_recoveries(sources.pending_recoveries(name for name in namespaces if sources.tells_of(name))),
        *audit_silent(silent.values()),
    ]
