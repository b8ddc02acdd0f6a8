"""The questions at the first contact with a registry: whether to contact it, and whether it is the right one.

Anyone who can commit can put an address into a project's rye.toml. It is contacted only after this user pinned a
registry there, or agreed on a terminal (DESIGN 6.1), so inspecting a clone sends no requests.
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
    """Require that this user wants to contact the registry at ``address``: they pinned it, named it, or agree now.

    ``asks``: whether to ask the user. Offline, this does nothing. Raises RyeError ``registry-unpinned`` or ``declined``.
    """
    if context.offline or _is_known(context, address):
        return
    if not (asks and context.interactive):
        raise RyeError(
            "registry-unpinned",
            f"rye.toml names the registry {address}, which you have not pinned, so rye did not contact it.",
            f"Run `rye registry add {address}` and compare the fingerprint with the one that its operator publishes. "
            "On a build server, pin it with RYE_PINS.",
            details={"address": address},
        )
    context.tell(f"This project's rye.toml names the registry {address}, which you have not pinned.", "strong")
    if not context.ask("Contact it?"):
        raise RyeError("declined", f"You declined to contact {address}.")


def _is_known(context: Context, address: str) -> bool:
    if StateStore(data_dir() / "registries").origin_at(address) is not None or address in given_pins(context):
        return True
    named = (context.registry, read_settings().get("registry"))
    return address in {normal_address(one, context.cwd) for one in named if one is not None}


def pin_question(context: Context, *, asks: bool = True) -> Callable[[PinProposal], bool] | None:
    """A function that decides whether to pin a new registry, by ``RYE_PINS`` or by asking; None if neither is possible.

    ``asks``: whether to ask the user. The function raises TrustError if ``RYE_PINS`` names a different registry.
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
