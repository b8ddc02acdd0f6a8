"""Roles: canonical Markdown sections of the Nexus SDLC (DEC-0010; DECISIONS Roles).

====  ========  =================================================================================================
Code  Severity  Rule
====  ========  =================================================================================================
N01   error     The title is ``# Name — Nexus SDLC Agent``.
N02   error     The title's slug is the file's stem.
N03   error     Only HTML comments precede the title.
N04   warning   There is only one H1.
N05   warning   There is a tagline below the title.
N06   error     Lists and quotes are not nested too deep.
N10   error     Every required section is present.
N11   error     No section appears twice.
N12   warning   Every recommended section is present.
N13   warning   Sections are in the canonical order.
N14   info      There is an extra section.
N20   error     There is exactly one tier line, in the right form.
N21   error     A line says what the role may do.
N22   error     A line says what the role may not do.
N23   warning   A line says what the role must ask before.
N30   warning   The hand-off protocol says whom the role receives work from and hands off to.
N31   error     A hand-off names a role of the closed set.
N32   warning   The other side of a hand-off mentions it as well.
N33   warning   Every input has a known source.
N34   error     No two files of the closed set define the same role.
N40   warning   An output format has a title.
N41   warning   There are three to seven principles.
N42   warning   An escalation trigger starts with If or When.
N50   error     The profile table has exactly the four profiles.
N60   error     No agent file is named by its path.
N61   warning   There is no relative link (an error when publishing).
====  ========  =================================================================================================

The tier is read and shown but never enforced (DECISIONS Roles 4). Rules of the set: :mod:`rye.items.role.closed_set`.
"""

from __future__ import annotations

import re

from rye.items.named import handed_to
from rye.items.reading import Metadata, Reading, ReadOptions, Source
from rye.items.role.model import Role
from rye.items.role.sections import (
    ALWAYS_KNOWN,
    Mention,
    RoleSection,
    handoffs_of,
    headings_of,
    inputs_of,
    items_of,
    lines_of,
    sections_of,
    slug,
    tables_of,
    tagline_of,
)
from rye.text.diagnostics import Diagnostic, Severity, in_order
from rye.text.frontmatter import is_marker
from rye.text.markdown_links import links
from rye.text.markdown_outline import Outline, outline

PROFILES = ("Casual", "Commercial", "Critical", "Vital")
_TITLE = re.compile(r"(\S.*?) — Nexus SDLC Agent")
_REQUIRED = (
    "Identity", "Responsibilities", "You Must Not", "Input Contract", "Tool Permissions", "Handoff Protocol",
    "Escalation Triggers", "Behavioral Principles",
)  # fmt: skip
_ADVISED = ("Flow", "Output Contract", "Profile Variants")
_ORDER = {
    "Identity": 0, "Flow": 1, "When This Agent Is Invoked": 1, "Responsibilities": 2, "You Must Not": 3, "Input Contract": 4,
    "Output Contract": 5, "Tool Permissions": 6, "Handoff Protocol": 7, "Escalation Triggers": 8, "Behavioral Principles": 9,
    "Profile Variants": 9, "Example Interaction": 10,
}  # fmt: skip
"""The canonical order; sections with the same number can swap."""
_TIER_LABEL = re.compile(r"declared access level", re.IGNORECASE)
_TIER = re.compile(r"\*\*Declared access level:\*\* Tier ([0-4]) — (\S.*?)[ \t]*")
_RIGHT = r"[ \t]*(?:(?:[-*+]|#{3,6}|[0-9]{1,9}[.)])[ \t]+)?[*_]{0,2}You "
"""A line that grants or denies can be a bullet, as in the document, or a line of its own above a list."""
_MAY = re.compile(_RIGHT + r"MAY\b(?! NOT\b)")
_MAY_NOT = re.compile(_RIGHT + r"MAY NOT\b")
_MUST_ASK = re.compile(_RIGHT + r"MUST ASK\b")
_OUTPUT_FORMAT = re.compile(r"Output Format — \S.*")
_AGENT_FILE = re.compile(r"\bagents/(?:[\w.*\[\]<>{}-]+/){0,8}[\w.*\[\]<>{}-]+\.md\b")
_IF_OR_WHEN = re.compile(r"[*_`\"'“]{0,4}(?:if|when)\b", re.IGNORECASE)


class _Found(list[Diagnostic]):
    def add(
        self, severity: Severity, code: str, message: str, line: int | None = None, hint: str | None = None
    ) -> None:
        self.append(Diagnostic(severity, code, message, line, hint=hint))


def read(source: Source, options: ReadOptions) -> Reading[Role]:
    """Read a role's file. ``value`` is None if there is no title of the right form."""
    scan = outline(source.text)
    found = _Found()
    if scan.too_deep is not None:
        found.add("error", "N06", "Lists or quotes are nested too deep to find the sections.", scan.too_deep + 1)
        return Reading(None, None, tuple(found))
    title_line = _check_start(scan, found)
    if title_line is None:
        return Reading(None, None, in_order(found))
    title = next(h for h in scan.headings if h.line == title_line)
    match = _TITLE.fullmatch(title.text)
    if match is None:
        hint = "Write `# Name — Nexus SDLC Agent`, with an em dash."
        found.add("error", "N01", f"The title is {title.text!r}, not 'Name — Nexus SDLC Agent'.", title_line + 1, hint)
    name = match[1] if match else title.text
    stem = slug(name)
    if match and source.name is not None and stem != source.name:
        message = f"The role {name!r} belongs in {stem}.md, not in {source.name}.md."
        found.add("error", "N02", message, title_line + 1, "Rename the file, or change the title.")
    for heading in scan.headings:
        if heading.level == 1 and heading.line != title_line:
            found.add("warning", "N04", "A role has only one H1.", heading.line + 1, "Change this one to an H2.")
    tagline = tagline_of(scan, title_line)
    if tagline is None:
        found.add("warning", "N05", "There is no tagline.", title_line + 1, "Add `> one line` below the title.")
    sections = sections_of(scan)
    by_name = _check_sections(sections, found)
    tier, tier_name = _check_permissions(scan, by_name.get("Tool Permissions"), found)
    receives, hands_off = _check_handoffs(scan, by_name.get("Handoff Protocol"), found)
    _check_lists(scan, by_name, found)
    _check_profiles(scan, by_name.get("Profile Variants"), found)
    _check_references(scan, options, found)
    if match is None:
        return Reading(None, None, in_order(found))
    role = Role(
        name=name,
        slug=stem,
        tagline=tagline,
        sections=tuple(sections),
        tier=tier,
        tier_name=tier_name,
        receives_from=receives,
        hands_off_to=hands_off,
        inputs=inputs_of(scan, by_name.get("Input Contract")),
    )
    others = ((slug(one.name), one.line) for one in hands_off if one.name.casefold() not in ALWAYS_KNOWN)
    metadata = Metadata(name=stem, version=None, description=tagline or "", names=handed_to("role", others))
    return Reading(role, metadata, in_order(found))


def _check_start(scan: Outline, found: _Found) -> int | None:
    """Check N01 and N03. Return the title's line (from 0). Only HTML comments and blank lines can precede it."""
    title = next((h.line for h in scan.headings if h.level == 1), None)
    for number, line in enumerate(scan.lines[: title if title is not None else len(scan.lines)]):
        if line.strip() and number not in scan.comments:
            what = "Frontmatter" if is_marker(line) else "Text"
            found.add("error", "N03", f"{what} before the title; only HTML comments are allowed there.", number + 1)
            break
    if title is None:
        hint = "Start the file with `# Name — Nexus SDLC Agent`."
        found.add("error", "N01", "There is no title (H1).", 1, hint)
    return title


def _check_sections(sections: list[RoleSection], found: _Found) -> dict[str, RoleSection]:
    """Check N10 to N14: presence, repetition and order. Return the first section of each name."""
    by_name: dict[str, RoleSection] = {}
    for section in sections:
        if section.name in by_name:
            message = f"The section {section.name!r} is a duplicate; the first is on line {by_name[section.name].line}."
            found.add("error", "N11", message, section.line, "Merge the two.")
        else:
            by_name[section.name] = section
    for names, severity, code in ((_REQUIRED, "error", "N10"), (_ADVISED, "warning", "N12")):
        for name in names:
            if name not in by_name:
                hint = f"Add the heading `## {name}`; the name must match exactly."
                found.add(severity, code, f"The section {name!r} is missing.", hint=hint)  # type: ignore[arg-type]
    highest = ("", -1)
    for name, section in by_name.items():
        rank = _ORDER.get(name)
        if rank is None:
            found.add("info", "N14", f"{name!r} is an extra section.", section.line)
        elif rank < highest[1]:
            message = f"{name!r} comes after {highest[0]!r}, but the canonical order puts it before."
            found.add("warning", "N13", message, section.line)
        else:
            highest = (name, rank)
    return by_name


def _check_permissions(scan: Outline, section: RoleSection | None, found: _Found) -> tuple[int | None, str | None]:
    """Check N20 to N23: the tier line, and what the role may, may not and must ask. Return the tier's number and name."""
    if section is None:
        return None, None
    lines = lines_of(scan, section)
    labelled = [(number, line) for number, line in lines if _TIER_LABEL.search(line)]
    tiers = [(number, match) for number, line in labelled if (match := _TIER.fullmatch(line))]
    form = "**Declared access level:** Tier N — Name, with N from 0 to 4"
    if not tiers:
        place = labelled[0][0] if labelled else section.line
        what = "The tier line is malformed" if labelled else "There is no tier line"
        found.add("error", "N20", f"{what}; the form is {form}.", place)
    for number, _ in labelled:
        if tiers and number != tiers[0][0]:
            found.add("error", "N20", f"There is a second tier line; only one {form} is allowed.", number)
    for pattern, words, severity, code in (
        (_MAY, "You MAY: …", "error", "N21"),
        (_MAY_NOT, "You MAY NOT: …", "error", "N22"),
        (_MUST_ASK, "You MUST ASK the Nexus before: …", "warning", "N23"),
    ):
        if not any(pattern.match(line) for _, line in lines):
            found.add(severity, code, f"Tool Permissions has no line '- {words}'.", section.line)  # type: ignore[arg-type]
    return (int(tiers[0][1][1]), tiers[0][1][2]) if tiers else (None, None)


def _check_handoffs(
    scan: Outline, section: RoleSection | None, found: _Found
) -> tuple[tuple[Mention, ...], tuple[Mention, ...]]:
    receives, hands_off = handoffs_of(scan, section)
    if section is not None:
        for mentions, words in ((receives, "You receive work from"), (hands_off, "You hand off to")):
            if not mentions:
                message = f"Handoff Protocol has no line '**{words}:** …' that names a role."
                found.add("warning", "N30", message, section.line)
    return receives, hands_off


def _check_lists(scan: Outline, by_name: dict[str, RoleSection], found: _Found) -> None:
    """Check N40 to N42: output formats, the number of principles, the form of triggers."""
    if section := by_name.get("Output Contract"):
        titles = [heading.text for heading in headings_of(scan, section, 3)]
        if not any(_OUTPUT_FORMAT.fullmatch(title) for title in titles):
            hint = "Add `### Output Format — Artifact` with the template for the role to fill in."
            found.add("warning", "N40", "Output Contract has no titled output format.", section.line, hint)
    if section := by_name.get("Behavioral Principles"):
        count = len(items_of(scan, section)) or len(headings_of(scan, section, 3))
        if not 3 <= count <= 7:
            found.add("warning", "N41", f"There are {count} behavioral principles; 3 to 7 work best.", section.line)
    if section := by_name.get("Escalation Triggers"):
        for item in items_of(scan, section):
            if not _IF_OR_WHEN.match(item.text):
                shown = item.text.split("\n")[0][:60]
                message = f"An escalation trigger does not start with If or When: {shown!r}."
                found.add("warning", "N42", message, item.line + 1)


def _check_profiles(scan: Outline, section: RoleSection | None, found: _Found) -> None:
    """Check N50: the profile table has exactly the four profiles, in order, as rows or as columns."""
    if section is None:
        return
    tables = tables_of(scan, section)
    names = ", ".join(PROFILES)
    if not tables:
        found.add(
            "error",
            "N50",
            "Profile Variants has no table.",
            section.line,
            f"Add a table with a row for each of {names}.",
        )
    elif not any(_is_profile_table(table) for _, table in tables):
        message = f"The profile table must have exactly {names}, in that order, as rows or as columns."
        found.add("error", "N50", message, tables[0][0])


def _is_profile_table(table: list[list[str]]) -> bool:
    header, rows = tuple(table[0]), table[1:]
    return PROFILES in (tuple(row[0] for row in rows), header, header[1:])


def _check_references(scan: Outline, options: ReadOptions, found: _Found) -> None:
    """Check N60 (paths of agent files anywhere in the text) and N61 (relative links, which break once a role is installed)."""
    for number, line in enumerate(scan.lines, 1):
        if "agents/" in line and (match := _AGENT_FILE.search(line)):
            hint = "Refer to the role by its name."
            found.add("error", "N60", f"The text names an agent's file by its path: {match[0]!r}.", number, hint)
    for link in links(scan):
        if link.relative:
            severity: Severity = "error" if options.publishing else "warning"
            message = f"This relative link breaks once the role is installed: {link.destination!r}."
            found.add(severity, "N61", message, link.line + 1)


def as_json(role: Role) -> dict[str, object]:
    """Return the fields for ``rye show`` (DESIGN §9). ``sections`` has each section's text by name, in the file's order."""
    sections: dict[str, str] = {}
    for section in role.sections:
        sections.setdefault(section.name, section.text)
    return {
        "name": role.name,
        "tagline": role.tagline,
        "sections": sections,
        "tier": role.tier,
        "tier_name": role.tier_name,
        "handoff": {
            "receives_from": [mention.name for mention in role.receives_from],
            "hands_off_to": [mention.name for mention in role.hands_off_to],
        },
    }


def prompt(role: Role, text: str) -> str:
    """Return the whole text, including the author's comments."""
    return text.strip("\n")


def template(name: str, category: str = "", author: str | None = None) -> str:
    """Return the file that ``rye new role NAME`` writes (``name`` is the slug): valid, ready to be filled in."""
    title = name.replace("-", " ").replace("_", " ").title()
    return f"""# {title} — Nexus SDLC Agent

> You do one thing for the swarm. Say it here in one line.

## Identity

You are the {title} in the Nexus SDLC framework. Say what you look at and what you answer for.

## Flow

```mermaid
flowchart LR
    NEXUS["Nexus"] --> SELF["{title}"]
    SELF --> NEXUS
```

## Responsibilities

- Say what this role does, point by point.

## You Must Not

- Say what this role never does.

## Input Contract

- **From the Nexus:** the task, and answers to questions

## Output Contract

### Output Format — Report

```markdown
# Report — [Task]

## Result
[What was found]
```

## Tool Permissions

**Declared access level:** Tier 1 — Read and Document

- You MAY: read all project artifacts
- You MAY NOT: change another role's artifacts
- You MUST ASK the Nexus before: anything that leaves the project

## Handoff Protocol

**You receive work from:** Nexus (task)
**You hand off to:** Nexus (report)

## Escalation Triggers

- If the task cannot be done as it is stated, ask the Nexus one question

## Behavioral Principles

1. **Evidence first.** Say what you saw, and where.
2. **One task at a time.** Finish before you start again.
3. **Say what you do not know.** An honest gap costs less than a guess.

## Profile Variants

| Profile | What changes |
|---|---|
| Casual | A short note |
| Commercial | The full report |
| Critical | The full report with traces |
| Vital | The full report, signed off by the Nexus |
"""
