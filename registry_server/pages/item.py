"""An item's page."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from registry_server.pages.addresses import ItemAddress
from registry_server.pages.desk import Maker
from registry_server.pages.frame import Page
from registry_server.pages.look import Look


class ItemView(Struct, frozen=True):
    """The JSON of an item's page."""

    kind: str
    id: str
    version: str
    description: str
    time: datetime


def item_page(address: ItemAddress) -> Maker:
    """The maker of ``/-/KIND/ID[@VERSION]``."""

    def make(look: Look) -> Page:
        history = look.history(address.identity)
        if history is None:
            raise look.missing(address.path)
        record = next((r for r in history.records if address.version in (None, r.version)), None)
        if record is None:
            raise look.missing(address.path)
        identity, release = address.identity, record.release
        view = ItemView(identity.kind, identity.id, release.version, release.description, release.time)
        return Page("item.html", view, f"{identity.id} {release.version}", release.description, address.path)

    return make
