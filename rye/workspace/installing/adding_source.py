"""Adding items of a git repository or a folder: the source to ``[sources]``, its items to the dependencies."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.items.identity import Identity, is_segment
from rye.limits import SOURCES
from rye.project.declared_sources import (
    FILE,
    PATH_PREFIX,
    BadSource,
    GitSource,
    PathSource,
    Source,
    git_address,
    git_rev,
    inner_path,
)
from rye.project.layout import Project
from rye.project.lock_file import Unlock
from rye.project.manifest_edit import add_dependencies, add_source
from rye.sources.folder import source_folder
from rye.sources.inventory.found import FoundItem
from rye.sources.opening import Opener, OpenSource
from rye.sources.refs import divide
from rye.sources.source_error import SourceError, shown
from rye.text.addresses import without_credentials
from rye.text.spelling import close_words
from rye.workspace.context import Context
from rye.workspace.installing.adding import member_meant, open_to_add, tell_of_new
from rye.workspace.installing.install_outcome import InstallOutcome, SetAside
from rye.workspace.installing.install_request import Agree, InstallRequest
from rye.workspace.installing.install_session import InstallSession, retry_when_overtaken
from rye.workspace.installing.install_steps import install_from, session_sources
from rye.workspace.installing.pasted_words import is_pasted, read_pasted
from rye.workspace.installing.source_list import SourceList, list_items
from rye.workspace.installing.source_words import as_editable, is_folder_path, is_runner, named, read_source
from rye.workspace.registries.source_book import source_opener

_KEPT = 12


class SourceRequest(Struct, frozen=True, kw_only=True):
    """The source and its items to add."""

    word: str
    """``git+URL#REV:PATH``, a folder, or an address as people paste it."""
    items: tuple[str, ...] = ()
    """``[kind:]name`` of items to add."""
    everything: bool = False
    name: str | None = None
    """The source's name in rye.toml; None means derived from its address."""
    group: str = "main"
    member: str | None = None
    """The workspace's member that needs the items; None as for ``rye add ID``. The whole workspace has the source."""
    editable: bool = False
    """Whether a folder's items are used in place, without copying them."""
    listing: bool = False
    """Whether to list the items instead; ``items`` are then words that filter them."""


def add_from_source(
    context: Context, project: Project, request: InstallRequest, wanted: SourceRequest, agree: Agree
) -> InstallOutcome | SourceList:
    """Write the source and the chosen items into rye.toml, and install them; or list what the source has, and write nothing.

    It is a list if that was asked for, and if the source has several items and none was named. Only ``--yes`` without a name is
    an error then: who agrees in advance must say to what.

    Raises UsageError ``bad-argument``, ``source-name-taken``, ``choose-items``, RyeError ``no-such-item``,
    SourceError.
    """
    if not is_segment(wanted.group):
        hint = "Use a-z, 0-9, '-' and '_', e.g. dev."
        raise UsageError("bad-argument", f"{wanted.group!r} is not a valid group name.", hint, what="group")
    if wanted.listing and wanted.everything:
        raise UsageError("contradiction", "--list installs nothing, so --all means nothing.", "Leave out one of them.")
    if wanted.everything and wanted.items:
        raise UsageError("contradiction", "--all cannot be combined with item names.", "Leave out one of them.")
    source, wanted = _meant(context, project, wanted)
    if wanted.editable:
        source = as_editable(source)

    def attempt() -> InstallOutcome | SourceList:
        session = open_to_add(context, project, request, agree)
        declared = named(source, session.manifest, wanted.name, lists=wanted.listing)
        if isinstance(declared, PathSource) and declared.name not in session.manifest.sources:
            if not (project.root / declared.path).exists():
                path = declared.path.partition("#")[0]
                raise SourceError(
                    "no-such-folder", f"There is no folder and no git repository {path!r}.", "Check the path."
                )
            source_folder(project.root, declared, "Check the path.")
        asker = member_meant(context, project, session.manifest, wanted.member)
        session = session.with_manifest(add_source(session.manifest_text, declared))
        with session_sources(session, names_source=True) as sources:
            assert sources.book is not None
            sources.book.use_locked(session.before.lock.items)
            with context.progress("fetching the source"):
                opened = sources.book.open(declared.name)
            if wanted.listing:
                return list_items(context, opened, wanted.word, wanted.items, whole=True)
            chosen = _chosen(context, opened, wanted)
            if chosen is None:
                return list_items(context, opened, wanted.word, (), whole=False)
            tell_of_new(session)
            _tell_converted(context, opened, chosen)

            def install(some: Sequence[FoundItem], *, sets_aside: bool) -> InstallOutcome:
                asked = replace(session, request=replace(request, sets_aside=sets_aside))
                return install_from(_with(asked, opened, some, wanted.group, asker), sources, Unlock.nothing())

            return _install_what_can_be(opened, chosen, install, sets_aside=wanted.everything and not request.dry_run)

    return retry_when_overtaken(context, attempt)


class _Install(Protocol):
    def __call__(self, some: Sequence[FoundItem], *, sets_aside: bool) -> InstallOutcome: ...


def _install_what_can_be(
    opened: OpenSource, chosen: Sequence[FoundItem], install: _Install, *, sets_aside: bool
) -> InstallOutcome:
    """Install the items. ``sets_aside``: those that only a person can let in are left out, unless that is all of them or others
    stop as well: then the installation is refused as any other."""
    aside: dict[Identity, SetAside] = {}
    rest = list(chosen)
    while sets_aside:
        outcome = install(rest, sets_aside=True)
        if outcome.result != "stopped":
            return replace(outcome, set_aside=tuple(aside.values()))
        stopping = {each.change.identity: each for each in outcome.set_aside}
        left = [
            found for found in rest if Identity(found.kind, f"{opened.source.name}/{found.local_id}") not in stopping
        ]
        if not left or len(left) == len(rest):
            break
        aside |= stopping
        rest = left
    return install(chosen, sets_aside=False)


def _meant(context: Context, project: Project, wanted: SourceRequest) -> tuple[Source, SourceRequest]:
    """Return the source that a word names, and the request with the items that it names. What was pasted is shown as what it
    was taken for. Raises UsageError ``bad-argument``, SourceError."""
    words = (wanted.word, *wanted.items)
    if (repository := _repository_here(project.root, wanted.word)) is not None:
        context.tell(f"{without_credentials(wanted.word)} is a git repository; it is taken for {repository.spec}")
        return repository, wanted
    if not is_pasted(wanted.word):
        return read_source(wanted.word), wanted
    if (context.cwd / wanted.word).is_dir():
        folder = Path(os.path.relpath(context.cwd / wanted.word, project.root)).as_posix()
        context.tell(f"{wanted.word} is taken for the folder ./{wanted.word}")
        return read_source(f"./{folder}"), wanted
    pasted = read_pasted(words)
    source = pasted.source
    if pasted.left_out:
        context.tell(f"left out, since they mean nothing here: {' '.join(pasted.left_out)}")
    items = pasted.items
    if pasted.tail or pasted.inner:
        opener = source_opener(context, project.root, offline=context.offline, contacts=True)
        if pasted.tail:
            source = _divided(source, pasted.tail, opener)
        if pasted.inner:
            whole = opener.open(replace(source, name="source"), None)
            if any(found.local_id == pasted.inner for found in whole.inventory.items):
                items = (pasted.inner, *items)
            else:
                source = replace(source, path=inner_path(pasted.inner))
    context.tell(f"{without_credentials(wanted.word)} is taken for {source.spec}")
    names_only_source = not (pasted.items or pasted.inner or is_runner(wanted.word))
    return source, replace(
        wanted,
        word=wanted.word if names_only_source else source.spec,
        items=items,
        everything=wanted.everything or (pasted.everything and not wanted.listing),
        listing=wanted.listing or pasted.listing,
    )


_BARE = ("HEAD", "objects", "refs")
"""What a bare repository has, and no folder of items."""


def _repository_here(root: Path, word: str) -> GitSource | None:
    """The source that a path or a ``file`` address names if a bare repository is there; None for everything else.

    ``root``: what a path is relative to. Raises UsageError ``bad-argument``.
    """
    if not (word.startswith((FILE, PATH_PREFIX)) or is_folder_path(word)):
        return None
    place, _, rest = word.removeprefix(PATH_PREFIX).removeprefix(FILE).partition("#")
    folder = os.path.abspath(root / place)
    if not all(os.path.exists(f"{folder}/{name}") for name in _BARE):
        return None
    rev, _, path = rest.partition(":")
    try:
        url = git_address(f"{FILE}{quote(folder, safe='/~+@')}")
        return GitSource("", url, git_rev(rev) if rev else None, inner_path(path))
    except BadSource as error:
        raise UsageError("bad-argument", f"{word!a} is not a source: {error}.", what="source") from None


def _divided(source: GitSource, tail: str, opener: Opener) -> GitSource:
    """Divide a browser's ``REF/PATH``: the longest beginning that is a branch or a tag, else a commit or the first part.

    Raises UsageError ``bad-argument``, SourceError.
    """
    rev = divide(source, tail, opener.refs(source))
    try:
        return replace(source, rev=git_rev(rev), path=inner_path(tail.removeprefix(rev).strip("/")))
    except BadSource as error:
        raise UsageError("bad-argument", f"{tail!a} is not a ref and a folder: {error}.", what="source") from None


def _with(
    session: InstallSession, opened: OpenSource, chosen: Sequence[FoundItem], group: str, member: str
) -> InstallSession:
    keys = [f"{found.kind}:{opened.source.name}/{found.local_id}" for found in chosen]
    lines = session.manifest.dependencies
    present = {line.key for line in lines if line.group == group and line.member == member}
    text = add_dependencies(session.text_of(member), {key: "*" for key in keys if key not in present}, group)
    return session.with_manifest(text, member)


def _chosen(context: Context, opened: OpenSource, wanted: SourceRequest) -> list[FoundItem] | None:
    """The named items, all usable ones, or the only one; None if a person has to choose. What else is there is told to those
    who did not name all they want, or named what is not there."""
    if wanted.items:
        try:
            return [_one(opened, item) for item in dict.fromkeys(wanted.items)]
        except RyeError:
            _tell_notes(context, opened)
            raise
    _tell_notes(context, opened)
    judged = opened.judge(opened.inventory.items)
    usable = [found for found in opened.inventory.items if not isinstance(judged[(found.kind, found.local_id)], str)]
    refused = [found for found in opened.inventory.items if found not in usable]
    if not usable:
        raise _nothing(opened, refused, [str(judged[(one.kind, one.local_id)]) for one in refused])
    if wanted.everything:
        for found in refused[: SOURCES.listed_items]:
            why = judged[(found.kind, found.local_id)]
            context.warn(f"{found.kind}:{found.local_id} was left out: {why} ({opened.place_of(found).place}).")
        if len(refused) > SOURCES.listed_items:
            more = len(refused) - SOURCES.listed_items
            context.warn(
                f"{more:,} more were left out, since they cannot be used; `--list` names each with its reason."
            )
        return usable
    if len(usable) == 1:
        return usable
    if context.assume_yes:
        raise _choose(opened, usable)
    return None


def _tell_notes(context: Context, opened: OpenSource) -> None:
    """Tell what else the source has, and what is called otherwise."""
    for note in opened.inventory.notes:
        context.tell(f"{opened.source.origin}: {note}")


def _tell_converted(context: Context, opened: OpenSource, chosen: Sequence[FoundItem]) -> None:
    """Say which agents were in a program's own form, and what they say that has no counterpart."""
    agents = opened.judge([found for found in chosen if found.program is not None]).values()
    converted = [agent for agent in agents if not isinstance(agent, str) and agent.converted_from is not None]
    for program in dict.fromkeys(str(agent.converted_from) for agent in converted):
        rows = [agent for agent in converted if agent.converted_from == program]
        counts = Counter(key for agent in rows for key in agent.kept)
        what = f"{len(rows)} agent{'s' if len(rows) > 1 else ''} converted from {program}'s form"
        listed = ", ".join(f"{shown(key, 40)} ({count})" for key, count in sorted(counts.items())[:_KEPT])
        more = f" and {len(counts) - _KEPT} more" if len(counts) > _KEPT else ""
        kept = f"; kept without effect, since rye has no counterpart: {listed}{more}" if counts else ""
        context.tell(f"{opened.source.origin}: {what}{kept}")
    by_lines = [agent.identity for agent in converted if agent.by_lines]
    if by_lines:
        has = f"{by_lines[0]} has" if len(by_lines) == 1 else f"{len(by_lines)} agents, such as {by_lines[0]}, have"
        context.warn(
            f"{has} frontmatter that is not YAML (a colon in a description, or one of several lines), read line by line. "
            f"Look at the tools that are shown for {'it' if len(by_lines) == 1 else 'them'}."
        )


def _one(opened: OpenSource, item: str) -> FoundItem:
    kind, _, name = item.rpartition(":")
    local_id = name.removeprefix(f"{opened.source.name}/")
    found = [one for one in opened.inventory.items if one.local_id == local_id and kind in ("", one.kind)]
    if not found:
        names = sorted({one.local_id for one in opened.inventory.items})
        near = close_words(local_id, names, 3)
        listed = ", ".join(names[: SOURCES.listed_items]) or "no items"
        more = len(names) - SOURCES.listed_items
        rest = f" and {more} more, which --list shows" if more > 0 else ""
        hint = f"Did you mean {', '.join(near)}?" if near else f"It has: {listed}{rest}."
        raise RyeError("no-such-item", f"{opened.source.spec} has no {item!a}.", hint)
    if len(found) > 1:
        listed = ", ".join(f"{one.kind}:{one.local_id}" for one in found)
        raise UsageError("ambiguous", f"{item!a} is {listed}.", f"Name one: {found[0].kind}:{found[0].local_id}.")
    return found[0]


def _choose(opened: OpenSource, usable: Sequence[FoundItem]) -> UsageError:
    names = [f"{found.kind}:{found.local_id}" for found in usable]
    return UsageError(
        "choose-items",
        f"{opened.source.spec} has {len(names)} items, and --yes does not say which of them you want.",
        "Name the items after the source, or add all of them with --all. `rye add SOURCE --list` lists them.",
        details={"items": names},
    )


def _nothing(opened: OpenSource, refused: Sequence[FoundItem], why: Sequence[str]) -> RyeError:
    if not refused:
        hint = (
            "A source is a Rye project (.ai/…), a folder of skills, .claude/skills, .agents/skills, agents where a program reads "
            "them or in folders called agents, or a plugin marketplace."
        )
        return RyeError("no-such-item", f"{opened.source.spec} has no items.", hint)
    listed = "\n".join(
        f"  {one.kind}:{one.local_id}: {reason}"
        for one, reason in zip(refused[: SOURCES.listed_items], why, strict=False)
    )
    return RyeError(
        "source-item-unusable",
        f"{opened.source.spec} has no usable items:\n{listed}",
        "Fix the items in the source.",
    )
