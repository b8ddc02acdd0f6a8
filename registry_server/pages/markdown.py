"""Untrusted Markdown as inert HTML that shows all of it. Pure; the time is bounded by the length of the text.

Rules:

1. HTML in the text is shown as text. Everything is escaped, and hidden characters are made visible.
2. No image is loaded: its description and address are shown. A link goes only to ``http``, ``https``, ``mailto`` or an
   attached file. Its address is shown after it, unless the address is the link's text.
3. Headings are below the page's own (``h3`` to ``h6``), and their ids begin with ``text-``.
4. What Markdown hides is shown: the words after a fence, titles of links, link definitions, metadata.
5. For a directive, steps are an ordered list and criteria a list, and the XML is folded if nothing in it is only for
   agents (:mod:`registry_server.pages.directive_text`).
6. Whatever is still lost, such as a table's surplus cells, is found by comparing words (:attr:`Text.lost`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from html import escape, unescape
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages.directive_text import FOLD, Criteria, Fence, Part, Prose, Steps, said, undivided
from registry_server.pages.escaped_text import marked, marked_within, plain
from registry_server.pages.highlighting import Colours, highlighted, stretches
from registry_server.pages.limits import PAGES
from rye.text.content import hidden_characters

_SCHEMES = ("http", "https", "mailto")
_METADATA = re.compile(r"---[ \t]*\n(.*?)(?:^---[ \t]*$\n?|\Z)", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"<[^>]*>")
_WORD = re.compile(r"[^\W\d_]{2,}")
_ASCII_WORD = re.compile(r"[a-z]{2,}")
_PLAIN_LINE = r"[A-Za-z](?:[A-Za-z0-9 ,.;:()'\"/%?=+@-]*[A-Za-z0-9,.;:()'\"/%?=+@-])?"
_PLAIN_TEXT = re.compile(rf"(?:{_PLAIN_LINE}\n)*{_PLAIN_LINE}")
"""Each line begins with a letter, so it opens no block, and has no character with a meaning in Markdown."""
_DEPTH = 20
_COLUMN = 60
"""Characters of a column's words that are repeated in its cells."""
_CONTENTS = 80
"""Characters of a heading in the list of contents."""
_NUMBERED = 99
"""From a larger first number on, the numbers of a list stand within it, where nothing cuts them."""


class TextHeading(Struct, frozen=True):
    """A heading of the text, for a list of contents."""

    level: int
    """1 to 6, as in the text."""
    id: str
    words: str
    chunk: int
    """The number of the chunk that it is in, from 0."""


class Text(Struct, frozen=True):
    """Rendered Markdown, whole."""

    chunks: tuple[str, ...]
    """HTML, in pieces of at most about :attr:`~registry_server.pages.limits.PageLimits.block_characters`, which pages divide
    between them."""
    lost: tuple[str, ...] = ()
    """Words of the text that the HTML does not show."""
    lost_more: int = 0
    headings: tuple[TextHeading, ...] = ()

    @property
    def html(self) -> Markup:
        """All of it."""
        return Markup("".join(self.chunks))


def render(
    text: str,
    file_path: Callable[[str], str | None] = lambda _path: None,
    divide: Callable[[str], Sequence[Part]] = undivided,
) -> Text:
    """Return the whole text as HTML.

    ``file_path``: returns the path of an attached file's page for a relative path, or None if there is no such file.
    ``divide``: splits the text, for kinds of items that have parts other than Markdown.

    A text is parsed in segments, so that the time grows with its length only; what would take long is shown as source.
    """
    metadata = _METADATA.match(text)
    pieces: list[str] = []
    if metadata is not None:
        pieces += source_chunks(metadata[1], "metadata")
    body = text[metadata.end() :] if metadata is not None else text
    environment: dict[str, Any] = {}
    writer = _Writer(file_path)
    divided = divide(body) if len(body) <= PAGES.divided_characters else undivided(body)
    headings: list[TextHeading] = []
    for each in divided:
        if not isinstance(each, Prose):
            pieces.append(_fitted(_part(each, writer, environment), said(each)))
            continue
        for segment in segments(each.text):
            if segment.is_source:
                pieces += source_chunks(segment.text)
                continue
            for block in _blocks(_parser().parse(segment.text, environment)):
                html = writer.block(block)
                if len(html) > PAGES.block_characters:
                    pieces += writer.long_block(block) or source_chunks(_source_of(segment.text, block))
                    writer.headings.clear()
                else:
                    pieces.append(html)
                headings += (TextHeading(level, slug, words, len(pieces) - 1) for level, slug, words in writer.headings)
                writer.headings.clear()
    pieces += source_chunks(_definitions(environment.get("references", {})), "metadata")
    chunks, chunk_of = _gathered(pieces)
    whole = "\n".join([metadata[0] if metadata is not None else "", *map(said, divided)])
    lost = tuple(_lost_words(whole, "".join(pieces)))
    contents = tuple(replace(heading, chunk=chunk_of[heading.chunk]) for heading in headings)
    return Text(chunks, lost[:_LOST], max(len(lost) - _LOST, 0), contents)


_LOST = 30


def _fitted(html: str, source: str) -> str:
    return html if len(html) <= PAGES.block_characters else "".join(source_chunks(source))


def _gathered(pieces: Sequence[str]) -> tuple[tuple[str, ...], list[int]]:
    """Join pieces to chunks. Return the chunks, and for each piece the number of its chunk."""
    chunks: list[list[str]] = []
    chunk_of: list[int] = []
    room = 0
    for piece in pieces:
        if not chunks or len(piece) > room:
            chunks.append([])
            room = PAGES.chunk_characters
        chunks[-1].append(piece)
        room -= len(piece)
        chunk_of.append(len(chunks) - 1)
    return tuple("".join(chunk) for chunk in chunks), chunk_of


def source_chunks(text: str, name: str = "metadata") -> list[str]:
    """Return a text as source, in pieces that fit on pages."""
    chunks: list[str] = []
    while text:
        html, taken = marked_within(text[: PAGES.chunk_characters], PAGES.chunk_characters)
        if taken < len(text):
            end = text.rfind("\n", 0, taken) + 1
            if end > taken // 2:
                taken = end
                html = marked(text[:taken])
        chunks.append(f'<pre class="{name}"><code>{html}</code></pre>')
        text = text[taken:]
    return chunks


def code_chunks(text: str, language: str, colours: Colours | None = None) -> list[str]:
    """Return code in coloured pieces that fit on pages."""
    budget, lines = colours or Colours(seconds=PAGES.text_highlighting_seconds), text.split("\n")
    chunks: list[str] = []
    for each in [range(len(lines))] if len(text) <= PAGES.stretch_characters else stretches(lines):
        part = "\n".join(lines[each.start : each.stop])
        html = highlighted(part, language, budget)
        fits = len(html) <= PAGES.block_characters
        chunks += [f'<pre class="source"><code>{html}</code></pre>'] if fits else source_chunks(part, "source")
    return chunks


class Segment(Struct, frozen=True):
    """A part of a text that is parsed by itself."""

    text: str
    is_source: bool
    """Whether it is shown as source, since parsing it would take long or it is one long block."""


def segments(text: str) -> list[Segment]:
    """Divide a text at headings and blank lines outside of fences."""
    if len(text) <= PAGES.segment_characters:
        return [_segment(text)]
    divided: list[Segment] = []
    lines: list[str] = []
    size, fence = 0, ""
    before = ""
    for line in _LINE.findall(text):
        stripped = line.lstrip(" ")
        is_heading = not fence and _HEADING.match(line) is not None
        is_gap = not fence and not before.strip() and bool(stripped.strip()) and stripped == line
        least = PAGES.segment_characters // 2 if is_heading else PAGES.segment_characters
        if size >= least and (is_heading or is_gap):
            divided.append(_segment("".join(lines)))
            lines, size = [], 0
        mark = _FENCE.match(line)
        if mark is not None and (not fence or (mark[1].startswith(fence) and not line[mark.end() :].strip())):
            fence = "" if fence else mark[1]
        lines.append(line)
        size += len(line)
        before = line
    divided.append(_segment("".join(lines)))
    return divided


_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING = re.compile(r"#{1,6}[ \t]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SPECIAL = re.compile(r"[\[\]*_<~|!`&\\]")


def _segment(text: str) -> Segment:
    """Return a segment. Text of little but marks takes long to parse."""
    marks = len(_SPECIAL.findall(text))
    is_long = len(text) > 2 * PAGES.segment_characters
    return Segment(text, is_long or (marks > PAGES.marks and marks * 3 > len(text)))


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "maxNesting": _DEPTH}).enable(["table", "strikethrough"])


def _blocks(tokens: Sequence[Token]) -> Iterable[list[Token]]:
    """Yield the tokens of each top-level block."""
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield block
            block = []
    if block:
        yield block


def _source_of(body: str, block: Sequence[Token]) -> str:
    """Return the source of one block."""
    place = block[0].map
    return "\n".join(body.split("\n")[place[0] : place[1]]) if place else body


def _part(part: Fence | Steps | Criteria, writer: _Writer, environment: dict[str, Any]) -> str:
    """Return the HTML of a part of a directive."""

    def written(text: str) -> str:
        return plain_paragraph(text) or writer.block(_parser().parse(text, environment))

    if isinstance(part, Fence):
        lines = part.xml.rstrip("\n").count("\n") + 1
        count = f"{lines:,} line{'' if lines == 1 else 's'}"
        opened = "" if part.is_plain and not hidden_characters(part.xml) else " open"
        return f"<details{opened}><summary>{FOLD} ({count})</summary><pre><code>{marked(part.xml)}</code></pre></details>\n"
    if isinstance(part, Steps):
        steps = (f'<li><p class="step">{marked(name)}</p>{written(text)}</li>' for name, text in part.steps)
        return f'<ol class="steps">{"".join(steps)}</ol>\n'
    return f'<ul class="criteria">{"".join(f"<li>{written(text)}</li>" for text in part.texts)}</ul>\n'


def plain_paragraph(text: str) -> str | None:
    """Return the HTML of a single plain paragraph without any Markdown; None if the text must be parsed."""
    return f"<p>{marked(text)}</p>" if _PLAIN_TEXT.fullmatch(text) else None


def _lost_words(source: str, html: str) -> Iterable[str]:
    """Return the words that occur more often in the text than in the HTML. Lower case, because link definitions lose
    theirs."""
    shown = _words(unescape(unescape(_TAG.sub(" ", html))))
    return (word for word, count in _words(unescape(source)).items() if count > shown[word])


def _words(text: str) -> Counter[str]:
    """Count the words."""
    lower = text.lower()
    return Counter((_ASCII_WORD if lower.isascii() else _WORD).findall(lower))


def _definitions(references: Mapping[str, Mapping[str, Any]]) -> str:
    """Return link definitions, which Markdown does not show."""
    rows = [
        f"[{label}]: {entry.get('href', '')}" + (f' "{entry["title"]}"' if entry.get("title") else "")
        for label, entry in references.items()
    ]
    return "\n".join(rows)


_PLAIN = {
    **{name: name for name in ("blockquote", "em", "strong", "s", "thead", "tbody", "tr", "th", "td")},
    "paragraph": "p",
    "bullet_list": "ul",
    "list_item": "li",
}
"""Tokens that become an element without attributes."""


class _Writer:
    """Write the tokens of one text. The list of tokens is closed: any other token is written as plain text."""

    def __init__(self, file_path: Callable[[str], str | None]) -> None:
        self._file_path = file_path
        self._colours = Colours(seconds=PAGES.text_highlighting_seconds)
        self._ids: Counter[str] = Counter()
        self.headings: list[tuple[int, str, str]] = []
        """Level, id and words of the headings that were written."""
        self._columns: list[str] = []
        """The words of the columns of the table that is being written; empty: it has few columns."""
        self._column = 0
        self._opened = ""
        """The id of the heading that is being written."""
        self._links: list[tuple[str, str]] = []
        """For each open link, what closes it, and what is shown after it."""

    def block(self, tokens: Sequence[Token]) -> str:
        return "".join(self._token(token, tokens, at) for at, token in enumerate(tokens))

    def long_block(self, tokens: Sequence[Token]) -> list[str]:
        """Return long code in pieces; empty: it is another block, or the words after its fence are long, too."""
        if len(tokens) != 1 or tokens[0].type != "fence":
            return []
        info = tokens[0].info.strip()
        if len(info) > PAGES.line_characters:
            return []
        code = code_chunks(tokens[0].content.removesuffix("\n"), info.partition(" ")[0], self._colours)
        return [f'<p class="info">{marked(info)}</p>', *code] if info else code

    def _token(self, token: Token, among: Sequence[Token], at: int) -> str:
        if token.hidden:  # a paragraph of a tight list
            return ""
        method = getattr(self, f"_{token.type}", None)
        if method is not None:
            return str(method(token, among, at))
        name, _, end = token.type.rpartition("_")
        if end in ("open", "close") and name in _PLAIN:
            return f"<{'/' if end == 'close' else ''}{_PLAIN[name]}>"
        return str(marked(token.content))

    def _inline(self, token: Token, _among: Sequence[Token], _at: int) -> str:
        children = token.children or []
        return "".join(self._token(child, children, at) for at, child in enumerate(children))

    def _softbreak(self, _token: Token, _among: Sequence[Token], _at: int) -> str:
        return "\n"

    def _hardbreak(self, _token: Token, _among: Sequence[Token], _at: int) -> str:
        return "<br>\n"

    def _hr(self, _token: Token, _among: Sequence[Token], _at: int) -> str:
        return "<hr>"

    def _code_inline(self, token: Token, _among: Sequence[Token], _at: int) -> str:
        return f"<code>{marked(token.content)}</code>"

    def _fence(self, token: Token, _among: Sequence[Token], _at: int) -> str:
        info = token.info.strip()
        said = f'<p class="info">{marked(info)}</p>' if info else ""
        code = highlighted(token.content, info.partition(" ")[0], self._colours)
        return f"{said}<pre><code>{code}</code></pre>\n"

    def _code_block(self, token: Token, _among: Sequence[Token], _at: int) -> str:
        return f"<pre><code>{marked(token.content)}</code></pre>\n"

    def _table_open(self, _token: Token, among: Sequence[Token], at: int) -> str:
        words = []
        for place in range(at + 1, len(among)):
            if among[place].type == "thead_close":
                break
            if among[place].type == "th_open":
                words.append(among[place + 1].content)
        self._columns = [plain(word, _COLUMN) for word in words] if len(words) > PAGES.narrow_columns else []
        many = " many" if len(words) > PAGES.wide_columns else ""
        return f'<table class="columns{many}">' if self._columns else "<table>"

    def _table_close(self, _token: Token, _among: Sequence[Token], _at: int) -> str:
        self._columns = []
        return "</table>"

    def _tr_open(self, _token: Token, _among: Sequence[Token], _at: int) -> str:
        self._column = 0
        return "<tr>"

    def _td_open(self, _token: Token, _among: Sequence[Token], _at: int) -> str:
        if not self._columns:
            return "<td>"
        self._column += 1
        words = self._columns[self._column - 1] if self._column <= len(self._columns) else ""
        return f'<td data-column="{escape(words)}">' if words else "<td>"

    def _ordered_list_open(self, token: Token, _among: Sequence[Token], _at: int) -> str:
        start = token.attrGet("start")
        if not isinstance(start, int):
            return "<ol>"
        inside = ' class="inside"' if start > _NUMBERED else ""
        return f'<ol start="{start}"{inside}>'

    def _ordered_list_close(self, _token: Token, _among: Sequence[Token], _at: int) -> str:
        return "</ol>"

    def _heading_open(self, token: Token, among: Sequence[Token], at: int) -> str:
        words = among[at + 1].content if at + 1 < len(among) else ""
        slug = "-".join(re.findall(r"[a-z0-9]+", words.lower()))[:60] or "part"
        self._ids[slug] += 1
        number = f"-{self._ids[slug]}" if self._ids[slug] > 1 else ""
        name = f"text-{slug}{number}"
        self._opened = name
        self.headings.append((int(token.tag[1:]), name, plain(words, _CONTENTS)))
        return f'<{self._heading(token)} id="{name}">'

    def _heading_close(self, token: Token, _among: Sequence[Token], _at: int) -> str:
        link = f' <a class="anchor" href="#{self._opened}" aria-label="Link to this heading">#</a>'
        return f"{link}</{self._heading(token)}>\n"

    @staticmethod
    def _heading(token: Token) -> str:
        return f"h{min(int(token.tag[1:]) + 2, 6)}"

    def _image(self, token: Token, _among: Sequence[Token], _at: int) -> str:
        address, title = str(token.attrGet("src") or ""), str(token.attrGet("title") or "")
        return f'<span class="picture">picture: {marked(token.content)} {_address(address)}{_title(title)}</span>'

    def _link_open(self, token: Token, among: Sequence[Token], at: int) -> str:
        address, title = str(token.attrGet("href") or ""), str(token.attrGet("title") or "")
        said = "".join(child.content for child in _until_close(among, at))
        target, shown = self._target(address, said)
        self._links.append(("</a>" if target else "", f"{shown}{_title(title)}"))
        return f'<a href="{escape(target)}" rel="nofollow noopener noreferrer">' if target else ""

    def _link_close(self, _token: Token, _among: Sequence[Token], _at: int) -> str:
        end, shown = self._links.pop() if self._links else ("", "")
        return f"{end}{shown}"

    def _target(self, address: str, said: str) -> tuple[str, str]:
        """Return the target of a link, empty for none, and what is shown after the link."""
        if address.startswith("#"):
            slug = "-".join(re.findall(r"[a-z0-9]+", address.lower()))
            return f"#text-{slug}", f" {_address(address)}"
        try:
            parts = urlsplit(address)
            host = parts.hostname or ""
        except ValueError:
            return "", f" {_address(address)}"
        if parts.scheme in _SCHEMES and (host or parts.scheme == "mailto"):
            return address, "" if said in (address, address.removeprefix("mailto:")) else f" {_address(address)}"
        path = "" if parts.scheme or parts.netloc else parts.path.removeprefix("./")
        return (self._file_path(path) or "") if path else "", f" {_address(address)}"


def _until_close(among: Sequence[Token], at: int) -> Iterable[Token]:
    for token in among[at + 1 :]:
        if token.type == "link_close":
            return
        yield token


def _address(address: str) -> str:
    return f'<span class="address">({marked(address)})</span>' if address else ""


def _title(title: str) -> str:
    return f' <span class="address">“{marked(title)}”</span>' if title else ""
