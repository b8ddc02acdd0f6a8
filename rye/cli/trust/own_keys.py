"""The person's own keys, for commands that sign: a passphrase is asked on the terminal."""

from __future__ import annotations

from rye.cli.options import Session
from rye.workspace.trusting.own_keys import OwnKeys


def own_keys(session: Session) -> OwnKeys:
    return OwnKeys(session, lambda question: session.console.ask(question, hidden=True))
