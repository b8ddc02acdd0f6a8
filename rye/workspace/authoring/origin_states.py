"""What a fork is merged with: the published state that it was made from, as the origin records it, and the newest one.

A registry is asked for its releases, a git repository for the recorded commit and for the newest one of its tag or branch; of a
folder only the installed copy is a record. A state is a base only if its files have the recorded digest.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from rye.customization.effective_files import Tree, tree_of_row
from rye.errors import RyeError
from rye.installation.sources import Sources, expect_origin
from rye.items.signed_release import SignedRelease
from rye.project.lock import LockedItem, LockedSource
from rye.project.origins import ORIGINS, ForkOrigin, digest_of
from rye.registry.trust.records import ReleaseRecord
from rye.resolution.versions import comparable
from rye.sources.refs import Target, require_unmoved
from rye.sources.source_error import SourceError
from rye.verified.release import VerifiedItem
from rye.workspace.context import Context
from rye.workspace.installing.differences import fetch_releases, source_item_now
from rye.workspace.installing.project_state import ProjectState
from rye.workspace.items.effective_item import effective_item
from rye.workspace.items.item_tree import base_tree


class Original(Struct, frozen=True, kw_only=True):
    """A published state of the item that a fork was made from."""

    row: LockedItem
    data: bytes
    tree: Tree
    words: SignedRelease | None
    """What was derived from it for the policy; None for the base, which was agreed to."""
    at: Target | None = None
    """Where a git repository has it."""


def _original(item: VerifiedItem) -> Original:
    return Original(row=item.locked, data=item.data, tree=tree_of_row(item.locked, item.attached), words=item.signed)


def released_states(
    context: Context, origin: ForkOrigin, state: ProjectState, sources: Sources
) -> tuple[Original, Original]:
    """The release that the origin records, and the newest one; the same if nothing is newer.

    Raises RyeError ``other-registry``, ``release-vanished``, ``release-changed``, ``release-taken-down``, ``signer-revoked``,
    ``no-such-item``, SourceError ``tag-moved``.
    """
    identity = origin.item
    if sources.is_source(identity.namespace) or origin.is_of_source:
        base, newest = _source_states(context, origin, state, sources)
    else:
        expect_origin(sources.client(identity.namespace), origin.source, str(identity))
        history = sources.releases([identity]).get(identity)
        records = history.records if history is not None else ()
        record = next((each for each in records if each.version == origin.version), None)
        if record is None:
            raise RyeError("release-vanished", f"The registry has no {identity} {origin.version} any more.")
        base, newest = map(_original, fetch_releases([record, _newest(record, records)], sources))
    row = base.row
    digest = digest_of(row.sha256, {file.path: (file.sha256, file.executable) for file in row.attached})
    if digest != origin.digest and row.source is not None and row.source.git is None:
        raise _not_kept(origin, "what is installed is not what was forked")
    if digest != origin.digest:
        message = f"{identity} {origin.version} has the digest {digest}; {ORIGINS} says {origin.digest}."
        raise RyeError("release-changed", message, f"Restore {ORIGINS} from git, or remove the entry and fork again.")
    if row.source is None and origin.signer != signer_of(row):
        message = f"{identity} {origin.version} is signed by {signer_of(row)}; {ORIGINS} says {origin.signer}."
        raise RyeError("release-changed", message, f"Restore {ORIGINS} from git, or remove the entry and fork again.")
    return base, newest


def signer_of(row: LockedItem) -> str:
    """The signer of a row as an origin records it."""
    return "none" if row.is_unsigned else row.signer


def _source_states(
    context: Context, origin: ForkOrigin, state: ProjectState, sources: Sources
) -> tuple[Original, Original]:
    """The state of a source that the origin records, and the newest one. A repository is asked for both, by commit; of a folder
    the only record is the copy that is installed."""
    identity, book = origin.item, sources.book
    name = identity.namespace
    if book is None or not book.has(origin.source, name):
        raise RyeError(
            "other-registry",
            f"{identity} comes from {origin.source}, but [sources] of rye.toml does not have that as {name!r}.",
            f"Add it there again, or remove the entry from {ORIGINS} to follow it no more.",
        )
    newest = book.newest(name)
    if origin.commit is None or origin.ref is None:
        base = _installed(context, origin, state)
        book.use_locked(())
    else:
        at = Target(origin.ref, origin.commit)
        if newest is not None:
            require_unmoved(
                name, LockedSource(place="", git=origin.source, ref=at.ref, commit=at.commit), newest, ORIGINS
            )
        book.use_commit(name, at)
        try:
            base = _original(source_item_now(identity, book, sources))
        except SourceError as error:
            if error.code != "commit-vanished":
                raise
            message = f"{origin.source} no longer has the commit {origin.commit}, which the fork is of."
            raise RyeError(
                "release-vanished", message, "Ask the repository's maintainers, or fork it again."
            ) from error
    if newest is not None:
        book.use_commit(name, newest)
    there = _original(source_item_now(identity, book, sources))
    return base, there if newest is None else replace(there, at=newest)


def _installed(context: Context, origin: ForkOrigin, state: ProjectState) -> Original:
    """The installed copy of an original. Raises RyeError ``release-vanished`` if it is not what was forked."""
    row = state.lock.find(origin.item)
    if row is None or row.registry != origin.source:
        raise _not_kept(origin, "it is not installed any more")
    if row.version != origin.version:
        raise _not_kept(origin, f"the fork is of {origin.version}, and {row.version} is installed")
    found = effective_item(context, str(origin.item), base=True)
    return Original(row=row, data=found.item.data, tree=base_tree(context, found), words=None)


def _not_kept(origin: ForkOrigin, why: str) -> RyeError:
    return RyeError(
        "release-vanished",
        f"{origin.item} comes from {origin.source}, of which {ORIGINS} has no commit, and {why}.",
        "Restore rye.toml and rye.lock as they were, with git; then `rye update --origin` before `rye update`.",
    )


def _newest(base: ReleaseRecord, records: Sequence[ReleaseRecord]) -> ReleaseRecord:
    """The highest release above the recorded one that can be chosen; otherwise that one."""
    known = comparable(base.version)
    newer = [
        (version, record)
        for record in records
        if not record.is_withdrawn
        and (version := comparable(record.version)) is not None
        and not version.is_prerelease
        and (known is None or version > known)
    ]
    return max(newer, key=lambda pair: pair[0], default=(None, base))[1]
