"""Finds the span of text that a finding is about, from its position and message."""

from __future__ import annotations

import re

from rye.lsp.positions import Text
from rye.text.diagnostics import Diagnostic

_ONE_CHARACTER = frozenset({"C03", "C04", "C05", "C06", "C07", "C11"})
_TAG = re.compile(r"</?[^\s<>/=\"'!?]+(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*>?")
_NAME = re.compile(r"</?[^\s<>/=\"'!?]+")
_QUOTED = re.compile(r"`([^`]+)`|'([^']+)'")
_WORD = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|[A-Za-z0-9_@~^][\w./:@*?^~-]*|[^\s\w]|\S+")
_MOST = 4096
"""How many characters are searched for a span."""

Span = tuple[int, int]


def span_of(text: Text, finding: Diagnostic) -> Span:
    """Return start and end (exclusive) of what a finding is about; the first line if it is about the whole file."""
    if finding.line is None:
        return 0, text.line_end(0)
    start = text.own_offset(finding.line, finding.column or 1)
    end = text.line_end(start)
    if finding.column is None:
        content = text.text[start:end]
        return start + len(content) - len(content.lstrip()), start + len(content.rstrip()) or end
    if finding.code in _ONE_CHARACTER:
        return start, min(start + 1, len(text.text))
    if text.text.startswith("<", start):
        return _in_tag(text.text, start, finding.message)
    word = _WORD.match(text.text, start, min(end, start + _MOST))
    return (start, word.end()) if word is not None else (start, max(end, start))


def _in_tag(text: str, start: int, message: str) -> Span:
    """Return the span of the attribute or value that the message quotes, otherwise of the tag or its name."""
    name = _NAME.match(text, start, start + _MOST)
    if name is None:
        return start, start + 1
    tag = _TAG.match(text, start, start + _MOST)
    written = tag[0] if tag is not None else name[0]
    offset = len(name[0])
    quoted = [first or second for first, second in _QUOTED.findall(message)]
    for word in reversed(quoted):
        if word.startswith("<"):
            continue
        attribute = re.compile(rf"(?<![\w-]){re.escape(word)}\s*=\s*(?:\"[^\"]*\"|'[^']*')").search(written, offset)
        value = re.compile(rf"[\"']{re.escape(word)}[\"']").search(written, offset)
        found = attribute or value
        if found is not None:
            return start + found.start(), start + found.end()
    if tag is not None and any(f"<{name[0][1:]}>" in word for word in quoted if word.startswith("<")):
        return start, name.end()
    return (start, tag.end()) if tag is not None and "\n" not in written else (start, name.end())
