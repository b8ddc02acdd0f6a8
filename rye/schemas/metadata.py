"""The metadata of each kind that has some in YAML or TOML: frontmatter, a tool's YAML, a formula and a bundle.

What is an error for the kind's reader is refused here, as far as a schema can say it; what is a warning is let through. A
directive's metadata is XML (docs/how-to/directives.md has its table), a role's are sections of Markdown: they have no schema.

Not said here: that a name is the file's, that keys with a spelling error are errors, that steps need known steps, that a path
or a host of ``needs`` may be granted, and that a number of a version fits into 63 bits.
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
"""Of a skill's name, which may be of any script."""

VERSION: Schema = {
    "description": "X.Y.Z; `1` and `1.0` read as 1.0.0. In quotes.",
    "anyOf": [
        {"type": "null"},
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": rf"^\s*(?:{_EXACT}|{_NUMBER}(?:\.{_NUMBER})?)\s*$"},
    ],
}
DEPENDENCIES: Schema = {
    "description": "Items that this one needs: `[kind:]namespace/category/name[@range]`.",
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
    """A mapping, or nothing."""
    return {"anyOf": [{"type": "null"}, schema]}


def skill_schema() -> Schema:
    """The frontmatter of a ``SKILL.md``."""
    scalar: Schema = {"type": ["string", "number", "boolean", "null"]}
    made = table(
        "A skill: instructions for one task.",
        {
            "name": text(
                "The folder's name: lower-case letters, digits and single hyphens.",
                rf"^\s*(?=\S{{1,64}}\s*$){_LETTER}(?:-?{_LETTER})*\s*$",
            ),
            "description": text("What it does, and when to use it.", NOT_BLANK, maxLength=1024),
            "license": text("Its licence."),
            "compatibility": text("What it needs.", minLength=1, maxLength=500),
            "allowed-tools": {
                "description": "Tools of the agent, in one line.",
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            },
            "metadata": {
                "description": "Texts of your own; `version` and `dependencies` mean something to Rye.",
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
            **{key: {"description": "What the skill runs; a person is asked."} for key in FRONTMATTER_KEYS},
        },
        required=("name", "description"),
        closed=False,
    )
    made["additionalProperties"] = {"anyOf": [scalar, {"type": ["object", "array"]}]}
    return made


def agent_schema() -> Schema:
    """The frontmatter of an agent."""
    whole_number: Schema = {"type": "number", "multipleOf": 1, "minimum": 1, "maximum": 2**53 - 1}
    names = texts("", _TEXT_OF_AGENT)
    return table(
        "One agent of a state machine.",
        {
            "name": text("The file's name.", whole("(?!(?:[cC][oO][mM][pP][lL][eE][tT][eE])$)[A-Za-z][A-Za-z0-9_-]*")),
            "displayName": {**_TEXT_OF_AGENT, "description": "Its name for people."},
            "whenToUse": {
                "description": "When this agent is the one to choose.",
                "anyOf": [
                    _TEXT_OF_AGENT,
                    {"type": "array", "items": {"type": "string"}, "contains": _TEXT_OF_AGENT},
                ],
            },
            "tools": _section(
                table(
                    "Tools of the agent program.",
                    {
                        "allowed": names,
                        "blocked": names,
                        "bashFilter": _section(
                            table(
                                "Which commands it may run.",
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
            "limits": _section(table("The most that it may use.", dict.fromkeys(LIMITS, whole_number), closed=False)),
            "provider": _section(
                table(
                    "Whose model it is for.",
                    {"name": {"enum": list(PROVIDERS)}, "model": _TEXT_OF_AGENT},
                    required=("name",),
                    closed=False,
                )
            ),
            "metadata": _section(
                table(
                    "About the agent.",
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
        },
        required=("name", "whenToUse", "transitions"),
        closed=False,
    )


def knowledge_schema() -> Schema:
    """The frontmatter, or the leading YAML fence, of an entry of knowledge."""
    keys = ("title", "entry_type", "category", "author", "created_at", "description")
    lists = {"anyOf": [{"type": "null"}, texts("", _TEXT_OF_AGENT)]}
    return table(
        "What agents should know about a subject.",
        {
            "name": {**_TEXT_OF_AGENT, "description": "The file's name."},
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
    """A tool that is YAML."""
    described: Schema = {"type": "string", "pattern": NOT_BLANK}
    needs = table(
        "What it must be able to do beyond its sandbox. See docs/how-to/tools.md.",
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
    """A ``.formula.toml``."""
    names = texts("")
    step = table(
        "One step.",
        {
            "id": text("Its name among the steps.", NOT_BLANK),
            "title": text("What it is called."),
            "description": text("What is to be done."),
            "needs": texts("Ids of steps that come before."),
            "parallel": FLAG,
            "interactive": FLAG,
            "acceptance": text("What holds when it is done."),
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
                    "description": text("What it is."),
                    "required": FLAG,
                    "default": {"type": ["string", "boolean", "number"]},
                },
                closed=False,
            ),
        ]
    }
    expand = table(
        "A step that another formula takes the place of.",
        {"target": text("", minLength=1), "with": segment, "vars": mapping("", {"type": "string"})},
        required=("target", "with"),
        closed=False,
    )
    made = table(
        "Steps of work and what each one needs.",
        {
            "formula": text("The file's name.", SEGMENT),
            "description": text("What it achieves."),
            "type": {"enum": list(TYPES)},
            "version": {"anyOf": VERSION["anyOf"][1:], "description": VERSION["description"]},
            "steps": steps,
            "template": steps,
            "legs": steps,
            "aspects": steps,
            "synthesis": table(
                "What the legs come to.",
                {"title": text(""), "description": text(""), "depends_on": names},
                closed=False,
            ),
            "vars": mapping("Variables, by name.", variable),
            "extends": {"anyOf": [segment, {"type": "array", "items": segment}]},
            "compose": table(
                "Formulas that are put together.",
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
    """A ``.bundle.toml``."""
    identifier = rf"(?:{'|'.join(KINDS)}):{QUALIFIED_PATTERN}@=?{_EXACT}"
    row = table(
        "One item at one version.",
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
        "Items that are published and installed as one.",
        {
            "bundle": table(
                "The bundle itself.",
                {
                    "name": text("The file's name.", SEGMENT),
                    "version": {"anyOf": VERSION["anyOf"][1:], "description": VERSION["description"]},
                    "description": text("What it is for."),
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
