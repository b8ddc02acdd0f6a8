"""The question at the first contact with a registry: is this the one that the person means?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rye.workspace.trusting.given_pins import given_pins

if TYPE_CHECKING:
    from rye.registry.client import PinProposal
    from rye.workspace.context import Context


def pin_question(context: Context, *, asks: bool = True) -> Callable[[PinProposal], bool] | None:
    """Says whether to pin a new registry: as ``RYE_PINS`` has it, else as a person answers. None where neither can say.

    ``asks``: whether a person may be asked. What it returns raises TrustError where ``RYE_PINS`` expects another registry.
    """
    pins = given_pins(context)
    asks = asks and context.interactive
    if not pins and not asks:
        return None

    def accept(proposal: PinProposal) -> bool:
        pin = pins.get(proposal.address)
        if pin is not None:
            pin.require(proposal.address, proposal.origin, proposal.fingerprint)
            return True
        return asks and _ask(context, proposal)

    return accept


def _ask(context: Context, proposal: PinProposal) -> bool:
    context.tell(f"First contact with the registry {proposal.origin} at {proposal.address}.", "strong")
    context.tell(f"  root fingerprint  {proposal.fingerprint}")
    context.tell(f"  owners            {len(proposal.owners)}, {proposal.threshold} of them sign")
    context.tell("Compare the fingerprint with the one that its operator publishes.")
    return context.ask("Pin this registry?")
