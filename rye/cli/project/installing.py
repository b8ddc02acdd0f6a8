"""One run of an installing command: prepare, show, ask, switch. What the commands differ in are the values of :class:`Told`.

A run that has nothing to do touches no network and leaves the project alone: the lock fits the manifest, every byte on disk is
the lock's, the lock says of each item what its bytes say, every right is approved and the policy in force still allows it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rye.cli.options import Session
from rye.errors import RyeError, UsageError
from rye.project.layout import LOCK, Project
from rye.project.lock import Lock, LockedItem
from rye.project.lock_file import read_lock
from rye.project.manifest import Manifest, parse_manifest

if TYPE_CHECKING:
    from datetime import date

    from rye.installation.install import Prepared
    from rye.installation.on_disk import Drift
    from rye.installation.resolving import Chosen, Environment
    from rye.installation.sources import Sources
    from rye.items.identity import Identity
    from rye.permissions.policy import Policy
    from rye.project.registries import Registries

    Choose = Callable[[Sources, Environment], Mapping[Identity, Chosen]]


T = TypeVar("T")
_DONE = "everything is installed"
_ATTEMPTS = 16
"""How often a run plans anew because another one was faster."""


class Told(Struct, frozen=True):
    """What the command line said."""

    retry: str
    """The command without consent, for hints."""
    approved: tuple[str, ...] = ()
    dry_run: bool = False
    discard: bool = False
    """Whether files that were edited by hand may be replaced."""
    bundle: str | None = None
    without: frozenset[str] = frozenset()
    strict_overrides: bool = False


def until_alone(session: Session, run: Callable[[], T]) -> T:
    """The same run again where another one changed the project between its plan and its switch: as if it had waited.

    What a person agreed to was another plan, so on a terminal the first change ends it.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return run()
        except RyeError as error:
            if error.code != "lock-changed" or session.interactive:
                raise
            session.console.say("another rye changed the project meanwhile; once more")
    return run()


class Run:
    """One run. ``manifest_text``: the manifest to work by where it is not (only) the one on disk."""

    def __init__(self, session: Session, project: Project, told: Told, manifest_text: str | None = None) -> None:
        self.session = session
        self.project = project
        self.told = told
        self._recover()
        self.text_before = manifest_text_of(project)
        self.text = self.text_before if manifest_text is None else manifest_text
        self.manifest = self._read_manifest()
        self.lock_text_before = _bytes_of(project.lock_path)
        self.lock = read_lock(project)
        self.lock_before = self.lock

    def _recover(self) -> None:
        from rye.installation.transaction import exclusive, needs_recovery

        if needs_recovery(self.project):
            with exclusive(self.project):
                self.session.console.say("undid an installation that was interrupted")

    def _read_manifest(self) -> Manifest:
        manifest = parse_manifest(self.text)
        unknown = self.told.without - set(manifest.groups)
        if unknown:
            raise UsageError(
                "unknown-group", f"There is no group {min(unknown)!r}.", f"Groups: {', '.join(manifest.groups)}."
            )
        return manifest

    def sources(self) -> Sources:
        """The registries that this project asks; a context manager."""
        from rye.cli.registry.registry_access import client_opener
        from rye.installation.sources import Sources
        from rye.registry.store.write_behind import WriteBehindCache
        from rye.storage.folders import cache_dir, data_dir
        from rye.storage.verdicts import VERDICTS, Verdicts

        where = self._registries()
        cache = WriteBehindCache.at(cache_dir() / "registry")
        verdicts = Verdicts(data_dir() / VERDICTS)
        return Sources(where, client_opener(self.session, self.told.bundle, cache, verdicts), verdicts, cache.flush)

    def _registries(self) -> Registries:
        from rye.project.registries import registries
        from rye.project.user_config import read_settings

        setting = read_settings().get("registry")
        return registries(self.session.registry, self.manifest, setting, self.project.root)

    def _same_registries(self) -> bool:
        """Whether every namespace is still mapped to the registry that its items are locked to, as far as the pins tell."""
        import msgspec

        from rye.registry.store.pins import read_addresses
        from rye.storage.folders import data_dir

        where = self._registries()
        locked = {(item.identity.namespace, item.registry) for item in self.lock.items}
        asked = [(where.by_namespace.get(namespace) or where.default or "", origin) for namespace, origin in locked]
        try:
            pinned = read_addresses(data_dir() / "registries")
        except (OSError, msgspec.MsgspecError):  # asking the registries says what is wrong
            return False
        return all(pinned.get(address, origin) == origin for address, origin in asked)

    def use_manifest(self, text: str) -> None:
        """Go on with another manifest, which is written with the lock."""
        self.text = text
        self.manifest = self._read_manifest()

    # -- installing --------------------------------------------------------------------------------------------------------

    def install(self, unlock: frozenset[Identity] | None, *, locked: bool = False, frozen: bool = False) -> None:
        """Bring disk and lock to what the manifest asks for. ``unlock``: as in :func:`rye.installation.resolving.resolve`."""
        from rye.installation.on_disk import scan
        from rye.project.freshness import is_stale

        if locked and is_stale(self.lock, self.manifest):
            if self.lock_text_before is None:
                raise RyeError(
                    "no-lock", "There is no rye.lock to install from.", "Run `rye install`, and commit rye.lock."
                )
            raise RyeError(
                "stale-lock", "rye.lock does not fit rye.toml.", "Run `rye install` or `rye lock`, and commit rye.lock."
            )
        present = scan(self.project)
        if frozen:
            self._refuse_edited("rye install --discard-local-edits", present)
        if unlock == frozenset() and self._nothing_to_do(present):
            self._report([], _DONE)
            self._remember_unchanged()
            return
        if not self.manifest.dependencies and not self.lock.items:
            self._report([], "rye.toml asks for nothing; `rye add [KIND:]ID` adds an item")
            return
        with self.sources() as sources:
            self.install_from(sources, unlock)

    def _remember_unchanged(self) -> None:
        if not self.session.json:
            from rye.cli.unchanged import remember

            session = self.session
            remember(session.arguments, str(self.project.root), os.environ, session.started, f"{_DONE}\n")

    def install_from(self, sources: Sources, unlock: frozenset[Identity] | None) -> None:
        """Choose as the lock has it or anew, and install that."""
        from rye.installation.install import choose

        self.install_chosen(sources, lambda s, e: choose(self.manifest, self.lock, s, e, unlock))

    def install_chosen(self, sources: Sources, choose: Choose, wanted: Mapping[str, str] | None = None) -> None:
        """Fetch, verify, show, ask, switch. ``wanted``: what the lock shall say was asked for; None: what the manifest asks."""
        from rye.cli.project.consent import change_json, get_consent, show_plan
        from rye.installation.install import new_lock, prepare
        from rye.installation.on_disk import scan

        environment = self.environment()
        with self.session.console.progress("resolving and fetching"):
            chosen = choose(sources, environment)
            prepared = prepare(self.lock, self.manifest, chosen, sources, environment, self.told.without)
        if wanted is not None:
            prepared = replace(prepared, wanted=wanted)
        self._refuse_edited(f"{self.told.retry} --discard-local-edits", scan(self.project))
        overrides = self._recheck_overrides(prepared, environment.now.date())
        show_plan(self.session, prepared.plan, (*prepared.warnings, *overrides))
        if overrides and self.told.strict_overrides:
            raise RyeError(
                "overrides-do-not-fit",
                "Overrides do not fit the new versions; nothing was changed.",
                "The warnings above say what does not fit the new versions; mend the overrides, or leave --strict-overrides out.",
            )
        rows = [change_json(change) for change in prepared.plan.effective]
        if self.told.dry_run:
            self._report(rows, "nothing was changed (--dry-run)", prepared.warnings)
            return
        consent = get_consent(self.session, prepared.plan, self.told.approved, self.told.retry)
        done = self._switch(prepared, new_lock(prepared, consent))
        said = _summary(rows) or (_DONE + (f"; {done} file{'s' * (done != 1)} written" if done else ""))
        self._report(rows, said, prepared.warnings)

    def _switch(self, prepared: Prepared, lock: Lock) -> int:
        """Write everything as one transaction; how many files changed."""
        from rye.installation.install import changes
        from rye.installation.on_disk import read_written, scan
        from rye.installation.placement import item_files
        from rye.installation.rollback import keep_previous
        from rye.installation.transaction import exclusive

        with exclusive(self.project) as writer:
            self._refuse_meanwhile()
            present = scan(self.project)
            self._refuse_edited(f"{self.told.retry} --discard-local-edits", present)
            removable = set(read_written(self.project)).union(*map(item_files, self.lock.items))
            removable = set(present) if self.told.discard else removable & present.keys()
            text = self.text if self.text != self.text_before else None
            found = changes(lock, prepared.items, removable, text)
            if text is not None or any(c.path == LOCK and c.data != self.lock_text_before for c in found):
                found.extend(keep_previous(self.project, self.text))
            return writer.apply(found)

    def _refuse_meanwhile(self) -> None:
        if (
            _bytes_of(self.project.lock_path) != self.lock_text_before
            or manifest_text_of(self.project) != self.text_before
        ):
            raise RyeError(
                "lock-changed",
                "Somebody changed rye.lock or rye.toml meanwhile; nothing was written.",
                f"Run `{self.told.retry}` again.",
            )

    def _refuse_edited(self, discard: str, present: Mapping[str, str | None]) -> None:
        """Stop for files that a person changed."""
        if self.told.discard:
            return
        from rye.installation.on_disk import edited, read_written

        found = edited(self.lock_before.items, present, read_written(self.project))
        if found:
            raise edited_error(self.project, found, discard)

    def _nothing_to_do(self, present: Mapping[str, str | None]) -> bool:
        from rye.installation.on_disk import drift
        from rye.project.freshness import in_groups, is_stale

        if self.text != self.text_before or is_stale(self.lock, self.manifest):
            return False
        items = in_groups(self.lock.items, self.told.without)
        if drift(items, present) or any(item.approved_signer is not None for item in items):
            return False
        if not self._same_registries():
            return False
        return self._words_hold(items) and self._all_approved(items) and self._all_allowed(items)

    def _words_hold(self, items: Sequence[LockedItem]) -> bool:
        """Whether the lock says of what is installed what its bytes say. Raises RyeError ``lock-mismatch``."""
        from rye.installation.lock_words import installed_words_hold
        from rye.storage.folders import data_dir
        from rye.storage.verdicts import VERDICTS, Verdicts

        verdicts = Verdicts(data_dir() / VERDICTS)
        try:
            held = installed_words_hold(self.project, items, verdicts)
            verdicts.flush()
            return held
        finally:
            verdicts.close()

    def _all_approved(self, items: Sequence[Any]) -> bool:
        if all(set(item.capabilities) <= set(item.approved_capabilities) for item in items):
            return True
        from rye.installation.plan import make_plan

        return not any(change.asks for change in make_plan(self.lock, items).changes)

    def _all_allowed(self, items: Sequence[Any]) -> bool:
        """Whether the policy allows what is installed, as far as the lock tells; where not, the whole way says why."""
        policy = self._policy()
        if policy is None:
            return True
        from rye.permissions.policy import violations

        return not any(
            violations(policy, item.capabilities) or not policy.accepts_signer([item.signer]) for item in items
        )

    def _policy(self) -> Policy | None:
        """The policy in force; None where nobody has one (and nothing needs to be imported)."""
        from rye.installation.policy_files import any_policy, policy_in_force

        return policy_in_force(self.manifest) if any_policy(self.manifest) else None

    def environment(self) -> Environment:
        """What releases are judged by, now."""
        from datetime import UTC, datetime

        from rye.installation.policy_files import policy_in_force
        from rye.installation.resolving import Environment

        return Environment(self.manifest.provides, policy_in_force(self.manifest), datetime.now(UTC))

    def _recheck_overrides(self, prepared: Prepared, today: date) -> list[str]:
        from rye.installation.override_check import override_findings

        return override_findings(self.project, self.manifest, prepared, today)

    # -- the lock alone ------------------------------------------------------------------------------------------------------

    def relock(self) -> None:
        """Resolve and write the lock alone; nothing is approved by it."""
        from rye.project.freshness import is_stale

        if self.lock_text_before is not None and not is_stale(self.lock, self.manifest) and self._same_registries():
            self._report([], "rye.lock is up to date")
            return
        from rye.installation.install import prepare, unapproved
        from rye.installation.resolving import resolve
        from rye.installation.rollback import keep_previous
        from rye.installation.transaction import Change, exclusive
        from rye.project.freshness import wanted_ranges
        from rye.project.lock import lock_text

        environment = self.environment()
        with self.sources() as sources:
            chosen = resolve(self.manifest, self.lock, sources, environment, frozenset())
            prepared = prepare(self.lock, self.manifest, chosen, sources, environment)
        items = unapproved(self.lock, [change.new for change in prepared.plan.changes if change.new is not None])
        text = lock_text(Lock(wanted_ranges(self.manifest), tuple(items)))
        changed = text.encode() != self.lock_text_before
        if changed and not self.told.dry_run:
            with exclusive(self.project) as writer:
                self._refuse_meanwhile()
                writer.apply([Change("rye.lock", text.encode()), *keep_previous(self.project, self.text)])
        said = f"locked {len(items)} items" if changed else "rye.lock is up to date"
        self._report([], f"{said} (--dry-run: nothing was written)" if self.told.dry_run else said)

    def check_lock(self) -> int:
        """Whether the lock fits the manifest; the exit code."""
        from rye.project.freshness import is_stale

        stale = is_stale(self.lock, self.manifest) or not self._same_registries()
        unfit = "there is no rye.lock" if self.lock_text_before is None else "rye.lock does not fit rye.toml"
        self._report([], unfit if stale else "rye.lock fits rye.toml", stale=stale)
        return 1 if stale else 0

    def _report(
        self, rows: Sequence[dict[str, object]], said: str, warnings: Sequence[str] = (), **more: object
    ) -> None:
        if self.session.json:
            self.session.console.document(
                {
                    "changes": list(rows),
                    "message": said,
                    "warnings": list(warnings),
                    "dry_run": self.told.dry_run,
                    **more,
                }
            )
        else:
            self.session.console.data(said)


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def manifest_text_of(project: Project) -> str:
    """The text of the project's manifest; empty where there is none."""
    try:
        return project.manifest_path.read_bytes().decode("utf-8")  # line endings stay what they are
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise RyeError("bad-manifest", "rye.toml is not UTF-8.", "Save it as UTF-8.") from None


def _summary(rows: Sequence[dict[str, object]]) -> str:
    names = {"add": "added", "update": "updated", "downgrade": "downgraded", "replace": "replaced", "remove": "removed"}
    counts = {said: sum(row["action"] == action for row in rows) for action, said in names.items()}
    return ", ".join(f"{said} {count}" for said, count in counts.items() if count)


_SHOWN_DIFF_LINES = 40


def edited_error(project: Project, edited: Sequence[Drift], discard: str) -> RyeError:
    """Files were edited by hand: the difference of the first, and the two ways on."""
    from rye.installation.hand_edits import cached_bytes, edit_diff

    first = edited[0]
    what = "was changed" if first.state == "changed" else "was added"
    more = f" (and {len(edited) - 1} more)" if len(edited) > 1 else ""
    signed = cached_bytes(edited)
    diffs = {entry.path: edit_diff(project, entry, signed.get(entry.path)) for entry in edited}
    shown = [line.replace("\n", "\\n") for line in diffs[first.path][:_SHOWN_DIFF_LINES]]
    if len(diffs[first.path]) > _SHOWN_DIFF_LINES:
        shown.append("…")
    keep = f"`rye override new {first.item.id}` keeps a change through upgrades; " if first.item is not None else ""
    return RyeError(
        "edited-files",
        "\n".join([f"{first.path} {what} by hand{more}; installed files are never overwritten silently.", *shown]),
        f"`rye diff --edited` shows every difference; {keep}`{discard}` puts the signed bytes back.",
        details={
            "files": [
                {"path": entry.path, "state": entry.state, "diff": "\n".join(diffs[entry.path]) or None}
                for entry in edited
            ]
        },
    )
