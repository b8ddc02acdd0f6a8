"""The registries that a project uses, according to settings, manifest and pins, and the questions at the first contact with one:
whether to contact it, and whether it is the right one. No registry is contacted here.

Anyone who can commit can put an address into a project's rye.toml. Its registry is contacted only after this user pinned a
registry there, or agreed on a terminal (DESIGN 6.1), so inspecting a clone sends no requests.

A build server's pins are in the file named by ``RYE_PINS``, one registry per line (DESIGN 6.1)::

    ORIGIN FINGERPRINT URL [POLICY]

``POLICY``: the absolute path of a policy of witnesses outside of the project
(:mod:`rye.workspace.registries.witness_policies`).

That file has the same effect as the user's answer on a terminal. It pins a registry at the first contact, and a registry with
another origin or root is refused. A fingerprint in a repository pins nothing. A malformed line is an error, even if
its registry is not needed, and so is a line that names another origin or fingerprint than this machine has pinned: one of the two
is wrong, and nobody but the operator can tell which. A registry that is not needed is never contacted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.project.layout import find_project, is_committed_place
from rye.project.lock import Lock, LockedItem
from rye.project.manifest import Manifest
from rye.project.registries import Registries, normal_address, registries
from rye.project.user_config import read_settings
from rye.registry.store.doors import door_at, read_doors, routes_of, write_doors
from rye.registry.store.pins import read_addresses, read_pinned
from rye.text.json_reading import UNDECODABLE
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from rye.workspace.context import Context


def project_registries(context: Context, manifest: Manifest, root: Path) -> Registries:
    """The registry of each namespace in this project."""
    setting = read_settings(context.home).get("registry")
    return registries(context.registry, manifest, setting, root, agreed_doors(context))


def agreed_doors(context: Context) -> dict[str, dict[str, str]]:
    """For each registry that serves others' registries, the address for each of their namespaces, as this user agreed."""
    return routes_of(read_doors(context.home.registries))


class Elsewhere(Struct, frozen=True):
    """A locked item whose namespace is now mapped to another registry."""

    item: LockedItem
    address: str
    """The address of the registry that now serves its namespace."""
    origin: str
    """The origin pinned at that address."""


def locked_elsewhere(context: Context, manifest: Manifest, lock: Lock, root: Path) -> list[Elsewhere]:
    """The items locked to a different registry than their namespace is mapped to, according to the pins.

    Raises OSError and MsgspecError where the pins cannot be read.
    """
    where = project_registries(context, manifest, root)
    pinned = read_addresses(context.home.registries)
    rows = []
    for item in lock.items:
        source = manifest.sources.get(item.identity.namespace)
        if source is not None:
            if source.origin != item.registry:
                rows.append(Elsewhere(item, source.origin, source.origin))
            continue
        if item.source is not None:
            rows.append(Elsewhere(item, "no source with that name", "none"))
            continue
        address = where.serving(item.identity.namespace) or ""
        origin = pinned.get(address, item.registry)
        if origin != item.registry:
            rows.append(Elsewhere(item, address, origin))
    return rows


def same_registries(context: Context, manifest: Manifest, lock: Lock, root: Path) -> bool:
    """Whether every namespace is still mapped to the registry that its items are locked to, according to the pins."""
    try:
        return not locked_elsewhere(context, manifest, lock, root)
    except (OSError, *UNDECODABLE):  # opening the registries reports the error
        return False


if TYPE_CHECKING:
    from rye.registry.first_contact import PinProposal
    from rye.registry.protocol.doors import Upstream
    from rye.registry.store import state
    from rye.registry.trust import trust_error
    from rye.registry.trust.cosigned import WitnessDemand
    from rye.storage.home import Home
    from rye.workspace.context import Context
    from rye.workspace.registries import witness_policies
else:  # every command that reads an installed item comes here, and most need none of the trust code
    state = lazy_module("rye.registry.store.state")
    trust_error = lazy_module("rye.registry.trust.trust_error")
    witness_policies = lazy_module("rye.workspace.registries.witness_policies")

VARIABLE = "RYE_PINS"
MOST_BYTES = 64 * 1024
_LINE = r"([!-~]{1,255}) ([0-9a-f]{64}) ([!-~]{1,2000})(?: (/[!-~]{1,1000}))?"


class GivenPin(Struct, frozen=True):
    """The origin and fingerprint that the registry at an address must have."""

    origin: str
    fingerprint: str
    """SHA-256 of the text of its first root."""
    policy: str | None = None
    """The absolute path of a policy of witnesses."""

    def require(self, address: str, origin: str, fingerprint: str, by: str = VARIABLE) -> None:
        """Require that the registry matches this pin. ``by``: where it is from. Raises TrustError ``root-origin`` or
        ``root-fingerprint``."""
        if origin != self.origin:
            message = f"{address} is the registry {origin}, but {by} names {self.origin}."
            raise trust_error.TrustError("root-origin", message)
        if fingerprint != self.fingerprint:
            message = f"{origin} at {address} has the fingerprint {fingerprint}, but {by} names {self.fingerprint}."
            raise trust_error.TrustError("root-fingerprint", message, pinned=self.fingerprint, found=fingerprint)


def given_pins(context: Context) -> Mapping[str, GivenPin]:
    """The pins by address; empty if the variable is not set.

    Raises RyeError ``bad-pins``, and TrustError ``root-origin`` or ``root-fingerprint`` if this machine has pinned another one.
    """
    named = context.environment.get(VARIABLE)
    if not named:
        return {}
    path = context.cwd / named
    project = find_project(context.cwd)
    if project is not None and is_committed_place(project.root, path):
        raise RyeError(
            "bad-pins",
            f"{VARIABLE}: {named!r} is inside the project, so anyone who can commit could write it.",
            "Keep the file outside the checkout, where only the build server writes.",
        )
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
        text = data.decode("ascii")
    except OSError as error:
        why = error.strerror or str(error)
        raise RyeError("bad-pins", f"{VARIABLE}: {named!r} cannot be read: {why}.", f"Correct {VARIABLE}.") from error
    except UnicodeDecodeError as error:
        raise _bad(f"{named!r} is not ASCII text.") from error
    if len(data) > MOST_BYTES:
        raise _bad(f"{named!r} is larger than {MOST_BYTES:,} bytes.")
    pins: dict[str, GivenPin] = {}
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
    for number, line in enumerate(lines, 1):
        match = re.fullmatch(_LINE, line)
        if match is None:
            raise _bad(f"line {number} of {named!r} is malformed.")
        try:
            address = normal_address(match[3], context.cwd)
        except RyeError as error:
            raise _bad(f"line {number} of {named!r}: {error.message}") from error
        if address in pins:
            raise _bad(f"line {number} of {named!r} names {address} again.")
        pins[address] = GivenPin(match[1], match[2], match[4])
    _require_own_pins(context.home, pins)
    return pins


def given_demand(context: Context, address: str) -> WitnessDemand | None:
    """What ``RYE_PINS`` demands of the witnesses of the registry at ``address``, and this machine does not demand already.

    Raises RyeError ``bad-pins``.
    """
    pin = given_pins(context).get(address)
    if pin is None or pin.policy is None:
        return None
    return witness_policies.demand_in_pins(context, pin.origin, Path(pin.policy))


def refuse_other_pins(context: Context) -> None:
    """Stop a command that may contact no registry if ``RYE_PINS`` contradicts what this machine has pinned. Raises as
    :func:`given_pins` does."""
    given_pins(context)


def _require_own_pins(home: Home, pins: Mapping[str, GivenPin]) -> None:
    try:
        addresses = read_addresses(home.registries)
    except (OSError, *UNDECODABLE):  # then nothing counts as pinned, and opening a registry reports why
        return
    for address, pin in pins.items():
        pinned = read_pinned(home.registries, pin.origin)
        fingerprint = pinned.fingerprint if pinned is not None else pin.fingerprint
        pin.require(address, addresses.get(address, pin.origin), fingerprint)


def _bad(what: str) -> RyeError:
    return RyeError(
        "bad-pins",
        f"{VARIABLE}: {what}",
        "Write one registry per line: ORIGIN FINGERPRINT URL.",
    )


def require_contact(context: Context, address: str, others: Iterable[str | None] = (), *, asks: bool = True) -> None:
    """Require that this user wants to contact the registry at ``address``: they pinned it, named it, or agree now.

    ``others``: addresses that the project will need as well, so that the error names all at once. ``asks``: whether to ask the
    user. Offline, this does nothing. Raises RyeError ``registry-unpinned`` or ``declined``.
    """
    if context.offline or is_known(context, address):
        return
    if not (asks and context.interactive):
        more = [one for one in dict.fromkeys(others) if one not in (None, address) and not is_known(context, one)]
        if more:
            raise _several_unpinned([address, *more])
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


def _several_unpinned(addresses: Sequence[str]) -> RyeError:
    listed, rest = addresses[:_NAMED], len(addresses) - _NAMED
    more = f" and {rest} more" if rest > 0 else ""
    commands = ", ".join(f"`rye registry add {one}`" for one in listed)
    return RyeError(
        "registry-unpinned",
        f"rye.toml names {len(addresses)} registries that you have not pinned, so rye did not contact them: "
        f"{', '.join(listed)}{more}.",
        f"Run {commands}{more}, and compare each fingerprint with the one that its operator publishes. "
        "On a build server, pin them with RYE_PINS.",
        details={"address": addresses[0], "addresses": list(addresses)},
    )


_NAMED = 8
"""So many registries are named by one error, with the command for each."""


def is_known(context: Context, address: str) -> bool:
    """Whether this user agreed to contact the registry at ``address``: they pinned it, or named it themselves."""
    if state.StateStore(context.home.registries).origin_at(address) is not None or address in given_pins(context):
        return True
    if door_at(read_doors(context.home.registries), address) is not None:
        return True
    named = (context.registry, read_settings(context.home).get("registry"))
    return address in {normal_address(one, context.cwd) for one in named if one is not None}


def pin_question(context: Context, *, asks: bool = True) -> Callable[[PinProposal], bool] | None:
    """A function that decides whether to pin a new registry, by ``RYE_PINS`` or by asking; None if neither is possible.

    ``asks``: whether to ask the user. The function raises TrustError if ``RYE_PINS`` names a different registry.
    """
    pins = given_pins(context)
    doors = read_doors(context.home.registries)
    asks = asks and context.interactive
    if not pins and not asks and not doors:
        return None

    def accept(proposal: PinProposal) -> bool:
        door = door_at(doors, proposal.address)
        if door is not None:
            GivenPin(door[1].origin, door[1].fingerprint).require(
                proposal.address, proposal.origin, proposal.fingerprint, "what you agreed to"
            )
            return True
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
    tell_upstreams(context, proposal.origin, proposal.upstreams)
    context.tell("Compare the fingerprint with the one that its operator publishes.")
    if not context.ask("Pin all of these?" if proposal.upstreams else "Pin this registry?"):
        return False
    write_doors(context.home.registries, proposal.address, proposal.upstreams)
    return True


def tell_upstreams(context: Context, origin: str, upstreams: Sequence[Upstream]) -> None:
    """Tell which namespaces of others' registries a registry serves, with what a person compares."""
    for upstream in upstreams:
        context.tell(f"{origin} also serves, from the registry {upstream.origin}: {', '.join(upstream.namespaces)}")
        context.tell(f"  root fingerprint  {upstream.fingerprint}")
