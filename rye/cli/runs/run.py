"""``rye run``: run a directive with a model of the user's choice, from its first turn to its return;
``rye run tool:ID``: call a tool once by hand.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from rye.cli.console import one_line, printable
from rye.cli.json_argument import read_object
from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError
from rye.limits import RUN
from rye.rendering.inputs import parse_assignments
from rye.runtime.approvals import Question
from rye.runtime.effects import Reply
from rye.runtime.run.loop import Progress
from rye.runtime.run.result import RunResult
from rye.runtime.run.running import Faces, RunRequest, run_directive
from rye.runtime.trying import Tried, try_tool

if TYPE_CHECKING:
    from threading import Event

_WORDS = {
    "ok": "done",
    "error": "failed",
    "limit": "stopped at a limit",
    "denied": "stopped: it lacks the rights it needs",
    "cancelled": "cancelled",
}


def _choices(given: tuple[str, ...]) -> dict[str, str]:
    choices: dict[str, str] = {}
    for word in given:
        tier, equals, value = word.partition("=")
        if not equals or not tier or not value:
            raise UsageError("usage", f"--model {word!r} is not TIER=MODEL.", "Write --model TIER=MODEL.")
        choices[tier] = value
    return choices


def _dollars(given: str | None) -> Decimal | None:
    if given is None:
        return None
    try:
        found = Decimal(given.removeprefix("$"))
    except InvalidOperation:
        found = Decimal(-1)
    if not found.is_finite() or not 0 <= found <= RUN.dollars:
        raise UsageError("usage", f"--max-spend {given!r} is not an amount in dollars.", "Write e.g. --max-spend 0.50.")
    return found


@command("run")
@click.argument("target", metavar="ID")
@click.option(
    "--input",
    "assignments",
    multiple=True,
    metavar="K=V",
    help="Set an input; repeatable. Takes precedence over --inputs.",
)
@click.option("--inputs", "inputs_file", metavar="FILE", help="A JSON object with inputs (- for standard input).")
@click.option(
    "--model",
    "choices",
    multiple=True,
    metavar="TIER=MODEL",
    help="For this run, use MODEL (a model, or another tier) where the directive asks for TIER.",
)
@click.option(
    "--max-spend",
    metavar="N",
    help="Stop after the turn that brings the cost to N dollars.",
)
@click.option("--arg", "arguments", multiple=True, metavar="K=V", help="Set a tool's parameter, as text; repeatable.")
@click.option("--json-args", metavar="FILE", help="A JSON object with a tool's parameters (- for standard input).")
@click.pass_obj
def run(
    session: Session,
    target: str,
    assignments: tuple[str, ...],
    inputs_file: str | None,
    choices: tuple[str, ...],
    max_spend: str | None,
    arguments: tuple[str, ...],
    json_args: str | None,
) -> int:
    """Run a directive: ask a model turn by turn, make the calls that its rights allow, and check what it returns.

    With tool:ID, run one tool once to try it: in its sandbox, with the grants in rye.toml, and without a model.

    Models are configured in your config.toml, one [models.TIER] each; see docs/how-to/running.md. Tools run in a
    sandbox, every call is logged in .ai/runs, and limits end the run. Exits 0 if the directive returned what it declares, else 1.
    """
    cancel = threading.Event()

    def given() -> dict[str, Any]:
        return read_object(session, json_args, "input", 'Write {"name": value}.') if json_args else {}

    if target.startswith("tool:"):
        if assignments or inputs_file or choices or max_spend is not None:
            raise UsageError(
                "usage", "A tool has parameters, but no inputs and no model.", "Use --arg K=V or --json-args FILE."
            )

        with _interrupts(cancel):
            return run_tool(session, target, parse_assignments(arguments, "--arg"), given, cancel)
    if arguments or json_args:
        raise UsageError(
            "usage", "--arg and --json-args are for tools.", "For a directive, use --input K=V or --inputs FILE."
        )
    texts = parse_assignments(assignments)
    values = read_object(session, inputs_file, "input", 'Write {"name": value}.') if inputs_file else {}

    def ask_input(name: str, type: str, description: str) -> str:
        session.console.say(printable(description), "dim")
        return session.console.ask(f"{name} ({type})")

    faces = Faces(
        cancel=cancel,
        watch=lambda progress: _show(session, progress),
        ask=lambda question: _agree(session, question),
        ask_input=ask_input if session.interactive else None,
        passphrase=lambda question: session.console.ask(question, hidden=True) if session.interactive else "",
    )
    request = RunRequest(target, texts, values, _choices(choices), _dollars(max_spend))
    with _interrupts(cancel):
        result = run_directive(session, request, faces)
    session.console.answer(result.as_json(), _summary(result))
    return 0 if result.status == "ok" else 1


@contextmanager
def _interrupts(cancel: threading.Event) -> Iterator[None]:
    """Raise KeyboardInterrupt on Ctrl-C, and cancel the run even if a library swallows the exception. SIGTERM, or a closed
    terminal, does the same: what a tool left is swept before the program ends."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        cancel.set()
        raise KeyboardInterrupt

    signals = [
        number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
    ]
    before = [(number, signal.signal(number, interrupt)) for number in signals]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _show(session: Session, progress: Progress) -> None:
    """Print one line on stderr about what happened; a child run's is indented."""
    spend = f" · ${progress.spend:.4f}" if progress.spend is not None else ""
    text, indent = one_line(progress.text)[:200], "    " * progress.depth
    if progress.what == "asking":
        turn = f"turn {progress.turn} · " if progress.turn else "  "
        session.console.say(f"{indent}{turn}{text} …", "dim")
    elif progress.what == "turn":
        session.console.say(f"{indent}turn {progress.turn}{spend}{' · ' + text if text else ''}", "dim")
    elif progress.what == "call":
        session.console.say(f"{indent}  {text}: {progress.outcome}", None if progress.outcome == "done" else "warning")
    elif progress.what == "hook":
        session.console.say(f"{indent}  hook {text}: {progress.outcome}")
    else:
        session.console.warn(text)


def _agree(session: Session, question: Question) -> Reply | None:
    """A person's answer about one call; None if no one can be asked."""
    if not session.interactive:
        return None
    session.console.say(f"{one_line(question.tool)} of {one_line(question.item)} waits for your approval.")
    session.console.say(f"  needs {one_line(question.required)}")
    session.console.say(f"  parameters {one_line(json.dumps(question.params))}")
    for line in question.shown:
        session.console.say(f"  {one_line(line)}")
    return Reply(session.ask("Allow it, once?"), "a person")


def _summary(result: RunResult) -> str:
    used, lines = result.used, [f"{_WORDS[result.status]}: {result.run}"]
    if result.problem is not None:
        lines[0] += f" ({result.problem.code}: {result.problem.message})"
    for name, value in (result.outputs or {}).items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f"  {name} = " + text.replace("\n", "\n    "))
    spend = f"${used.spend:.4f}" if result.priced else "unknown cost"
    turns = f"{used.turns} turn{'s' * (used.turns != 1)}"
    calls = f"{result.allowed} calls allowed, {result.denied} denied"
    lines.append(f"  {turns}, {used.tokens} tokens, {spend}, {used.duration:.1f} s; {calls}")
    lines.append(f"  log: {result.log}")
    return printable("\n".join(lines))


def run_tool(
    session: Session,
    target: str,
    texts: Mapping[str, str],
    values: Callable[[], Mapping[str, Any]],
    cancel: Event,
) -> int:
    """Run a tool; show what it returned, wrote and was refused; return the exit code. ``texts`` override ``values``."""
    tried = try_tool(session, target, {**values(), **texts}, cancel)
    if session.json:
        session.console.document(tried.as_json())
        return 0 if tried.result.error is None else 1
    _show_tool(session, tried)
    failed = tried.result.error
    if failed is not None:
        session.console.error(RyeError(failed.code, failed.message, failed.hint))
        return 1
    session.console.data(printable(json.dumps(tried.result.output, ensure_ascii=False, indent=2)))
    return 0


def _show_tool(session: Session, tried: Tried) -> None:
    """Print everything but the result, on stderr."""
    for line in tried.result.stderr.split("\n"):
        if line:
            session.console.say(f"  {one_line(line)}", "dim")
    granted = ", ".join(f"{key} {value}" for key, value in tried.grants.lines()) or "nothing beyond its work folder"
    session.console.say(f"{tried.item.label}: {tried.result.seconds:.2f} s; granted {granted}")
    for what in tried.result.refused:
        key, _, value = what.partition(" ")
        session.console.warn(f"Refused: {key} {one_line(value)}", tried.how_to_allow(what))
