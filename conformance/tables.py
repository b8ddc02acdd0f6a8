"""Cases that differ in one edit: a scene that is accepted as it is (the control), and refused with each row's edit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.cases import add
from conformance.play import Case, Play
from conformance.simulator.registry import Edit, Registry, same

Row = tuple[str, str, Edit, tuple[str, ...]]
"""A name, the words of the page, the edit, and the classes with which it is refused (none: it is accepted)."""
Scene = Callable[[Registry, Edit], Mapping[str, Any] | None]
"""Adds to a registry, with an edit somewhere, and publishes it. Returns members of the decisive request, if any."""


def row(name: str, quote: str, edit: Edit, *refuses: str) -> Row:
    return name, quote, edit, refuses


def swap(old: str, new: str) -> Edit:
    """Replace a part that must be there."""

    def edit(text: str) -> str:
        if old not in text:
            raise ValueError(f"{old!r} is not in {text!r}")
        return text.replace(old, new, 1)

    return edit


def without(line: str) -> Edit:
    """Leave out the first line that begins so."""

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        found = next(number for number, text in enumerate(lines) if text.startswith(line))
        return "".join(lines[:found] + lines[found + 1 :])

    return edit


def value(key: str, new: str) -> Edit:
    """Give the first line with this key another value."""

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        found = next(number for number, text in enumerate(lines) if text.startswith(f"{key} "))
        lines[found] = f"{key} {new}\n"
        return "".join(lines)

    return edit


def after(key: str, line: str) -> Edit:
    """Add a line after the last one with this key."""

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        found = max(number for number, text in enumerate(lines) if text.startswith(f"{key} "))
        return "".join([*lines[: found + 1], f"{line}\n", *lines[found + 1 :]])

    return edit


def edited(
    subject: str,
    page: str,
    scene: Scene,
    rows: Iterable[Row],
    command: str = "resolve",
    *,
    needs: Iterable[str] = (),
    members: Mapping[str, object] | None = None,
) -> None:
    """A case for each row: pin the registry, let the scene happen, then ask; without the edit first, by another user."""
    for name, quote, edit, refuses in rows:
        play = _play(scene, edit, command, members or {})
        add(Case(f"{subject}/{name}", page, quote, refuses, frozenset(needs), play))


def _play(scene: Scene, edit: Edit, command: str, members: Mapping[str, object]) -> Callable[[Play], None]:
    def play(play: Play) -> None:
        for one in (same, edit):
            registry = Registry.fresh()
            play.start(registry)
            asked = {**members, **(scene(registry, one) or {})}
            play.serve(registry)
            if one is same:
                play.good(command, **asked)
            else:
                play.decisive(command, **asked)

    return play
