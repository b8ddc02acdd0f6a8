"""Gathering the whole prompt of an agent in a role (DECISIONS Role directives and formula overlays 10).

The order is fixed: role template, role directives, context files, hand-off, formula steps with overlays. Blank lines at the ends
of each part are removed, empty parts are left out, and parts are separated by one blank line. Their text is not interpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, field

from rye.customization.overlay_files import InForce
from rye.customization.places import Places, check_name
from rye.customization.role_files import directives_of
from rye.errors import RyeError, UsageError
from rye.items.formula.model import Formula
from rye.limits import OVERRIDES, ContentLimits
from rye.project.layout import find_project
from rye.storage.safe_files import read_bytes
from rye.text import content
from rye.text.diagnostics import to_mend
from rye.workspace.context import Context
from rye.workspace.customizing.formulas import find_formula
from rye.workspace.customizing.overlaying import (
    Overlaid,
    apply_in_force,
    overlay_of,
    require_overlay,
    require_overlay_allowed,
)
from rye.workspace.customizing.roles import known_roles, require_directives, unknown_role
from rye.workspace.findings import FileFindings
from rye.workspace.installing.install_request import Agree
from rye.workspace.items.agreement import require_agreed, require_text_allowed
from rye.workspace.items.effective_item import EffectiveItem, effective_item
from rye.workspace.items.rendered import AskValue
from rye.workspace.items.rendering import render_item
from rye.workspace.named_file import NamedFile

PARTS = ("role", "role-directives", "context", "handoff", "formula")


class Looked(Struct, frozen=True):
    """One file that was looked for, for ``--explain``."""

    part: str
    path: str
    found: bool
    detail: str = ""

    def as_json(self) -> dict[str, object]:
        """The entry of ``looked`` in the document of ``rye prime``."""
        return {"part": self.part, "path": self.path, "found": self.found, "detail": self.detail}

    def __str__(self) -> str:
        state = self.detail or ("found" if self.found else "not found")
        return f"{self.part}: {self.path}: {state}"


class Section(Struct, frozen=True):
    """One part of the prompt and its source files."""

    part: str
    text: str
    sources: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """The entry of ``sections`` in the document of ``rye prime``."""
        return {"part": self.part, "text": self.text, "sources": list(self.sources)}


def ordered(sections: Iterable[Section]) -> tuple[Section, ...]:
    """The parts that are not empty, in the order of a prompt. Sections of the same part keep their order."""
    trimmed = (Section(each.part, _trim(each.text), each.sources) for each in sections)
    return tuple(sorted((each for each in trimmed if each.text), key=lambda each: PARTS.index(each.part)))


def prompt(sections: Iterable[Section]) -> str:
    """The prompt. It ends with a newline unless it is empty."""
    text = "\n\n".join(section.text for section in ordered(sections))
    return f"{text}\n" if text else ""


def _trim(text: str) -> str:
    """``text`` without blank lines at its ends; an indented first line keeps its indentation."""
    lines = text.split("\n")
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return "\n".join(lines[start:end])


class PrimeRequest(Struct, frozen=True, kw_only=True):
    """The role, and what to add to it."""

    role: str
    places: Places
    formula: str | None = None
    """``FILE|ID``."""
    contexts: tuple[NamedFile, ...] = ()
    handoff: NamedFile | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    """Values of the formula's variables."""


class Primed(Struct, frozen=True):
    """One prompt, its parts in order, and every source that was checked."""

    role: str
    prompt: str
    sections: tuple[Section, ...]
    sources: tuple[Looked, ...]
    findings: tuple[FileFindings, ...]

    def as_json(self) -> dict[str, object]:
        """The JSON of ``rye prime``."""
        return {
            "role": self.role,
            "prompt": self.prompt,
            "sections": [section.as_json() for section in self.sections],
            "sources": [each.as_json() for each in self.sources],
        }


def prime(context: Context, request: PrimeRequest, ask: AskValue | None = None, agree: Agree | None = None) -> Primed:
    """Gather the prompt. ``ask``: asks for required variables of the formula. ``agree``: as in
    :func:`rye.workspace.items.rendering.render`.

    Raises RyeError for a source that is missing or may not be used.
    """
    if request.texts and request.formula is None:
        raise UsageError("usage", "--input sets a formula's variables, so it needs --formula.", "Add --formula F.")
    check_name(request.role, "role")
    gathered = _Gathered(
        context,
        request.places,
        lambda found: require_agreed(context, found, agree),
    )
    gathered.role(request.role)
    gathered.directives(request.role)
    for file in request.contexts:
        gathered.file("context", file)
    if request.handoff is not None:
        gathered.file("handoff", request.handoff)
    if request.formula is not None:
        gathered.formula(request.formula, request.texts, ask)
    sections = tuple(gathered.sections)
    return Primed(request.role, prompt(sections), ordered(sections), tuple(gathered.looked), tuple(gathered.findings))


class _Gathered:
    """The parts found so far, in the order of the prompt."""

    def __init__(self, context: Context, places: Places, require: Callable[[EffectiveItem], None]) -> None:
        """``require``: raises for an item that this user has not agreed to."""
        self.sections: list[Section] = []
        self.looked: list[Looked] = []
        self.findings: list[FileFindings] = []
        self._context = context
        self._places = places
        self._require = require
        self._role: EffectiveItem | None = None

    def role(self, role: str) -> None:
        """Add the role template with its overrides. In Gas Town it can be missing, since templates are built in."""
        try:
            found = effective_item(self._context, f"role:{role}")
        except RyeError as error:
            if error.code != "no-such-item":
                raise
            if self._places.layout == "rye":
                raise unknown_role(role, list(known_roles(self._context))) from None
            self.looked.append(Looked("role", role, False))
            return
        self._require(found)
        self._role = found
        rendered = render_item(self._context, found, {}, {}, self._require)
        self.findings += rendered.findings
        self.looked.append(Looked("role", rendered.shown, True))
        self.looked += (Looked("role", path, True, "override applied") for path in found.overrides)
        self.sections.append(Section("role", rendered.prompt, (rendered.shown, *found.overrides)))

    def directives(self, role: str) -> None:
        """Add the role's directives."""
        told = directives_of(self._places, role)
        if self._role is not None and self._places.layout == "rye":
            require_directives(self._context, self._role, told)
        else:
            project = find_project(self._context.cwd)
            for file in told.sources:
                require_text_allowed(self._context, f"role:{role}", project, file.path, file.text or "")
        for file in told.sources:
            detail = "blank, so it adds nothing" if file.found and not file.effective else ""
            self.looked.append(Looked("role-directives", file.path, file.found, detail))
        if told.text:
            said = tuple(file.path for file in told.sources if file.effective)
            self.sections.append(Section("role-directives", told.render(), said))

    def file(self, part: str, file: NamedFile) -> None:
        """Add a context or hand-off file: plain text. Hidden characters in it are findings."""
        data = read_bytes(file.path, OVERRIDES.context_bytes)
        decoded = content.decode(data, ContentLimits(item_bytes=OVERRIDES.context_bytes))
        if decoded.text is None:
            raise RyeError("unreadable", f"{file.shown}: {decoded.diagnostics[0].message}", "Name a text file.")
        if findings := to_mend(decoded.diagnostics):
            self.findings.append(FileFindings(file.shown, findings))
        self.looked.append(Looked(part, file.shown, True))
        self.sections.append(Section(part, decoded.text, (file.shown,)))

    def formula(self, argument: str, texts: Mapping[str, str], ask: AskValue | None) -> None:
        """Add the formula's steps, with variables filled in and its overlay applied."""
        found = find_formula(self._context, argument)
        self._require(found)
        self.looked.append(Looked("formula", found.item.shown, True))
        force = overlay_of(self._context, found, self._places)
        sources = [found.item.shown]

        def overlay(found: EffectiveItem, resolved: Formula) -> Overlaid:
            if force is None:
                return Overlaid(resolved)
            if self._places.layout == "rye":
                require_overlay(self._context, found, force)
            else:
                require_overlay_allowed(self._context, found, force)
            done = apply_in_force(force, resolved)
            sources.extend(self._explain(force, done.applied))
            return done

        rendered = render_item(self._context, found, texts, {}, self._require, ask, overlay)
        self.findings += rendered.findings
        self.sections.append(Section("formula", rendered.prompt, tuple(sources)))

    def _explain(self, force: InForce, applied: tuple[str, ...]) -> list[str]:
        """Record the overlay files that were checked and the effect of the one in force. Returns that one's path."""
        used = force.source
        for file in force.files:
            hidden = "hidden by the project's" if file.found and used is not None and file is not used else ""
            self.looked.append(Looked("overlay", file.shown, file.found, hidden))
        if used is None:
            return []
        overrides = force.choice.overlay.overrides if force.choice.overlay is not None else ()
        scope = f" ({f'rig={self._places.rig}' if used.level == 'project' else 'town'})"
        detail = f"Formula overlay: applying {len(overrides)} override(s) for {force.formula}{scope}"
        self.looked.append(Looked("overlay", used.shown, True, detail))
        self.looked += (Looked("overlay", used.shown, True, each) for each in applied)
        return [used.shown]
