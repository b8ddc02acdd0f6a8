"""Tokens for the APIs of registries: stored after the registry confirmed them, forgotten, and looked up. Reading needs none."""

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
from rye.workspace.registries.registry_access import configured, open_api, open_registry

if TYPE_CHECKING:
    from rye.workspace.context import Context


class LoginRequest(Struct, frozen=True):
    """``address``: None means the registry that flag, project or user name."""

    address: str | None
    token: Callable[[str], str]
    """Gives the token for an address; called once, when the registry asks for it or is known to be the one that is pinned."""
    fingerprint: str | None = None
    """Pin a new registry when its root has this fingerprint."""


class Login(Struct, frozen=True):
    """Whose token a registry knows."""

    registry: str
    origin: str
    name: str
    namespaces: tuple[str, ...]
    token: str | None = None
    """What the registry calls the token; never the token itself."""


def log_in(context: Context, request: LoginRequest) -> Login:
    """Store a token that the registry confirms. The first registry becomes the default one."""
    where = _address(context, request.address)
    given = request.address is not None
    secret = cache(partial(request.token, where))  # a registry for members alone wants it before it shows anything
    with open_registry(context, where, fingerprint=request.fingerprint, named=given, token=secret) as client:
        found = RegistryApi(client.address, client.api, secret()).whoami()
        origin = client.origin
    store_credential(Credential(where, secret(), found.name))
    if read_settings().get("registry") is None:
        set_setting("registry", where)
    return Login(where, origin, found.name, tuple(found.namespaces))


def log_out(context: Context, address: str | None) -> str:
    """Forget the token for a registry; its address. Raises RyeError ``not-logged-in``."""
    where = _address(context, address)
    if not forget_credential(where):
        raise RyeError("not-logged-in", f"There is no token for {where}.", "`rye login` stores one.")
    return where


def who_am_i(context: Context, address: str | None) -> Login:
    """Whose token is used for a registry, as the registry says. Raises RyeError ``not-logged-in``."""
    where = _address(context, address)
    named = where if address or context.registry else None
    if credential(where, named) is None:
        raise RyeError("not-logged-in", f"You are not logged in to {where}.", f"`rye login {where}` stores a token.")
    with open_registry(context, where, named=address is not None) as client:
        found = open_api(context, client, argument=named).whoami()
        return Login(where, client.origin, found.name, tuple(found.namespaces), found.token)


def _address(context: Context, given: str | None) -> str:
    return normal_address(given, context.cwd) if given is not None else configured(context).main()
