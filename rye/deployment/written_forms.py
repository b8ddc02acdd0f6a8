"""The texts that adapters write: frontmatter, TOML, and the comment that says where a generated file comes from. Pure.

Authors' texts are written as JSON strings, which are also valid in YAML and TOML, so that no text can break out of its value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from rye.text.toml_writing import quoted

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?:, [A-Za-z][A-Za-z0-9_-]*)*")
_NOT_PLAIN = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
_MARKER = "---"
_DASHES = re.compile(r"-(?=--)")
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+")
_ENDS = ".,:;!?…"
MARK = "rye:deployed"
"""Starts the comment in every generated file."""

Yaml = str | int | bool | Sequence["Yaml"] | Mapping[str, "Yaml"]


def yaml_text(value: str) -> str:
    """Return a YAML scalar without ``---``: plain words if they are unambiguous, otherwise a JSON string."""
    if _PLAIN.fullmatch(value) and value.lower() not in _NOT_PLAIN and _MARKER not in value:
        return value
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f").replace(_MARKER, "--\\u002d")


def frontmatter(mark: str, fields: Mapping[str, Yaml | None], body: str) -> bytes:
    """Return a Markdown file: the mark as a YAML comment on line 2, the fields that are not None, a blank line, the body.

    Some readers end the frontmatter at the first ``---`` anywhere, also inside a value, and would lose the restrictions that
    follow. So nothing in it contains ``---``.
    """
    lines = [_MARKER, f"# {_DASHES.sub('- ', mark)}"]
    for key, value in fields.items():
        if value is not None:
            lines += _entry(key, value, "")
    return "\n".join([*lines, _MARKER, "", body.strip("\n"), ""]).encode()


def _entry(key: str, value: Yaml, indent: str) -> Iterable[str]:
    name = f"{indent}{yaml_text(key)}:"
    if isinstance(value, Mapping):
        yield name if value else f"{name} {{}}"
        for inner, part in value.items():
            yield from _entry(inner, part, f"{indent}  ")
    elif isinstance(value, str | bool | int):
        yield f"{name} {_scalar(value)}"
    else:
        yield name if value else f"{name} []"
        for part in value:
            if isinstance(part, Mapping):
                inner_lines = [line for key, each in part.items() for line in _entry(key, each, f"{indent}    ")]
                yield f"{indent}  - {inner_lines[0].lstrip()}"
                yield from inner_lines[1:]
            elif isinstance(part, str | bool | int):
                yield f"{indent}  - {_scalar(part)}"


def _scalar(value: str | bool | int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else yaml_text(value)


def toml(mark: str, fields: Mapping[str, str | None]) -> bytes:
    """Return a TOML file: the mark as a comment, then the fields that are not None. A text of several lines is written as such,
    so that its changes can be reviewed."""
    lines = [f"# {mark}", *(f"{key} = {_toml_text(value)}" for key, value in fields.items() if value is not None)]
    return ("\n".join(lines) + "\n").encode()


def _toml_text(value: str) -> str:
    """Return a TOML string; one of several lines has each quotation mark and backslash escaped, so that nothing ends it."""
    if "\n" not in value:
        return quoted(value)
    lines = (quoted(line)[1:-1] for line in value.split("\n"))
    return "\n".join(['"""', *lines]) + '"""'


def one_line(text: str, most: int) -> str:
    """Return the text on one line, cut to ``most`` characters."""
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"


def sentences(text: str) -> str:
    """Return a list in Markdown as sentences on one line: ``Use it when:``, ``- a``, ``- b`` is ``Use it when: a; b``. Programs
    show and read the description of an agent without its lines."""
    said = ""
    for line in text.split("\n"):
        bullet = _BULLET.match(line)
        words = " ".join(line[bullet.end() if bullet else 0 :].split())
        if not words:
            continue
        listed = bullet is not None and said and said[-1] not in _ENDS
        said = f"{said}{';' if listed else ''} {words}" if said else words
    return said
