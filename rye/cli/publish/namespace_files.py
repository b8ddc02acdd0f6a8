"""``rye namespace sign`` and ``submit``: a keyset that several owners sign, each on their own machine."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rye.cli.options import Session, command
from rye.cli.publish.namespace_options import key_option, show_keyset
from rye.cli.trust.own_keys import own_keys
from rye.workspace.publishing.keyset_signing import add_signature, submit_keyset


@command("sign")
@click.argument("file", metavar="FILE")
@key_option
@click.pass_obj
def sign(session: Session, file: str, key_names: tuple[str, ...]) -> None:
    """Add your signature to the keyset in FILE, which another owner wrote. Shows its content first."""

    def agreed(text: str, outside: Sequence[str]) -> bool:
        session.console.say(text.rstrip())
        for fingerprint in outside:
            session.console.warn(
                f"Your key {fingerprint} is not in the new keyset; your signature counts only for the old one."
            )
        return not session.interactive or session.yes or session.console.confirm("Sign this change of keys?")

    signed = add_signature(own_keys(session), session.path(file), file, key_names, agreed)
    session.console.answer(
        {"file": file, "signatures": signed.signatures},
        f"signed {file} ({signed.signatures} signatures); the last owner runs `rye namespace submit {file}`",
    )


@command("submit")
@click.argument("file", metavar="FILE")
@click.pass_obj
def submit(session: Session, file: str) -> None:
    """Publish a keyset that enough owners signed."""
    show_keyset(session, submit_keyset(session, session.path(file), file))
