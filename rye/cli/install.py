"""``rye init``, ``add``, ``remove``, ``install``, ``update``, ``lock``, ``ci``: the project's manifest, lock and packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from rye.cli.bundle_access import bundle_options
from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError
from rye.project.context import require_project
from rye.project.layout import MANIFEST, Project
from rye.project.lock import Lock
from rye.project.lock_file import read_lock
from rye.project.manifest import Manifest, parse_manifest

if TYPE_CHECKING:
    from rye.installation.install import Prepared
    from rye.installation.sources import Sources
    from rye.items.identity import Identity


# -- options that several commands share ----------------------------------------------------------------------------------


def _options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    made: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
        "approve": click.option(
            "--approve",
            "approved",
            multiple=True,
            metavar="ID@VERSION",
            help="Approve this item's rights, hooks and signer.",
        ),
        "dry_run": click.option("--dry-run", is_flag=True, help="Show what would change, and stop."),
        "group": click.option("--group", default="main", show_default=True, help="Group of dependencies."),
        "without": click.option("--without", multiple=True, metavar="GROUP", help="Leave a group out."),
        "discard": click.option(
            "--discard-local-edits", is_flag=True, help="Put the signed bytes back over files edited in .ai/packages."
        ),
        "bundle": bundle_options,
    }

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            function = made[name](function)
        return function

    return decorate


# -- commands ---------------------------------------------------------------------------------------------------------------


@command("init")
@click.argument("folder", required=False)
@click.option("--name", help="The project's name; default: its folder's.")
@click.option("--namespace", help="What its own items are published under.")
@click.pass_obj
def init(session: Session, folder: str | None, name: str | None, namespace: str | None) -> None:
    """Make a project: a rye.toml in FOLDER or here."""
    from rye.items.identity import is_segment
    from rye.project.atomic import replace_file
    from rye.project.manifest_edit import new_manifest

    root = session.path(folder) if folder else session.cwd
    if namespace is not None and not is_segment(namespace):
        raise UsageError(
            "bad-name", f"{namespace!r} cannot be a namespace.", "Names: a-z, 0-9, '-' and '_', at most 64."
        )
    if (root / MANIFEST).exists():
        raise RyeError("project-exists", f"{root / MANIFEST} exists.", "Add items with `rye add [KIND:]ID`.")
    root.mkdir(parents=True, exist_ok=True)
    text = new_manifest(name or root.resolve().name, namespace, None)
    parse_manifest(text)
    replace_file(root / MANIFEST, text.encode())
    if session.json:
        session.console.document({"project": str(root), "manifest": str(root / MANIFEST)})
    else:
        session.console.data(f"made {root / MANIFEST}")
        session.console.say("Next: `rye add [KIND:]NAMESPACE/CATEGORY/NAME`, or `rye new directive CATEGORY/NAME`.")


@command("add")
@click.argument("items", nargs=-1, required=True, metavar="[KIND:]ID[@RANGE]…")
@_options("group", "approve", "dry_run", "discard", "bundle")
@click.pass_obj
def add(
    session: Session,
    items: tuple[str, ...],
    group: str,
    approved: tuple[str, ...],
    dry_run: bool,
    discard_local_edits: bool,
    bundle: str | None,
) -> None:
    """Add items to rye.toml and install them with what they depend on."""
    project = require_project(session.cwd)
    _add(
        session,
        project,
        items,
        group,
        approved,
        dry_run,
        discard_local_edits,
        bundle,
        retry=f"rye add {' '.join(items)}",
    )


@command("remove")
@click.argument("items", nargs=-1, required=True, metavar="[KIND:]ID…")
@_options("dry_run", "discard")
@click.pass_obj
def remove(session: Session, items: tuple[str, ...], dry_run: bool, discard_local_edits: bool) -> None:
    """Take items out of rye.toml, with what nothing else needs."""
    from rye.project.manifest_edit import remove_dependency

    project = require_project(session.cwd)
    text = _manifest_text(project)
    for name in items:
        text = _removed(text, name, remove_dependency)
    run = _Run(session, project, text, (), dry_run, discard_local_edits, None, retry=f"rye remove {' '.join(items)}")
    run.install(frozenset())


def _removed(text: str, name: str, edit: Callable[[str, str], tuple[str, list[str]]]) -> str:
    from rye.items.identity import parse_reference

    wanted = parse_reference(name)
    keys = [w.key for w in parse_manifest(text).dependencies if w.id == wanted.id and wanted.kind in (None, w.kind)]
    if not keys:
        listed = ", ".join(w.key for w in parse_manifest(text).dependencies) or "nothing"
        raise RyeError("not-a-dependency", f"{name!r} is not in rye.toml.", f"There is: {listed}.")
    for key in dict.fromkeys(keys):
        text = edit(text, key)[0]
    return text


@command("install")
@click.argument("items", nargs=-1, metavar="[KIND:]ID[@RANGE]…")
@click.option("--locked", is_flag=True, help="Fail when rye.lock does not fit rye.toml.")
@click.option("--frozen", is_flag=True, help="Install exactly rye.lock, and check the bytes that are installed.")
@_options("group", "without", "approve", "dry_run", "discard", "bundle")
@click.pass_obj
def install(
    session: Session,
    items: tuple[str, ...],
    locked: bool,
    frozen: bool,
    group: str,
    without: tuple[str, ...],
    approved: tuple[str, ...],
    dry_run: bool,
    discard_local_edits: bool,
    bundle: str | None,
) -> None:
    """Install what rye.toml asks for, as rye.lock has it; with ITEMS, add them first."""
    if items:
        if locked or frozen or without:
            raise UsageError(
                "contradiction", "--locked, --frozen and --without go without items.", "Use `rye add` first."
            )
        project = _project_or_new(session)
        retry = f"rye install {' '.join(items)}"
        _add(session, project, items, group, approved, dry_run, discard_local_edits, bundle, retry=retry)
        return
    project = require_project(session.cwd)
    run = _Run(
        session, project, None, approved, dry_run, discard_local_edits, bundle, retry="rye install", without=without
    )
    run.install(frozenset(), locked=locked or frozen, frozen=frozen)


@command("ci")
@_options("without", "bundle")
@click.pass_obj
def ci(session: Session, without: tuple[str, ...], bundle: str | None) -> None:
    """Install exactly rye.lock and check the installed bytes: the same as `rye install --frozen`."""
    project = require_project(session.cwd)
    _Run(session, project, None, (), False, False, bundle, retry="rye ci", without=without).install(
        frozenset(), locked=True, frozen=True
    )


@command("update")
@click.argument("items", nargs=-1, metavar="[KIND:]ID…")
@click.option("--strict-overrides", is_flag=True, help="Stop when an override no longer fits the new version.")
@_options("approve", "dry_run", "discard", "bundle")
@click.pass_obj
def update(
    session: Session,
    items: tuple[str, ...],
    strict_overrides: bool,
    approved: tuple[str, ...],
    dry_run: bool,
    discard_local_edits: bool,
    bundle: str | None,
) -> None:
    """Move items to the newest versions that rye.toml allows: those named, or all.

    An update that widens rights, adds hooks or comes from another signer stops until it is approved.
    """
    project = require_project(session.cwd)
    retry = " ".join(["rye update", *items])
    run = _Run(session, project, None, approved, dry_run, discard_local_edits, bundle, retry=retry)
    run.strict_overrides = strict_overrides
    run.install(_named(run.lock, items) if items else None)


@command("lock")
@click.option("--check", is_flag=True, help="Only say whether rye.lock fits rye.toml; exit 1 when it does not.")
@_options("dry_run")
@click.pass_obj
def lock(session: Session, check: bool, dry_run: bool) -> int:
    """Choose versions and write rye.lock without installing. Nothing is approved by it."""
    project = require_project(session.cwd)
    run = _Run(session, project, None, (), dry_run, False, None, retry="rye lock")
    return run.relock(check)


def _named(lock: Lock, items: Sequence[str]) -> frozenset[Identity]:
    from rye.items.identity import parse_reference

    found = set()
    for name in items:
        reference = parse_reference(name)
        matches = [i.identity for i in lock.items if i.id == reference.id and reference.kind in (None, i.kind)]
        if not matches:
            raise RyeError("not-installed", f"{name!r} is not in rye.lock.", "`rye list` shows what is installed.")
        found.update(matches)
    return frozenset(found)


def _project_or_new(session: Session) -> Project:
    from rye.project.atomic import replace_file
    from rye.project.layout import find_project
    from rye.project.manifest_edit import new_manifest

    project = find_project(session.cwd)
    if project is None:
        project = Project(session.cwd.absolute())
        replace_file(project.manifest_path, new_manifest(project.root.name, None, None).encode())
        session.console.say(f"made {project.manifest_path}")
    return project


def _add(
    session: Session,
    project: Project,
    items: Sequence[str],
    group: str,
    approved: Sequence[str],
    dry_run: bool,
    discard: bool,
    bundle: str | None,
    retry: str,
) -> None:
    from rye.items.identity import is_segment

    if not is_segment(group):
        raise UsageError("bad-name", f"{group!r} cannot be a group.", "Names: a-z, 0-9, '-' and '_', e.g. dev.")
    run = _Run(session, project, _manifest_text(project), approved, dry_run, discard, bundle, retry=retry)
    run.add(items, group)


def _manifest_text(project: Project) -> str:
    try:
        return project.manifest_path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


class _Run:
    """One run of an installing command: what it was told, and the steps in order."""

    def __init__(
        self,
        session: Session,
        project: Project,
        manifest_text: str | None,
        approved: Sequence[str],
        dry_run: bool,
        discard: bool,
        bundle: str | None,
        *,
        retry: str,
        without: Sequence[str] = (),
    ):
        self.session = session
        self.project = project
        self.text = manifest_text
        self.approved = approved
        self.dry_run = dry_run
        self.discard = discard
        self.bundle = bundle
        self.retry = retry
        self.strict_overrides = False
        self.without = frozenset(without)
        self.manifest = self._read_manifest()
        self.lock = read_lock(project)

    def _read_manifest(self) -> Manifest:
        manifest = parse_manifest(self.text if self.text is not None else _manifest_text(self.project))
        unknown = self.without - set(manifest.groups)
        if unknown:
            raise UsageError(
                "unknown-group", f"There is no group {sorted(unknown)[0]!r}.", f"Groups: {', '.join(manifest.groups)}."
            )
        return manifest

    # -- the network side ------------------------------------------------------------------------------------------------

    def _sources(self) -> Sources:
        from rye.cli.registry_access import client_opener
        from rye.installation.sources import Sources
        from rye.project.registries import registries
        from rye.project.user_config import read_settings

        setting = read_settings().get("registry")
        where = registries(self.session.registry, self.manifest, setting, self.project.root)
        return Sources(where, client_opener(self.session, self.bundle))

    def add(self, items: Sequence[str], group: str) -> None:
        """Write the items into the manifest (a caret range of the newest version where none is given) and install."""
        from rye.items.identity import parse_reference
        from rye.project.manifest_edit import add_dependency
        from rye.resolution import Range

        references = [parse_reference(item) for item in items]
        for reference, item in zip(references, items, strict=True):
            if "/" not in reference.id:
                raise UsageError(
                    "bad-reference",
                    f"{item!r} names no namespace.",
                    f"Write NAMESPACE/…/{reference.id}; `rye search {reference.id}` finds it.",
                )
            if reference.range is not None:
                Range.parse(reference.range)
        with self._sources() as sources:
            text = self.text or ""
            for reference in references:
                wanted = reference.range or self._newest(sources, reference.kind, reference.id)
                key = f"{reference.kind}:{reference.id}" if reference.kind else reference.id
                text = add_dependency(text, key, wanted, group)
            self.text = text
            self.manifest = self._read_manifest()
            self._install(sources, frozenset())

    def _newest(self, sources: Sources, kind: str | None, identifier: str) -> str:
        from rye.cli.search import latest_release
        from rye.installation.resolving import identify
        from rye.project.manifest import Wanted

        wanted = Wanted(identifier, kind, "*")
        identity = identify([wanted], sources)[wanted]
        history = sources.histories([identity]).get(identity)
        latest = latest_release(history) if history else None
        if latest is None:
            raise RyeError(
                "no-such-item",
                f"The registry has no usable release of {identity}.",
                f"`rye info {identity}` shows why.",
            )
        return f"^{latest.version}"

    def install(self, unlock: frozenset[Identity] | None, *, locked: bool = False, frozen: bool = False) -> None:
        """Bring disk and lock to what the manifest asks for. ``unlock``: as in ``resolve``."""
        from rye.installation.install import is_stale

        if locked and is_stale(self.lock, self.manifest):
            raise RyeError(
                "stale-lock", "rye.lock does not fit rye.toml.", "Run `rye install` or `rye lock`, and commit rye.lock."
            )
        self._recover()
        if frozen:
            self._check_frozen()
        if unlock == frozenset() and self._nothing_to_do():
            self._report([], "everything is installed")
            return
        if not self.manifest.dependencies and not self.lock.items:
            self._report([], "rye.toml asks for nothing; `rye add [KIND:]ID` adds an item")
            return
        with self._sources() as sources:
            self._install(sources, unlock)

    def _recover(self) -> None:
        from rye.installation.transaction import exclusive, needs_recovery

        if needs_recovery(self.project):
            with exclusive(self.project):
                self.session.console.say("undid an installation that was interrupted")
            self.lock = read_lock(self.project)

    def _check_frozen(self) -> None:
        """--frozen: what is installed must be the lock's, byte for byte; what is missing is fetched."""
        from rye.installation.install import edited_files

        edited = edited_files(self.project, self.lock)
        if edited and not self.discard:
            raise _edited_error(edited, "rye install --discard-local-edits")

    def _nothing_to_do(self) -> bool:
        """A fresh lock whose every file is on disk, and every right approved: no network is touched."""
        from rye.installation.install import in_groups, is_stale
        from rye.installation.on_disk import find_drift
        from rye.installation.plan import make_plan

        if is_stale(self.lock, self.manifest) or self.text is not None:
            return False
        items = in_groups(self.lock.items, self.without)
        if find_drift(self.project, items):
            return False
        return all(set(i.capabilities) <= set(i.approved_capabilities) for i in items) or not any(
            change.asks for change in make_plan(self.lock, self.lock.items).changes
        )

    def _install(self, sources: Sources, unlock: frozenset[Identity] | None) -> None:
        from rye.cli.consent import change_json, get_consent, show_plan
        from rye.installation.install import changes, choose, edited_files, new_lock, prepare
        from rye.installation.policy_files import policy_in_force
        from rye.installation.resolving import Environment
        from rye.installation.transaction import exclusive

        environment = Environment(self.manifest.provides, policy_in_force(self.manifest), datetime.now(UTC))
        with self.session.console.progress("resolving and fetching") as advance:
            chosen = choose(self.manifest, self.lock, sources, environment, unlock)
            prepared = prepare(self.project, self.manifest, self.lock, chosen, sources, environment, self.without)
            advance(1)
        edited = [] if self.discard else edited_files(self.project, self.lock)
        if edited:
            raise _edited_error(edited, f"{self.retry} --discard-local-edits")
        overrides = self._recheck_overrides(prepared)
        show_plan(self.session, prepared.plan, (*prepared.warnings, *overrides))
        if overrides and self.strict_overrides:
            raise RyeError(
                "overrides-do-not-fit",
                "Overrides do not fit the new versions; nothing was changed.",
                "`rye override check` shows them.",
            )
        rows = [change_json(change) for change in prepared.plan.effective]
        if self.dry_run:
            self._report(rows, "nothing was changed (--dry-run)")
            return
        consent = get_consent(self.session, prepared.plan, self.approved, self.retry)
        lock = new_lock(prepared, consent)
        with exclusive(self.project) as writer:
            if read_lock(self.project) != self.lock:
                raise RyeError("lock-changed", "Another run changed rye.lock meanwhile.", f"Run `{self.retry}` again.")
            self._keep_previous_lock()
            done = writer.apply(changes(self.project, self.lock, lock, prepared.items, self._changed_text()))
        self._report(rows, _summary(rows) if done else "everything is installed")

    def _changed_text(self) -> str | None:
        return self.text if self.text is not None and self.text != _manifest_text(self.project) else None

    def _keep_previous_lock(self) -> None:
        """`rye rollback` returns to it; one step back is kept."""
        from rye.installation.rollback import remember

        remember(self.project)

    def _recheck_overrides(self, prepared: Prepared) -> list[str]:
        from rye.installation.override_check import override_findings

        return override_findings(self.project, prepared)

    def relock(self, check: bool) -> int:
        """Resolve and write the lock alone."""
        from rye.installation.install import is_stale, lock_only, prepare, wanted_ranges
        from rye.installation.policy_files import policy_in_force
        from rye.installation.resolving import Environment, resolve
        from rye.installation.transaction import Change, exclusive
        from rye.project.lock import lock_text

        self._recover()
        if check:
            stale = is_stale(self.lock, self.manifest)
            self._report([], "rye.lock does not fit rye.toml" if stale else "rye.lock fits rye.toml", stale=stale)
            return 1 if stale else 0
        environment = Environment(self.manifest.provides, policy_in_force(self.manifest), datetime.now(UTC))
        with self._sources() as sources:
            chosen = resolve(self.manifest, self.lock, sources, environment, frozenset())
            prepared = prepare(self.project, self.manifest, self.lock, chosen, sources, environment)
            items = [change.new for change in prepared.plan.changes if change.new is not None]
            text = lock_text(lock_only(self.lock, items, wanted_ranges(self.manifest)))
            changed = 0
            if not self.dry_run:
                with exclusive(self.project) as writer:
                    changed = writer.apply([Change("rye.lock", text.encode())])
        self._report([], f"locked {len(items)} items" if changed else "rye.lock is up to date")
        return 0

    def _report(self, rows: Sequence[dict[str, object]], said: str, **more: object) -> None:
        if self.session.json:
            self.session.console.document({"changes": list(rows), "message": said, "dry_run": self.dry_run, **more})
        else:
            self.session.console.data(said)


def _summary(rows: Sequence[dict[str, object]]) -> str:
    names = {"add": "added", "update": "updated", "downgrade": "downgraded", "replace": "replaced", "remove": "removed"}
    counts = {said: sum(row["action"] == action for row in rows) for action, said in names.items()}
    return ", ".join(f"{said} {count}" for said, count in counts.items() if count) or "everything is installed"


def _edited_error(edited: Sequence[Any], discard: str) -> RyeError:
    first = edited[0]
    what = "was changed" if first.state == "changed" else "was added"
    more = f" (and {len(edited) - 1} more)" if len(edited) > 1 else ""
    keep = f"`rye override new {first.item.id}` keeps a change through upgrades; " if first.item is not None else ""
    return RyeError(
        "edited-files",
        f"{first.path} {what} by hand{more}; installed files are never overwritten silently.",
        f"`rye diff --edited` shows the difference; {keep}`{discard}` puts the signed bytes back.",
        details={"files": [{"path": drift.path, "state": drift.state} for drift in edited]},
    )
