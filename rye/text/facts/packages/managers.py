"""Package managers that one row can describe, and Go and Deno, whose packages are addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from rye.text.facts.packages.arguments import clean, packages, verb
from rye.text.facts.packages.python import VALUES as PYTHON_VALUES
from rye.text.facts.tables import word_set

_NEVER: Final = re.compile(r"(?!)")


class ManagerCall(NamedTuple):
    """How one package manager is called."""

    tools: frozenset[str]
    verbs: frozenset[str]
    values: frozenset[str] = frozenset()
    """Options whose next word is a value."""
    exact: re.Pattern[str] = _NEVER
    """Occurs in a package that is pinned on its own."""
    settled: re.Pattern[str] = _NEVER
    """Occurs after the verb if an option pins everything."""


ROWS: Final = (
    ManagerCall(
        word_set("conda mamba micromamba"),
        word_set("install create"),
        PYTHON_VALUES,
        re.compile(r"^[\w.:-]+={1,2}\d[\w.]*(?:=\w+)?$"),
    ),
    ManagerCall(
        word_set("gem"),
        word_set("install"),
        word_set("-v --version --source"),
        re.compile(r":\d+\.\d+|\.gem$"),
        re.compile(r"(?:-v|--version)[ =]=?v?\d+\.\d+[\w.+-]*(?!\S)"),
    ),
    ManagerCall(word_set("brew"), word_set("install tap reinstall"), word_set("--version -v --source -e --id")),
    ManagerCall(
        word_set("choco scoop winget"),
        word_set("install tap reinstall"),
        word_set("--version -v --source -e --id"),
        settled=re.compile(r"(?:^| )(?:--version|-v)"),
    ),
    ManagerCall(word_set("composer"), word_set("require"), exact=re.compile(r":\d+\.\d+\.\d+$")),
    ManagerCall(
        word_set("cargo"),
        word_set("install binstall add"),
        word_set("--version --git --rev --branch --tag --features -F --root --target --vers -p --package"),
        re.compile(r"@=?\d+\.\d+\.\d+"),
        re.compile(r"(?:^| )--path(?!\S)|--version[= ]=?\d+\.\d+\.\d+|--rev[= ][0-9a-f]{40}\b"),
    ),
)
_ROW_OF: Final = {tool: row for row in ROWS for tool in row.tools}
TOOLS: Final = frozenset(_ROW_OF) | {"go", "deno"}

_GO_EXACT = re.compile(r"\S+@v\d+\.\d+\.\d+\S*|\S+@[0-9a-f]{12,40}")
_COMMIT = re.compile(r"/[0-9a-f]{40}/")
_DENO_EXACT = re.compile(r"@\d+\.\d+\.\d+")


def unpinned(tool: str, words: list[str], _: Mapping[str, str]) -> Iterator[str]:
    """Yield what a command line of ``tool`` fetches without an exact version."""
    said, rest = verb(words)
    if tool == "go":
        return _go(said, rest) if said in ("run", "install", "get") else iter(())
    if tool == "deno":
        return _deno(said, rest) if said in ("run", "install", "x") else iter(())
    row = _ROW_OF[tool]
    return _by_row(row, f"{tool} {said}", rest) if said in row.verbs else iter(())


def _by_row(row: ManagerCall, command: str, rest: list[str]) -> Iterator[str]:
    if row.settled.search(" ".join(rest)):
        return
    repository = next((after for word, after in pairwise(rest) if word == "--git"), "")
    if repository:
        yield f"{command} --git {clean(repository)}"
        return
    for package in packages(rest, row.values):
        if not row.exact.search(package):
            yield f"{command} {package}"


def _go(said: str, rest: list[str]) -> Iterator[str]:
    for word in rest:
        if word.startswith("-"):
            continue
        module = clean(word)
        if "@" in module:
            if not _GO_EXACT.fullmatch(module):
                yield f"go {said} {module}"
        elif said == "get" and "." in module.partition("/")[0] and "/" in module and not module.startswith("."):
            yield f"go {said} {module}"
        if said == "run":
            return


def _deno(said: str, rest: list[str]) -> Iterator[str]:
    word = next((word for word in rest if word.startswith(("npm:", "jsr:"))), "")
    address = next((clean(word) for word in rest if "://" in word), "")
    if address and not word and not (_DENO_EXACT.search(address) or _COMMIT.search(address)):
        yield f"deno {said} {address}"
    if word and not _DENO_EXACT.search(word[5:]):
        yield f"deno {said} {clean(word)}"
