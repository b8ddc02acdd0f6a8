"""Adding items of a git repository or a folder: the source to ``[sources]``, its items to the dependencies."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.project.declared_sources import PathSource
from rye.project.layout import Project
from rye.project.lock_file import Unlock
from rye.project.manifest_edit import add_dependencies, add_source
from rye.sources.finding import FoundItem
from rye.sources.folder import source_folder
from rye.sources.opening import OpenSource
from rye.text.spelling import close_words
from rye.workspace.context import Context
from rye.workspace.installing.adding import member_meant
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_request import Agree, InstallRequest
from rye.workspace.installing.install_session import InstallSession, open_session, retry_when_overtaken
from rye.workspace.installing.install_steps import install_from, session_sources
from rye.workspace.installing.source_words import as_editable, named, read_source

_LISTED = 40


class SourceRequest(Struct, frozen=True, kw_only=True):
    """The source and its items to add."""

    word: str
    """``git+URL#REV:PATH``, or a folder."""
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


def add_from_source(
    context: Context, project: Project, request: InstallRequest, wanted: SourceRequest, agree: Agree
) -> InstallOutcome:
    """Write the source and the chosen items into rye.toml, and install them.

    Raises UsageError ``bad-argument``, ``source-name-taken``, ``choose-items``, RyeError ``no-such-item``,
    SourceError.
    """
    if not is_segment(wanted.group):
        hint = "Use a-z, 0-9, '-' and '_', e.g. dev."
        raise UsageError("bad-argument", f"{wanted.group!r} is not a valid group name.", hint, what="group")
    if wanted.everything and wanted.items:
        raise UsageError("contradiction", "--all cannot be combined with item names.", "Leave out one of them.")
    source = read_source(wanted.word)
    if wanted.editable:
        source = as_editable(source)

    def attempt() -> InstallOutcome:
        session = open_session(context, project, request, agree)
        declared = named(source, session.manifest, wanted.name)
        if isinstance(declared, PathSource) and declared.name not in session.manifest.sources:
            source_folder(project.root, declared, "Check the path.")
        asker = member_meant(context, project, session.manifest, wanted.member)
        session = session.with_manifest(add_source(session.manifest_text, declared))
        with session_sources(session, names_source=True) as sources:
            assert sources.book is not None
            sources.book.use_locked(session.before.lock.items)
            with context.progress("fetching the source"):
                opened = sources.book.open(declared.name)
            chosen = _chosen(context, opened, wanted)
            return install_from(_with(session, opened, chosen, wanted.group, asker), sources, Unlock.nothing())

    return retry_when_overtaken(context, attempt)


def _with(
    session: InstallSession, opened: OpenSource, chosen: Sequence[FoundItem], group: str, member: str
) -> InstallSession:
    keys = [f"{found.kind}:{opened.source.name}/{found.local_id}" for found in chosen]
    lines = session.manifest.dependencies
    present = {line.key for line in lines if line.group == group and line.member == member}
    text = add_dependencies(session.text_of(member), [key for key in keys if key not in present], "*", group)
    return session.with_manifest(text, member)


def _chosen(context: Context, opened: OpenSource, wanted: SourceRequest) -> list[FoundItem]:
    """The named items, or all usable ones."""
    for note in opened.inventory.notes:
        context.tell(f"{opened.source.origin}: {note}")
    if wanted.items:
        return [_one(opened, item) for item in dict.fromkeys(wanted.items)]
    judged = opened.judge(opened.inventory.items)
    usable = [found for found in opened.inventory.items if not isinstance(judged[(found.kind, found.local_id)], str)]
    refused = [found for found in opened.inventory.items if found not in usable]
    if not usable:
        raise _nothing(opened, refused, [str(judged[(one.kind, one.local_id)]) for one in refused])
    if wanted.everything:
        for found in refused:
            why = judged[(found.kind, found.local_id)]
            context.warn(f"{found.kind}:{found.local_id} was left out: {why} ({opened.place_of(found).place}).")
        return usable
    if len(usable) == 1:
        return usable
    raise _choose(opened, usable)


def _one(opened: OpenSource, item: str) -> FoundItem:
    kind, _, name = item.rpartition(":")
    local_id = name.removeprefix(f"{opened.source.name}/")
    found = [one for one in opened.inventory.items if one.local_id == local_id and kind in ("", one.kind)]
    if not found:
        names = sorted({one.local_id for one in opened.inventory.items})
        near = close_words(local_id, names, 3)
        listed = ", ".join(names[:_LISTED]) or "no items"
        hint = f"Did you mean {', '.join(near)}?" if near else f"It has: {listed}."
        raise RyeError("no-such-item", f"{opened.source.spec} has no {item!a}.", hint)
    if len(found) > 1:
        listed = ", ".join(f"{one.kind}:{one.local_id}" for one in found)
        raise UsageError("ambiguous", f"{item!a} is {listed}.", f"Name one: {found[0].kind}:{found[0].local_id}.")
    return found[0]


def _choose(opened: OpenSource, usable: Sequence[FoundItem]) -> UsageError:
    names = [f"{found.kind}:{found.local_id}" for found in usable]
    listed = "\n".join(f"  {name}" for name in names[:_LISTED])
    more = f"\n  and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return UsageError(
        "choose-items",
        f"{opened.source.spec} has {len(names)} items; none was named:\n{listed}{more}",
        "Name the items after the source, or add all of them with --all.",
        details={"items": names},
    )


def _nothing(opened: OpenSource, refused: Sequence[FoundItem], why: Sequence[str]) -> RyeError:
    if not refused:
        hint = "A source is a Rye project (.ai/…), a folder of skills, .claude/skills, .agents/skills, or a plugin marketplace."
        return RyeError("no-such-item", f"{opened.source.spec} has no items.", hint)
    listed = "\n".join(
        f"  {one.kind}:{one.local_id}: {reason}" for one, reason in zip(refused[:_LISTED], why, strict=False)
    )
    return RyeError(
        "source-item-unusable",
        f"{opened.source.spec} has no usable items:\n{listed}",
        "Fix the items in the source.",
    )
