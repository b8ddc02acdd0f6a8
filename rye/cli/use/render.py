"""``rye render``: the prompt that an agent gets (DESIGN §8)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rye.cli.console import printable
from rye.cli.effective import effective_target
from rye.cli.kind_choice import kind_option
from rye.cli.options import Session, command
from rye.project.target import Target, require_parsed
from rye.text.diagnostics import to_mend

if TYPE_CHECKING:
    from rye.items.directive.model import Directive


@command("render")
@click.argument("target", metavar="FILE|ID")
@click.option(
    "--input",
    "assignments",
    multiple=True,
    metavar="K=V",
    help="An input's value; repeat for more. Goes before --inputs.",
)
@click.option("--inputs", "inputs_file", metavar="FILE", help="A JSON object with inputs (- for standard input).")
@kind_option("Read the file as an item of this kind.")
@click.option("--base", is_flag=True, help="As published, without overrides and overlays.")
@click.pass_obj
def render(
    session: Session, target: str, assignments: tuple[str, ...], inputs_file: str | None, kind: str | None, base: bool
) -> None:
    """Print the prompt of an item, with inputs filled in and the outputs as a <returns> block."""
    from rye.rendering.inputs import parse_assignments

    texts = parse_assignments(assignments)
    values = _read_inputs(session, inputs_file)
    found = effective_target(session, target, kind, base=base)
    value = require_parsed(found.item)
    if found.item.kind.name == "directive":
        document = _directive(session, found, value, texts, values)  # type: ignore[arg-type]
    else:
        from rye.cli.customize.overlay import overlay_in_force
        from rye.cli.use.render_kinds import render_kind

        document = render_kind(session, found, value, texts, values, base=base, overlays=overlay_in_force)
    findings = to_mend(found.item.reading.diagnostics)
    session.console.diagnostics(found.item.shown, findings)
    if session.json:
        session.console.document({**document, "diagnostics": [finding.as_json() for finding in findings]})
    else:
        prompt = str(document["prompt"])
        if sys.stdout.isatty():
            prompt = printable(prompt)  # what an author wrote must not steer the terminal; a pipe gets every byte
        session.console.data(prompt, newline=not prompt.endswith("\n"))


def _read_inputs(session: Session, file: str | None) -> dict[str, Any]:
    if file is None:
        return {}
    from rye.cli.json_argument import read_object

    return read_object(session, file, "bad-input", 'Write {"name": value}.')


def _directive(
    session: Session, found: Target, directive: Directive, texts: dict[str, str], values: dict[str, Any]
) -> dict[str, object]:
    from rye.rendering.inputs import resolve
    from rye.rendering.prompt import render as render_prompt
    from rye.rendering.prompt import source_of

    if session.interactive:
        _ask_missing(session, directive, texts, values)
    filled = resolve(directive.inputs, texts, values)
    shown = found.item.kind.load().as_json(directive)
    return {
        "prompt": render_prompt(source_of(directive, found.item.text or ""), filled),
        "inputs": filled,
        "capabilities": shown["permissions"],
        "hooks": shown["hooks"],
        "model": shown["model"],
        "limits": shown["limits"],
    }


def _ask_missing(session: Session, directive: Directive, texts: dict[str, str], values: dict[str, Any]) -> None:
    for declaration in directive.inputs:
        if declaration.required and declaration.default is None and declaration.name not in (*texts, *values):
            session.console.say(declaration.description or "", "dim")
            texts[declaration.name] = session.console.ask(f"{declaration.name} ({declaration.type})")
