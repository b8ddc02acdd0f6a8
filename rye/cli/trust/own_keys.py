"""The person's own keys, for commands that sign. Passphrases are asked for on the terminal."""

from __future__ import annotations

from rye.cli.options import Session
from rye.workspace.trusting.own_keys import OwnKeys


def own_keys(session: Session) -> OwnKeys:
    """The key store of this session, which asks for passphrases on the terminal."""
    return OwnKeys(session, lambda question: session.console.ask(question, hidden=True))
