"""``rye search``: find items here and in registries."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.items.kinds import KINDS
from rye.layout import Column
from rye.workspace.registries import registry_search
from rye.workspace.registries.registry_search import SearchRequest


@command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("--kind", type=click.Choice(list(KINDS)), help="Find only this kind.")
@click.option("--namespace", metavar="NAME", help="Find only this namespace.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Show at most this many.")
@click.option("--local", is_flag=True, help="Search only the project, installed, user and system spaces.")
@click.pass_obj
def search(
    session: Session, query: tuple[str, ...], kind: str | None, namespace: str | None, limit: int, local: bool
) -> None:
    """Find items by words in their id and description, here and in registries.

    Each of the project's registries is searched only for the namespaces that are mapped to it. One that does not answer gives a
    warning; if none does and nothing is found here, that is an error.
    """
    words = " ".join(query)
    found = registry_search.search(session, SearchRequest(words, kind, namespace, limit, local))
    shown = found.rows
    if session.json:
        document: dict[str, object] = {"results": list(shown), "total": found.total}
        if found.not_searched:
            document["not_searched"] = [one.as_json() for one in found.not_searched]
        session.console.document(document)
        return
    if not shown:
        limits = {"--kind": kind, "--namespace": namespace, "--local": local}
        given = [name for name, value in limits.items() if value]
        leave = f" or leave out {' and '.join(given)}" if given else ""
        where = " where rye could search" if found.not_searched else ""
        session.console.say(f"Nothing matches {words!r}{where}. Try fewer or other words{',' if leave else ''}{leave}.")
    session.console.table(
        [
            [
                f"{row['kind']}:{row['id']}",
                row["version"] or "-",
                row["space"],
                ("(deprecated) " + row["description"], "warning")
                if row["deprecated"] is not None
                else row["description"],
            ]
            for row in shown
        ],
        ["ITEM", "VERSION", "WHERE", Column("DESCRIPTION", prose=True)],
    )
    if not isinstance(found.total, int):
        session.console.say("More than a thousand items match. Add words to narrow the search.")
    elif found.total > len(shown):
        session.console.say(f"{found.total - len(shown)} more; --limit shows them.")
