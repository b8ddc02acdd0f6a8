"""``rye deploy export``: writes installed items as a plugin marketplace, or as the well-known index of skills.

It contains what a deploy to the program would write, with the same refusals, except releases that their registry withdrew,
even if they are locked (:mod:`rye.registry.marketplaces` has the formats).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from rye.deployment.agreeing import counted, require_accepted
from rye.deployment.choosing import require_targets_allowed
from rye.deployment.disk import FolderDisk
from rye.deployment.plan_values import Refused, Wanted
from rye.deployment.survey import ReadProject, deployed_rows, gather, read_project, read_state_file, survey, used_rows
from rye.deployment.targets.protocol import Target, target
from rye.installation.silence import NotAsked
from rye.items.identity import Identity
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.registry.export_folder import write_export
from rye.registry.marketplaces import (
    Export,
    SharedAgent,
    SharedFile,
    SharedSkill,
    claude_marketplace,
    codex_marketplace,
    well_known,
)
from rye.registry.trust.records import ReleaseRecord, find_locked
from rye.workspace.context import Context
from rye.workspace.registries.not_asked import not_asked_document
from rye.workspace.registries.registry_access import UNCHECKED, project_sources, tell_not_asked

Form = Literal["claude", "codex", "copilot", "well-known"]


class Exported(Struct, frozen=True):
    """The result of an export."""

    items: tuple[str, ...]
    left_out: Mapping[str, str]
    """Items whose release is withdrawn, and why, as the end of a sentence."""
    refused: tuple[Refused, ...]
    changed: int
    """The number of files that were written or removed."""
    not_asked: tuple[NotAsked, ...] = ()
    """Registries that did not answer, so that what they withdrew since their last verified state is not known."""

    def as_json(self) -> dict[str, object]:
        """Return the JSON of ``rye deploy export``."""
        return {
            "items": list(self.items),
            "withdrawn": list(self.left_out),
            "refused": [row.as_json() for row in self.refused],
            "files_changed": self.changed,
            **not_asked_document(self.not_asked),
        }


def export(context: Context, project: Project, form: Form, folder: Path) -> Exported:
    """Write the export. Of a registry that does not answer, the last verified state says what is withdrawn, which is told. Raises
    RyeError if that is too old or not enough, or if the folder contains other files."""
    read = read_project(project)
    require_targets_allowed(context, read.manifest, [target_of(form).name])
    rows = deployed_rows(read)
    require_accepted(context, project, read.manifest, used_rows(read))
    gone, not_asked = withdrawn(context, read, rows)
    files, items, refused = exported(context, read, [row for row in rows if row.identity not in gone], form)
    changed = write_export(folder, files)
    left_out = {str(identity): gone[identity] for identity in sorted(gone)}
    return Exported(tuple(items), left_out, tuple(refused), changed, not_asked)


def target_of(form: Form) -> Target:
    """The program whose files an export has."""
    return target("codex" if form == "well-known" else form)


def withdrawn(
    context: Context, read: ReadProject, rows: Sequence[LockedItem]
) -> tuple[dict[Identity, str], tuple[NotAsked, ...]]:
    """Return the items whose locked release was yanked or taken down, or whose signing key was revoked, and which of these; and
    which registries did not answer."""
    rows = [row for row in rows if row.source is None]
    if not rows:
        return {}, ()
    with project_sources(context, read.manifest, read.project.root, outages="hold") as sources:
        histories = sources.releases_told(row.identity for row in rows)
        sources.require_told(rows)
        not_asked = tell_not_asked(context, sources, UNCHECKED)
        records = {
            row.identity: find_locked(histories.get(row.identity), row.identity, row.version, row.sha256)
            for row in rows
        }
        return {identity: _why(record) for identity, record in records.items() if record.is_withdrawn}, not_asked


def _why(record: ReleaseRecord) -> str:
    """Why a withdrawn release is one, as the end of a sentence."""
    if record.takedown is not None:
        return "the registry's owners took files of it down"
    if record.yank is not None:
        return "its release was yanked"
    if record.revoked:
        return "its signing key was revoked, by its owners or by you"
    return record.held


def exported(
    context: Context, read: ReadProject, rows: Sequence[LockedItem], form: Form
) -> tuple[Export, list[str], list[Refused]]:
    """Return the files, the items in them, and what was refused."""
    one = target_of(form)
    state = read_state_file(read.project.root, "project").state
    agreed = frozenset(counted(context, read.project, state))
    skills: list[SharedSkill] = []
    agents: list[SharedAgent] = []
    refused: list[Refused] = []
    for namespace in sorted({row.identity.namespace for row in rows}):
        own = [row for row in rows if row.identity.namespace == namespace]
        found = survey(
            read, gather(context, read, "project", own), FolderDisk(read.project.root), [one], "project", agreed
        )
        refused += found.refused
        descriptions = found.descriptions
        files = [file for file in found.wanted if file.form is None]
        skills += _skills(one, namespace, files, descriptions)
        if form in ("claude", "copilot"):
            plain = [file for file in files if _is_agent(one, file)]
            bound = [file for file in plain if file.item.startswith("directive:")]
            refused += [_unbound(one, file) for file in bound]
            agents += [_agent(namespace, file) for file in plain if file not in bound]
    name = read.manifest.name or read.project.root.name
    made = {
        "claude": lambda: claude_marketplace(name, skills, agents),
        "copilot": lambda: claude_marketplace(name, skills, agents),
        "codex": lambda: codex_marketplace(name, skills),
        "well-known": lambda: well_known(skills),
    }[form]()
    taken = {f"{skill.namespace}/{skill.name}" for skill in skills} | {
        f"{agent.namespace}/{agent.file_name}" for agent in agents
    }
    return made, sorted(taken), refused


def _skills(one: Target, namespace: str, files: Sequence[Wanted], descriptions: Mapping[str, str]) -> list[SharedSkill]:
    folder = f"{one.places['project'].skills}/"
    files_by_skill: dict[str, dict[str, SharedFile]] = {}
    of: dict[str, Wanted] = {}
    for file in files:
        if file.path.startswith(folder):
            name, _, rest = file.path.removeprefix(folder).partition("/")
            files_by_skill.setdefault(name, {})[rest] = SharedFile(file.data, file.executable)
            of[name] = file
    return [
        SharedSkill(namespace, name, of[name].version, descriptions.get(of[name].item, ""), parts)
        for name, parts in files_by_skill.items()
    ]


def _is_agent(one: Target, file: Wanted) -> bool:
    return file.path.startswith(f"{one.places['project'].agents}/")


def _agent(namespace: str, file: Wanted) -> SharedAgent:
    return SharedAgent(namespace, file.path.rpartition("/")[2], file.version, file.data)


def _unbound(one: Target, file: Wanted) -> Refused:
    message = f"{one.title} does not start servers for agents of plugins, so nothing would enforce its rights."
    return Refused(item=file.item, target=one.name, field="permissions", code="deploy-inexpressible", message=message)
