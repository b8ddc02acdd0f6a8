"""``rye override``: changes of Markdown items that survive upgrades, one reviewed file for each item."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from typing import Any

import click
from msgspec.structs import replace

from rye.cli.console import one_line, printable
from rye.cli.customize.dates import parse_date
from rye.cli.customize.editing import edit_and_report
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.text.diagnostics import has_errors, to_mend
from rye.text.diagnostics import strict as as_errors
from rye.workspace.customizing.override_content import content_lines
from rye.workspace.customizing.overriding import NewOverride, check_overrides, new_override, overridable, override_file
from rye.workspace.named_file import NamedFile

_user = click.option("--user", is_flag=True, help="In your own space, for all of your projects.")


def _operations(function: Callable[..., Any]) -> Callable[..., Any]:
    lines = {
        "replace": "Replace the section; starts with its present text.",
        "append": "Add at the section's end.",
        "prepend": "Add at the section's beginning.",
        "insert-before": "Add a section before it.",
        "insert-after": "Add a section after it.",
    }
    for name in reversed(lines):
        function = click.option(f"--{name}", "operation", flag_value=name, help=lines[name])(function)
    return function


@command("new")
@click.argument("item", metavar="ID")
@click.argument("section", required=False, metavar='["## SECTION"]')
@_operations
@click.option("--frontmatter-set", metavar="KEY=VALUE", help="Set a frontmatter key to a YAML value.")
@click.option("--frontmatter-delete", metavar="KEY", help="Take a frontmatter key out.")
@click.option("--reason", default="Not said yet", show_default=True, help="Why the change is there.")
@click.option("--content", metavar="FILE", help="Take the content from FILE (- for standard input).")
@click.option("--today", metavar="DATE", callback=parse_date, help="The date of the review, if it is not today's.")
@_user
@click.pass_obj
def new(
    session: Session,
    item: str,
    section: str | None,
    operation: str | None,
    frontmatter_set: str | None,
    frontmatter_delete: str | None,
    reason: str,
    content: str | None,
    today: date | None,
    user: bool,
) -> None:
    """Write an override of a section: a directive that changes nothing until you change it.

    Without a section only the file is made. An existing file keeps what it has, and the directive is added at its end.
    """
    request = NewOverride(
        item,
        today or date.today(),
        section,
        operation,
        content_lines(NamedFile(session.path(content), content), sys.stdin.buffer.read) if content else None,
        frontmatter_set,
        frontmatter_delete,
        reason,
        user,
    )
    written = new_override(session, request)
    session.console.diagnostics(written.shown, to_mend(written.findings))
    if session.json:
        document = {"path": written.shown, "id": written.id, "kind": written.kind, "text": written.text}
        session.console.document(document)
    else:
        session.console.data(f"{'created' if written.created else 'changed'} {written.shown}")
        session.console.say(f"`rye override edit {written.id}{' --user' if user else ''}` opens it.", "hint")


@command("edit")
@click.argument("item", metavar="ID")
@_user
@click.pass_obj
def edit(session: Session, item: str, user: bool) -> None:
    """Open an item's overrides in your editor; what is not valid is not saved."""
    edit_and_report(session, override_file(session, item, user).editable(date.today()))


@command("list")
@click.pass_obj
def list_overrides(session: Session) -> None:
    """List the overrides of your space and of the project, and whether they fit their items."""
    found = list(check_overrides(session, None))
    if session.json:
        session.console.document({"overrides": [one.as_json() for one in found]})
        return
    if not found:
        session.console.say('No overrides. `rye override new ID "## Section"` writes one.')
    session.console.table(
        [[one.item or one.named_for, one.state, one.level, one.shown] for one in found],
        ["ITEM", "STATE", "SPACE", "FILE"],
    )


@command("show")
@click.argument("item", metavar="ID")
@click.pass_obj
def show(session: Session, item: str) -> int:
    """Show what the overrides of an item do: each directive, and the item as published against the item as used."""
    target = overridable(session, item)
    files = target.files()
    result = target.judge(files)
    name = target.found.id
    difference = target.difference(result)
    if session.json:
        overrides = [
            {
                "path": file.source.shown,
                "space": file.source.level,
                "refused": file.refused,
                "steps": [step.as_json() for step in file.result.steps],
                "diagnostics": [finding.as_json() for finding in file.diagnostics],
            }
            for file in result.files
        ]
        session.console.document({"id": name, "kind": target.kind, "files": overrides, **difference.as_json()})
        return 1 if result.refused else 0
    if not files:
        session.console.say(f"{name} has no overrides.")
    for file in result.files:
        session.console.data(f"{file.source.shown} ({file.source.level})" + (" is invalid" if file.refused else ""))
        for step in file.result.steps:
            session.console.data(printable(f"  line {step.line}: {step.operation} {step.target}: {step.detail}"))
            session.console.data(printable(f"    {step.reason}"))
        session.console.diagnostics(file.source.shown, to_mend(file.diagnostics))
    for line in difference.diff.removesuffix("\n").split("\n") if difference.diff else ():
        style = {"+": "added", "-": "removed", "@": "hint"}.get(line[:1])
        text = printable(line)
        session.console.data(session.console.style(text, style) if style else text)
    return 1 if result.refused else 0


@command("check")
@click.argument("items", nargs=-1, metavar="[ID]…")
@click.option("--today", metavar="DATE", callback=parse_date, help="Judge the age of reviews on this date.")
@click.option("--strict", is_flag=True, help="Warnings are errors.")
@click.pass_obj
def check(session: Session, items: tuple[str, ...], today: date | None, strict: bool) -> int:
    """Check overrides against their items: orphaned targets, other versions, old reviews, wider rights.

    Without IDs all of them. Exit 1 on errors.
    """
    found = list(check_overrides(session, today or date.today()))
    if items:
        wanted = {overridable(session, item).name for item in items}
        found = [one for one in found if one.item in wanted]
    if strict:
        found = [replace(one, findings=as_errors(one.findings)) for one in found]
    failed = any(has_errors(one.findings) for one in found)
    if session.json:
        session.console.document({"overrides": [one.as_json() for one in found], "ok": not failed})
        return 1 if failed else 0
    for one in found:
        session.console.diagnostics(one.shown, one.findings)
        session.console.data(f"{one.state}  {one_line(one.item or one.named_for)}  {one_line(one.shown)}")
    if not found:
        session.console.say("No overrides.")
    return 1 if failed else 0


override = family(
    "override",
    "Changes to items that survive their upgrades.",
    {
        "new": ("rye.cli.customize.override:new", "Write an override of a section."),
        "list": ("rye.cli.customize.override:list_overrides", "List overrides and whether they fit."),
        "show": ("rye.cli.customize.override:show", "What the overrides of an item do."),
        "edit": ("rye.cli.customize.override:edit", "Open an item's overrides in your editor."),
        "check": ("rye.cli.customize.override:check", "Check overrides against their items."),
    },
)
