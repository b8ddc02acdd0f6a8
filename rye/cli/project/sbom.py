"""``rye sbom``: a bill of materials of rye.lock, for programs that read CycloneDX or SPDX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

import click

from rye.cli.console import counted
from rye.cli.options import Session, command
from rye.errors import UsageError
from rye.project.context import require_project
from rye.workspace.installing.bill_of_materials import FORMATS, project_bill

_SERIAL = re.compile(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@command("sbom")
@click.option(
    "--format",
    "form",
    type=click.Choice(tuple(FORMATS)),
    default="cyclonedx",
    help="CycloneDX 1.6 or SPDX 2.3 (default: cyclonedx).",
)
@click.option(
    "--time",
    "given_time",
    metavar="TIME",
    help="The timestamp, YYYY-MM-DDTHH:MM:SSZ (default: SOURCE_DATE_EPOCH, or none).",
)
@click.option("--serial", metavar="URN", help="The serial number, urn:uuid:… (default: derived from the lock).")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of stdout.")
@click.pass_obj
def sbom(session: Session, form: str, given_time: str | None, serial: str | None, output: str | None) -> None:
    """Write a bill of materials (JSON) of everything in rye.lock, which must exist. The same lock gives the same document."""
    project = require_project(session.cwd)
    if serial is not None and not _SERIAL.fullmatch(serial):
        raise UsageError(
            "bad-argument",
            f"{serial!r} is not a serial number.",
            "Write urn:uuid: and a UUID in lowercase.",
            what="serial number",
        )
    bill = project_bill(session, project, form=form, time=_time(given_time, session.environment), serial=serial)
    if output is None:
        session.console.document(bill.document)
        return
    path = session.path(output)
    bill.write(path)
    if session.json:
        session.console.document({"output": str(path), "components": bill.components})
    else:
        session.console.data(f"wrote {path} with {counted(bill.components, 'component')}")


def _time(given: str | None, environment: Mapping[str, str]) -> str | None:
    if given is not None:
        try:
            return datetime.strptime(given, _TIME).strftime(_TIME)
        except ValueError:
            raise UsageError(
                "bad-argument", f"{given!r} is not a timestamp.", "Write YYYY-MM-DDTHH:MM:SSZ.", what="time"
            ) from None
    epoch = environment.get("SOURCE_DATE_EPOCH", "")
    if not (epoch.isascii() and epoch.isdigit()):
        return None
    try:
        return datetime.fromtimestamp(int(epoch), UTC).strftime(_TIME)
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            "bad-argument",
            f"SOURCE_DATE_EPOCH={epoch[:40]!r} is not a time.",
            "Set it to seconds since 1970, or unset it.",
            what="time",
        ) from None
