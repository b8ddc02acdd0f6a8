"""Fix a directive's text, for ``rye validate --fix`` and ``rye migrate directive``. Pure: text in, text out.

Only problems with exactly one fix are changed, and nothing outside the affected spans:

==================  ==================================================================================================
``fix``             removes a BOM and CR LF; gives ``turns``/``tokens`` of ``<limits>`` their full names; moves the process
                    (or the success criteria) after the fence; sets the category to the file's folder
``migrate``         does the same; also creates a missing ``<cost>`` from ``<limits>``, and drops a signature over the fence
                    alone or one that the changes break
==================  ==================================================================================================

Neither changes a file that it cannot parse, and neither ever changes what is granted.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Callable
from decimal import Decimal

from msgspec.structs import replace

from rye.items.directive.metadata import read_limits
from rye.items.directive.process import Tag, tags
from rye.items.directive.reader import read
from rye.items.directive.rules import Findings
from rye.items.directive.xml_document import XmlError, escape
from rye.items.directive.xml_tree import Element, parse
from rye.items.identity import is_id
from rye.items.reading import Fixed, ReadOptions, Source
from rye.text.markdown_blocks import scan
from rye.text.markdown_model import Fence

Step = Callable[[str, Source], tuple[str, str] | None]
"""One kind of change: returns the new text and a description of the change, or None if there is nothing to do."""


def fix(text: str, source: Source) -> Fixed:
    """Fix what has exactly one fix. ``text`` may have a BOM and CR LF. Of ``source``, only name and category are used."""
    return _run(text, source, (_aliases, _move_sections, _category))


def migrate(text: str, source: Source) -> Fixed:
    """Bring an older directive up to the current rules. If anything changed, the result is unsigned."""
    fence_only = is_signed_over_fence_only(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    return _drop_signature(_run(text, source, (_aliases, _move_sections, _category, _cost)), fence_only)


def _run(text: str, source: Source, steps: tuple[Step, ...]) -> Fixed:
    changes: list[str] = []
    if text.startswith("\ufeff"):
        text = text[1:]
        changes.append("Removed the byte order mark.")
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
        changes.append("Changed CR LF line endings to LF.")
    for step in steps:
        for _ in range(3):  # the process and the success criteria are two moves
            done = step(text, replace(source, text=text))
            if done is None:
                break
            text, change = done
            changes.append(change)
    return Fixed(text, tuple(changes))


def _fence(text: str) -> Fence | None:
    """The directive's fence, if it is closed."""
    fence = next((fence for fence in scan(text).fences if fence.word == "xml"), None)
    return fence if fence is not None and fence.closed else None


def _metadata(text: str) -> Element | None:
    """The one ``<metadata>`` of a directive, if the directive parses."""
    fence = _fence(text)
    if fence is None:
        return None
    try:
        root = parse(fence)
    except XmlError:
        return None
    found = root.of("metadata")
    return found[0] if root.tag == "directive" and len(found) == 1 else None


def _only(metadata: Element | None, tag: str) -> Element | None:
    found = metadata.of(tag) if metadata is not None else ()
    return found[0] if len(found) == 1 else None


def _offset(text: str, line: int, column: int) -> int:
    at = 0
    for _ in range(line - 1):
        at = text.index("\n", at) + 1
    return at + column - 1


# Limits.

_ATTRIBUTE = re.compile(r"(\s+)([^\s=<>/\"']+)(\s*=\s*)(\"[^\"]*\"|'[^']*')")
_ALIASES = {"turns": "max_turns", "tokens": "max_tokens"}


def _aliases(text: str, source: Source) -> tuple[str, str] | None:
    limits = _only(_metadata(text), "limits")
    if limits is None or not set(limits.attributes) & set(_ALIASES):
        return None
    start = _offset(text, limits.line, limits.column)
    if not text.startswith("<limits", start):
        return None
    position = start + len("<limits")
    pieces, done = [text[:position]], []
    while found := _ATTRIBUTE.match(text, position):
        blank, name, equals, value = found.groups()
        position = found.end()
        full = _ALIASES.get(name)
        if full is None:
            pieces.append(found.group())
        elif full not in limits.attributes:
            pieces.append(f"{blank}{full}{equals}{value}")
            done.append(f"`{name}` is now `{full}`")
        elif limits.attributes[full].strip() == limits.attributes[name].strip():
            done.append(f"removed `{name}`, which repeats `{full}`")
        else:
            pieces.append(found.group())
    if not done:
        return None
    return "".join(pieces) + text[position:], f"In `<limits>`: {', '.join(done)}."


# Sections in the wrong zone.


def _move_sections(text: str, source: Source) -> tuple[str, str] | None:
    fence = _fence(text)
    if fence is None or fence.depth:
        return None
    wrong = {
        (found.line, found.column)
        for found in read(source, ReadOptions()).diagnostics
        if found.code in ("R12", "D073") and found.severity == "error"
    }
    lines = text.split("\n")
    for first, last in ((fence.line + 1, fence.end_line - 1), (1, fence.line - 1)):
        part = "\n".join(lines[first - 1 : last])
        found_tags = list(tags(part, first))
        for index, tag in enumerate(found_tags):
            if tag.closing or tag.empty or tag.name not in ("process", "success_criteria"):
                continue
            closer = next((one for one in found_tags[index + 1 :] if one.name == tag.name), None)
            if (tag.line, tag.column) not in wrong or closer is None or not closer.closing:
                continue
            if _has_section(lines[fence.end_line :], tag.name):
                continue
            return _moved(text, part, first, tag, closer), f"Moved `<{tag.name}>` of line {tag.line} after the fence."
    return None


def _has_section(after: list[str], name: str) -> bool:
    return any(tag.name == name for tag in tags("\n".join(after)))


def _moved(text: str, part: str, first: int, tag: Tag, closer: Tag) -> str:
    base = _offset(text, first, 1)
    start, end = base + tag.start, base + closer.end
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    section = text[start:end]
    if not indent.strip():
        section = textwrap.dedent(indent + section)
        start -= len(indent)
        if text.startswith("\n", end) and (start == 0 or text[start - 1] == "\n"):
            end += 1  # the section has these lines to itself
            if text[:start].endswith("\n\n") and text.startswith("\n", end):
                end += 1  # and one of the blank lines around it
    without = text[:start] + text[end:]
    fence = _fence(without)
    assert fence is not None
    lines = without.split("\n")
    after = lines[fence.end_line :]
    if tag.name == "success_criteria":
        at = _behind_process(after)
        head, tail = lines[: fence.end_line] + after[:at], after[at:]
    else:
        head, tail = lines[: fence.end_line], after
    while tail and not tail[0].strip():
        del tail[0]
    return "\n".join([*head, "", section, "", *tail] if tail else [*head, "", section, ""])


def _behind_process(after: list[str]) -> int:
    closers = [tag.line for tag in tags("\n".join(after)) if tag.name == "process" and tag.closing]
    return closers[0] if closers else 0


# Category and cost.


def _category(text: str, source: Source) -> tuple[str, str] | None:
    folder = source.category
    metadata = _metadata(text)
    if not folder or not is_id(folder) or metadata is None:
        return None
    if not metadata.of("category"):
        description = _only(metadata, "description")
        if description is None:
            return None
        at = _offset(text, description.line, description.column)
        indent = text[text.rfind("\n", 0, at) + 1 : at]
        separator = f"\n{indent}" if not indent.strip() else ""
        return f"{text[:at]}<category>{folder}</category>{separator}{text[at:]}", f"Added the category {folder!r}."
    category = _only(metadata, "category")
    if category is None or category.children or not category.trimmed or category.trimmed == folder:
        return None
    at = _offset(text, category.text_line, category.text_column)
    if not text.startswith(category.trimmed, at):
        return None
    changed = text[:at] + folder + text[at + len(category.trimmed) :]
    return changed, f"The category is now {folder!r}, the file's folder (was {category.trimmed!r})."


_START_TAG = re.compile(r"<limits(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?(/?)>")


def _cost(text: str, source: Source) -> tuple[str, str] | None:
    """Add a ``<cost>`` with the values of ``<limits>``. The usage comes from the format's table of complexities."""
    metadata = _metadata(text)
    limits = _only(metadata, "limits")
    if metadata is None or limits is None or metadata.of("cost"):
        return None
    known = read_limits(limits, Findings())
    turns, tokens = known.get("max_turns"), known.get("max_tokens")
    if not isinstance(turns, int):
        return None
    start = _offset(text, limits.line, limits.column)
    found = _START_TAG.match(text, start)
    if found is None:
        return None
    end = found.end() if found[1] else text.find(">", text.find("</limits", found.end())) + 1
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    usage = "low" if turns <= 6 else "medium" if turns <= 15 else "high"
    context = f'<context estimated_usage="{usage}" turns="{turns}"'
    children = [f"{context}>{tokens}</context>" if isinstance(tokens, int) else f"{context} />"]
    if isinstance(known.get("duration_seconds"), int):
        children.append(f"<duration>{known['duration_seconds']}</duration>")
    if isinstance(known.get("spend"), Decimal):
        children.append(f'<spend currency="USD">{escape(str(known["spend"]))}</spend>')
    if indent.strip():
        block = f"<cost>{''.join(children)}</cost>"
    else:
        block = f"\n{indent}<cost>" + "".join(f"\n{indent}  {child}" for child in children) + f"\n{indent}</cost>"
    return text[:end] + block + text[end:], f"Added `<cost>` from `<limits>` ({usage} usage, {turns} turns)."


# Signatures of an older form.

_SIGNATURE_HASH = re.compile(r":([0-9a-f]{64}):")


def is_signed_over_fence_only(text: str) -> bool:
    """Whether the HASH on line 1 covers the text from the first ``<directive`` to the last ``</directive>`` (DESIGN §4)."""
    line, _, rest = text.partition("\n")
    found = _SIGNATURE_HASH.search(line)
    start, end = rest.find("<directive"), rest.rfind("</directive>")
    if found is None or not line.startswith("<!-- rye") or start < 0 or end < start:
        return False
    span = rest[start : end + len("</directive>")].strip()
    return hashlib.sha256(span.encode("utf-8", "surrogatepass")).hexdigest() == found[1]


def _drop_signature(fixed: Fixed, fence_only: bool) -> Fixed:
    line, _, rest = fixed.text.partition("\n")
    if not line.startswith(("<!-- rye:signed:", "<!-- ryeos:signed:")):
        return fixed
    if fence_only:
        return Fixed(rest, (*fixed.changes, "Removed the signature, which covered only the fence."))
    if fixed.changes:
        return Fixed(rest, (*fixed.changes, "Removed the signature, which no longer matches."))
    return fixed
