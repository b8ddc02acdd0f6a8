"""The checks of ``rye doctor``, as pure functions.

A check is *ok*, a *warning* or an *error*; its message has one or more lines. Errors make the command fail, warnings do not.
Only ``overlay-health`` has an automatic fix (:mod:`rye.customization.overlay_health`); the rest is for a person to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches

from msgspec import Struct

from rye.customization.overlay_health import Health, Status, worst
from rye.customization.role_directives import RoleDirectiveFile
from rye.items.identity import is_segment
from rye.limits import REGISTRY
from rye.text.display import visible

MARKS: dict[Status, str] = {"ok": "✓", "warning": "⚠", "error": "✗"}
OLDEST_PYTHON = (3, 11)


class Check(Struct, frozen=True):
    """The result of one check. ``hint``: the next command to run, if one helps; ``empty``: whether there was nothing to check,
    which is a word on a screen and no field of a document."""

    name: str
    status: Status
    message: str
    fixable: bool = False
    hint: str | None = None
    empty: bool = False

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
    """The health of all overlay files in one check, worded as in DECISIONS Role directives and formula overlays 9."""
    if not found:
        return Check("overlay-health", "ok", "no overlay files found", empty=True)
    bad = [health for health in found if health.status != "ok"]
    if not bad:
        return Check("overlay-health", "ok", f"{len(found)} overlay(s) healthy")
    fixable = any(health.fixable for health in bad)
    hint = "`rye doctor --fix` removes stale entries." if fixable else None
    message = "\n".join(health.message for health in bad)
    return Check("overlay-health", worst([health.status for health in bad]), message, fixable, hint)


def override_health(found: Sequence[tuple[str, Status, Sequence[str]]]) -> Check:
    """The health of all overrides files in one check. ``found``: path, status and messages of each."""
    if not found:
        return Check("override-health", "ok", "no override files found", empty=True)
    bad = [(shown, messages) for shown, status, messages in found if status != "ok"]
    if not bad:
        return Check("override-health", "ok", f"{len(found)} override(s) healthy")
    lines = [f"{shown}: {message}" for shown, messages in bad for message in messages]
    status = worst([status for _, status, _ in found])
    return Check("override-health", status, "\n".join(lines), hint="`rye override check` says more.")


def lapsed(messages: Sequence[str], hint: str | None) -> Check:
    """Whether all customizations of the project apply. ``messages``: one for each that does not."""
    if not messages:
        return Check("customizations", "ok", "all of the project's apply")
    head = f"{len(messages)} of the project no longer appl{'ies' if len(messages) == 1 else 'y'}"
    return Check("customizations", "error", "\n".join([head, *messages]), hint=hint)


def role_directives(files: Iterable[RoleDirectiveFile], roles: Iterable[str]) -> Check:
    """Whether every role directive is for a known role; a directive for an unknown role is never read."""
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
    if not count:
        return Check("role-directives", "ok", "no role directives found", empty=True)
    return Check("role-directives", "ok", f"{count} role directive(s)")


def unreachable_formulas(found: Mapping[str, str | None]) -> Check:
    """Whether every formula can be used. ``found``: for each path the reason why it cannot, or None."""
    bad = [f"{path}: {reason}" for path, reason in found.items() if reason is not None]
    if bad:
        return Check("formulas", "warning", "\n".join(bad))
    if not found:
        return Check("formulas", "ok", "no formulas found", empty=True)
    return Check("formulas", "ok", f"{len(found)} formula(s) reachable")


def python_version(version: Sequence[int]) -> Check:
    """Whether Rye supports this Python version."""
    shown = ".".join(map(str, version[:3]))
    if tuple(version[:2]) < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return Check("python", "error", f"Python {shown} is too old", hint=f"Use Python {wanted} or newer.")
    return Check("python", "ok", f"Python {shown}")


def keys(names: Sequence[str], warnings: Sequence[str], default: str | None) -> Check:
    """The user's own keys. ``warnings``: problems with their files; ``default``: the name of the key used for signing."""
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


def single_keys(single: Sequence[str], count: int) -> Check:
    """The namespaces of which this machine has a key. ``single``: those with one key only; ``count``: all of them."""
    if single:
        text = f"{', '.join(single)}: one key only. Whoever loses it needs the registry's owners and 72 hours"
        hint = f"Make another on a second machine, or a copy on paper, and add it: `rye namespace keys add {single[0]} FILE`."
        return Check("namespaces", "warning", text, hint=hint)
    return Check("namespaces", "ok", f"{count} with a key of yours" if count else "none with a key of yours")


def clock(now: datetime, registry_time: datetime | None) -> Check:
    """Compare this machine's clock with a time that the registry signed, if known.

    A signed time in the future proves that the clock is slow. One in the past shows only that the clock is not behind it.
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
