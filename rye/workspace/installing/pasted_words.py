"""Addresses as people copy them: from a browser, a clone button, or a line for `npx skills`. Pure.

What is pasted becomes the source that it means. A browser's address names a ref and a path without saying where one ends, so
:attr:`Pasted.tail` is divided when the server's refs are known; ``owner/repo/x`` names an item, or else a folder.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import UsageError
from rye.importing import git_words
from rye.importing.foreign import Cannot
from rye.project.declared_sources import BadSource, GitSource, git_address, git_rev, inner_path
from rye.text.addresses import without_credentials
from rye.workspace.installing.source_words import FORGE, SHORT, is_address, is_runner

_FORGES = ("github.com", "gitlab.com", "codeberg.org", "bitbucket.org", "gitea.com")
_BY_NAME = {host.partition(".")[0]: host for host in _FORGES}
_BROWSED = re.compile(r"(?P<path>.+?)/(?:-/)?(?:tree|blob|src/(?:branch|tag|commit)|src)/(?P<tail>.+)")
_SCP = re.compile(r"(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9.-]+:(?![0-9/])\S+|[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:\S+")
_LISTS = ("-l", "--list")
_LEFT_OUT = frozenset(("-y", "--yes", "-g", "--global", "--copy"))
_HINT = "Write OWNER/REPOSITORY, https://HOST/OWNER/REPOSITORY, or git+https://HOST/PATH.git#REV:FOLDER."


class Pasted(Struct, frozen=True, kw_only=True):
    """What an address means."""

    source: GitSource
    items: tuple[str, ...] = ()
    """Names of items of the source."""
    everything: bool = False
    tail: str = ""
    """A ref and a path in one, such as ``main/skills/pdf``."""
    inner: str = ""
    """The name of an item, or else a folder."""
    left_out: tuple[str, ...] = ()
    """Options that have no meaning here."""
    listing: bool = False
    """Whether the line only lists what there is."""


def read_pasted(words: Sequence[str]) -> Pasted:
    """Return what the words of a command mean: an address and names of items, or a line that begins with ``npx``.

    Raises UsageError ``bad-argument``.
    """
    if is_runner(words[0]):
        return _line([part for word in words for part in _split(word)])
    try:
        pasted = _address(words[0].strip())
    except (BadSource, Cannot, ValueError) as error:
        shown = without_credentials(words[0])
        raise UsageError("bad-argument", f"{shown!a} is not a source: {error}.", _HINT, what="source") from None
    return replace(pasted, items=(*pasted.items, *words[1:]))


def is_pasted(word: str) -> bool:
    """Whether a word is an address as people copy it, rather than a source as rye.toml writes it."""
    return is_runner(word) or is_address(word) or SHORT.fullmatch(word) is not None


def _split(word: str) -> list[str]:
    try:
        return shlex.split(word)
    except ValueError:
        raise UsageError(
            "bad-argument", f"{word!a} has a quotation mark without its other one.", _HINT, what="source"
        ) from None


def _line(words: Sequence[str]) -> Pasted:
    """Read ``npx skills add ADDRESS --skill NAME …``."""
    rest = [word for word in words[1:] if word not in ("dlx", "x", "--")]
    while rest and rest[0].startswith("-"):
        rest = rest[1:]
    if [word.partition("@")[0] for word in rest[:1]] != ["skills"] or rest[1:2] not in (
        ["add"],
        ["a"],
        ["install"],
        ["i"],
    ):
        message = f"{' '.join(words)[:200]!a} is not a line for `npx skills add`."
        raise UsageError("bad-argument", message, _HINT, what="source")
    addresses: list[str] = []
    items: list[str] = []
    left_out: list[str] = []
    everything, listing, takes = False, False, ""
    for word in rest[2:]:
        if word.startswith("-"):
            name, equals, value = word.partition("=")
            takes = ""
            if name in ("-s", "--skill"):
                takes = "items"
                items += [value] if equals else []
            elif name in ("-a", "--agent"):
                takes = "left out"
                left_out.append(word)
            elif name == "--all":
                everything = True
            elif name in _LISTS:
                listing = True
            elif name in _LEFT_OUT:
                left_out.append(word)
            else:
                raise UsageError("bad-argument", f"{word!a} means nothing here.", _HINT, what="source")
        elif takes:
            (items if takes == "items" else left_out).append(word)
        else:
            addresses.append(word)
    if len(addresses) != 1:
        raise UsageError("bad-argument", f"The line names {len(addresses)} sources, not one.", _HINT, what="source")
    pasted = read_pasted(addresses)
    every = everything or "*" in items
    chosen = () if every else (*pasted.items, *items)
    return Pasted(
        source=pasted.source,
        items=chosen,
        everything=every,
        tail=pasted.tail,
        inner=pasted.inner,
        left_out=tuple(left_out),
        listing=listing,
    )


def _address(word: str) -> Pasted:
    """Raises BadSource, Cannot, ValueError."""
    named = FORGE.match(word)
    if named is not None:
        word = f"https://{_BY_NAME[named[1]]}/{word[named.end() :]}"
    short = SHORT.fullmatch(word)
    if short is not None:
        url = git_words.hosted(git_words.GITHUB, f"{short['owner']}/{short['repository']}")
        rev, _, path = (short["rev"] or "").partition(":")
        source = GitSource("", url, git_rev(rev) if rev else None, inner_path(path))
        return Pasted(
            source=source, items=(short["item"],) if short["item"] else (), inner=(short["inner"] or "").strip("/")
        )
    if _SCP.fullmatch(word) is not None and "://" not in word:
        return Pasted(source=_with_rev(git_words.address, word))
    url = word if "://" in word else f"https://{word}"
    parts = urlsplit(url.partition("#")[0].partition("?")[0])
    path = unquote(parts.path).strip("/")
    browsed = _BROWSED.fullmatch(path) if parts.scheme in ("http", "https") else None
    if parts.username is not None or parts.password is not None:
        git_address(url.partition("#")[0])  # says that an address has no password
    if browsed is not None and "/" in browsed["path"]:
        tail = browsed["tail"]
        place, _, file = tail.rpartition("/")
        if "/blob/" in f"/{path}" and "." in file:
            name = re.sub(r"(\.agent)?\.[a-z]+$", "", file)
            tail = place or tail
            items = () if file == "SKILL.md" else (name,)
            return Pasted(source=GitSource("", git_words.hosted(parts.netloc, browsed["path"])), items=items, tail=tail)
        return Pasted(source=GitSource("", git_words.hosted(parts.netloc, browsed["path"])), tail=tail)
    if parts.netloc in _FORGES and path.count("/") >= 1:
        forge = f"{parts.scheme}://{parts.netloc}/{path.removesuffix('.git')}.git"
        fragment = url.partition("#")[2]
        return Pasted(
            source=_with_rev(git_address, f"{forge}#{fragment}" if ":" in fragment or _is_rev(fragment) else forge)
        )
    return Pasted(source=_with_rev(git_address, url.rstrip("/")))


def _is_rev(fragment: str) -> bool:
    """Whether what follows ``#`` is a ref, and not a heading of the page."""
    return fragment not in ("", "readme", "readme-ov-file")


def _with_rev(reader: Callable[[str], str], word: str) -> GitSource:
    url, _, rest = word.partition("#")
    rev, _, path = rest.partition(":")
    return GitSource("", reader(url), git_rev(rev) if rev else None, inner_path(path))
