"""Read what lists say of items: histories, descriptions and use, for all rows of a page together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from registry_server.pages.analysed import description_of, files_named
from registry_server.pages.dependents import uses_of
from registry_server.pages.item_rows import NO_USE, ItemRow, Use, Wanted, item_row
from registry_server.pages.registry_view import RegistryView
from registry_server.pages.version_order import newest_offered
from rye.items.identity import Identity
from rye.registry.trust.records import ItemHistory, ReleaseRecord


def item_rows(registry: RegistryView, wanted: Sequence[Wanted]) -> list[ItemRow]:
    """Return the rows of items that the reader may see, in the given order."""
    identities = list(dict.fromkeys(one.identity for one in wanted))
    histories = registry.histories(identities) if identities else {}
    uses = uses_of(registry, identities)
    listed = [(one, _record(histories.get(one.identity), one.version)) for one in wanted]
    registry.taken_down(files_named([record for _, record in listed if record is not None]))
    return [_row(registry, one, record, histories, uses) for one, record in listed]


def _row(
    registry: RegistryView,
    wanted: Wanted,
    record: ReleaseRecord | None,
    histories: Mapping[Identity, ItemHistory],
    uses: Mapping[Identity, Use],
) -> ItemRow:
    description = description_of(registry, record) if record is not None else None
    return item_row(wanted, histories.get(wanted.identity), record, description, uses.get(wanted.identity, NO_USE))


def _record(history: ItemHistory | None, version: str | None) -> ReleaseRecord | None:
    if history is None:
        return None
    if version is None:
        version = newest_offered(history)
    return next((record for record in history.records if record.version == version), None)
