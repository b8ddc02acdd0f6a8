"""Files as a question shows them before somebody agrees to their bytes: whole, or where they replace others, what changes."""

from __future__ import annotations

from collections.abc import Sequence

from rye.cli.console import Console, counted, one_line
from rye.permissions.comparing import unified
from rye.workspace.installing.install_request import ProposedText


def show_texts(console: Console, texts: Sequence[ProposedText], compared: str, *, always: bool = False) -> None:
    """Print the files. ``compared``: what those that replace others are compared with. ``always``: even with ``--quiet``."""
    same = [text for text in texts if text.before == text.data]
    for text in texts:
        if text in same:
            continue
        lines = lines_of(text)
        with_what = f", compared with {compared}" if text.before is not None and lines is not None else ""
        console.say("", always=always)
        console.tell((f"{title_of(text)}{with_what}:", "strong"), always=always)
        show_lines(console, text, lines, always=always)
    if same:
        stays = "stays as it is" if len(same) == 1 else "stay as they are"
        console.say(f"{counted(len(same), 'file')} {stays}.", "dim", always=always)
    if not texts:
        console.say("There is none.", "dim", always=always)


def title_of(text: ProposedText) -> str:
    """The item and, of an attached file, its path."""
    return f"{one_line(text.item)}{f', {one_line(text.path)}' if text.path else ''}"


def lines_of(text: ProposedText) -> list[str] | None:
    """The lines of a file, or where it replaces one, what changes; None if either is not text. Single bytes that are not UTF-8
    make no file unreadable: a shell executes it all the same."""
    if b"\0" in text.data or b"\0" in (text.before or b""):
        return None
    whole = text.data.decode("utf-8", "replace")
    if text.before is not None:
        return list(unified(text.before.decode("utf-8", "replace"), whole, "", "")[2:])
    lines = whole.split("\n")
    return lines[:-1] if not lines[-1] else lines


def show_lines(console: Console, text: ProposedText, lines: Sequence[str] | None, *, always: bool = False) -> None:
    """Print lines of :func:`lines_of`."""
    if lines is None:
        console.say(f"  {len(text.data):,} bytes that are not text", "dim", always=always)
    elif text.before is None:
        for number, line in enumerate(lines, start=1):
            console.tell(f"{number:>5} | {one_line(line)}", hang=8, wide=True, always=always)
    else:
        for line in lines:
            style = {"+": "added", "-": "removed", "@": "hint"}.get(line[:1])
            console.tell((f"  {one_line(line)}", style), hang=4, wide=True, always=always)
