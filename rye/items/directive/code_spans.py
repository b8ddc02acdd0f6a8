"""Where code spans end, as CommonMark defines them: at the next run of as many backticks, in the same paragraph.

What ends a paragraph depends on the text: a blank line, and in a process also a section's tag. The time is linear in the length.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from rye.text.lazy import lazy_pattern

_SPAN_OR_RUN = lazy_pattern(r"`(?:[^`\n]++`(?!`)|(`*+))")
"""A code span in single backticks on one line, as nearly all are; otherwise a run of backticks, the first of which is not in
the group."""
_TICKS = lazy_pattern(r"`++")


class CodeSpans:
    """The code spans of one text, which the caller asks about from left to right."""

    def __init__(self, text: str, paragraph_end: re.Pattern[str]) -> None:
        """``paragraph_end``: what ends a paragraph. A match begins with the line end of the paragraph's last line."""
        self.text = text
        self.pattern = paragraph_end
        self.paragraph_end = -1
        self.runs: dict[int, list[int]] = {}
        """Offsets of the backtick runs of each length in the paragraph; filled only if a short look ahead finds no match."""

    def end(self, start: int) -> int:
        """The offset after the code span that the run of backticks at ``start`` opens, or after the run if it opens none."""
        text = self.text
        found = _SPAN_OR_RUN.match(text, start)
        assert found is not None
        after = found.end()
        if found[1] is None:
            return after
        if start >= self.paragraph_end:
            ended = self.pattern.search(text, start)
            self.paragraph_end = ended.start() + 1 if ended else len(text) + 1
            self.runs = {}
        if not self.runs:
            at = text.find(text[start:after], after, self.paragraph_end)
            if at < 0:
                return after
            if after - start == 1 and text[at + 1 : at + 2] != "`":
                return at + 1
            for run in _TICKS.finditer(text, after, min(self.paragraph_end, len(text))):
                self.runs.setdefault(len(run[0]), []).append(run.start())
        same = self.runs.get(after - start, [])
        index = bisect_left(same, after)
        return same[index] + after - start if index < len(same) else after
