"""The user's own registry on this machine: its folder, its pin and its first login."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from rye.project.user_config import Credential, credential, read_settings
from rye.project.user_config_writing import set_setting, store_credential
from rye.registry.client import RegistryClient
from rye.registry.trust.trusted import fingerprint_of
from rye.storage.folders import data_dir

MakeToken = Callable[[], tuple[str, str]]
"""Creates an upload token in the registry. Returns its name and the token."""


class OwnRegistry(Struct, frozen=True):
    """A registry that was pinned."""

    origin: str
    fingerprint: str


def default_folder() -> Path:
    """The default folder of the registry's data."""
    return data_dir() / "registry"


def is_made(data: Path) -> bool:
    """Whether this folder contains a registry."""
    return (data / "registry.toml").exists()


def pin_own(data: Path, url: str, make_token: MakeToken) -> OwnRegistry:
    """Pin the registry that is served from ``data`` at ``url``, log in to it, and make it the default if none is set.

    The root is read from its folder, so no one has to compare a fingerprint.
    """
    fingerprint = fingerprint_of((data / "public" / "root" / "1").read_text("utf-8"))
    with RegistryClient.open(url, accept_root=fingerprint) as client:
        origin = client.origin
    if credential(url) is None:
        name, token = make_token()
        store_credential(Credential(url, token, name))
    if read_settings().get("registry") is None:
        set_setting("registry", url)
    return OwnRegistry(origin, fingerprint)
