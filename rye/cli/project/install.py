"""``rye init``, ``add``, ``remove``, ``install``, ``update``, ``lock``, ``ci``: the project's manifest, lock and packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from rye.cli.options import Session, command
from rye.cli.project.installing import Run, Told, manifest_text_of, until_alone
from rye.cli.registry.airgap_access import bundle_options
from rye.errors import RyeError, UsageError
from rye.project.context import require_project
from rye.project.layout import MANIFEST, Project
from rye.project.lock import Lock
from rye.project.manifest import Wanted, parse_manifest

if TYPE_CHECKING:
    from rye.installation.resolving import Environment
    from rye.installation.sources import Sources
    from rye.items.identity import Identity, Reference


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
    from rye.project.manifest_edit import new_manifest
    from rye.storage.atomic import replace_file

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
    told = Told(_retry("add", items, group), approved, dry_run, discard_local_edits, bundle)
    until_alone(session, lambda: _add(session, project, items, group, told))


@command("remove")
@click.argument("items", nargs=-1, required=True, metavar="[KIND:]ID…")
@_options("dry_run", "discard")
@click.pass_obj
def remove(session: Session, items: tuple[str, ...], dry_run: bool, discard_local_edits: bool) -> None:
    """Take items out of rye.toml, with what nothing else needs."""
    from rye.project.manifest_edit import remove_dependency

    project = require_project(session.cwd)
    told = Told(_retry("remove", items), (), dry_run, discard_local_edits)

    def run() -> None:
        text = manifest_text_of(project)
        for name in items:
            text = _removed(text, name, remove_dependency)
        Run(session, project, told, text).install(frozenset())

    until_alone(session, run)


def _removed(text: str, name: str, edit: Callable[[str, str], tuple[str, list[str]]]) -> str:
    from rye.items.identity import parse_reference

    wanted = parse_reference(name)
    meant = [w for w in parse_manifest(text).dependencies if w.id == wanted.id and wanted.kind in (None, w.kind)]
    keys = [w.key for w in meant]
    if len({w.kind for w in meant}) > 1:
        listed = ", ".join(dict.fromkeys(keys))
        raise UsageError("ambiguous", f"{name!r} is {listed} in rye.toml.", f"Name one: {max(keys, key=len)}.")
    if not keys:
        from rye.installation.graph import similar

        there = parse_manifest(text).dependencies
        near = similar(wanted.id, (line.id for line in there))
        listed = ", ".join(line.key for line in there) or "nothing"
        hint = f"Did you mean {', '.join(near)}?" if near else f"There is: {listed}."
        raise RyeError("not-a-dependency", f"{name!r} is not in rye.toml.", hint)
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
        told = Told(_retry("install", items, group), approved, dry_run, discard_local_edits, bundle)
        project = _project_or_new(session)
        until_alone(session, lambda: _add(session, project, items, group, told))
        return
    told = Told(
        _retry("install", (), without=without), approved, dry_run, discard_local_edits, bundle, frozenset(without)
    )
    project = require_project(session.cwd)
    until_alone(
        session,
        lambda: Run(session, project, told).install(frozenset(), locked=locked or frozen, frozen=frozen),
    )


@command("ci")
@_options("without", "bundle")
@click.pass_obj
def ci(session: Session, without: tuple[str, ...], bundle: str | None) -> None:
    """Install exactly rye.lock and check the installed bytes: the same as `rye install --frozen`."""
    told = Told(_retry("ci", (), without=without), bundle=bundle, without=frozenset(without))
    Run(session, require_project(session.cwd), told).install(frozenset(), locked=True, frozen=True)


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
    told = Told(
        _retry("update", items),
        approved,
        dry_run,
        discard_local_edits,
        bundle,
        strict_overrides=strict_overrides,
    )
    project = require_project(session.cwd)

    def run() -> None:
        prepared = Run(session, project, told)
        prepared.install(_named(prepared.lock, items) if items else None)

    until_alone(session, run)


@command("lock")
@click.option("--check", is_flag=True, help="Only say whether rye.lock fits rye.toml; exit 1 when it does not.")
@_options("dry_run")
@click.pass_obj
def lock(session: Session, check: bool, dry_run: bool) -> int:
    """Choose versions and write rye.lock without installing. Nothing is approved by it."""
    project, told = require_project(session.cwd), Told("rye lock", dry_run=dry_run)
    if check:
        return Run(session, project, told).check_lock()
    until_alone(session, lambda: Run(session, project, told).relock())
    return 0


def _named(lock: Lock, items: Sequence[str]) -> frozenset[Identity]:
    from rye.installation.graph import not_installed
    from rye.items.identity import parse_reference

    found = set()
    for name in items:
        reference = parse_reference(name)
        matches = [i.identity for i in lock.items if i.id == reference.id and reference.kind in (None, i.kind)]
        if not matches:
            raise not_installed(lock, name)
        found.update(matches)
    return frozenset(found)


def _project_or_new(session: Session) -> Project:
    from rye.project.layout import find_project
    from rye.project.manifest_edit import new_manifest
    from rye.storage.atomic import replace_file

    project = find_project(session.cwd)
    if project is None:
        project = Project(session.cwd.absolute())
        replace_file(project.manifest_path, new_manifest(project.root.name, None, None).encode())
        session.console.say(f"made {project.manifest_path}")
    return project


def _retry(verb: str, items: Sequence[str], group: str = "main", without: Sequence[str] = ()) -> str:
    """The command as it was given, without what consents."""
    import shlex

    chosen = [] if group == "main" else ["--group", group]
    return shlex.join(["rye", verb, *items, *chosen, *(word for name in without for word in ("--without", name))])


def _add(session: Session, project: Project, items: Sequence[str], group: str, told: Told) -> None:
    """Write the items into the manifest (a caret range of the newest version where none is given) and install."""
    from rye.items.identity import is_segment, parse_reference
    from rye.project.manifest_edit import add_dependency
    from rye.resolution import Range

    if not is_segment(group):
        raise UsageError("bad-name", f"{group!r} cannot be a group.", "Names: a-z, 0-9, '-' and '_', e.g. dev.")
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
    _refuse_contradictions(references)
    run = Run(session, project, told)
    with run.sources() as sources:
        text = run.text
        for reference in references:
            key = _present_key(text, reference.kind, reference.id, group)
            wanted = reference.range
            if key is None or wanted is None:
                identity = _find(sources, reference.kind, reference.id)
                wanted = wanted or _newest(sources, identity, run.environment())
                key = key or (f"{reference.kind}:{identity.id}" if reference.kind else identity.id)
            text = add_dependency(text, key, wanted, group)
        run.use_manifest(text)
        run.install_from(sources, frozenset())


def _refuse_contradictions(references: Sequence[Reference]) -> None:
    """One item, one range: whichever came last would win silently."""
    from rye.items.identity import lookup_key

    named: dict[str, list[Reference]] = {}
    for one in references:
        others = named.setdefault(lookup_key(one.id), [])
        for other in others:
            if one.range != other.range and (one.kind == other.kind or None in (one.kind, other.kind)):
                raise UsageError(
                    "contradiction",
                    f"{other} and {one} ask for one item with two ranges.",
                    f"Name it once; one range may have several bounds, e.g. '{one.id}@>=1.2 <3'.",
                )
        others.append(one)


def _present_key(text: str, kind: str | None, identifier: str, group: str) -> str | None:
    """The key under which a group of the manifest has the item already."""
    present = [w for w in parse_manifest(text).dependencies if w.group == group and w.id == identifier]
    return next((w.key for w in present if kind in (None, w.kind)), None)


def _find(sources: Sources, kind: str | None, identifier: str) -> Identity:
    """The item that is meant: ``-`` and ``_`` are one letter, where only one spelling exists (DESIGN §6)."""
    from rye.installation.resolving import identify

    spellings = list(dict.fromkeys((identifier, identifier.replace("_", "-"), identifier.replace("-", "_"))))
    kinds = sources.kinds_of(spellings)
    there = [one for one in spellings if (kinds[one] if kind is None else kind in kinds[one])]
    wanted = Wanted(there[0] if there else identifier, kind if there else None, "*")
    return identify([wanted], sources)[wanted]


def _newest(sources: Sources, identity: Identity, environment: Environment) -> str:
    """A caret range of the newest release that may be chosen; ``*`` where none may be, so that the solver says why."""
    from rye.installation.updates import latest_version

    history = sources.histories([identity]).get(identity)
    latest = latest_version(history, environment)
    if latest is None and history is not None and history.records:
        return "*"
    if latest is None:
        raise RyeError(
            "no-such-item", f"The registry has no usable release of {identity}.", f"`rye info {identity}` shows why."
        )
    return f"^{latest}"
