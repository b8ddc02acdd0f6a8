"""``rye sign``: add the author's signature line to valid items."""

from __future__ import annotations

import click

from rye.cli.console import one_line
from rye.cli.kind_choice import kind_option
from rye.cli.options import Session, command
from rye.cli.trust.own_keys import own_keys
from rye.errors import RyeError
from rye.workspace.authoring.misplaced import warn_of_misplaced
from rye.workspace.authoring.signing import SignOutcome, sign_items


@command("sign")
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--key", metavar="NAME", help="Sign with this key instead of the default one.")
@click.option("--force", is_flag=True, help="Replace valid signatures of other keys, too. Asks first.")
@kind_option()
@click.pass_obj
def sign(session: Session, paths: tuple[str, ...], key: str | None, force: bool, kind: str | None) -> None:
    """Validate items and sign those that need it.

    PATH is a file, a folder or a pattern (default: the project's own items). An item that
    has not changed since a key of yours, one that you trust or one of the project's namespace signed it stays as it is.
    If any item has an error, nothing is signed. Alarms of what is signed are shown, as before a publish.
    """
    warn_of_misplaced(session, paths)
    outcome = sign_items(session, own_keys(session), paths, kind, key, force=force)
    for entry in outcome.invalid:
        errors = [finding for finding in entry.diagnostics if finding.severity == "error"]
        session.console.diagnostics(entry.shown, errors, entry.text)
    if outcome.invalid:
        failed = outcome.invalid
        raise RyeError(
            "invalid-item",
            f"{failed[0].shown} is not valid, so nothing was signed."
            if len(failed) == 1
            else f"{len(failed)} items are not valid, so nothing was signed.",
            f"`rye validate {failed[0].shown}` shows what to fix.",
            details={"diagnostics": [f.as_json() for entry in failed for f in entry.diagnostics]},
        )
    results: list[dict[str, object]] = []
    for item in outcome.signed:
        status = "signed" if item.changed else "unchanged"
        results.append({"path": item.shown, "kind": item.kind, "status": status, "key": item.key.key_id})
        if item.changed:
            results[-1]["alarms"] = [alarm.as_json() for alarm in item.alarms]
        if not session.quiet:
            session.console.data(f"{status:<9} {one_line(item.shown)}")
    if session.json:
        session.console.document({"results": results})
    elif outcome.kept and not session.quiet:
        count = len(outcome.kept)
        what = "1 item keeps the valid signature" if count == 1 else f"{count} items keep the valid signatures"
        session.console.say(f"{what} of another key. `--force` replaces {'it' if count == 1 else 'them'}.")
    if outcome.proposed is not None:
        session.console.say(f"wrote {outcome.proposed}: commit it, so that colleagues are asked about your key")
    if alarms := [alarm for item in outcome.signed for alarm in item.alarms]:
        from rye.cli.alarms import show_alarms  # few texts have any

        show_alarms(session.console, alarms)
    _warn_of_outside(session, outcome)
    if any(item.changed for item in outcome.signed):
        deploys, publishes = (
            "`rye deploy` writes it where agent programs read it.",
            "`rye publish` sends what is signed to your registry, after asking.",
        )
        session.console.next_step(deploys if outcome.deploys else publishes)


def _warn_of_outside(session: Session, outcome: SignOutcome) -> None:
    """Say that signatures are valid and cannot be published, and what each way out is."""
    if not outcome.outside:
        return
    key, count = outcome.outside[0].key, len(outcome.outside)
    what = f"{one_line(outcome.outside[0].shown)} is" if count == 1 else f"{count} items are"
    session.console.warn(
        f"{what} signed with a key that {outcome.namespace} does not accept ({key.key_id}), so a publish would be refused.",
        f"`rye sign --key NAME --force` signs with a key that it accepts; an owner of {outcome.namespace} admits this one with "
        f"`rye namespace keys add {outcome.namespace} FILE`. `rye namespace show {outcome.namespace}` lists its keys.",
    )
