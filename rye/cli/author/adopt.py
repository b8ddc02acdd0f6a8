"""``rye adopt``: skills from anywhere become items of this project, without changing what agents read.

A skill is copied to ``.ai/skills/<name>/`` (or, with ``--in-place``, fixed where it is): ``SKILL.md`` with LF line endings and
no byte order mark, every attached file byte for byte. Hidden characters, scripts and links that lead nowhere are reported;
what breaks a rule of publishing is refused, and the other skills of the folder go on. A folder that is there already is
never written over.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from rye.cli.console import printable
from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError
from rye.items.attached import attached_files
from rye.items.identity import is_segment
from rye.items.skill.adoption import AdoptableFile, analyze
from rye.limits import CONTENT
from rye.project.discovery import walk
from rye.project.item_file import read_bytes
from rye.project.layout import Project, find_project
from rye.storage.atomic import replace_file
from rye.text.diagnostics import has_errors

if TYPE_CHECKING:
    from rye.items.attached import AttachedFile
    from rye.items.skill.adoption import Adoption
    from rye.text.diagnostics import Diagnostic

_MAIN = "SKILL.md"


class _Candidate(Struct, frozen=True):
    """One skill that was found: its folder, what is in it, and what is known of it."""

    folder: Path
    shown: str
    data: bytes
    """Of ``SKILL.md``."""
    files: tuple[AttachedFile, ...]
    problems: tuple[Diagnostic, ...]
    """Of the folder: symlinks, unsafe paths, too much."""
    adoption: Adoption

    @property
    def publishable(self) -> bool:

        return self.adoption.publishable and self.adoption.name is not None and not has_errors(self.problems)

    @property
    def main_bytes(self) -> bytes:
        return self.adoption.fixed if self.adoption.fixed is not None else self.data


@command("adopt")
@click.argument("folder", metavar="FOLDER")
@click.option("--dry-run", is_flag=True, help="Only report; write nothing.")
@click.option("--in-place", is_flag=True, help="Mend the skills where they are instead of copying them.")
@click.pass_obj
def adopt(session: Session, folder: str, dry_run: bool, in_place: bool) -> int:
    """Make skills publishable: FOLDER is a skill, or holds some at any depth.

    They are checked and copied into this project's .ai/skills. Exit 1 when one of them cannot be adopted.
    """
    candidates = [_look(path, shown, in_place) for path, shown in _skills(session, folder)]
    taken: dict[str, str] = {}
    results: list[dict[str, object]] = []
    for candidate in candidates:
        status, target, why = _adopted(session, candidate, taken, dry_run=dry_run, in_place=in_place)
        shown = os.path.relpath(target, session.cwd) if target is not None else None
        results.append(_as_json(candidate, status, shown, why))
        _print(session, candidate, status, target, why)
    if session.json:
        session.console.document({"skills": results})
    return 1 if any(result["status"] == "refused" for result in results) else 0


def _skills(session: Session, folder: str) -> list[tuple[Path, str]]:

    root = session.path(folder)
    if not root.is_dir():
        raise UsageError(
            "no-such-folder", f"There is no folder {folder!r}.", "Give a skill's folder, or one with skills."
        )
    if (root / _MAIN).is_file():
        return [(root, folder)]
    found: list[Path] = []
    for path in walk(root):
        if path.name == _MAIN and not any(path.is_relative_to(other) for other in found):
            found.append(path.parent)
    if not found:
        raise RyeError("no-skills", f"There is no {_MAIN} below {folder!r}.", "Give a folder that holds skills.")
    return [(path, os.path.join(folder, path.relative_to(root))) for path in found]


def _look(folder: Path, shown: str, in_place: bool) -> _Candidate:

    files, problems = attached_files(folder / _MAIN)
    data = read_bytes(folder / _MAIN, CONTENT.item_bytes)
    read = [AdoptableFile(file, read_bytes(folder / file.path, file.size)) for file in files]
    adoption = analyze(data, folder.resolve().name, read)
    if not in_place and adoption.name is not None:
        adoption = analyze(data, adoption.name, read)  # copied, it stands in a folder of its own name
    return _Candidate(folder, shown, data, files, problems, adoption)


def _adopted(
    session: Session, candidate: _Candidate, taken: dict[str, str], *, dry_run: bool, in_place: bool
) -> tuple[str, Path | None, str | None]:
    """What became of one skill (adopted, unchanged, would-adopt, refused), where it is, and why it was refused."""

    name = candidate.adoption.name
    if not candidate.publishable or name is None or not is_segment(name):
        return "refused", None, "it breaks rules of publishing"
    if in_place:
        if candidate.adoption.fixed is None:
            return "unchanged", candidate.folder, None
        if not dry_run:
            replace_file((candidate.folder / _MAIN).resolve(), candidate.main_bytes)
        return ("would-adopt" if dry_run else "adopted"), candidate.folder, None
    if name in taken:
        return "refused", None, f"{taken[name]} has the same name"
    taken[name] = candidate.shown
    project = find_project(session.cwd) or Project(session.cwd.absolute())
    target = project.ai / "skills" / name
    if target.exists() or target.is_symlink():
        if target.resolve() == candidate.folder.resolve():
            if candidate.adoption.fixed is None:
                return "unchanged", target, None
            return "refused", None, "it is this project's own already; --in-place fixes it there"
        if _same(candidate, target):
            return "unchanged", target, None
        return "refused", None, f"{os.path.relpath(target, session.cwd)} is there already, and differs"
    if not dry_run:
        _copy(candidate, target)
    return ("would-adopt" if dry_run else "adopted"), target, None


def _same(candidate: _Candidate, target: Path) -> bool:
    """Whether the folder holds exactly what would be copied there."""

    files, problems = attached_files(target / _MAIN)
    if problems or files != candidate.files:
        return False
    pairs = [(candidate.folder / file.path, target / file.path) for file in files]
    return (target / _MAIN).read_bytes() == candidate.main_bytes and all(
        a.read_bytes() == b.read_bytes() for a, b in pairs
    )


def _copy(candidate: _Candidate, target: Path) -> None:
    """Write the whole folder beside its place, then rename it there: it is there whole or not at all."""

    target.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=".adopting-", dir=target.parent))
    try:
        (staged / _MAIN).write_bytes(candidate.main_bytes)
        for file in candidate.files:
            data = read_bytes(candidate.folder / file.path, file.size)
            if len(data) != file.size:
                raise RyeError(
                    "changed-meanwhile", f"{candidate.shown}/{file.path} was changed just now.", "Run it again."
                )
            destination = staged / file.path
            destination.parent.mkdir(parents=True, exist_ok=True)
            destination.write_bytes(data)
            if file.executable:
                destination.chmod(destination.stat().st_mode | 0o111)
        mask = os.umask(0)
        os.umask(mask)
        staged.chmod(0o777 & ~mask)
        staged.rename(target)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise


def _as_json(candidate: _Candidate, status: str, target: str | None, why: str | None) -> dict[str, object]:
    adoption = candidate.adoption
    return {
        "path": candidate.shown,
        "name": adoption.name,
        "version": adoption.metadata.version if adoption.metadata else None,
        "status": status,
        "reason": why,
        "target": target,
        "publishable": candidate.publishable,
        "diagnostics": [finding.as_json() for finding in (*candidate.problems, *adoption.diagnostics)],
        "hidden": [{"path": path, **finding.as_json()} for path, finding in adoption.hidden],
        "scripts": list(adoption.scripts),
        "dead_links": [{"path": p, "destination": to, "line": line} for p, to, line in adoption.dead_links],
        "files": [_MAIN, *(file.path for file in candidate.files)],
        "changes": list(adoption.changes),
    }


def _print(session: Session, candidate: _Candidate, status: str, target: Path | None, why: str | None) -> None:

    console, adoption = session.console, candidate.adoption
    where = f" → {os.path.relpath(target, session.cwd)}" if target is not None and target != candidate.folder else ""
    reason = f": {why}" if why else ""
    line = f"{status:<11} {candidate.shown}{where}{reason}"
    console.data(console.style(printable(line), "removed" if status == "refused" else "ok"))
    for change in adoption.changes:
        console.say(f"  {_MAIN}: {change}")
    console.diagnostics(os.path.join(candidate.shown, _MAIN), (*candidate.problems, *adoption.diagnostics))
    for path, finding in adoption.hidden:
        console.diagnostics(os.path.join(candidate.shown, path), [finding])
    for path in adoption.scripts:
        console.say(printable(f"  can be run: {path}"), "warning")
    for path, destination, number in adoption.dead_links:
        if path == _MAIN:
            continue  # a finding says so
        console.say(printable(f"  leads nowhere: {path}:{number} → {destination}"), "warning")
