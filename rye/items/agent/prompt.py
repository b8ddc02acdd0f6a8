"""Where an agent's system prompt begins and ends (DECISIONS Agents 6, 12 and 13)."""

from __future__ import annotations

import re

from rye.text.diagnostics import Diagnostic
from rye.text.markdown_outline import Heading, Outline, outline

_BREAK = re.compile(r" {0,3}-{3,}[ \t]*")


def extract_prompt(body: str, first_line: int = 1) -> tuple[str | None, tuple[Diagnostic, ...]]:
    """Return the prompt in an agent's body, and findings A06. ``first_line``: the file's line where the body starts.

    The prompt is the text after the only H2 "System Prompt", up to the next H1 or H2, a line of dashes after a blank line, or
    the end. Without that heading it is everything before the first H2, except the H1, with a warning.
    """
    scan = outline(body)
    if scan.too_deep is not None:
        message = "Lists or quotes are nested too deep to tell where the prompt ends."
        return None, (Diagnostic("error", "A06", message, scan.too_deep + first_line),)
    starts = [h for h in scan.headings if h.level == 2 and h.text.casefold() == "system prompt"]
    if len(starts) > 1:
        message = f"A second 'System Prompt' section; the first is on line {starts[0].line + first_line}."
        return None, tuple(Diagnostic("error", "A06", message, h.line + first_line) for h in starts[1:])
    if starts:
        prompt = _section(scan, starts[0])
        if prompt:
            return prompt, ()
        return None, (Diagnostic("error", "A06", "The 'System Prompt' section is empty.", starts[0].line + first_line),)
    prompt = _before_first_section(scan)
    hint = "Put the prompt under the heading `## System Prompt`."
    if not prompt:
        return None, (Diagnostic("error", "A06", "There is no system prompt.", first_line, hint=hint),)
    message = "There is no 'System Prompt' section; the text before the first H2 is used as the prompt."
    return prompt, (Diagnostic("warning", "A06", message, first_line, hint=hint),)


def whole_prompt(body: str, first_line: int = 1) -> tuple[str | None, tuple[Diagnostic, ...]]:
    """Return the whole body as the prompt (DECISIONS Agents 13), and findings A06."""
    prompt = body.strip()
    if prompt:
        return prompt, ()
    return None, (Diagnostic("error", "A06", "There is no system prompt.", first_line),)


def _section(scan: Outline, start: Heading) -> str:
    ends = [h.line for h in scan.headings if h.level <= 2 and h.line > start.line]
    ends += [
        line
        for line in scan.breaks
        if line > start.line and _BREAK.fullmatch(scan.lines[line]) and not scan.lines[line - 1].strip()
    ]
    return scan.text(start.line + 1, min(ends, default=len(scan.lines))).strip()


def _before_first_section(scan: Outline) -> str:
    end = next((h.line for h in scan.headings if h.level == 2), len(scan.lines))
    title = next((h.line for h in scan.headings if h.level == 1 and h.line < end), None)
    return "\n".join(line for number, line in enumerate(scan.lines[:end]) if number != title).strip()
