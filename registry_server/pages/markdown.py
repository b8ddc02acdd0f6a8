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

from registry_server.pages.directive_text import FOLD, Criteria, Fence, Part, Prose, Steps, said, undivided
from registry_server.pages.escaped_text import marked, marked_within
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


class Text(Struct, frozen=True):
    """Rendered Markdown."""

    html: Markup
    is_cut: bool = False
    """Whether only a part of the text is shown."""
    lost: tuple[str, ...] = ()
    """Words of the text that the HTML does not show. Empty if the text is cut."""
    lost_more: int = 0


def render(
    text: str,
    most: int,
    file_path: Callable[[str], str | None] = lambda _path: None,
    divide: Callable[[str], Sequence[Part]] = undivided,
) -> Text:
    """Return the text as HTML of at most about ``most`` characters.

    ``file_path``: returns the path of an attached file's page for a relative path, or None if there is no such file.
    ``divide``: splits the text, for kinds of items that have parts other than Markdown.
    """
    part = _beginning(text)
    metadata = _METADATA.match(part)
    pieces: list[str] = []
    if metadata is not None:
        pieces.append(f'<pre class="metadata"><code>{marked(metadata[1])}</code></pre>')
        body = part[metadata.end() :]
    else:
        body = part
    environment: dict[str, Any] = {}
    writer = _Writer(file_path)
    sources = list(pieces)
    divided = divide(body)
    for each in divided:
        if isinstance(each, Prose):
            blocks = list(_blocks(_parser().parse(each.text, environment)))
            pieces += (writer.block(block) for block in blocks)
            sources += (_source_of(each.text, block) for block in blocks)
        else:
            pieces.append(_part(each, writer, environment))
            sources.append(said(each))
    pieces.append(_definitions(environment.get("references", {})))
    shown, room = [], most
    for piece in pieces:
        if len(piece) > room:
            break
        shown.append(piece)
        room -= len(piece)
    is_cut = len(shown) < len(pieces) or len(part) < len(text)
    if not shown or (len(shown) < len(pieces) and room > most // 2):
        # One block is larger than the room that is left: show the beginning of its source.
        rest = metadata[1] if metadata is not None and not shown else "".join(sources[len(shown) : len(shown) + 1])
        shown.append(f'<pre class="metadata"><code>{marked_within(rest, room)[0]}</code></pre>')
    html = "".join(shown)
    whole = "\n".join([metadata[0] if metadata is not None else "", *map(said, divided)])
    lost = () if is_cut else tuple(_lost_words(whole, html))
    return Text(Markup(html), is_cut, lost[:_LOST], max(len(lost) - _LOST, 0))


_LOST = 30


def _beginning(text: str) -> str:
    """Return the part of the text that is rendered, up to the end of a line."""
    if len(text) <= PAGES.markdown_characters:
        return text
    part = text[: PAGES.markdown_characters]
    return part[: part.rfind("\n") + 1] or part


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
    """Return the HTML of link definitions, which Markdown does not show."""
    if not references:
        return ""
    rows = [
        f"[{label}]: {entry.get('href', '')}" + (f' "{entry["title"]}"' if entry.get("title") else "")
        for label, entry in references.items()
    ]
    return f'<pre class="metadata"><code>{marked(chr(10).join(rows))}</code></pre>'


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
        self._ids: Counter[str] = Counter()
        self._links: list[tuple[str, str]] = []
        """For each open link, what closes it, and what is shown after it."""

    def block(self, tokens: Sequence[Token]) -> str:
        return "".join(self._token(token, tokens, at) for at, token in enumerate(tokens))

    def _token(self, token: Token, among: Sequence[Token], at: int) -> str:
        if token.hidden:  # a paragraph of a tight list
            return ""
        name, _, end = token.type.rpartition("_")
        if end in ("open", "close") and name in _PLAIN:
            return f"<{'/' if end == 'close' else ''}{_PLAIN[name]}>"
        method = getattr(self, f"_{token.type}", None)
        if method is not None:
            return str(method(token, among, at))
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
        return f"{said}<pre><code>{marked(token.content)}</code></pre>\n"

    def _code_block(self, token: Token, _among: Sequence[Token], _at: int) -> str:
        return f"<pre><code>{marked(token.content)}</code></pre>\n"

    def _table_open(self, _token: Token, _among: Sequence[Token], _at: int) -> str:
        return '<div class="scroll" tabindex="0"><table>'

    def _table_close(self, _token: Token, _among: Sequence[Token], _at: int) -> str:
        return "</table></div>"

    def _ordered_list_open(self, token: Token, _among: Sequence[Token], _at: int) -> str:
        start = token.attrGet("start")
        return f'<ol start="{start}">' if isinstance(start, int) else "<ol>"

    def _ordered_list_close(self, _token: Token, _among: Sequence[Token], _at: int) -> str:
        return "</ol>"

    def _heading_open(self, token: Token, among: Sequence[Token], at: int) -> str:
        words = among[at + 1].content if at + 1 < len(among) else ""
        slug = "-".join(re.findall(r"[a-z0-9]+", words.lower()))[:60] or "part"
        self._ids[slug] += 1
        number = f"-{self._ids[slug]}" if self._ids[slug] > 1 else ""
        return f'<{self._heading(token)} id="text-{slug}{number}">'

    def _heading_close(self, token: Token, _among: Sequence[Token], _at: int) -> str:
        return f"</{self._heading(token)}>\n"

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
