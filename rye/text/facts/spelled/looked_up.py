"""What a text asks another file of the item for: ``${config:a.b}``, ``$(git config a.b)``, ``$npm_package_config_a``.

Settings of an editor, of git and of a package hold words, and a task, an alias or a script takes them from there. Each such
question becomes the value that the file has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from rye.text.facts.spelled.words import MOST_VALUES

_PAIR = re.compile(r"\"([\w.-]{1,80})\"\s{0,4}:\s{0,4}\"((?:[^\"\\\n]|\\.){1,200})\"")
_SECTION = re.compile(
    r"^[ \t]*\[([\w.-]{1,60})(?:[ \t]+\"([^\"\n]{1,60})\")?\][ \t]*$|^[ \t]*([\w-]{1,60})[ \t]*=[ \t]*([^\n]{1,200})$",
    re.MULTILINE,
)
#: How a text asks: what stands for the value, the files that have it, and the name of the key.
_EDITOR = re.compile(r"\$\{config:([\w.-]{1,80})\}")
_PACKAGE = re.compile(
    r"\$\{?npm_package_(?:config_)?([A-Za-z]\w{0,60})\}?|%npm_package_(?:config_)?([A-Za-z]\w{0,60})%"
)
_GIT = re.compile(
    r"\$\([ \t]*git[ \t]+config[ \t]+(?:--?[\w-]{1,20}[ \t]+|-f[ \t]+\S{1,80}[ \t]+){0,3}([\w.-]{1,80})[ \t]*\)"
)
_QUERY = re.compile(
    r"\$\([ \t]*(?:jq|yq)[ \t]+(?:-\w{1,12}[ \t]+){0,3}[\"']?\.([\w.-]{1,80})[\"']?[ \t]+[\"']?([\w./-]{1,80})[\"']?[ \t]*\)"
)
_ASKS: Final = {
    b"config": ("${config:", "git config "),
    b"jq": ("$(jq ",),
    b"yq": ("$(yq ",),
}
"""What a text has that asks, by a word of it."""


def asks(text: str, words: frozenset[bytes]) -> bool:
    """Whether a text, whose words these are, asks for something."""
    return "npm_package_" in text or any(mark in text for word in _ASKS.keys() & words for mark in _ASKS[word])


def with_looked_up(text: str, files: Mapping[str, str]) -> str:
    """The text with what it asks the item's files for in the place of the questions. No line is added or removed."""
    if "${config:" in text:
        settings = dict(_pairs(files, "settings.json"))
        text = _EDITOR.sub(lambda match: settings.get(match[1], match[0]), text, count=MOST_VALUES)
    if "npm_package_" in text:
        package = dict(_pairs(files, "package.json"))
        text = _PACKAGE.sub(lambda match: package.get(match[1] or match[2], match[0]), text, count=MOST_VALUES)
    if "git config " in text:
        sections = _sections(files)
        text = _GIT.sub(lambda match: sections.get(match[1].lower(), match[0]), text, count=MOST_VALUES)
    if "$(jq " in text or "$(yq " in text:
        text = _QUERY.sub(lambda match: _answer(files, match[2], match[1]) or match[0], text, count=MOST_VALUES)
    return text


def _pairs(files: Mapping[str, str], name: str) -> Iterator[tuple[str, str]]:
    for path, text in files.items():
        if path.rpartition("/")[2] == name:
            yield from ((match[1], match[2]) for match in islice(_PAIR.finditer(text), MOST_VALUES))


def _sections(files: Mapping[str, str]) -> dict[str, str]:
    """The values of files in git's format, by section and key in lower case."""
    values: dict[str, str] = {}
    for path, text in files.items():
        if not path.lower().endswith(("config", ".ini", ".cfg", ".conf", ".gitmodules", ".inc")):
            continue
        section = ""
        for match in islice(_SECTION.finditer(text), MOST_VALUES):
            if match[1]:
                section = f"{match[1]}.{match[2]}" if match[2] else match[1]
            else:
                values.setdefault(f"{section}.{match[3]}".lower(), match[4].strip().strip('"'))
    return values


def _answer(files: Mapping[str, str], path: str, key: str) -> str:
    """What a file of the item has for a key of JSON or YAML; empty if it has no such file or key."""
    name = path.removeprefix("./")
    text = next((text for known, text in files.items() if known == name or known.endswith(f"/{name}")), "")
    last = re.escape(key.rpartition(".")[2])
    found = re.search(
        rf"^[ \t]*[\"']?{last}[\"']?[ \t]*:[ \t]*[\"']?([^\"'\n#]{{1,200}}?)[\"']?[ \t]*,?[ \t]*$", text, re.MULTILINE
    )
    if found is None:
        found = re.search(rf"\"{last}\"\s{{0,4}}:\s{{0,4}}\"([^\"\n]{{1,200}})\"", text)
    return found[1] if found is not None else ""
