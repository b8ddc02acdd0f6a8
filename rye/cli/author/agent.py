"""``rye agent``: shows the graph of who hands over to whom, and rewrites YAML as Markdown."""

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
@click.option("--entry", metavar="NAME", help="The agent that a run starts with.")
@click.option("--mermaid", is_flag=True, help="As a Mermaid flowchart.")
@click.pass_obj
def graph(session: Session, folder: str | None, entry: str | None, mermaid: bool) -> int:
    """Show who hands over to whom; who is never reached and who never ends is marked.

    FOLDER is a folder of agents; without it .ai/agents or .rawko/agents. Files that do not parse are listed, the rest goes on.
    """
    found = read_agents(session, folder)
    errors: list[dict[str, object]] = []
    for one in found.checked:  # before the graph: an agent that --entry names may be among those that do not parse
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
    """Write FILE.md beside an agent that is wholly YAML, with every field and the same prompt, or refuse."""
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
    "Agents: their graph, and from YAML to Markdown.",
    {
        "graph": ("rye.cli.author.agent:graph", "Show who hands over to whom."),
        "migrate": ("rye.cli.author.agent:migrate", "Write an agent's YAML as Markdown."),
    },
)
