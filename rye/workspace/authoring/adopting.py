"""Adopting skills: skills from anywhere become items of this project, without changing what agents read.

A skill is copied to ``.ai/skills/<name>/`` (or fixed in place): ``SKILL.md`` with LF line endings, without a byte order mark,
with a version and, from a git checkout, where it comes from; every attached file byte for byte. Hidden characters, scripts and
broken links are reported. A skill that breaks a publishing rule is refused, and so is one that is installed; the others continue.
An existing folder is replaced only when asked for, and only if nobody edited it since it was adopted
(:mod:`rye.workspace.authoring.adoption_renewal`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.items.attached import attached_files
from rye.items.identity import is_segment
from rye.items.skill.adoption import AdoptableFile, analyze
from rye.items.version_text import version_problem
from rye.limits import CONTENT
from rye.project.context import require_project, walk
from rye.project.declared_sources import GIT_PREFIX, BadSource, git_address, is_on_disk
from rye.project.layout import installed_place
from rye.publishing.working_tree import checkout_of, uncommitted
from rye.sources.inventory.order import rank
from rye.storage.safe_files import read_bytes, refuse_links
from rye.text.diagnostics import has_errors
from rye.text.facts import ALARM, Fact, find_facts
from rye.text.facts.readable import readable_text
from rye.workspace.authoring.adoption_renewal import AttachedBytes, Recorded, SkillFiles, base_of, is_same, recorded_in
from rye.workspace.authoring.skill_folders import SKILLS, NewFile, replace_read, skill_folders
from rye.workspace.authoring.version_bump import raised

if TYPE_CHECKING:
    from rye.items.attached import AttachedFile
    from rye.items.skill.adoption import Adoption
    from rye.text.diagnostics import Diagnostic
    from rye.workspace.context import Context
    from rye.workspace.named_file import NamedFile

MAIN = "SKILL.md"
_NO_SKILLS = "Name a folder that contains skills. Agents of agent programs are not adopted; `rye add` installs them."

Status = Literal["adopted", "unchanged", "would-adopt", "refused", "newer", "updated", "would-update"]
"""``newer``: it changed where it comes from, and the copy here was left as it is."""


class AdoptRequest(Struct, frozen=True):
    """What to adopt: a skill's folder, or one that holds skills at any depth."""

    folder: NamedFile
    dry_run: bool = False
    """Write nothing."""
    in_place: bool = False
    """Fix the skills where they are, instead of copying them."""
    version: str = "0.1.0"
    """The version of skills that have none."""
    update: bool = False
    """Replace copies that nobody edited by what the skills are now."""


class FoundSkill(Struct, frozen=True, kw_only=True):
    """One skill: its folder, its content, and the findings about it."""

    folder: Path
    shown: str
    data: bytes
    """Of ``SKILL.md``."""
    files: tuple[AttachedFile, ...]
    problems: tuple[Diagnostic, ...]
    """Of the folder: symlinks, unsafe paths, too much."""
    adoption: Adoption
    alarms: tuple[Fact, ...] = ()
    """Of its texts; ``Fact.path`` is as a person sees it."""
    is_installed: bool
    """Whether it is among the files that a project has installed."""

    @property
    def publishable(self) -> bool:
        """Whether it breaks no rule of publishing."""
        return self.adoption.publishable and self.adoption.name is not None and not has_errors(self.problems)

    @property
    def main_bytes(self) -> bytes:
        """``SKILL.md`` as it will be in the project."""
        return self.adoption.fixed if self.adoption.fixed is not None else self.data


class AdoptedSkill(Struct, frozen=True):
    """The outcome for one skill."""

    skill: FoundSkill
    status: Status
    target: Path | None = None
    """Where it is now, or would be; None if it was refused."""
    shown_target: str | None = None
    """The same path, relative to the user's working folder."""
    reason: str | None = None
    """Why it was refused, or what is newer."""

    @property
    def moved(self) -> bool:
        """Whether its place in the project differs from where it was found."""
        return self.target is not None and self.target != self.skill.folder


def adopt_skills(context: Context, request: AdoptRequest) -> Iterator[AdoptedSkill]:
    """Adopt the skills of a folder one by one, and yield each when it is done.

    All are read before the first is written. Raises RyeError ``no-such-folder``, ``no-items``, ``changed-meanwhile``,
    ``no-project`` unless they stay in place, and UsageError ``bad-version``.
    """
    if version_problem(request.version) is not None:
        raise UsageError("bad-version", f"{request.version!r} is not a version.", "Write X.Y.Z, such as 0.1.0.")
    folders = _skills(request.folder)
    project = None
    if not request.in_place:
        project = require_project(context.cwd).root
        refuse_links(project, project / SKILLS)
    origins = {} if request.in_place else _origins([path for path, _ in folders], request.folder.path)
    candidates = []
    with context.progress("reading the skills", len(folders)) as advance:
        for path, shown in folders:
            candidates.append(_look(context.cwd, path, shown, request, origins.get(path)))
            advance()
    taken: dict[str, str] = {}
    for skill in candidates:
        yield _adopted(context.cwd, request, skill, project, taken, origins.get(skill.folder))


def _skills(folder: NamedFile) -> list[tuple[Path, str]]:
    root = folder.path
    if not root.is_dir():
        raise RyeError(
            "no-such-folder",
            f"The folder {folder.shown!r} does not exist.",
            "Name a folder that is a skill, or that contains skills.",
        )
    if (root / MAIN).is_file():
        return [(root, folder.shown)]
    folders: list[Path] = []
    for path in sorted(walk(root), key=lambda path: rank(path.relative_to(root).as_posix())):
        if path.name == MAIN and not any(path.is_relative_to(other) for other in folders):
            folders.append(path.parent)
    if not folders:
        raise RyeError("no-items", f"{folder.shown!r} contains no {MAIN}.", _NO_SKILLS, what="skills")
    return [(path, os.path.join(folder.shown, path.relative_to(root))) for path in folders]


def _origins(folders: list[Path], root: Path) -> dict[Path, str]:
    """Where each skill comes from, as ``rye add`` takes it (``git+URL#COMMIT:PATH``): for those in a checkout of a repository
    that has an address, and with the bytes of its commit."""
    try:
        checkout = checkout_of(root)
        if checkout is None or checkout.address is None:
            return {}
        address = _address(checkout.address)
        changed = [(checkout.top / name).resolve() for name in uncommitted(folders, root)]
    except (RyeError, BadSource):
        return {}
    origins = {}
    for folder in folders:
        here = folder.resolve()
        if here.is_relative_to(checkout.top) and not any(path.is_relative_to(here) for path in changed):
            path = here.relative_to(checkout.top).as_posix()
            origins[folder] = f"{GIT_PREFIX}{address}#{checkout.commit}{'' if path == '.' else f':{path}'}"
    return origins


def _address(remote: str) -> str:
    """A remote's address in the form of sources, without a user's name or password. Raises BadSource."""
    scp = re.fullmatch(r"([A-Za-z0-9._-]+@[A-Za-z0-9.-]+):(?!/)(.+)", remote)
    if is_on_disk(remote):
        raise BadSource("others have no such folder")
    return git_address(f"ssh://{scp[1]}/{scp[2]}" if scp else re.sub(r"^(https?://)[^/@]*@", r"\1", remote))


def _look(cwd: Path, folder: Path, shown: str, request: AdoptRequest, origin: str | None) -> FoundSkill:
    files, problems = attached_files(folder / MAIN)
    data = read_bytes(folder / MAIN, CONTENT.item_bytes, root=folder)
    read = [AdoptableFile(file, read_bytes(folder / file.path, file.size, root=folder)) for file in files]
    added = {"version": request.version} | ({"origin": origin} if origin is not None else {})
    adoption = analyze(data, folder.resolve().name, read, added)
    if not request.in_place and adoption.name is not None:
        adoption = analyze(data, adoption.name, read, added)  # the copy's folder has the skill's own name
    contents = {MAIN: data} | {entry.file.path: entry.data or b"" for entry in read}
    facts = find_facts({os.path.join(shown, path): readable_text(content) for path, content in contents.items()})
    alarms = tuple(fact for fact in facts if fact.level == ALARM)
    return FoundSkill(
        folder=folder,
        shown=shown,
        data=data,
        files=files,
        problems=problems,
        adoption=adoption,
        alarms=alarms,
        is_installed=installed_place(folder / MAIN, cwd) is not None,
    )


def _adopted(
    cwd: Path,
    request: AdoptRequest,
    skill: FoundSkill,
    project: Path | None,
    taken: dict[str, str],
    origin: str | None,
) -> AdoptedSkill:
    """Adopt one skill: into this project, or in place if that is None. ``origin``: where it comes from."""

    def became(status: Status, target: Path, what: str | None = None) -> AdoptedSkill:
        return AdoptedSkill(skill, status, target, os.path.relpath(target, cwd), what)

    def refused(why: str) -> AdoptedSkill:
        return AdoptedSkill(skill, "refused", reason=why)

    if skill.is_installed:
        return refused("it is an installed item; `rye fork` makes one your own, and remembers where it comes from")
    name = skill.adoption.name
    written: Status = "would-adopt" if request.dry_run else "adopted"
    if not skill.publishable or name is None or not is_segment(name):
        return refused(_rule_broken(skill))
    if project is None:
        if skill.adoption.fixed is None:
            return became("unchanged", skill.folder)
        if not request.dry_run:
            place = skill.folder / MAIN
            replace_read(request.folder.path, place, f"{skill.shown}/{MAIN}", skill.data, skill.main_bytes)
        return became(written, skill.folder)
    if name in taken:
        return refused(f"{taken[name]} has the same name")
    taken[name] = skill.shown
    target = project / SKILLS / name
    if target.exists() or target.is_symlink():
        if target.resolve() == skill.folder.resolve():
            if skill.adoption.fixed is None:
                return became("unchanged", target)
            return refused("it is already in this project; --in-place fixes it there")
        shown = os.path.relpath(target, cwd)
        copy = _read(target)
        if copy is None:
            return refused(f"{shown} already exists and differs")
        recorded, there = recorded_in(copy.main), _files(skill.folder, skill.data, skill.files)
        if is_same(copy, name, there, recorded):
            return became("unchanged", target)
        if recorded.origin is None or origin is None or not origin.startswith(f"{recorded.address}#"):
            return refused(f"{shown} already exists and differs")
        base = base_of(name, recorded, skill.folder)
        if base is None:
            why = f"this checkout lacks commit {recorded.commit[:12]}, which {shown} was adopted from"
            return refused(
                f"{why}, so nobody can tell whether it was edited here; `git fetch --unshallow` gets older commits"
            )
        moved = f"{recorded.commit[:12]} → {Recorded(None, origin).commit[:12]}"
        if base.is_still(there):
            return became("unchanged", target, "edited here")
        if not base.is_adopted_as(copy):
            return refused(
                f"{shown} was edited here since it was adopted, and it changed there, too ({moved}); merge by hand"
            )
        if not request.update:
            return became("newer", target, moved)
        if target.is_symlink():
            return refused(f"{shown} is a symbolic link, and Rye writes only to real folders")
        kept = _not_of_the_skill(target, copy)
        if (clash := _clash(kept, skill)) is not None:
            return refused(f"it now has {clash[0]}, and {os.path.join(shown, clash[1])} is yours; move that away first")
        if not request.dry_run:
            files = _new_files(_renewed(skill, name, recorded, origin))
            with skill_folders(project) as folders:
                folders.replace(name, files, kept, lambda old: _is_still(old, copy, kept))
        return became("would-update" if request.dry_run else "updated", target, moved)
    if not request.dry_run:
        files = _new_files(skill)
        with skill_folders(project) as folders:
            folders.add(name, files)
    return became(written, target)


def _rule_broken(skill: FoundSkill) -> str:
    """The first reason why a skill cannot be published, and how many more there are."""
    own = [("", finding) for finding in (*skill.problems, *skill.adoption.diagnostics)]
    hidden = [(f"{path}:{finding.line}: ", finding) for path, finding in skill.adoption.hidden]
    errors = [(where, finding) for where, finding in (*own, *hidden) if finding.severity == "error"]
    if not errors:
        return "it breaks rules for publishing"
    (where, first), *others = errors
    more = f" (and {len(others)} more)" if others else ""
    return f"it breaks a rule for publishing: {where}{first.message.rstrip('.')}{more}"


def _read(folder: Path) -> SkillFiles | None:
    """Read a skill in the project; None if its folder is none."""
    files, problems = attached_files(folder / MAIN)
    if problems or not (folder / MAIN).is_file():
        return None
    return _files(folder, read_bytes(folder / MAIN, CONTENT.item_bytes, root=folder), files)


def _files(folder: Path, main: bytes, files: Iterable[AttachedFile]) -> SkillFiles:
    read = {file: read_bytes(folder / file.path, file.size, root=folder) for file in files}
    return SkillFiles(main, {file.path: AttachedBytes(data, file.executable) for file, data in read.items()})


def _renewed(skill: FoundSkill, name: str, recorded: Recorded, origin: str) -> FoundSkill:
    """The skill with its new origin. One that has no version of its own gets the one after that of the copy."""
    version = raised(skill.shown, recorded.version, "patch")
    adoption = analyze(skill.data, name, (), {"version": version, "origin": origin})
    return replace(skill, adoption=replace(skill.adoption, fixed=adoption.fixed))


def _not_of_the_skill(folder: Path, copy: SkillFiles) -> list[str]:
    """The paths of files and links in a copy's folder that adopting did not write: hidden ones, and those that ``.ryeignore``
    leaves out. They are this project's own, and no part of what is compared."""
    paths: list[str] = []
    for here, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        paths += [Path(os.path.relpath(os.path.join(here, name), folder)).as_posix() for name in (*files, *links)]
    return sorted(path for path in paths if path != MAIN and path not in copy.attached)


def _is_still(folder: Path, copy: SkillFiles, kept: Sequence[str]) -> bool:
    """Whether a folder has exactly what was read of a copy, and what is kept of it."""
    return _read(folder) == copy and _not_of_the_skill(folder, copy) == list(kept)


def _clash(kept: Iterable[str], skill: FoundSkill) -> tuple[str, str] | None:
    """A file that the skill has now, and one that is kept and needs its place."""
    there = [MAIN, *(file.path for file in skill.files)]
    pairs = ((new, own) for own in kept for new in there)
    return next(
        (pair for pair in pairs if f"{pair[0]}/".startswith(f"{pair[1]}/") or pair[1].startswith(f"{pair[0]}/")), None
    )


def _new_files(skill: FoundSkill) -> dict[str, NewFile]:
    """The files of a skill as they will be in the project. Raises RyeError ``changed-meanwhile`` for one that was looked at with
    other bytes."""
    files = {MAIN: NewFile(skill.main_bytes)}
    for file in skill.files:
        data = read_bytes(skill.folder / file.path, file.size, root=skill.folder)
        if sha256(data).hexdigest() != file.sha256:
            raise RyeError("changed-meanwhile", f"{skill.shown}/{file.path} was changed just now.", "Run it again.")
        files[file.path] = NewFile(data, file.executable)
    return files
