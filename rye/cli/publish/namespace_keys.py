"""``rye namespace keys add``, ``keys remove`` and ``revoke``: change a namespace's keys."""

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
    threshold_option,
)
from rye.cli.trust.own_keys import own_keys
from rye.registry.protocol.statements import Require
from rye.workspace.publishing.namespaces import Revoking, Thresholds, add_key, remove_key, revoke_key


@command("add")
@click.argument("namespace")
@click.argument("file", metavar="FILE")
@threshold_option
@release_threshold_option
@require_option
@key_option
@output_option
@click.pass_obj
def add(
    session: Session,
    namespace: str,
    file: str,
    threshold: int | None,
    release_threshold: int | None,
    require: Require | Literal["none"] | None,
    key_names: tuple[str, ...],
    output: str | None,
) -> None:
    """Add the public key in FILE (PEM, an OpenSSH .pub file or key TOML) to a namespace. Asks first on a terminal."""
    how = signing(session, key_names, output)
    outcome = add_key(
        session,
        own_keys(session),
        namespace,
        session.path(file),
        Thresholds(threshold, release_threshold, require),
        how,
    )
    show_keyset(session, outcome, output)


@command("remove")
@click.argument("namespace")
@click.argument("fingerprint")
@threshold_option
@release_threshold_option
@require_option
@key_option
@output_option
@click.pass_obj
def remove(
    session: Session,
    namespace: str,
    fingerprint: str,
    threshold: int | None,
    release_threshold: int | None,
    require: Require | Literal["none"] | None,
    key_names: tuple[str, ...],
    output: str | None,
) -> None:
    """Remove a key from a namespace. What it signed so far stays valid; for a stolen key, use `revoke`.

    Asks first on a terminal; --yes answers.
    """
    how = signing(session, key_names, output)
    outcome = remove_key(
        session, own_keys(session), namespace, fingerprint, Thresholds(threshold, release_threshold, require), how
    )
    show_keyset(session, outcome, output)


@command("revoke")
@click.argument("namespace")
@click.argument("fingerprint")
@click.option(
    "--from", "position", type=click.IntRange(0), help="The log position from which it no longer counts (default: now)."
)
@threshold_option
@release_threshold_option
@require_option
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
    require: Require | Literal["none"] | None,
    key_names: tuple[str, ...],
    output: str | None,
) -> None:
    """Revoke a key of a namespace. What it signed from --from on is never installed again; earlier releases stay valid.

    This cannot be undone, so it asks first. Without a terminal it needs --yes.
    """
    request = Revoking(namespace, fingerprint, position, Thresholds(threshold, release_threshold, require))
    outcome = revoke_key(session, own_keys(session), request, signing(session, key_names, output))
    show_keyset(session, outcome, output)
