"""``rye render``: print the prompt that an agent gets (DESIGN §8)."""

from __future__ import annotations

import sys

import click

from rye.cli.console import printable
from rye.cli.json_argument import read_object
from rye.cli.kind_choice import kind_option
from rye.cli.options import Session, command
from rye.cli.project.installing import agreement
from rye.cli.use.findings import show_findings
from rye.rendering.inputs import parse_assignments
from rye.workspace.items.rendering import RenderRequest
from rye.workspace.items.rendering import render as render_item


@command("render")
@click.argument("target", metavar="FILE|ID")
@click.option(
    "--input",
    "assignments",
    multiple=True,
    metavar="K=V",
    help="Set an input; repeatable. Takes precedence over --inputs.",
)
@click.option("--inputs", "inputs_file", metavar="FILE", help="A JSON object with inputs (- for standard input).")
@kind_option("Read the file as an item of this kind.")
@click.option("--base", is_flag=True, help="Render the published item, without overrides and overlays.")
@click.pass_obj
def render(
    session: Session,
    target: str,
    assignments: tuple[str, ...],
    inputs_file: str | None,
    kind: str | None,
    base: bool,
) -> None:
    """Print an item's prompt, with inputs filled in and outputs as a <returns> block.

    For an installed item, you must first agree on this machine to its rights, its hooks and what can run.
    """
    texts = parse_assignments(assignments)
    values = read_object(session, inputs_file, "input", 'Write {"name": value}.') if inputs_file else {}

    def ask(name: str, type: str, description: str) -> str:
        session.console.say(description, "dim")
        return session.console.ask(f"{name} ({type})")

    request = RenderRequest(target, kind, texts, values, base)
    rendered = render_item(session, request, ask, agreement(session))
    show_findings(session, (*rendered.findings, *rendered.diagnostics))
    if session.json:
        session.console.document(rendered.as_json())
        return
    if rendered.customizations and sys.stderr.isatty():
        files = ", ".join(each.path for each in rendered.customizations)
        session.console.say(f"rendered with {printable(files)}; --base leaves customizations out", "dim")
    prompt = rendered.prompt
    if sys.stdout.isatty():
        prompt = printable(prompt)  # an author's text must not control the terminal; a pipe gets every byte
    session.console.data(prompt, newline=not prompt.endswith("\n"))
