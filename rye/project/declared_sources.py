"""``[sources]`` in rye.toml: git repositories and folders whose items this project uses under a name that it chooses.

::

    [sources]
    team   = { git = "https://git.example.org/team/prompts.git", rev = "v1.4.0", path = "items" }
    shared = { path = "../shared-items" }
    drafts = { path = "../drafts", editable = true }

Anyone with commit access can write this table, and its values are passed to a program (``git``) and used as paths. So
only a few forms of address are allowed: ``https`` without a user, ``ssh`` without a password, ``http`` to loopback addresses,
``file`` with an absolute path on this machine; plain ASCII; no part that a program could mistake for an option.
Everything here is pure. :func:`git_address` and its neighbours raise BadSource.
"""

from __future__ import annotations

from typing import TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from rye.errors import without_passwords
from rye.limits import SOURCES
from rye.text.addresses import is_loopback
from rye.text.lazy import lazy_pattern

GIT_PREFIX = "git+"
PATH_PREFIX = "path+"
EDITABLE_PREFIX = "editable+"
"""For a folder whose items are used in place. Approving a copy of a folder's items does not approve this."""
FOLDER_PREFIXES = (PATH_PREFIX, EDITABLE_PREFIX)
_PREFIXES = (GIT_PREFIX, *FOLDER_PREFIXES)
FILE = "file://"
HEAD = "HEAD"
"""The ref of a source without a rev: the repository's default branch."""

_ADDRESS = lazy_pattern(r"[!-~]+")
_HOST = lazy_pattern(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f:]+")
_USER = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PATH = lazy_pattern(r"/[A-Za-z0-9_.~+@%-][A-Za-z0-9_.~+@%/-]*")
_ESCAPED_CONTROL = lazy_pattern(r"%(?:[01][0-9A-Fa-f]|7[Ff]|2[EeFf]|5[Cc])")
_REV = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9_./+@=-]*")
_COMMIT = lazy_pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SEGMENT = lazy_pattern(r"[A-Za-z0-9_.][A-Za-z0-9_. +@-]*")


class BadSource(ValueError):
    """An invalid address, rev or path. The message is the end of a sentence."""


class GitSource(Struct, frozen=True):
    """A git repository, or a folder in it."""

    name: str
    url: str
    rev: str | None = None
    """A tag, a branch or a full commit hash; None: the default branch."""
    path: str = ""
    """The folder in the repository, with ``/``; empty: all of it."""

    @property
    def origin(self) -> str:
        """The repository without a commit, as the lock and messages show it."""
        return f"{GIT_PREFIX}{self.url}"

    @property
    def spec(self) -> str:
        """The whole source from rye.toml on one line, as recorded in the lock."""
        tail = f"{self.rev or ''}{f':{self.path}' if self.path else ''}"
        return f"{self.origin}#{tail}" if tail else self.origin


class PathSource(Struct, frozen=True):
    """A folder on this machine."""

    name: str
    path: str
    """Relative to the project, or absolute; with ``/``."""
    editable: bool = False
    """Whether its items are read from the folder each time instead of copied."""

    @property
    def origin(self) -> str:
        """The folder with its prefix, as rye.lock records it."""
        return f"{EDITABLE_PREFIX if self.editable else PATH_PREFIX}{self.path}"

    @property
    def spec(self) -> str:
        """The source as rye.toml and messages write it."""
        return self.origin


Source: TypeAlias = GitSource | PathSource


def is_source_origin(origin: str) -> bool:
    """Whether an origin is a source. No registry has an origin of this form, and no fingerprint either."""
    return origin.startswith(_PREFIXES)


def is_git_origin(origin: str) -> bool:
    """Whether an origin is a git repository."""
    return origin.startswith(GIT_PREFIX)


def git_address(url: str) -> str:
    """Return the address if it is allowed. Raises BadSource."""
    if not _ADDRESS.fullmatch(url) or len(url) > SOURCES.url_characters:
        raise BadSource("it is not a plain ASCII address")
    if url.startswith("-"):
        raise BadSource("it begins with '-'")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadSource("it is not an address") from None
    host = parts.hostname or ""
    if parts.scheme not in ("https", "ssh", "http", "file"):
        raise BadSource(
            "git repositories can only be fetched over https:// or ssh://, or from this machine (file:///PATH)"
        )
    if parts.password is not None or (parts.username is not None and parts.scheme != "ssh"):
        raise BadSource("it contains a user or password; use git's credential helper instead")
    if parts.username is not None and not _USER.fullmatch(parts.username):
        raise BadSource("its user name has unsupported characters")
    if parts.scheme == "file" and parts.netloc:
        raise BadSource("a file address has three slashes and an absolute path: file:///PATH")
    if parts.scheme != "file" and (not _HOST.fullmatch(host) or port == 0):
        raise BadSource("it has no valid host")
    if parts.scheme == "http" and not is_loopback(host):
        raise BadSource("plain http is only allowed for this machine: use https://")
    if "?" in url or "#" in url:
        raise BadSource("it has a query or a fragment")
    segments = parts.path.split("/")[1:]
    if not _PATH.fullmatch(parts.path) or _ESCAPED_CONTROL.search(parts.path):
        raise BadSource("its path has unsupported characters")
    if any(part in ("", ".", "..") or part.startswith("-") for part in segments):
        raise BadSource("its path has an empty part, a '..', or a part that begins with '-'")
    return url


def is_on_disk(url: str) -> bool:
    """Whether a repository's address is a folder of this machine."""
    return url.startswith(FILE)


def git_rev(rev: str) -> str:
    """Return the tag, branch or commit if git accepts it as a single name. Raises BadSource."""
    if not _REV.fullmatch(rev) or len(rev) > SOURCES.rev_characters:
        raise BadSource("it is not the name of a tag or branch, nor a commit")
    if ".." in rev or "//" in rev or "/." in rev or rev.endswith(("/", ".", ".lock")) or ".lock/" in rev:
        raise BadSource("git does not allow such a name")
    return rev


def is_commit(rev: str) -> bool:
    """Whether it is a full commit hash, SHA-1 or SHA-256."""
    return _COMMIT.fullmatch(rev) is not None


def inner_path(path: str) -> str:
    """A folder in a repository, with ``/``; empty for all of it. Raises BadSource."""
    stripped = path.strip("/") if path not in ("", ".") else ""
    if not stripped:
        return ""
    if len(stripped) > SOURCES.path_characters or path.startswith("/"):
        raise BadSource("it is not a relative path")
    for part in stripped.split("/"):
        if not _SEGMENT.fullmatch(part) or part.lower() == ".git" or part.endswith((".", " ")):  # "." and ".." as well
            raise BadSource(f"{part!r} is not a folder name that works on every system")
    return stripped


def folder_path(path: str) -> str:
    """A folder on this machine, relative or absolute, with ``/``. Raises BadSource."""
    if not path or len(path) > SOURCES.path_characters or not path.isprintable() or "\\" in path:
        raise BadSource("it is not a path of a folder")
    if path.startswith(("-", "~")):
        raise BadSource("it begins with '-' or '~'")
    if "://" in path or without_passwords(path) != path:
        raise BadSource("it is an address, not a folder: a repository is a `git` source")
    stripped = path.rstrip("/")
    if stripped in ("", "."):
        raise BadSource("it is the project itself, or the whole disk")
    return stripped
