"""What a rollback does not bring back: files for agent programs that rye.toml does not name.

A rollback restores rye.toml and rye.lock, and deploys as rye.toml says. Files that were deployed for another program
(``rye deploy --target NAME --once``) left with their items, and nothing but the saved ``.ai/deploy.lock`` knows of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from rye.deployment.state import parse_state
from rye.deployment.survey import read_state_file
from rye.errors import RyeError
from rye.installation.rollback import read_previous
from rye.project.agent_programs import program_names
from rye.project.layout import Project
from rye.project.lock_file import read_lock

Deployed = Mapping[str, frozenset[str]]
"""Name of a program → the ``kind:id`` of what is deployed for it."""


def deployed_before(project: Project) -> Deployed:
    """What was deployed before the last change of rye.lock, as far as the saved state says; nothing if it cannot be read."""
    try:
        rows = parse_state(read_previous(project).deployed).files
    except RyeError:  # the rollback reports it
        return {}
    names = program_names()
    return {name: frozenset(row.item for row in rows if row.target == name) for name in names}


def not_restored(project: Project, before: Deployed) -> dict[str, list[str]]:
    """Which of these items are installed now and not deployed, by program."""
    here = {str(row.identity) for row in read_lock(project).items}
    rows = read_state_file(project.root, "project").state.files
    now = {(row.target, row.item) for row in rows}
    found = {name: sorted(item for item in items & here if (name, item) not in now) for name, items in before.items()}
    return {name: items for name, items in found.items() if items}
