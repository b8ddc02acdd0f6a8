"""What the customizations of a project lose by a change of its items, and what else does not fit about them (DESIGN 6.1).

Compared are the text that is installed and the text that is about to be, each with the same overrides and overlays. What no
longer says what it said is asked about, as a wider right is (:mod:`rye.customization.losses` says when). If the installed
text is not known, every customization counts as one that had an effect: also for an item that is new here, so that removing
and adding an item loses nothing silently. What is installed is what the files on disk say: a pull that changes rye.lock does not
make the next installation a first one.

A formula's overlay is for its resolved steps, so a change of a formula that it extends or expands counts as well.

An item that goes because the new version of another one needs it no longer is lost by that one: that is how an author renames or
splits an item. What a person removes takes its customizations along, which is said and not asked. An item that is added can take
a name away: a file that is named by the local id alone is for none of two items with that id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.ask import Ask
from rye.customization.effective_files import Tree, TreeFile, changed_paths, tree_of_row
from rye.customization.effective_text import Effective
from rye.customization.item_overrides import OverrideSource, named_for
from rye.customization.losses import Loss, losses_without_item, override_losses
from rye.customization.overlay_files import in_force
from rye.customization.overlay_health import Overlaid, overlaid, overlay_losses
from rye.customization.overlays import Overlay
from rye.customization.places import DIRECTIVE_SUFFIX, OVERLAY_SUFFIX, rye_places
from rye.customization.recheck import check_overrides, findings, overrides_of
from rye.errors import RyeError
from rye.installation.plan import ItemChange, Plan
from rye.items.attached import attached_files
from rye.items.formula.model import Formula
from rye.items.formula.resolution import resolve
from rye.items.identity import Identity, Reference, is_segment, lookup_key
from rye.items.kinds import KINDS
from rye.items.reading import ReadOptions, Source
from rye.limits import CONTENT
from rye.project.lock_file import item_path
from rye.project.spaces import Spaces, entries_of, find, installed
from rye.storage.safe_files import read_bytes
from rye.text.line_form import read_form
from rye.workspace.trusting.customization_facts import installed_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rye.installation.install import Prepared
    from rye.project.lock import LockedItem
    from rye.workspace.installing.install_session import InstallSession

SORT = "customization-loss"


class Fit(Struct, frozen=True):
    """How the customizations fit a change."""

    losses: Mapping[Identity, tuple[Loss, ...]]
    """What they lose, by the changed item that causes it."""
    notes: tuple[str, ...]
    """What else does not fit about them: one line each."""

    def asks(self) -> frozenset[Ask]:
        """What needs a yes."""
        return frozenset(_ask(identity, loss) for identity, losses in self.losses.items() for loss in losses)

    def asked_in(self, plan: Plan) -> Plan:
        """The plan, which asks about the losses, too."""
        changes = [
            replace(
                change, asks=(*change.asks, *(_ask(change.identity, loss) for loss in self.losses[change.identity]))
            )
            if change.identity in self.losses
            else change
            for change in plan.changes
        ]
        return Plan(tuple(changes))


def _ask(identity: Identity, loss: Loss) -> Ask:
    return Ask(str(identity), SORT, str(loss), loss)


def fit(session: InstallSession, prepared: Prepared) -> Fit:
    """Compare the customizations in force with what is about to be installed. Raises RyeError for an overlay that cannot be read,
    and for more files than the limit."""
    changed = [change for change in prepared.plan.changes if change.new is not None and _is_new(session, change)]
    losses: dict[Identity, tuple[Loss, ...]] = {}
    notes: list[str] = []
    for change in changed:
        if change.identity.kind in KINDS.overridable():
            lost, said = _of_overrides(session, prepared, change)
            notes += (f"override of {change.identity.id}: {line}" for line in said)
            if lost:
                losses[change.identity] = lost
    gone = {each: _causes(prepared.plan, each) for each in _going(session, prepared)}
    touched = {*(change.identity for change in changed), *gone}
    found = (
        *_without_item(session, gone),
        *_without_role(session, prepared, gone),
        *_of_taken_names(session, prepared),
        *_of_overlays(session, prepared, touched),
    )
    for identity, more in found:
        for cause in gone.get(identity, (identity,)):
            losses[cause] = (*losses.get(cause, ()), *(loss for loss in more if loss not in losses.get(cause, ())))
        if identity in gone and not gone[identity]:
            shown = dict.fromkeys(loss.shown for loss in more)
            notes += (f"{each} has nothing to change in this project once {identity} is removed" for each in shown)
    return Fit(losses, tuple(notes))


def _going(session: InstallSession, prepared: Prepared) -> Iterator[Identity]:
    """The items that go: those that the plan removes, and those on disk that a pull took out of rye.lock. Nothing says why these
    go."""
    yield from (change.identity for change in prepared.plan.changes if change.new is None)
    known = {change.identity for change in prepared.plan.changes}.union(session.before.lock.by_identity())
    on_disk = (Identity(entry.location.kind, entry.id) for entry in installed(session.before.project))
    yield from (identity for identity in on_disk if identity not in known)


def _causes(plan: Plan, gone: Identity) -> tuple[Identity, ...]:
    """The items whose new versions are why an item goes: they needed it until now, or what goes with it. None if a person
    removed it, or what needed it."""
    changes = {change.identity: change for change in plan.changes}
    causes: set[Identity] = set()
    waiting, seen = [gone], {gone}
    while waiting:
        name = str(waiting.pop())
        for identity, change in changes.items():
            if change.old is None or identity in seen or name not in change.old.dependencies:
                continue
            seen.add(identity)
            if change.new is None:
                waiting.append(identity)
            elif name not in change.new.dependencies:
                causes.add(identity)
    return tuple(sorted(causes))


def _is_new(session: InstallSession, change: ItemChange) -> bool:
    """Whether its text may differ from the installed one. What ``rye lock`` chose was never installed."""
    was = change.old
    if change.action != "keep" or was is None:
        return True
    return was.approved.is_pending or _earlier_files(session, was) is not None


class _Files(Struct, frozen=True):
    """An item's files before the change."""

    data: bytes
    tree: Tree


def _installed(session: InstallSession, row: LockedItem | None) -> _Files | None:
    """The item as installed; None if it is not known."""
    if row is None:
        return None
    earlier = _earlier_files(session, row)
    if earlier is not None or row.approved.is_pending:
        return earlier
    data = installed_file(session.context.home, session.before.project.root / item_path(row), row)
    return _Files(data, tree_of_row(row)) if data is not None else None


def _earlier_files(session: InstallSession, row: LockedItem) -> _Files | None:
    """The item's files on disk, if they are those of another release than rye.lock says: one that was installed before ``rye
    lock`` or a pull wrote this row. Edits of a person were refused before. None for a build server that takes over rye.lock as it
    is, and where edits are to be discarded."""
    request = session.request
    if request.discard_local_edits or (request.lock_use == "frozen" and session.agreement.trusts_lock):
        return None
    path = session.before.project.root / item_path(row)
    try:
        data = read_bytes(path, CONTENT.item_bytes)
    except RyeError:
        return None
    tree = tree_of_row(row)
    if row.attached or KINDS[row.kind].main_file is not None:
        tree = {file.path: TreeFile(file.sha256, file.executable) for file in attached_files(path)[0]}
    is_same = sha256(data).hexdigest() == row.sha256 and not changed_paths(tree, tree_of_row(row))
    return _Files(data, tree) if row.approved.is_pending or not is_same else None


# -- overrides ---------------------------------------------------------------------------------------------------------


def _of_overrides(
    session: InstallSession, prepared: Prepared, change: ItemChange
) -> tuple[tuple[Loss, ...], Sequence[str]]:
    home, project, identity = session.context.home, session.before.project, change.identity
    item = prepared.items.get(identity)
    if item is None:
        return (), ()
    try:
        files = overrides_of(home, project, identity)
    except RyeError as error:
        return (), (error.message,)
    if not files:
        return (), ()
    after = _judged(session, item.locked, files, item.data, tree_of_row(item.locked, item.attached))
    old, was = change.old, _installed(session, change.old)
    before = _judged(session, old, files, was.data, was.tree) if was is not None and old is not None else None
    losses = override_losses(before, after)
    told = {(loss.shown, loss.line) for loss in losses}
    strict = session.request.strict_overrides
    said = [
        finding.message for file, finding in findings(after) if strict or (file.source.shown, finding.line) not in told
    ]
    return losses, said


def _judged(
    session: InstallSession, row: LockedItem, files: Sequence[OverrideSource], data: bytes, attached: Tree
) -> Effective:
    """The item's text and files with the overrides."""
    return check_overrides(
        data.decode("utf-8", "replace"),
        files,
        row.identity,
        version=row.version,
        today=session.context.now().date(),
        widening_allowed=session.policies.allow_override_widening(session.manifest),
        options=ReadOptions(tools=session.manifest.tools),
        attached=attached,
    )


def _without_item(session: InstallSession, gone: Iterable[Identity]) -> Iterator[tuple[Identity, tuple[Loss, ...]]]:
    """What overrides lose whose item goes."""
    rows = session.before.lock.by_identity()
    for identity in gone:
        if identity.kind in KINDS.overridable():
            files = _files_of(session, identity)
            if files:
                yield identity, _lost_without(session, rows.get(identity), files, f"{identity} is removed")


def _of_taken_names(session: InstallSession, prepared: Prepared) -> Iterator[tuple[Identity, tuple[Loss, ...]]]:
    """What overrides lose that are named by a local id which an item that is added has, too: it says no longer which one is
    meant."""
    stay = {row.identity for row in prepared.rows}
    for change in prepared.plan.changes:
        added = change.identity
        if change.action != "add" or added.kind not in KINDS.overridable():
            continue
        for row in session.before.lock.items:
            other = row.identity
            is_same = other.kind == added.kind and lookup_key(other.local_id) == lookup_key(added.local_id)
            if not is_same or other not in stay:
                continue
            files = tuple(file for file in _files_of(session, other) if not _is_whole(session, file, other))
            if files:
                yield added, _lost_without(session, row, files, f"{other.local_id!r} would mean {added} as well")


def _is_whole(session: InstallSession, file: OverrideSource, identity: Identity) -> bool:
    """Whether a file of an installed item has the whole id for its name."""
    places = rye_places(session.context.home, session.before.project)
    folder = next(folder for folder in places.overrides if folder.level == file.level)
    named = named_for(folder, file.path)
    return named is not None and named.id == identity.id


def _files_of(session: InstallSession, identity: Identity) -> tuple[OverrideSource, ...]:
    """The item's overrides files; none if they cannot be read, since they have no effect then."""
    try:
        return overrides_of(session.context.home, session.before.project, identity)
    except RyeError:
        return ()


def _lost_without(
    session: InstallSession, row: LockedItem | None, files: tuple[OverrideSource, ...], why: str
) -> tuple[Loss, ...]:
    was = _installed(session, row)
    before = _judged(session, row, files, was.data, was.tree) if was is not None and row is not None else None
    return losses_without_item(files, before, why)


# -- role directives ---------------------------------------------------------------------------------------------------


def _without_role(
    session: InstallSession, prepared: Prepared, gone: Iterable[Identity]
) -> Iterator[tuple[Identity, tuple[Loss, ...]]]:
    """What role directives lose whose role goes."""
    home, project = session.context.home, session.before.project
    left = {row.identity.local_id for row in prepared.rows if row.kind == "role"}
    for identity in gone:
        if identity.kind != "role" or identity.local_id in left:
            continue
        spaces = Spaces(home, project, session.manifest.namespace)
        own = (entry for entry in spaces.every() if entry.space != "installed" and entry.location.kind == "role")
        if any(entry.location.name == identity.local_id for entry in own):
            continue
        for folder in rye_places(home, project).role_directives:
            path = folder.file(identity.local_id, DIRECTIVE_SUFFIX)
            text = read_form(folder.text(path) or "")[0].strip()
            if text:
                what = f"has no effect: {identity} is removed"
                yield identity, (Loss(folder.shown(path), 1, what, tuple(text.split("\n"))),)


# -- overlays ----------------------------------------------------------------------------------------------------------


class _Texts:
    """The formulas of the project at one time, before or after the change."""

    def __init__(
        self, session: InstallSession, rows: Sequence[LockedItem], texts: Mapping[Identity, bytes | None]
    ) -> None:
        self._session = session
        root = session.before.project.root
        self.identities = {root / item_path(row): row.identity for row in rows if row.kind == "formula"}
        self._texts = texts
        self.unknown = {identity for identity, text in texts.items() if text is None}
        self.read: set[Identity] = set()
        """The installed formulas that were read."""

    def formula(self, path: Path) -> Formula:
        """The formula in a file. Raises RyeError if it cannot be read or has errors."""
        identity = self.identities.get(path)
        if identity is None and self.is_packaged(path):
            raise RyeError("no-such-item", f"{path.name} is removed.")
        if identity is not None:
            self.read.add(identity)
            data = self._texts.get(identity)
        else:
            data = read_bytes(path, CONTENT.item_bytes)
        name = path.name.removesuffix(KINDS["formula"].suffixes[0])
        text = data.decode("utf-8", "replace") if data is not None else ""
        reading = KINDS["formula"].load().read(Source(text, path.name, name, ""), ReadOptions())
        errors = [finding for finding in reading.diagnostics if finding.severity == "error"]
        if data is None or reading.value is None or errors:
            why = errors[0].message if errors else "its text is not known"
            raise RyeError("invalid-item", f"{path.name}: {why}")
        assert isinstance(reading.value, Formula)
        return reading.value

    def resolved(self, path: Path) -> Formula:
        """The formula with everything that it extends and expands. Raises RyeError."""
        return resolve(self.formula(path), lambda name: self._load(path.parent, name))

    def _load(self, folder: Path, name: str) -> Formula | None:
        if not is_segment(name):
            return None
        path = folder / f"{name}{KINDS['formula'].suffixes[0]}"
        if path in self.identities or (path.is_file() and not self.is_packaged(path)):
            return self.formula(path)
        named = [path for path, identity in self.identities.items() if identity.local_id == name]
        try:
            entry = find(self._session.context.home, Reference(name, "formula"), self._session.before.project, None)
        except RyeError:
            return self.formula(named[0]) if len(named) == 1 else None
        if self.is_packaged(entry.path) and entry.path not in self.identities:
            return self.formula(named[0]) if len(named) == 1 else None
        return self.formula(entry.path)

    def is_packaged(self, path: Path) -> bool:
        """Whether Rye installs the file."""
        return path.is_relative_to(self._session.before.project.packages)


def _of_overlays(
    session: InstallSession, prepared: Prepared, changed: set[Identity]
) -> Iterator[tuple[Identity, tuple[Loss, ...]]]:
    places = rye_places(session.context.home, session.before.project)
    files = {
        path.name.removesuffix(OVERLAY_SUFFIX) for folder in places.overlays for path in folder.files(OVERLAY_SUFFIX)
    }
    names = {name for name in files if is_segment(name)}
    formulas = {identity for identity in changed if identity.kind == "formula"}
    if not names or not formulas:
        return
    formulas_before = (row for row in session.before.lock.items if row.kind == "formula")
    found = {row.identity: _installed(session, row) for row in formulas_before}
    old = {identity: files.data if files is not None else None for identity, files in found.items()}
    before = _Texts(session, session.before.lock.items, old)
    after = _Texts(session, prepared.rows, {identity: item.data for identity, item in prepared.items.items()})
    for path in sorted(_formula_files(session, before, after, names)):
        force = in_force(places, path.name.removesuffix(KINDS["formula"].suffixes[0]))
        overlay, source = force.choice.overlay, force.source
        if overlay is None or source is None:
            continue  # a malformed overlay never had an effect
        before.read, after.read = set(), set()
        lost = overlay_losses(source.shown, overlay, _earlier(before, path, overlay), _overlaid(after, path, overlay))
        if lost:
            yield from ((identity, lost) for identity in sorted((before.read | after.read) & formulas))


def _formula_files(session: InstallSession, before: _Texts, after: _Texts, names: set[str]) -> set[Path]:
    """The files of the formulas with these names: the installed ones, those that go among them, and the project's and the user's
    own."""
    home, project = session.context.home, session.before.project
    own = [
        entry.path
        for space in ("project", "user")
        for entry in entries_of(home, space, project, None)
        if entry.location.kind == "formula"
    ]
    suffix = KINDS["formula"].suffixes[0]
    return {path for path in (*before.identities, *after.identities, *own) if path.name.removesuffix(suffix) in names}


def _earlier(before: _Texts, path: Path, overlay: Overlay) -> Overlaid | None:
    """The formula until now; without steps if the overlay could not be applied, and None if they are not known."""
    if path not in before.identities and before.is_packaged(path):
        return None  # the formula is new here
    steps = _overlaid(before, path, overlay)
    if not isinstance(steps, RyeError):
        return steps
    return None if before.read & before.unknown else Overlaid()


def _overlaid(texts: _Texts, path: Path, overlay: Overlay) -> Overlaid | RyeError:
    """A formula with the overlay; the error if it cannot be applied."""
    try:
        return overlaid(texts.resolved(path), overlay)
    except RyeError as error:
        return error
