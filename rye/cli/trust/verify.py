"""``rye verify``: check the signature of each file. Every verdict but ``valid`` exits 1 (DESIGN §4), and so does a customization
that changes a signed text and that this user has not agreed to."""

from __future__ import annotations

from collections import Counter

import click

from rye.cli.console import one_line
from rye.cli.kind_choice import kind_option
from rye.cli.options import Session, command
from rye.workspace.authoring.signature_check import verify_items

_STYLE = {"valid": "ok", "partial": "warning", "unsigned": "warning", "untrusted": "warning"}


@command("verify")
@click.argument("paths", nargs=-1, metavar="PATH…")
@kind_option()
@click.option(
    "--trusted-key", "trusted", multiple=True, metavar="FILE", help="Also trust this key (PEM or key TOML); repeatable."
)
@click.pass_obj
def verify(session: Session, paths: tuple[str, ...], kind: str | None, trusted: tuple[str, ...]) -> int:
    """Check the signatures of items against the keys that you trust.

    PATH is a file, a folder (.ai/packages: what is installed) or a pattern (default: the project's own items). For an installed
    item, the keys of its namespace in the pinned registry also count.
    """
    verified = verify_items(session, paths, kind, [session.path(file) for file in trusted])
    counts = Counter(entry.verification.verdict for entry in verified)
    results = [
        {
            "path": entry.shown,
            "kind": entry.kind,
            **entry.verification.as_json(),
            "differs": "line-ends" if entry.has_crlf else None,
            "not_agreed": [one.shown for one in entry.not_agreed],
        }
        for entry in verified
    ]
    for entry in verified:
        _print(session, entry.shown, entry.verification.verdict, entry.verification.detail)
        if entry.line_ends is not None:
            session.console.warn(*entry.line_ends)
        for one in entry.not_agreed:
            session.console.warn(
                f"{one_line(one.shown)} {one.does} what {one_line(entry.shown)} says, and you have not agreed to it.",
                "`rye trust project` shows what it changes and asks.",
            )
    if session.json:
        session.console.document({"results": results, "counts": dict(sorted(counts.items()))})
    elif len(results) > 1:
        session.console.say(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 0 if all(entry.is_covered for entry in verified) else 1


def _print(session: Session, shown: str, verdict: str, detail: str) -> None:
    space = " " * (14 - len(verdict))
    session.console.line((verdict, _STYLE.get(verdict, "removed")), f"{space}{one_line(shown)}", wide=True)
    if verdict != "valid":
        session.console.say(f"  {detail}", "dim")
