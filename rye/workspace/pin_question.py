"""The question at the first contact with a registry: is this the one that the person means?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rye.registry.client import PinProposal
    from rye.workspace.context import Context


def pin_question(context: Context) -> Callable[[PinProposal], bool] | None:
    """Asks a person whether to pin a new registry; None where nobody can be asked."""
    if not context.interactive:
        return None

    def ask(proposal: PinProposal) -> bool:
        context.tell(f"First contact with the registry {proposal.origin} at {proposal.address}.", "strong")
        context.tell(f"  root fingerprint  {proposal.fingerprint}")
        context.tell(f"  owners            {len(proposal.owners)}, {proposal.threshold} of them sign")
        context.tell("Compare the fingerprint with the one that its operator publishes.")
        return context.ask("Pin this registry?")

    return ask
