"""``rye diff --origin`` and ``rye update --origin``: a fork, the release that it was made from, and the newer one.

Everything is fetched and verified as in an installation: the release of the recorded version must still be there, not taken down,
not by a revoked key, and have the recorded digest; only then is it the base of a merge. The newer release is merged in by lines.
What cannot be merged is marked, or put beside the own file, and said. The result has no signature: its author reads and signs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

from msgspec import Struct

from rye.customization.effective_files import Tree, TreeFile, files_diff, runs_brought, runs_of_files
from rye.customization.effective_text import unsigned
from rye.customization.merge import drift
from rye.errors import RyeError
from rye.installation.environment import installed_refusal
from rye.installation.silence import NotAsked
from rye.installation.transaction import NOTHING, Change, exclusive
from rye.items.consented import READ_BY
from rye.items.kinds import KINDS
from rye.items.location import locate
from rye.project.context import require_project
from rye.project.item_file import load_item
from rye.project.layout import Project
from rye.project.lock_file import item_path
from rye.project.manifest import Manifest
from rye.project.origins import ORIGINS, ForkOrigin, digest_of, origins_text, read_origins
from rye.project.spaces import Entry
from rye.text.display import visible
from rye.text.three_way import merge_texts
from rye.workspace.authoring.origin_states import Original, released_states, signer_of
from rye.workspace.authoring.origins import Fork, forks_named, origin_key, origins_bytes, require_origin
from rye.workspace.authoring.renaming import new_place, renamed_text
from rye.workspace.context import Context
from rye.workspace.installing.differences import nobody_answers
from rye.workspace.installing.project_state import read_state
from rye.workspace.items.effective_item import EffectiveItem
from rye.workspace.items.item_tree import base_tree
from rye.workspace.registries.registry_access import (
    NOTHING_NEWER,
    Outages,
    judging_environment,
    project_sources,
    tell_not_asked,
)
from rye.workspace.trusting.acceptance import remember_or_warn

BESIDE = ".origin"
"""What the author's version of a file that is not text is called, where both sides changed it."""


class ForkFiles(Struct, frozen=True):
    """An item's unsigned text and its attached files."""

    text: str
    tree: Tree


class Sides(Struct, frozen=True, kw_only=True):
    """One fork and what it is merged with. The author's texts have the fork's name, as the fork had it at the beginning."""

    fork: Fork
    base: ForkFiles
    """The release that it was made from."""
    ours: ForkFiles
    theirs: ForkFiles
    """The newest release; the same as ``base`` if there is no newer one."""
    new: ForkOrigin
    """The origin after the merge."""
    signers: tuple[str, str]
    """Who signed each release."""
    before: dict[str, str]
    """The SHA-256 of each own file, by its path in the project."""

    @property
    def is_newer(self) -> bool:
        """Whether there is a newer release."""
        return self.new.digest != self.fork.origin.digest


class OriginDiff(Struct, frozen=True, kw_only=True):
    """A fork, compared with its origin."""

    label: str
    origin: ForkOrigin
    newest: str
    own: str
    """What was changed here: a unified diff from the origin; empty if nothing was."""
    author: str
    """What the author changed since; empty if nothing was."""


class OriginUpdate(Struct, frozen=True, kw_only=True):
    """What became of one fork."""

    label: str
    shown: str
    old: str
    new: str
    changed: tuple[str, ...]
    """The paths that were written or removed, in the project."""
    conflicts: tuple[str, ...]
    """What a person has to settle, each with the path."""


class OriginDiffs(Struct, frozen=True):
    """The forks that could be compared."""

    found: tuple[OriginDiff, ...]
    left_out: tuple[str, ...]
    """The labels of those that could not, because nobody answers for their originals and the cache does not have them."""
    not_asked: tuple[NotAsked, ...]
    """Who did not answer, so that what they have that is newer is not known."""


def diff_origins(context: Context, names: tuple[str, ...]) -> OriginDiffs:
    """Compare forks with their origins. Without names, all. Of who does not answer, the last verified state and the cache are
    enough, which is told. Raises what :func:`update_origins` raises before it asks."""
    sides, left_out, not_asked = _sides(context, names, holds=True)
    for label in left_out:
        context.warn(f"{label} could not be compared with its original, which nobody answers for.")
    return OriginDiffs(tuple(_diff(one) for one in sides), tuple(left_out), not_asked)


def _diff(one: Sides) -> OriginDiff:
    name = one.fork.label.partition(":")[2]
    return OriginDiff(
        label=one.fork.label,
        origin=one.fork.origin,
        newest=one.new.version,
        own=_files_diff(one.base, one.ours, str(one.fork.origin.item), name),
        author=_files_diff(one.base, one.theirs, str(one.fork.origin.item), str(one.fork.origin.item)),
    )


def _files_diff(old: ForkFiles, new: ForkFiles, before: str, after: str) -> str:
    text = drift(new.text, old.text, merged_name=after, actual_name=before)
    return (text or "") + files_diff(old.tree, new.tree, after)


def update_origins(context: Context, names: tuple[str, ...], approved: Sequence[str] = ()) -> list[OriginUpdate]:
    """Merge the newest releases into forks. Without names, into all. ``approved``: ``[kind:]id@version`` of releases whose new
    signer, and what they make able to run, somebody agreed to by name.

    Nothing of a fork is written if anything about it is refused. Raises RyeError ``project-not-accepted`` for an origin that this
    user has not agreed to, ``release-changed``, ``release-vanished``, ``release-taken-down``, ``signer-revoked``,
    ``other-registry``, ``policy-violation``, ``consent-needed``, ``declined``.
    """
    found, _, _ = _sides(context, names, holds=False)
    for one in found:
        _require_consent(context, one, approved)
    return [_update(context, one) for one in found]


def _require_consent(context: Context, one: Sides, approved: Sequence[str]) -> None:
    """Another key than before signed the newer release, it has more files that can run, or it adds or changes one that a program
    obeys where it lies: that is asked about. Other changes wait for the signature of who read them."""
    if not one.is_newer:
        return
    item = one.fork.origin.item
    label = f"{item}@{one.new.version}"
    found = list(_to_ask(one, label))
    if not found or label in approved or f"{item.id}@{one.new.version}" in approved:
        return
    said = "; ".join(found)
    if not context.interactive:
        hint = f"If you agree to that, approve it by name: `rye update --origin {one.fork.label} --approve {label}`"
        raise RyeError("consent-needed", f"Nothing was changed: {said}.", hint)
    context.tell(f"{said}.")
    if not context.ask("Take it over?"):
        raise RyeError("declined", "Nothing was changed.")


def _to_ask(one: Sides, label: str) -> Iterator[str]:
    if one.signers[0] != one.signers[1]:
        yield (
            f"{label} is signed by {one.signers[1]}; the release that {one.fork.label} comes from was signed by {one.signers[0]}"
        )
    before = {run.where for run in runs_of_files(one.base.tree, one.base.text)}
    before &= {run.where for run in runs_of_files(one.ours.tree, one.ours.text)}  # a recorded base is only a claim
    brought = runs_brought(one.base.tree, one.theirs.tree, one.base.text, one.theirs.text)
    runs = [run for run in brought if run.where not in before or run.action.startswith(READ_BY)]
    if runs:
        named = ", ".join(dict.fromkeys(f"{visible(run.where)} ({visible(run.action)})" for run in runs))
        yield f"{label} brings what can run: {named}"


# -- the three sides ---------------------------------------------------------------------------------------------------


def _sides(
    context: Context, names: tuple[str, ...], *, holds: bool
) -> tuple[list[Sides], list[str], tuple[NotAsked, ...]]:
    """The sides of these forks. ``holds``: go on without those who do not answer; the labels of forks that they would be needed
    for come second, and who they are last."""
    project = require_project(context.cwd)
    forks = forks_named(context, names)
    for fork in forks:
        require_origin(context, project, fork)
    if not forks:
        return [], [], ()
    state = read_state(context, project)
    sides: list[Sides] = []
    left_out: list[str] = []
    contacts = True  # this user agreed to each fork's source
    outages: Outages = "hold" if holds else "fail"
    with project_sources(context, state.manifest, project.root, contacts=contacts, outages=outages) as sources:
        sources.ask_together(fork.origin.item.namespace for fork in forks)
        with context.progress("fetching"):
            for fork in forks:
                try:
                    base, newest = released_states(context, fork.origin, state, sources)
                except RyeError as error:
                    if not holds or not nobody_answers(error):
                        raise
                    left_out.append(fork.label)
                    continue
                sides.append(_compared(context, project, state.manifest, fork, base, newest))
        not_asked = tell_not_asked(context, sources, NOTHING_NEWER)
    if left_out and not sides:
        raise not_asked[0].error.with_traceback(None)
    return sides, left_out, not_asked


def _compared(
    context: Context, project: Project, manifest: Manifest, fork: Fork, base: Original, newest: Original
) -> Sides:
    judging = judging_environment(context, manifest)
    mentions = newest.words.mentions if newest.words is not None else None
    judging.require([(newest.row, mentions or ())])
    refused = installed_refusal(judging.policy, newest.row, newest.words, judging.now) if newest.words else None
    if refused is not None:
        message = f"The policy forbids {newest.row.identity} {newest.row.version}: {refused}. Nothing was changed."
        raise RyeError("policy-violation", message, f"To follow it no more, remove its entry from {ORIGINS}.")
    entry = fork.entry
    shown = entry.path.relative_to(project.root).as_posix()
    item = load_item(entry.path, shown=shown, kind=entry.location.kind)
    tree = base_tree(context, EffectiveItem(item=item, entry=entry, project=project))
    folder = shown.rpartition("/")[0]
    before = {shown: sha256(item.data).hexdigest()}
    before |= {f"{folder}/{path}": file.sha256 for path, file in tree.items()}
    row = newest.row
    return Sides(
        fork=fork,
        base=_as_fork(project, entry, base),
        ours=ForkFiles(unsigned(item.text or "", item.location, item.path.name), tree),
        theirs=_as_fork(project, entry, newest),
        new=ForkOrigin(
            item=fork.origin.item,
            version=row.version,
            digest=digest_of(row.sha256, {file.path: (file.sha256, file.executable) for file in row.attached}),
            source=fork.origin.source,
            signer=signer_of(row),
            ref=newest.at.ref if newest.at is not None else None,
            commit=newest.at.commit if newest.at is not None else None,
        ),
        signers=(base.row.signer, row.signer),
        before=before,
    )


def _as_fork(project: Project, entry: Entry, item: Original) -> ForkFiles:
    """A release as the fork would have it if nobody had changed that: with the fork's name."""
    row = item.row
    path = project.root / item_path(row)
    location = locate(path)
    assert location is not None  # rye.lock has only places of items
    text = unsigned(item.data.decode("utf-8"), location, path.name)
    published = Entry("installed", path, location, row.identity.namespace)
    place = new_place(project, published, entry.location.local_id)
    return ForkFiles(renamed_text(KINDS[row.kind], published, place, text), item.tree)


# -- the merge ---------------------------------------------------------------------------------------------------------


class MergedFile(Struct, frozen=True):
    """One attached file after the merge, at most one more beside it, and what a person has to settle about it."""

    file: TreeFile | None
    beside: TreeFile | None = None
    conflict: str | None = None


def merge_files(base: TreeFile | None, ours: TreeFile | None, theirs: TreeFile | None, their_name: str) -> MergedFile:
    """Merge one attached file; None stands for a file that is not there. Nothing of either side is lost."""
    if _same(ours, theirs) or _same(theirs, base):
        return MergedFile(ours)
    if _same(ours, base):
        return MergedFile(theirs)
    if ours is None:
        return MergedFile(theirs, conflict="the author changed it, and it was removed here; it is back")
    if theirs is None:
        return MergedFile(ours, conflict="the author removed it, and it was changed here; it stays")
    executable = theirs.executable if base is not None and base.executable == ours.executable else ours.executable
    texts = [file.text if file is not None else "" for file in (base, ours, theirs)]
    old, mine, other = texts
    if old is None or mine is None or other is None:
        return MergedFile(
            ours, theirs, f"both sides changed it, and it is not text; the author's is beside it, as {BESIDE}"
        )
    merged = merge_texts(old, mine, other, our_name="yours", their_name=their_name)
    conflict = f"{merged.conflicts} {'places' if merged.conflicts > 1 else 'place'} with conflict markers"
    return MergedFile(
        TreeFile.of(merged.text.encode(), executable=executable), conflict=conflict if merged.conflicts else None
    )


def _same(one: TreeFile | None, other: TreeFile | None) -> bool:
    return one is other if one is None or other is None else one.is_same(other)


def _update(context: Context, one: Sides) -> OriginUpdate:
    project = require_project(context.cwd)
    entry, origin = one.fork.entry, one.fork.origin
    shown = entry.path.relative_to(project.root).as_posix()
    folder = shown.rpartition("/")[0]
    their_name = f"{origin.item.id} {one.new.version}"
    conflicts: list[str] = []
    changes: list[Change] = []
    if one.is_newer:
        changes += _changes(one, shown, folder, their_name, conflicts)
        _write(project, one, changes)
        remember_or_warn(context, project, [one.new.approval(one.fork.label)])
    return OriginUpdate(
        label=one.fork.label,
        shown=shown,
        old=origin.version,
        new=one.new.version,
        changed=tuple(change.path for change in changes),
        conflicts=tuple(conflicts),
    )


def _changes(one: Sides, shown: str, folder: str, their_name: str, conflicts: list[str]) -> Iterator[Change]:
    text = merge_texts(one.base.text, one.ours.text, one.theirs.text, our_name="yours", their_name=their_name)
    if text.conflicts:
        conflicts.append(
            f"{shown}: {text.conflicts} {'places' if text.conflicts > 1 else 'place'} with conflict markers"
        )
    if text.text != one.ours.text:
        yield Change(shown, text.text.encode(), before=one.before[shown])
    trees = (one.base.tree, one.ours.tree, one.theirs.tree)
    for path in sorted({path for tree in trees for path in tree}):
        base, ours, theirs = (tree.get(path) for tree in trees)
        merged = merge_files(base, ours, theirs, their_name)
        place = f"{folder}/{path}"
        if merged.conflict is not None:
            conflicts.append(f"{place}: {merged.conflict}")
        if not _same(merged.file, ours):
            file = merged.file
            data = file.data if file is not None else None
            executable = file is not None and file.executable
            yield Change(place, data, executable, before=one.before.get(place, NOTHING))
        if merged.beside is not None:
            yield Change(f"{place}{BESIDE}", merged.beside.data, merged.beside.executable, before=NOTHING)


def _write(project: Project, one: Sides, changes: list[Change]) -> None:
    with exclusive(project) as writer:
        data = origins_bytes(project)
        known = read_origins(data) if data is not None else {}
        key = origin_key(one.fork.entry)
        if data is None or known.get(key) != one.fork.origin:
            raise RyeError("changed-meanwhile", f"{ORIGINS} was changed just now.", "Run the command again.")
        known[key] = one.new
        text = origins_text(known).encode()
        writer.apply([*changes, Change(ORIGINS, text, before=sha256(data).hexdigest())])
