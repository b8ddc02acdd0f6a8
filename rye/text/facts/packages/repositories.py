"""Repositories: ``git clone``, ``git submodule add``, ``gh repo clone``. ``unpinned_fetch`` decides which checkout pins one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from rye.text.facts.packages import addresses
from rye.text.facts.packages.arguments import clean

TOOLS: Final = frozenset(["git", "gh"])
COMMIT: Final = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{40}(?:[0-9a-f]{24})?(?![0-9A-Za-z])")
"""A full commit: 40 or 64 hex digits."""
_ADDRESS = re.compile(r"[^\s]*://|[\w.-]+@[\w.-]+:|(?:gh|github|gl):|\$[^/]*$")
_WORDS_LOOKED_AT: Final = 8


def unpinned(tool: str, words: list[str], _: Mapping[str, str]) -> Iterator[str]:
    """Yield the address that a command line clones, unless it is a path in the project."""
    if tool == "gh":
        if words[:2] == ["repo", "clone"] and len(words) > 2:
            yield f"gh repo clone {clean(words[2])}"
        elif words[:1] == ["extension"]:
            yield from addresses.unpinned(tool, words, _)
        return
    for index, word in enumerate(words[:_WORDS_LOOKED_AT]):
        if word == "clone" or (word == "add" and index and words[index - 1] == "submodule"):
            address = _address(words[index + 1 :])
            if address:
                said = "clone" if word == "clone" or address.startswith("$") else "submodule add"
                yield f"git {said} {address}"
            return


def _address(arguments: list[str]) -> str:
    for argument in arguments:
        if argument.startswith("--revision=") and COMMIT.search(argument):
            return ""
        address = clean(argument)
        if not argument.startswith("-") and _ADDRESS.match(address):
            return address
    return ""
