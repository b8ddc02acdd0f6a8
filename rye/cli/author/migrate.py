"""``rye migrate``: brings items of an older form to today's rules."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.errors import RyeError

if TYPE_CHECKING:
    from rye.cli.author.proposed_change import ProposedChange


@command("directive")
@click.argument("paths", nargs=-1, required=True, metavar="FILE…")
@click.pass_obj
def directive(session: Session, paths: tuple[str, ...]) -> int:
    """Bring old directives to today's rules, after showing the change.

    Mends what `rye validate --fix` mends, makes a <cost> from <limits>, and drops a signature over the fence alone.
    """
    from rye.cli.author.proposed_change import offer
    from rye.project.checking import check_files
    from rye.project.context import read_options
    from rye.project.discovery import expand
    from rye.text.diagnostics import has_errors, in_order

    found = expand(paths, session.cwd)
    if any(entry.set_root is not None for entry in found):
        from rye.project.item_file import load_item

        found = [e for e in found if load_item(e.path, shown=e.shown).location.kind == "directive"]
        if not found:
            raise RyeError("no-items", "There are no directives below that folder.", "Give a directive's file.")
    proposed = [change for entry in found if (change := _propose(entry.path, entry.shown)) is not None]
    written = offer(session, proposed, shlex.join(["rye", "migrate", "directive", "--yes", *paths]))
    by_path = {change.shown: change for change in proposed}
    results: list[dict[str, object]] = []
    failed = bool(proposed) and not written
    for entry in check_files(found, "directive", read_options(session.cwd)):
        change = by_path.get(entry.shown)
        findings = in_order(entry.diagnostics)
        if change is None or written:
            session.console.diagnostics(entry.shown, findings, entry.text)
            failed = failed or has_errors(findings)
        if change is None:
            session.console.say(f"{entry.shown} is up to date.")
        results.append(
            {
                "path": entry.shown,
                "written": written and change is not None,
                "changes": list(change.changes) if change else [],
                "diff": change.diff if change else "",
                "diagnostics": [finding.as_json() for finding in findings],
            }
        )
    if session.json:
        session.console.document({"results": results})
    return 1 if failed else 0


def _propose(path: Path, shown: str) -> ProposedChange | None:
    """What brings one directive up to date; None where nothing does. Raises RyeError when the file is no text."""
    from rye.cli.author.proposed_change import ProposedChange, breaks_signature
    from rye.items.directive.fix import migrate as migrated
    from rye.items.reading import Source
    from rye.limits import CONTENT
    from rye.project.item_file import place, read_bytes

    data = read_bytes(path, CONTENT.item_bytes)
    if len(data) > CONTENT.item_bytes:
        raise RyeError(
            "too-large", f"{shown} has more than {CONTENT.item_bytes:,} bytes.", "Split it, then migrate the parts."
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RyeError("not-utf8", f"{shown} is not UTF-8 (byte {error.start}).", "Save the file as UTF-8.") from None
    location = place(path, text, "directive")
    assert location is not None
    fixed = migrated(text, Source(text, shown, location.name, location.category))
    new = fixed.text.encode("utf-8")
    if new == data:
        return None
    broken = breaks_signature(data, new, "directive", path.name)
    return ProposedChange(path, shown, "directive", data, new, fixed.changes, broken)


migrate = family(
    "migrate",
    "Bring items of an older form to today's rules.",
    {"directive": ("rye.cli.author.migrate:directive", "Bring old directives to today's rules.")},
)
