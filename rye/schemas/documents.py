"""The documents that commands print with ``--json``, as types. Other programs can rely on them (DESIGN 9).

Fields are only ever added, never renamed or removed, so the schemas allow other fields. The tests use closed copies of the
schemas to check what the commands print.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from rye.deployment.plan_values import Differs, FileState
from rye.items.consented import Run
from rye.project.lock import LockedSource
from rye.runtime.usage import Usage
from rye.signing.verification import Verdict
from rye.text.diagnostics import Diagnostic
from rye.text.facts.fact import LEVELS
from rye.workspace.installing.item_listing import ItemRow
from rye.workspace.self_check import SelfCheck

Level = Annotated[str, Meta(pattern=f"^({'|'.join(LEVELS)})$")]
Tier = Literal["safe", "write", "elevated", "unrestricted"]


class PlacedDiagnostic(Diagnostic, frozen=True):
    """A finding and the file that it is about."""

    path: str = ""


class ErrorBody(Struct):
    """What failed: a stable code, a message, and a hint with the next command. Some codes add fields."""

    code: str
    message: str
    hint: str | None


class ErrorDocument(Struct):
    """What every command prints instead of its own document if it fails."""

    error: ErrorBody


class ValidateRow(Struct):
    """The findings of one file."""

    path: str
    kind: str | None
    ok: bool
    diagnostics: list[Diagnostic]


class ValidateDocument(Struct):
    """``rye validate``. ``fixes`` is present with --fix."""

    results: list[ValidateRow]
    fixes: list[dict[str, Any]] | None = None


class VerifyRow(Struct, kw_only=True):
    """The verdict on one file's signature. ``differs``: what the signature does not cover and a checkout changed. ``not_agreed``:
    the project's files that change the item and that you have not agreed to."""

    path: str
    kind: str | None
    verdict: Verdict
    key: str | None
    fingerprint: str | None
    coverage: str | None
    detail: str
    unauthenticated: str | None
    differs: Literal["line-ends"] | None
    not_agreed: list[str]


class VerifyDocument(Struct):
    """``rye verify``. ``counts`` has the number of files by verdict."""

    results: list[VerifyRow]
    counts: dict[str, int]


class ShowDocument(Struct, kw_only=True):
    """``rye show``. Each kind of item adds its own fields."""

    kind: str
    id: str
    version: str | None
    description: str | None
    path: str
    space: str | None
    overrides: list[str]


class UsedRow(Struct):
    """A customization that was applied when rendering."""

    sort: str
    path: str


class RenderDocument(Struct, kw_only=True):
    """``rye render``."""

    prompt: str
    inputs: dict[str, Any]
    capabilities: list[str]
    hooks: list[dict[str, Any]]
    model: dict[str, Any] | None
    limits: dict[str, Any]
    agent_tools: list[str]
    customizations: list[UsedRow]
    diagnostics: list[PlacedDiagnostic]


class PermissionsCheckDocument(Struct):
    """``rye permissions check``. ``levels`` says what allows the action at each level of the chain."""

    allowed: bool
    required: str
    by: str | None
    levels: list[str | None]
    reason: str | None
    diagnostics: list[PlacedDiagnostic]


class PermissionsDiffDocument(Struct):
    """``rye permissions diff``. ``witnesses`` has, by pattern, an action that only one side allows."""

    widened: list[str]
    narrowed: list[str]
    equal: bool
    witnesses: dict[str, str | None]
    diagnostics: list[PlacedDiagnostic]


class HookActionRow(Struct):
    """A hook that fires."""

    item_type: str
    item_id: str
    inputs: dict[str, Any]
    required: str
    allowed: bool


class SkippedHookRow(Struct):
    """A hook that does not fire."""

    item_type: str
    item_id: str
    when: str
    reason: str


class HooksEvalDocument(Struct):
    """``rye hooks eval``."""

    actions: list[HookActionRow]
    skipped: list[SkippedHookRow]
    diagnostics: list[PlacedDiagnostic]


class MergeDocument(Struct):
    """``rye merge``. ``written`` is present with -o, ``drift`` with --check."""

    output: str | None
    diagnostics: list[Diagnostic]
    steps: list[dict[str, Any]]
    written: str | None = None
    drift: str | None = None
    effective: bool | None = None


class StepRow(Struct):
    """One step of a formula."""

    id: str
    title: str
    description: str
    needs: list[str]


class OverlayApplyDocument(Struct):
    """``rye overlay apply``."""

    steps: list[StepRow]
    warnings: list[str]
    applied: list[str]


class SearchRow(Struct, kw_only=True):
    """One search result."""

    id: str
    kind: str
    version: str | None
    description: str
    score: float
    space: str
    deprecated: str | None


class NotAskedRow(Struct):
    """A registry or repository that did not answer, and why."""

    registry: str
    """Its address; empty if it could not be told which registries the project has."""
    code: str
    message: str
    hint: str | None
    last_seen: str | None = None
    """The time of its last verified head, in UTC."""


class SearchDocument(Struct):
    """``rye search``."""

    results: list[SearchRow]
    total: Annotated[int, Meta(ge=0)] | Literal["1000+"]
    not_searched: list[NotAskedRow] = []
    """The registries whose items are missing, because they did not answer."""


class DeployChange(Struct):
    """One file that was written, kept or removed."""

    path: str
    change: str
    item: str
    version: str
    target: str


class DeployRefused(Struct, kw_only=True):
    """An item or file that was not deployed, and why."""

    item: str
    target: str
    field: str
    code: str
    message: str
    hint: str | None = None
    diff: list[str] = []


class DeployDocument(Struct, kw_only=True):
    """``rye deploy``."""

    changes: list[DeployChange]
    refused: list[DeployRefused]
    widenings: list[dict[str, Any]]
    notes: list[dict[str, Any]]
    targets: list[str]
    kept: list[str]
    dry_run: bool
    recorded: list[str] | None = None
    """Targets that rye.toml has named since this run."""
    unrecorded: list[str] | None = None
    """Targets of this run that rye.toml does not name."""


class DeployDifference(Struct, kw_only=True):
    """One deployed file that is not what the installed items give."""

    path: str
    state: Literal["missing", "edited", "stale", "unowned"]
    item: str
    target: str
    message: str
    hint: str
    diff: str | None


class DeployWaiting(Struct):
    """An item that is not deployed yet to a target of rye.toml."""

    item: str
    target: str


class DeployedDocument(Struct):
    """What is deployed, compared with what is installed."""

    differences: list[DeployDifference]
    waiting: list[DeployWaiting]


class DeployedFile(Struct):
    """One deployed file and its state."""

    path: str
    state: FileState
    item: str
    target: str
    differs: Differs | None = None


class DeployStatusDocument(Struct):
    """``rye deploy status`` and ``rye deploy --check``."""

    files: list[DeployedFile]
    targets: list[str] | None = None


class FactRow(Struct):
    """One fact found in an item's text."""

    fact: str
    value: str
    level: Level
    path: str
    line: int
    column: int


class FactsRow(Struct):
    """The facts of one item."""

    path: str
    id: str | None
    facts: list[FactRow]


class UnreadRow(Struct):
    """An item among others whose facts are not known, because it cannot be read."""

    path: str
    code: str
    message: str


class FactsDocument(Struct):
    """``rye facts``. ``added`` and ``removed`` are present with --against, ``unread`` if an item cannot be read (exit 1)."""

    results: list[FactsRow]
    counts: dict[Level, int]
    unread: list[UnreadRow] | None = None
    added: list[FactRow] | None = None
    removed: list[FactRow] | None = None


class LockProblem(Struct):
    """Why the lock does not satisfy a requirement: the rule (G1 to G6), the item, and the dependency chain."""

    rule: str
    item: str
    message: str
    chain: list[str]


class LockCheckDocument(Struct, kw_only=True):
    """``rye lock`` and ``rye lock --check``."""

    changes: list[dict[str, Any]]
    message: str
    warnings: list[str]
    dry_run: bool
    not_asked: list[NotAskedRow] = []
    """Who did not answer, so that what they have in rye.lock stayed as it was."""
    stale: bool | None = None
    fits: bool | None = None
    problems: list[LockProblem] | None = None


class AskedRight(Struct):
    """A capability that an item asks for."""

    capability: str
    tier: Tier
    example: str | None


class LostCustomization(Struct):
    """What one customization would lose."""

    path: str
    line: int
    message: str
    text: list[str]


class ChangeRow(Struct, rename={"from_": "from"}, kw_only=True):
    """One item that was added, changed or removed, and what it asks for."""

    action: str
    kind: str
    id: str
    from_: str | None
    to: str | None
    signer: str | None
    source: LockedSource | None
    signer_before: str | None
    signer_changed: bool
    signer_new: bool
    asks: list[AskedRight]
    hooks: list[dict[str, Any]]
    pulled_in: bool
    signer_unknown: bool
    agent_tools: list[str]
    executables: list[str]
    runs: list[Run]
    facts: list[dict[str, Any]]
    needs_approval: bool
    forced: str | None = None
    lost: list[LostCustomization] | None = None
    """What customizations would lose, and no one agreed to."""
    declared: bool | None = None
    """Whether something limits what the item may use; null: it only names other items, or nothing new is installed."""
    alarms: int | None = None
    cautions: int | None = None
    licence: str | None = None
    bytes: int | None = None
    """Bytes of its text, with attached files."""
    tokens: int | None = None
    """About how many tokens that is."""


class SetAsideItem(ChangeRow):
    """An item that ``rye add SOURCE --all`` left out, for a person to read first."""

    why: str = ""


class SetAsideRow(Struct):
    """What ``rye add SOURCE --all`` left out, and the command that approves it."""

    items: list[SetAsideItem]
    command: str


class OutdatedSourceRow(Struct):
    """A source of git that names a tag or a commit, and the newer one."""

    name: str
    git: str
    current: str
    latest: str
    command: str | None = None
    """What moves it there."""


class OrganizationPolicyRow(Struct):
    """The policy of an organization that was joined, as it was in force."""

    registry: str
    number: int
    sha256: str
    expires: str


class YankedRow(Struct):
    """One item that is installed in a version that its publisher yanked."""

    kind: str
    id: str
    version: str
    reason: str
    latest: str | None
    """The newest version that can be installed; null if there is none."""


class InstallDocument(Struct, kw_only=True):
    """``rye install``, ``add``, ``remove``, ``update``, ``rollback`` and ``ci``."""

    changes: list[ChangeRow]
    message: str
    warnings: list[str]
    dry_run: bool
    policies: list[OrganizationPolicyRow] | None = None
    """The policies of the organizations that were joined."""
    held_back: list[dict[str, Any]] | None = None
    yanked: list[YankedRow] = []
    """Items that are installed in a version that its publisher yanked."""
    sources: list[OutdatedSourceRow] = []
    """After an update: repositories that stay at a tag or commit although there is a newer one."""
    not_asked: list[NotAskedRow] = []
    """Who did not answer, so that what they have in rye.lock stayed as it was; after ``rye rollback``, so that nobody knows what
    they say now."""
    set_aside: SetAsideRow | None = None
    deploy: DeployDocument | None = None
    deployed: DeployedDocument | None = None
    """Instead of ``deploy``, where nothing was deployed and not everything is as installed."""


class ListDocument(Struct):
    """``rye list``."""

    items: list[ItemRow]


class OutdatedRow(Struct, kw_only=True):
    """One item with a newer version."""

    kind: str
    id: str
    current: str
    wanted: str | None
    latest: str | None
    direct: bool
    refused: str | None
    forced: str | None
    changed: str | None = None
    """The commit or folder of an item from a source that has other files under the same version."""


class OutdatedDocument(Struct):
    """``rye outdated``."""

    outdated: list[OutdatedRow]
    sources: list[OutdatedSourceRow] = []
    not_asked: list[NotAskedRow] = []
    """Who did not answer, so that the rest is incomplete; the command exits 1 then."""


class AuditFinding(Struct, kw_only=True):
    """One problem with an installed item."""

    rule: str
    severity: str
    message: str
    path: str | None
    item: str | None
    version: str | None
    hint: str | None
    code: str | None = None


class AuditedHeadRow(Struct):
    """The head of a registry with a policy of witnesses, and who cosigned it, each with the time."""

    registry: str
    size: int
    cosigned_by: list[str]


class AuditDocument(Struct):
    """``rye audit``."""

    findings: list[AuditFinding]
    ignored: list[dict[str, Any]]
    items: int
    level: str
    ok: bool
    heads: list[AuditedHeadRow] = []
    """Missing if no witnesses are demanded."""


class CodeRow(Struct):
    """One code and its meaning in a sentence."""

    code: str
    exit: int
    title: str
    area: str


class ExplainDocument(Struct, kw_only=True):
    """``rye explain``: ``codes`` alone without a code, otherwise the others; ``bad`` and ``good`` are null without an example."""

    codes: list[CodeRow] | UnsetType = UNSET
    code: str | UnsetType = UNSET
    exit: int | UnsetType = UNSET
    title: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    page: str | UnsetType = UNSET
    file: str | UnsetType | None = UNSET
    bad: str | UnsetType | None = UNSET
    good: str | UnsetType | None = UNSET


class ForkOriginRow(Struct, kw_only=True):
    """What a fork was made from, as ``.ai/origins.toml`` has it. ``ref`` and ``commit``: of an item of a git repository."""

    item: str
    version: str
    digest: str
    source: str
    signer: str
    ref: str | None
    commit: str | None


class ForkDocument(Struct, kw_only=True):
    """``rye fork``. ``files``: all that were written, the own one first."""

    kind: str
    id: str
    path: str
    files: list[str]
    origin: ForkOriginRow


class OriginDiffRow(Struct, kw_only=True):
    """One fork. ``own`` and ``author``: unified diffs from the origin, of this project and of its author."""

    item: str
    origin: str
    version: str
    newest: str
    own: str
    author: str


class OriginDiffDocument(Struct):
    """``rye diff --origin``."""

    forks: list[OriginDiffRow]
    not_asked: list[NotAskedRow] = []


class OriginUpdateRow(Struct, kw_only=True):
    """One fork. ``changed``: paths; ``conflicts``: what a person has to settle, each with its path."""

    item: str
    old: str
    new: str
    changed: list[str]
    conflicts: list[str]


class OriginUpdateDocument(Struct):
    """``rye update --origin``."""

    forks: list[OriginUpdateRow]


class OverrideNewDocument(Struct, kw_only=True):
    """``rye override new``. With --file also ``file``, ``do`` and ``content``, the path of what was written for it."""

    path: str
    id: str
    kind: str
    text: str
    file: str | UnsetType = UNSET
    do: Literal["replace", "add", "leave-out"] | UnsetType = UNSET
    content: str | UnsetType | None = UNSET


class SelfCheckDocument(SelfCheck, frozen=True, kw_only=True):
    """``rye self check``. ``cannot_know``: what nothing was compared with."""

    cannot_know: str


class UsageDocument(Usage, frozen=True, kw_only=True):
    """``rye usage``. ``notes`` says what did not count."""

    notes: tuple[str, ...]


class VersionDocument(Struct):
    """``rye --version``."""

    name: str
    version: str


DOCUMENTS: dict[str, type] = {
    "error": ErrorDocument,
    "explain": ExplainDocument,
    "validate": ValidateDocument,
    "verify": VerifyDocument,
    "show": ShowDocument,
    "render": RenderDocument,
    "permissions-check": PermissionsCheckDocument,
    "permissions-diff": PermissionsDiffDocument,
    "hooks-eval": HooksEvalDocument,
    "merge": MergeDocument,
    "overlay-apply": OverlayApplyDocument,
    "search": SearchDocument,
    "deploy": DeployDocument,
    "deploy-status": DeployStatusDocument,
    "facts": FactsDocument,
    "lock-check": LockCheckDocument,
    "install": InstallDocument,
    "list": ListDocument,
    "outdated": OutdatedDocument,
    "audit": AuditDocument,
    "fork": ForkDocument,
    "diff-origin": OriginDiffDocument,
    "update-origin": OriginUpdateDocument,
    "override-new": OverrideNewDocument,
    "self-check": SelfCheckDocument,
    "usage": UsageDocument,
    "version": VersionDocument,
}
"""The schemas by name, each with the type that it is generated from."""
