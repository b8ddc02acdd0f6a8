"""``rye init``: create a project."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from rye.cli.options import Session, command
from rye.errors import UsageError
from rye.project.layout import find_project
from rye.workspace.authoring.new_project import new_project, set_up_merging


@command("init")
@click.argument("folder", required=False)
@click.option("--name", help="The project's name (default: the folder's name).")
@click.option("--namespace", help="The namespace of its own items.")
@click.option("--merge-driver", is_flag=True, help="In a project: let git merge rye.lock by items in this clone.")
@click.pass_obj
def init(session: Session, folder: str | None, name: str | None, namespace: str | None, merge_driver: bool) -> None:
    """Create a project: a rye.toml in FOLDER (default: here).

    With --registry URL, rye.toml names this registry for the items of the project.

    In a git checkout, .gitattributes says that rye.lock is merged by items. Each clone turns that on with --merge-driver.
    """
    root = session.path(folder) if folder else session.cwd
    if merge_driver and find_project(root) is not None:
        if name or namespace:
            raise UsageError(
                "contradiction", "--merge-driver changes no project that exists.", "Leave out --name and --namespace."
            )
        _set_up(session, root)
        return
    made = new_project(session, root, name, namespace)
    if session.json:
        member = {"workspace": str(made.workspace)} if made.workspace is not None else {}
        done = {"merge_driver": set_up_merging(root).as_json()} if merge_driver else {}
        session.console.document({"project": str(root), "manifest": str(made.manifest), **member, **done})
        return
    inside = made.manifest.is_relative_to(session.cwd)
    session.console.data(f"created {made.manifest.relative_to(session.cwd) if inside else made.manifest}")
    if merge_driver:
        _set_up(session, root)
    elif made.merge_driver is not None and made.merge_driver.attributes == "written":
        session.console.say(".gitattributes: rye.lock is merged by items, in clones that turn it on with")
        session.console.say("  rye init --merge-driver", "strong")
    there = f"`cd {quote(folder)}`, then " if folder and root.resolve() != session.cwd.resolve() else ""
    if made.workspace is not None:
        session.console.say(f"It is a member of the workspace at {made.workspace}, which holds its rye.lock and .ai.")
        session.console.say(f"Next: {there}`rye add [KIND:]NAMESPACE/CATEGORY/NAME` adds what it needs.")
    else:
        session.console.say(
            f"Next: {there}`rye add [KIND:]NAMESPACE/CATEGORY/NAME`, or `rye new directive CATEGORY/NAME`."
        )


_ATTRIBUTES = {
    "written": ".gitattributes: added `rye.lock merge=rye`; commit it",
    "kept": ".gitattributes: rye.lock is merged by items already",
    "foreign": ".gitattributes: another line says how rye.lock is merged; it stays",
    "unreadable": ".gitattributes: a link, or no text; it stays. Add `rye.lock merge=rye` where git reads it",
}
_CLONE = {
    "written": ".git/config: set merge.rye.driver, in this clone alone",
    "kept": ".git/config: merge.rye.driver is set already",
    "foreign": ".git/config: merge.rye.driver is another command; it stays",
}


def _set_up(session: Session, root: Path) -> None:
    done = set_up_merging(root)
    if session.json:
        session.console.document({"merge_driver": done.as_json()})
        return
    session.console.data(_ATTRIBUTES[done.attributes])
    session.console.data(_CLONE[done.clone or "kept"])
