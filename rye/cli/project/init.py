"""``rye init``: a new project."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.project.layout import MANIFEST
from rye.project.manifest import parse_manifest
from rye.project.new_manifest import new_manifest
from rye.storage.atomic import replace_file


@command("init")
@click.argument("folder", required=False)
@click.option("--name", help="The project's name; default: its folder's.")
@click.option("--namespace", help="What its own items are published under.")
@click.pass_obj
def init(session: Session, folder: str | None, name: str | None, namespace: str | None) -> None:
    """Make a project: a rye.toml in FOLDER or here."""
    root = session.path(folder) if folder else session.cwd
    if namespace is not None and not is_segment(namespace):
        raise UsageError(
            "bad-name", f"{namespace!r} cannot be a namespace.", "Names: a-z, 0-9, '-' and '_', at most 64."
        )
    if (root / MANIFEST).exists():
        raise RyeError("project-exists", f"{root / MANIFEST} exists.", "Add items with `rye add [KIND:]ID`.")
    root.mkdir(parents=True, exist_ok=True)
    text = new_manifest(name or root.resolve().name, namespace, None)
    parse_manifest(text)
    replace_file(root / MANIFEST, text.encode())
    if session.json:
        session.console.document({"project": str(root), "manifest": str(root / MANIFEST)})
    else:
        session.console.data(f"made {root / MANIFEST}")
        session.console.say("Next: `rye add [KIND:]NAMESPACE/CATEGORY/NAME`, or `rye new directive CATEGORY/NAME`.")
