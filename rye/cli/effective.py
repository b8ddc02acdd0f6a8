"""The item that a command works on: unchanged since it was installed, with the overrides that apply to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.errors import RyeError
from rye.project.target import Target, find_target

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from rye.cli.options import Session
    from rye.customization.effective_text import Applied, Effective
    from rye.customization.item_overrides import OverrideSource
    from rye.items.reading import ReadOptions
    from rye.project.layout import Project
    from rye.project.manifest import Manifest
    from rye.project.spaces import Entry


def effective_target(
    session: Session, argument: str, kind: str | None = None, *, base: bool = False, inspect: bool = False
) -> Target:
    """Find the item that ``FILE|ID`` means, with its overrides applied unless ``base``.

    An installed item whose bytes are not those of the lock is refused, and so is an overrides file in error; with ``inspect``
    only a warning says so, and the file in error changes nothing.
    """
    target = find_target(argument, session.cwd, kind)
    problem = _changed_since_installed(target)
    if problem is not None:
        if not inspect:
            raise problem
        session.console.warn(problem.message, problem.hint)
    return target if base else _customized(session, target, inspect)


def _customized(session: Session, target: Target, inspect: bool) -> Target:
    from rye.customization.item_overrides import OVERRIDABLE

    if target.item.kind.name not in OVERRIDABLE or target.item.text is None:
        return target
    result = effective_item(target)
    if result is None:
        return target
    for file in result.files:
        if file.refused:
            problem = _refused(target, file)
            if not inspect:
                raise problem
            session.console.warn(f"{file.source.shown} is in error and is left out.", problem.hint)
        findings = [f for f in file.diagnostics if f.severity in ("error", "warning")]
        session.console.diagnostics(file.source.shown, findings)
    if result.text == result.base:
        return target
    item = replace(target.item, data=result.text.encode("utf-8"), text=result.text, reading=result.reading)
    shown = tuple(file.source.shown for file in result.files if not file.refused)
    return replace(target, item=item, overrides=shown)


def _refused(target: Target, file: Applied) -> RyeError:
    errors = [finding for finding in file.diagnostics if finding.severity == "error"]
    first = errors[0]
    place = f":{first.line}" if first.line is not None else ""
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    hint = first.hint or f"`rye override check {target.id}` shows all findings."
    return RyeError(
        first.code if first.code.startswith("override-") else "override-in-error",
        f"{file.source.shown}{place}: {first.message}{more}",
        f"{hint} --base leaves overrides out." if first.hint is None else f"{hint}\n--base leaves overrides out.",
        details={"overrides": file.source.shown, "diagnostics": [finding.as_json() for finding in file.diagnostics]},
    )


def effective_item(target: Target, today: date | None = None) -> Effective | None:
    """The item's text with its overrides; None where it has none. Raises RyeError for a file that cannot be read."""
    from rye.customization.item_overrides import entry_sources
    from rye.customization.places import rye_places
    from rye.items.reading import ReadOptions
    from rye.project.context import load_manifest

    manifest = load_manifest(target.project) if target.project is not None else None
    namespace = manifest.namespace if manifest is not None else None
    entry = target.entry or entry_of_file(target.item.path, target.project, namespace)
    if entry is None:
        return None
    files = entry_sources(rye_places(target.project), entry, target.project, namespace)
    if not files:
        return None
    options = ReadOptions(tools=manifest.tools if manifest else frozenset())
    return apply_to(replace(target, entry=entry), files, options, manifest, today)


def apply_to(
    target: Target,
    files: tuple[OverrideSource, ...],
    options: ReadOptions,
    manifest: Manifest | None,
    today: date | None = None,
) -> Effective:
    """The item's unsigned text with these overrides files."""
    from rye.customization.effective_text import effective, reader, unsigned
    from rye.installation.policy_files import override_widening_allowed
    from rye.project.manifest import Manifest as EmptyManifest

    item = target.item
    return effective(
        unsigned(item.text or "", item.location, item.path.name),
        files,
        reader(item.location, item.shown, options),
        name=item.location.name,
        version=version_of(target),
        file_name=item.shown,
        today=today,
        widening_allowed=override_widening_allowed(manifest or EmptyManifest()),
    )


def version_of(target: Target) -> str | None:
    """The item's version: its own, else the one that it was installed as."""
    metadata = target.item.reading.metadata
    if metadata is not None and metadata.version is not None:
        return metadata.version
    if target.entry is None or target.entry.space != "installed" or target.project is None:
        return None
    from rye.items.identity import Identity
    from rye.project.lock_file import read_lock

    locked = read_lock(target.project).find(Identity(target.item.kind.name, target.id))
    return locked.version if locked is not None else None


def entry_of_file(path: Path, project: Project | None, namespace: str | None) -> Entry | None:
    """The entry of a file that was named by its path; None where it stands in no space."""
    from rye.items.location import locate
    from rye.project.spaces import Entry, user_space

    absolute = path.resolve()
    location = locate(absolute)
    if location is None:
        return None
    if project is not None and absolute.is_relative_to(project.packages.resolve()):
        return Entry("installed", absolute, location, location.namespace)
    if project is not None and absolute.is_relative_to(project.ai.resolve()):
        return Entry("project", absolute, location, namespace)
    if absolute.is_relative_to(user_space().resolve()):
        return Entry("user", absolute, location, None)
    return None


def _changed_since_installed(target: Target) -> RyeError | None:
    if target.entry is None or target.entry.space != "installed" or target.project is None:
        return None
    from hashlib import sha256

    from rye.items.identity import Identity
    from rye.project.lock_file import read_lock

    item = target.item
    locked = read_lock(target.project).find(Identity(item.kind.name, target.id))
    if locked is None:
        return RyeError(
            "not-locked",
            f"{item.shown} is in .ai/packages but not in rye.lock: nobody installed it.",
            "Remove it, or install it with `rye add`.",
        )
    if sha256(item.data).hexdigest() == locked.sha256:
        return None
    return RyeError(
        "modified-item",
        f"{item.shown} was changed since {locked.id}@{locked.version} was installed.",
        "`rye install --discard-local-edits` puts the signed bytes back; keep a change of your own with `rye override new "
        + locked.id
        + "`.",
    )
