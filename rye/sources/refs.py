"""A server's list of branches and tags, and which commit a rev means. Pure.

The list is the output of ``git ls-remote --symref``: ``HASH TAB NAME`` per line, ``ref: NAME TAB HEAD`` for a symbolic
ref, and the commit of an annotated tag under ``NAME^{}``.
"""

from __future__ import annotations

import re

from msgspec import Struct

from rye.limits import SOURCES
from rye.project.declared_sources import HEAD, BadSource, GitSource, git_rev, is_commit
from rye.project.lock import LockedSource
from rye.resolution.versions import Version, comparable
from rye.sources.git_objects import too_large
from rye.sources.source_error import SourceError, shown
from rye.text.spelling import close_words

_LINE = re.compile(r"([0-9a-f]{40}(?:[0-9a-f]{24})?)\t(\S+)")
_RELEASE_TAG = re.compile(r"refs/tags/(|.*?[^\d.])(\d+\.\d+\.\d+(?:[-+].*)?)")
_TAGS, _HEADS = "refs/tags/", "refs/heads/"
_SHORT_COMMIT = re.compile(r"[0-9a-fA-F]{7,63}")
_LISTED = 5


class Target(Struct, frozen=True):
    """The ref and commit that a rev means now."""

    ref: str
    """The full name of the ref; if the rev is a commit, that commit."""
    commit: str


def read_refs(text: str) -> dict[str, str]:
    """Map ref → commit, with annotated tags peeled. Other lines are ignored."""
    refs: dict[str, str] = {}
    peeled: dict[str, str] = {}
    for line in text.split("\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        name = match[2]
        if name.endswith("^{}"):
            peeled[name[:-3]] = match[1]
        elif name == HEAD or _is_ref(name):
            refs[name] = match[1]
        if len(refs) > SOURCES.refs:
            raise too_large(f"more than {SOURCES.refs:,} branches and tags")
    return refs | {name: commit for name, commit in peeled.items() if name in refs}


def _is_ref(name: str) -> bool:
    try:
        git_rev(name)
    except BadSource:
        return False
    return name.startswith(("refs/tags/", "refs/heads/"))


def target(source: GitSource, refs: dict[str, str]) -> Target:
    """Return the commit that a source's rev means. A full commit hash needs no list.

    A rev that can be a shortened commit never means a branch or a tag of that name: anyone who can push can make one, and git
    takes it first. A list of refs does not tell whether there is such a commit, and one with the same first digits can be made.

    Raises SourceError ``no-such-rev``, ``ambiguous-rev``.
    """
    rev = source.rev
    if rev is None:
        if HEAD not in refs:
            raise _missing(source, "no default branch", refs)
        return Target(HEAD, refs[HEAD])
    if is_commit(rev):
        return Target(rev, rev)
    _refuse_short_commit(source, rev, _named(rev, refs))
    if rev == HEAD:
        hint = "Remove the rev to use the default branch."
        raise SourceError("no-such-rev", f"{source.url}: {HEAD!r} is not the name of a branch or tag.", hint)
    names = [*([rev] if rev in refs else []), *_named(rev, refs)]
    if not names:
        raise _missing(source, f"no branch or tag {rev!r}", refs)
    if len(names) > 1 and len({refs[name] for name in names}) > 1:
        raise SourceError(
            "ambiguous-rev",
            f"{source.url} has {' and '.join(names)}, so {rev!r} is ambiguous.",
            f'Use the full name in rye.toml: rev = "{names[0]}".',
        )
    return Target(names[0], refs[names[0]])


def divide(source: GitSource, tail: str, refs: dict[str, str]) -> str:
    """Return the rev of a browser's ``REV/PATH``: a commit, or the longest beginning that is a branch or tag, or the first part.

    Raises SourceError ``ambiguous-rev``: ``819199f/skills`` can be a branch as well.
    """
    parts = tail.split("/")
    if is_commit(parts[0]):
        return parts[0]
    beginnings = ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
    rev = next((each for each in beginnings if _named(each, refs)), parts[0])
    _refuse_short_commit(source, parts[0], _named(rev, refs))
    return rev


def _named(rev: str, refs: dict[str, str]) -> list[str]:
    """The full names of the tag and the branch that are called so."""
    return [name for name in (_TAGS + rev, _HEADS + rev) if name in refs]


def _refuse_short_commit(source: GitSource, rev: str, names: list[str]) -> None:
    """Refuse a rev that can be a shortened commit and that names branches or tags, too: ``names``."""
    if names and _SHORT_COMMIT.fullmatch(rev):
        raise SourceError(
            "ambiguous-rev",
            f"{source.url} has {' and '.join(shown(name, 80) for name in names)}, but {rev!r} can be a shortened commit as well.",
            f'Write the commit with all its digits, or the full name: rev = "{names[0]}".',
        )


def newer(source: GitSource, locked: LockedSource, refs: dict[str, str]) -> str | None:
    """What a source that stays where it is could be moved to: of a tag the newest one above it, of a commit the commit of the
    default branch if that is another one. None for a branch, which moves by itself.

    Tags are compared by version: ``v1.2.0`` follows ``v1.0.0``, ``pdf-2.0.0`` never does. A tag of another form than PREFIX and
    a semantic version has no order, and a pre-release follows only another one.
    """
    if source.rev is not None and is_commit(source.rev):
        there = refs.get(HEAD)
        return there if there not in (None, source.rev) else None
    here = _release_tag(locked.ref or "")
    if here is None:
        return None
    prefix, version = here
    best, name = version, None
    for ref in refs:
        tag = _release_tag(ref)
        if (
            tag is not None
            and tag[0] == prefix
            and tag[1] > best
            and (here[1].is_prerelease or not tag[1].is_prerelease)
        ):
            best, name = tag[1], ref.removeprefix(_TAGS)
    return name


def _release_tag(ref: str) -> tuple[str, Version] | None:
    """What stands before the version of a tag, and the version."""
    match = _RELEASE_TAG.fullmatch(ref)
    version = comparable(match[2]) if match is not None else None
    return (match[1], version) if match is not None and version is not None else None


def require_unmoved(name: str, locked: LockedSource, now: Target, record: str = "rye.lock") -> None:
    """Require that a tag did not move since it was locked. ``record``: the file that has it. Raises SourceError ``tag-moved``."""
    if now.ref == locked.ref and now.ref.startswith(_TAGS) and now.commit != locked.commit:
        raise SourceError(
            "tag-moved",
            f"The tag {now.ref.removeprefix(_TAGS)!r} of {locked.git} was moved: {record} has commit {locked.commit}, "
            f"the repository now has {now.commit}.",
            "Nothing was changed. Ask the repository's maintainers why. To use the new commit anyway, read it first, "
            f'then write it into rye.toml: [sources] {name}: rev = "{now.commit}".',
            details={"locked": locked.commit, "now": now.commit, "ref": now.ref},
        )


def vanished(locked: LockedSource, now: Target | None) -> SourceError:
    """The error for a commit that the server no longer serves."""
    where = f"{locked.ref} is now {now.commit}" if now is not None else f"{locked.ref} no longer exists either"
    return SourceError(
        "commit-vanished",
        f"{locked.git} no longer has the commit {locked.commit} that rye.lock names; {where}.",
        "Someone rewrote the history. Ask the repository's maintainers. `rye update` shows and installs the current state.",
        details={"commit": locked.commit, "ref": locked.ref, "now": now.commit if now is not None else None},
    )


def _missing(source: GitSource, what: str, refs: dict[str, str]) -> SourceError:
    short = {name.split("/", 2)[2] for name in refs if name.count("/") >= 2}
    near = close_words(source.rev or "", sorted(short)[:2000], 3) if source.rev else ()
    if near:
        hint = f"Did you mean {', '.join(near)}?"
    elif source.rev is not None and re.fullmatch(r"[0-9a-f]{7,39}", source.rev):
        hint = "Write a commit with all 40 digits; `git rev-parse` prints them."
    else:
        listed = ", ".join(shown(name, 60) for name in sorted(short)[:_LISTED])
        hint = f"It has: {listed}." if listed else "The repository is empty, or not readable with your credentials."
    return SourceError("no-such-rev", f"{source.url} has {what}.", hint)
