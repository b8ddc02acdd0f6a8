"""``rye diff``: compare releases, an installed item with a newer release, hand edits, or the effect of overrides."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rye.cli.console import one_line
from rye.cli.options import Session, command
from rye.errors import UsageError
from rye.items.consented import HookAction
from rye.permissions.comparing import Comparison
from rye.permissions.containment import Change
from rye.project.context import require_project
from rye.workspace.installing.differences import ComparedReleases, compare_releases, earlier_comparison, edited_files
from rye.workspace.registries.not_asked import not_asked_document


@command("diff")
@click.argument("items", nargs=-1, metavar="[KIND:]ID[@VERSION] [ID@VERSION]")
@click.option("--edited", is_flag=True, help="Show files in .ai/packages that were edited by hand.")
@click.option("--effective", is_flag=True, help="Show how your overrides change an item.")
@click.option("--origin", is_flag=True, help="Show what you and the author changed in forks: those named, or all.")
@click.pass_obj
def diff(session: Session, items: tuple[str, ...], edited: bool, effective: bool, origin: bool) -> int:
    """Compare releases: text, rights, dependencies, hooks. With one ID, the installed version with the newest (or VERSION).

    Both sides come from the registry and are verified. For an item of a git repository, VERSION is a commit: any by its
    whole name, one that was installed here by its first digits. Exits 0 whether they differ or not, and 1 with --origin if
    the original of a fork cannot be reached.
    """
    if edited + effective + origin > 1 or (edited and items):
        raise UsageError(
            "contradiction", "--edited cannot be combined with items or other options.", "Run `rye diff --edited`."
        )
    if origin:
        from rye.cli.author.origins import diff_forks

        return diff_forks(session, items)
    if edited:
        _edited(session)
    elif effective:
        if len(items) != 1:
            raise UsageError("usage", "--effective expects one item.", "Run `rye diff ID --effective`.")
        _effective(session, items[0])
    elif len(items) in (1, 2):
        _releases(session, items)
    else:
        hint = "`rye diff ID` compares with the newest release, `rye diff --edited` shows what was changed by hand."
        raise UsageError("usage", "Name one or two items.", hint if not items else "Run `rye diff ID@1.0.0 ID@2.0.0`.")
    return 0


# -- releases ----------------------------------------------------------------------------------------------------------------


def _releases(session: Session, items: Sequence[str]) -> None:
    found = compare_releases(session, items)
    _show(session, found)
    if found.comparison.equal and len(items) == 1 and not session.json:
        command = earlier_comparison(session, items[0])
        if command is not None:
            session.console.say(f"What it was before: `{command}`; `git log -p rye.lock` has the commits.", "hint")


def _show(session: Session, compared: ComparedReleases) -> None:
    old, new, found = compared.before, compared.after, compared.comparison
    if session.json:
        silent = not_asked_document(compared.not_asked)
        session.console.document({"old": old.label, "new": new.label, **found.as_json(), **silent})
        return
    if found.equal:
        session.console.data(f"{old.label} and {new.label} do not differ")
        return
    sections: list[tuple[str, list[str]]] = [
        ("rights", [f"{s} {c.pattern}{_example(c.witness, c.pattern)}" for s, cs in _rights(found) for c in cs]),
        ("dependencies", [f"+ {r}" for r in found.relations_added] + [f"- {r}" for r in found.relations_removed]),
        ("hooks", [f"+ {_hook(h)}" for h in found.hooks_added] + [f"- {_hook(h)}" for h in found.hooks_removed]),
        ("agent tools", [f"+ {t}" for t in found.tools_added] + [f"- {t}" for t in found.tools_removed]),
        ("attached files", list(found.attached)),
        ("signer", [f"- {old.signer}", f"+ {new.signer}"] if found.signer_changed else []),
    ]
    _lines(session, found.text)
    for title, rows in sections:
        if rows:
            session.console.data(session.console.style(f"{title}:", "strong"))
            _lines(session, [f"  {row}" for row in rows])


def _rights(found: Comparison) -> list[tuple[str, tuple[Change, ...]]]:
    return [("+", found.widened), ("-", found.narrowed)]


def _example(witness: str | None, pattern: str) -> str:
    return f"   e.g. {witness}" if witness and witness != pattern else ""


def _hook(hook: HookAction) -> str:
    inputs = ", ".join(f"{name}={text!r}" for name, text in hook.inputs)
    return f"when {hook.when}: execute {hook.item_type} {hook.item_id}{f' ({inputs})' if inputs else ''}"


def _lines(session: Session, lines: Sequence[str]) -> None:
    for line in lines:
        mark = line.lstrip(" ")[:1] if not line.startswith(" ") or line.startswith("  ") else ""
        style = {"+": "added", "-": "removed", "@": "info"}.get(mark)
        shown = one_line(line)
        session.console.data(session.console.style(shown, style) if style else shown)


# -- hand edits --------------------------------------------------------------------------------------------------------------


def _edited(session: Session) -> None:
    files = edited_files(session, require_project(session.cwd))
    if session.json:
        rows = [{"path": file.path, "state": file.state, "diff": file.diff} for file in files]
        session.console.document({"files": rows})
        return
    for file in files:
        why = "not text" if file.is_known else "its signed bytes are not here"
        _lines(session, file.diff.split("\n") if file.diff else [f"{file.path} is {file.state} ({why})"])
    if not files:
        session.console.say("No files were edited by hand.")


# -- overrides ---------------------------------------------------------------------------------------------------------------


def _effective(session: Session, item: str) -> None:
    """Print how the overrides change the item."""
    from rye.workspace.installing.differences import effective_changes

    found = effective_changes(session, item)
    rights = found.rights
    if session.json:
        changed = {
            "widened": [change.pattern for change in rights.widened],
            "narrowed": [change.pattern for change in rights.narrowed],
        }
        session.console.document({"id": found.id, "kind": found.kind, **found.text.as_json(), "capabilities": changed})
        return
    for shown in found.text.refused:
        session.console.warn(f"{shown} is invalid and was skipped.", f"`rye override check {found.id}` says why.")
    if not found.text.diff:
        session.console.data(f"{found.id} is used as published")
        return
    _lines(session, found.text.diff.rstrip("\n").split("\n"))
    _lines(session, [f"  {s} {c.pattern}" for s, cs in (("+", rights.widened), ("-", rights.narrowed)) for c in cs])
