"""Adds and removes one block, between two comments, in another author's Markdown file. All other bytes stay. Pure.

The block is at the end. If the file did not end in a line break, neither does the block, so removing it can tell that
the line break before it was ours. In a file with CR LF the block also uses CR LF. A lone CR is followed by two LF, because
one would turn it into a CR LF.
"""

from __future__ import annotations

from collections.abc import Sequence

from rye.deployment.json_keys import NotReadable

BEGIN = "<!-- rye:begin v1 -->"
END = "<!-- rye:end -->"
_HEADING = "## Knowledge"
_SAYS = "Installed by Rye. Read a file when its subject comes up."


def block(entries: Sequence[str]) -> str:
    """Return the block's text with LF, without a trailing line break."""
    return "\n".join([BEGIN, _HEADING, "", _SAYS, "", *entries, END])


def present(text: str) -> str | None:
    """Return the block in a text, with LF; None if there is none. Raises NotReadable if the comments do not form one block."""
    span = _span(text)
    return None if span is None else text[span[0] : span[1]].replace("\r\n", "\n")


def put(text: str, new: str) -> str:
    """Return the text with the block, replacing an existing one or at the end. Raises NotReadable."""
    span = _span(text)
    like = text if span is None else text[span[0] : span[1]]
    line_end = "\r\n" if "\r\n" in like else "\n"
    written = new.replace("\n", line_end)
    if span is not None:
        return text[: span[0]] + written + text[span[1] :]
    if text.endswith("\r"):
        return f"{text}\n\n{written}"
    if text.removeprefix("\ufeff") and not text.endswith("\n"):
        return f"{text}{line_end}{written}"
    return f"{text}{written}{line_end}"


def take_out(text: str) -> str:
    """Return the text without the block, as it was before :func:`put`. Raises NotReadable."""
    span = _span(text)
    if span is None:
        return text
    before, after = text[: span[0]], text[span[1] :]
    if after.startswith(("\n", "\r\n")):
        return before + after[1 if after[0] == "\n" else 2 :]
    if after:
        return before + after
    return before[:-2] if before.endswith(("\n\n", "\r\n")) else before.removesuffix("\n")


def _span(text: str) -> tuple[int, int] | None:
    begins, ends = _lines(text, BEGIN), _lines(text, END)
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or begins[0] > ends[0]:
        raise NotReadable(f"its comments {BEGIN} and {END} do not form one block")
    return begins[0], ends[0] + len(END)


def _lines(text: str, wanted: str) -> list[int]:
    """Return the offsets of lines that are exactly the wanted text."""
    found, position = [], text.find(wanted)
    while position >= 0:
        end = position + len(wanted)
        starts = position == 0 or text[position - 1] in "\n\ufeff"
        if starts and (end == len(text) or text.startswith(("\n", "\r\n"), end)):
            found.append(position)
        position = text.find(wanted, end)
    return found
