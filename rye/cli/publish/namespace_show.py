"""``rye namespace show``."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.registry.protocol.lines import write_time
from rye.signing.keys import PublicKey
from rye.workspace.publishing.namespaces import state_of
from rye.workspace.publishing.ownership import owners_of
from rye.workspace.registries.owner_words import owner_document, owner_lines


@command("show")
@click.argument("namespace")
@click.pass_obj
def show(session: Session, namespace: str) -> None:
    """Show a namespace's keys, how many must sign, and its history of keysets."""
    state = state_of(session, namespace)
    keyset, pending = state.current.keyset, state.pending
    keys = [PublicKey(key).fingerprint for key in keyset.keys]
    revoked = [(PublicKey(revocation.key).fingerprint, revocation.position) for revocation in keyset.revoked]
    waiting = [PublicKey(key).fingerprint for key in pending.keyset.keys] if pending else []
    effect = write_time(pending.keyset.recovery) if pending and pending.keyset.recovery else None
    owners = owners_of(session, namespace)
    document = {
        "namespace": namespace,
        "owner": owner_document(owners, session.now()),
        "number": keyset.number,
        "threshold": keyset.threshold,
        "release_threshold": keyset.release_threshold,
        "require": keyset.require,
        "security_keys": [PublicKey(key).fingerprint for key in keyset.keys if PublicKey(key).hardware],
        "keys": keys,
        "revoked": [{"key": key, "position": position} for key, position in revoked],
        "history": [
            {
                "number": link.keyset.number,
                "position": link.position,
                "time": write_time(link.keyset.time),
                "recovery": write_time(link.keyset.recovery) if link.keyset.recovery else None,
            }
            for link in state.links
        ],
        "pending_recovery": effect,
        "pending_keys": waiting,
    }
    text = [f"{namespace}: keyset {keyset.number}, {keyset.threshold} of {len(keyset.keys)} sign"]
    text += [f"  {line}" for line in owner_lines(owners, session.now())]
    if owners.description is not None:
        said = owners.description
        text += [f"  its owners say: {said.about}", *(f"    {link}" for link in (*said.links, said.contact) if link)]
    if keyset.release_threshold > 1:
        text.append(
            f"  a release needs {keyset.release_threshold} signatures: `rye publish --stage`, then `rye stage approve`"
        )
    if keyset.require is not None:
        text.append(f"  requires {keyset.require}: only the signatures of security keys count")
    marks = {True: " (security key)", False: ""}
    text += [f"  key      {PublicKey(key).fingerprint}{marks[PublicKey(key).hardware]}" for key in keyset.keys]
    text += [f"  revoked  {key} from position {position}" for key, position in revoked]
    if pending is not None:
        text.append(f"  a recovery by the registry's owners takes effect at {effect}, with")
        text += [f"  key      {key}" for key in waiting]
        text.append(f"  the current owners can object: rye namespace object {namespace}")
    session.console.answer(document, "\n".join(text))
