"""The files attached to an installed item, against the lock: its signature covers only its own file."""

from __future__ import annotations

from pathlib import Path

from rye.errors import RyeError
from rye.installation.on_disk import drift, scan
from rye.installation.placement import item_folder
from rye.items.kinds import KINDS
from rye.project.layout import find_project
from rye.project.lock_file import read_lock


def attached_problem(main_file: Path) -> str | None:
    """What is wrong with the files beside an installed ``SKILL.md`` or the like; None for what is not installed."""
    path = main_file.absolute()
    project = find_project(path.parent)
    if project is None or path.name not in KINDS.main_files() or not path.is_relative_to(project.packages):
        return None
    place = path.parent.relative_to(project.root).as_posix()
    try:
        item = next((item for item in read_lock(project).items if item_folder(item) == place), None)
    except RyeError as error:
        return error.message
    if item is None:
        return "It lies among the installed items, and rye.lock does not name it."
    present = {file: found for file, found in scan(project).items() if file.startswith(f"{place}/")}
    wrong = [f"{entry.path.removeprefix(f'{place}/')} ({entry.state})" for entry in drift([item], present)]
    return f"Its files are not those of {item.identity} {item.version}: {', '.join(wrong[:8])}." if wrong else None
