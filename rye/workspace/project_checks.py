"""Every check of a project and its machine, in one list: ``rye check`` runs all of them or those that ``--only`` names,
``rye doctor`` those that need no items.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.customization import doctor
from rye.customization.doctor import Check
from rye.customization.overlay_health import Status
from rye.errors import RyeError, UsageError
from rye.project.context import require_project
from rye.project.misplaced import Misplaced, misplaced_items
from rye.text.diagnostics import has_errors
from rye.text.lazy import lazy_module
from rye.workspace.customizing import health
from rye.workspace.customizing.lapsed import CustomizationChecks

if TYPE_CHECKING:
    from rye.customization.places import Places
    from rye.installation.audit.finding import Finding
    from rye.project.checking import Checked
    from rye.workspace.authoring import signature_check, validating
    from rye.workspace.context import Context
    from rye.workspace.installing import auditing
else:  # `rye doctor` needs none of them
    auditing = lazy_module("rye.workspace.installing.auditing")
    signature_check = lazy_module("rye.workspace.authoring.signature_check")
    validating = lazy_module("rye.workspace.authoring.validating")

_UNPROVEN = frozenset({"unsigned", "untrusted", "partial"})
"""Verdicts that are warnings: the text is valid, but no one the user trusts signed it."""


class CheckRun:
    """What checks are about. ``deployed``: finds what ``rye deploy --check`` would object to, in the room above."""

    def __init__(self, context: Context, where: Places, deployed: Callable[[], Sequence[Finding]] = tuple) -> None:
        self.context, self.where, self.deployed = context, where, deployed
        self.customizations = CustomizationChecks(context, where, context.now().date())


class CheckPart(Struct, frozen=True):
    """A part of ``rye check``. ``names``: of its checks, in their order; ``layouts``: of customizations, in which it has a
    meaning (roles and their directives are built into Gas Town)."""

    names: tuple[str, ...]
    run: Callable[[CheckRun], Iterable[Check]]
    layouts: tuple[str, ...] = ("rye",)


_ANY = ("rye", "gastown")
PARTS = (
    CheckPart(("validate",), lambda asked: [_validated(asked.context)]),
    CheckPart(("verify",), lambda asked: [_verified(asked.context)]),
    CheckPart(("audit",), lambda asked: [_audit(asked)]),
    CheckPart(("deploy",), lambda asked: [_deployed(asked.deployed())]),
    CheckPart(("overlay-health",), lambda asked: [health.overlays(asked.customizations.overlays)], _ANY),
    CheckPart(("override-health",), lambda asked: [health.overrides(asked.customizations.overrides)]),
    CheckPart(("role-directives",), lambda asked: [health.role_directives(asked.context, asked.where)]),
    CheckPart(("formulas",), lambda asked: [health.formulas(asked.context)]),
    CheckPart(("customizations",), lambda asked: [health.applying(asked.context, asked.customizations)]),
    CheckPart(("python",), lambda _: [doctor.python_version(tuple(sys.version_info[:3]))], _ANY),
    CheckPart(("keys",), lambda asked: [health.own_keys(asked.context.home)], _ANY),
    CheckPart(("trust",), lambda asked: [health.trusted_keys(asked.context.home)], _ANY),
    CheckPart(("namespaces",), lambda asked: [health.own_namespaces(asked.context)], _ANY),
    CheckPart(("registry", "clock"), lambda asked: health.registry(asked.context), _ANY),
)
"""Every part, in the order of the answer."""
NAMES = tuple(name for part in PARTS for name in part.names)
"""Every check, by its name in the answer."""
DOCTOR = NAMES[NAMES.index("overlay-health") :]
"""The checks of ``rye doctor``: those that look at no item of the project and at nothing installed or deployed."""
COMMANDS = {"doctor": DOCTOR, "override check": ("override-health",), "overlay check": ("overlay-health",)}
"""Commands whose checks have other names. A command like ``rye verify`` is called as its check."""


def named_checks(words: Iterable[str]) -> frozenset[str]:
    """The checks that ``--only`` names: separated by commas, each by its own name or that of its command; all without words.
    Raises UsageError ``unknown-name``."""
    given = [word.strip() for each in words for word in each.split(",")]
    known = (*NAMES, *COMMANDS)
    for word in given:
        if word not in known:
            near = [
                *get_close_matches(word, known, 1, 0.5),
                *(one for one in COMMANDS if word and one.startswith(word)),
            ]
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise UsageError(
                "unknown-name",
                f"{word!r} is no part of `rye check`.",
                f"{hint}Parts: {', '.join(known)}.",
                what="check",
            )
    return frozenset(name for word in given for name in COMMANDS.get(word, (word,))) or frozenset(NAMES)


def run_checks(asked: CheckRun, wanted: Iterable[str]) -> Iterator[Check]:
    """The checks of these names, in the order of :data:`PARTS`. A part none of whose checks is wanted does not run."""
    names = frozenset(wanted)
    for part in PARTS:
        if names.intersection(part.names) and asked.where.layout in part.layouts:
            yield from (check for check in part.run(asked) if check.name in names)


def _validated(context: Context) -> Check:
    """``rye validate`` of the project's own items. Without any it passes. Items in folders that Rye does not
    read are warnings."""
    misplaced: tuple[Misplaced, ...] = ()
    try:
        misplaced = misplaced_items(require_project(context.cwd))
        checked = validating.validate_items(context, ())
    except RyeError as error:
        if error.code != "no-items":
            return Check("validate", "error", error.message, hint=error.hint)
        if not misplaced:
            return Check("validate", "ok", _NO_ITEMS, empty=True)
        lines = [_NO_ITEMS, *(each.message for each in misplaced)]
        return Check("validate", "warning", "\n".join(lines), hint=misplaced[0].hint)
    return _rules(checked, misplaced)


def _verified(context: Context) -> Check:
    """``rye verify`` of the project's own items. Without any it passes."""
    try:
        return _signatures(signature_check.verify_items(context, ()))
    except RyeError as error:
        if error.code == "no-items":
            return Check("verify", "ok", _NO_ITEMS, empty=True)
        return Check("verify", "error", error.message, hint=error.hint)


_NO_ITEMS = "no items of your own"


def _audit(asked: CheckRun) -> Check:
    """``rye audit``'s findings about installed items."""
    context = asked.context
    try:
        return _audited(auditing.audit(context, require_project(context.cwd), customizations=asked.customizations))
    except RyeError as error:
        return Check("audit", "error", error.message, hint=error.hint)


def _audited(found: auditing.Audit) -> Check:
    """The findings of ``rye audit`` as one check, without infos."""
    told = [each for each in found.findings if each.severity != "info"]
    lines = [f"{each.severity}[{each.rule}]: {each.message}" for each in told]
    status: Status = "error" if any(each.severity == "error" for each in told) else "warning" if told else "ok"
    head = f"{found.items} installed, {len(told)} finding{'' if len(told) == 1 else 's'}"
    hint = "`rye audit` shows what to do about each." if told else None
    return Check("audit", status, "\n".join([head, *lines]), hint=hint)


def _deployed(findings: Sequence[Finding]) -> Check:
    """The deployed files as one check: a file that is not what an installed item gives is an error, an item that is not deployed
    yet is a warning."""
    told = [each for each in findings if each.severity != "info"]
    lines = [f"{each.rule}: {each.message}" for each in told]
    head = f"{len(told)} finding{'' if len(told) == 1 else 's'}" if told else "as it should be"
    hint = "`rye deploy --dry-run` shows what a deploy would change." if told else None
    if told and all(each.rule == "deploy-stale" for each in told):
        hint = "`rye deploy` writes the rows again; no file that an agent reads changes."
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


def _signatures(verified: Sequence[signature_check.VerifiedFile]) -> Check:
    counts = Counter(each.verification.verdict for each in verified)
    wrong = [each for each in verified if each.verification.verdict != "valid"]
    changed = [f"{each.shown}: {one.shown} {one.does} it, not agreed" for each in verified for one in each.not_agreed]
    broken = bool(changed) or any(each.verification.verdict not in _UNPROVEN for each in wrong)
    lines = [*(f"{each.shown}: {each.verification.verdict}" for each in wrong), *changed]
    head = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    status: Status = "error" if broken else "warning" if wrong else "ok"
    hints = ["`rye sign` signs what you changed."] if wrong else []
    hints += ["`rye trust project` shows what changes your items and asks."] if changed else []
    return Check("verify", status, "\n".join([head, *lines]), hint=" ".join(hints) or None)


def _items(count: int) -> str:
    return f"{count} item{'' if count == 1 else 's'}"
