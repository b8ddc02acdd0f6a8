"""The address of an item's page on a registry's server (docs/reference/pages.md). Pages are for people: they are not
part of the protocol, and nothing is verified with them.
"""

from __future__ import annotations

from urllib.parse import quote

from rye.items.identity import Identity


def item_page_path(identity: Identity, version: str | None = None) -> str:
    """Return the path of an item's page. ``version``: None for the newest."""
    path = f"/-/{identity.kind}/{identity.id}"
    return path if version is None else f"{path}@{quote(version, safe='+')}"
