"""Names for sources, made from where they are. The name is the namespace of the source's items in a project. Pure.

A repository is named by its owner (``anthropics`` of ``anthropics/skills``: half of all collections are called skills), a
second one of that owner by both, a third part by its folder, then by a number. A folder, and a repository on this
machine, has its own name; a folder in a program's hidden folder both (``claude-skills``).
"""

from __future__ import annotations

import re
from collections.abc import Collection

from rye.items.identity import is_segment
from rye.project.declared_sources import PathSource, Source, is_on_disk
from rye.sources.inventory.signs import AGENTS

_SERVED_BELOW = frozenset(("cgit", "git", "p", "r", "repos", "scm"))
"""First words of addresses that name no owner."""
_OTHERS = re.compile(r"[^a-z0-9_@-]+")
_MOST = 48
"""The maximum length of a part of a name."""
_LAST = "source"


def own_names(source: Source) -> list[str]:
    """Return names for a source, the best first. The first may be invalid, if nothing better can be made of the place."""
    if isinstance(source, PathSource):
        *above, folder = source.path.rstrip("/").split("/")
        outer = above[-1] if above and above[-1].strip(".") else ""
        both = f"{_word(outer)}-{_word(folder)}" if outer else _word(folder)
        names = [both, _word(folder)] if outer.startswith(".") or folder == AGENTS else [_word(folder), both]
    else:
        path = source.url.partition("://")[2].rstrip("/").removesuffix("/.git")
        words = [_word(part) for part in path.split("/")[1:]]
        words = words[-1:] if is_on_disk(source.url) else words
        owner, repository = next((word for word in words[:-1] if word not in _SERVED_BELOW), ""), "".join(words[-1:])
        if not owner or "@" in repository:  # a rev in the wrong place: the error says so
            names = [repository]
        else:
            names = [owner, f"{owner}-{repository}"]
        folder = _word(source.path.rpartition("/")[2])
        names += [f"{names[-1]}-{folder}"] if folder else []
    return [name for name in names if is_segment(name)] or names[:1]


def free_name(source: Source, taken: Collection[str]) -> str:
    """Return a valid name for a source that is not ``taken``."""
    names = list(filter(is_segment, own_names(source))) or [_LAST]
    numbered = (f"{names[-1]}-{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (*names, *numbered) if name not in taken)


def _word(part: str) -> str:
    return _OTHERS.sub("-", part.removesuffix(".git").lower()).strip("-~")[:_MOST]
