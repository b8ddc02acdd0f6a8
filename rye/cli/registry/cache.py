"""``rye cache``: fetched and verified files, shared by all of the user's projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.cli.unchanged import forget
from rye.workspace.registries.local_cache import cache_info, clean_cache, prune_cache

if TYPE_CHECKING:
    from rye.registry.store.cache import CacheInfo


def _show(session: Session, found: CacheInfo, said: str) -> None:
    if session.json:
        session.console.document(
            {"folder": str(found.folder), "objects": found.objects, "tiles": found.tiles, "bytes": found.bytes}
        )
        return
    session.console.data(f"{said}{found.objects} objects and {found.tiles} tiles, {_size(found.bytes)}")


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"


@command("dir")
@click.pass_obj
def folder(session: Session) -> None:
    """Print the cache's folder."""
    where = str(session.home.registry_cache)
    if session.json:
        session.console.document({"folder": where})
    else:
        session.console.data(where)


@command("info")
@click.pass_obj
def info(session: Session) -> None:
    """Show how much is in the cache."""
    found = cache_info(session.home)
    _show(session, found, f"{found.folder}: ")


@command("clean")
@click.pass_obj
def clean(session: Session) -> None:
    """Delete the whole cache, with the results of earlier checks. Files are fetched and checked again when needed."""
    forget(session.environment)
    _show(session, clean_cache(session.home), "deleted ")


@command("prune")
@click.option(
    "--older-than",
    default="30d",
    show_default=True,
    metavar="AGE",
    help="Delete files not used for this long, e.g. 36h, 3d, 2w.",
)
@click.pass_obj
def prune(session: Session, older_than: str) -> None:
    """Delete files that were not used recently."""
    _show(session, prune_cache(session.home, older_than), "deleted ")


cache = family(
    "cache",
    "Manage the cache that your projects share.",
    {
        "dir": ("rye.cli.registry.cache:folder", "Print the cache's folder."),
        "info": ("rye.cli.registry.cache:info", "Show how much is in it."),
        "clean": ("rye.cli.registry.cache:clean", "Delete everything in it."),
        "prune": ("rye.cli.registry.cache:prune", "Delete files that were not used recently."),
    },
)
