"""The user's own registry on this machine: its folder, its pin and its first login."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from rye.project.user_config import Credential, read_settings, stored_credentials
from rye.project.user_config_writing import set_setting, store_credential
from rye.registry.client import RegistryClient
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.trust.trusted import fingerprint_of
from rye.storage.home import Home

MakeToken = Callable[[], tuple[str, str]]
"""Creates an upload token in the registry. Returns its name and the token."""


class OwnRegistry(Struct, frozen=True):
    """A registry that was pinned."""

    origin: str
    fingerprint: str
    is_default: bool
    """Whether commands use it where nothing else names a registry."""


def default_folder(home: Home) -> Path:
    """The default folder of the registry's data."""
    return home.data / "registry"


def is_made(data: Path) -> bool:
    """Whether this folder contains a registry."""
    return (data / "registry.toml").exists()


def pin_own(home: Home, data: Path, url: str, make_token: MakeToken) -> OwnRegistry:
    """Pin the registry that is served from ``data`` at ``url``, log in to it, and make it the default if none is set.

    The root is read from its folder, so no one has to compare a fingerprint.
    """
    fingerprint = fingerprint_of((data / "public" / "root" / "1").read_text("utf-8"))
    with RegistryClient.open(
        url, store=StateStore(home.registries), cache=Cache(home.registry_cache), accept_root=fingerprint
    ) as client:
        origin = client.origin
    if url.rstrip("/") not in stored_credentials(home):
        name, token = make_token()
        store_credential(home, Credential(url, token, name))
    default = read_settings(home).get("registry")
    if default is None:
        set_setting(home, "registry", url)
    return OwnRegistry(origin, fingerprint, default is None or str(default).rstrip("/") == url.rstrip("/"))
