"""Directives: two-zone XML in Markdown. ``read`` returns the value and every finding.

How a file is read:

1. Find the fences as CommonMark defines them (:mod:`rye.items.directive.fence`). The first ``xml`` fence is the directive's. A
   second one with a ``<directive>`` root is an error, as is anything that would let two readers see two directives.
2. Parse its XML with a hardened reader (:mod:`rye.items.directive.xml_tree`).
3. Read the metadata; each part has its own module: ``metadata``, ``permissions``, ``hooks``, ``inputs``.
4. Read the sections after the fence (:mod:`rye.items.directive.process`).

:mod:`rye.items.directive.json_form` has the form that ``rye show`` prints.

If step 1 or 2 fails, the value is None and nothing may be rendered, granted or fired. Otherwise the value lacks only the parts
that broke a rule. Rules and codes: :mod:`rye.items.directive.rules`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from rye.items.consented import HookAction
from rye.items.directive.calls import find_calls
from rye.items.directive.fence import PROCESS_PLACE, process_before, process_in_text, scan_to_fence, the_fence
from rye.items.directive.hooks import read_hooks
from rye.items.directive.inputs import read_inputs, read_outputs
from rye.items.directive.json_form import as_json
from rye.items.directive.metadata import (
    no_children,
    no_text,
    read_context,
    read_cost,
    read_limits,
    read_model,
    second,
    single,
)
from rye.items.directive.model import (
    OPAQUE,
    RELATIONS,
    Context,
    Directive,
    Hook,
    LegacyOutputs,
    Output,
    Process,
    Section,
)
from rye.items.directive.permissions import read_permissions
from rye.items.directive.placeholders import find as find_placeholders
from rye.items.directive.process import Sections, read_sections
from rye.items.directive.rules import Findings
from rye.items.directive.template import template
from rye.items.directive.text_lines import element_lines
from rye.items.directive.xml_document import XmlError
from rye.items.directive.xml_tree import Element, parse
from rye.items.identity import is_id
from rye.items.named import called
from rye.items.reading import Metadata, Reading, ReadOptions, Source
from rye.items.rights import Call, Permission
from rye.items.version_text import version_problem
from rye.limits import CONTENT
from rye.text.diagnostics import in_order
from rye.text.markdown_model import Blocks

METADATA = ("description", "category", "author", "model", "limits", "permissions", "cost", "context", "hooks")
"""The children of ``<metadata>``."""
_METADATA = frozenset(METADATA)
_OPAQUE = frozenset(OPAQUE)
_PARTS = ("metadata", "inputs", "outputs")
_PLACED = frozenset((*RELATIONS, "process"))
"""Elements that are only allowed in certain places."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def read(source: Source, options: ReadOptions) -> Reading[Directive]:
    """Read a directive. Never raises for bad content; a value of None means that it does not parse."""
    del options  # a directive's rules are the same everywhere
    findings = Findings()
    directive = _read(source, findings)
    metadata = _metadata(directive) if directive is not None else None
    return Reading(directive, metadata, in_order(findings.all()))


def _read(source: Source, findings: Findings) -> Directive | None:
    text = source.text
    if len(text) > CONTENT.item_bytes:
        message = f"The text has {len(text):,} characters; an item can have at most {CONTENT.item_bytes:,} bytes."
        findings.add("error", "D006", message, None, None, "Split the directive.")
        return None
    scanned = scan_to_fence(text)
    if scanned.too_deep is not None:
        message = "Quotes and lists are nested too deeply to read."
        findings.add("error", "D006", message, scanned.too_deep, 1, "Reduce the nesting.")
        return None
    fence = the_fence(scanned, findings)
    if fence is None:
        return None
    before = text[: fence.start]
    process_before(scanned, before, findings)
    try:
        root = parse(fence)
    except XmlError as error:
        findings.add("error", error.code, error.message, error.line, error.column, error.hint or "Fix the XML.")
        process_in_text(fence, findings)
        return None
    if root.tag != "directive":
        message = f"The first XML fence holds `<{root.tag}>`, not `<directive>`."
        hint = "Put the directive's fence first; mark examples before it with another info word, such as `text`."
        findings.add("error", "D002", message, root.line, root.column, hint)
        return None
    if any(found.code in ("D008", "D009") for found in findings.found):
        return None
    body = text[fence.end :]
    above = before.split("\n")[:-1]
    sections = read_sections(body, fence.end_line + 1, findings)
    prose = _Prose(body, fence.end_line + 1, *_introduction(scanned, above, findings))
    directive = _directive(root, source, sections, prose, findings)
    first = prose.title_line or 1
    _placeholders(directive, ("\n".join(above[first - 1 :]), first), findings)
    return directive


class _Prose(Struct, frozen=True):
    """The Markdown around the fence."""

    body: str
    body_line: int
    title: str
    title_line: int | None
    introduction: str
    introduction_lines: tuple[int, ...]


# The text above the fence.


def _introduction(
    scanned: Blocks, above: list[str], findings: Findings
) -> tuple[str, int | None, str, tuple[int, ...]]:
    """Return the title and its line, then the Markdown between it and the fence with the line number of each of its lines.

    ``above``: the lines above the fence.
    """
    title = next((h for h in scanned.headings if h.text and h.level == 1 and h.depth == 0), None)
    if title is not None and title.line <= len(above):
        return (title.text, title.line, *_stripped(above, range(title.line + 1, len(above) + 1)))
    findings.add("notice", "D090", "There is no Markdown title above the fence.", 1, 1, "Add a line such as `# Title`.")
    skipped = {
        number
        for first, last in (*scanned.code_lines, *scanned.comment_lines)
        for number in range(first, min(last, len(above)) + 1)
    }
    return ("", None, *_stripped(above, [number for number in range(1, len(above) + 1) if number not in skipped]))


def _stripped(lines: list[str], numbers: Sequence[int]) -> tuple[str, tuple[int, ...]]:
    """Join the lines with these numbers (from 1), stripped as one text. Return it and the number of each line that
    remains."""
    text = "\n".join([lines[number - 1] for number in numbers])
    lead = text.count("\n", 0, len(text) - len(text.lstrip()))
    text = text.strip()
    return text, tuple(numbers[lead : lead + text.count("\n") + 1])


# Step 3: the element as a value.


def _directive(root: Element, source: Source, sections: Sections, prose: _Prose, findings: Findings) -> Directive:
    findings.attributes("error", root, ("name", "version"))
    no_text(root, findings)
    opaque, hidden = _sections(root)
    is_plain = _structure(root, hidden, findings)
    name = _name(root, source, findings)
    version = _version(root, findings)
    metadata = single(root, "metadata", findings)
    inputs = single(root, "inputs", findings)
    outputs = single(root, "outputs", findings)
    declared = read_inputs(inputs, findings) if inputs is not None else ()
    returned: tuple[Output, ...] | LegacyOutputs = read_outputs(outputs, findings) if outputs is not None else ()
    parts = _parts(metadata, findings)
    _required(parts, metadata or root, metadata is None, findings)
    limits = read_limits(parts["limits"], findings) if parts["limits"] else {}
    permissions, hooks = _powers(root, metadata, parts, findings)
    if not is_plain:
        permissions, hooks = (), ()
    description, author = parts["description"], parts["author"]
    category = _category(parts["category"], source, findings)
    directive = Directive(
        name=name,
        version=version,
        description=description.trimmed if description else "",
        category=category,
        author=author.trimmed if author else "",
        title=prose.title,
        title_line=prose.title_line,
        introduction=prose.introduction,
        introduction_lines=prose.introduction_lines,
        description_lines=element_lines(description) if description else (),
        model=read_model(parts["model"], findings) if parts["model"] else None,
        limits=limits,
        permissions=permissions,
        cost=read_cost(parts["cost"], findings) if parts["cost"] else None,
        context=read_context(parts["context"], findings) if parts["context"] else Context(),
        hooks=hooks,
        inputs=declared,
        outputs=returned,
        sections=opaque,
        body=prose.body,
        body_line=prose.body_line,
        process=sections.process,
        success_criteria=sections.criteria,
        success_criteria_source=sections.criteria_source,
        success_criteria_line=sections.criteria_line,
        calls=_calls(sections.process),
        line=root.line,
    )
    _missing_process(directive, findings)
    return directive


def _parts(metadata: Element | None, findings: Findings) -> dict[str, Element | None]:
    """The children of ``<metadata>`` by name, the first of each."""
    parts: dict[str, Element | None] = dict.fromkeys(METADATA)
    if metadata is None:
        return parts
    findings.attributes("warning", metadata)
    no_text(metadata, findings)
    for child in metadata.children:
        tag = child.tag
        if tag not in parts:
            if tag not in _PLACED:
                findings.unknown("warning", tag, child, "metadata", METADATA)
        elif (first := parts[tag]) is None:
            parts[tag] = child
        else:
            second(first, child, findings)
    return parts


def _powers(
    root: Element, metadata: Element | None, parts: dict[str, Element | None], findings: Findings
) -> tuple[tuple[Permission, ...], tuple[Hook, ...]]:
    """Read permissions and hooks. If the element that declares them is repeated, return none: a reader may see the other one."""
    permissions = read_permissions(parts["permissions"], findings) if parts["permissions"] else ()
    hooks = read_hooks(parts["hooks"], findings) if parts["hooks"] else ()
    if metadata is None or len(root.of("metadata")) > 1:
        return (), ()
    tags = [child.tag for child in metadata.children]
    return permissions if tags.count("permissions") < 2 else (), hooks if tags.count("hooks") < 2 else ()


def _sections(root: Element) -> tuple[tuple[Section, ...], frozenset[int]]:
    """The opaque sections, and the identities of all elements below them, which no rule applies to."""
    sections: list[Section] = []
    hidden: set[int] = set()
    if _OPAQUE.isdisjoint(root.document.tags):
        return (), frozenset()
    for element in root.walk():
        if element.tag in OPAQUE and id(element) not in hidden and not element.prefixed:
            text = element.source if element.children else element.text
            kept = tuple(element.attributes.items())
            sections.append(Section(element.tag, kept, text, element.line, element.column))
            hidden.update(id(below) for below in element.walk())
    return tuple(sections), frozenset(hidden)


def _structure(root: Element, hidden: frozenset[int], findings: Findings) -> bool:
    """Check what may be where: the root's children, R09, R12 and namespaces. Opaque sections are exempt.

    Returns whether no element uses a namespace. With one, a reader that knows namespaces sees other elements.
    """
    for child in root.children:
        if child.tag in _METADATA:
            message = f"`<{child.tag}>` is directly in `<directive>`, where it has no effect."
            findings.error("D011", message, child, "Move it into `<metadata>`.")
        elif child.tag == "success_criteria":
            message = "`<success_criteria>` is inside the fence, where nothing reads it."
            findings.error("D073", message, child, "Move it below the fence, after the process.")
        elif child.tag not in _PARTS and child.tag not in _PLACED:
            findings.unknown("warning", child.tag, child, "directive", _PARTS)
    placed = sum(map(_PLACED.__contains__, root.document.tags))
    if root.document.plain and (not placed or placed == _well_placed(root)):
        return True
    is_plain = True
    stack: list[tuple[Element, tuple[str, ...]]] = [(root, ())]
    while stack:
        element, path = stack.pop()
        if id(element) in hidden:
            continue
        if element.prefixed:
            is_plain = False
            findings.error(
                "D015", f"`<{element.tag[:80]}>` uses a namespace.", element, "Write it without prefix and `xmlns`."
            )
        if path[-3:] == ("hooks", "hook", "inputs"):
            continue  # the author chooses the names of a hook's inputs
        if path == ("directive", "outputs"):
            continue  # and of outputs
        if element.tag == "process":
            findings.error("R12", "`<process>` is inside the fence.", element, PROCESS_PLACE)
            continue
        if element.tag in RELATIONS and path != ("directive", "metadata", "context"):
            message = f"`<{element.tag}>` is in `<{path[-1] if path else ''}>`."
            findings.error("R09", message, element, "Make it a direct child of `<context>` in `<metadata>`.")
        below = (*path, element.tag)
        for child in element.children:
            if child.children or child.prefixed or child.tag in _PLACED:
                stack.append((child, below))
    return is_plain


def _well_placed(root: Element) -> int:
    """How many relationship elements are where they belong. If that is all of them, none is elsewhere."""
    contexts = [context for metadata in root.of("metadata") for context in metadata.of("context")]
    return len([child for context in contexts for child in context.children if child.tag in RELATIONS])


def _name(root: Element, source: Source, findings: Findings) -> str:
    """Read the name; R01 and DECISIONS Directives 5."""
    name = root.attributes.get("name", "")
    if not name.strip():
        findings.error("R01", "`<directive>` has no `name`.", root, f'Add `name="{source.name or "deploy_staging"}"`.')
    elif _NAME.fullmatch(name) is None or len(name) > 64:
        message = f"The name {name[:80]!r} is not snake_case."
        findings.error(
            "D010", message, root, "Use at most 64 lower-case letters, digits and `_`, starting with a letter."
        )
    elif source.name is not None and name != source.name:
        message = f"The name is {name!r}, but the file is named {source.name!r}."
        findings.error("D010", message, root, f'Rename the file to `{name}.md`, or write `name="{source.name}"`.')
    return name


def _version(root: Element, findings: Findings) -> str:
    """Read the version; R01 and R03."""
    version = root.attributes.get("version", "")
    if not version.strip():
        findings.error("R01", "`<directive>` has no `version`.", root, 'Add `version="1.0.0"`.')
    elif (problem := version_problem(version, release_only=True)) is not None:
        message = f"The version {version[:40]!r} {problem}."
        findings.error("R03", message, root, 'Write three numbers without leading zeros, e.g. `version="1.0.0"`.')
    return version


_EXAMPLES = {
    "description": "<description>Deploy the service to staging</description>",
    "category": "<category>workflows</category>",
    "author": "<author>your-team</author>",
    "model": '<model tier="general" />',
    "permissions": "<permissions><search><directive>*</directive></search></permissions>",
    "cost": '<cost><context estimated_usage="medium" turns="10">8000</context></cost>',
}


def _required(parts: dict[str, Element | None], at: Element, no_metadata: bool, findings: Findings) -> None:
    """Report R02. A missing cost is only a warning if there are limits."""
    if no_metadata:
        findings.error("R02", "`<directive>` has no `<metadata>`.", at, "Add it with every required field.")
    for tag, example in _EXAMPLES.items():
        element = parts[tag]
        if element is None:
            if tag == "cost" and parts["limits"] is not None:
                hint = f"Add `{example}`; `rye migrate directive` creates it from the limits."
                findings.warning("R02", "`<metadata>` has no `<cost>`, only `<limits>`.", at, hint)
            else:
                findings.error("R02", f"`<metadata>` has no `<{tag}>`.", at, f"Add `{example}`.")
        elif tag in ("description", "category", "author"):
            findings.attributes("warning", element)
            no_children(element, findings)
            if not element.trimmed:
                findings.error("R02", f"`<{tag}>` is empty.", element, f"Fill it, e.g. `{example}`.")


def _category(element: Element | None, source: Source, findings: Findings) -> str:
    """Read the category; R05."""
    category = element.trimmed if element is not None else ""
    if element is None or not category:
        return ""
    if not is_id(category):
        hint = "Write folders as lower-case segments of a-z, 0-9, - and _ joined by `/`."
        findings.error("R05", f"The category {category[:80]!r} is not a folder path.", element, hint)
    elif source.category is not None and category != source.category:
        where = f"`directives/{source.category}/`" if source.category else "`directives/` itself"
        message = f"The category is {category!r}, but the file is in {where}."
        hint = f"Move the file to `directives/{category}/`"
        hint += f", or write `<category>{source.category}</category>`." if source.category else "."
        findings.error("R05", message, element, hint)
    return category


# The prose: calls and placeholders.


def _calls(process: Process | None) -> tuple[Call, ...]:
    """Every call in the process: in backticks anywhere, and as action elements in its steps."""
    if process is None:
        return ()
    found = list(find_calls(" " * (process.column - 1) + process.source, process.line))
    actions = [action for step in process.steps for action in step.actions]
    if actions:
        found += [Call(each.primary, each.item_type, each.item_id, each.line, each.column) for each in actions]
        found.sort(key=lambda call: (call.line, call.column))
    return tuple(found)


def _missing_process(directive: Directive, findings: Findings) -> None:
    """Report D070 for a missing process, unless another finding explains what happened to it."""
    if directive.process is None and not {found.code for found in findings.found} & {"R12", "D070"}:
        hint = "Write `<process>` with its steps after the fence; a process inside a code fence is text."
        findings.add("warning", "D070", "There is no `<process>`.", directive.line, None, hint)


def _placeholders(directive: Directive, above: tuple[str, int], findings: Findings) -> None:
    """Report D080 for placeholders in rendered text that name no declared input (DECISIONS Directives 8).

    ``above``: the title and introduction as written, and the line where they begin.
    """
    declared = {declaration.name for declaration in directive.inputs}
    parts: list[tuple[str, int | Sequence[int]]] = [above]  # with the line of each line, or only that of the first
    if not directive.introduction:
        parts.append((directive.description, directive.description_lines))
    parts.append((directive.body, directive.body_line))
    if isinstance(directive.outputs, LegacyOutputs):
        parts.append((directive.outputs.success or "", directive.outputs.success_lines))
        parts.append((directive.outputs.failure or "", directive.outputs.failure_lines))
    for text, lines in parts:
        line = position = 0
        for placeholder in find_placeholders(text):
            if placeholder.name in declared:
                continue
            line += text.count("\n", position, placeholder.start)
            position = placeholder.start
            column = position - (text.rfind("\n", 0, position) + 1) + 1
            message = f"`{text[placeholder.start : placeholder.end][:80]}` names an input that is not declared."
            hint = f'Declare `<input name="{placeholder.name}" type="string">…</input>`, or correct the name.'
            number = lines + line if isinstance(lines, int) else lines[line]
            findings.add("warning", "D080", message, number, column, hint)


# What other modules take from a directive.


def _metadata(directive: Directive) -> Metadata:
    return Metadata(
        name=directive.name,
        version=directive.version if version_problem(directive.version, release_only=True) is None else None,
        description=directive.description,
        category=directive.category or None,
        dependencies=directive.context.relations,
        capabilities=directive.capabilities,
        hooks=tuple(HookAction(hook.when, hook.item_type, hook.item_id, hook.inputs) for hook in directive.hooks),
        names=called(directive.calls, directive.permissions, directive.hooks),
    )


__all__ = ["METADATA", "as_json", "read", "template"]
