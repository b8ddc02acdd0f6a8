"""Formula overlays: TOML files that change single steps of a formula.

The rules are those of DECISIONS, Role directives and formula overlays, 2–6, 9 and 11.

* ``[[step-overrides]]`` entries have a ``step_id``, a ``mode`` (exactly ``replace``, ``append`` or ``skip``) and, for replace
  and append, a ``description``, which must not be empty. Anything else is an error, never ignored.
* The project's file replaces the user's entirely, even if it is empty. A malformed one never falls back to the user's.
* Entries are applied in file order. A skipped step is unknown to later entries; steps that needed it inherit its needs.
* The fix for stale entries removes only their lines, and parses the result to verify that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

from msgspec import Struct

from rye.errors import RyeError
from rye.text.diagnostics import Diagnostic, has_errors
from rye.text.display import visible
from rye.text.hidden_text import hidden_text
from rye.text.line_form import BOM
from rye.text.toml_reading import TomlDocument, TomlError, read_toml

Mode = Literal["replace", "append", "skip"]
MODES: tuple[Mode, ...] = ("replace", "append", "skip")
ENTRIES = "step-overrides"
ENTRY_KEYS = ("step_id", "mode", "description")
STEP_FORMULA_TYPES = ("workflow",)
"""The formula types that have steps to render. The others cannot have overlays."""


class StepLike(Protocol):
    """The part of a formula's step that overlays need: a frozen dataclass with at least these fields."""

    @property
    def id(self) -> str:
        """The step's id, unique in its formula."""

    @property
    def title(self) -> str:
        """The step's title."""

    @property
    def description(self) -> str:
        """What the step asks for; overlays change this."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The ids of the steps that must come before this one."""


S = TypeVar("S", bound=StepLike)


class StepOverride(Struct, frozen=True):
    """One entry. ``description`` is None for a skip without one. ``line``: line of the entry's header, if known."""

    step_id: str
    mode: Mode
    description: str | None = None
    line: int | None = None


class Overlay(Struct, frozen=True):
    """The entries of one file, in order. There can be none."""

    overrides: tuple[StepOverride, ...] = ()


class OverlayReading(Struct, frozen=True):
    """``overlay`` is None if the file is malformed; then at least one diagnostic is an error."""

    overlay: Overlay | None
    diagnostics: tuple[Diagnostic, ...] = ()


class OverlayChoice(Struct, frozen=True):
    """Which of two files is in force. ``source`` is None if neither exists. If the file in force is malformed, ``overlay`` is
    None and there are errors. ``hides_user``: the project's file hides the user's (``rye overlay show`` says so)."""

    source: Literal["user", "project"] | None
    overlay: Overlay | None
    diagnostics: tuple[Diagnostic, ...] = ()
    hides_user: bool = False


class OverlayResult(Struct, Generic[S], frozen=True):
    """The remaining steps, in order. ``applied``: what each entry did, in file order, for ``--explain``."""

    steps: tuple[S, ...]
    warnings: tuple[str, ...]
    applied: tuple[str, ...]


class StaleFix(Struct, frozen=True):
    """``text``: the file without its stale entries; None: no entry is left, so the file can be deleted. ``removed``: step ids."""

    text: str | None
    removed: tuple[str, ...]


# Reading


def read_overlay(data: bytes | str) -> OverlayReading:
    """Read an overlay file. A BOM and CRLF are accepted. Never raises for invalid content."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        message = f"The file is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}."
        return OverlayReading(None, (Diagnostic("error", "unreadable", message),))
    text = text.removeprefix(BOM)
    if hidden := hidden_text(text):
        return OverlayReading(None, hidden)
    try:
        read = read_toml(text.replace("\r\n", "\n"))
    except TomlError as error:
        message = f"The file is not TOML: {visible(error.message)}."
        return OverlayReading(None, (Diagnostic("error", "malformed-toml", message, error.line, error.column),))
    document = read.value
    diagnostics: list[Diagnostic] = []
    for key in document:
        if key != ENTRIES:
            hint = (
                f"Write [[{ENTRIES}]]." if _close(key, (ENTRIES,)) else f"An overlay holds only [[{ENTRIES}]] tables."
            )
            message = f"{visible(key)!r} is not a key of an overlay."
            diagnostics.append(Diagnostic("error", "unknown-key", message, read.line(key), hint=hint))
    entries = document.get(ENTRIES, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        message = f"{ENTRIES!r} is not an array of tables."
        hint = f"Write [[{ENTRIES}]] with two brackets."
        diagnostics.append(Diagnostic("error", "bad-entry", message, read.line(ENTRIES), hint=hint))
        return OverlayReading(None, tuple(diagnostics))
    overrides = [_entry(entry, index, read, diagnostics) for index, entry in enumerate(entries)]
    if has_errors(diagnostics):
        return OverlayReading(None, tuple(diagnostics))
    return OverlayReading(Overlay(tuple(override for override in overrides if override)), tuple(diagnostics))


def _entry(entry: dict[str, Any], index: int, read: TomlDocument, found: list[Diagnostic]) -> StepOverride | None:
    """The entry; None, with errors in ``found``, if it is invalid. An error is on the line of its key, else of the entry."""
    before = len(found)
    line = read.line(ENTRIES, index)

    def error(code: str, message: str, hint: str | None = None, key: str | None = None) -> None:
        place = (read.line(ENTRIES, index, key) if key is not None else None) or line
        found.append(Diagnostic("error", code, message, place, hint=hint))

    for key in entry:
        if key not in ENTRY_KEYS:
            close = _close(key, ENTRY_KEYS)
            hint = f"Did you mean {close!r}?" if close else f"Keys: {', '.join(ENTRY_KEYS)}."
            error("unknown-key", f"{visible(key)!r} is not a key of a step override.", hint, key)
    for key, value in entry.items():
        if key in ENTRY_KEYS and not isinstance(value, str):
            error("bad-entry", f"{key!r} is not a string.", key=key)
    step_id, mode, description = (entry.get(key) for key in ENTRY_KEYS)
    if step_id is None or (isinstance(step_id, str) and not step_id.strip()):
        error("missing-key", "A step override has no 'step_id'.", "Name the step that it changes.", "step_id")
    if mode is None:
        error("missing-key", "A step override has no 'mode'.", f"Modes: {', '.join(MODES)}.")
    elif isinstance(mode, str) and mode not in MODES:
        close = _close(mode, MODES)
        hint = f"Did you mean {close!r}?" if close else f"Modes: {', '.join(MODES)}."
        error("bad-mode", f"{visible(mode)!r} is not a mode.", hint, "mode")
    elif mode in ("replace", "append") and (
        description is None or (isinstance(description, str) and not description.strip())
    ):
        error("missing-key", f"A step override with mode {mode!r} has no 'description'.", key="description")
    if len(found) > before:
        return None
    return StepOverride(str(step_id), cast(Mode, mode), description, line)


def _close(word: str, words: Sequence[str]) -> str | None:
    folded = {each.replace("_", "-"): each for each in words}
    close = get_close_matches(word.lower().replace("_", "-")[:64], list(folded), 1)
    return folded[close[0]] if close else None


# Choosing


def choose_overlay(user: bytes | str | None, project: bytes | str | None) -> OverlayChoice:
    """Choose between the user's file and the project's (rule 2). None means that the file does not exist.

    Only the file in force is parsed.
    """
    if project is None:
        if user is None:
            return OverlayChoice(None, None)
        reading = read_overlay(user)
        return OverlayChoice("user", reading.overlay, reading.diagnostics)
    reading = read_overlay(project)
    found = list(reading.diagnostics)
    if reading.overlay is not None and not reading.overlay.overrides:
        switched = ", but disables the user's overlay" if user is not None else ""
        message = f"The project's overlay has no step overrides{switched}."
        found.append(Diagnostic("warning", "empty-overlay", message, hint="Remove the file to use the user's overlay."))
    return OverlayChoice("project", reading.overlay, tuple(found), user is not None)


# Applying


def apply_overlay(steps: Sequence[S], overlay: Overlay, *, formula_type: str = "workflow") -> OverlayResult[S]:
    """Apply ``overlay`` to ``steps`` (after ``extends`` and ``expand`` are resolved, before variables are filled in).

    Stale entries are warnings. Raises RyeError for a formula type without steps, and for an overlay that skips every step.
    """
    if formula_type not in STEP_FORMULA_TYPES:
        raise RyeError(
            "overlay-without-steps",
            f"A formula of type {formula_type!r} renders no steps, so an overlay cannot change it.",
            "Remove the overlay.",
        )
    current: dict[str, S] = {step.id: step for step in steps}
    dependents: dict[str, set[str]] = {}
    for step in steps:
        for need in step.needs:
            dependents.setdefault(need, set()).add(step.id)
    warnings: list[str] = []
    applied: list[str] = []
    for override in overlay.overrides:
        step_id = override.step_id
        if step_id not in current:
            warnings.append(f'overlay references unknown step "{visible(step_id)}" (stale override)')
            continue
        applied.append(f'{override.mode} "{visible(step_id)}"')
        if override.mode == "skip":
            _skip(current, dependents, step_id)
            continue
        old = current[step_id]
        text = override.description or ""
        if override.mode == "append":
            text = f"{old.description}\n{text}"
        current[step_id] = _changed(old, description=text)
    if steps and not current:
        raise RyeError(
            "overlay-leaves-no-step", "The overlay skips every step of the formula.", "Keep at least one step."
        )
    return OverlayResult(tuple(current.values()), tuple(warnings), tuple(applied))


def _skip(current: dict[str, S], dependents: dict[str, set[str]], step_id: str) -> None:
    """Remove the step. Steps that needed it inherit its needs, without duplicates (rule 4)."""
    gone = current.pop(step_id)
    inherited = [need for need in gone.needs if need != step_id]
    for need in inherited:
        dependents[need].discard(step_id)
    for dependent in dependents.pop(step_id, set()) - {step_id}:
        step = current[dependent]
        needs: dict[str, None] = {}
        for need in step.needs:
            needs.update(dict.fromkeys(inherited if need == step_id else (need,)))
        current[dependent] = _changed(step, needs=tuple(needs))
        for need in inherited:
            dependents[need].add(dependent)


def _changed(step: S, **changes: object) -> S:
    change = cast(Callable[..., S], replace)
    return change(step, **changes)


# Fixing


def remove_stale(text: str, known_ids: AbstractSet[str]) -> StaleFix:
    """Remove the entries whose step is not in ``known_ids``, the step ids of the formula (rule 9).

    Only the lines of an entry's header and keys are removed; comments between them and all other bytes stay. Must not be called
    for an unknown formula. Raises RyeError if the file is malformed, or written so that its entries cannot be removed line by
    line.
    """
    reading = read_overlay(text)
    if reading.overlay is None:
        raise RyeError(
            "malformed-overlay", f"The overlay is malformed: {reading.diagnostics[0].message}", "Fix it by hand first."
        )
    overrides = reading.overlay.overrides
    stale = [override.step_id not in known_ids for override in overrides]
    removed = tuple(override.step_id for override, gone in zip(overrides, stale, strict=True) if gone)
    if not removed:
        return StaleFix(text, ())
    if all(stale):
        return StaleFix(None, removed)
    lines = text.split("\n")
    keep = [True] * len(lines)
    entry = -1
    for statement in _statements(text):
        entry += statement.is_entry_header
        if statement.is_comment or entry < 0 or not stale[min(entry, len(stale) - 1)]:
            continue
        keep[statement.first : statement.last + 1] = [False] * (statement.last + 1 - statement.first)
    fixed = "\n".join(line for line, kept in zip(lines, keep, strict=True) if kept)
    expected = [(o.step_id, o.mode, o.description) for o, gone in zip(overrides, stale, strict=True) if not gone]
    again = read_overlay(fixed).overlay
    if again is None or [(o.step_id, o.mode, o.description) for o in again.overrides] != expected:
        raise RyeError(
            "overlay-fix-by-hand",
            "The stale entries are not separate tables, so they cannot be removed safely.",
            f"Remove by hand: {', '.join(map(visible, removed))}.",
        )
    return StaleFix(fixed, removed)


class _Statement(Struct, frozen=True):
    """A comment, a header, or a key with its value. ``first`` and ``last``: its lines, from 0. Blank lines are not statements."""

    first: int
    last: int
    is_comment: bool
    is_entry_header: bool


_HEADER = re.compile(r"[ \t]*\[\[[ \t]*(?:step-overrides|\"step-overrides\"|'step-overrides')[ \t]*\]\]")
_TOKEN = re.compile(r"\"\"\"|'''|[\"'#\[\]{}\n]")
_IN_BASIC = re.compile(r"\\.|\"", re.DOTALL)
_IN_LONG_BASIC = re.compile(r"\\.|\"\"\"", re.DOTALL)


def _statements(text: str) -> Iterator[_Statement]:
    """The statements of a valid TOML text."""
    position, line = 0, 0
    while position < len(text):
        end = _statement_end(text, position)
        statement = text[position:end]
        last = line + statement.count("\n")
        body = statement.strip(" \t\r\n\ufeff")
        if body:
            header = _HEADER.match(statement.removeprefix(BOM)) is not None
            yield _Statement(line, last, body.startswith("#"), header)
        position, line = end + 1, last + 1


def _statement_end(text: str, position: int) -> int:
    """The index of the newline that ends the statement (not one in a string or in brackets), or the length of the text."""
    depth = 0
    while match := _TOKEN.search(text, position):
        token, position = match[0], match.end()
        if token == "\n":
            if depth <= 0:
                return match.start()
        elif token == "#":
            newline = text.find("\n", position)
            position = len(text) if newline < 0 else newline
        elif token in "[{":
            depth += 1
        elif token in "]}":
            depth -= 1
        else:
            position = _string_end(text, position, token)
    return len(text)


def _string_end(text: str, position: int, quote: str) -> int:
    """The index after the string whose opening quotes end at ``position``. A long string can end with two more quotes."""
    if quote[0] == "'":
        end = text.find(quote, position)
        position = len(text) if end < 0 else end + len(quote)
    else:
        inside = _IN_BASIC if len(quote) == 1 else _IN_LONG_BASIC
        while (match := inside.search(text, position)) and match[0] != quote:
            position = match.end()
        position = match.end() if match else len(text)
    if len(quote) == 3:
        for _ in range(2):
            if text.startswith(quote[0], position):
                position += 1
    return position
