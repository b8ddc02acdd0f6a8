"""``rye override``: changes to Markdown items that survive updates, in one reviewed file per item."""

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
from rye.errors import UsageError
from rye.text.diagnostics import has_errors, to_mend
from rye.text.diagnostics import strict as as_errors
from rye.workspace.customizing.file_overriding import NewFileOverride, override_attached
from rye.workspace.customizing.overriding import (
    NewOverride,
    check_overrides,
    content_lines,
    new_override,
    overridable,
    override_file,
)
from rye.workspace.named_file import NamedFile

_user = click.option("--user", is_flag=True, help="Use your own space, for all your projects.")


def _operations(function: Callable[..., Any]) -> Callable[..., Any]:
    lines = {
        "replace": "Replace the section, or with --file the file, starting from what it is now.",
        "append": "Add to the end of the section.",
        "prepend": "Add to the beginning of the section.",
        "insert-before": "Add a section before this one.",
        "insert-after": "Add a section after this one.",
        "add": "With --file: add the file.",
        "leave-out": "With --file: leave the file out.",
    }
    for name in reversed(lines):
        function = click.option(f"--{name}", "operation", flag_value=name, help=lines[name])(function)
    return function


@command("new")
@click.argument("item", metavar="ID")
@click.argument("section", required=False, metavar='["## SECTION"]')
@_operations
@click.option("--frontmatter-set", metavar="KEY=VALUE", help="Set a frontmatter key to a YAML value.")
@click.option("--frontmatter-delete", metavar="KEY", help="Delete a frontmatter key.")
@click.option("--file", metavar="PATH", help="Change a file of a skill, as a whole. PATH is relative to its folder.")
@click.option("--reason", help="Why the change exists.  [default: Not said yet]")
@click.option("--content", metavar="FILE", help="Read the content from FILE (- for standard input).")
@click.option("--today", metavar="DATE", callback=parse_date, help="The date of the review, if not today.")
@_user
@click.pass_obj
def new(
    session: Session,
    item: str,
    section: str | None,
    operation: str | None,
    frontmatter_set: str | None,
    frontmatter_delete: str | None,
    file: str | None,
    reason: str | None,
    content: str | None,
    today: date | None,
    user: bool,
) -> None:
    """Write an override of a section: a directive that changes nothing until you edit it.

    Without a section, only the file is created. In an existing file, the directive is added at the end. With --file, an attached
    file of a skill is replaced, added or left out; again without these options, an entry stands on the author's present file.
    """
    if file is not None:
        if section is not None or frontmatter_set is not None or frontmatter_delete is not None:
            raise UsageError("usage", "--file is about a whole file, not about a section.", "Run the command twice.")
        _of_file(session, item, file, operation, content, reason, user)
        return
    if operation in ("add", "leave-out"):
        raise UsageError("usage", f"--{operation} needs a file of a skill.", "Name it with --file PATH.")
    request = NewOverride(
        item=item,
        reviewed=today or date.today(),
        section=section,
        operation=operation,
        content=content_lines(NamedFile(session.path(content), content), sys.stdin.buffer.read) if content else None,
        frontmatter_set=frontmatter_set,
        frontmatter_delete=frontmatter_delete,
        reason=reason or "Not said yet",
        user=user,
    )
    written = new_override(session, request)
    session.console.diagnostics(written.shown, to_mend(written.findings))
    if session.json:
        document = {"path": written.shown, "id": written.id, "kind": written.kind, "text": written.text}
        session.console.document(document)
    else:
        session.console.data(f"{'created' if written.created else 'changed'} {written.shown}")
        session.console.say(f"`rye override edit {written.id}{' --user' if user else ''}` opens it.", "hint")
        session.console.say("`rye deploy` changes what agent programs read.", "hint")


def _of_file(
    session: Session, item: str, path: str, do: str | None, content: str | None, reason: str | None, user: bool
) -> None:
    """Write the override of an attached file."""
    named = NamedFile(session.path(content), content) if content else None
    request = NewFileOverride(item=item, path=path, do=do, content=named, reason=reason, user=user)
    written = override_attached(session, request, sys.stdin.buffer.read)
    session.console.diagnostics(written.shown, to_mend(written.findings))
    if session.json:
        session.console.document(
            {
                "path": written.shown,
                "content": written.content,
                "id": written.id,
                "kind": written.kind,
                "file": written.entry.path,
                "do": written.entry.do,
                "text": written.text,
            }
        )
        return
    session.console.data(f"{'created' if written.created else 'changed'} {written.shown}")
    if written.content is not None:
        session.console.data(f"wrote {written.content}")
        session.console.say("Edit that file; after that, `rye trust project` shows the change and asks.", "hint")
    session.console.say("`rye deploy` changes what agent programs read.", "hint")


@command("edit")
@click.argument("item", metavar="ID")
@_user
@click.pass_obj
def edit(session: Session, item: str, user: bool) -> None:
    """Open an item's overrides in your editor. An invalid file is not saved."""
    edit_and_report(session, override_file(session, item, user).editable(date.today()))


@command("list")
@click.pass_obj
def list_overrides(session: Session) -> None:
    """List your own and the project's overrides, and whether they still fit their items."""
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
    """Show what an item's overrides do: each directive, and a diff from the published text to the effective text."""
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
@click.option("--today", metavar="DATE", callback=parse_date, help="Measure the age of reviews on this date.")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.pass_obj
def check(session: Session, items: tuple[str, ...], today: date | None, strict: bool) -> int:
    """Check overrides against their items: missing targets, changed versions, old reviews, wider rights.

    Without IDs, checks all overrides. Exits 1 on errors.
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
    "Change items in a way that survives updates.",
    {
        "new": ("rye.cli.customize.override:new", "Write an override of a section."),
        "list": ("rye.cli.customize.override:list_overrides", "List overrides and whether they fit."),
        "show": ("rye.cli.customize.override:show", "Show what an item's overrides do."),
        "edit": ("rye.cli.customize.override:edit", "Open an item's overrides in your editor."),
        "check": ("rye.cli.customize.override:check", "Check overrides against their items."),
    },
)
