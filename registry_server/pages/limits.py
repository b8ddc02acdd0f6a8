"""What bounds a page: the one place of its numbers."""

from __future__ import annotations

from msgspec import Struct

from rye.limits import KIB, MIB
from rye.registry.protocol.wire import SEARCH_TOTAL


class PageLimits(Struct, frozen=True):
    """Sizes are bytes, times seconds."""

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
    """Examined releases that are kept."""
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
