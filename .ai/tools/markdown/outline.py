#!/usr/bin/env python3
# rye:signed:2026-11-22T08:19:22Z:8e8a46cf9fef57816f3b514d1c6a4e82510a719a69aa96c8bffe07fbdbe2ad91:FsVGLv6EN88DGs0OSQJENEPoaLgb6oD7bU-XzrhI0xVVg0L6ezRe7GAsWwhhCt5lybDArlvDhtzTkmn3-2lGAw==:7f544f921636257b
"""The headings of a Markdown file with their lines: what an override can aim at."""

from __future__ import annotations

import re
import sys
from pathlib import Path

__version__ = "1.0.0"
__category__ = "markdown"
__tool_description__ = "Print the headings of a Markdown file with line numbers, code blocks left out"

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


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: outline.py FILE.md")
    print("\n".join(outline(Path(sys.argv[1]).read_text(encoding="utf-8"))))
