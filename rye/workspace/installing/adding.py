"""Adding items to a project's manifest, and installing them with their dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rye.errors import RyeError, UsageError
from rye.installation.environment import Environment
from rye.installation.resolving import identify, latest_version, no_such_version
from rye.installation.sources import Sources
from rye.items.identity import Identity, Reference, is_segment, lookup_key, parse_reference
from rye.items.kinds import KINDS
from rye.project.context import require_project
from rye.project.layout import Project, find_project
from rye.project.lock import Lock
from rye.project.lock_file import Unlock
from rye.project.manifest import Manifest, Requested, parse_manifest
from rye.project.manifest_edit import add_dependencies, set_registry
from rye.project.members import find_member, member_around
from rye.project.new_manifest import new_manifest
from rye.project.ownership import refuse_wide_folder
from rye.resolution.ranges import Range
from rye.resolution.versions import Version
from rye.text.lazy import lazy_module
from rye.workspace.context import Context
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_request import Agree, InstallRequest
from rye.workspace.installing.install_session import InstallSession, open_session, retry_when_overtaken
from rye.workspace.installing.install_steps import install_from, session_sources
from rye.workspace.installing.project_state import require_manifest
from rye.workspace.installing.source_words import SHORT
from rye.workspace.registries.project_registries import project_registries
from rye.workspace.registries.registry_access import configured, judging_environment, project_manifest

if TYPE_CHECKING:
    from rye.workspace.registries import source_book
else:  # needed for words that could be a repository of GitHub; it loads git
    source_book = lazy_module("rye.workspace.registries.source_book")


def add(
    context: Context,
    project: Project,
    request: InstallRequest,
    names: Sequence[str],
    group: str,
    agree: Agree,
    member: str | None = None,
) -> InstallOutcome:
    """Write each ``[kind:]id[@range]`` into a group of the manifest (by default with a caret range of the newest version), and
    install. ``member``: the workspace's member that needs them, by folder or name; by default the one around the working folder,
    or else the root.

    Raises UsageError ``unknown-name``, ``bad-argument``, ``bad-reference``, ``bad-range`` or ``contradiction``, RyeError
    ``no-such-item``.
    """
    try:
        references = _references(names, group)
        return retry_when_overtaken(context, lambda: _add(context, project, request, references, group, agree, member))
    except RyeError as error:
        if "Did you mean" in (error.hint or ""):
            raise
        if error.code == "no-such-item" and source_book.pins_several(context):
            error.hint = f"{error.hint or ''}\n{_ELSEWHERE}".strip()
        short = SHORT.fullmatch(names[0])
        if short is None:
            raise
        if error.code not in ("no-such-item", "no-registry") and not (error.code == "bad-range" and short["item"]):
            raise
        if short["owner"].lower() in source_book.pinned_namespaces(context.home):
            raise
        item = short["item"] or (short["inner"] or "").rpartition("/")[2]
        words = f"https://github.com/{short['owner']}/{short['repository']}{f' {item}' if item else ''}"
        hint = f"{error.hint or ''}\nFor a repository, write its address: `rye add {words}`.".strip()
        raised = UsageError if isinstance(error, UsageError) else RyeError
        raise raised(error.code, error.message, hint, details=error.details) from error


_ELSEWHERE = (
    'For a namespace of another registry that you pinned, write NAMESPACE = "ADDRESS" in [registries] of rye.toml. '
    "`rye registry list` has the addresses."
)


def member_meant(context: Context, project: Project, manifest: Manifest, member: str | None) -> str:
    """The folder of the workspace's member that a command is about: the named one, or the one around the working folder; empty
    for the root. Raises UsageError ``unknown-name`` or ``ambiguous``."""
    if member is not None:
        return find_member(manifest, member)
    return member_around(manifest, project.root, context.cwd)


def names_source(context: Context, word: str) -> bool:
    """Whether ``owner/repo`` means a repository of GitHub, or a folder here of that name, which wins over the repository. A
    namespace that a registry may have wins over both.

    With a registry for all namespaces it never does: what that registry does not have today, a stranger could have put there.
    Nor does an owner of the name of a namespace that a pinned registry has: each is asked, and one that does not answer ends
    the command, before any other host is contacted. Raises RyeError of that registry.
    """
    short = SHORT.fullmatch(word)
    if short is None:
        return False
    where = configured(context)
    owner = short["owner"].lower()
    manifest = project_manifest(context)
    known = manifest is not None and (owner in manifest.sources or owner == manifest.namespace)
    range_like = "@" in word and not short["item"]
    if range_like or known or where.default is not None or owner in where.by_namespace:
        return False
    return not source_book.pinned_registry_has(context, owner, f"{short['owner']}/{short['repository']}")


def project_to_add_to(folder: Path) -> Project:
    """The project around a folder, or the one that the first item makes in it, of which nothing is written yet.

    Raises RyeError ``no-manifest``, ``wide-folder``, ``foreign-project``.
    """
    if find_project(folder) is not None or Project(folder).lock_path.is_file():
        return require_project(folder)
    refuse_wide_folder(folder)
    return Project(folder.absolute())


def open_to_add(context: Context, project: Project, request: InstallRequest, agree: Agree) -> InstallSession:
    """An attempt that adds something: where there is no rye.toml, it gets a new one, which is written with the items."""
    if project.manifest_path.exists():
        return open_session(context, project, request, agree)
    require_manifest(project)
    return open_session(context, project, request, agree, new_manifest(project.root.name, None, None))


def tell_of_new(session: InstallSession) -> None:
    """Say that rye.toml is made, where there is none."""
    project = session.before.project
    if not project.manifest_path.exists():
        session.context.tell(f"There is no rye.toml here yet; it is made in {project.root}.")


def _add(
    context: Context,
    project: Project,
    request: InstallRequest,
    references: Sequence[Reference],
    group: str,
    agree: Agree,
    member: str | None,
) -> InstallOutcome:
    session = open_to_add(context, project, request, agree)
    asker = member_meant(context, project, session.manifest, member)
    with session_sources(session, "hold") as sources:
        environment = judging_environment(context, session.manifest, session.policies)
        text = session.text_of(asker)
        sources.use_locked(session.before.lock, Unlock.nothing())
        named = [reference.id.partition("/")[0] for reference in references]
        sources.ask_together([*named, *(line.id.partition("/")[0] for line in session.manifest.dependencies)])
        for reference in references:
            sources.require_answer(reference.id.partition("/")[0])
        _look_up(sources, references)
        rows = list(parse_manifest(text).dependencies)
        wanted: dict[str, str] = {}
        for reference in references:
            row = _row(rows, reference, group, sources, environment, session.before.lock)
            wanted[row.key] = row.range
            rows = [one for one in rows if (one.group, one.key) != (group, row.key)] + [row]
        text = add_dependencies(text, wanted, group)
        session = session.with_manifest(text, asker)
        session = session.with_manifest(_with_registry(context, session.manifest_text, project, references))
        tell_of_new(session)
        return install_from(session, sources, Unlock.nothing())


def _has_plain_row(rows: Iterable[Requested], identifier: str, group: str) -> bool:
    """Whether a group of rye.toml has a row of this id without a kind."""
    return any((row.id, row.kind, row.group) == (identifier, None, group) for row in rows)


def _is_meant(lock: Lock, sources: Sources, identity: Identity) -> bool:
    """Whether a row of rye.toml without a kind means this item."""
    plain = Requested(identity.id, None, "*")
    try:
        return identify([plain], sources, lock)[plain] == identity
    except UsageError:  # of which kind it is, the row does not say
        return False


def _row(
    rows: Iterable[Requested],
    reference: Reference,
    group: str,
    sources: Sources,
    environment: Environment,
    lock: Lock,
) -> Requested:
    """The row of the manifest for one more item, or for an existing one with a new range. An item has one row in a group, with
    its kind or without."""
    key, wanted = _present_key(rows, reference, group), reference.range
    if key is None or wanted is None:
        identity = _find(sources, reference)
        wanted = wanted or _newest(sources, identity, environment)
        if key is None and _has_plain_row(rows, identity.id, group) and _is_meant(lock, sources, identity):
            key = identity.id
        key = key or (f"{reference.kind}:{identity.id}" if reference.kind else identity.id)
    kind, _, identifier = key.rpartition(":")
    if reference.range is not None:
        _require_version(
            sources, _find(sources, Reference(identifier, reference.kind or kind or None)), reference.range
        )
    return Requested(identifier, kind or None, wanted, group)


def _with_registry(context: Context, text: str, project: Project, references: Sequence[Reference]) -> str:
    """The manifest with the registry's address, if it does not yet say where these items come from. Anyone who clones the
    project must know which registry to pin."""
    manifest = parse_manifest(text)
    namespaces = [reference.id.split("/", 1)[0] for reference in references]
    unmapped = [name for name in namespaces if name not in manifest.registries and name not in manifest.sources]
    if manifest.registry is not None or not unmapped:
        return text
    where = project_registries(context, manifest, project.root)
    address = where.of(unmapped[0])
    # Never a door: it has the namespaces of another registry, and everything else would be looked for there, too.
    return set_registry(text, where.behind(unmapped[0]) or address)


def _references(names: Sequence[str], group: str) -> list[Reference]:
    if not is_segment(group):
        raise UsageError(
            "bad-argument",
            f"{group!r} is not a valid group name.",
            "Use a-z, 0-9, '-' and '_', e.g. dev.",
            what="group",
        )
    references = [parse_reference(name) for name in names]
    for reference, name in zip(references, names, strict=True):
        if "/" not in reference.id:
            raise UsageError(
                "bad-reference",
                f"{name!r} has no namespace.",
                f"`rye search {reference.id}` finds its full name; `rye add NAMESPACE/…/{reference.id}` adds it.",
            )
        if reference.range is not None:
            _check_typed_range(reference.range)
    _refuse_contradictions(references)
    return references


def _check_typed_range(text: str) -> None:
    """Raise UsageError ``bad-range`` also for ranges that only make sense in a file that a program wrote: one that contains
    nothing, and an operator before ``x``, which would mean any version. Both are a placeholder or a slip of the hand."""
    wanted = Range.parse(text)
    if re.search(r"[<>=^~]\s*v?[xX*]", text):
        message = f"{text!r} has an operator without a version."
    elif wanted.versions.is_empty() and wanted.prereleases.is_empty():
        message = f"{text!r} contains no version."
    else:
        return
    raise UsageError("bad-range", message, "Write for example ^1.2, ~1.2.3 or >=1.2 <2, or * for any version.")


def _refuse_contradictions(references: Sequence[Reference]) -> None:
    """Refuse one item with two ranges, because the last one would win silently."""
    named: dict[str, list[Reference]] = {}
    for one in references:
        others = named.setdefault(lookup_key(one.id), [])
        for other in others:
            if one.range != other.range and (one.kind == other.kind or None in (one.kind, other.kind)):
                raise UsageError(
                    "contradiction",
                    f"{other} and {one} ask for the same item with two ranges.",
                    f"Name it once. A range can have several bounds, e.g. '{one.id}@>=1.2 <3'.",
                )
        others.append(one)


def _present_key(rows: Iterable[Requested], reference: Reference, group: str) -> str | None:
    """The key of the item in a group of the manifest, or None."""
    present = [line for line in rows if line.group == group and line.id == reference.id]
    return next((line.key for line in present if reference.kind in (None, line.kind)), None)


def _look_up(sources: Sources, references: Iterable[Reference]) -> None:
    """Ask the registries about all of these references at once: each look at one of them alone then asks for nothing more."""
    asked = [one for one in references if not sources.is_source(one.id.split("/", 1)[0])]
    among: dict[str, set[str]] = {}
    for one in asked:
        for spelling in _spellings(one.id):
            among.setdefault(spelling, set()).update(KINDS if one.kind is None else (one.kind,))
    kinds = sources.kinds_of(among, among)
    there = ((one.kind, next((s for s in _spellings(one.id) if _is_there(kinds[s], one.kind)), None)) for one in asked)
    sources.releases(
        Identity(kind, spelling)
        for only, spelling in there
        if spelling is not None
        for kind in kinds[spelling]
        if only in (None, kind)
    )


def _spellings(identifier: str) -> list[str]:
    """The id and what it is taken for if only that exists: ``-`` and ``_`` match each other (DESIGN §6)."""
    return list(dict.fromkeys((identifier, identifier.replace("_", "-"), identifier.replace("-", "_"))))


def _is_there(kinds: Sequence[str], kind: str | None) -> bool:
    return kind in kinds if kind is not None else bool(kinds)


def _find(sources: Sources, reference: Reference) -> Identity:
    """The item that the reference names."""
    identifier, kind = reference.id, reference.kind
    spellings = _spellings(identifier)
    kinds = sources.kinds_of(spellings, dict.fromkeys(spellings, (kind,)) if kind is not None else None)
    there = [one for one in spellings if _is_there(kinds[one], kind)]
    if kind is not None and not there:
        _refuse_another_kind(kind, sources.kinds_of(spellings))
    wanted = Requested(there[0] if there else identifier, kind if there else None, "*")
    return identify([wanted], sources)[wanted]


def _refuse_another_kind(kind: str, kinds: Mapping[str, Sequence[str]]) -> None:
    """Raise RyeError ``no-such-item`` if only an item of another kind has the id, and name it."""
    for identifier, present in kinds.items():
        if present:
            message = f"{identifier} is of kind {' and '.join(present)}, not {kind}."
            raise RyeError("no-such-item", message, f"`rye add {present[0]}:{identifier}` adds it.")


def _require_version(sources: Sources, identity: Identity, wanted: str) -> None:
    """Raise RyeError ``no-such-version`` if no release is in the range. Whether one of them may be chosen is for the solver to
    say."""
    history, versions = sources.histories([identity]).get(identity), Range.parse(wanted)
    allowed = versions.versions, versions.prereleases
    if history is not None and not any(Version.parse(r.version) in each for r in history.records for each in allowed):
        raise no_such_version(identity, wanted, history)


def _newest(sources: Sources, identity: Identity, environment: Environment) -> str:
    """A caret range of the newest release that may be chosen. ``*`` if none may, so that the solver says why, and for items of a
    source, which has one version at a time."""
    if sources.is_source(identity.namespace):
        return "*"
    history = sources.histories([identity]).get(identity)
    latest = latest_version(history, environment)
    if latest is not None:
        return f"^{latest}"
    if history is not None and history.records:
        return "*"
    raise RyeError(
        "no-such-item", f"The registry has no usable release of {identity}.", f"`rye info {identity}` shows why."
    )
