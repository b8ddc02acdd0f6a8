"""The web page of a published item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol.page_paths import item_page_path
from rye.workspace.registries.published_items import published, published_release, registry_of
from rye.workspace.registries.registry_access import open_registry

if TYPE_CHECKING:
    from rye.workspace.context import Context


class ItemPage(Struct, frozen=True):
    """An item and the address of its page."""

    identity: Identity
    address: str


def item_page(context: Context, reference: str) -> ItemPage:
    """The page of ``[kind:]id[@version]``, which must be published.

    Raises RyeError ``no-such-item``, ``no-such-version`` and, for a registry that is read from a folder, ``no-page``.
    """
    registry = registry_of(context, reference)
    with open_registry(context, registry) as client:
        identity, version = published(client, reference)
        if version is not None:
            version = published_release(client, reference).version
    address = page_address(registry, identity, version)
    if address is None:
        raise RyeError(
            "no-page",
            f"{registry} is a folder. Only a registry server has pages.",
            f"Name the server: `rye info {reference} --web --registry https://ADDRESS`.",
        )
    return ItemPage(identity, address)


def page_address(registry: str, identity: Identity, version: str | None = None) -> str | None:
    """The address of an item's page; None for a registry without a web address. ``version``: None for the newest."""
    if not registry.startswith(("https://", "http://")):
        return None
    return registry.rstrip("/") + item_page_path(identity, version)
