"""Merge a target with its overrides (DECISIONS Overrides 1–19). Pure: the input is two texts, the output a text and findings.

1. The overrides file is read. If it is rejected, there is no output, and the exit code is 2.
2. Frontmatter directives are applied in document order, independently of the body.
3. ``replace`` directives are applied in document order, each to the result of the one before. Then the other directives are
   applied; their targets are resolved in the text after all replacements.
4. A directive whose target is not found is an *orphan*: it is skipped with a warning. A malformed directive is an error, and
   the others are still applied. The exit code is 1 if there is any error, else 0.

A merge that changes nothing returns the target byte for byte. The age of the review is checked against the caller's ``today``,
not against the clock. :func:`drift` compares a result with a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Literal

from msgspec import Struct

from rye.customization.evolving_document import Composed, EvolvingDocument, Label, Match, Missing, Slot
from rye.customization.frontmatter_editing import Entry, Frontmatter, FrontmatterError, read_frontmatter
from rye.customization.heading_path import Selector, path_text
from rye.customization.override_file import (
    BODY_OPERATIONS,
    FRONTMATTER_OPERATIONS,
    Directive,
    OverrideFile,
    read_overrides,
)
from rye.customization.provenance import LineOrigin, consecutive
from rye.errors import RyeError
from rye.limits import CONTENT, OVERRIDES
from rye.permissions.comparing import unified_lines
from rye.text.diagnostics import Diagnostic, Severity, has_errors, in_order
from rye.text.display import visible
from rye.text.frontmatter import frontmatter_end
from rye.text.line_form import read_form, split_lines
from rye.text.markdown_sections import Sections, sections

Outcome = Literal["applied", "no-op", "orphaned", "refused"]

_SLOTS: dict[str, Slot] = {
    "insert-before": "before",
    "prepend": "prepended",
    "append": "appended",
    "insert-after": "after",
}


class MergeStep(Struct, frozen=True, kw_only=True):
    """What one well-formed directive did, for ``--explain``. ``line``: line of its opener in the overrides file.
    ``base_line``: line of its section or key in the target's file, if it is there."""

    line: int
    operation: str
    target: str
    """The heading path, or the frontmatter key."""
    reason: str
    outcome: Outcome
    detail: str
    base_line: int | None = None

    def as_json(self) -> dict[str, object]:
        """The entry of ``steps`` in the document of ``rye merge``."""
        return {
            "line": self.line,
            "operation": self.operation,
            "target": self.target,
            "reason": self.reason,
            "outcome": self.outcome,
            "detail": self.detail,
            "base_line": self.base_line,
        }


class MergeResult(Struct, frozen=True):
    """``output``: the merged text. None if the overrides file was rejected: do not write a file then.
    The lines of diagnostics are lines of the overrides file; steps are in its order."""

    output: str | None
    diagnostics: tuple[Diagnostic, ...]
    steps: tuple[MergeStep, ...] = ()
    origins: tuple[LineOrigin, ...] = ()
    """Where each line of ``output`` was written."""

    @property
    def exit_code(self) -> int:
        """0: no errors; 1: a directive was invalid; 2: the file was rejected (DECISIONS Overrides 16)."""
        if self.output is None:
            return 2
        return 1 if has_errors(self.diagnostics) else 0

    def text(self) -> str:
        """The merged text. Raises RejectedOverrides if there is none."""
        if self.output is None:
            raise RejectedOverrides(self.diagnostics)
        return self.output


class RejectedOverrides(RyeError):
    """The overrides file cannot be used at all; ``details`` has all findings."""

    exit_code = 2

    def __init__(self, diagnostics: tuple[Diagnostic, ...]):
        errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
        message = "The overrides file is rejected: " + " ".join(error.message for error in errors)
        hint = next((error.hint for error in errors if error.hint), None)
        details: dict[str, object] = {"diagnostics": [diagnostic.as_json() for diagnostic in diagnostics]}
        super().__init__("rejected-overrides", message, hint, details=details)


def merge(
    base: str,
    overrides: str,
    *,
    base_name: str | None = None,
    base_version: str | None = None,
    overrides_name: str = "AGENT.overrides.md",
    base_file: str = "AGENT.generated.md",
    today: date | None = None,
) -> MergeResult:
    """Merge ``overrides`` into ``base``.

    Both are decoded text with the line endings and BOM of their files. Never raises for invalid content.

    ``base_name``: the target's name if its frontmatter has no ``name``; without either, 'agent' is not checked.
    ``base_version``: the target's version if its frontmatter has none, for formats that keep it elsewhere.
    ``overrides_name`` and ``base_file``: the files' names for messages. ``today``: the date for the check of the review's age;
    None: no check.
    """
    reading = read_overrides(overrides)
    if reading.file is None:
        return MergeResult(None, in_order(reading.diagnostics))
    text, form = read_form(base)
    lines, ended = split_lines(text)
    found = list(reading.diagnostics)
    end = frontmatter_end(lines)
    frontmatter, problem = _read_base_frontmatter(lines, end)
    if problem is not None:
        found.append(Diagnostic("warning", "base-frontmatter", f"The target's frontmatter cannot be read: {problem}."))
    found.extend(_check_fit(reading.file, frontmatter, base_name, base_version, today))
    if has_errors(d for d in found if d.code == "wrong-agent"):
        return MergeResult(None, in_order(found))
    if not reading.file.directives:
        return MergeResult(base, in_order(found), origins=tuple(consecutive(False, 1, len(lines))))
    body = sections(lines, end or 0)
    if body.too_deep is not None and any(d.operation in BODY_OPERATIONS for d in reading.file.directives):
        message = (
            f"Line {body.too_deep + 1} of {base_file} nests quotes and lists more than {CONTENT.markdown_depth} deep"
        )
        message += ", so its headings cannot be found."
        found.append(Diagnostic("error", "nested-too-deep", message, hint="Flatten the quotes and lists there."))
        return MergeResult(None, in_order(found))
    refused: dict[int, str] = {}
    while True:
        attempt = _Attempt(reading.file.directives, lines, end, body, overrides_name, base_file, refused)
        composed = attempt.run(problem)
        culprit = _becomes_frontmatter(composed) if end is None and not attempt.created_frontmatter else None
        if culprit is None:
            break
        if len(refused) >= OVERRIDES.refused_frontmatter_lookalikes:
            message = (
                "Its directives would turn the top of a target without frontmatter into frontmatter on every merge."
            )
            found.append(Diagnostic("error", "becomes-frontmatter", message, culprit))
            return MergeResult(None, in_order(found))
        refused[culprit] = "its content would become frontmatter at the top of a target that has none"
    found.extend(attempt.found)
    merged = "\n".join(composed.lines)
    if composed.lines and (composed.rewritten_end or ended):
        merged += "\n"
    output, origins = form.write(merged), composed.origins
    if merged == text:
        output, origins = base, consecutive(False, 1, len(lines))
    steps = tuple(sorted(attempt.steps, key=lambda step: step.line))
    return MergeResult(output, in_order(found), steps, tuple(origins))


def _read_base_frontmatter(lines: list[str], end: int | None) -> tuple[Frontmatter | None, str | None]:
    """The target's frontmatter, or None, and the reason if it cannot be read."""
    if end is None:
        return None, None
    try:
        return read_frontmatter(lines[1 : end - 1]), None
    except FrontmatterError as error:
        return None, visible(str(error))


def _check_fit(
    file: OverrideFile,
    frontmatter: Frontmatter | None,
    base_name: str | None,
    base_version: str | None,
    today: date | None,
) -> list[Diagnostic]:
    """Check that the overrides are for this target and its version, and were reviewed recently (DECISIONS Overrides 5, 19)."""
    diagnostics: list[Diagnostic] = []

    def value(key: str) -> str | None:
        entry = frontmatter.get(key) if frontmatter else None
        return entry.scalar if entry else None

    name = value("name") or base_name
    if name and file.agent != name:
        message = f"The overrides are for {visible(file.agent)!r}, but the target is {visible(name)!r}."
        diagnostics.append(
            Diagnostic("error", "wrong-agent", message, 1, hint="Check 'agent' in the overrides' frontmatter.")
        )
    version = value("x-plan-version") or value("version") or base_version
    if version and file.base_version != version:
        message = (
            f"The overrides were written for version {visible(file.base_version)!r}; "
            f"the target's is {visible(version)!r}."
        )
        hint = "Read the target's changes, then set 'base-version' and 'last-reviewed'."
        diagnostics.append(Diagnostic("warning", "stale-base-version", message, 1, hint=hint))
    if today is not None and (age := (today - file.last_reviewed).days) > OVERRIDES.review_days:
        message = f"The overrides were last reviewed {age} days ago, on {file.last_reviewed.isoformat()}."
        hint = "Check that every directive is still wanted, then set 'last-reviewed'."
        diagnostics.append(Diagnostic("warning", "stale-review", message, 1, hint=hint))
    return diagnostics


def _becomes_frontmatter(composed: Composed) -> int | None:
    """The line of the directive whose content would be read as frontmatter at the top of the text; None if nothing would be."""
    end = frontmatter_end(composed.lines)
    if end is None:
        return None
    first, last = composed.sources[0], composed.sources[end - 1]
    return first if first is not None else last


class _Attempt:
    """One run of all directives, apart from the refused ones, on one target."""

    def __init__(
        self,
        directives: tuple[Directive, ...],
        lines: list[str],
        end: int | None,
        body: Sections,
        overrides_name: str,
        base_file: str,
        refused: dict[int, str],
    ):
        self.found: list[Diagnostic] = []
        self.steps: list[MergeStep] = []
        self.created_frontmatter = False
        self._directives = directives
        self._lines = lines
        self._end = end
        self._overrides_name = overrides_name
        self._base_file = base_file
        self._refused = refused
        self._document = EvolvingDocument(lines, body)
        self._targets: dict[Label | tuple[Selector, ...] | str, list[Directive]] = {}
        """The directives that name the same section or key."""
        self._replaced_by: dict[Label, Directive] = {}

    def run(self, frontmatter_problem: str | None) -> Composed:
        head, origins, source = self._frontmatter(frontmatter_problem)
        body = [d for d in self._directives if d.operation not in FRONTMATTER_OPERATIONS]
        if body and (setext := self._document.setext_lines):
            where = ", ".join(map(str, setext[:10])) + (", …" if len(setext) > 10 else "")
            message = (
                f"{self._base_file} has setext headings (underlined, line {where}): neither targets nor boundaries."
            )
            self.found.append(Diagnostic("notice", "setext-heading", message))
        for replacing in (True, False):
            for directive in body:
                if (directive.operation == "replace") is replacing:
                    self._apply(directive)
        self._report_shared_targets()
        return self._document.compose(head, origins, source)

    def _report(
        self, severity: Severity, code: str, message: str, directive: Directive, hint: str | None = None
    ) -> None:
        self.found.append(Diagnostic(severity, code, message, directive.line, hint=hint))

    def _step(self, directive: Directive, outcome: Outcome, detail: str, base_line: int | None = None) -> None:
        target = directive.target if directive.target is not None else directive.key or ""
        self.steps.append(
            MergeStep(
                line=directive.line,
                operation=directive.operation,
                target=target,
                reason=directive.reason,
                outcome=outcome,
                detail=detail,
                base_line=base_line,
            )
        )

    # Frontmatter

    def _frontmatter(self, problem: str | None) -> tuple[list[str], list[LineOrigin], int | None]:
        """The lines of the changed frontmatter, where each was written, and the line of the directive that created the
        frontmatter (None if no directive did)."""
        lines = self._lines[: self._end or 0]
        original = lines, consecutive(False, 1, len(lines)), None
        directives = [d for d in self._directives if d.operation in FRONTMATTER_OPERATIONS]
        if not directives:
            return original
        if problem is not None:
            for directive in directives:
                self._refuse(directive, "bad-base-frontmatter", f"the target's frontmatter cannot be read ({problem})")
            return original
        block = read_frontmatter(lines[1:-1])
        found, steps = len(self.found), len(self.steps)
        applied = [d for d in directives if self._change(block, d)]
        try:
            block.check()
        except FrontmatterError as error:
            del self.found[found:], self.steps[steps:]
            for directive in directives:
                self._refuse(directive, "bad-value", visible(str(error)))
            return original
        for directive in directives:
            self._targets.setdefault(directive.key or "", []).append(directive)
        if not applied:
            return original
        origins = [origin for entry in block.entries for origin in _entry_origins(entry)]
        if self._end is not None:
            ends = LineOrigin(False, 1), LineOrigin(False, self._end)
            return [lines[0], *block.lines(), lines[-1]], [ends[0], *origins, ends[1]], None
        self.created_frontmatter = any(entry.key is not None for entry in block.entries)
        if not self.created_frontmatter:
            return original
        mark = LineOrigin(True, applied[0].content_line)
        return ["---", *block.lines(), "---"], [mark, *origins, mark], applied[0].line

    def _change(self, block: Frontmatter, directive: Directive) -> bool:
        """Apply one frontmatter directive. Return whether it changed the block."""
        key = directive.key or ""
        entry = block.get(key)
        base_line = None if entry is None or entry.line is None else entry.line + 2
        if directive.operation == "frontmatter-delete":
            if not block.delete(key):
                self._report("warning", "absent-key", f"There is no frontmatter key {key!r} to delete.", directive)
                self._step(directive, "no-op", "the key is not there")
                return False
            self._step(directive, "applied", f"deleted {key!r}", base_line)
            return True
        try:
            was_there = block.set(key, list(directive.content), directive.content_line)
        except FrontmatterError as error:
            self._refuse(directive, "bad-value", f"the value of {key!r} is not valid YAML: {visible(str(error))}")
            return False
        self._step(directive, "applied", f"{'changed' if was_there else 'added'} {key!r}", base_line)
        return True

    def _refuse(self, directive: Directive, code: str, why: str) -> None:
        self._report("error", code, f"The directive is skipped: {why}.", directive)
        self._step(directive, "refused", why)

    # Body

    def _apply(self, directive: Directive) -> None:
        if directive.line in self._refused:
            self._refuse(directive, "becomes-frontmatter", self._refused[directive.line])
            return
        match = self._document.find(directive.path)
        if isinstance(match, Missing):
            self._targets.setdefault(match.label or directive.path, []).append(directive)
            self._orphan(directive, match)
            return
        self._targets.setdefault(match.label, []).append(directive)
        if match.namesakes:
            message = (
                f"{match.namesakes + 1} headings match {visible(directive.target or '')!r}; the first one is used."
            )
            self._report("notice", "ambiguous-target", message, directive, "Name its parent: '# Parent > ## Section'.")
        content = list(directive.content)
        found = sections(content)
        if found.too_deep is not None:
            why = f"its content nests quotes and lists more than {CONTENT.markdown_depth} deep"
            self._refuse(directive, "nested-too-deep", why)
            return
        if content and found.open_at_end:
            message = f"The content leaves a {found.open_at_end} open, which swallows the text after it."
            self._report("warning", "open-content", message, directive)
        if directive.operation == "replace":
            self._replace(directive, match, content, found)
        elif not content:
            self._report("notice", "empty-content", f"{directive.operation} without content does nothing.", directive)
            self._step(directive, "no-op", "there is no content", match.base_line)
        else:
            slot, first = _SLOTS[directive.operation], directive.content_line
            self._document.insert(match.label, slot, content, first, directive.line)
            self._step(directive, "applied", f"{_count(content)} {_PLACES[directive.operation]}", match.base_line)

    def _replace(self, directive: Directive, match: Match, content: list[str], found: Sections) -> None:
        if self._document.section_is(match.label, content):
            self._step(directive, "no-op", "the section already has this text", match.base_line)
            return
        gone = self._document.replace(match.label, content, found, directive.content_line, directive.line)
        if found.setext:
            message = "The content has setext headings (underlined): neither targets nor boundaries."
            self._report("notice", "setext-heading", message, directive)
        did = f"replaced {gone} lines with {len(content)}" if content else f"removed {gone} lines"
        earlier = self._replaced_by.get(match.label)
        if earlier is not None:
            did += f", over the directive of line {earlier.line}"
        self._replaced_by[match.label] = directive
        self._step(directive, "applied", did, match.base_line)

    def _orphan(self, directive: Directive, missing: Missing) -> None:
        """Report an orphaned directive, in the form that DECISIONS Overrides 16 prescribes."""
        lines = [
            f"Orphaned directive in {visible(self._overrides_name)}",
            f"  Operation: {directive.operation}",
            f"  Target: {visible(directive.target or '')}",
            f"  Reason: {visible(directive.reason)}",
            f"  Line: {directive.line}",
            "",
            "  This directive was not applied because the target heading was not found.",
            "  Possible causes:",
            "  - Target heading was removed or renamed in generated output",
            "  - Heading path is incorrect (check spelling, punctuation, heading level)",
            f"  - Generated file structure changed (check {visible(self._base_file)})",
        ]
        why = "the target heading was not found"
        if missing.emptied_by is not None:
            why = f"the directive of line {missing.emptied_by} removed the section"
            lines.append(f"  - The directive of line {missing.emptied_by} removed the section")
        self._report("warning", "orphaned-directive", "\n".join(lines), directive)
        self._step(directive, "orphaned", why)

    def _report_shared_targets(self) -> None:
        """Report each section or key that several directives name, and each replace that is applied before an earlier
        directive (DECISIONS Overrides 12)."""
        for directives in self._targets.values():
            if len(directives) < 2:
                continue
            directives.sort(key=lambda directive: directive.line)
            first = directives[0]
            what = visible(path_text(first.path)) if first.path else f"the frontmatter key {first.key!r}"
            listed = [f"{each.operation} (line {each.line})" for each in directives[:20]]
            more = ", …" if len(directives) > 20 else ""
            message = f"{len(directives)} directives target {what}, in this order: {', '.join(listed)}{more}."
            self._report("notice", "shared-target", message, directives[-1])
            overtaken: Directive | None = None
            for each in directives:
                if each.operation == "replace" and overtaken is not None:
                    message = f"This replace is applied before the {overtaken.operation} of line {overtaken.line}."
                    self._report("notice", "replace-first", message, each)
                elif each.operation in _SLOTS and overtaken is None:
                    overtaken = each


def _entry_origins(entry: Entry) -> list[LineOrigin]:
    """Where the lines of a frontmatter entry were written. Lines of the target are counted from the opening ``---``."""
    if entry.first is not None:
        return consecutive(False, entry.first + 2, len(entry.lines))
    return [LineOrigin(True, line) for line in entry.written]


_PLACES = {
    "insert-before": "before the section",
    "prepend": "at the section's beginning",
    "append": "at the section's end",
    "insert-after": "after the section",
}


def _count(content: list[str]) -> str:
    return "1 line" if len(content) == 1 else f"{len(content)} lines"


def drift(merged: str, actual: str, *, merged_name: str = "merged", actual_name: str = "actual") -> str | None:
    """The unified diff that turns ``actual`` into ``merged``; None if they are equal, byte for byte."""
    if merged == actual:
        return None
    before, after = ([line + "\n" for line in text.split("\n")] for text in (actual, merged))
    for lines in (before, after):
        lines[-1] = lines[-1][:-1]
        if not lines[-1]:
            lines.pop()
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
        for line in _with_breaks(unified_lines(before, after, actual_name, merged_name))
    )


def _with_breaks(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a unified diff whose texts have line breaks: the lines that say where they are get them as well."""
    for number, line in enumerate(lines):
        yield f"{line}\n" if number < 2 or line.startswith("@@") else line
