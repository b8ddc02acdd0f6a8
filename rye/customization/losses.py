"""What a customization says before a change of its base, and no longer says after it (DESIGN 6.1, DECISIONS
Overrides 20). Pure.

A directive of an overrides file is *lost* if one of these is true:

* it was applied, or had nothing to change, and is now skipped: its heading is gone, its value is refused, or the whole file is
  refused because the result would not conform;
* lines that it wrote are no longer in the effective text, although the item does not say the same by itself;
* lines that it wrote are now inside a comment or a code block that the item opens;
* lines that it wrote were in what an agent reads of the item, and are now in another part of its file: below a heading that ends
  an agent's system prompt, or above a directive's title;
* it replaces a section, and the item now has several sections of that name, of which only the first is replaced;
* something about its lines does not fit the item any more, such as an input that they name and the item no longer declares.

A file is *weakened* if what it took out is back: a line that it removed or replaced, or a right, a tool, a hook or a program.
An entry about an attached file is lost if it was applied and that file is gone. One whose file the author changed stays applied
and hides the change, which is asked about as well. Overlays: :mod:`rye.customization.overlay_health`.

If the item itself goes, or the name of the file means another item as well from now on, all of this is lost.

What a new text means is not compared: an item can contradict an override in other words, and no one is asked about that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from rye.customization.effective_files import CONFLICT, TreeFile
from rye.customization.effective_text import Applied, Effective, widenings
from rye.customization.item_overrides import OverrideSource
from rye.customization.merge import MergeStep
from rye.customization.override_file import FRONTMATTER_OPERATIONS, Directive, read_overrides
from rye.customization.provenance import origin_of
from rye.text.diagnostics import Diagnostic
from rye.text.display import visible
from rye.text.frontmatter import frontmatter_end
from rye.text.markdown_sections import blocks_of

_HOLDS = ("applied", "no-op")
_LAST_RAW_HTML = 5
"""CommonMark's HTML blocks up to this number end at a marker, so that they can swallow what follows."""


class Loss(Struct, frozen=True):
    """What one customization would lose."""

    shown: str
    """Its file, as shown to people."""
    line: int
    """Where it says it; 1 if the file as a whole does."""
    what: str
    """What happens to it, in words that follow the place."""
    text: tuple[str, ...] = ()
    """The text that is lost, line by line; empty if it only took something out."""

    def __str__(self) -> str:
        return f"{self.shown}:{self.line}: {self.what}"

    def as_json(self) -> dict[str, object]:
        """An entry of ``lost`` of a change."""
        return {"path": self.shown, "line": self.line, "message": self.what, "text": list(self.text)}


# -- overrides ---------------------------------------------------------------------------------------------------------


def override_losses(before: Effective | None, after: Effective) -> tuple[Loss, ...]:
    """What an item's overrides lose, in the order of the files and their lines.

    ``before``: the item's text until now with the same files; None if it is not known, so that every directive counts as one
    that had an effect.
    """
    earlier = {file.source.path: file for file in before.files} if before is not None else {}
    losses: list[Loss] = []
    for file in after.files:
        was = earlier.get(file.source.path)
        if file.source.contents is not None:
            losses += _entries_lost(was, file)
            losses += _bits_hidden(before, after, file) if before is not None and was is not None else ()
            continue
        losses += _directives_lost(_View(before, was) if before and was else None, _View(after, file))
    if before is not None:
        losses += _back(before, after)
    return tuple(losses)


def losses_without_item(files: Sequence[OverrideSource], before: Effective | None, why: str) -> tuple[Loss, ...]:
    """What the files of an item lose if they are for no item any more, in their order. ``before``: as for
    :func:`override_losses`; ``why``: what becomes of the item, in words."""
    earlier = {file.source.path: file for file in before.files} if before is not None else {}
    losses: list[Loss] = []
    for source in files:
        was = earlier.get(source.path)
        if was is not None and was.refused:
            continue
        held = {step.line for step in was.result.steps if step.outcome in _HOLDS} if was is not None else None
        reading = read_overrides(source.text).file if source.contents is None else None
        if reading is not None:
            losses += (
                Loss(source.shown, one.line, f"{_named(one)} has no effect: {why}", one.content)
                for one in reading.directives
                if held is None or one.line in held
            )
        elif was is not None:
            losses += (
                Loss(source.shown, step.line, f"{_of_file(step)} has no effect: {why}", _content(source, step.target))
                for step in was.result.steps
                if step.outcome in _HOLDS
            )
        elif source.contents is not None:
            losses.append(Loss(source.shown, 1, f"has no effect: {why}"))
    return tuple(losses)


class _View:
    """One overrides file and the effective text that it is part of."""

    def __init__(self, whole: Effective, file: Applied) -> None:
        self.file = file
        self._whole = whole
        self._outcomes = {step.line: step.outcome for step in file.result.steps}
        self._swallowed: frozenset[int] | None = None
        self.read = frozenset(_said(whole.prompt)) if whole.prompt is not None else None
        """The lines that an agent reads; None: not known."""
        self.written = frozenset(origin.line for origin in whole.origins if origin.shown == file.source.shown)
        """The lines of the file that are in the effective text."""

    def holds(self, directive: Directive) -> bool:
        """Whether it is applied, or has nothing to change."""
        return not self.file.refused and self._outcomes.get(directive.line) in _HOLDS

    def changes_nothing(self, directive: Directive) -> bool:
        return self._outcomes.get(directive.line) == "no-op"

    def is_ambiguous(self, directive: Directive) -> bool:
        found = self.file.diagnostics
        return any(one.code == "ambiguous-target" and one.line == directive.line for one in found)

    def complaints(self, lines: AbstractSet[int] | None = None) -> list[str]:
        """What does not fit the item, about these lines of the file, or anywhere."""
        messages = []
        for finding in self._whole.reading.diagnostics:
            if finding.severity not in ("error", "warning"):
                continue
            if lines is not None:
                origin = origin_of(self._whole.origins, finding.line) if finding.line is not None else None
                if origin is None or origin.shown != self.file.source.shown or origin.line not in lines:
                    continue
            messages.append(finding.message)
        return messages

    @property
    def swallowed(self) -> frozenset[int]:
        """The lines of the file that are in a comment or a code block which another file opens."""
        if self._swallowed is None:
            self._swallowed = frozenset(self._find_swallowed())
        return self._swallowed

    def _find_swallowed(self) -> Iterator[int]:
        lines, origins, shown = self._whole.text.split("\n"), self._whole.origins, self.file.source.shown
        start = frontmatter_end(lines) or 0
        blocks = blocks_of(lines, start)
        spans = [(fence.line, fence.end_line) for fence in blocks.fences]
        spans += [(html.line, html.end_line) for html in blocks.html if html.kind <= _LAST_RAW_HTML]
        for first, last in spans:
            inside = origins[start + first - 1 : start + last]
            if inside and inside[0].shown != shown:
                yield from (origin.line for origin in inside if origin.shown == shown)


def _entries_lost(before: Applied | None, after: Applied) -> Iterator[Loss]:
    """What a file about attached files loses, and where it now stands on another file than the one that it was written for."""
    outcomes = {step.line: step.outcome for step in before.result.steps} if before is not None else {}
    held = {line for line, outcome in outcomes.items() if outcome in _HOLDS}
    new = {(one.line, one.code) for one in after.diagnostics}
    new -= {(one.line, one.code) for one in before.diagnostics} if before is not None else set()
    if after.refused and (before is None or not before.refused):
        first = next(finding for finding in after.diagnostics if finding.severity == "error")
        yield Loss(after.source.shown, first.line or 1, f"has no effect at all: {first.message}")
    for step in after.result.steps if not after.refused else ():
        if before is not None and step.line not in held:
            continue
        named = _of_file(step)
        if step.outcome not in _HOLDS:
            text = _content(after.source, step.target)
            yield Loss(after.source.shown, step.line, f"{named} has no effect: {step.detail}", text)
        elif (step.line, CONFLICT) in new:
            yield Loss(after.source.shown, step.line, f"{named} hides what the author changed in that file")


def _bits_hidden(before: Effective, after: Effective, file: Applied) -> Iterator[Loss]:
    """Entries that hide that the author made a file executable, or took that away, and changed nothing else in it."""
    for step in file.result.steps if not file.refused else ():
        was, now = before.base_tree.get(step.target), after.base_tree.get(step.target)
        kept = after.tree.get(step.target)
        if was is None or now is None or kept is None or was.executable == now.executable or was.sha256 != now.sha256:
            continue
        if kept.executable != now.executable:
            bit = "made it executable" if now.executable else "made it not executable any more"
            yield Loss(file.source.shown, step.line, f"{_of_file(step)} hides that the author {bit}")


def _of_file(step: MergeStep) -> str:
    return f"{step.operation} {visible(step.target)!r}"


def _content(source: OverrideSource, path: str) -> tuple[str, ...]:
    data = source.contents.files.get(path) if source.contents is not None else None
    text = TreeFile.of(data, executable=False).text if data is not None else None
    return tuple(text.removesuffix("\n").split("\n")) if text else ()


def _directives_lost(before: _View | None, after: _View) -> Iterator[Loss]:
    reading = read_overrides(after.file.source.text).file
    for directive in reading.directives if reading is not None else ():
        if before is None or before.holds(directive):
            what = _lost(directive, before, after)
            if what is not None:
                yield Loss(after.file.source.shown, directive.line, what, directive.content)


def _lost(directive: Directive, before: _View | None, after: _View) -> str | None:
    """What happens to a directive that had an effect; None if it still has it."""
    named = _named(directive)
    if after.file.refused:
        first = next(finding for finding in after.file.diagnostics if finding.severity == "error")
        return f"{named} is refused with the whole file: {first.message}"
    if not after.holds(directive):
        step = next((step for step in after.file.result.steps if step.line == directive.line), None)
        return f"{named} has no effect: {step.detail if step is not None else 'it is invalid'}"
    if directive.operation not in FRONTMATTER_OPERATIONS and after.read is not None:
        said = frozenset(_said("\n".join(directive.content)))
        heard = before.read if before is not None else None
        unheard = (said & heard if heard is not None else said) - after.read
        if unheard and (heard is not None or unheard == said):
            return f"{named} has no effect: what it says is in a part of the item that agents do not read"
    if before is None or after.changes_nothing(directive):
        return None
    lines = set(range(directive.content_line, directive.content_line + len(directive.content)))
    if (lines & before.written) - after.written:
        return f"{named} has no effect: what it says is no longer in the text"
    for message in after.complaints(lines):
        if message not in before.complaints():
            return f"{named} does not fit any more: {message}"
    if (lines & after.swallowed) - before.swallowed:
        return f"{named} ends up in a comment or code block of the item"
    if directive.operation == "replace" and after.is_ambiguous(directive) and not before.is_ambiguous(directive):
        return f"{named} replaces only the first of several sections of that name"
    return None


def _named(directive: Directive) -> str:
    operation = directive.operation if directive.content or directive.operation != "replace" else "removal"
    if directive.operation in FRONTMATTER_OPERATIONS:
        return f"{operation} {visible(directive.key or '')}"
    return f"{operation} {visible(directive.target or '')!r}"


def _back(before: Effective, after: Effective) -> Iterator[Loss]:
    """What the files took out together, and the new text has again."""
    there = [file.source.shown for file in after.files if not file.refused]
    if not there or before.text == before.base:
        return
    shown = " and ".join(there)
    back = lines_back(before.base, before.text, after.text)
    if back:
        yield Loss(shown, 1, "what it took out of the text is back", back)
    for finding in _wider_again(before, after):
        yield Loss(shown, 1, f"what it took away is back. {finding.message}")


def lines_back(base: str, before: str, after: str) -> tuple[str, ...]:
    """The lines that were taken out of ``base``, so that ``before`` has them less often, and that ``after`` has more often."""
    had, has = Counter(_said(before)), Counter(_said(after))
    removed = Counter(_said(base)) - had
    return tuple(line for line in removed if has[line] > had[line])


def _said(text: str) -> Iterator[str]:
    """The lines that say something: at least one letter or digit."""
    return (line for line in map(str.strip, text.split("\n")) if any(map(str.isalnum, line)))


def _wider_again(before: Effective, after: Effective) -> list[Diagnostic]:
    """What the new text may do beyond the earlier effective one, although the earlier published one was allowed it."""
    wider = widenings(before.reading.metadata, after.reading.metadata)
    if not wider:
        return []
    new = {finding.message for finding in widenings(before.published, after.reading.metadata)}
    return [finding for finding in wider if finding.message not in new]
