"""The folders of overlays and role directives: rye's, or those of a Gas Town town."""

from __future__ import annotations

from pathlib import Path

from rye.customization.places import Places, gastown_places, rye_places
from rye.errors import UsageError
from rye.project.layout import find_project
from rye.workspace.context import Context


def customization_places(context: Context, layout: str, town: Path | None, rig: str | None) -> Places:
    """The folders of a layout, ``rye`` or ``gastown``; ``town`` and ``rig`` apply only to ``gastown``.

    Raises UsageError ``usage`` if they contradict each other.
    """
    if layout == "rye":
        if town is not None or rig is not None:
            raise UsageError("usage", "--town and --rig need --layout gastown.", "Add --layout gastown.")
        return rye_places(context.home, find_project(context.cwd))
    if town is None:
        raise UsageError("usage", "--layout gastown needs --town.", "Give the town's folder, e.g. --town ~/gt.")
    return gastown_places(town, rig)
