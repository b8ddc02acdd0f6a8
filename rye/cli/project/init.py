"""``rye init``: create a project."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.workspace.authoring.new_project import new_project


@command("init")
@click.argument("folder", required=False)
@click.option("--name", help="The project's name (default: the folder's name).")
@click.option("--namespace", help="The namespace of its own items.")
@click.pass_obj
def init(session: Session, folder: str | None, name: str | None, namespace: str | None) -> None:
    """Create a project: a rye.toml in FOLDER (default: here)."""
    root = session.path(folder) if folder else session.cwd
    made = new_project(root, name, namespace)
    if session.json:
        member = {"workspace": str(made.workspace)} if made.workspace is not None else {}
        session.console.document({"project": str(root), "manifest": str(made.manifest), **member})
        return
    inside = made.manifest.is_relative_to(session.cwd)
    session.console.data(f"created {made.manifest.relative_to(session.cwd) if inside else made.manifest}")
    if made.workspace is not None:
        session.console.say(f"It is a member of the workspace at {made.workspace}, which holds its rye.lock and .ai.")
        session.console.say("Next: `rye add [KIND:]NAMESPACE/CATEGORY/NAME` here adds what it needs.")
    else:
        session.console.say("Next: `rye add [KIND:]NAMESPACE/CATEGORY/NAME`, or `rye new directive CATEGORY/NAME`.")
