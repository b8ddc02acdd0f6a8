"""``rye list``: the items that this project can use, space by space; what is installed comes from the lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rye.cli.console import printable
from rye.cli.kind_choice import kind_option
from rye.cli.options import Session, command
from rye.project.context import load_manifest
from rye.project.layout import find_project
from rye.project.lock_file import read_lock

if TYPE_CHECKING:
    from rye.project.layout import Project
    from rye.project.lock import LockedItem
    from rye.project.spaces import Entry

_SPACES = ("project", "installed", "user", "system")


@command("list")
@kind_option()
@click.option("--space", type=click.Choice(_SPACES), help="Only this space.")
@click.pass_obj
def list_items(session: Session, kind: str | None, space: str | None) -> None:
    """Show installed items with version, tier of their rights and signer, and the items of the other spaces."""
    from rye.project.spaces import entries

    project = find_project(session.cwd)
    rows: list[dict[str, Any]] = []
    if project is not None and space in (None, "installed"):
        rows.extend(_installed(project, kind))
    namespace = load_manifest(project).namespace if project is not None else None
    for name, present in entries(project, namespace) if space != "installed" else ():
        if name != "installed" and space in (None, name):
            rows.extend(_own(entry) for entry in present if kind in (None, entry.location.kind))
    rows.sort(key=lambda row: (_SPACES.index(row["space"]), row["kind"], row["id"]))
    if session.json:
        session.console.document({"items": rows})
        return
    names = ("kind", "id", "version", "tier", "signer", "space", "state")
    session.console.table(
        [[printable(str(row[name] if row[name] is not None else "-")) for name in names] for row in rows],
        [name.upper() for name in names],
    )
    if not rows:
        session.console.say("Nothing is here; `rye add [KIND:]ID` adds an item, `rye search WORDS` finds one.")


def _installed(project: Project, kind: str | None) -> list[dict[str, Any]]:
    from rye.installation.on_disk import find_drift

    lock = read_lock(project)
    states: dict[object, str] = {}
    for entry in find_drift(project, lock.items):
        if entry.item is not None:
            states[entry.item.identity] = (
                "changed" if entry.state == "changed" else states.get(entry.item.identity, entry.state)
            )
    return [_row(item, states.get(item.identity, "ok")) for item in lock.items if kind in (None, item.kind)]


def _row(item: LockedItem, state: str) -> dict[str, Any]:
    return {
        "kind": item.kind,
        "id": item.id,
        "version": item.version,
        "tier": _tier(item.capabilities),
        "signer": item.signer,
        "space": "installed",
        "state": state,
        "registry": item.registry,
        "groups": list(item.groups),
        "capabilities": list(item.capabilities),
    }


def _own(entry: Entry) -> dict[str, Any]:
    from rye.project.item_file import load_item

    metadata = load_item(entry.path, kind=entry.location.kind).reading.metadata
    capabilities = metadata.capabilities if metadata is not None else ()
    return {
        "kind": entry.location.kind,
        "id": entry.id,
        "version": metadata.version if metadata is not None else None,
        "tier": _tier(capabilities) if metadata is not None else None,
        "signer": None,
        "space": entry.space,
        "state": "ok" if metadata is not None else "invalid",
        "registry": None,
        "groups": [],
        "capabilities": list(capabilities),
    }


def _tier(capabilities: tuple[str, ...]) -> str | None:
    """The worst tier of an item's rights; None where it has none."""
    from rye.permissions.risk import highest

    return str(highest(capabilities)) if capabilities else None
