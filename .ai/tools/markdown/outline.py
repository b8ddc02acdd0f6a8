#!/usr/bin/env python3
# rye:signed:2026-11-22T19:00:27Z:40ba6d34cd11a2ef601a8747fc53bbb005be35ff833cacac19ba2094c8d766a5:mzB-0xO_fz02iTRdGN9z8yCjYczSDONjmRboIS_nIGc2-mCvIgh8PqJVV52tPe5Ivke0-oE64Hcd2EdUXQWWDQ==:a5f1c70a2acaa289
"""The headings of a Markdown file with their lines: what an override can aim at."""

from __future__ import annotations

import re
import sys
from pathlib import Path

__version__ = "1.1.0"
__category__ = "markdown"
__tool_description__ = "Give the headings of a Markdown file with line numbers, code blocks left out"

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")


def outline(text: str) -> list[str]:
    """Lines `number: ## Heading` of the headings outside code blocks, in order."""
    found: list[str] = []
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        mark = FENCE.fullmatch(line)
        if fence:
            if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not mark[2].strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        elif heading := HEADING.fullmatch(line):
            found.append(f"{number}: {heading[1]} {heading[2]}")
    return found


def execute(params: dict[str, str]) -> dict[str, list[str]]:
    """The headings of ``params["text"]``, or of the file at ``params["path"]``, which is absolute."""
    text = params.get("text")
    if text is None:
        path = Path(params["path"])
        if not path.is_absolute():
            raise ValueError(f"{path} is no absolute path; a tool starts in an empty folder of its own")
        text = path.read_text(encoding="utf-8")
    return {"headings": outline(text)}


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: outline.py FILE.md")
    print("\n".join(outline(Path(sys.argv[1]).read_text(encoding="utf-8"))))
