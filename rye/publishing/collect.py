"""Reading the items that shall be published from disk, with the files attached to them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rye.items.reading import ReadOptions
from rye.project.item_file import load_item
from rye.publishing.release import AttachedBytes, Publishable, publishable


def collect(
    paths: Iterable[tuple[Path, str]], namespace: str, options: ReadOptions, version: str | None = None
) -> list[Publishable]:
    """Each file as something to publish, in the order given. Raises RyeError for the first that cannot be published."""
    found = []
    for path, shown in paths:
        item = load_item(path, shown=shown, options=options)
        found.append(publishable(item, namespace, attached_bytes(item.path), version))
    return found


def attached_bytes(main_file: Path) -> tuple[AttachedBytes, ...]:
    """The files attached to a skill's ``SKILL.md``; none for other kinds. Raises RyeError when one may not be attached."""
    if main_file.name != "SKILL.md":
        return ()
    from rye.errors import RyeError
    from rye.items.skill_folder import attached_files
    from rye.limits import CONTENT
    from rye.project.item_file import read_bytes

    files, problems = attached_files(main_file.parent)
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise RyeError("invalid-item", f"{main_file.parent}: {errors[0].message}", errors[0].hint)
    return tuple(
        AttachedBytes(file.path, read_bytes(main_file.parent / file.path, CONTENT.attached_bytes), file.executable)
        for file in files
    )
