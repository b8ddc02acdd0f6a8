"""Open the registry for a use case, with its pin and token."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rye.errors import RyeError
from rye.project.context import load_manifest
from rye.project.layout import find_project
from rye.project.registries import Registries, normal_address, registries
from rye.project.user_config import credential, read_settings
from rye.registry.client import RegistryClient
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.transport.api import RegistryApi
from rye.text.loopback import is_loopback
from rye.workspace.registries.project_registries import given_pins, pin_question, require_contact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rye.project.manifest import Manifest
    from rye.registry.first_contact import PinProposal
    from rye.registry.protocol.statements import Keyset
    from rye.workspace.context import Context


def project_manifest(context: Context) -> Manifest | None:
    """The manifest of the enclosing project; None outside a project."""
    project = find_project(context.cwd)
    return load_manifest(project) if project is not None else None


def configured(context: Context) -> Registries:
    """The registries set by --registry, the project and the user's settings."""
    setting = read_settings(context.home).get("registry")
    return registries(context.registry, project_manifest(context), setting, context.cwd)


@contextmanager
def open_registry(
    context: Context,
    address: str,
    *,
    fingerprint: str | None = None,
    origin: str | None = None,
    named: bool = False,
    token: Callable[[], str | None] | None = None,
    accept_root: Callable[[PinProposal], bool] | None = None,
) -> Iterator[RegistryClient]:
    """A client with a verified head. Its new trusted state is saved if the block ends without an error.

    ``named``: whether the user gave this address; otherwise it must be pinned, configured, or agreed to
    (:func:`rye.workspace.registries.project_registries.require_contact`). Raises TrustError if ``RYE_PINS`` names a
    different one, even if the registry is already pinned. ``token``: gets the token to use instead of the stored one.
    ``accept_root``: decides at the first contact; None: the user.
    """
    if not named and fingerprint is None:
        require_contact(context, address)
    client = RegistryClient.open(
        address,
        store=StateStore(context.home.registries),
        cache=Cache(context.home.registry_cache),
        accept_root=fingerprint or accept_root or pin_question(context),
        origin=origin,
        offline=context.offline,
        token=token or reading_token(context, address, address if named else None),
    )
    with client:
        if pin := given_pins(context).get(address):
            pin.require(address, client.origin, client.state.fingerprint)
        for warning in client.warnings:
            context.warn(warning)
        yield client


def reading_token(context: Context, address: str, argument: str | None = None) -> Callable[[], str | None]:
    """A function that gets the token for a registry that only members may read. It is called when the registry asks.

    ``argument``: the address on the command line, if any. RYE_TOKEN is also sent to the one registry that RYE_PINS names.
    """

    def look_up() -> str | None:
        pins = [pinned for pinned in given_pins(context) if pinned]
        only_pin = pins[0] if len(pins) == 1 else None
        named = argument or (context.registry and normal_address(context.registry, context.cwd)) or only_pin
        found = credential(context.home, context.environment, address, named)
        return found.token if found is not None else None

    return look_up


def open_api(
    context: Context, client: RegistryClient, *, needs_token: bool = True, argument: str | None = None
) -> RegistryApi:
    """The registry's API with the user's token. ``argument``: the address on the command line, if any.

    Raises RyeError ``not-logged-in``.
    """
    if context.offline:
        raise RyeError("offline", "This needs the registry's API, and --offline forbids the network.")
    named = context.registry and normal_address(context.registry, context.cwd)
    found = credential(context.home, context.environment, client.address, argument or named)
    if found is None and needs_token:
        raise RyeError(
            "not-logged-in",
            f"You are not logged in to {client.address}.",
            f"`rye login {client.address} --token -` stores a token from its operator. Without --token, log in on a web page."
            + _own_registry(client.address),
        )
    return RegistryApi(client.address, client.api, found.token if found else None)


def _own_registry(address: str) -> str:
    """What else helps with a registry on this machine."""
    if not is_loopback(urlsplit(address).hostname or ""):
        return ""
    return " If it is your own, stop it and run `rye registry serve`, which logs you in."


def namespace_of(context: Context, given: str | None = None) -> str:
    """The namespace to write to: ``given``, otherwise the project's. Raises RyeError ``no-namespace``."""
    manifest = project_manifest(context)
    found = given or (manifest.namespace if manifest is not None else None)
    if found is None:
        write = 'Set namespace = "…" in [project] of rye.toml, or pass --namespace.'
        init = "No rye.toml found. Create one with `rye init --namespace NAME`."
        raise RyeError("no-namespace", "No namespace is set.", init if manifest is None else write)
    return found


def last_seen_keyset(context: Context, namespace: str) -> Keyset | None:
    """A namespace's keyset from its pinned registry, as of the last read.

    Nothing is fetched: None if it is not cached or not verified.
    """
    try:
        client = RegistryClient.open(
            configured(context).of(namespace),
            store=StateStore(context.home.registries),
            cache=Cache(context.home.registry_cache),
            offline=True,
        )
        link = client.keysets([namespace])[namespace].current(client.head.snapshot.time)
    except RyeError:
        return None
    return link.keyset if link is not None else None
