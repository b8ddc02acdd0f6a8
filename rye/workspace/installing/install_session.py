"""One attempt at an installation: the project as it was read, what is asked for, and the manifest to install.
Files of installed items that a person edited are never overwritten silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.agreement import Agreement, MovedRow
from rye.consent.ask import Ask
from rye.errors import RyeError
from rye.installation.shadows import project_shadows, shadows_error
from rye.items.kinds import KINDS
from rye.items.named import ItemNames
from rye.limits import OVERRIDES
from rye.project.context import members_of
from rye.project.forced_versions import unused
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.lock_file import is_stale, item_files, require_groups
from rye.project.manifest import Manifest
from rye.project.members import MemberText, whole_manifest
from rye.project.spaces import entries
from rye.project.user_config import OtherPolicies, read_other_policies
from rye.registry.store.pins import has_advisories
from rye.storage.home import Home
from rye.text.lazy import lazy_module
from rye.verified.on_disk import DISCARDS, RESTORES, Drift, Present, edited, explained, lost_flags
from rye.workspace.installing.moved_texts import MovedTexts, moved_texts
from rye.workspace.installing.project_state import ProjectState, read_state
from rye.workspace.trusting.acceptance import accepted_before, agreement, trusts_lock
from rye.workspace.trusting.project_changes import ReadSigned, project_changes, require_allowed, shown_lines

if TYPE_CHECKING:
    from rye.installation.install import Prepared
    from rye.registry.store import seen_advisories
    from rye.registry.trust import records
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Agree, InstallRequest
    from rye.workspace.trusting import trusting_project
else:
    seen_advisories = lazy_module("rye.registry.store.seen_advisories")  # only if this machine has seen any
    records = lazy_module("rye.registry.trust.records")
    trusting_project = lazy_module("rye.workspace.trusting.trusting_project")  # once per checkout

T = TypeVar("T")
MOST_ATTEMPTS = 16
"""How often a run starts over because another process changed the project."""


def retry_when_overtaken(context: Context, attempt: Callable[[], T]) -> T:
    """Run ``attempt``, and again if another process changed the project between its plan and its switch, or if a newer policy of
    an organization arrived before there was a plan.

    A person agreed to a specific plan, so with a person there is no second attempt.
    """
    for _ in range(MOST_ATTEMPTS - 1):
        try:
            return attempt()
        except RyeError as error:
            if error.code == "policy-changed":
                context.tell(error.message)
                continue
            if error.code != "lock-changed" or context.interactive:
                raise
            context.tell("rye.lock was changed by another rye process; retrying")
    return attempt()


class Look(Struct, frozen=True):
    """What a session found before asking any registry."""

    warned: tuple[str, ...]
    in_order: bool
    """Whether nothing has to be done."""
    waiting: tuple[Ask, ...] = ()
    """If so: what rye.lock approves and this user has not agreed to."""
    rows: tuple[LockedItem, ...] = ()
    """If so: the items whose bytes this user agreed to, once nothing waits."""


class InstallSession(Struct, frozen=True, kw_only=True):
    """One attempt. Made by :func:`open_session`."""

    context: Context
    request: InstallRequest
    agree: Agree
    before: ProjectState
    manifest_text: str
    """The manifest to install; written if it differs from the one on disk."""
    manifest: Manifest
    members: tuple[MemberText, ...]
    """The members' manifests to install; written if they differ from those on disk."""
    policies: OtherPolicies
    """The policies besides the project's, read once per attempt."""

    @property
    def keeps_manifests(self) -> bool:
        """Whether the manifests to install are those on disk."""
        return (self.manifest_text, self.members) == (self.before.manifest_text, self.before.members)

    def text_of(self, member: str) -> str:
        """The manifest's text of a member, by its folder; empty: the root's."""
        return next((one.text for one in self.members if one.path == member), self.manifest_text)

    def with_manifest(self, text: str, member: str = "") -> InstallSession:
        """The same attempt with another manifest, of the root or of a member."""
        members = tuple(MemberText(one.path, text) if one.path == member else one for one in self.members)
        text = self.manifest_text if member else text
        return replace(self, manifest_text=text, members=members, manifest=_manifest(text, members, self.request))

    @property
    def agreement(self) -> Agreement:
        """What this user agreed to in the project, in this run."""
        return agreement(self.context, self.before.project)

    def look_at_changes(self, items: Sequence[LockedItem], signed: ReadSigned | None = None) -> tuple[Ask, ...]:
        """The approvals that the project's customizations need, of these items and of its own, and on a terminal what
        :attr:`first_own` has.

        ``signed``: the items with their signed files; None means those on disk or in the cache.

        Raises RyeError ``policy-violation`` for forbidden mentions that they add.
        """
        project = self.before.project
        if self.policies.restrict(self.manifest):
            from rye.installation.environment import (
                policy_in_force,  # compares patterns, and few projects have a policy
            )

            policy = policy_in_force(self.manifest, self.policies)
            require_allowed(self.context.home, policy, project, self.manifest, items, signed)
        found = project_changes(self.context.home, project, self.manifest, items, signed)
        if not trusts_lock(self.context):
            return (*found, *self.first_own) if self.context.interactive else found
        for line in shown_lines(found):
            self.context.tell(line)
        return ()

    @property
    def first_own(self) -> tuple[Ask, ...]:
        """At the first acceptance of the checkout: what its own items need, which others made. Where nobody can be asked they are
        only left out of deploys, and ``rye trust project`` asks about later ones."""
        if accepted_before(self.context.home, self.before.project):
            return ()
        return trusting_project.own_waiting(self.context.home, self.before.project, self.manifest)

    def look_for_shadows(self, items: Sequence[LockedItem]) -> tuple[str, ...]:
        """Warn about own items with the id of one of ``items``, and return the warnings. Raises RyeError ``shadows-installed`` if
        the lock must not change, because then the items used must be the locked ones."""
        found = project_shadows(self.context.home, self.before.project, self.manifest.namespace, items)
        if found and self.request.lock_use != "repair":
            raise shadows_error(found)
        for shadow in found:
            self.context.warn(shadow.message, shadow.hint)
        return tuple(shadow.message for shadow in found)

    def look_for_absent(self, prepared: Prepared) -> tuple[str, ...]:
        """What the new and changed items name and what is not here either, as warnings. The names are in what was verified;
        files are not read, and the other spaces are listed only if the installed items do not have a name."""
        changed = {change.identity for change in prepared.plan.changes if change.action not in ("keep", "remove")}
        items = [item for identity, item in prepared.items.items() if identity in changed and item.metadata.names]
        if not items:
            return ()
        rows = (*prepared.rows, *prepared.unasked)
        here = ItemNames(((row.kind, row.id, row.identity.local_id) for row in rows), self.manifest.provides)
        if any(here.lacks(item.metadata.names) for item in items):
            spaces = entries(self.context.home, self.before.project, self.manifest.namespace)
            present = (entry for space, found in spaces if space != "installed" for entry in found)
            here = here.joined((entry.location.kind, entry.id, entry.location.local_id) for entry in present)
        return tuple(
            f"{item.locked.identity} {item.locked.version} {one.verb} {one.name}, which is not installed ({one.command})"
            for item in items
            for one in (absent.within(item.locked.identity.namespace) for absent in here.lacks(item.metadata.names))
        )

    def look_for_advisories(self, items: Sequence[LockedItem]) -> tuple[str, ...]:
        """Warn about advisories about these versions that this machine has seen, and return the warnings. No registry is asked.
        Raises RyeError ``state-damaged`` and ``state-exposed``."""
        folder = self.context.home.registries
        origins = dict.fromkeys(item.registry for item in items if item.source is None)
        seen = {each: seen_advisories.read_advisories(folder, each) for each in origins if has_advisories(folder, each)}
        told = []
        for item in items if seen else ():
            about = seen.get(item.registry, {}).get(str(item.identity))
            for advisory in about.advisories if about is not None else ():
                if records.concerns(advisory, item.version):
                    told.append(f"{item.identity}@{item.version}: {records.advisory_words(advisory)}")
                    self.context.warn(told[-1], records.advisory_hint(item.identity))
        return tuple(told)

    def tell_moves(self, moved: Sequence[MovedRow]) -> MovedTexts:
        """Tell what rye.lock moved since this user installed here last, and return what becomes of it. Its warnings
        are for the caller to show."""
        takes_lock = self.request.lock_use == "frozen" or trusts_lock(self.context)
        moves = moved_texts(self.context, moved, takes_lock=takes_lock)
        for line in moves.told:
            self.context.tell(line)
        return moves

    def look_for_unused_overrides(self) -> tuple[str, ...]:
        """Warn about lines of ``[overrides]`` that force no locked item, and return the warnings."""
        if not self.manifest.overrides or is_stale(self.before.lock, self.manifest):
            return ()  # choosing versions reports this itself
        told = [one.unused for one in unused(self.manifest.overrides, self.before.lock.by_identity())]
        for words in told:
            self.context.warn(*words)
        return tuple(message for message, _ in told)

    def refuse_lost_flags(self, present: Mapping[str, Present]) -> None:
        """Stop if an installed file lost or gained its executable bit: like an edit, it is not what was installed."""
        flags = lost_flags(self.before.lock.items, present)
        if flags:
            raise edited_files(self.context.home, self.before.project, flags, DISCARDS)

    def refuse_edits(self, command: str, present: Mapping[str, Present], signed: Iterable[LockedItem] = ()) -> None:
        """Stop if a person changed files. ``command``: to repeat with the option that discards the edits.

        ``signed``: items whose files are not edits either, e.g. from a merge and about to be installed.
        """
        if not self.request.discard_local_edits:
            items, known = self.before.lock.items, (*self.before.rows, *signed)
            refuse_hand_edits(
                self.context.home, self.before.project, items, present, f"{command} --discard-local-edits", known
            )


def open_session(
    context: Context,
    project: Project,
    request: InstallRequest,
    agree: Agree,
    manifest_text: str | None = None,
    members: Mapping[str, str] | None = None,
) -> InstallSession:
    """Read the project for one attempt. ``manifest_text``: the manifest to install; None means the one on disk. ``members``:
    texts of members' manifests, by folder, in place of those on disk."""
    before = read_state(context, project, joins_sides=request.lock_use == "repair")
    text = before.manifest_text if manifest_text is None else manifest_text
    found = before.members if manifest_text is None else members_of(project, text)
    given = tuple(MemberText(one.path, (members or {}).get(one.path, one.text)) for one in found)
    policies = read_other_policies(context.home, context.now())
    return InstallSession(
        context=context,
        request=request,
        agree=agree,
        before=before,
        manifest_text=text,
        manifest=_manifest(text, given, request),
        members=given,
        policies=policies,
    )


def _manifest(text: str, members: tuple[MemberText, ...], request: InstallRequest) -> Manifest:
    manifest = whole_manifest(text, members)
    require_groups(manifest, request.without)
    return manifest


def refuse_hand_edits(
    home: Home,
    project: Project,
    items: Sequence[LockedItem],
    present: Mapping[str, Present],
    discard_command: str,
    signed: Iterable[LockedItem] = (),
) -> None:
    """Raise RyeError ``edited-files`` if a person changed or added a file. ``discard_command``: discards the edits.

    ``signed``: more items; a file that matches one of them is not an edit.
    """
    found = edited(project, items, present)
    if found:
        known = {(path, sha256) for item in signed for path, (sha256, _) in item_files(item).items()}
        found = [entry for entry in found if (entry.path, present[entry.path].sha256) not in known]
    if found:
        raise edited_files(home, project, found, discard_command)


def edited_files(home: Home, project: Project, edits: Sequence[Drift], discard_command: str) -> RyeError:
    """The error: the first file's diff, and the two ways to continue."""
    from rye.installation.hand_edits import cached_bytes, edit_diff

    told = {entry.path: explained(project, entry, discard_command, RESTORES) for entry in edits}
    edits = sorted(edits, key=lambda entry: told[entry.path] is not None)  # those that a person made first
    first = edits[0]
    what = f"was {'changed' if first.state == 'changed' else 'added'} by hand"
    more = f" (and {len(edits) - 1} more)" if len(edits) > 1 else ""
    signed = cached_bytes(home, edits)
    diffs = {entry.path: edit_diff(project, entry, signed.get(entry.path)) for entry in edits}
    shown = [line.replace("\n", "\\n") for line in diffs[first.path][: OVERRIDES.shown_diff_lines]]
    if len(diffs[first.path]) > OVERRIDES.shown_diff_lines:
        shown.append("…")
    keep = KINDS[first.item.identity.kind].kept_by(first.item.id) if first.item is not None else "."
    hint = f"`rye diff --edited` shows every difference. `{discard_command}` restores them as rye.lock has them{keep}"
    if (checkout := told[first.path]) is not None:
        (what, hint), shown = checkout, []
    return RyeError(
        "edited-files",
        "\n".join([f"{first.path} {what}{more}; installed files are never overwritten silently.", *shown]),
        hint,
        details={
            "files": [
                {"path": entry.path, "state": entry.state, "diff": "\n".join(diffs[entry.path]) or None}
                for entry in edits
            ]
        },
    )
