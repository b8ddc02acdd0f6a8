"""What bounds the pages: the one place of their numbers."""

from __future__ import annotations

from msgspec import Struct

from rye.limits import KIB, MIB
from rye.registry.protocol.wire import SEARCH_TOTAL


class PageLimits(Struct, frozen=True):
    """All pages, items and search. Sizes are bytes, times seconds."""

    html_bytes: int = 50_000
    """HTML of a page, uncompressed; only the view of a whole source may be larger."""
    foot_bytes: int = 1_000
    """Of these the foot, which is another one for each head."""
    shrinkings: int = 5
    """How often a page that is too large is made again with half the text."""
    text_characters: int = 14_000
    """HTML of an item's rendered text on its page."""
    source_characters: int = 10_000
    """HTML of an item's source on its page."""
    rows: int = 40
    """Rows of a list: rights, runs, facts, files, versions, dependents."""
    list_characters: int = 6_000
    """Characters of all rows of a list together."""
    line_characters: int = 300
    """A word, an id or an action on one line; what is longer is cut and says so."""
    fitted_characters: int = 3_000
    """HTML of a text with as much of it as fits: an action, an example, a reason."""
    note_characters: int = 12_000
    """HTML of a note on its entry's page; the proof has the whole."""
    source_bytes: int = 1 * MIB
    """A source on its own view. What is larger is there as a blob."""
    source_html_bytes: int = 4 * MIB
    """HTML of that view."""
    numbered_lines: int = 20_000
    """Lines of a source that have numbers."""
    markdown_characters: int = 24 * KIB
    """Markdown that is rendered; the rest of a longer text is only shown as source."""
    facts_bytes: int = 320 * KIB
    """Text of one item, attached files included, that facts are looked for in. Files beyond it are named."""
    cached_bytes: int = 64 * MIB
    """Rendered pages that are kept."""
    rendered_bytes: int = 16 * MIB
    """Rendered texts that are kept, with what they were made from."""
    judged_bytes: int = 32 * MIB
    """Statements of items whose histories are kept, judged."""
    examined: int = 4_000
    """Releases of search results that are kept, examined."""
    analysis_bytes: int = 4 * MIB
    """A stored analysis, before compression. A larger one is made for each page."""
    analyses_bytes: int = 1024 * MIB
    """The file of stored analyses: about 200,000 of a usual size."""
    analyses_kept_bytes: int = 16 * MIB
    """Analyses that are kept in memory."""
    analyses_waiting_bytes: int = 8 * MIB
    """Analyses that wait to be written; what comes beyond is not stored."""
    analysed_entries: int = 200_000
    """Entries of the log, the newest, that are analysed ahead."""
    analysed_at_once: int = 64
    """Entries that are read from the log together for that."""
    analysis_quiet_seconds: float = 0.25
    """For how long nothing was published before releases are analysed ahead."""
    analysis_share: float = 0.5
    """Of a thread's time that this takes at most."""
    analysis_look_seconds: float = 30.0
    """Between two looks for entries that another process appended."""
    head_seconds: float = 0.2
    """For how long the head is believed to be the newest."""
    accept_characters: int = 1_000
    """Of ``Accept`` and ``If-None-Match`` that are read."""
    pace_seconds: float = 0.002
    """Between two pages while the registry publishes, which leaves the rest of the time to publishing."""
    pace_lasts_seconds: float = 0.05
    """For how long after a publish pages keep this pace: publishers send one after the other."""
    turn_seconds: float = 1.0
    """For how long a page waits for its turn at most."""
    catch_up_entries: int = 256
    """Entries of the log that are read at once to know who depends on what."""
    catch_up_seconds: float = 0.5
    """For how long a page does that."""
    dependents: int = 2_000
    """Releases that depend on an item, of which the newest of each item are shown."""
    newest: int = 12
    """Releases on the first page."""
    search_results: int = 20
    """Results on one page of a search."""
    search_depth: int = SEARCH_TOTAL
    """Results that a search ranks: no page lies beyond."""
    search_item_bytes: int = 1 * MIB
    """Of a result's files, which are looked into for its rights; of a larger one only its page says them."""


PAGES = PageLimits()


class RecordLimits(Struct, frozen=True):
    """The log, namespaces, feeds and sitemaps. Sizes in bytes, lengths in characters."""

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


class ComparisonLimits(Struct, frozen=True):
    """The comparison of two versions. Sizes in bytes, lengths in characters."""

    context_lines: int = 3
    """Lines that stay, shown on each side of a change."""
    line_characters: int = 600
    """Shown of one line."""
    compared_characters: int = 400
    """Of a line whose changed words are marked one by one; of a longer one the part that changed is marked as a whole."""
    text_bytes: int = 1 * MIB
    """A file that is compared line by line; a larger one is only said to differ."""
    all_text_bytes: int = 4 * MIB
    """All files of both sides that are."""
    all_lines: int = 80_000
    """Lines of all of them."""
    page_characters: int = 30_000
    """HTML of a comparison's rows and lines on one page; the others are on the next ones."""
    stage_characters: int = 16_000
    """The same on the page of a release that waits for a signature, which has no further pages."""
    kept_bytes: int = 128 * MIB
    """Comparisons that are kept."""
    kept_factor: int = 4
    """What one takes in memory for each byte of both versions, and"""
    kept_row_bytes: int = 1_000
    """for each row or line: these are values, not bytes."""
    others: int = 12
    """Other versions to compare with that are listed."""


COMPARISON = ComparisonLimits()
