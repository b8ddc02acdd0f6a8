"""Where a registry's server shows an item to people (docs/reference/pages.md). No part of the protocol: nothing is
verified by a page."""

from __future__ import annotations

from urllib.parse import quote

from rye.items.identity import Identity


def item_page_path(identity: Identity, version: str | None = None) -> str:
    """The path of an item's page. ``version``: None for the newest."""
    path = f"/-/{identity.kind}/{identity.id}"
    return path if version is None else f"{path}@{quote(version, safe='+')}"
