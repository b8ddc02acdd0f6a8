"""A page that can be made, and what it is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView


class Draft(Struct, frozen=True):
    """What a page depends on, and the rest of the work.

    A cached page is served as long as the drafts for its address have the same basis. So everything that the page shows
    must follow from the basis, the hour, the reader, the address and bytes that are named by their hash.
    """

    basis: object
    """Compared with ``==``. It must be much cheaper to compute than the page."""
    make: Callable[[], Page]
    json_fields: Callable[[], Mapping[str, object]] = dict
    """Fields that only the JSON has, and that are part of its basis."""
    is_fixed_by_head: bool = True
    """Whether the basis can only change with the head or the hour. If not, it is computed for each request."""


Maker = Callable[[RegistryView], Draft]
"""Reads what a page depends on. Its RyeErrors, such as ``not-found``, become error pages."""


def for_each_head(make: Callable[[RegistryView], Page]) -> Maker:
    """Return the maker of a page that is made again for each head: whatever is in the log's tables may be shown."""
    return lambda registry: Draft(registry.head, lambda: make(registry))
