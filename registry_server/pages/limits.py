"""All limits of the pages."""

from __future__ import annotations

from msgspec import Struct

from rye.limits import KIB, MIB
from rye.registry.protocol.wire import SEARCH_TOTAL


class PageLimits(Struct, frozen=True, kw_only=True):
    """Limits of all pages, items and search. Sizes are bytes, times seconds."""

    html_bytes: int = 120_000
    """HTML of a page, uncompressed."""
    foot_bytes: int = 3_500
    """The part of ``html_bytes`` that is reserved for the foot."""
    shrinkings: int = 5
    """How often a page that is too large is rendered again, each time with half the text."""
    text_characters: int = 84_000
    """HTML of an item's rendered text on its page. The rest is on the next pages."""
    part_characters: int = 96_000
    """HTML of the text on each of these."""
    chunk_characters: int = 12_000
    """HTML of one piece of a text, which is not divided between pages, and"""
    block_characters: int = 40_000
    """of one list or table. A larger one is shown as source, in pieces."""
    segment_characters: int = 12_000
    """Characters of Markdown that are parsed at once."""
    marks: int = 2_000
    """Marks of Markdown in so much text: if they are also a third of its characters, it is shown as source."""
    divided_characters: int = 64 * KIB
    """A directive's text, up to which its steps are shown as a list."""
    narrow_columns: int = 3
    """Columns of a table that fit side by side on a phone, and"""
    wide_columns: int = 8
    """on a wide screen. In a table with more, the cells of a row stand below each other."""
    stretch_characters: int = 12_000
    """Characters of code that are read at once to be coloured, and"""
    highlighted_line: int = 500
    """of its longest line. A longer one stays without colours."""
    highlighting_seconds: float = 0.5
    """Processor time that a page may spend on colours. Real code takes about 2 ms for 1,000 characters."""
    text_highlighting_seconds: float = 2.0
    """Processor time that a whole text may spend on them, which is stored with the analysis of its release."""
    contents: int = 60
    """Headings in a list of contents."""
    source_characters: int = 10_000
    """Characters of the text of a release that waits for a signature."""
    rows: int = 40
    """Rows of a list: rights, runs, facts, files, versions."""
    list_characters: int = 6_000
    """Characters of all rows of a list together."""
    facts_characters: int = 16_000
    """HTML of all facts together."""
    closure: int = 60
    """Items whose histories are read to work out what an item brings with it."""
    uses: int = 50_000
    """Pairs of an item and one that depends on it, which are counted for the rows of one page."""
    line_characters: int = 300
    """A word, an id or an action on one line. A longer one is cut visibly."""
    fitted_characters: int = 3_000
    """HTML of a text that is cut to fit: an action, an example, a reason."""
    note_characters: int = 12_000
    """HTML of a note on its entry's page. The proof has all of it."""
    source_bytes: int = 1 * MIB
    """A file on its source page. A larger one is only available as a blob."""
    source_part_bytes: int = 64_000
    """HTML of the numbered lines on one page of a source, without colours. The rest is on the next pages."""
    source_frame_bytes: int = 8_000
    """What else is on such a page."""
    source_row: int = 6_000
    """HTML of a piece of a line that is too long for a page, in characters."""
    content_characters: int = 24 * KIB
    """Characters of an item's text in the JSON of its page."""
    markdown_bytes: int = 320 * KIB
    """A Markdown file that is rendered. A longer one is shown as source."""
    facts_bytes: int = 320 * KIB
    """Text of one item, including attached files, that is searched for facts. The page names files beyond it."""
    cached_bytes: int = 64 * MIB
    """Rendered pages in the cache."""
    compressed_bytes: int = 16 * MIB
    """Compressed pages and styles in the cache."""
    rendered_bytes: int = 16 * MIB
    """Rendered texts in the cache, including their sources."""
    heads: int = 8
    """Heads whose root statements are cached."""
    chains: int = 2_000
    """Keyset chains in the cache."""
    judged_bytes: int = 32 * MIB
    """Statements of the item histories in the cache."""
    examined: int = 4_000
    """Examined releases of search results in the cache."""
    analysis_bytes: int = 4 * MIB
    """A stored analysis, before compression. A larger one is computed for each page."""
    recent_analyses_bytes: int = 16 * MIB
    """Analyses cached in memory."""
    head_seconds: float = 0.2
    """How long the head counts as the newest."""
    accept_characters: int = 1_000
    """Characters of ``Accept`` and ``If-None-Match`` that are read."""
    pace_seconds: float = 0.002
    """Time between two pages while the registry publishes. The rest of the time belongs to publishing."""
    search_pace_seconds: float = 0.02
    """The same after a search, which takes several times as long as a page."""
    pace_lasts_seconds: float = 0.05
    """How long after a publish pages keep this pace, because publishes come in series."""
    turn_seconds: float = 1.0
    """The longest time that a page or a search waits for its turn."""
    catch_up_entries: int = 256
    """Log entries that are read in one batch to find dependents."""
    catch_up_seconds: float = 0.5
    """How long a page may spend on that."""
    dependents: int = 2_000
    """Releases that depend on an item, of which the newest of each item counts, and"""
    dependent_rows: int = 12
    """of these on the item's page. The list of all has pages."""
    named_versions: int = 8
    """Versions that are named where one is missing."""
    newest: int = 12
    """Releases on the home page."""
    search_results: int = 20
    """Results on one page of a search."""
    search_depth: int = SEARCH_TOTAL
    """Results that a search ranks. There is no page beyond them."""
    search_item_bytes: int = 1 * MIB
    """Size of a result's files up to which they are examined for rights. For a larger item, only its page shows
    them."""


PAGES = PageLimits()


class ListLimits(Struct, frozen=True, kw_only=True):
    """Limits of lists of items and namespaces, and of the home page."""

    items: int = 40
    """Items on one page."""
    list_characters: int = 70_000
    """HTML of these items."""
    depth: int = 100_000
    """Items that come before the last page."""
    versions: int = 100
    """Versions on one page."""
    compared: int = 300
    """Versions that can be chosen to be compared."""
    licences: int = 8
    """Licences to choose from."""
    described_at_once: int = 20
    """Items that are described in one transaction."""
    describing_seconds: float = 0.5
    """How long a page may spend on that."""
    most_used: int = 6
    """Most used items on the home page."""
    publishers: int = 6
    """New publishers there."""
    of_one_namespace: int = 2
    """Recently updated items of one namespace there."""
    looked_at: int = 400
    """Items that are looked at for them."""


LISTS = ListLimits()


class RecordLimits(Struct, frozen=True, kw_only=True):
    """Limits of the log, namespaces, feeds and sitemaps. Sizes are bytes, lengths are characters."""

    log_rows: int = 40
    """Entries on one page of the log, and"""
    log_looked_at: int = 4_096
    """those that are looked at for it, if few of them are wished for,"""
    log_read: int = 128
    """so many at a time."""
    list_characters: int = 40_000
    """HTML of a page's entries or items. The rest are on the next page."""
    keysets_characters: int = 9_000
    """HTML of the keysets on one page of a namespace."""
    owners_characters: int = 4_000
    """HTML of a namespace's owners."""
    pasted_characters: int = 6 * KIB
    """A proof that is part of a command to paste. A longer one is only offered as a file."""
    keysets: int = 12
    """Keysets on one page of a namespace, the newest first."""
    earlier: int = 100
    """Older keysets that are only linked."""
    items: int = 60
    """Items on one page of a namespace."""
    owners: int = 50
    """Accounts and teams that are listed."""
    feed_entries: int = 50
    """Entries in a feed."""
    feed_looks: int = 2_000
    """Log entries that are searched for a feed."""
    feed_characters: int = 600
    """Characters of one text in a feed."""
    sitemap_names: int = 5_000
    """Addresses in one part of the sitemap."""
    sitemap_parts: int = 50_000
    """Parts that the sitemap's index lists (sitemaps.org, Sitemap index files)."""


RECORDS = RecordLimits()


class ComparisonLimits(Struct, frozen=True, kw_only=True):
    """Limits of comparisons. Sizes are bytes, lengths are characters."""

    context_lines: int = 3
    """Unchanged lines shown before and after a change."""
    line_characters: int = 600
    """Characters shown of one line."""
    compared_characters: int = 400
    """Length of a line in which each changed word is marked. In a longer line, the changed part is marked as a
    whole."""
    text_bytes: int = 1 * MIB
    """A file that is compared line by line. A larger one is only reported as different."""
    all_text_bytes: int = 4 * MIB
    """All files of both sides that are compared line by line."""
    all_lines: int = 80_000
    """Lines of all these files."""
    page_characters: int = 30_000
    """HTML of a comparison's rows and lines on one page. The rest are on the next pages."""
    colour_characters: int = 50_000
    """HTML of the colours of these lines. Without room for all, some lines have none."""
    stage_characters: int = 16_000
    """The same for a release that waits for a signature, which has only one page."""
    kept_bytes: int = 128 * MIB
    """Comparisons in the cache."""
    kept_factor: int = 4
    """Memory of a cached comparison for each byte of both versions, and"""
    kept_row_bytes: int = 1_000
    """for each row or line."""
    index: int = 60
    """Files in the list at the beginning of a comparison."""
    others: int = 12
    """Other versions that the JSON of a comparison links to."""


COMPARISON = ComparisonLimits()
