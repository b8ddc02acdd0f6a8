"""npm and similar tools: ``npx``, ``npm install``, ``pnpm dlx``, ``yarn add``, ``bun create`` …"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from rye.text.facts.packages.arguments import COMMIT, HASH, clean, is_local, is_name, is_prose, packages, verb
from rye.text.facts.tables import word_set

_RUNNERS: Final = word_set("npx bunx pnpx")
_MANAGERS: Final = word_set("npm pnpm yarn bun")
TOOLS: Final = _RUNNERS | _MANAGERS

_EXACT = re.compile(r"(?:npm:)?(?:@[\w.-]+/)?[\w.-]+@v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?")
_LOCKS: Final = word_set("package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lockb bun.lock deno.lock")
_VALUES: Final = word_set(
    "--prefix --registry --workspace -w --filter -C --cwd --cache --userconfig --loglevel --tag --omit --include"
)
_NAMES: Final = word_set("-p --package")
_CALLS: Final = word_set("-c --call")
_NOTHING_FETCHED: Final = word_set("--no-install --no --offline")
_LOCKED: Final = word_set("--frozen-lockfile --immutable --offline")
_INSTALLS: Final = word_set("install i add in isntall")
_RUNS: Final = {
    "npm": word_set("exec x dlx"),
    "pnpm": word_set("x dlx"),
    "yarn": word_set("x dlx"),
    "bun": word_set("exec x dlx"),
}


def unpinned(tool: str, words: list[str], files: Mapping[str, str]) -> Iterator[str]:
    """Yield what a command line of ``tool`` fetches without an exact version, a commit or a lock file."""
    if tool in _RUNNERS:
        yield from _run(tool, words)
        return
    said, rest = verb(words)
    if said in _RUNS[tool]:
        yield from _run(f"{tool} {said}", [word for word in rest if word != "--"])
    elif tool == "yarn" and said == "plugin" and rest[:1] == ["import"] and "://" in rest[-1]:
        yield f"yarn plugin import {clean(rest[-1])}"
    elif said in ("create", "init") and rest:
        yield from _created(tool, said, rest)
    elif _LOCKED.isdisjoint(words) and (said in _INSTALLS or said == "global" or (tool == "yarn" and not words)):
        yield from _installed(tool, said, rest, files)


def is_pinned(package: str) -> bool:
    """Whether a package is fixed to exact bytes: a complete version, a full commit, a digest."""
    return bool(_EXACT.fullmatch(package) or COMMIT.search(package) or HASH.search(package))


def _is_open(package: str) -> bool:
    return is_name(package) and not is_local(package) and not is_pinned(package)


def _run(tool: str, words: list[str]) -> Iterator[str]:
    """``npx`` and similar: the packages that ``-p`` names, or the first word."""
    if not _NOTHING_FETCHED.isdisjoint(words):
        return
    named: list[str] = []
    before = ""
    for word in words:
        option, before = before, ""
        if option in _NAMES:
            named.append(word)
        elif option:
            continue
        elif word in _NAMES or word in _CALLS or word in _VALUES:
            before = word
        elif word.startswith("--package="):
            named.append(word.partition("=")[2])
        elif not word.startswith("-"):
            named = named or [word]
            break
    if named and named[0].endswith(":"):  # the next key of a configuration
        return
    for package in map(clean, named):
        if _is_open(package):
            yield f"{tool} {package}"


def _created(tool: str, said: str, rest: list[str]) -> Iterator[str]:
    package = next((clean(word) for word in rest if not word.startswith("-")), "")
    if (said == "create" or tool == "npm") and is_name(package) and not is_pinned(package):
        yield f"{tool} {said} {package}"


def _installed(tool: str, said: str, rest: list[str], files: Mapping[str, str]) -> Iterator[str]:
    if said == "global":
        rest = rest[1:]
    found = list(packages(rest, _VALUES))
    for package in found:
        if not is_pinned(package):
            yield f"{tool} install {package}"
    names_none = all(word.startswith("-") for word in rest) or (is_prose(rest[0]) and not found)
    if names_none and said != "add" and tool != "yarn" and not any(path.rpartition("/")[2] in _LOCKS for path in files):
        yield f"{tool} install"
