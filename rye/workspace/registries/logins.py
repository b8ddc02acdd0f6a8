"""Store, forget and look up tokens for registry APIs. Reading a public registry needs no token."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.project.registries import normal_address
from rye.project.user_config import Credential, credential, read_settings
from rye.project.user_config_writing import forget_credential, set_setting, store_credential
from rye.registry.transport.api import RegistryApi
from rye.workspace.registries.pinning import require_fingerprint
from rye.workspace.registries.registry_access import configured, not_logged_in, open_api, open_registry

if TYPE_CHECKING:
    from rye.workspace.context import Context


class LoginRequest(Struct, frozen=True):
    """``address``: None for the registry set by --registry, the project or the user's settings."""

    address: str | None
    token: Callable[[str], str]
    """Gets the token for an address. Called once: if the registry asks for it, or once its pin has been checked."""
    fingerprint: str | None = None
    """Pin a new registry if its root has this fingerprint."""


class Login(Struct, frozen=True, kw_only=True):
    """The account that a registry has for a token."""

    registry: str
    origin: str
    name: str
    namespaces: tuple[str, ...]
    token: str | None = None
    """The registry's name for the token, never the token itself."""
    account: str | None = None
    """The account that owns the token; None if no one's account does, or if an older server does not say."""
    used_here: str | None = None
    """After a login: the registry that commands in this folder use, if it is another one."""


def log_in(context: Context, request: LoginRequest) -> Login:
    """Store a token after the registry confirmed it. The first registry becomes the default."""
    where = _address(context, request.address)
    require_fingerprint(request.fingerprint)
    given = request.address is not None
    secret = cache(partial(request.token, where))  # a registry that only members may read asks for it first
    with open_registry(context, where, fingerprint=request.fingerprint, named=given, token=secret) as client:
        found = RegistryApi(client.address, client.api, secret()).whoami()
        origin = client.origin
    store_credential(context.home, Credential(where, secret(), found.name))
    if read_settings(context.home).get("registry") is None:
        set_setting(context.home, "registry", where)
    used = configured(context).default
    used_here, account = None if used == where else used, found.account or None
    return Login(
        registry=where,
        origin=origin,
        name=found.name,
        namespaces=tuple(found.namespaces),
        account=account,
        used_here=used_here,
    )


def log_out(context: Context, address: str | None) -> str:
    """Forget the token for a registry. Return its address. Raises RyeError ``not-logged-in``."""
    where = _address(context, address)
    if not forget_credential(context.home, where):
        raise RyeError("not-logged-in", f"No token is stored for {where}.", f"Log in with `rye login {where}`.")
    return where


def who_am_i(context: Context, address: str | None) -> Login:
    """The account of the user's token, as the registry reports it. Raises RyeError ``not-logged-in``."""
    where = _address(context, address)
    named = where if address or context.registry else None
    if credential(context.home, context.environment, where, named) is None:
        raise not_logged_in(where)
    with open_registry(context, where, named=address is not None) as client:
        found = open_api(context, client, argument=named).whoami()
        return Login(
            registry=where,
            origin=client.origin,
            name=found.name,
            namespaces=tuple(found.namespaces),
            token=found.token,
            account=found.account or None,
        )


def _address(context: Context, given: str | None) -> str:
    return normal_address(given, context.cwd) if given is not None else configured(context).main()
