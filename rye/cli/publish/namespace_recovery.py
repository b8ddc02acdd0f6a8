"""``rye namespace recover`` and ``object``: for a namespace whose keys are lost, or claimed to be."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.publish.namespace_options import key_option, output_option, show_keyset, signing
from rye.cli.trust.own_keys import own_keys
from rye.workspace.publishing.namespaces import draft_recovery, object_to_recovery


@command("recover")
@click.argument("namespace")
@key_option
@click.option(
    "-o", "--output", metavar="FILE", required=True, help="Where to write the draft that the registry's owners sign."
)
@click.pass_obj
def recover(session: Session, namespace: str, key_names: tuple[str, ...], output: str) -> None:
    """Draft a recovery that gives a namespace with lost keys to your key.

    The registry's owners sign the draft (`rye-registry root sign FILE`), then `rye namespace submit FILE` publishes it. It takes
    effect 72 hours later, in public, and every user of the namespace is asked.
    """
    keyset = draft_recovery(session, own_keys(session), namespace, signing(session, key_names), session.path(output))
    session.console.answer(
        {"file": output, "namespace": namespace, "number": keyset.number},
        f"wrote {output}; the registry's owners sign it with `rye-registry root sign {output} --key FILE`",
    )


@command("object")
@click.argument("namespace")
@key_option
@output_option
@click.pass_obj
def object_(session: Session, namespace: str, key_names: tuple[str, ...], output: str | None) -> None:
    """Object to a pending recovery: the current keys stay, and the recovery is cancelled."""
    outcome = object_to_recovery(session, own_keys(session), namespace, signing(session, key_names, output))
    show_keyset(session, outcome, output)
