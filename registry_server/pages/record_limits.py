"""What bounds the pages of the log and of namespaces, feeds and sitemaps: the one place of their numbers."""

from __future__ import annotations

from msgspec import Struct

from rye.limits import KIB


class RecordLimits(Struct, frozen=True):
    """Sizes in bytes, lengths in characters."""

    log_rows: int = 40
    """Entries on one page of the log."""
    list_characters: int = 20_000
    """HTML of a page's entries or items; the others are on the next page."""
    keysets_characters: int = 9_000
    """HTML of the keysets on one page of a namespace."""
    owners_characters: int = 4_000
    """HTML of its owners."""
    pasted_characters: int = 6 * KIB
    """A proof that is given in a command to paste; a longer one comes as a file."""
    keysets: int = 12
    """Keysets on one page of a namespace, the newest first."""
    earlier: int = 100
    """Older keysets that are only named."""
    items: int = 60
    """Items on one page of a namespace."""
    owners: int = 50
    """Accounts and teams that are listed."""
    feed_entries: int = 50
    """Of a feed, the newest."""
    feed_looks: int = 2_000
    """Entries of the log that are looked at for a feed."""
    feed_characters: int = 600
    """Of one text in a feed."""
    sitemap_names: int = 5_000
    """Addresses in one part of the sitemap."""
    sitemap_parts: int = 50_000
    """Parts that the sitemap's index lists (sitemaps.org, Sitemap index files)."""


RECORDS = RecordLimits()
