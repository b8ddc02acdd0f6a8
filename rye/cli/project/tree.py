"""``rye tree`` and ``rye why``: the locked graph from above and from below."""

from __future__ import annotations

from collections.abc import Container

import click

from rye.cli.console import counted, one_line
from rye.cli.options import Session, command
from rye.cli.project.installing import install_options, nothing_yet
from rye.installation.completeness import Node
from rye.layout import Cell
from rye.workspace.installing.locked_graph import locked_tree, reasons_for, signing

_MARKS = {"": "", "seen": " (*)", "cycle": " (cycle)", "missing": " (not in rye.lock)"}


@command("tree")
@click.option("--depth", type=click.IntRange(0), metavar="N", help="Show only N levels below the items in rye.toml.")
@install_options("member")
@click.pass_obj
def tree(session: Session, depth: int | None, member: str | None) -> None:
    """Show the locked items as a tree.

    (*): its dependencies are shown further up. (cycle): it depends on itself. (unverified): not yet verified on this
    machine. (forced): [overrides] of rye.toml forces its version.
    """
    found = locked_tree(session, depth, member)
    nodes, unverified = found.nodes, found.unverified
    if session.json:
        session.console.document({"tree": [_as_json(node, unverified) for node in nodes]})
        return
    for node in nodes:
        _show_node(session, node, unverified)
    items = {node.identity: node.item for node in nodes if node.item is not None}
    left = sum(identity in unverified and not item.is_editable for identity, item in items.items())
    if items:
        said = f"; {left} unverified: `rye install` verifies {'it' if left == 1 else 'them'}" if left else ""
        session.console.say(f"{counted(len(items), 'item')}{said}")
    if not nodes:
        session.console.say(nothing_yet(session, "Nothing is locked"))


def _indent(node: Node) -> str:
    if node.depth == 0:
        return ""
    above = "".join("    " if last else "│   " for last in node.last[1:-1])
    return above + ("└── " if node.last[-1] else "├── ")


def _show_node(session: Session, node: Node, unverified: Container[object]) -> None:
    """Print one item; a line that is too wide continues below the item's name."""
    spans: list[Cell] = [(_indent(node), "dim"), str(node.identity)]
    if node.item is not None:
        spans.append(f" {node.item.version}")
        spans.append((_mark(node.identity, unverified), "warning"))
        spans.append((" (forced)" if node.item.forced is not None else "", "warning"))
        if node.item.is_unsigned:
            spans.append((f" {node.item.how_signed}", "removed"))
    spans.append((_MARKS[node.mark], "dim" if node.mark == "seen" else "warning"))
    session.console.line(*spans, hang=4 * node.depth + 4, wide=True)


def _mark(identity: object, unverified: Container[object]) -> str:
    return " (unverified)" if identity in unverified else ""


def _state(identity: object, unverified: Container[object]) -> str:
    return "unverified" if identity in unverified else "ok"


def _as_json(node: Node, unverified: Container[object]) -> dict[str, object]:
    return {
        "depth": node.depth,
        "kind": node.identity.kind,
        "id": node.identity.id,
        "version": node.item.version if node.item else None,
        "mark": node.mark or None,
        "forced": node.item.forced if node.item else None,
        "state": _state(node.identity, unverified) if node.item else None,
        **signing(node.item),
    }


@command("why")
@click.argument("item", metavar="[KIND:]ID")
@install_options("member")
@click.pass_obj
def why(session: Session, item: str, member: str | None) -> None:
    """Show every chain of dependencies from rye.toml to an item."""
    found = reasons_for(session, item, member)
    target, versions = found.item, found.versions
    if session.json:
        rows = [
            {
                "group": line.group,
                **({"member": line.member} if line.member else {}),
                "chain": [f"{i}@{versions[i]}" for i in chain],
            }
            for line, chain in found.chains
        ]
        session.console.document(
            {
                "id": str(target.identity),
                "version": target.version,
                "forced": target.forced,
                "state": _state(target.identity, found.unverified),
                **signing(target),
                "chains": rows,
                "unverified": sorted({str(i) for _, chain in found.chains for i in chain if i in found.unverified}),
                "more": found.more,
            }
        )
        return
    for line, chain in found.chains:
        start = line.file if line.group == "main" else f"{line.file} ({line.group})"
        steps = [f" → {i} {versions[i]}{_mark(i, found.unverified)}" for i in chain]
        if session.console.on_terminal and len("".join([start, *steps])) > session.console.width:
            for each in (start, *(f" {step}" for step in steps)):
                session.console.line(each, wide=True)
        else:
            session.console.data("".join([start, *steps]))
    if target.forced is not None:
        session.console.data(f"[overrides] of rye.toml forces {target.identity} {one_line(target.forced)}")
    if target.is_unsigned:
        said = session.console.style(target.how_signed, "removed")
        session.console.data(f"{target.identity} is {said}, from {target.registry}")
    if found.more:
        session.console.say(f"Only the first {len(found.chains)} chains are shown.")
    if not found.chains and member is not None:
        session.console.say(f"{member} does not need {target.identity}.")
    elif not found.chains:
        session.console.say(f"rye.toml does not need {target.identity}; `rye install` removes it.")
