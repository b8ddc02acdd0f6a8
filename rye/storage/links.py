"""Symbolic links between a folder and a place below it. They can lead anywhere, and anyone who can commit can make one."""

from __future__ import annotations

from pathlib import Path

from rye.errors import RyeError


def first_link(root: Path, place: Path) -> Path | None:
    """Return the first symbolic link on the way from ``root`` to ``place``, which can be the link; None: there is none."""
    here = root
    for part in place.relative_to(root).parts:
        here = here / part
        if here.is_symlink():
            return here
    return None


def refuse_links(root: Path, place: Path) -> None:
    """Refuse to write to a place that a link leads to. Raises RyeError ``symlink-in-the-way``."""
    link = first_link(root, place)
    if link is not None:
        raise RyeError(
            "symlink-in-the-way",
            f"{str(link.relative_to(root))!r} is a symbolic link; Rye writes only to real files and folders.",
            "Remove the link, or put a real folder in its place.",
        )
