"""``rye sign``: puts the author's signature line into items that are valid."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from rye.cli.console import printable
from rye.cli.kind_choice import kind_option
from rye.cli.options import Session, command
from rye.errors import RyeError

if TYPE_CHECKING:
    from rye.project.checking import Checked


@command("sign")
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--key", metavar="NAME", help="Sign with this key instead of the default one.")
@kind_option()
@click.pass_obj
def sign(session: Session, paths: tuple[str, ...], key: str | None, kind: str | None) -> None:
    """Validate items and sign those that need it.

    PATH is a file, a folder or a pattern; none: the project's own items. What is signed by this key and unchanged stays as it is.
    When one item has an error, nothing is signed.
    """
    from rye.cli.trust.key_access import key_store, signing_key
    from rye.project.checking import check_files
    from rye.project.context import arguments_or_own_items, read_options
    from rye.signing.sign_item import sign_bytes
    from rye.signing.verification import verify
    from rye.storage.atomic import replace_file

    checked = check_files(arguments_or_own_items(session.cwd, paths), kind, read_options(session.cwd))
    failed = [entry for entry in checked if any(d.severity == "error" for d in entry.diagnostics)]
    for entry in failed:
        errors = [finding for finding in entry.diagnostics if finding.severity == "error"]
        session.console.diagnostics(entry.shown, errors, entry.text)
    if failed:
        raise RyeError(
            "invalid-item",
            f"{failed[0].shown} does not validate; nothing was signed."
            if len(failed) == 1
            else f"{len(failed)} items do not validate; nothing was signed.",
            f"`rye validate {failed[0].shown}` shows what to mend.",
            details={"diagnostics": [f.as_json() for entry in failed for f in entry.diagnostics]},
        )
    _refuse_installed(checked)
    private = signing_key(session, key)
    # Without --key, what any key of this person has signed as a whole needs nothing: a new default key must not touch
    # every file, and with it every version that is published already.
    own = () if key is not None else tuple(stored.public for stored in key_store().list())
    now = datetime.now(UTC)
    signed = []
    for entry in checked:
        assert entry.item is not None
        item = entry.item
        kind, name = item.location.kind, item.path.name
        if own and verify(item.data, kind, name, own).ok:
            signed.append((item, item.data))
        else:
            signed.append((item, sign_bytes(item.data, kind, name, private, now)))
    results = []
    for item, data in signed:
        changed = data != item.data
        if changed:
            replace_file(item.path.resolve(), data)
        status = "signed" if changed else "unchanged"
        results.append({"path": item.shown, "kind": item.location.kind, "status": status, "key": private.public.key_id})
        if not session.quiet:
            session.console.data(f"{status:<9} {printable(item.shown)}")
    if session.json:
        session.console.document({"results": results})


def _refuse_installed(checked: list[Checked]) -> None:
    """An installed item carries its author's signature; with another one it would no longer be what was installed."""
    for entry in checked:
        if entry.item is not None and entry.item.location.namespace is not None:
            raise RyeError(
                "installed-item",
                f"{entry.shown} is installed; it stays as its author signed it.",
                "Keep a change of your own with `rye override new`.",
            )
