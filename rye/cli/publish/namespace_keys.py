"""``rye namespace keys add``, ``keys remove`` and ``revoke``: changes of a namespace's keys."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.publish.namespace_options import (
    key_option,
    output_option,
    release_threshold_option,
    show_keyset,
    signing,
    threshold_option,
)
from rye.cli.trust.own_keys import own_keys
from rye.workspace.publishing.namespaces import Revoking, Thresholds, add_key, remove_key, revoke_key


@command("add")
@click.argument("namespace")
@click.argument("file", metavar="FILE")
@threshold_option
@release_threshold_option
@key_option
@output_option
@click.pass_obj
def add(
    session: Session,
    namespace: str,
    file: str,
    threshold: int | None,
    release_threshold: int | None,
    key_names: tuple[str, ...],
    output: str | None,
) -> None:
    """Add the public key in FILE (PEM or key TOML) to a namespace."""
    how = signing(session, key_names, output)
    outcome = add_key(
        session, own_keys(session), namespace, session.path(file), Thresholds(threshold, release_threshold), how
    )
    show_keyset(session, outcome, output)


@command("remove")
@click.argument("namespace")
@click.argument("fingerprint")
@threshold_option
@release_threshold_option
@key_option
@output_option
@click.pass_obj
def remove(
    session: Session,
    namespace: str,
    fingerprint: str,
    threshold: int | None,
    release_threshold: int | None,
    key_names: tuple[str, ...],
    output: str | None,
) -> None:
    """Take a key out of a namespace. What it signed so far stays good; `revoke` is for a stolen key."""
    how = signing(session, key_names, output)
    outcome = remove_key(
        session, own_keys(session), namespace, fingerprint, Thresholds(threshold, release_threshold), how
    )
    show_keyset(session, outcome, output)


@command("revoke")
@click.argument("namespace")
@click.argument("fingerprint")
@click.option(
    "--from", "position", type=click.IntRange(0), help="Log position from which it no longer counts; default: now."
)
@threshold_option
@release_threshold_option
@key_option
@output_option
@click.pass_obj
def revoke(
    session: Session,
    namespace: str,
    fingerprint: str,
    position: int | None,
    threshold: int | None,
    release_threshold: int | None,
    key_names: tuple[str, ...],
    output: str | None,
) -> None:
    """Revoke a key of a namespace: what it signed from --from on is never installed again, earlier releases stay good.

    It cannot be undone, so it asks first; off a terminal it needs --yes.
    """
    request = Revoking(namespace, fingerprint, position, Thresholds(threshold, release_threshold))
    outcome = revoke_key(session, own_keys(session), request, signing(session, key_names, output))
    show_keyset(session, outcome, output)
