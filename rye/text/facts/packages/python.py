"""pip and similar tools: ``pip install``, ``uvx``, ``pipx run``, ``uv tool``, ``poetry add`` …"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from rye.text.facts.packages.arguments import COMMIT, HASH, clean, is_local, is_name, packages, verb
from rye.text.facts.tables import word_set

_INTERPRETERS: Final = word_set("python python3 py")
_INSTALLERS: Final = {
    "pip": word_set("install wheel download"),
    "pip2": word_set("install wheel download"),
    "pip3": word_set("install wheel download"),
    "poetry": word_set("add"),
    "pdm": word_set("add"),
}
TOOLS: Final = _INTERPRETERS | frozenset(_INSTALLERS) | word_set("uvx uv pipx easy_install")

VALUES: Final = word_set(
    "-r --requirement -c --constraint -i --index-url --extra-index-url -f --find-links -t --target --prefix "
    "--root --python --python-version --platform --abi --implementation --only-binary --no-binary "
    "--progress-bar --timeout --retries --proxy --cert --trusted-host --cache-dir --log --config-settings "
    "--index --group --package --src -p -n --name --channel -e --editable --upgrade-package"
)
"""Options of pip, uv, pipx and conda whose next word is a value."""
_EXACT = re.compile(r"[\w.-]+(?:\[[\w,.-]*\])?(?:===?|@)v?\d[\w.+!-]*(?:\s*;.*)?")
_SOURCES: Final = word_set("--from --spec")
_EXTRAS: Final = word_set("--with -w")
_FIXED: Final = word_set("--require-hashes --no-index")
_NO_PACKAGE: Final = ("#", "--hash", "-i ", "--index-url", "--require-hashes")


def unpinned(tool: str, words: list[str], files: Mapping[str, str]) -> Iterator[str]:
    """Yield what a command line of ``tool`` fetches without an exact version, a commit or hashes."""
    if tool in _INTERPRETERS:
        tool, words = _module(words)
    said, rest = verb(words)
    if tool == "uvx":
        yield from _run("uvx", words)
    elif tool == "pipx" and said in ("run", "install", "inject"):
        yield from _run(f"pipx {said}", rest, every=said == "inject")
    elif tool == "uv":
        yield from _uv(said, rest, files)
    elif tool == "easy_install":
        yield from _install("easy_install", words, files)
    elif said in _INSTALLERS.get(tool, ()):
        yield from _install(f"{'pip' if tool.startswith('pip') else tool} {said}", rest, files)


def is_pinned(package: str) -> bool:
    """Whether a requirement is fixed to exact bytes: a single version, a full commit, a digest."""
    if "://" in package:
        return bool(COMMIT.search(package) or HASH.search(package))
    return bool(_EXACT.fullmatch(package)) and not package.endswith("*") and "<" not in package and ">" not in package


def _module(words: list[str]) -> tuple[str, list[str]]:
    """The tool that ``python -m`` starts, with its words."""
    if "-m" not in words[:4]:
        return "", []
    at = words.index("-m") + 1
    return (words[at], words[at + 1 :]) if words[at : at + 1] and words[at] in ("pip", "uv", "pipx") else ("", [])


def _is_open(package: str) -> bool:
    return is_name(package) and not is_local(package) and not is_pinned(package)


def _run(tool: str, words: list[str], *, every: bool = False) -> Iterator[str]:
    """``uvx``, ``pipx run``: the packages that ``--from``, ``--spec`` and ``--with`` name, or the first word."""
    for package in dict.fromkeys(clean(word) for part in _named(words, every) for word in part.split(",")):
        if _is_open(package):
            yield f"{tool} {package}"


def _named(words: list[str], every: bool) -> list[str]:
    named: list[str] = []
    first = before = ""
    for word in words:
        option, equals, value = word.partition("=")
        if before:
            option, equals, value, before = before, "=", word, ""
        elif option in _SOURCES | _EXTRAS | VALUES and not equals:
            before = option
            continue
        if option in _SOURCES:
            named.append(value)
            first = value
        elif option in _EXTRAS:
            named.append(value)
        elif not equals or not option.startswith("-"):
            if word.startswith("-"):
                continue
            if word.endswith(":"):  # the next key of a configuration
                break
            if not first or every:
                named.append(word)
            first = first or word
            if not every:
                break
    return named


def _uv(said: str, rest: list[str], files: Mapping[str, str]) -> Iterator[str]:
    first = rest[0] if rest else ""
    if said == "tool" and first in ("run", "install"):
        yield from _run(f"uv tool {first}", rest[1:])
    elif said == "pip" and first == "install":
        yield from _install("uv pip install", rest[1:], files)
    elif said == "add":
        yield from _install("uv add", rest, files)
    elif said == "run":
        for word, after in pairwise(rest):
            for package in after.split(",") if word == "--with" else ():
                if package and not is_local(package) and not is_pinned(clean(package)):
                    yield f"uv run --with {clean(package)}"


def _install(tool: str, rest: list[str], files: Mapping[str, str]) -> Iterator[str]:
    if not _FIXED.isdisjoint(rest):
        return
    for word, after in pairwise(rest):
        if word in ("-r", "--requirement"):
            path = clean(after)
            if not _is_pinned_file(path, files):
                yield f"{tool} -r {path}"
        elif word in ("-e", "--editable") and "://" in after and not COMMIT.search(after):
            yield f"{tool} -e {clean(after)}"
    for package in packages(rest, VALUES):
        if not is_pinned(package):
            yield f"{tool} {package}"


def _is_pinned_file(path: str, files: Mapping[str, str]) -> bool:
    """Whether the item contains this requirements file and every line in it has an exact version or a hash."""
    name = path.removeprefix("./")
    text = next((text for known, text in files.items() if known == name or known.endswith("/" + name)), None)
    if text is None:
        return False
    lines = (line.partition(" #")[0].strip().rstrip("\\").strip() for line in text.split("\n"))
    return all(
        not line or line.startswith(_NO_PACKAGE) or is_pinned(line.split(";")[0].split(" --hash")[0].strip())
        for line in lines
    )
