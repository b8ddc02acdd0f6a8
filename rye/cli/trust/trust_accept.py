"""``rye trust accept``: accept new keys for a namespace whose lost keys the registry's owners replaced."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.workspace.publishing.recovery_acceptance import Recovery, accept_recoveries


@command("accept")
@click.argument("namespace")
@click.option("--statement", metavar="HASH", help="Accept only this recovery (the hash that the refusal named).")
@click.pass_obj
def accept(session: Session, namespace: str, statement: str | None) -> None:
    """Accept that NAMESPACE has new keys after a recovery. Ask its owners first whether they lost the old ones."""

    def agreed(recovery: Recovery) -> bool:
        _show(session, namespace, recovery)
        return not session.interactive or session.console.confirm("Trust the new keys?")

    accepted = accept_recoveries(session, namespace, statement, agreed)
    rows = [
        {"statement": one.statement, "old_keys": list(one.old_keys), "new_keys": list(one.new_keys)} for one in accepted
    ]
    session.console.answer(
        {"namespace": namespace, "accepted": rows},
        f"accepted the new keys of {namespace}: {', '.join(accepted[-1].new_keys)}",
    )


def _show(session: Session, namespace: str, recovery: Recovery) -> None:
    session.console.say(f"The registry's owners gave the namespace {namespace!r} to new keys.", "strong")
    for fingerprint in recovery.old_keys:
        session.console.say(f"  old key  {fingerprint}", "removed")
    for fingerprint in recovery.new_keys:
        session.console.say(f"  new key  {fingerprint}", "added")
    session.console.say("From now on, anyone who holds the new keys can publish under this name.")
