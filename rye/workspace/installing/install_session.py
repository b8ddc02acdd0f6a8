"""One installation: words in, a plan out, consent through one callback, a result out.

A session that has nothing to do touches no network and leaves the project alone
(:mod:`rye.workspace.installing.nothing_to_do`). Every other one resolves or takes the lock, fetches, verifies, shows, gets
consent, and switches the files as one transaction. Nothing is written before the switch, and nothing when somebody else
changed the project since it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.installation.completeness import does_not_fit, problems
from rye.installation.on_disk import Present, scan
from rye.installation.shadows import project_shadows, shadows_error
from rye.installation.transaction import exclusive
from rye.installation.unlock import Unlock
from rye.project.freshness import in_groups, is_stale
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.manifest import Manifest, parse_manifest
from rye.workspace.installing.consent import accept_lock
from rye.workspace.installing.hand_edits import refuse_hand_edits
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.nothing_to_do import nothing_to_do
from rye.workspace.installing.project_state import ProjectState, read_state
from rye.workspace.trusting.acceptance import Approval, approvals, remember, trusts_lock, unseen

if TYPE_CHECKING:
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Agree, InstallRequest

T = TypeVar("T")
MOST_ATTEMPTS = 16
"""How often a run plans again because another process changed the project first."""


def retry_when_overtaken(context: Context, attempt: Callable[[], T]) -> T:
    """The same attempt again where another process changed the project between its plan and its switch.

    What a person agreed to was another plan, so with a person the first change ends it.
    """
    for _ in range(MOST_ATTEMPTS - 1):
        try:
            return attempt()
        except RyeError as error:
            if error.code != "lock-changed" or context.interactive:
                raise
            context.tell("rye.lock was changed by another rye process; retrying")
    return attempt()


def install(context: Context, project: Project, request: InstallRequest, agree: Agree) -> InstallOutcome:
    """Bring a project to what its rye.toml and rye.lock say."""
    return retry_when_overtaken(
        context, lambda: open_session(context, project, request, agree).install(Unlock.nothing())
    )


class InstallSession(Struct, frozen=True):
    """One attempt. Made by :func:`open_session`."""

    context: Context
    request: InstallRequest
    agree: Agree
    before: ProjectState
    manifest_text: str
    """The manifest to install, which is written where it differs from the one on disk."""
    manifest: Manifest

    def with_manifest(self, text: str) -> InstallSession:
        """The same attempt for another manifest."""
        return replace(self, manifest_text=text, manifest=_manifest(text, self.request))

    def install(self, unlock: Unlock) -> InstallOutcome:
        """Bring disk and lock to what the manifest asks for."""
        frozen = self.request.lock_use == "frozen"
        if self.request.lock_use != "repair":
            self._refuse_stale_lock()
        warned = self.look_for_shadows(self.before.lock.items)
        present = scan(self.before.project)
        if frozen:
            self.refuse_edits("rye install", present)
        unchanged = unlock.is_nothing and self.manifest_text == self.before.manifest_text
        if unchanged and nothing_to_do(self.context, self.before, self.manifest, self.request.without, present):
            self._accept()
            return InstallOutcome("in-order", warnings=warned, followed=self._follow())
        if not self.manifest.dependencies and not self.before.lock.items:
            return InstallOutcome("nothing-wanted", followed=self._follow())
        from rye.workspace.installing.install_steps import resolve_and_install  # solver and client: not needed above

        return resolve_and_install(self, unlock)

    def _follow(self) -> object | None:
        """What belongs on top of an installation that changes nothing: looked at first, since it seldom changes anything."""
        follow, project = self.request.follow, self.before.project
        found = follow(self.context, project) if follow is not None and not self.request.dry_run else None
        if follow is None or found is None:
            return None
        if not found[0].changes and not found[0].folders:
            return found[1]
        with exclusive(project) as writer:
            again = follow(self.context, project)
            if again is None:
                return None
            writer.apply(again[0].changes, folders=again[0].folders)
            return again[1]

    def unseen(self, relied: Iterable[Approval]) -> tuple[Approval, ...]:
        """Those of these approvals that this user has not agreed to; none where the run was told to trust the lock."""
        if trusts_lock(self.context, self.request.trust_lock):
            return ()
        return unseen(self.before.project, relied)

    def _accept(self) -> None:
        """What rye.lock approves of what is installed counts here, or a person is asked."""
        waiting = self.unseen(approvals(in_groups(self.before.lock.items, self.request.without)))
        if waiting and not self.request.dry_run:
            accept_lock(self.context, self.agree, waiting)
            remember(self.before.project, waiting)

    def look_for_shadows(self, items: Sequence[LockedItem]) -> tuple[str, ...]:
        """Warn of own items with the id of one of ``items``; the warnings. Raises RyeError ``shadows-installed`` where the lock
        may not be changed: what is used there must be what it names."""
        found = project_shadows(self.before.project, self.manifest.namespace, items)
        if found and self.request.lock_use != "repair":
            raise shadows_error(found)
        for shadow in found:
            self.context.warn(shadow.message, shadow.hint)
        return tuple(shadow.message for shadow in found)

    def refuse_edits(self, command: str, present: Mapping[str, Present], signed: Iterable[LockedItem] = ()) -> None:
        """Stop for files that a person changed. ``command``: to repeat with the option that gives the edits up.

        ``signed``: items whose files are no edits, either, e.g. those that a merge brought and that are about to be installed.
        """
        if not self.request.discard_local_edits:
            items, known = self.before.lock.items, (*self.before.rows, *signed)
            refuse_hand_edits(self.before.project, items, present, f"{command} --discard-local-edits", known)

    def _refuse_stale_lock(self) -> None:
        """Raises RyeError ``no-lock`` or ``lock-does-not-fit`` where the lock was made for another manifest."""
        if not is_stale(self.before.lock, self.manifest):
            return
        if self.before.lock_bytes is None:
            raise RyeError(
                "no-lock", "There is no rye.lock to install from.", "Run `rye install`, and commit rye.lock."
            )

        raise does_not_fit(problems(self.manifest, self.before.lock, {}))


def open_session(
    context: Context, project: Project, request: InstallRequest, agree: Agree, manifest_text: str | None = None
) -> InstallSession:
    """Read the project for one attempt. ``manifest_text``: the manifest to install; None: the one on disk."""
    before = read_state(context, project, joins_sides=request.lock_use == "repair")
    text = before.manifest_text if manifest_text is None else manifest_text
    return InstallSession(context, request, agree, before, text, _manifest(text, request))


def _manifest(text: str, request: InstallRequest) -> Manifest:
    manifest = parse_manifest(text)
    unknown = request.without - set(manifest.groups)
    if unknown:
        raise UsageError(
            "unknown-group", f"There is no group {min(unknown)!r}.", f"Groups: {', '.join(manifest.groups)}."
        )
    return manifest
