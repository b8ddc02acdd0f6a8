"""``rye runs``: what agents did, as recorded in the logs of their runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from rye.cli.console import one_line
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.runtime import finished_runs
from rye.runtime.effects import BY_THE_CLIENT


@command("list")
@click.pass_obj
def list_runs(session: Session) -> None:
    """List the runs of this project, newest first."""
    found = finished_runs.list_runs(session)
    if session.json:
        session.console.document({"runs": [each.as_json() for each in found]})
        return
    if not found:
        session.console.say("No runs yet. `rye run` and `rye mcp serve` record them.")
        return
    session.console.table(
        [
            (
                each.run,
                one_line(each.principal or ""),
                each.started or "",
                str(each.calls),
                str(each.denied),
                each.state,
            )
            for each in found
        ],
        ("run", "as", "started", "calls", "denied", "log"),
    )


@command("show")
@click.argument("run")
@click.pass_obj
def show(session: Session, run: str) -> int:
    """Show every line of a run's log. RUN is its name, or `last`."""
    found = finished_runs.read_run(session, run)
    if session.json:
        document = {"run": found.run, "verdict": found.verdict.as_json(), "events": list(found.events)}
        session.console.document(document)
    else:
        for event in found.events:
            parts = [one_line(event["tool"] or ""), one_line(event["item"] or ""), one_line(event["decision"] or "")]
            by = one_line(event["by"] or "")
            by = by if not by or by == BY_THE_CLIENT else f"by {by}"
            parts += [by, _limit(event)]
            session.console.data(
                "  ".join(filter(None, [f"{event['n']:>4}", one_line(event["time"]), event["event"], *parts]))
            )
        session.console.say(_said(found))
    return 0 if found.verdict.state != "broken" else 1


@command("verify")
@click.argument("run")
@click.pass_obj
def verify(session: Session, run: str) -> int:
    """Check that a run's log is complete and unchanged; exit 1 if not."""
    found = finished_runs.read_run(session, run)
    under = [(one_line(name or ""), one_line(sha256 or "")) for name, sha256 in found.policies]
    policies = [{"policy": name, "sha256": sha256} for name, sha256 in under]
    document = {"run": found.run, **found.verdict.as_json(), **({"policies": policies} if policies else {})}
    said = [_said(found), *(f"  under policy {name}, sha256 {sha256}" for name, sha256 in under)]
    session.console.answer(document, "\n".join(said))
    return 0 if found.verdict.state == "ok" else 1


def _limit(event: Mapping[str, Any]) -> str:
    """Which limit a call or a turn exceeded: "turns 7 of 6"; empty for other events."""
    crossing = event["params_redacted"]
    if event["event"] != "limit" or not isinstance(crossing, dict) or "limit" not in crossing:
        return ""
    return one_line(f"{crossing['limit']} {crossing.get('current')} of {crossing.get('maximum')}")


def _said(found: finished_runs.RunLog) -> str:
    verdict = found.verdict
    if verdict.state == "ok":
        return f"{found.run}: ok, {verdict.lines} lines"
    where = f" at line {verdict.line}" if verdict.line is not None else ""
    return f"{found.run}: {verdict.state}{where}: {verdict.reason}"


runs = family(
    "runs",
    "Show what agents did: every call of a run, and its decision.",
    {
        "list": ("rye.cli.runs.runs:list_runs", "List the runs of this project."),
        "show": ("rye.cli.runs.runs:show", "Show every line of a run's log."),
        "verify": ("rye.cli.runs.runs:verify", "Check that a run's log is complete and unchanged."),
    },
)
