"""``rye doctor``: the set-up and the health of customizations, one line for each check; ``--fix`` takes out what is stale.

The fix changes overlay files alone. It takes out entries whose step the formula does not have and leaves every other byte, keeps
the file as it was beside it (``<file>.bak``), writes whole files only, and removes one only when all of its entries are stale and
its formula is known.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from rye.cli.customize.layouts import layout_options, places
from rye.cli.options import Session, command
from rye.errors import RyeError

if TYPE_CHECKING:
    from rye.cli.customize.customization_checks import OverlayChecked
    from rye.customization.doctor import Check
    from rye.customization.places import Places


class Fixed(Struct, frozen=True):
    """One file that was fixed: what was taken out, whether the file went with it, and where the old one is kept."""

    shown: str
    removed: tuple[str, ...]
    deleted: bool
    backup: str

    def as_json(self) -> dict[str, object]:
        return {"path": self.shown, "removed": list(self.removed), "deleted": self.deleted, "backup": self.backup}


@command("doctor")
@click.option("--fix", is_flag=True, help="Take stale entries out of overlays; the old files are kept as .bak.")
@layout_options
@click.pass_obj
def doctor(session: Session, fix: bool, layout: str, town: str | None, rig: str | None) -> int:
    """Check the set-up and the health of customizations. Exit 1 on errors; warnings alone are not."""
    from rye.cli.console import printable
    from rye.customization.doctor import MARKS

    where = places(session, layout, town, rig)
    fixed: list[Fixed] = []
    problems: list[RyeError] = []
    if fix:
        fixed, problems = _fix(session, where)
    checks = [*_customizations(session, where), *_setup(session)]
    failed = bool(problems) or any(check.status == "error" for check in checks)
    if session.json:
        session.console.document(
            {
                "checks": [check.as_json() for check in checks],
                "fixed": [each.as_json() for each in fixed],
                "problems": [problem.as_json()["error"] for problem in problems],
                "ok": not failed,
            }
        )
        return 1 if failed else 0
    for each in fixed:
        what = "removed" if each.deleted else "fixed"
        names = ", ".join(repr(name) for name in each.removed)
        session.console.data(printable(f"{what} {each.shown}: took out {names}; the old file is {each.backup}"))
    for problem in problems:
        session.console.error(problem)
    for check in checks:
        mark = session.console.style(MARKS[check.status], check.status)
        lines = printable(check.message).split("\n")
        session.console.data(f"{mark} {check.name}: {lines[0]}")
        for line in lines[1:]:
            session.console.data(f"    {line}")
        if check.hint and not session.quiet:
            session.console.say(f"  {check.hint}", "hint")
    return 1 if failed else 0


# Customizations.


def _customizations(session: Session, where: Places) -> Iterator[Check]:
    from rye.cli.customize.customization_checks import formula_reasons, overlay_checks
    from rye.cli.customize.override import check_all
    from rye.cli.customize.role import known_roles
    from rye.customization import doctor as checks
    from rye.customization.role_files import all_files

    yield checks.overlay_health([one.health for one in overlay_checks(session, where)])
    if where.layout != "rye":
        return  # that tool has its roles in its program, and no overrides
    overrides = [
        (one.shown, one.state, [f.message.split("\n")[0] for f in one.findings if f.severity in ("error", "warning")])
        for one in check_all(session, datetime.now(UTC).date())
    ]
    yield checks.override_health(overrides)
    yield checks.role_directives(all_files(where), known_roles(session))
    yield checks.unreachable_formulas(formula_reasons(session))


def _fix(session: Session, where: Places) -> tuple[list[Fixed], list[RyeError]]:
    from rye.cli.customize.customization_checks import overlay_checks

    fixed: list[Fixed] = []
    problems: list[RyeError] = []
    for one in overlay_checks(session, where):
        if not one.health.fixable or one.data is None:
            continue
        try:
            fixed.append(_fix_one(one, one.data))
        except RyeError as error:
            problems.append(RyeError(error.code, f"{one.shown} was not fixed: {error.message}", error.hint))
    return fixed, problems


def _fix_one(one: OverlayChecked, data: bytes) -> Fixed:
    from rye.customization.overlay_health import fixed
    from rye.storage.atomic import replace_file

    new, removed = fixed(data, one.known_ids)
    if one.path.read_bytes() != data:
        raise RyeError("changed-meanwhile", "it was changed just now.", "Run it again.")
    backup = _back_up(one.path, data)
    if new is None:
        one.path.unlink()
    else:
        replace_file(one.path.resolve(), new)
    shown = one.shown.removesuffix(one.path.name) + backup.name
    return Fixed(one.shown, removed, new is None, shown)


def _back_up(path: Path, data: bytes) -> Path:
    """Keep ``data`` beside the file under a name that no other backup has."""
    from rye.storage.atomic import replace_file

    number = 0
    while True:
        backup = path.with_name(f"{path.name}.bak{f'.{number}' if number else ''}")
        try:
            backup.touch(exist_ok=False)
        except FileExistsError:
            number += 1
            continue
        replace_file(backup, data)
        backup.chmod(path.stat().st_mode & 0o7777)
        return backup


# Set-up.


def _setup(session: Session) -> Iterator[Check]:
    from rye.customization import doctor as checks

    yield checks.python_version(tuple(sys.version_info[:3]))
    yield _keys()
    yield _trust()
    yield from _registry(session)


def _keys() -> Check:
    from rye.customization import doctor as checks
    from rye.signing.key_store import KeyStore
    from rye.storage.folders import config_dir

    try:
        stored = KeyStore(config_dir()).list()
    except RyeError as error:
        return checks.Check("keys", "error", error.message, hint=error.hint)
    return checks.keys(len(stored), [key.warning for key in stored if key.warning])


def _trust() -> Check:
    from rye.customization.doctor import Check
    from rye.signing.trust_store import TrustStore
    from rye.storage.folders import config_dir

    try:
        entries = TrustStore(config_dir()).entries()
    except RyeError as error:
        return Check("trust", "error", error.message, hint=error.hint)
    trusted = sum(entry.revoked is None for entry in entries)
    return Check("trust", "ok", f"{trusted} trusted key(s), {len(entries) - trusted} revoked")


def _registry(session: Session) -> tuple[Check, Check]:
    """Whether the registry answers with a head that can be trusted, and this machine's clock against the time that it signed."""
    from rye.cli.registry.registry_access import configured
    from rye.customization.doctor import Check, clock

    now = datetime.now(UTC)
    try:
        address = configured(session).default
    except RyeError as error:
        return Check("registry", "error", error.message, hint=error.hint), clock(now, None)
    if address is None:
        return Check("registry", "ok", "none configured", hint="`rye login ADDRESS` names one."), clock(now, None)
    from rye.registry.client import RegistryClient

    try:
        with RegistryClient.open(address, offline=session.offline) as client:
            time, origin, warnings = client.head.snapshot.time, client.origin, client.warnings
    except RyeError as error:
        found = Check("registry", "warning" if session.offline else "error", error.message, hint=error.hint)
        if error.code == "snapshot-future":
            return found, Check("clock", "error", error.message, hint="Set this machine's clock.")
        return found, clock(now, None)
    offline = " (offline: the state that was seen last)" if session.offline else ""
    if warnings:
        return Check("registry", "warning", "\n".join(warnings)), clock(now, time)
    return Check("registry", "ok", f"{origin} at {address}{offline}"), clock(now, time)
