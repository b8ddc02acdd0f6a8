"""The block structure of a Markdown text, exactly as CommonMark 0.31 defines it. All other views of a text build on it.

The scanner finds headings of both kinds, fenced and indented code, HTML blocks, thematic breaks, quotes and list items, each
with its lines and offsets. It ignores inline markup. The algorithm is the specification's own ("A parsing strategy"): one pass
over the lines with a stack of open containers. ``CONTENT.markdown_depth`` caps the depth of that stack. When a text nests
deeper, the result says so and reading stops there, so that no one acts on half a structure.

Two shortcuts make it fast. Outside containers, one regular expression skips a whole run of plain and blank lines, and a search
for its end consumes a whole block of code or HTML. Only lines that may start a block are read one by one.

Only LF ends a line: a lone CR, NEL or U+2028 is an ordinary character, as it is for the signature's hash. Lines count from 1,
offsets from 0, in characters.
"""

from __future__ import annotations

import re

from rye.limits import CONTENT
from rye.text.lazy import lazy_pattern
from rye.text.markdown_grammar import (
    ATX,
    BLANK_LINE,
    BREAK,
    BULLETS,
    CODE_LINES,
    FENCE_CLOSE,
    FENCE_OPEN,
    HTML_CLOSE,
    ITEM,
    LAZY,
    MARKER,
    NO_LEAF,
    PLAIN,
    PLAIN_TEXT,
    SETEXT,
    SPECIAL,
    Cursor,
    Leaf,
    Open,
    definition,
    first_html_close,
    heading_text,
    html_open,
    unescaped,
)
from rye.text.markdown_model import COMMENT, Blocks, Break, Code, Container, Fence, Heading, Html

MAX_DEPTH = CONTENT.markdown_depth


def scan(text: str, *, only_comments: bool = False, until: str | None = None) -> Blocks:
    """Return the blocks of ``text`` (LF line endings). Never fails: every text is Markdown. Linear in time and memory.

    ``only_comments``: count only comments as HTML blocks; other HTML is ordinary text, so that a tag on its own line does not
    hide the headings below it (DECISIONS Agents 6). ``until``: stop after the first fence outside containers whose first word
    is this one; ``Blocks.read_to`` says where.
    """
    return _Scanner(text, only_comments, until).run()


_MAY_NEST = lazy_pattern(rf"\n[ \t>*+\-0-9.)]{{{MAX_DEPTH // 2}}}")
"""A line in half as many containers as allowed. Each container takes one character, but a tab can serve two list items."""


def may_be_too_deep(text: str, start: int) -> bool:
    """Whether quotes and lists after offset ``start`` (the end of a line) might nest too deep. Only False is certain."""
    return _MAY_NEST.search(text, max(start - 1, 0)) is not None


class _Scanner(Cursor):
    """The state of one pass: the open containers, the open leaf, and the position in the current line."""

    def __init__(self, text: str, only_comments: bool, until: str | None) -> None:
        super().__init__()
        self.text = text if text.endswith("\n") else text + "\n"
        self.length = len(text)
        self.only_comments = only_comments
        self.until = until
        self.containers: list[Open] = []
        self.leaf = NO_LEAF
        self.headings: list[Heading] = []
        self.fences: list[Fence] = []
        self.code: list[Code] = []
        self.html: list[Html] = []
        self.breaks: list[Break] = []
        self.closed: list[Container] = []
        # The current line: its offset, its number, and the offset of the first line that is not read yet.
        self.start = 0
        self.number = 1
        self.after = 0
        self.lines = 1
        """How many lines end before that offset."""
        self.ended = False

    def run(self) -> Blocks:
        text, length = self.text, self.length
        too_deep: int | None = None
        while self.start < length:
            character = text[self.start]
            if self.containers:
                if character not in " \t\n>" and self._at_margin():
                    continue
            elif self.leaf.kind != "fence":  # indented fences are read line by line
                if character in SPECIAL:
                    if self._at_margin():
                        continue
                elif self._plain():
                    continue
            self._read()
            if len(self.containers) > MAX_DEPTH:
                too_deep = self.number
                break
            self.number += self.lines
            self.start = self.after
            if self.ended:
                break
        self._drop(0)
        self.closed.sort(key=lambda container: (container.line, container.depth))
        return Blocks(
            headings=tuple(self.headings),
            fences=tuple(self.fences),
            code=tuple(self.code),
            html=tuple(self.html),
            breaks=tuple(self.breaks),
            containers=tuple(self.closed),
            read_to=min(self.start, length),
            too_deep=too_deep,
        )

    # Many lines at once.

    def _plain(self) -> bool:
        """Skip plain and blank lines outside containers; False if the current line is neither."""
        if self.leaf.lines is not None:
            return False  # it may be a link reference definition, where every line counts
        found = PLAIN.match(self.text, self.start)
        assert found is not None
        end = found.end()
        if end == self.start:
            return False
        self._close_leaf()
        last = max(self.text.rfind("\n", self.start, end - 1) + 1, self.start)
        self.leaf = PLAIN_TEXT if self.text[last:end].strip(" \t\n") else NO_LEAF
        self.number += self.text.count("\n", self.start, end)
        self.start = end
        return True

    def _at_margin(self) -> bool:
        """Read the most common lines at the margin, which continue no container; False if the line is not one of them."""
        text, start, paragraph = self.text, self.start, self.leaf.kind == "paragraph"
        if paragraph and (found := LAZY.match(text, start)):
            end = found.end()
            if self.leaf.lines is not None:
                self.leaf.lines += text[start : end - 1].split("\n")
            self.number += text.count("\n", start, end)
            self.start = end
            return True
        if text[start] == "#" and (atx := ATX.match(text, start)):
            self._drop(0)
            end = text.index("\n", start)
            self.headings.append(Heading(len(atx[1]), heading_text(text[atx.end() : end]), self.number, start, 0))
        elif text[start] in BULLETS and (self.containers or not paragraph) and (item := ITEM.match(text, start)):
            self._drop(0)
            container = Open(item.end() - start, self.number, empty=False)
            self.containers.append(container)
            self.leaf = Leaf(kind="paragraph", item=container, start=item.end())
            end = text.index("\n", item.end())
        else:
            return False
        self.start = end + 1
        self.number += 1
        return True

    # One line.

    def _read(self) -> None:
        """Read the line at ``start``, and set ``after`` to the offset of the next unread line."""
        end = self.text.index("\n", self.start)
        self.line = self.text[self.start : end]
        self.after = end + 1
        self.lines = 1
        self.offset = self.column = self.rest_of_tab = 0
        if not self.containers and self.leaf.kind != "fence":
            self.find()
            if self.blank:  # after a paragraph where every line counts
                self._close_leaf()
            else:
                self._open_blocks(0, True)
            return
        matched = self._match_containers() if self.containers else 0
        all_matched = matched == len(self.containers)
        if all_matched:
            if self._continue_leaf():
                return
        else:
            self.find()
        self._open_blocks(matched, all_matched)

    def _match_containers(self) -> int:
        matched = 0
        for item in self.containers:
            self.find()
            if item.indent == 0:
                if self.indent > 3 or self.blank or self.line[self.next] != ">":
                    break
                self._take_quote_marker()
            elif self.blank:
                if item.empty:
                    break
                self.to_next()
            elif self.indent >= item.indent:
                self.columns(item.indent)
            else:
                break
            matched += 1
        return matched

    def _take_quote_marker(self) -> None:
        self.to_next()
        self.characters(1)
        if self.offset < len(self.line) and self.line[self.offset] in " \t":
            self.columns(1)

    def _continue_leaf(self) -> bool:
        """Offer the line to the open leaf; False if the leaf is closed, or is a paragraph that a new block can interrupt."""
        leaf = self.leaf
        self.find()
        if leaf.kind == "fence":
            leaf.last = self.number
            if self.indent <= 3 and not self.blank and self._closes(leaf):
                self._close_leaf(closed=True)
                return True
            self.columns(leaf.indent)
            assert leaf.lines is not None
            leaf.lines.append(self.remaining())
            leaf.offsets.append(self.offset + (1 - self.rest_of_tab if self.rest_of_tab else 0))
            return True
        if leaf.kind == "html":
            if leaf.html >= 6 and self.blank:
                self._close_leaf()
                return True
            leaf.last = self.number
            if leaf.html < 6 and self._html_close(leaf.html, self.start + self.offset, self.after) >= 0:
                self._close_leaf(closed=True)
            return True
        if leaf.kind == "code":
            if self.blank:
                return True
            if self.indent >= 4:
                leaf.last = self.number
                return True
            self._close_leaf()
        elif leaf.kind == "paragraph" and self.blank:
            self._close_leaf()
            return True
        return False

    def _closes(self, leaf: Leaf) -> bool:
        rest = self.line[self.next :].rstrip(" \t")
        return len(rest) >= leaf.length and rest == leaf.marker * len(rest)

    def _open_blocks(self, matched: int, all_matched: bool) -> None:
        paragraph = self.leaf.kind == "paragraph"
        in_paragraph = paragraph and all_matched
        while not self.blank:
            if self.indent >= 4:
                if not paragraph:
                    self._drop(matched)
                    self._open_code()
                    return
                break
            character = self.line[self.next]
            if character not in SPECIAL:
                break
            if character == ">":
                self._drop(matched)
                self._take_quote_marker()
                self._push(Open(0, self.number))
            elif character == "<" and (kind := self._html_start(paragraph)):
                self._drop(matched)
                self._open_html(kind)
                return
            elif character in "`~" and (found := FENCE_OPEN.match(self.line, self.next)):
                self._drop(matched)
                self._open_fence(found)
                return
            elif character == "#" and (atx := ATX.match(self.line, self.next)):
                self._drop(matched)
                self._touch()
                text = heading_text(self.line[atx.end() :])
                self.headings.append(Heading(len(atx[1]), text, self.number, self.start, len(self.containers)))
                return
            elif in_paragraph and character in "=-" and SETEXT.match(self.line, self.next) and self._has_text():
                self._close_leaf()
                level = 1 if character == "=" else 2
                self.headings.append(Heading(level, "", self.number, self.start, len(self.containers), True))
                return
            elif character in "*_-" and BREAK.match(self.line, self.next):
                self._drop(matched)
                self._touch()
                self.breaks.append(Break(self.number, len(self.containers)))
                return
            elif (width := self._list_marker(in_paragraph)) is not None:
                self._drop(matched)
                self._take_list_marker(width)
            else:
                break
            matched = len(self.containers)
            all_matched = True
            paragraph = in_paragraph = False
            if matched > MAX_DEPTH:
                return
            self.find()
        self._text(matched)

    def _text(self, matched: int) -> None:
        if self.blank:
            self._drop(matched)
            return
        line = self.line
        if self.leaf.kind == "paragraph":
            if self.leaf.lines is not None:
                self.leaf.lines.append(line[self.next :])  # its own line, or a lazy continuation
            return
        self._drop(matched)
        containers = self.containers
        starts_item = len(containers) == 1 and containers[0].indent and containers[0].empty
        self._touch()
        lines = [line[self.next :]] if line[self.next] == "[" else None
        if starts_item:
            self.leaf = Leaf(kind="paragraph", item=containers[0], start=self.start + self.next, lines=lines)
        else:
            self.leaf = PLAIN_TEXT if lines is None else Leaf(kind="paragraph", lines=lines)

    def _has_text(self) -> bool:
        """Whether the open paragraph has text besides link reference definitions. Only then can an underline form a heading."""
        if self.leaf.lines is None:
            return True
        text, position = "\n".join(self.leaf.lines), 0
        while found := definition().match(text, position):
            position = found.end()
        return position < len(text)

    def _list_marker(self, in_paragraph: bool) -> int | None:
        """The width of the list marker at ``next``; None if there is none, or if it may not interrupt the paragraph."""
        found = MARKER.match(self.line, self.next)
        if found is None:
            return None
        if in_paragraph:
            number = found[1]
            if (number is not None and int(number) != 1) or not self.line[found.end() :].strip(" \t"):
                return None
        return found.end() - self.next

    def _take_list_marker(self, width: int) -> None:
        indent = self.indent
        self.to_next()
        self.characters(width)
        self.find()
        if self.blank or self.indent >= 5:
            width += 1
            self.columns(1)
        else:
            width += self.indent
            self.to_next()
        self._push(Open(indent + width, self.number))

    # Outside containers, these blocks are read whole; inside containers, line by line.

    def _html_start(self, paragraph: bool) -> int:
        """The kind of HTML block that starts at ``next``, or 0."""
        if self.only_comments:
            return COMMENT if self.line.startswith("<!--", self.next) else 0
        found = html_open().match(self.line, self.next)
        if found is None or found.lastindex is None:
            return 0
        return 0 if found.lastindex == 7 and paragraph else found.lastindex

    def _html_close(self, kind: int, start: int, end: int) -> int:
        """The offset in ``text[start:end]`` where an HTML block of kinds 1 to 5 ends, or -1."""
        if kind == 1:
            found = first_html_close().search(self.text, start, end)
            return found.start() if found else -1
        return self.text.find(HTML_CLOSE[kind - 1], start, end)

    def _open_html(self, kind: int) -> None:
        self._touch()
        at = self.start + self.next
        if self.containers:
            self.leaf = Leaf(kind="html", line=self.number, last=self.number, html=kind)
            if kind < 6 and self._html_close(kind, at, self.after) >= 0:
                self._close_leaf(closed=True)
            return
        close = 0
        if kind < 6:
            close = self._html_close(kind, at, len(self.text))
            self.after = self.text.index("\n", close) + 1 if close >= 0 else len(self.text)
        else:
            blank = BLANK_LINE.search(self.text, self.after - 1)
            self.after = blank.start() + 1 if blank else len(self.text)
        self.html.append(Html(kind, self.number, self._take_lines(), 0, close >= 0))

    def _open_code(self) -> None:
        self._touch()
        if self.containers:
            self.leaf = Leaf(kind="code", line=self.number, last=self.number)
            return
        found = CODE_LINES.match(self.text, self.start)
        assert found is not None
        self.after = found.end()
        self.code.append(Code(self.number, self._take_lines(), 0))

    def _open_fence(self, opener: re.Match[str]) -> None:
        self._touch()
        marker, column = opener.group(), self.next + 1
        info = unescaped(self.line[opener.end() :].strip(" \t"))
        if self.containers or self.indent:
            self.leaf = Leaf(
                kind="fence",
                line=self.number,
                last=self.number,
                marker=marker[0],
                length=len(marker),
                indent=self.indent,
                column=column,
                info=info,
                start=self.start,
                lines=[],
            )
            return
        text, start = self.text, self.after
        closed, content_end, self.after = False, len(text) - 1, len(text)
        at = text.find(marker, start)
        while at >= 0:
            line = text.rfind("\n", start, at) + 1 or start
            close = FENCE_CLOSE.match(text, line) if at - line <= 3 else None
            if close and close.start(1) == at and close.end(1) - at >= len(marker):
                closed, content_end, self.after = True, line - 1, close.end()
                break
            at = text.find(marker, text.index("\n", at))
        content = self.text[start : max(content_end, start)]
        end = min(self.after, self.length)
        fence = Fence(
            info=info,
            line=self.number,
            column=column,
            end_line=self._take_lines(),
            closed=closed,
            depth=0,
            text=content,
            start=self.start,
            end=end,
        )
        self.fences.append(fence)
        self.ended = self.until is not None and fence.word == self.until

    def _take_lines(self) -> int:
        """Take all lines before ``after`` as read. Return the number of the last one."""
        self.lines = self.text.count("\n", self.start, self.after)
        return self.number + self.lines - 1

    # Opening and closing.

    def _touch(self) -> None:
        if self.containers:
            self.containers[-1].empty = False

    def _push(self, item: Open) -> None:
        self._touch()
        self.containers.append(item)

    def _drop(self, matched: int) -> None:
        """Close the open leaf and every container beyond the first ``matched``; the current line does not belong to them."""
        if self.leaf.kind:
            self._close_leaf()
        containers = self.containers
        while len(containers) > matched:
            gone = containers.pop()
            last = max(self.number - 1, gone.line)
            self.closed.append(Container(gone.indent == 0, gone.line, last, len(containers), gone.text))

    def _close_leaf(self, closed: bool = False) -> None:
        leaf, depth = self.leaf, len(self.containers)
        self.leaf = NO_LEAF
        if leaf.kind == "paragraph":
            if leaf.item is not None:
                lines = self.text[leaf.start : self.start - 1].split("\n")
                leaf.item.text = "\n".join(line.strip(" \t") for line in lines)
        elif leaf.kind == "fence":
            assert leaf.lines is not None
            content, offsets = "\n".join(leaf.lines), tuple(leaf.offsets)
            end = min(self.after if leaf.last == self.number else self.start, self.length)
            self.fences.append(
                Fence(
                    info=leaf.info,
                    line=leaf.line,
                    column=leaf.column,
                    end_line=leaf.last,
                    closed=closed,
                    depth=depth,
                    text=content,
                    start=leaf.start,
                    end=end,
                    offsets=offsets,
                )
            )
        elif leaf.kind == "code":
            self.code.append(Code(leaf.line, leaf.last, depth))
        elif leaf.kind == "html":
            self.html.append(Html(leaf.html, leaf.line, leaf.last, depth, closed or leaf.html >= 6))
