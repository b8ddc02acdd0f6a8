"""``rye self check``: whether this program is the one that was released."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import rye
from rye.cli.console import one_line
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.workspace.self_check import CANNOT_KNOW, check_program


@command("check")
@click.argument("release", metavar="RELEASE")
@click.option(
    "--trusted-key", "trusted", multiple=True, metavar="FILE", help="Also trust this key (PEM or key TOML); repeatable."
)
@click.option("--site", metavar="DIR", help="Check the program in this folder (site-packages), not the one that runs.")
@click.pass_obj
def check(session: Session, release: str, trusted: tuple[str, ...], site: str | None) -> int:
    """Compare the files of this program with those of a signed release.

    RELEASE is the release's signed file, rye-VERSION.md, or the installed one below .ai/packages. A key that you trust must have
    signed it; for an installed one, a key of its namespace.
    """
    path = session.path(release)
    own = Path(rye.__file__).resolve().parents[1]
    place, program = (own, Path(sys.argv[0])) if site is None else (session.path(site), None)
    found = check_program(session, path, place, [session.path(file) for file in trusted], program)
    if session.json:
        fields = {name: getattr(found, name) for name in found.__struct_fields__}
        session.console.document({**fields, "cannot_know": CANNOT_KNOW})
    else:
        style = "ok" if found.state == "as-released" else "removed"
        session.console.line((found.state, style), f"  {one_line(found.place)}", wide=True)
        session.console.say(one_line(found.message))
        if found.signer is not None:
            session.console.say(f"The release is signed by {found.signer}.")
        for how in ("changed", "added", "removed", "not_compared"):
            for file in getattr(found, how):
                session.console.line((f"{how.replace('_', ' ')}  ", "removed"), one_line(file), wide=True)
        session.console.say(CANNOT_KNOW, "dim")
    return 0 if found.state == "as-released" else 1


self_command = family(
    "self",
    "Check this program itself.",
    {"check": ("rye.cli.trust.self_check:check", "Compare its files with a signed release.")},
)
