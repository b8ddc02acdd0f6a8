"""``rye agent``: the graph of who hands over to whom, and the way from YAML to Markdown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rye.cli.console import printable
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError
from rye.items.agent.graph import as_mermaid, as_text, build
from rye.items.agent.migration import migrate as as_markdown
from rye.items.agent.model import Agent
from rye.limits import CONTENT
from rye.project.checking import check_files
from rye.project.context import read_options
from rye.project.discovery import Found, expand
from rye.project.item_file import load_item, place, read_bytes
from rye.project.layout import find_project
from rye.text import content
from rye.text.spelling import near_miss

if TYPE_CHECKING:
    from rye.project.checking import Checked
    from rye.project.discovery import Found


@command("graph")
@click.argument("folder", required=False, metavar="[FOLDER]")
@click.option("--entry", metavar="NAME", help="The agent that a run starts with.")
@click.option("--mermaid", is_flag=True, help="As a Mermaid flowchart.")
@click.pass_obj
def graph(session: Session, folder: str | None, entry: str | None, mermaid: bool) -> int:
    """Show who hands over to whom; who is never reached and who never ends is marked.

    FOLDER is a folder of agents; without it .ai/agents or .rawko/agents. Files that do not parse are listed, the rest goes on.
    """

    checked = [
        c for c in check_files(_agents(session, folder), "agent", read_options(session.cwd)) if c.kind == "agent"
    ]
    agents = [c.item.reading.value for c in checked if c.item is not None and isinstance(c.item.reading.value, Agent)]
    failed = _report(session, checked)
    if entry is not None and entry not in {agent.name for agent in agents}:
        raise _unknown_entry(entry, [agent.name for agent in agents])
    built = build(agents, entry)
    if session.json:
        errors = [
            {"path": c.shown, **finding.as_json()}
            for c in checked
            for finding in c.diagnostics
            if finding.severity == "error"
        ]
        extra = {"mermaid": as_mermaid(built)} if mermaid else {}
        session.console.document({**built.as_json(), **extra, "errors": errors})
    else:
        session.console.data(printable(as_mermaid(built) if mermaid else as_text(built)), newline=False)
    return 1 if failed else 0


def _agents(session: Session, folder: str | None) -> list[Found]:

    if folder is None:
        project = find_project(session.cwd)
        root = project.root if project is not None else session.cwd
        places = [place for place in (root / ".ai" / "agents", root / ".rawko" / "agents") if place.is_dir()]
        if not places:
            raise RyeError(
                "no-agents", "There is no .ai/agents or .rawko/agents here.", "Name a folder: `rye agent graph FOLDER`."
            )
        folder = os.path.relpath(places[0], session.cwd)
    path = session.cwd / folder
    if not path.is_dir():
        raise UsageError("no-such-folder", f"There is no folder {folder!r}.", "Give a folder of agents.")

    direct = [
        Found(file, os.path.join(folder, file.name), path) for file in sorted(path.glob("*.md")) if file.is_file()
    ]
    if direct and path.name == "agents":
        return direct
    found = [f for f in expand([folder], session.cwd) if _is_agent(f.path)]
    if not found:
        raise RyeError("no-agents", f"There are no agents in {folder!r}.", "Make one with `rye new agent NAME`.")
    return found


def _is_agent(path: Path) -> bool:

    located = place(path, read_bytes(path, CONTENT.item_bytes).decode("utf-8", "replace").replace("\r\n", "\n"), None)
    return located is not None and located.kind == "agent"


def _report(session: Session, checked: list[Checked]) -> bool:
    """Print the errors; says whether there are any (DECISIONS Agents 9)."""
    failed = False
    for entry in checked:
        errors = [finding for finding in entry.diagnostics if finding.severity == "error"]
        session.console.diagnostics(entry.shown, errors, entry.text)
        failed = failed or bool(errors)
    return failed


def _unknown_entry(entry: str, names: list[str]) -> UsageError:

    meant = near_miss(entry, names)
    hint = f"Did you mean {meant}?" if meant else f"Agents: {', '.join(sorted(names)) or 'none'}."
    return UsageError("unknown-agent", f"There is no agent {entry!r} in this set.", hint)


@command("migrate")
@click.argument("files", nargs=-1, required=True, metavar="FILE.yaml…")
@click.pass_obj
def migrate(session: Session, files: tuple[str, ...]) -> int:
    """Write FILE.md beside an agent that is wholly YAML, with every field and the same prompt, or refuse."""
    planned = [_migrated(session, file) for file in files]
    results: list[dict[str, object]] = []
    failed = False
    for output, shown, text in planned:
        _write_new(output, shown, text)
        findings = _findings(session, output, shown)
        failed = failed or any(finding["severity"] == "error" for finding in findings)
        results.append({"path": shown, "diagnostics": findings})
        session.console.data(f"created {shown}")
    if session.json:
        session.console.document({"results": results})
    return 1 if failed else 0


def _migrated(session: Session, file: str) -> tuple[Path, str, str]:

    if not file.endswith((".yaml", ".yml")):
        raise UsageError("not-yaml", f"{file!r} is not called .yaml or .yml.", "Give the YAML file of an agent.")
    decoded = content.decode(read_bytes(session.path(file), CONTENT.item_bytes))
    errors = [finding for finding in decoded.diagnostics if finding.severity == "error"]
    if decoded.text is None or errors:
        raise RyeError("malformed-agent", f"{file}: {errors[0].message}", errors[0].hint)
    shown = file.rpartition(".")[0] + ".md"
    if session.path(shown).exists() or session.path(shown).is_symlink():
        raise _exists(shown)
    try:
        return session.path(shown), shown, as_markdown(decoded.text)
    except RyeError as error:
        raise RyeError(error.code, f"{file}: {error.message}", error.hint, details=error.details) from None


def _write_new(path: Path, shown: str, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError:
        raise _exists(shown) from None


def _exists(shown: str) -> RyeError:
    return RyeError("file-exists", f"{shown!r} exists and was left alone.", "Remove it first, or keep it.")


def _findings(session: Session, path: Path, shown: str) -> list[dict[str, object]]:

    item = load_item(path, shown=shown, kind="agent", options=read_options(session.cwd))
    session.console.diagnostics(shown, item.reading.diagnostics, item.text)
    return [finding.as_json() for finding in item.reading.diagnostics]


agent = family(
    "agent",
    "Agents: their graph, and from YAML to Markdown.",
    {
        "graph": ("rye.cli.author.agent:graph", "Show who hands over to whom."),
        "migrate": ("rye.cli.author.agent:migrate", "Write an agent's YAML as Markdown."),
    },
)
