"""``rye prime``: the whole prompt of an agent in a role."""

from __future__ import annotations

import sys

import click

from rye.cli.console import printable
from rye.cli.customize.layouts import layout_options, places
from rye.cli.options import Session, command
from rye.cli.project.installing import agreement
from rye.cli.use.findings import show_findings
from rye.rendering.inputs import parse_assignments
from rye.workspace.customizing.priming import PrimeRequest
from rye.workspace.customizing.priming import prime as gather
from rye.workspace.named_file import NamedFile


@command("prime")
@click.argument("role", metavar="ROLE")
@click.option("--formula", metavar="F", help="Add the steps of this formula, a file or an id, with its overlay.")
@click.option("--context", "contexts", multiple=True, metavar="FILE", help="Add a context file; repeatable.")
@click.option("--handoff", metavar="FILE", help="Add the hand-off of the previous agent.")
@click.option("--input", "assignments", multiple=True, metavar="K=V", help="Set a variable of the formula; repeatable.")
@click.option("--explain", is_flag=True, help="Name every source that was checked, and what overlays did.")
@layout_options
@click.pass_obj
def prime(
    session: Session,
    role: str,
    formula: str | None,
    contexts: tuple[str, ...],
    handoff: str | None,
    assignments: tuple[str, ...],
    explain: bool,
    layout: str,
    town: str | None,
    rig: str | None,
) -> None:
    """Print one prompt: role, role directives, context files, hand-off and formula steps with overlays, in this order."""
    request = PrimeRequest(
        role=role,
        places=places(session, layout, town, rig),
        formula=formula,
        contexts=tuple(NamedFile(session.path(file), file) for file in contexts),
        handoff=NamedFile(session.path(handoff), handoff) if handoff is not None else None,
        texts=parse_assignments(assignments),
    )

    def ask(name: str, _type: str, description: str) -> str:
        session.console.say(description, "dim")
        return session.console.ask(name)

    primed = gather(session, request, ask, agreement(session))
    show_findings(session, primed.findings)
    if session.json:
        session.console.document(primed.as_json())
        return
    if explain:
        for each in primed.sources:
            click.echo(printable(str(each)), err=True)
    session.console.data(printable(primed.prompt) if sys.stdout.isatty() else primed.prompt, newline=False)
