"""``rye namespace claim``."""

from __future__ import annotations

from typing import Literal

import click

from rye.cli.options import Session, command
from rye.cli.publish.namespace_options import (
    key_option,
    output_option,
    release_threshold_option,
    require_option,
    show_keyset,
    signing,
)
from rye.cli.trust.own_keys import own_keys
from rye.registry.protocol.statements import Require
from rye.workspace.publishing import namespaces
from rye.workspace.publishing.namespaces import Thresholds


@command("claim")
@click.argument("namespace")
@key_option
@click.option("--owner", "owner_files", multiple=True, metavar="FILE", help="Another owner's public key; repeatable.")
@click.option(
    "--threshold", type=click.IntRange(1, 16), default=1, show_default=True, help="How many owners must sign."
)
@release_threshold_option
@require_option
@output_option
@click.pass_obj
def claim(
    session: Session,
    namespace: str,
    key_names: tuple[str, ...],
    owner_files: tuple[str, ...],
    threshold: int,
    release_threshold: int | None,
    require: Require | Literal["none"] | None,
    output: str | None,
) -> None:
    """Claim NAMESPACE for your key, or for several owners, of whom --threshold must sign every change of keys.

    On a terminal, asks before it claims a name that people may confuse with another.
    """
    owners = [session.path(file) for file in owner_files]
    thresholds = Thresholds(threshold, release_threshold, require)
    how = signing(session, key_names, output)
    outcome = namespaces.claim(session, own_keys(session), namespace, owners, thresholds, how)
    show_keyset(session, outcome, output)
