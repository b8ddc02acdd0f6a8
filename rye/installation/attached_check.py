"""Checks an installed item's attached files against the lock: the item's signature covers only its main file."""

from __future__ import annotations

from pathlib import Path

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.project.layout import installed_place
from rye.project.lock_file import item_folder, read_lock
from rye.verified.on_disk import drift, scan


def attached_problem(main_file: Path) -> str | None:
    """Return what is wrong with the files attached to an installed main file such as ``SKILL.md``; None if they match
    or the item is not installed."""
    found = installed_place(main_file)
    if found is None or main_file.name not in KINDS.main_files():
        return None
    project, path = found
    place = path.parent.relative_to(project.root).as_posix()
    try:
        item = next((item for item in read_lock(project).items if item_folder(item) == place), None)
    except RyeError as error:
        return error.message
    if item is None:
        return "It is in the folder of installed items, but rye.lock does not list it."
    present = {file: here for file, here in scan(project).items() if file.startswith(f"{place}/")}
    wrong = [f"{entry.path.removeprefix(f'{place}/')} ({entry.state})" for entry in drift([item], present)]
    return f"Its files differ from {item.identity} {item.version}: {', '.join(wrong[:8])}." if wrong else None
