"""What ``rye doctor`` finds: each check is a value, made from values.

A check is *ok*, a *warning* or an *error*; its message is one line or more. Errors make the command fail, warnings do not. Only
``overlay-health`` can be fixed (:mod:`rye.customization.overlay_health`): everything else is for a person to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches

from msgspec import Struct

from rye.customization.display import visible
from rye.customization.overlay_health import Health, Status, worst
from rye.customization.role_directives import RoleDirectiveFile
from rye.items.identity import is_segment
from rye.limits import REGISTRY

MARKS: dict[Status, str] = {"ok": "✓", "warning": "⚠", "error": "✗"}
OLDEST_PYTHON = (3, 11)


class Check(Struct, frozen=True):
    """One check's result. ``hint``: the next command, where one helps."""

    name: str
    status: Status
    message: str
    fixable: bool = False
    hint: str | None = None

    def as_json(self) -> dict[str, object]:
        """The entry of ``checks`` in the JSON document."""
        return {
            "name": self.name,
            "status": self.status,
            "message": self.message,
            "fixable": self.fixable,
            "hint": self.hint,
        }


def overlay_health(found: Sequence[Health]) -> Check:
    """All overlay files together, in the words of DECISIONS Role directives and formula overlays 9."""
    if not found:
        return Check("overlay-health", "ok", "no overlay files found")
    bad = [health for health in found if health.status != "ok"]
    if not bad:
        return Check("overlay-health", "ok", f"{len(found)} overlay(s) healthy")
    fixable = any(health.fixable for health in bad)
    hint = "`rye doctor --fix` removes stale entries." if fixable else None
    message = "\n".join(health.message for health in bad)
    return Check("overlay-health", worst([health.status for health in bad]), message, fixable, hint)


def override_health(found: Sequence[tuple[str, Status, Sequence[str]]]) -> Check:
    """All overrides files: path, state and messages of each."""
    if not found:
        return Check("override-health", "ok", "no override files found")
    bad = [(shown, messages) for shown, status, messages in found if status != "ok"]
    if not bad:
        return Check("override-health", "ok", f"{len(found)} override(s) healthy")
    lines = [f"{shown}: {message}" for shown, messages in bad for message in messages]
    status = worst([status for _, status, _ in found])
    return Check("override-health", status, "\n".join(lines), hint="`rye override check` says more.")


def role_directives(files: Iterable[RoleDirectiveFile], roles: Iterable[str]) -> Check:
    """Whether the role of every directive is known; one of an unknown role is never read."""
    known = sorted(roles)
    bad: list[str] = []
    count = 0
    for file in files:
        count += 1
        if file.role in known:
            continue
        if not is_segment(file.role):
            bad.append(f"{file.path}: {visible(file.role)!r} is not a valid role name")
            continue
        near = get_close_matches(file.role, known, 1, 0.5)
        meant = f"; did you mean {near[0]}?" if near else ""
        bad.append(f"role directive of unknown role {file.role}: {file.path}{meant}")
    if bad:
        return Check("role-directives", "warning", "\n".join(bad))
    return Check("role-directives", "ok", f"{count} role directive(s)" if count else "no role directives found")


def unreachable_formulas(found: Mapping[str, str | None]) -> Check:
    """Formulas by path, each with the reason why it cannot be used, or None."""
    bad = [f"{path}: {reason}" for path, reason in found.items() if reason is not None]
    if bad:
        return Check("formulas", "warning", "\n".join(bad))
    return Check("formulas", "ok", f"{len(found)} formula(s) reachable" if found else "no formulas found")


def python_version(version: Sequence[int]) -> Check:
    """Whether the interpreter is one that rye supports."""
    shown = ".".join(map(str, version[:3]))
    if tuple(version[:2]) < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return Check("python", "error", f"Python {shown} is too old", hint=f"Use Python {wanted} or newer.")
    return Check("python", "ok", f"Python {shown}")


def keys(names: Sequence[str], warnings: Sequence[str], default: str | None) -> Check:
    """The user's own keys, and what is wrong with their files. ``default``: the name of the key that signs."""
    if default is not None and default not in names:
        other = f"choose another: `rye keys default {names[0]}`" if names else "create another: `rye keys generate`"
        hint = (
            f"Restore {default}.key and {default}.pub from a backup, or {other}. A namespace that only the missing key "
            "owned needs `rye namespace recover NAMESPACE`."
        )
        return Check("keys", "error", "\n".join([f"the default key {default!r} is missing", *warnings]), hint=hint)
    if warnings:
        return Check("keys", "error", "\n".join(warnings))
    if not names:
        hint = "You need one only to publish: `rye keys generate`."
        return Check("keys", "ok", "no signing key", hint=hint)
    return Check("keys", "ok", f"{len(names)} key{'s' if len(names) > 1 else ''}, readable by you alone")


def clock(now: datetime, registry_time: datetime | None) -> Check:
    """This machine's clock against the time that the registry signed, where it is known.

    A signed time in the future proves that the clock is slow; one in the past proves nothing but that it is not far behind.
    """
    shown = f"{now:%Y-%m-%dT%H:%M:%SZ}"
    if registry_time is None:
        return Check("clock", "ok", f"{shown}, not compared with a registry")
    ahead = registry_time - now
    if ahead > timedelta(seconds=REGISTRY.clock_skew_seconds):
        minutes = int(ahead.total_seconds() // 60)
        message = f"{shown} is {minutes} minutes before the time that the registry signed"
        return Check("clock", "error", message, hint="Set this machine's clock.")
    return Check("clock", "ok", f"{shown}, not behind the registry's")
