"""``rye show``: show an item, fully parsed."""

from __future__ import annotations

import click

from rye.cli.console import printable
from rye.cli.kind_choice import kind_option
from rye.cli.options import Session, command
from rye.cli.use.findings import show_findings
from rye.cli.use.indented import indented_lines
from rye.errors import UsageError
from rye.workspace.items.agreement import warn_not_agreed
from rye.workspace.items.effective_item import effective_item
from rye.workspace.items.item_tree import effective_tree


@command("show")
@click.argument("target", metavar="FILE|ID")
@kind_option("Read the file as an item of this kind.")
@click.option("--base", is_flag=True, help="Show the published item, without overrides.")
@click.option("--mermaid", is_flag=True, help="Print the graph of a formula's steps as a Mermaid diagram.")
@click.pass_obj
def show(session: Session, target: str, kind: str | None, base: bool, mermaid: bool) -> None:
    """Show an item: a file, or an id looked up in the project, installed, user and system spaces.

    The project's and your own overrides are applied, unless --base is given.
    """
    found = effective_item(session, target, kind, base=base, inspect=True)
    show_findings(session, found.findings)
    if not base:
        warn_not_agreed(session, found)
    value = found.parsed()
    graph = found.item.kind.load_graph()
    if mermaid:
        if graph is None:
            raise UsageError(
                "wrong-kind", f"A {found.item.kind.name} has no graph.", "Leave --mermaid out.", what="graph"
            )
        diagram = graph.as_mermaid(value)
        if session.json:
            session.console.document({"kind": found.item.kind.name, "id": found.id, "mermaid": diagram})
        session.console.data(printable(diagram), newline=False)
        return
    metadata = found.item.reading.metadata
    document: dict[str, object] = {
        "kind": found.item.kind.name,
        "id": found.id,
        "version": metadata.version if metadata else None,
        "description": metadata.description if metadata else None,
        **found.item.kind.load().as_json(value),
        "path": found.item.shown,
        "space": found.entry.space if found.entry else None,
        "overrides": list(found.overrides),
    }
    if found.item.kind.main_file is not None:
        tree = effective_tree(session, found)
        document["files"] = [
            {"path": path, "size": len(file.data or b""), "executable": file.executable} for path, file in tree.items()
        ]
    if session.json:
        session.console.document(document)
        return
    for line in indented_lines({key: entry for key, entry in document.items() if graph is None or key != "graph"}):
        session.console.line(line, hang=len(line) - len(line.lstrip(" ")) + 4)
    if graph is not None:
        session.console.data("\n" + printable(graph.as_text(value)), newline=False)
    show_findings(session, found.own_findings())
