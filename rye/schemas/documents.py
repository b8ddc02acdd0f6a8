"""The documents that commands print with ``--json``, as types: what other programs may rely on (DESIGN 9).

Fields are added, never renamed or taken away, so the schemas let other fields through. The tests close them and hold them against
what the commands print.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from rye.deployment.plan_values import FileState
from rye.items.reading import Run
from rye.project.lock import LockedSource
from rye.signing.verification import Verdict
from rye.text.diagnostics import Diagnostic
from rye.text.facts.fact import LEVELS
from rye.workspace.installing.item_rows import ItemRow

Level = Annotated[str, Meta(pattern=f"^({'|'.join(LEVELS)})$")]
Tier = Literal["safe", "write", "elevated", "unrestricted"]


class PlacedDiagnostic(Diagnostic, frozen=True):
    """A finding with the file that it is about."""

    path: str = ""


class ErrorBody(Struct):
    """What failed: a stable code, what to say, the next command. A code may add fields of its own."""

    code: str
    message: str
    hint: str | None


class ErrorDocument(Struct):
    """What every command prints instead, where it fails."""

    error: ErrorBody


class ValidateRow(Struct):
    """One file's findings."""

    path: str
    kind: str | None
    ok: bool
    diagnostics: list[Diagnostic]


class ValidateDocument(Struct):
    """``rye validate``. ``fixes``: with --fix."""

    results: list[ValidateRow]
    fixes: list[dict[str, Any]] | None = None


class VerifyRow(Struct):
    """One file's signature."""

    path: str
    kind: str | None
    verdict: Verdict
    key: str | None
    fingerprint: str | None
    coverage: str | None
    detail: str
    unauthenticated: str | None


class VerifyDocument(Struct):
    """``rye verify``. ``counts``: by verdict."""

    results: list[VerifyRow]
    counts: dict[str, int]


class ShowDocument(Struct):
    """``rye show``: with the fields of the item's kind beside these."""

    kind: str
    id: str
    version: str | None
    description: str | None
    path: str
    space: str | None
    overrides: list[str]


class UsedRow(Struct):
    """A customization that a text was rendered with."""

    sort: str
    path: str


class RenderDocument(Struct):
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
    """``rye permissions check``. ``levels``: what allows it at each level of the chain."""

    allowed: bool
    required: str
    by: str | None
    levels: list[str | None]
    reason: str | None
    diagnostics: list[PlacedDiagnostic]


class PermissionsDiffDocument(Struct):
    """``rye permissions diff``. ``witnesses``: an action that only one of the two allows, by pattern."""

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
    """``rye merge``. ``written``: with -o; ``drift``: with --check."""

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


class SearchRow(Struct):
    """One item that a search found."""

    id: str
    kind: str
    version: str | None
    description: str
    score: float
    space: str
    deprecated: str | None


class SearchDocument(Struct):
    """``rye search``."""

    results: list[SearchRow]
    total: Annotated[int, Meta(ge=0)] | Literal["1000+"]


class DeployChange(Struct):
    """One file that was written, kept or taken away."""

    path: str
    change: str
    item: str
    version: str
    target: str


class DeployRefused(Struct):
    """What was left alone, and why."""

    item: str
    target: str
    field: str
    code: str
    message: str
    hint: str | None = None
    diff: list[str] = []


class DeployDocument(Struct):
    """``rye deploy``."""

    changes: list[DeployChange]
    refused: list[DeployRefused]
    widenings: list[dict[str, Any]]
    notes: list[dict[str, Any]]
    targets: list[str]
    kept: list[str]
    dry_run: bool


class DeployedFile(Struct):
    """One deployed file against what it should be."""

    path: str
    state: FileState
    item: str
    target: str


class DeployStatusDocument(Struct):
    """``rye deploy status`` and ``rye deploy --check``."""

    files: list[DeployedFile]
    targets: list[str] | None = None


class FactRow(Struct):
    """One thing that a text talks about."""

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


class FactsDocument(Struct):
    """``rye facts``. ``added`` and ``removed``: with --against."""

    results: list[FactsRow]
    counts: dict[Level, int]
    added: list[FactRow] | None = None
    removed: list[FactRow] | None = None


class LockProblem(Struct):
    """Why a lock does not fit: a rule G1 to G6, the item, and the chain that leads to it."""

    rule: str
    item: str
    message: str
    chain: list[str]


class LockCheckDocument(Struct):
    """``rye lock`` and ``rye lock --check``."""

    changes: list[dict[str, Any]]
    message: str
    warnings: list[str]
    dry_run: bool
    stale: bool | None = None
    fits: bool | None = None
    problems: list[LockProblem] | None = None


class AskedRight(Struct):
    """A right that is asked for."""

    capability: str
    tier: Tier
    example: str | None


class ChangeRow(Struct, rename={"from_": "from"}):
    """One item that was added, moved or removed, and what it asks for."""

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


class InstallDocument(Struct):
    """``rye install``, ``add``, ``remove``, ``update``, ``rollback`` and ``ci``."""

    changes: list[ChangeRow]
    message: str
    warnings: list[str]
    dry_run: bool
    held_back: list[dict[str, Any]] | None = None
    deploy: DeployDocument | None = None


class ListDocument(Struct):
    """``rye list``."""

    items: list[ItemRow]


class OutdatedRow(Struct):
    """One item that could be newer."""

    kind: str
    id: str
    current: str
    wanted: str | None
    latest: str | None
    direct: bool
    refused: str | None
    forced: str | None


class OutdatedDocument(Struct):
    """``rye outdated``."""

    outdated: list[OutdatedRow]


class AuditFinding(Struct):
    """One thing that is wrong with what is installed."""

    rule: str
    severity: str
    message: str
    path: str | None
    item: str | None
    version: str | None
    hint: str | None
    code: str | None = None


class AuditDocument(Struct):
    """``rye audit``."""

    findings: list[AuditFinding]
    ignored: list[dict[str, Any]]
    items: int
    level: str
    ok: bool


class VersionDocument(Struct):
    """``rye --version``."""

    name: str
    version: str


DOCUMENTS: dict[str, type] = {
    "error": ErrorDocument,
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
    "version": VersionDocument,
}
"""The schemas' names, and the types that they are made from."""
