"""The syntax of a source on the command line: ``git+URL[#REV][:PATH]``, or a folder's path. Pure."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment, lookup_key
from rye.project.declared_sources import (
    FILE,
    GIT_PREFIX,
    PATH_PREFIX,
    BadSource,
    GitSource,
    PathSource,
    Source,
    folder_path,
    git_address,
    git_rev,
    inner_path,
)
from rye.project.manifest import Manifest
from rye.text.addresses import without_credentials
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from rye.sources import naming
else:
    naming = lazy_module("rye.sources.naming")  # most commands name no source

_FOLDERS = (".", "/")
"""No id begins like this, so ``.claude/skills`` needs no ``./``."""
FORGE = re.compile(r"(github|gitlab|codeberg|bitbucket):(?=[^/:\s]+/[^/:\s])")
"""``github:owner/repo``, as npm and Nix name repositories; no kind of item has such a name."""
_ADDRESS = re.compile(
    FORGE.pattern + r"|https?://|file://|ssh://|git://|[\w.-]+@[\w.-]+:|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d+)?/",
    re.ASCII,
)
"""A repository's address without ``git+``: item names have no scheme, and no dot before their first ``/``."""
SHORT = re.compile(
    r"(?P<owner>[A-Za-z0-9][A-Za-z0-9-]*)/(?P<repository>[A-Za-z0-9_.][A-Za-z0-9_.-]*?)(?:\.git)?(?P<inner>(?:/[A-Za-z0-9_.-]+)*)/?"
    r"(?:@(?P<item>[A-Za-z][A-Za-z0-9_-]*)|#(?P<rev>[^\s#]+))?"
)
"""``owner/repo``, as people name repositories of GitHub. An item's name has the same form, so a namespace that is known wins."""
_RUNNERS = ("npx", "bunx", "pnpx", "pnpm")
_SCP = re.compile(r"(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9.-]+:(?!//)")
_HINT = "Write git+https://HOST/PATH.git#REV:FOLDER, or a folder's path such as ../shared-items."


def is_source_word(word: str) -> bool:
    """Whether an argument of ``rye add`` names a source, not an item."""
    return (
        word.startswith((GIT_PREFIX, PATH_PREFIX))
        or is_folder_path(word)
        or is_runner(word)
        or _ADDRESS.match(word) is not None
    )


def is_folder_path(word: str) -> bool:
    """Whether a word is written like the path of a folder."""
    return word.startswith(_FOLDERS)


def is_runner(word: str) -> bool:
    """Whether a word begins a line such as ``npx skills add …``."""
    return word.partition(" ")[0] in _RUNNERS


def is_address(word: str) -> bool:
    """Whether a word is an address as people copy it (:mod:`rye.workspace.installing.pasted_words`)."""
    return not word.startswith(FILE) and _ADDRESS.match(word) is not None


def read_source(word: str) -> Source:
    """The source that a word names; its name is chosen later. Raises UsageError ``bad-argument``."""
    if word.startswith(FILE):
        shown = without_credentials(word)
        if not os.path.exists(word.removeprefix(FILE).partition("#")[0]):
            raise UsageError("bad-argument", f"There is nothing at {shown!a}.", "Check the path.", what="source")
        raise UsageError(
            "bad-argument",
            f"{shown!a} is no bare repository.",
            f"Write {shown.removeprefix(FILE)} for a folder of items, or git+{shown} for a checkout's commits.",
            what="source",
        )
    try:
        if not word.startswith(GIT_PREFIX):
            return PathSource("", folder_path(word.removeprefix(PATH_PREFIX)))
        url, _, rest = word.removeprefix(GIT_PREFIX).partition("#")
        rev, _, path = rest.partition(":")
        if "@" in url and _SCP.match(url):
            raise BadSource("write ssh://USER@HOST/PATH instead of USER@HOST:PATH")
        if "://" not in url:
            raise BadSource("its address has no https://, ssh:// or file:// in front")
        found = GitSource("", git_address(url), git_rev(rev) if rev else None, inner_path(path))
    except BadSource as error:
        raise UsageError(
            "bad-argument", f"{without_credentials(word)!a} is not a source: {error}.", _HINT, what="source"
        ) from None
    return found


def as_editable(source: Source) -> PathSource:
    """The source with its items used in place. Raises UsageError ``bad-argument`` unless it is a folder."""
    if isinstance(source, PathSource):
        return replace(source, editable=True)
    message = "--editable needs a folder: a repository's commit cannot be edited."
    raise UsageError(
        "bad-argument", message, "Clone the repository, and add the clone's folder with --editable.", what="source"
    )


def named(source: Source, manifest: Manifest, name: str | None, *, lists: bool = False) -> Source:
    """The source with its name: the given one, or that of the same place in rye.toml, or one made from its address
    (:mod:`rye.sources.naming`). ``lists``: it is not written, so that a name which another source has is no error.

    Raises UsageError ``bad-argument``, RyeError ``source-name-taken``.
    """
    same = next((one for one in manifest.sources.values() if _place(one) == _place(source)), None)
    chosen = name or (same.name if same is not None else _own_name(source, manifest))
    if not is_segment(chosen):
        hint = "Give it one: --as NAME (a-z, 0-9, '-' and '_'). It is the namespace of its items here."
        if name is None and isinstance(source, GitSource) and "@" in chosen:
            address, _, rev = source.url.rpartition("@")
            hint = f"A tag, a branch or a commit follows a '#': {GIT_PREFIX}{address}#{rev}"
        message = (
            f"{chosen!a} is not a valid source name." if chosen else "A source of that path has no name of its own."
        )
        raise UsageError("bad-argument", message, hint, what="source name")
    key = lookup_key(chosen)  # names that `-` and `_` alone tell apart are one in every reference
    taken = next((one for one in manifest.sources.values() if lookup_key(one.name) == key), None)
    if isinstance(taken, PathSource) and isinstance(source, PathSource) and _only_other_way(taken, source):
        way = "is editable" if taken.editable else "is copied"
        message = f"The source {chosen!r} in rye.toml {way}, with all of its items."
        hint = "Change `editable` in [sources] of rye.toml, or give this source another name with --as NAME."
        raise RyeError("source-name-taken", message, hint)
    if taken is not None and _place(taken) != _place(source):
        if lists:
            return replace(source, name=_free_name(chosen, manifest))
        message = f"rye.toml already has a source {taken.name!r}: {taken.spec}."
        hint = "Give this one another name with --as NAME."
        if taken.origin == source.origin:
            hint += (
                f" Or, for items of the whole repository, take `path` out of {taken.name!r} in [sources] of rye.toml."
            )
        raise RyeError("source-name-taken", message, hint)
    if key in {lookup_key(name) for name in (*manifest.registries, manifest.namespace) if name is not None}:
        message = f"{chosen!r} is already a namespace of a registry or of this project."
        raise RyeError("source-name-taken", message, "Give the source another name with --as NAME.")
    return replace(source, name=chosen)


def _own_name(source: Source, manifest: Manifest) -> str:
    """The first free name of a repository. A folder has one name: another of that name is an error that says so."""
    names = naming.own_names(source)
    if isinstance(source, PathSource):
        return names[0]
    taken = {lookup_key(name) for name in manifest.sources}
    return next((name for name in names if lookup_key(name) not in taken), names[-1])


def _free_name(name: str, manifest: Manifest) -> str:
    """A name that no source has."""
    taken = {lookup_key(one) for one in manifest.sources}
    return next(free for number in range(2, len(taken) + 3) if lookup_key(free := f"{name}-{number}") not in taken)


def _place(source: Source) -> tuple[str, str]:
    """The identity of a source: the repository and the folder in it, whatever the rev."""
    return (source.origin, source.path if isinstance(source, GitSource) else "")


def _only_other_way(one: PathSource, other: PathSource) -> bool:
    """Whether two sources are the same folder, copied in one and editable in the other."""
    return one.path == other.path and one.editable != other.editable
