"""``rye agent``: show the graph of handovers between agents, and rewrite YAML agents as Markdown."""

from __future__ import annotations

import click

from rye.cli.console import printable
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.items.agent.graph import as_mermaid, as_text
from rye.workspace.authoring.agent_sets import migrate_agents, read_agents
from rye.workspace.named_file import NamedFile


@command("graph")
@click.argument("folder", required=False, metavar="[FOLDER]")
@click.option("--entry", metavar="NAME", help="The agent that starts the run.")
@click.option("--mermaid", is_flag=True, help="Print a Mermaid flowchart.")
@click.pass_obj
def graph(session: Session, folder: str | None, entry: str | None, mermaid: bool) -> int:
    """Show which agent hands over to which. Agents that are never reached or never end are marked.

    FOLDER is a folder of agents (default: .ai/agents or .rawko/agents). Files that do not parse are listed, and the graph
    shows the rest.
    """
    found = read_agents(session, folder)
    errors: list[dict[str, object]] = []
    for one in found.checked:  # first: the agent that --entry names can be one that does not parse
        wrong = [finding for finding in one.diagnostics if finding.severity == "error"]
        session.console.diagnostics(one.shown, wrong, one.text)
        errors.extend({"path": one.shown, **finding.as_json()} for finding in wrong)
    built = found.graph(entry)
    if session.json:
        extra = {"mermaid": as_mermaid(built)} if mermaid else {}
        session.console.document({**built.as_json(), **extra, "errors": errors})
    else:
        session.console.data(printable(as_mermaid(built) if mermaid else as_text(built)), newline=False)
    return 1 if errors else 0  # DECISIONS Agents 9


@command("migrate")
@click.argument("files", nargs=-1, required=True, metavar="FILE.yaml…")
@click.pass_obj
def migrate(session: Session, files: tuple[str, ...]) -> int:
    """Write FILE.md next to an agent that is pure YAML, with every field and the same prompt, or refuse."""
    results: list[dict[str, object]] = []
    failed = False
    for item in migrate_agents(session, [NamedFile(session.path(file), file) for file in files]):
        findings = item.reading.diagnostics
        session.console.diagnostics(item.shown, findings, item.text)
        failed = failed or any(finding.severity == "error" for finding in findings)
        results.append({"path": item.shown, "diagnostics": [finding.as_json() for finding in findings]})
        session.console.data(f"created {item.shown}")
    if session.json:
        session.console.document({"results": results})
    return 1 if failed else 0


agent = family(
    "agent",
    "Graph agents, or rewrite them as Markdown.",
    {
        "graph": ("rye.cli.author.agent:graph", "Show which agent hands over to which."),
        "migrate": ("rye.cli.author.agent:migrate", "Write an agent's YAML as Markdown."),
    },
)
