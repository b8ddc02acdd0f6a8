"""Schemas for kinds whose metadata is YAML or TOML: frontmatter, a tool's YAML, a formula and a bundle.

The schemas reject what the kind's reader reports as an error, as far as a schema can express it, and accept what the reader
only warns about. Directives (XML, see the table in docs/how-to/directives.md) and roles (Markdown sections) have no schema.

These rules are not in the schemas: a name must match the file name, misspelled keys are errors, a step must need steps that
exist, paths and hosts in ``needs`` must be grantable, and version numbers must fit into 63 bits.
"""

from __future__ import annotations

from rye.items.agent.model import TRANSITIONS
from rye.items.agent.reader import LIMITS, PROVIDERS
from rye.items.bundle import MEMBER_KEYS, MOST_MEMBERS
from rye.items.formula.model import TYPES
from rye.items.kinds import KINDS
from rye.items.runs import FRONTMATTER_KEYS
from rye.schemas.forms import (
    FLAG,
    ID_PATTERN,
    NOT_BLANK,
    QUALIFIED_PATTERN,
    SEGMENT,
    Schema,
    mapping,
    table,
    text,
    texts,
    whole,
)

_NUMBER = r"(?:0|[1-9][0-9]*)"
_PRE = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_REST = rf"(?:-{_PRE}(?:\.{_PRE})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
_EXACT = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}{_REST}"
_MOST_DEPENDENCIES = 1000

_REFERENCE = rf"(?:(?:{'|'.join(KINDS)}):)?{ID_PATTERN}(?:@\S+)?"
_LETTER = r"(?:[a-z0-9]|[^\x00-\x7f])"
"""A letter of a skill's name, which can be of any script."""

VERSION: Schema = {
    "description": "A version X.Y.Z in quotes; `1` and `1.0` are read as 1.0.0.",
    "anyOf": [
        {"type": "null"},
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": rf"^\s*(?:{_EXACT}|{_NUMBER}(?:\.{_NUMBER})?)\s*$"},
    ],
}
DEPENDENCIES: Schema = {
    "description": "Items that this item depends on: `[kind:]namespace/category/name[@range]`.",
    "anyOf": [
        {"type": "null"},
        {
            "type": "array",
            "maxItems": _MOST_DEPENDENCIES,
            "items": {
                "type": "string",
                "pattern": rf"^\s*(?:(?:{'|'.join(KINDS)}):)?{ID_PATTERN}\s*(?:@[\s\S]*\S[\s\S]*)?$",
            },
        },
    ],
}
_TEXT_OF_AGENT: Schema = {"type": "string", "pattern": NOT_BLANK}


def _section(schema: Schema) -> Schema:
    """Return a schema that also allows null."""
    return {"anyOf": [{"type": "null"}, schema]}


def skill_schema() -> Schema:
    """Return the schema of a ``SKILL.md`` file's frontmatter."""
    scalar: Schema = {"type": ["string", "number", "boolean", "null"]}
    made = table(
        "A skill: instructions for one task.",
        {
            "name": text(
                "The skill's name, the same as its folder's: lower-case letters, digits and single hyphens.",
                rf"^\s*(?=\S{{1,64}}\s*$){_LETTER}(?:-?{_LETTER})*\s*$",
            ),
            "description": text("What the skill does and when to use it.", NOT_BLANK, maxLength=1024),
            "license": text("The skill's licence."),
            "compatibility": text("What the skill needs to work.", minLength=1, maxLength=500),
            "allowed-tools": {
                "description": "Agent tools that the skill can use, on one line.",
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            },
            "metadata": {
                "description": "Your own key-value pairs. Rye reads `version` and `dependencies`.",
                "anyOf": [
                    {"enum": [None, ""]},
                    table(
                        "",
                        {
                            "version": {**VERSION, "anyOf": [*VERSION["anyOf"], {"type": "number"}]},
                            "dependencies": {
                                "anyOf": [
                                    *DEPENDENCIES["anyOf"],
                                    {"type": "string", "pattern": rf"^\s*(?:{_REFERENCE}(?:\s+{_REFERENCE})*)?\s*$"},
                                ]
                            },
                        },
                        closed=False,
                    ),
                ],
            },
            **{
                key: {"description": "Code that the skill runs, after a person approves it."}
                for key in FRONTMATTER_KEYS
            },
        },
        required=("name", "description"),
        closed=False,
    )
    made["additionalProperties"] = {"anyOf": [scalar, {"type": ["object", "array"]}]}
    return made


def agent_schema() -> Schema:
    """Return the schema of an agent's frontmatter."""
    whole_number: Schema = {"type": "number", "multipleOf": 1, "minimum": 1, "maximum": 2**53 - 1}
    names = texts("", _TEXT_OF_AGENT)
    return table(
        "One agent of a state machine.",
        {
            "name": text(
                "The agent's name, the same as its file's.",
                whole("(?!(?:[cC][oO][mM][pP][lL][eE][tT][eE])$)[A-Za-z][A-Za-z0-9_-]*"),
            ),
            "displayName": {**_TEXT_OF_AGENT, "description": "The agent's display name."},
            "whenToUse": {
                "description": "When to choose this agent.",
                "anyOf": [
                    _TEXT_OF_AGENT,
                    {"type": "array", "items": {"type": "string"}, "contains": _TEXT_OF_AGENT},
                ],
            },
            "tools": _section(
                table(
                    "Which tools of the agent program it can use.",
                    {
                        "allowed": names,
                        "blocked": names,
                        "bashFilter": _section(
                            table(
                                "Which shell commands it can run.",
                                {"allowedCommands": names, "blockedPatterns": names},
                                closed=False,
                            )
                        ),
                    },
                    closed=False,
                )
            ),
            "transitions": table(
                "Which agent comes next.",
                dict.fromkeys(TRANSITIONS, _TEXT_OF_AGENT),
                required=("onSuccess",),
                closed=False,
            ),
            "limits": _section(table("Upper limits for the agent.", dict.fromkeys(LIMITS, whole_number), closed=False)),
            "provider": _section(
                table(
                    "The model provider that the agent is written for.",
                    {"name": {"enum": list(PROVIDERS)}, "model": _TEXT_OF_AGENT},
                    required=("name",),
                    closed=False,
                )
            ),
            "metadata": _section(
                table(
                    "Details about the agent.",
                    {
                        "category": _TEXT_OF_AGENT,
                        "tags": names,
                        "priority": {"type": "number"},
                        "version": VERSION,
                        "dependencies": DEPENDENCIES,
                    },
                    closed=False,
                )
            ),
            "version": VERSION,
            "dependencies": DEPENDENCIES,
            "prompt": {"const": "body", "description": "The whole text is the prompt, with all of its headings."},
        },
        required=("name", "whenToUse", "transitions"),
        closed=False,
    )


def knowledge_schema() -> Schema:
    """Return the schema of a knowledge entry's frontmatter or leading YAML fence."""
    keys = ("title", "entry_type", "category", "author", "created_at", "description")
    lists = {"anyOf": [{"type": "null"}, texts("", _TEXT_OF_AGENT)]}
    return table(
        "Knowledge about one subject for agents.",
        {
            "name": {**_TEXT_OF_AGENT, "description": "The entry's name, the same as its file's."},
            **{key: {"type": "string", "pattern": NOT_BLANK} for key in keys},
            "tags": lists,
            "references": lists,
            "version": VERSION,
            "dependencies": DEPENDENCIES,
        },
        required=("name",),
        closed=False,
    )


def tool_schema() -> Schema:
    """Return the schema of a tool written in YAML."""
    described: Schema = {"type": "string", "pattern": NOT_BLANK}
    needs = table(
        "Access that the tool needs outside its sandbox. See docs/how-to/tools.md.",
        {key: {"type": "array", "items": {"type": "string"}, "maxItems": 64} for key in ("write", "network", "env")},
    )
    return table(
        "A tool.",
        {
            "version": {"anyOf": VERSION["anyOf"][1:], "description": VERSION["description"]},
            "category": described,
            "tool_description": described,
            "description": described,
            "dependencies": DEPENDENCIES,
            "needs": {"anyOf": [needs, {"type": "string"}]},
        },
        closed=False,
    )


def formula_schema() -> Schema:
    """Return the schema of a ``.formula.toml`` file."""
    names = texts("")
    step = table(
        "One step.",
        {
            "id": text("The step's id, unique in the formula.", NOT_BLANK),
            "title": text("The step's title."),
            "description": text("What to do in this step."),
            "needs": texts("Ids of the steps that must be done first."),
            "parallel": FLAG,
            "interactive": FLAG,
            "acceptance": text("How to tell that the step is done."),
        },
        required=("id",),
        closed=False,
    )
    steps: Schema = {"type": "array", "items": step}
    segment: Schema = {"type": "string", "pattern": SEGMENT}
    variable = {
        "anyOf": [
            {"type": "string"},
            table(
                "A variable.",
                {
                    "description": text("What the variable is for."),
                    "required": FLAG,
                    "default": {"type": ["string", "boolean", "number"]},
                },
                closed=False,
            ),
        ]
    }
    expand = table(
        "A step to replace with another formula.",
        {"target": text("", minLength=1), "with": segment, "vars": mapping("", {"type": "string"})},
        required=("target", "with"),
        closed=False,
    )
    made = table(
        "A workflow of steps that depend on each other.",
        {
            "formula": text("The formula's name, the same as its file's.", SEGMENT),
            "description": text("What the formula achieves."),
            "type": {"enum": list(TYPES)},
            "version": {"anyOf": VERSION["anyOf"][1:], "description": VERSION["description"]},
            "steps": steps,
            "template": steps,
            "legs": steps,
            "aspects": steps,
            "synthesis": table(
                "How to combine the results of the legs.",
                {"title": text(""), "description": text(""), "depends_on": names},
                closed=False,
            ),
            "vars": mapping("Variables, by name.", variable),
            "extends": {"anyOf": [segment, {"type": "array", "items": segment}]},
            "compose": table(
                "Formulas to combine with this one.",
                {"expand": {"type": "array", "items": expand}, "aspects": {"type": "array", "items": segment}},
                closed=False,
            ),
            "dependencies": DEPENDENCIES,
        },
        required=("formula",),
        closed=False,
    )
    made["anyOf"] = [
        {"required": [key]} for key in ("type", "steps", "legs", "template", "aspects", "advice", "extends")
    ]
    return made


def bundle_schema() -> Schema:
    """Return the schema of a ``.bundle.toml`` file."""
    identifier = rf"(?:{'|'.join(KINDS)}):{QUALIFIED_PATTERN}@=?{_EXACT}"
    row = table(
        "One item at an exact version.",
        {
            "kind": {"enum": list(KINDS)},
            "id": {"type": "string", "pattern": whole(QUALIFIED_PATTERN)},
            "version": {"type": "string", "pattern": whole(f"=?{_EXACT}")},
        },
        required=MEMBER_KEYS,
    )
    members: Schema = {
        "type": "array",
        "description": "Items at exact versions: `kind:namespace/category/name@X.Y.Z`.",
        "minItems": 1,
        "maxItems": MOST_MEMBERS,
        "items": {"anyOf": [{"type": "string", "pattern": whole(identifier)}, row]},
    }
    made = table(
        "A set of items that are published and installed together.",
        {
            "bundle": table(
                "The bundle's metadata.",
                {
                    "name": text("The bundle's name, the same as its file's.", SEGMENT),
                    "version": {"anyOf": VERSION["anyOf"][1:], "description": VERSION["description"]},
                    "description": text("What the bundle is for."),
                    "members": members,
                },
                required=("name", "version"),
            ),
            "members": members,
        },
        required=("bundle",),
    )
    made["oneOf"] = [
        {"required": ["members"]},
        {"properties": {"bundle": {"required": ["members"]}}},
    ]
    return made
