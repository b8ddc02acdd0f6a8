"""``rye outdated``: items with newer versions. Exits 0, because a newer or refused release is not a failure; 1 if
somebody did not answer, because the list is incomplete then."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rye.cli.console import counted, one_line
from rye.cli.options import Session, command
from rye.cli.project.installing import install_options
from rye.layout import Cell, Column
from rye.project.context import require_project
from rye.workspace.installing.outdated import Outdated, OutdatedItem
from rye.workspace.installing.outdated import outdated as outdated_items
from rye.workspace.installing.outdated_sources import short_rev

_WITHOUT = {
    "requirements": "rye.toml lists no items; `rye add [KIND:]ID` adds one",
    "rows": "rye.lock has no items yet; `rye install` installs what rye.toml lists",
    "needs": "{member} needs no items; `rye add [KIND:]ID -p {member}` adds one",
}


@command("outdated")
@install_options("member")
@click.pass_obj
def outdated(session: Session, member: str | None) -> int:
    """Show items with newer versions: current, wanted (the newest that rye.toml allows) and latest. Exits 0 whatever it finds.
    If a registry or repository does not answer, shows what the others say, which one is missing and why, and exits 1.

    A locked release that can no longer be installed is shown with the reason: a revoked key, or the policy. So is one that its
    publisher yanked, which stays installed. Of a git repository, items whose files changed are shown with the commit, and newer
    tags if rye.toml names a tag.
    """
    found = outdated_items(session, require_project(session.cwd), member)
    _show(session, found, member)
    return 1 if found.not_asked else 0


def _show(session: Session, found: Outdated, member: str | None) -> None:
    if session.json:
        document: dict[str, object] = {"outdated": [_as_json(item) for item in found.items if item.newer.is_outdated]}
        if found.sources:
            document["sources"] = [one.as_json() for one in found.sources]
        if found.not_asked:
            document["not_asked"] = [one.as_json() for one in found.not_asked]
        session.console.document(document)
        return
    rows = [item.newer for item in found.items]
    header: list[str | Column] = ["ITEM", "CURRENT", "WANTED", "LATEST"]
    table: list[list[Cell]] = [
        [
            str(row.identity),
            row.current,
            _wanted(item),
            (row.latest or "-", None if row.latest in (None, row.wanted) else "info"),
        ]
        for item in found.items
        for row in (item.newer,)
    ]
    if any(row.refused or row.forced or row.yanked is not None for row in rows):
        header.append(Column("NOTE", prose=True, lines=9))
        for cells, row in zip(table, rows, strict=True):
            forced = f"forced by [overrides]: {one_line(row.forced)}" if row.forced else None
            refused = f"refused: {row.refused}" if row.refused else None
            yanked = "yanked" if row.yanked == "" else f"yanked: {one_line(row.yanked)}" if row.yanked else None
            cells.append(
                ("; ".join(said for said in (refused, yanked, forced) if said), "removed" if refused else "warning")
            )
    session.console.table(table, header)
    if found.sources:
        session.console.table(
            [[one.name, short_rev(one.current), (short_rev(one.latest), "info")] for one in found.sources],
            ["SOURCE", "CURRENT", "LATEST"],
        )
    for silent in found.not_asked:
        session.warn(silent.told("What it has that is newer is not in this list."), silent.error.hint)
    if found.without is not None:
        session.console.say(f"There is nothing to compare: {_WITHOUT[found.without].format(member=member)}.")
        return
    if not rows and not found.sources:
        known = "the newest version that is known offline" if session.offline else "its newest version"
        everything = "Everything else" if found.not_asked else "Everything"
        session.console.say(f"{everything} is at {known}.")
        return
    within = sum(row.wanted not in (None, row.current) or row.changed is not None for row in rows)
    newer = [item for item in found.items if item.newer.latest not in (None, item.newer.wanted)]
    beyond, held = [item for item in newer if item.direct], [item for item in newer if not item.direct]
    behind = [item for item in found.items if item.newer.is_outdated]
    told = [f"{counted(len(behind), 'item')} out of date."] if behind else []
    one = len(behind) == 1
    if within:
        told.append(f"`rye update` updates {'it' if one else within}.")
    if beyond:
        only = beyond[0].newer if len(beyond) == 1 else None
        example = f"{only.identity}@^{only.latest}" if only is not None else "ID@RANGE"
        told.append(f"For {_latest(beyond, one)}, change the range: `rye add {example}`.")
    if held:
        told.append(f"What needs it holds back {_latest(held, one)}: `rye update --dry-run` says what that is.")
    alone = [row for row in rows if row.yanked is not None and not row.is_outdated]
    if alone:
        which = f"{alone[0].identity} was" if len(alone) == 1 else f"{len(alone)} items were"
        told.append(f"{which} yanked, and no newer version can be installed.")
    if found.sources:
        first = found.sources[0]
        names = " and ".join(one.name for one in found.sources)
        stays = f"{names} {'stays' if len(found.sources) == 1 else 'stay'} there until you move it"
        told.append(one_line(f"{stays}{f', {first.name}' * (len(found.sources) > 1)}: {first.next_step}"))
    session.console.say(" ".join(told))


def _latest(items: Sequence[OutdatedItem], is_all: bool) -> str:
    """The latest version of these, in words. ``is_all``: whether nothing else is out of date."""
    if is_all:
        return "its latest version"
    return f"the latest version of {items[0].newer.identity if len(items) == 1 else len(items)}"


def _wanted(item: OutdatedItem) -> Cell:
    row = item.newer
    if row.changed is not None:
        return f"{row.current} ({short_rev(row.changed)})", "ok"
    return row.wanted or "-", None if row.wanted in (None, row.current) else "ok"


def _as_json(item: OutdatedItem) -> dict[str, object]:
    row = item.newer
    return {
        "kind": row.identity.kind,
        "id": row.identity.id,
        "current": row.current,
        "wanted": row.wanted,
        "latest": row.latest,
        "direct": item.direct,
        "refused": row.refused,
        "forced": row.forced,
        **({"changed": row.changed} if row.changed is not None else {}),
    }
