"""The checks of ``rye check``, one value each: a project's own items, the audit and the deployed files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rye.customization.doctor import Check
from rye.customization.overlay_health import Status
from rye.errors import RyeError
from rye.project.context import require_project
from rye.project.misplaced import Misplaced, misplaced_items
from rye.text.diagnostics import has_errors
from rye.workspace.authoring.signature_check import VerifiedFile, verify_items
from rye.workspace.authoring.validating import validate_items

if TYPE_CHECKING:
    from rye.installation.audit import Finding
    from rye.project.checking import Checked
    from rye.workspace.context import Context
    from rye.workspace.installing.auditing import Audit

_UNPROVEN = frozenset({"unsigned", "untrusted", "partial"})
"""Verdicts that are warnings: the text is valid, but no one the user trusts signed it."""


def check_own_items(context: Context) -> tuple[Check, ...]:
    """``validate`` and ``verify`` of the project's own items, as one check each. A project without any passes. Items in folders
    that Rye does not read are warnings."""
    misplaced: tuple[Misplaced, ...] = ()
    try:
        misplaced = misplaced_items(require_project(context.cwd))
        checked, verified = validate_items(context, ()), verify_items(context, ())
    except RyeError as error:
        if error.code == "no-items":
            lines = ["no items of your own", *(each.message for each in misplaced)]
            hint = misplaced[0].hint if misplaced else None
            return (Check("validate", "warning" if misplaced else "ok", "\n".join(lines), hint=hint),)
        return (Check("validate", "error", error.message, hint=error.hint),)
    return (_rules(checked, misplaced), _signatures(verified))


def audited(found: Audit) -> Check:
    """The findings of ``rye audit`` as one check, without infos."""
    told = [each for each in found.findings if each.severity != "info"]
    lines = [f"{each.severity}[{each.rule}]: {each.message}" for each in told]
    status: Status = "error" if any(each.severity == "error" for each in told) else "warning" if told else "ok"
    head = f"{found.items} installed, {len(told)} finding{'' if len(told) == 1 else 's'}"
    hint = "`rye audit` shows what to do about each." if told else None
    return Check("audit", status, "\n".join([head, *lines]), hint=hint)


def deployed(findings: Sequence[Finding]) -> Check:
    """The deployed files as one check: a file that is not what an installed item gives is an error, an item that is not deployed
    yet is a warning."""
    told = [each for each in findings if each.severity != "info"]
    lines = [f"{each.rule}: {each.message}" for each in told]
    head = f"{len(told)} finding{'' if len(told) == 1 else 's'}" if told else "as it should be"
    hint = "`rye deploy --dry-run` shows what a deploy would change." if told else None
    worst: Status = "error" if any(each.severity == "error" for each in told) else "warning" if told else "ok"
    return Check("deploy", worst, "\n".join([head, *lines]), hint=hint)


def _rules(checked: Sequence[Checked], misplaced: Sequence[Misplaced]) -> Check:
    lines = [
        f"{each.shown}{f':{one.line}' if one.line else ''}: {one.severity}[{one.code}]: {one.message}"
        for each in checked
        for one in each.diagnostics
        if one.severity != "info"
    ]
    lines += [each.message for each in misplaced]
    failed = sum(has_errors(each.diagnostics) for each in checked)
    status: Status = "error" if failed else "warning" if lines else "ok"
    total = _items(len(checked))
    head = f"{failed} of {total} failed" if failed else f"{total} valid"
    return Check(
        "validate", status, "\n".join([head, *lines]), hint="`rye validate` shows how to fix each." if lines else None
    )


def _signatures(verified: Sequence[VerifiedFile]) -> Check:
    counts = Counter(each.verification.verdict for each in verified)
    wrong = [each for each in verified if each.verification.verdict != "valid"]
    changed = [f"{each.shown}: changed by {path}, not agreed" for each in verified for path in each.not_agreed]
    broken = bool(changed) or any(each.verification.verdict not in _UNPROVEN for each in wrong)
    lines = [*(f"{each.shown}: {each.verification.verdict}" for each in wrong), *changed]
    head = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    status: Status = "error" if broken else "warning" if wrong else "ok"
    hints = ["`rye sign` signs what you changed."] if wrong else []
    hints += ["`rye trust project` shows what changes your items and asks."] if changed else []
    return Check("verify", status, "\n".join([head, *lines]), hint=" ".join(hints) or None)


def _items(count: int) -> str:
    return f"{count} item{'' if count == 1 else 's'}"
