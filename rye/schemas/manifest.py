"""``rye.toml`` as a schema: the tables of :mod:`rye.project.manifest` and the limits that its parser enforces.

A schema cannot express some of the parser's checks: unsafe git addresses and folders, dates that do not exist, an override of
one id both with and without a kind, a source named like a registry's namespace, and what a capability pattern matches.
"""

from __future__ import annotations

from rye.items.kinds import KINDS
from rye.limits import PERMISSIONS, SOURCES, WORKSPACE
from rye.permissions.policy_table import APPROVALS, LIMITS, MOST_REVIEWERS, PLACE, TIERS
from rye.permissions.source_scale import SOURCE_SCALE
from rye.project.agent_programs import program_names
from rye.project.manifest import MAIN_GROUP, PREFIXES
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
                "pre-release": {**FLAG, "description": "Whether pre-release versions can be chosen."},
            },
        ),
    ]
}
_TIER: Schema = {"enum": list(TIERS)}


def manifest_schema() -> Schema:
    """Return the schema of ``rye.toml``."""
    dependencies = mapping("Items that the project uses: `[kind:]namespace/category/name`.", _DEPENDENCY, ITEM_NAME)
    return table(
        "A project's settings, dependencies and policy. See docs/reference/projects.md.",
        {
            "project": table(
                "The project itself.",
                {
                    "name": text("The project's display name.", NOT_BLANK),
                    "namespace": text("The namespace that the project's own items are published under.", SEGMENT),
                    "registry": text("The registry for every namespace that [registries] does not list.", NOT_BLANK),
                },
            ),
            "dependencies": dependencies,
            "groups": {
                "type": "object",
                "description": "Optional groups of dependencies, such as [groups.dev].",
                "propertyNames": {"pattern": SEGMENT, "not": {"const": MAIN_GROUP}},
                "additionalProperties": dependencies,
            },
            "workspace": table(
                "The workspace that this project is the root of.",
                {"members": texts("Folders of the members; `*` and `?` are wildcards.", maxItems=WORKSPACE.patterns)},
            ),
            "overrides": mapping("Versions forced for the whole dependency graph.", text("", NOT_BLANK), ITEM_NAME),
            "registries": mapping("Registry addresses by namespace.", {"type": "string"}, SEGMENT),
            "sources": _sources(),
            "environment": table(
                "What is available to items in this project.",
                {
                    "provides": texts("Features that `<requires>` can name."),
                    "tools": texts("Agent tools to accept in addition to the ones that Rye knows."),
                },
            ),
            "policy": _policy(),
            "deploy": _deploy(),
            "audit": table("Findings that `rye audit` ignores.", {"ignore": _ignored()}),
            "sandbox": _sandbox(),
        },
    )


def _sources() -> Schema:
    path = text("A folder.", NOT_BLANK)
    git = table(
        "A git repository.",
        {
            "git": text(
                "The repository's address: https, ssh, or file on this machine.",
                NOT_BLANK,
                maxLength=SOURCES.url_characters,
            ),
            "rev": text("A tag, branch or full commit hash; by default the repository's default branch.", NOT_BLANK),
            "path": path,
        },
        required=("git",),
    )
    folder = table(
        "A folder on this machine.",
        {
            "path": path,
            "editable": {
                "type": "boolean",
                "description": "Read items from the folder each time instead of copying them.",
            },
        },
        required=("path",),
    )
    made = mapping(
        "Git repositories and folders that items come from, in addition to registries.",
        {"oneOf": [git, folder]},
        SEGMENT,
    )
    return {**made, "maxProperties": SOURCES.sources}


def _policy() -> Schema:
    whole_number: Schema = {"type": "integer", "minimum": 0, "exclusiveMaximum": 10**15}
    money: Schema = {"type": "number", "minimum": 0, "exclusiveMaximum": 10**15}
    pattern = {"pattern": r"^rye\.", "maxLength": PERMISSIONS.path_characters}
    return table(
        "What may be installed and run in this project.",
        {
            "allow": texts("Patterns of allowed capabilities. By default everything that is not forbidden is allowed."),
            "forbid": texts("Patterns of forbidden capabilities."),
            "max-tier": _TIER,
            "required-signers": texts("Fingerprints (`SHA256:…`) of the only keys whose releases may be installed."),
            "minimum-release-age": text(
                "How old a release must be: `36h`, `3d` or `2w`.", whole(r"[0-9]{1,5}\s*[hdw]")
            ),
            "allow-override-widening": FLAG,
            "risk": mapping(
                "Your own tiers by capability pattern. In a project, they only raise the built-in ones.", _TIER
            ),
            "facts": {
                "type": "object",
                "description": "Facts that are forbidden in every item.",
                "propertyNames": {"enum": sorted(FACTS)},
                "additionalProperties": {"const": "forbid"},
            },
            "limits": table(
                "Upper limits for every run.",
                {name: money if name == "spend" else whole_number for name in LIMITS},
            ),
            "approval": {
                "type": "object",
                "description": "Which calls need a person's approval, by capability pattern.",
                "propertyNames": pattern,
                "additionalProperties": {"enum": list(APPROVALS)},
            },
            "sources": {"enum": list(SOURCE_SCALE)},
            "namespaces": texts(
                "Where items may come from: `NAMESPACE`, `NAMESPACE@ORIGIN` or `*@ORIGIN`.",
                {"type": "string", "pattern": whole(PLACE)},
            ),
            "forbid-targets": texts("Agent programs that nothing is deployed to."),
            "required-reviewers": {
                "type": "integer",
                "minimum": 0,
                "maximum": MOST_REVIEWERS,
                "description": "How many keys of its namespace must have signed a release.",
            },
        },
    )


def _deploy() -> Schema:
    names = program_names()
    patterns = texts("Patterns of `kind:id`.")
    return table(
        "What `rye deploy` writes for which agent programs. See docs/how-to/agents.md.",
        {
            "targets": texts("Agent programs to deploy to.", {"enum": list(names)}),
            "after-install": FLAG,
            "include": patterns,
            "prefix": {"enum": list(PREFIXES)},
            **{name: table(f"Settings for {name} only.", {"exclude": patterns}) for name in names},
        },
    )


def _ignored() -> Schema:
    row = table(
        "One ignored finding, with an end date and a reason.",
        {
            "id": text(
                "An advisory number or `RULE:KIND:ID`.",
                whole(rf"[A-Z0-9-]{{1,64}}|[^:]*:(?:{'|'.join(KINDS)}):{ID_PATTERN}"),
            ),
            "until": text(
                "The last day on which the finding is ignored.", whole(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), format="date"
            ),
            "reason": text("Why the finding is ignored.", NOT_BLANK),
        },
        required=("id", "until", "reason"),
    )
    return {"type": "array", "items": row}


def _sandbox() -> Schema:
    needs = table(
        "Access granted to a tool outside its sandbox. See docs/how-to/tools.md.",
        {
            "write": texts("Writable paths in the project.", maxItems=64),
            "network": texts("Network destinations as `host:port`.", maxItems=64),
            "env": texts("Names of environment variables.", maxItems=64),
        },
    )
    return mapping("Sandbox grants by tool.", needs, whole(f"tool:{ID_PATTERN}"))
