"""What the namespace key commands share: which keys sign, where a keyset is written, and how the outcome is shown."""

from __future__ import annotations

import click

from rye.cli.options import Session
from rye.registry.protocol.statements import Keyset
from rye.workspace.publishing.keyset_signing import KeysetOutcome, Signing

key_option = click.option(
    "--key", "key_names", multiple=True, metavar="NAME", help="Sign with this key of yours; repeatable."
)
output_option = click.option(
    "-o", "--output", metavar="FILE", help="Where to write a keyset that more owners must sign."
)
threshold_option = click.option(
    "--threshold", type=click.IntRange(1, 16), help="How many owners must sign from now on."
)

release_threshold_option = click.option(
    "--release-threshold",
    type=click.IntRange(1, 16),
    metavar="K",
    help="How many keys must sign a release from now on; more than one: stage and approve.",
)

require_option = click.option(
    "--require",
    type=click.Choice(["hardware", "hardware-verified", "none"]),
    help="Whose signatures count from now on: security keys', those with PIN or finger, or all keys'.",
)


def signing(session: Session, key_names: tuple[str, ...], output: str | None = None) -> Signing:
    """The keys to sign with, and where to write a keyset that needs more signatures."""
    return Signing(key_names, session.path(output) if output is not None else None)


def _in_force(keyset: Keyset, position: int) -> str:
    if keyset.number > 1:
        return (
            f"changed {keyset.namespace} in {keyset.origin}: its keyset {keyset.number} is entry {position} of the log"
        )
    number = len(keyset.accepted_keys())
    keys = "its key" if number == 1 else f"its {number} keys"
    return f"{keyset.namespace} is yours in {keyset.origin}; only {keys} can publish there (log {position})"


def show_keyset(session: Session, outcome: KeysetOutcome, output: str | None = None) -> None:
    """Print the outcome. ``output``: the file as the person gave it."""
    keyset = outcome.keyset
    document: dict[str, object] = {"namespace": keyset.namespace, "number": keyset.number}
    if outcome.log is not None:
        document["log"] = outcome.log
        text = _in_force(keyset, outcome.log)
    else:
        document.update(file=output, missing=outcome.missing)
        text = (
            f"wrote {output}; it needs {outcome.missing}: the other owners run `rye namespace sign {output}`, "
            f"then `rye namespace submit {output}`"
        )
    session.console.answer(document, text)
