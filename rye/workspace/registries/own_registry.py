"""The user's own registry on this machine: where it is, whose it is, and being its first user."""

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
"""Makes an upload token in the registry: its name and the token."""


class OwnRegistry(Struct, frozen=True):
    """A registry that was pinned."""

    origin: str
    fingerprint: str


def default_folder() -> Path:
    """Where the registry's data is unless somebody says otherwise."""
    return data_dir() / "registry"


def is_made(data: Path) -> bool:
    """Whether there is a registry in this folder."""
    return (data / "registry.toml").exists()


def pin_own(data: Path, url: str, make_token: MakeToken) -> OwnRegistry:
    """Pin the registry that is served from ``data`` at ``url``, log in to it, and make it the default where there is none.

    Its root comes from its own folder, so this needs nobody's word for a fingerprint.
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
