"""The questions at the first contact with a registry: may it be contacted, and is it the one that the person means?

Anyone who can commit can put an address into a project's rye.toml. It is contacted only after this user pinned a
registry there, or agreed on a terminal (DESIGN 6.1). So inspecting a clone sends no request to anyone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.project.registries import normal_address
from rye.project.user_config import read_settings
from rye.registry.store.state import StateStore
from rye.storage.folders import data_dir
from rye.workspace.trusting.given_pins import given_pins

if TYPE_CHECKING:
    from rye.registry.first_contact import PinProposal
    from rye.workspace.context import Context


def require_contact(context: Context, address: str, *, asks: bool = True) -> None:
    """That this user wants the registry at ``address`` to be contacted: they pinned it, named it, or say so now.

    ``asks``: whether a person may be asked. Raises RyeError ``registry-unpinned`` or ``declined``. Without a network there is
    nothing to ask.
    """
    if context.offline or _is_known(context, address):
        return
    if not (asks and context.interactive):
        raise RyeError(
            "registry-unpinned",
            f"rye.toml names the registry {address}, and you never pinned one there, so it was not contacted.",
            f"`rye registry add {address}` contacts it and shows its fingerprint; compare it with the one that its operator "
            "publishes. A build server pins it with RYE_PINS.",
            details={"address": address},
        )
    context.tell(f"rye.toml of this project names the registry {address}, which you never pinned.", "strong")
    if not context.ask("Contact it?"):
        raise RyeError("declined", f"{address} was not contacted.")


def _is_known(context: Context, address: str) -> bool:
    if StateStore(data_dir() / "registries").origin_at(address) is not None or address in given_pins(context):
        return True
    named = (context.registry, read_settings().get("registry"))
    return address in {normal_address(one, context.cwd) for one in named if one is not None}


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
