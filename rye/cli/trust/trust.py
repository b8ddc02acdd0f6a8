"""``rye trust``: whose signatures count. Trust comes only from the user (DESIGN §4)."""

from __future__ import annotations

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.errors import RyeError
from rye.workspace.trusting.trusted_keys import (
    forget_key,
    key_of_file,
    offered_keys,
    revoke_key,
    trust_entries,
    trust_key,
)


@command("add")
@click.argument("file", metavar="FILE")
@click.option("--label", help="A name for the key (default: the owner in the file, or the file's name).")
@click.pass_obj
def add(session: Session, file: str, label: str | None) -> None:
    """Trust the key in FILE (PEM, or a key TOML). Compare the fingerprint with its owner first."""
    path = session.path(file)
    key, owner = key_of_file(path)
    session.console.say(f"{key.fingerprint}  {owner or ''}".rstrip())
    if session.interactive and not session.yes and not session.console.confirm("Trust what this key signs?"):
        raise RyeError("declined", "The key was not added.")
    entry = trust_key(session, key, label or owner or path.stem, f"file {path.name}")
    if session.json:
        session.console.document(entry.as_json())
    else:
        session.console.data(f"trusted {entry.label} {entry.key.fingerprint}")


@command("list")
@click.pass_obj
def list_trusted(session: Session) -> None:
    """Show trusted and revoked keys, and the keys that this project proposes."""
    entries, offered = trust_entries(session.home), offered_keys(session)
    if session.json:
        session.console.document(
            {
                "keys": [entry.as_json() for entry in entries],
                "proposals": [
                    {"path": str(p.path), "fingerprint": p.key.fingerprint if p.key else None, "owner": p.owner}
                    for p in offered
                ],
            }
        )
        return
    session.console.table(
        [[e.label, e.key.fingerprint, "revoked" if e.revoked else "trusted", e.source, e.added] for e in entries],
        ["LABEL", "FINGERPRINT", "STATE", "FROM", "ADDED"],
    )
    for proposal in offered:
        assert proposal.key is not None
        session.console.say(f"proposed by this project, not trusted: {proposal.path} {proposal.key.fingerprint}")
        session.console.say(f"  `rye trust add {proposal.path}` trusts it", "hint")


@command("remove")
@click.argument("key")
@click.pass_obj
def remove(session: Session, key: str) -> None:
    """Forget a key (label, key id or fingerprint): what it signed is untrusted from now on."""
    _done(session, forget_key(session.home, key).as_json(), "removed")


@command("revoke")
@click.argument("key")
@click.pass_obj
def revoke(session: Session, key: str) -> None:
    """Mark a key as revoked: from now on no command uses what it signed, installed items included."""
    _done(session, revoke_key(session, key).as_json(), "revoked")


def _done(session: Session, entry: dict[str, object], what: str) -> None:
    if session.json:
        session.console.document(entry)
    else:
        session.console.data(f"{what} {entry['label']} {entry['fingerprint']}")


trust = family(
    "trust",
    "Manage whose signatures you trust.",
    {
        "add": ("rye.cli.trust.trust:add", "Trust a key."),
        "list": ("rye.cli.trust.trust:list_trusted", "Show trusted keys, and the keys that this project proposes."),
        "accept": ("rye.cli.trust.trust_accept:accept", "Accept that a namespace was recovered with new keys."),
        "project": ("rye.cli.trust.trust_project:project", "Agree to what this project's rye.lock approves."),
        "remove": ("rye.cli.trust.trust:remove", "Forget a key."),
        "revoke": ("rye.cli.trust.trust:revoke", "Mark a key as revoked."),
    },
)
