"""Convert repository addresses, refs and commits of other tools to the form of rye.toml. Pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from rye.importing.foreign import Cannot, shown
from rye.project.declared_sources import HEAD, BadSource, git_address, git_rev, is_commit, is_on_disk
from rye.text.addresses import is_loopback, without_credentials

GITHUB = "github.com"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SCP = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.+-]*)@([A-Za-z0-9][A-Za-z0-9.-]*):(?!/)(\S+)")
_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def address(word: str) -> str:
    """The address of a repository, given as a URL or in git's form ``user@host:path``. Raises Cannot if it is invalid."""
    scp = _SCP.fullmatch(word)
    url = f"ssh://{scp[1]}@{scp[2]}/{scp[3]}" if scp is not None else word
    try:
        if is_on_disk(url):
            raise BadSource("a folder of another machine")
        return git_address(url.rstrip("/"))
    except BadSource as error:
        raise Cannot(f"its address {shown(without_credentials(word))!r}: {error}") from None


def hosted(host: str, path: str) -> str:
    """The https address of ``owner/repository`` on a host. Raises Cannot if it is invalid."""
    parts = path.removesuffix(".git").split("/")
    if len(parts) < 2 or not all(map(_NAME.fullmatch, parts)):
        raise Cannot(f"{shown(path)!r} is not an OWNER/REPOSITORY")
    scheme = "http" if is_loopback(urlsplit(f"//{host}").hostname or "") else "https"
    return address(f"{scheme}://{host}/{'/'.join(parts)}.git")


def ref(word: str | None) -> str | None:
    """A branch, tag or commit; None for the default branch, also called ``HEAD``. Raises Cannot if it is invalid."""
    if word in (None, "", HEAD):
        return None
    try:
        return git_rev(word)
    except BadSource as error:
        raise Cannot(f"its ref {shown(word)!r}: {error}") from None


def commit(word: str | None) -> str | None:
    """A full commit id; None if there is none. Raises Cannot if it is abbreviated or invalid."""
    if word is None or word == "":
        return None
    if not is_commit(word):
        raise Cannot(f"{shown(word)!r} is not a whole commit")
    return word


def hex_digest(word: str, digits: int = 64) -> str:
    """A digest in lower-case hex. Raises Cannot if it is not exactly ``digits`` long."""
    if len(word) != digits or _HEX.fullmatch(word) is None:
        raise Cannot(f"its digest {shown(word)!r} is not {digits} lower-case hex digits")
    return word
