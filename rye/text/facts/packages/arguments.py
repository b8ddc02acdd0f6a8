"""The words of a package manager's command line: which are packages, which are options, and which are prose after it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts.tables import word_set

COMMIT: Final = re.compile(r"[@#][0-9a-f]{40}(?![0-9A-Za-z])")
"""A full commit after a repository's address."""
HASH: Final = re.compile(r"#sha256=[0-9a-f]{64}|#sha(?:256|384|512)-")
"""An archive's digest after its address."""
_PACKAGE = re.compile(r"(?:[a-z+]{2,10}:)?@?[A-Za-z0-9_$][\w./:@+=~^<>,!\[\]#*?%${}-]*")
#: Arguments of the call that prints a command, after its quotes are removed.
_CALL_WORDS: Final = ("file=sys", "flush=", "end=", "sep=")
_PROSE: Final = word_set(
    "the a an and or to it is as for in with your this that these from if when then them any all again first on "
    "of you will can via using instead here packages package dependencies them: globally locally first: not "
    "either does must should be by are command commands install installs anything something tool tools"
)


def verb(words: list[str]) -> tuple[str, list[str]]:
    """The first word that is not an option, and the words after it; ``("", [])`` if there is none."""
    for index, word in enumerate(words):
        if not word.startswith("-"):
            return word, words[index + 1 :]
    return "", []


def clean(word: str) -> str:
    """The word without the punctuation of a surrounding sentence or list."""
    if word.endswith("..."):
        return ""
    bare = word.strip("()\"'`,").lstrip("[").rstrip(".,;:!?")
    return bare if "[" in bare else bare.rstrip("],\"'")


def is_name(package: str) -> bool:
    """Whether a cleaned word could be a package rather than prose."""
    return (
        any(map(str.isalnum, package))
        and package.lower() not in _PROSE
        and not package.startswith(_CALL_WORDS)
        and _PACKAGE.fullmatch(package) is not None
    )


def is_prose(word: str) -> bool:
    """Whether a word belongs to a sentence around a command."""
    return clean(word).lower() in _PROSE


def is_local(package: str) -> bool:
    """Whether a package is in the project: a path, a file, a member of the workspace."""
    return (
        package in (".", "..")
        or package.startswith((".", "/", "~", "file:", "link:", "workspace:"))
        or (package.endswith((".whl", ".tgz", ".tar.gz")) and "://" not in package)
    )


def packages(words: list[str], with_values: frozenset[str]) -> Iterator[str]:
    """Yield the words that are packages: no options or their values, nothing local. Prose after a command ends the list."""
    skip = False
    for word in words:
        if skip:
            skip = False
            continue
        if word.startswith("-"):
            skip = word in with_values
            continue
        package = clean(word)
        if not is_name(package):
            return
        if is_local(package):
            continue
        yield package
        if word != package and word.endswith((".", ";", ":")):
            return
