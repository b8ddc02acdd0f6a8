"""Compares the installed files with the lock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rye.installation.audit.finding import Finding
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.verified.on_disk import DISCARDS, RESTORES, Present, drift, explained

_DRIFT = {
    "changed": ("modified-file", "was changed"),
    "missing": ("missing-file", "is missing"),
    "wrong-flag": ("wrong-flag", "has a different executable bit than in its release"),
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
