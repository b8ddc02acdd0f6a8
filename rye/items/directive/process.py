"""The sections after the fence: ``<process>`` with its steps, and ``<success_criteria>`` (DECISIONS Directives 3, 7, 8).

They look like XML but are not: a model reads them as prose, so they contain ``<``, ``&`` and whole programs. Only the format's
own tags count, and only outside code fences, code spans and HTML comments; everything else is text. A fence here can be indented
like the steps around it. CommonMark would call that indented code, but the meaning is the same: code contains no markup. A fence
that is never closed is text.

One pass from left to right, linear in the length.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from msgspec import Struct, field

from rye.items.capabilities import ITEM_TYPES, PRIMARIES
from rye.items.directive.model import Action, Criterion, Process, Step
from rye.items.directive.rules import Findings
from rye.items.directive.text_lines import CodeSpans
from rye.text.lazy import lazy_pattern

_NAMES = "process|steps|step|success_criteria|criterion|description|execute|search|load|sign|param"
_ATTRIBUTE = lazy_pattern(r"\s*([A-Za-z_][A-Za-z0-9_.:-]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ONE_ATTRIBUTE = lazy_pattern(r"(?:\s*[A-Za-z_][A-Za-z0-9_.:-]*\s*=\s*(?:\"[^\"]*\"|'[^']*'))?\s*")
_PLAIN_NAME = lazy_pattern(r" name=\"([A-Za-z0-9_-]+)\"")
"""The attributes of nearly every step."""
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))
_FENCE = lazy_pattern(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_PREFIX = lazy_pattern(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
_FENCE_END = lazy_pattern(r"[ \t>]*(`{3,}|~{3,})[ \t]*$")
_PARAGRAPH_END = lazy_pattern(r"\n[ \t]*(?:\n|(?=</?(?:step|process|success_criteria|criterion)\b))")
"""Code spans end with their paragraph at the latest, or before a line that begins with a section's tag."""
_TAG = lazy_pattern(rf"<(?:(/?)({_NAMES})((?:\s(?>(?:[^<>\"'/]++|\"[^\"]*+\"|'[^']*+'|/(?!>))*))?)(/?)>|(!--))")
"""A tag of the format, or the start of a comment."""


_NO_FENCE = (1 << 60, 1 << 60)


class Tag(Struct, frozen=True, gc=False, kw_only=True):
    """One of the format's tags, outside code. Offsets are relative to the scanned text."""

    name: str
    closing: bool
    empty: bool
    """Whether it is an empty-element tag, ``<name …/>``."""
    written: str
    """The attributes as written."""
    start: int
    end: int
    line: int
    column: int

    def attributes(self) -> tuple[tuple[str, str], ...]:
        """Names and values in order, with XML's five entities resolved. Duplicates are kept."""
        if not self.written:
            return ()
        return tuple([(name, _resolved(double or single)) for name, double, single in _ATTRIBUTE.findall(self.written)])

    def well_formed(self) -> bool:
        """Whether the attributes are all ``name="value"`` and no name repeats."""
        if _ONE_ATTRIBUTE.fullmatch(self.written):
            return True
        names = [name for name, _ in self.attributes()]
        return not _ATTRIBUTE.sub("", self.written).strip() and len(names) == len(set(names))


def _resolved(value: str) -> str:
    if "&" in value:
        for entity, character in _ENTITIES:
            value = value.replace(entity, character)
    return value


class Sections(Struct, frozen=True):
    """The sections found after the fence."""

    process: Process | None
    criteria: tuple[Criterion, ...]
    criteria_source: str = ""
    criteria_line: int | None = None


def tags(text: str, first_line: int = 1) -> Iterator[Tag]:
    """Yield every tag with one of the format's names in ``text``, outside code and comments, in order."""
    fences = iter(_fences(text))
    fence_start, fence_end = next(fences, _NO_FENCE)
    spans = CodeSpans(text, _PARAGRAPH_END)
    comments = True
    line, line_start = first_line, 0
    position = 0
    """Everything before it has been read; it is beyond ``at`` while a ``<`` is inside a tag, a comment or code."""
    after = 0
    for piece in text.split("<"):  # faster than a regular expression that looks for the next `<` or backtick
        at = after + len(piece)
        after = at + 1
        if len(lines := piece.split("\n")) > 1:
            line += len(lines) - 1
            line_start = at - len(lines[-1])
        if "`" in piece:
            while (tick := text.find("`", position, at)) >= 0:
                while tick >= fence_end:
                    fence_start, fence_end = next(fences, _NO_FENCE)
                if tick >= fence_start:
                    position = fence_end
                else:
                    position = spans.end(tick)
        if position > at:
            continue
        if at >= fence_start:
            while at >= fence_end:
                fence_start, fence_end = next(fences, _NO_FENCE)
            if at >= fence_start:
                position = fence_end
                continue
        if (found := _TAG.match(text, at)) is None:
            continue
        position = found.end()
        closing, name, written, empty, comment = found.groups()
        if name is not None:
            yield Tag(
                name=name,
                closing=closing == "/",
                empty=empty == "/",
                written=written,
                start=at,
                end=position,
                line=line,
                column=at - line_start + 1,
            )
        elif comment is not None and comments:
            end = text.find("-->", position)
            comments = end >= 0  # if this one is never closed, neither is any later one
            position = end + 3 if comments else position


def _may_open_fence(text: str) -> bool:
    """Whether any line starts the way a code fence does."""
    for marker in ("```", "~~~"):
        at = text.find(marker) if marker[0] in text else -1
        while at >= 0:
            start = text.rfind("\n", 0, at) + 1
            before = text[start:at].rstrip(" \t")
            # The first condition follows from the pattern, and takes less time to rule out a marker inside a sentence.
            if (not before or before[-1] in ">-*+.)") and _FENCE_PREFIX.fullmatch(text, start, at):
                return True
            end = text.find("\n", at)  # only the first marker of a line can be at its start
            at = text.find(marker, end) if end >= 0 else -1
    return False


def _fences(text: str) -> list[tuple[int, int]]:
    """Start and end offsets of the closed code fences, found line by line at any indent."""
    if not _may_open_fence(text):
        return []
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    ends: dict[str, list[tuple[int, int]]] = {"`": [], "~": []}
    for number, line in enumerate(lines):
        if found := _FENCE_END.match(line):
            ends[found[1][0]].append((number, len(found[1])))
    fences: list[tuple[int, int]] = []
    hopeless = {"`": 1 << 30, "~": 1 << 30}
    number = 0
    while number < len(lines):
        found = _FENCE.match(lines[number])
        if found is not None and len(found[1]) < hopeless[found[1][0]]:
            marker, length = found[1][0], len(found[1])
            candidates = ends[marker]
            close = bisect_left(candidates, (number + 1, 0))
            while close < len(candidates) and candidates[close][1] < length:
                close += 1
            if close == len(candidates):
                hopeless[marker] = length
            else:
                last = candidates[close][0]
                fences.append((starts[number], starts[last] + len(lines[last])))
                number = last
        number += 1
    return fences


def read_sections(text: str, first_line: int, findings: Findings) -> Sections:
    """Read the sections of ``text``, which begins on line ``first_line`` of the file, right after the directive's fence."""
    return _ProcessReader(text=text, findings=findings).run(tags(text, first_line))


class _OpenStep(Struct):
    tag: Tag
    actions: list[Action] = field(default_factory=list)
    description: str | None = None


class _ProcessReader(Struct, kw_only=True):
    text: str
    findings: Findings
    process: Tag | None = None
    step: _OpenStep | None = None
    action: Tag | None = None
    params: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    extra: set[str] = field(default_factory=set)
    """Repeated sections that are open. They were reported when they opened; their content does not count."""
    description: Tag | None = None
    criteria_tag: Tag | None = None
    criterion: Tag | None = None
    steps: list[Step] = field(default_factory=list)
    done: Process | None = None
    criteria: list[Criterion] = field(default_factory=list)
    criteria_source: str = ""
    criteria_line: int | None = None

    def run(self, found: Iterator[Tag]) -> Sections:
        for tag in found:
            if tag.name == "step":
                if self.process is not None:
                    self._step(tag)
            elif tag.name == "process":
                self._process(tag)
            elif tag.name == "success_criteria":
                self._criteria(tag)
            elif tag.name == "criterion":
                self._criterion(tag)
            elif self.process is not None:
                self._inside(tag)
        self._close_criterion()
        if self.criteria_tag is not None:
            self._unclosed("D073", self.criteria_tag)
        if self.process is not None:
            self._close_step_early(None)
            self._unclosed("D070", self.process)
        return Sections(self.done, tuple(self.criteria), self.criteria_source, self.criteria_line)

    def _unclosed(self, code: str, tag: Tag) -> None:
        message = f"`<{tag.name}>` is never closed outside code."
        self.findings.error(code, message, tag, f"Add `</{tag.name}>`; a tag inside a code fence or backticks is text.")

    def _process(self, tag: Tag) -> None:
        if tag.closing:
            if self.process is None and "process" in self.extra:
                self.extra.discard("process")
                return
            if self.process is None:
                self.findings.error(
                    "D070", "`</process>` has no opening tag.", tag, "Delete it, or open `<process>` before it."
                )
                return
            self._close_step_early(tag)
            opened, self.process = self.process, None
            if self.done is None:
                inner = self.text[opened.end : tag.start]
                self.done = Process(
                    tuple(self.steps), inner, self.text[opened.start : tag.end], opened.line, opened.column, tag.line
                )
            return
        if self.process is not None or self.done is not None:
            line = self.process.line if self.process else self.done.line if self.done else 0
            message = f"A second `<process>`; the first is on line {line}."
            if self.process is None:
                self.extra.add("process")
            self.findings.error(
                "D070", message, tag, "A directive has one process. Merge them, or put an example in a code fence."
            )
            return
        if tag.empty:
            self.findings.error(
                "D070", "The process is empty.", tag, "Write the steps between `<process>` and `</process>`."
            )
            return
        self.process = tag

    def _inside(self, tag: Tag) -> None:
        if tag.name in PRIMARIES:
            self._action(tag)
        elif tag.name == "param":
            self._param(tag)
        elif tag.name == "description" and self.step is not None and self.action is None:
            if not tag.closing and self.description is None:
                self.description = tag
            elif tag.closing and self.description is not None:
                if self.step.description is None:
                    self.step.description = self.text[self.description.end : tag.start].strip()
                self.description = None

    def _step(self, tag: Tag) -> None:
        if tag.closing:
            if self.step is None:
                self.findings.error(
                    "D071", "`</step>` has no opening tag.", tag, 'Delete it, or open `<step name="…">` before it.'
                )
                return
            self._close_action_early()
            self._finish_step(tag.start)
            return
        if self.step is not None or self.action is not None:
            self._close_step_early(tag)
        self.step = _OpenStep(tag)
        if tag.empty:
            self.findings.error("D071", "The step is empty.", tag, "Describe what to do in it.")
            self.step = None

    def _finish_step(self, end: int) -> None:
        assert self.step is not None
        opened = self.step.tag
        plain = _PLAIN_NAME.fullmatch(opened.written)
        name = plain[1] if plain is not None else self._step_name(opened)
        if not name:
            self.findings.warning("D071", "The step has no name.", opened, 'Write `<step name="…">`.')
        elif name in self.names:
            self.findings.warning(
                "D071", f"Another step is already named {name!r}.", opened, "Give each step its own name."
            )
        self.names.add(name)
        written = self.text[opened.end : end]
        self.steps.append(
            Step(name, written, self.step.description, tuple(self.step.actions), opened.line, opened.column)
        )
        self.step = self.description = None

    def _step_name(self, opened: Tag) -> str:
        given = dict(opened.attributes())
        if not opened.well_formed():
            self.findings.error("D071", "The step's attributes are malformed.", opened, 'Write `<step name="…">`.')
        for unknown in [name for name in given if name != "name"]:
            self.findings.attribute("warning", "step", unknown, opened, ("name",))
        return given.get("name", "").strip()

    def _close_step_early(self, at: Tag | None) -> None:
        self._close_action_early()
        if self.step is None:
            return
        self.findings.error(
            "D071",
            "`<step>` is never closed outside code.",
            self.step.tag,
            "Add `</step>`; a tag inside a code fence or backticks is text.",
        )
        self._finish_step(at.start if at is not None else len(self.text))

    def _action(self, tag: Tag) -> None:
        if tag.closing:
            if self.action is not None and self.action.name == tag.name:
                self._finish_action()
            return
        given = dict(tag.attributes())
        if "item_type" not in given and "item_id" not in given:
            return  # a word in angle brackets, not an action
        self._close_action_early()
        self.action = tag
        if tag.empty:
            self._finish_action()

    def _finish_action(self) -> None:
        assert self.action is not None
        tag = self.action
        attributes = tag.attributes()
        given = dict(attributes)
        item_type, item_id = given.get("item_type"), given.get("item_id")
        if not tag.well_formed():
            self.findings.error(
                "D072",
                f"The attributes of `<{tag.name}>` are malformed or repeated.",
                tag,
                "Write each once, with a quoted value.",
            )
        if item_type not in ITEM_TYPES:
            shown = f"the item type {item_type!r}" if item_type else "no item type"
            message = f"`<{tag.name}>` has {shown}."
            self.findings.warning("D072", message, tag, f"Set `item_type` to one of {', '.join(ITEM_TYPES)}.")
        if not item_id and tag.name != "search":
            self.findings.warning("D072", f"`<{tag.name}>` names no item.", tag, "Set `item_id`.")
        action = Action(
            primary=tag.name,
            item_type=item_type,
            item_id=item_id,
            attributes=attributes,
            params=tuple(self.params.items()),
            line=tag.line,
            column=tag.column,
        )
        if self.step is not None:
            self.step.actions.append(action)
        self.action = None
        self.params = {}

    def _close_action_early(self) -> None:
        if self.action is not None:
            name = self.action.name
            self.findings.error(
                "D072", f"`<{name}>` is never closed.", self.action, f"Add `</{name}>`, or end it with `/>`."
            )
            self._finish_action()

    def _param(self, tag: Tag) -> None:
        if tag.closing or self.action is None:
            return
        given = dict(tag.attributes())
        name = given.get("name", "")
        if not name or not tag.well_formed():
            self.findings.error("D072", "A `<param>` is malformed.", tag, 'Write `<param name="…" value="…" />`.')
        elif name in self.params:
            self.findings.error("D072", f"The parameter {name!r} is a duplicate.", tag, "Keep one.")
        else:
            self.params[name] = given.get("value", "")

    def _criteria(self, tag: Tag) -> None:
        if tag.closing:
            self._close_criterion()
            if self.criteria_tag is None and "success_criteria" in self.extra:
                self.extra.discard("success_criteria")
                return
            if self.criteria_tag is None:
                message = "`</success_criteria>` has no opening tag."
                self.findings.error("D073", message, tag, "Delete it, or open `<success_criteria>` before it.")
                return
            opened, self.criteria_tag = self.criteria_tag, None
            if not self.criteria_source:
                self.criteria_source = self.text[opened.start : tag.end]
                self.criteria_line = opened.line
            return
        if self.criteria_tag is not None or self.criteria_source:
            self.findings.error("D073", "A second `<success_criteria>`.", tag, "Merge the two.")
            if self.criteria_tag is None:
                self.extra.add("success_criteria")
            return
        if self.process is not None:
            message = "`<success_criteria>` is inside `<process>`."
            self.findings.warning("D073", message, tag, "Move it after `</process>`.")
        if not tag.empty:
            self.criteria_tag = tag

    def _criterion(self, tag: Tag) -> None:
        if tag.closing:
            if self.criterion is not None:
                self._finish_criterion(tag.start)
            return
        if self.criteria_tag is None:
            return
        self._close_criterion()
        if not tag.empty:
            self.criterion = tag

    def _finish_criterion(self, end: int) -> None:
        assert self.criterion is not None
        opened, self.criterion = self.criterion, None
        text = " ".join(self.text[opened.end : end].split())
        if text:
            self.criteria.append(Criterion(text, opened.line))
        else:
            self.findings.warning(
                "D073", "The criterion is empty.", opened, "Write something that can be checked, or delete it."
            )

    def _close_criterion(self) -> None:
        if self.criterion is not None:
            self.findings.error("D073", "`<criterion>` is never closed.", self.criterion, "Add `</criterion>`.")
            self.criterion = None
