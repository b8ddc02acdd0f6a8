"""``rye schema``: JSON schemas of the files and documents that Rye reads and writes."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.errors import UsageError
from rye.layout import Column
from rye.schemas.catalog import CATALOG, as_text, nearest, schema


@command("schema")
@click.argument("name", required=False)
@click.pass_obj
def print_schema(session: Session, name: str | None) -> None:
    """Print the JSON schema NAME; without a name, the list of schemas.

    For editors, and for programs that read the output of `--json`.
    """
    if name is None:
        if session.json:
            session.console.document({"schemas": [{"name": key, "title": row[0]} for key, row in CATALOG.items()]})
            return
        session.console.table(
            [[key, row[0]] for key, row in CATALOG.items()], ["NAME", Column("WHAT", prose=True, lines=9)]
        )
        return
    if name not in CATALOG:
        near = nearest(name)
        hint = f"Did you mean {near!r}?" if near else "`rye schema` lists them."
        raise UsageError("unknown-name", f"No schema is named {name!r}.", hint, what="schema")
    if session.json:
        session.console.document(schema(name))
        return
    session.console.data(as_text(schema(name)), newline=False)
