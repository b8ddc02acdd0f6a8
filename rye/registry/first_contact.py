"""The first contact with a registry: nothing is trusted until a person confirms that its root is the right one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import RegistryLimits
from rye.registry.protocol import wire
from rye.registry.protocol.doors import MAX_UPSTREAMS_BYTES, UPSTREAMS_PATH, Upstream, decode_upstreams
from rye.registry.protocol.statements import Root
from rye.registry.protocol.wire import Config
from rye.registry.store.state import StateStore
from rye.registry.transport.seam import FIRST_CONTACT, Fetched, FetchError, NoAnswer, Request, Transport
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import TrustedState, fingerprint_of
from rye.registry.waves import or_raise


class PinProposal(Struct, frozen=True, kw_only=True):
    """A registry at first contact: what a person compares before trusting it."""

    address: str
    origin: str
    fingerprint: str
    """SHA-256 of the text of root 1, which the operator also publishes elsewhere."""
    owners: tuple[bytes, ...]
    """Raw public keys."""
    threshold: int
    expires: datetime
    upstreams: tuple[Upstream, ...] = ()
    """The registries of others that it says it serves."""


AcceptRoot = str | Callable[[PinProposal], bool] | None
"""How a new registry is confirmed: by a fingerprint from the user, by a function that asks them, or (None) not at all."""


def first_contact(
    address: str,
    accept_root: AcceptRoot,
    origin: str | None,
    transport: Transport,
    store: StateStore,
    limits: RegistryLimits,
) -> tuple[TrustedState, bytes, Config]:
    """Return the state that starts with the registry's first root, its unverified head and its config.json: one wave.

    If the same registry is pinned at another address, the state is the pinned one. If its pin was removed, a person confirms it
    again, and what this machine knows of its history still holds. ``origin``: the expected one. Raises TrustError, FetchError and
    RyeError ``registry-unpinned``.
    """
    requests = [
        Request("root/1", limits.root_bytes),
        Request("head", limits.head_bytes),
        Request("config.json", limits.config_bytes),
    ]
    *fetched, listed = transport.fetch_many([*requests, Request(UPSTREAMS_PATH, MAX_UPSTREAMS_BYTES)])
    if isinstance(fetched[0], FetchError) and fetched[0].code == "fetch-not-found":
        message = f"There is no registry at {address}: it has no file root/1."
        raise FetchError("fetch-not-found", message, "Check the address. It is that of the registry's start page.")
    try:
        root_data, head_data, config_data = map(or_raise, fetched)
    except NoAnswer as error:
        raise error.of_registry(address, FIRST_CONTACT) from error
    config = wire.decode_config(config_data)
    # Everything comes from the root itself, whose hash the user accepts; config.json only describes the protocol.
    found = fingerprint_of(root_data.decode("utf-8", "replace"))
    state = TrustedState.pin(root_data, found, origin)
    if config.origin != state.origin:
        raise TrustError("root-origin", f"The root belongs to {state.origin}, but config.json says {config.origin}.")
    root: Root = state.root
    proposal = PinProposal(
        address=address,
        origin=state.origin,
        fingerprint=found,
        owners=root.owners,
        threshold=root.threshold,
        expires=root.expires,
        upstreams=offered(listed),
    )
    known = store.load(state.origin)
    if known is not None:
        if known.fingerprint != found:
            message = f"{state.origin} is pinned with the fingerprint {known.fingerprint}; {address} shows {found}."
            raise TrustError("root-fingerprint", message, pinned=known.fingerprint, found=found)
        if isinstance(accept_root, str) and accept_root != found:
            raise TrustError("root-fingerprint", f"{state.origin} has the fingerprint {found}, not {accept_root}.")
        if store.is_pinned(state.origin):
            return known, head_data, config
    if isinstance(accept_root, str):
        return known or TrustedState.pin(root_data, accept_root, origin), head_data, config
    if accept_root is None or not accept_root(proposal):
        raise RyeError(
            "registry-unpinned",
            f"The registry {state.origin} at {address} is not pinned; its root has the fingerprint {found}.",
            f"Compare the fingerprint with the one its operator publishes, then run: "
            f"rye registry add {address} --fingerprint {found}",
            details={"origin": state.origin, "fingerprint": found, "address": address},
        )
    return known or state, head_data, config


def offered(fetched: Fetched) -> tuple[Upstream, ...]:
    """Return the registries of others that a registry says it serves; none if it gives no such file, as older ones do not.

    Raises WireError ``upstreams-malformed``.
    """
    return decode_upstreams(fetched) if isinstance(fetched, bytes) else ()
