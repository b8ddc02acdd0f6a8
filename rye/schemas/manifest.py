"""``rye.toml`` as a schema: the tables of :mod:`rye.project.manifest` and the limits that its parser holds.

Not in it, because a schema cannot say it: a git address or a folder that a deeper check refuses, a day that no calendar has, an
override of one id with and without a kind, a source with a registry's name, and what a capability pattern means.
"""

from __future__ import annotations

from rye.items.kinds import KINDS
from rye.limits import PERMISSIONS, SOURCES, WORKSPACE
from rye.permissions.source_scale import SOURCE_SCALE
from rye.project.agent_programs import program_names
from rye.project.manifest import APPROVALS, LIMITS, MAIN_GROUP, PREFIXES, TIERS
from rye.schemas.forms import (
    FLAG,
    ID_PATTERN,
    ITEM_NAME,
    NOT_BLANK,
    SEGMENT,
    Schema,
    mapping,
    table,
    text,
    texts,
    whole,
)
from rye.text.facts.fact import FACTS

_RANGE = text("A version or a range: `^1.2`, `1.0.3`, `*`.")
_DEPENDENCY: Schema = {
    "oneOf": [
        _RANGE,
        table(
            "A range with options.",
            {
                "version": _RANGE,
                "pre-release": {**FLAG, "description": "Whether versions before a release may be chosen."},
            },
        ),
    ]
}
_TIER: Schema = {"enum": list(TIERS)}


def manifest_schema() -> Schema:
    """The schema of a whole ``rye.toml``."""
    dependencies = mapping("Items that the project uses: `[kind:]namespace/category/name`.", _DEPENDENCY, ITEM_NAME)
    return table(
        "What a project is, uses and allows. See docs/reference/projects.md.",
        {
            "project": table(
                "The project itself.",
                {
                    "name": text("Its name, for people.", NOT_BLANK),
                    "namespace": text("What its own items are published under.", SEGMENT),
                    "registry": text("Where everything comes from that [registries] does not map.", NOT_BLANK),
                },
            ),
            "dependencies": dependencies,
            "groups": {
                "type": "object",
                "description": "Groups of dependencies that can be left out, such as [groups.dev].",
                "propertyNames": {"pattern": SEGMENT, "not": {"const": MAIN_GROUP}},
                "additionalProperties": dependencies,
            },
            "workspace": table(
                "The folders that are members of this project.",
                {"members": texts("Folders, with `*` and `?`.", maxItems=WORKSPACE.patterns)},
            ),
            "overrides": mapping("Versions that are forced for the whole graph.", text("", NOT_BLANK), ITEM_NAME),
            "registries": mapping("Addresses of registries, by namespace.", {"type": "string"}, SEGMENT),
            "sources": _sources(),
            "environment": table(
                "What the project has.",
                {
                    "provides": texts("Features that `<requires>` may name."),
                    "tools": texts("Agent tools beyond the known ones."),
                },
            ),
            "policy": _policy(),
            "deploy": _deploy(),
            "audit": table("Findings that `rye audit` leaves out.", {"ignore": _ignored()}),
            "sandbox": _sandbox(),
        },
    )


def _sources() -> Schema:
    path = text("A folder.", NOT_BLANK)
    git = table(
        "A git repository.",
        {
            "git": text("Its address, https or ssh.", NOT_BLANK, maxLength=SOURCES.url_characters),
            "rev": text("A tag, a branch or a commit.", NOT_BLANK),
            "path": path,
        },
        required=("git",),
    )
    folder = table(
        "A folder of this machine.",
        {
            "path": path,
            "editable": {"type": "boolean", "description": "Use its items as they lie there; copy nothing."},
        },
        required=("path",),
    )
    made = mapping("Where items come from beside registries.", {"oneOf": [git, folder]}, SEGMENT)
    return {**made, "maxProperties": SOURCES.sources}


def _policy() -> Schema:
    whole_number: Schema = {"type": "integer", "minimum": 0, "exclusiveMaximum": 10**15}
    money: Schema = {"type": "number", "minimum": 0, "exclusiveMaximum": 10**15}
    pattern = {"pattern": r"^rye\.", "maxLength": PERMISSIONS.path_characters}
    return table(
        "What may be installed and run here.",
        {
            "allow": texts("Patterns of capabilities; without it, everything that is not forbidden."),
            "forbid": texts("Patterns of capabilities."),
            "max-tier": _TIER,
            "required-signers": texts("Fingerprints of keys, `SHA256:…`; others may not sign."),
            "minimum-release-age": text("`36h`, `3d` or `2w`.", whole(r"[0-9]{1,5}\s*[hdw]")),
            "allow-override-widening": FLAG,
            "risk": mapping("Tiers of your own, by pattern.", _TIER),
            "facts": {
                "type": "object",
                "description": "Facts that no item may show.",
                "propertyNames": {"enum": sorted(FACTS)},
                "additionalProperties": {"const": "forbid"},
            },
            "limits": table(
                "The most that a run may use.",
                {name: money if name == "spend" else whole_number for name in LIMITS},
            ),
            "approval": {
                "type": "object",
                "description": "Which calls a person is asked about, by pattern.",
                "propertyNames": pattern,
                "additionalProperties": {"enum": list(APPROVALS)},
            },
            "sources": {"enum": list(SOURCE_SCALE)},
        },
    )


def _deploy() -> Schema:
    names = program_names()
    patterns = texts("Patterns of `kind:id`.")
    return table(
        "Which agent programs get what. See docs/how-to/agents.md.",
        {
            "targets": texts("Agent programs.", {"enum": list(names)}),
            "after-install": FLAG,
            "include": patterns,
            "prefix": {"enum": list(PREFIXES)},
            **{name: table(f"Only for {name}.", {"exclude": patterns}) for name in names},
        },
    )


def _ignored() -> Schema:
    row = table(
        "One finding, for a time and a reason.",
        {
            "id": text(
                "An advisory's number, or `RULE:KIND:ID`.",
                whole(rf"[A-Z0-9-]{{1,64}}|[^:]*:(?:{'|'.join(KINDS)}):{ID_PATTERN}"),
            ),
            "until": text("The last day on which it counts.", whole(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), format="date"),
            "reason": text("Why.", NOT_BLANK),
        },
        required=("id", "until", "reason"),
    )
    return {"type": "array", "items": row}


def _sandbox() -> Schema:
    needs = table(
        "What a tool may do beyond its sandbox. See docs/how-to/tools.md.",
        {
            "write": texts("Paths below the project.", maxItems=64),
            "network": texts("`host:port`.", maxItems=64),
            "env": texts("Names of environment variables.", maxItems=64),
        },
    )
    return mapping("Grants, by tool.", needs, whole(f"tool:{ID_PATTERN}"))
