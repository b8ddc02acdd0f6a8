"""The overlay files of a layout, and the one in force for a formula (DECISIONS Role directives and formula overlays 2, 12)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct

from rye.customization.overlays import Overlay, OverlayChoice, choose_overlay
from rye.customization.places import OVERLAY_SUFFIX, Places, check_name
from rye.customization.role_directives import Level
from rye.errors import RyeError
from rye.text.diagnostics import Diagnostic


class OverlayFile(Struct, frozen=True):
    """One path where an overlay can be; ``data`` is None if there is no file."""

    level: Level
    path: Path
    shown: str
    data: bytes | None = None

    @property
    def found(self) -> bool:
        """Whether the file exists."""
        return self.data is not None


class InForce(Struct, frozen=True):
    """The overlay of one formula: every path where it can be, and the choice between them."""

    formula: str
    files: tuple[OverlayFile, ...]
    choice: OverlayChoice

    @property
    def source(self) -> OverlayFile | None:
        """The file in force; None if there is no overlay."""
        return next((file for file in self.files if file.level == self.choice.source), None)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings about the file, and a warning if it hides the user's overlay."""
        found = list(self.choice.diagnostics)
        if self.choice.hides_user and self.choice.overlay is not None and self.choice.overlay.overrides:
            message = "The project's overlay hides the user's, which is ignored completely."
            found.append(Diagnostic("warning", "hides-user-overlay", message))
        return tuple(found)

    def overlay(self) -> Overlay | None:
        """The overlay to apply; None if there is no file.

        Raises RyeError ``malformed-overlay``. A malformed project overlay never falls back to the user's.
        """
        source = self.source
        if source is None:
            return None
        if self.choice.overlay is None:
            raise malformed_overlay(source.shown, self.choice.diagnostics)
        return self.choice.overlay


def malformed_overlay(shown: str, diagnostics: tuple[Diagnostic, ...]) -> RyeError:
    """The error for a file that cannot be read as an overlay."""
    first = next(finding for finding in diagnostics if finding.severity == "error")
    place = f":{first.line}" if first.line is not None else ""
    return RyeError(
        "malformed-overlay",
        f"{shown}{place}: {first.message}",
        first.hint or "Fix the file.",
        details={"diagnostics": [finding.as_json() for finding in diagnostics]},
    )


def in_force(places: Places, formula: str) -> InForce:
    """Look up a formula's overlay. Raises UsageError for an invalid item name, RyeError for a file that cannot be read."""
    check_name(formula, "formula")
    files: list[OverlayFile] = []
    for folder in places.overlays:
        path = folder.file(formula, OVERLAY_SUFFIX)
        files.append(OverlayFile(folder.level, path, folder.shown(path), folder.read(path)))
    by_level: dict[Literal["user", "project"], bytes | None] = {file.level: file.data for file in files}
    return InForce(formula, tuple(files), choose_overlay(by_level.get("user"), by_level.get("project")))
