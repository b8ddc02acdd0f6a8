"""Reader and schema agree: the schema refuses what the reader refuses for its form, and accepts what the reader accepts.

The documents are valid ones with a few random changes, so most of them are borderline. :data:`UNSAID` lists the rules that a
schema cannot express.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Callable
from functools import cache
from typing import Any

import jsonschema
import msgspec
import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from rye.deployment.state import parse_state
from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.items.reading import ReadOptions, Source
from rye.project.item_file import place
from rye.project.lock import parse_lock
from rye.project.manifest import parse_manifest
from rye.schemas.catalog import CATALOG, schema
from rye.text.frontmatter import FrontmatterError, split
from rye.text.yaml_reading import YamlError, read_yaml
from tests.scenes.effort import rest_thorough, tries
from tests.scenes.shared_data import shared

MANIFEST: dict[str, Any] = {
    "project": {"name": "shop", "namespace": "acme", "registry": "https://r.example"},
    "dependencies": {"acme/work/top": "^1.2", "tool:acme/shell/docker": {"version": "1.0.3", "pre-release": True}},
    "groups": {"dev": {"acme/checks/review": "*"}},
    "workspace": {"members": ["services/*"]},
    "overrides": {"acme/shell/docker": "1.2.3"},
    "registries": {"partner": "https://p.example"},
    "sources": {
        "team": {"git": "https://git.example.org/team/prompts.git", "rev": "v1.4.0", "path": "items"},
        "shared": {"path": "../shared-items"},
    },
    "environment": {"provides": ["docker"], "tools": ["TodoWrite"]},
    "policy": {
        "max-tier": "write",
        "allow": ["rye.search.*"],
        "required-signers": ["SHA256:x"],
        "minimum-release-age": "3d",
        "allow-override-widening": False,
        "sources": "git",
        "risk": {"rye.execute.tool.acme.*": "elevated"},
        "facts": {"pipe-to-shell": "forbid"},
        "limits": {"calls": 200, "spend": 2.5},
        "approval": {"rye.execute.tool.acme.*": "ask"},
    },
    "deploy": {
        "targets": ["claude"],
        "after-install": True,
        "include": ["skill:*"],
        "prefix": "never",
        "codex": {"exclude": []},
    },
    "audit": {"ignore": [{"id": "RYE-2026-0001", "until": "2026-12-31", "reason": "Never called"}]},
    "sandbox": {"tool:acme/net/fetch": {"network": ["api.example.com:443"]}},
}
HASH = "0" * 64
LOCK: dict[str, Any] = {
    "version": 1,
    "wanted": {"acme/work/top": "^1.2"},
    "item": [
        {
            "kind": "directive", "id": "acme/work/top", "version": "1.2.0", "size": 10, "sha256": HASH, "suffix": ".md",
            "registry": "r.example", "log": 3, "keyset": 1, "signer": "SHA256:x", "groups": ["main", "dev"],
            "dependencies": ["tool:acme/shell/docker"], "capabilities": ["rye.search.*"], "approved": ["rye.search.*"],
            "hooks": [{"when": "true", "item_type": "tool", "item_id": "a/b", "inputs": [["x", "y"]]}],
            "runs": [{"what": "tool-code", "where": "x.py", "action": "python", "sha256": HASH}], "facts-rules": 2,
        },
        {
            "kind": "skill", "id": "team/pdf", "version": "0.0.0+g3f2a1b2c", "size": 10, "sha256": HASH, "suffix": "SKILL.md",
            "source": {
                "git": "https://git.example.org/t.git", "ref": "HEAD", "commit": "a" * 40, "tree": "b" * 40,
                "place": "pdf/SKILL.md",
            },
            "attached": [{"path": "scripts/run.py", "size": 3, "sha256": HASH, "executable": True}],
        },
    ],
}  # fmt: skip
STATE: dict[str, Any] = {
    "version": 1,
    "made": [".claude/"],
    "file": [
        {
            "path": ".claude/skills/pdf/SKILL.md", "item": "skill:acme/pdf", "target": "claude", "sha256": HASH, "mode": "0644",
            "version": "1.0.0", "item-sha256": HASH, "customizations-sha256": "", "adapter": "claude/1",
        }
    ],
    "allowed": [{"item": "skill:acme/pdf", "target": "claude", "field": "allowed-tools", "sha256": HASH}],
}  # fmt: skip
SKILL = {
    "name": "pdf-forms", "description": "Fill in forms", "license": "MIT", "compatibility": "python",
    "allowed-tools": "Read Bash(git:*)",
    "metadata": {"version": "1.0.0", "author": "me", "dependencies": ["tool:acme/a/b@^1"]},
}  # fmt: skip
AGENT = {
    "name": "sage", "displayName": "Sage", "whenToUse": ["Always"], "version": "1.0.0", "dependencies": ["tool:acme/a/b@^1"],
    "tools": {"allowed": ["Read"], "blocked": ["Bash"], "bashFilter": {"allowedCommands": ["ls"]}},
    "transitions": {"onSuccess": "complete"}, "limits": {"maxIterations": 10}, "provider": {"name": "claude", "model": "x"},
    "metadata": {"category": "x", "tags": ["a"], "priority": 1},
}  # fmt: skip
KNOWLEDGE = {
    "name": "style", "title": "Style", "entry_type": "reference", "category": "notes", "version": "0.1.0", "tags": ["a"],
    "references": ["other"], "dependencies": ["acme/a/b"],
}  # fmt: skip
TOOL = {
    "version": "1.0.0",
    "category": "x",
    "tool_description": "Does",
    "dependencies": ["acme/a/b"],
    "needs": {"env": ["HOME_X"]},
}
FORMULA = {
    "formula": "flow", "description": "x", "type": "workflow", "version": 1, "dependencies": ["acme/a/b@1.x"],
    "steps": [{"id": "one", "title": "One"}, {"id": "two", "needs": ["one"], "parallel": True, "description": "x"}],
    "vars": {"issue": {"description": "x", "required": True}, "other": "y"},
}  # fmt: skip
BUNDLE = {
    "bundle": {
        "name": "all",
        "version": "1.0.0",
        "description": "x",
        "members": ["tool:acme/a/b@1.2.3", {"kind": "tool", "id": "acme/a/c", "version": "1.0.0"}],
    }
}


def refuses(read: Callable[[str], object], text: str) -> str | None:
    try:
        read(text)
    except RyeError as error:
        return error.message
    return None


def toml(document: Any) -> str:
    return tomlkit.dumps(document)


def as_texts(value: Any) -> Any:
    """Scalars as a skill's reader returns them: as written."""
    if isinstance(value, dict):
        return {key: as_texts(part) for key, part in value.items()}
    if isinstance(value, list):
        return [as_texts(part) for part in value]
    return value if isinstance(value, str) else json.dumps(value)


def by_kind(kind: str, codes: str, wrap: Callable[[Any], str]) -> Callable[[Any], str | None]:
    """The first error from the kind's reader that has one of these codes."""

    def read(document: Any) -> str | None:
        name = (document.get("name") or document.get("formula") or "x") if isinstance(document, dict) else "x"
        name = name if isinstance(name, str) else "x"
        reading = (
            KINDS[kind]
            .load()
            .read(Source(wrap(document), f"x{KINDS[kind].endings[-1]}", None, None, ()), ReadOptions())
        )
        errors = [one for one in reading.diagnostics if one.severity == "error" and re.fullmatch(codes, one.code)]
        return f"{errors[0].code} {errors[0].message}" if errors else None

    return read


def frontmatter(document: Any) -> str:
    """JSON is YAML, but skills accept block style only."""
    import io

    out = io.StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.dump(document, out)
    return f"---\n{out.getvalue()}---\n\n# X\n\n## System Prompt\n\nDo it.\n"


def of_toml(read: Callable[[str], object]) -> Callable[[Any], str | None]:
    return lambda document: refuses(read, toml(document))


CASES: dict[str, tuple[Any, Callable[[Any], str | None]]] = {
    "rye-toml": (MANIFEST, of_toml(parse_manifest)),
    "rye-lock": (LOCK, of_toml(parse_lock)),
    "deploy-lock": (STATE, of_toml(lambda text: parse_state(text.encode()))),
    "skill": (SKILL, by_kind("skill", "S0[1-46]", frontmatter)),
    "agent": (AGENT, by_kind("agent", "A0[1-7]|A10", frontmatter)),
    "knowledge": (KNOWLEDGE, by_kind("knowledge", "K0[12]", frontmatter)),
    "tool": (TOOL, by_kind("tool", "T0[125]", lambda document: json.dumps(document))),
    "formula": (FORMULA, by_kind("formula", "F0[1-58]", toml)),
    "bundle": (BUNDLE, by_kind("bundle", "B0[1-3]", toml)),
}
UNSAID = re.compile(
    r"A YAML flow collection|both with a kind and without one|is already the namespace of a registry|is not a date|source"
    r"|\[sandbox|members '|means nothing: rye\.|has duplicate items|is a duplicate|come from more than one place|is none of"
    r"|agent tool|is the bundle itself|is not a key\.|is already used|unknown step|wait for each other|unknown leg"
    r"|needs cannot be read|is both|of type \w+ needs|members is defined twice|limit of tools|has a number of 2"
    r"|is not a reference: '[^']*@"
)
"""Readers' messages for rules that a schema cannot express (listed in the docstrings of ``rye/schemas``)."""

VALUES = st.sampled_from(
    ["", " ", "x", "X Y", "1.0", "1.2.3", "acme", "a/b/c", "tool:acme/x", "-", "3d", "complete", HASH, "A" * 64,
    "write", "ask", 0, 1, -1, 7, True, False, 1.5, [], [""], ["x"], [1], {}, {"x": 1}, {"x": "y"}]
)  # fmt: skip
KEYS = st.sampled_from(
    [
        "x",
        "",
        "name",
        "version",
        "id",
        "kind",
        "Bad Key",
        "acme/x/y",
        "a/b",
        "tool:acme/x/y",
        "main",
        "path",
        "git",
        "rye.x",
    ]
)


@cache
def validator(name: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(schema(name))


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(document, dict):
        for key, value in document.items():
            found += places(value, (*path, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            found += places(value, (*path, index))
    return found


def changed(draw: st.DrawFn, document: Any) -> Any:
    """The document with one part replaced, removed or added."""
    document = copy.deepcopy(document)
    path = draw(st.sampled_from(places(document)))
    at = document
    for part in path[:-1]:
        at = at[part]
    action = draw(st.sampled_from(["replace", "remove", "add"]))
    target = at[path[-1]] if path else document
    if action == "add" and isinstance(target, dict):
        target[draw(KEYS)] = draw(VALUES)
    elif action == "add" and isinstance(target, list):
        target.append(draw(VALUES))
    elif path and action == "remove":
        del at[path[-1]]
    elif path:
        at[path[-1]] = draw(VALUES)
    return document


@st.composite
def documents(draw: st.DrawFn, name: str) -> Any:
    document = CASES[name][0]
    for _ in range(draw(st.integers(0, 2))):
        document = changed(draw, document)
    return document


@pytest.mark.parametrize("name", list(CASES))
def test_the_whole_document_is_taken_by_both(name: str) -> None:
    document, read = CASES[name]
    assert read(document) is None
    assert [error.message for error in validator(name).iter_errors(document)] == []


@pytest.mark.parametrize("name", rest_thorough(2, list(CASES)))
@settings(max_examples=tries(60, 3000), deadline=None)
@given(data=st.data())
def test_reader_and_schema_refuse_the_same(name: str, data: st.DataObject) -> None:
    document = data.draw(documents(name))
    reason = CASES[name][1](document)
    seen = json.loads(msgspec.json.encode(document))
    if name == "skill":
        seen = as_texts(seen)
    errors = [f"{list(error.absolute_path)}: {error.message[:200]}" for error in validator(name).iter_errors(seen)]
    if reason is None:
        assert errors == []
    elif not UNSAID.search(reason):
        assert errors, reason


def test_each_kind_with_metadata_in_yaml_or_toml_has_a_schema() -> None:
    assert set(KINDS) - set(CATALOG) == {"directive", "role"}


@pytest.mark.slow
@pytest.mark.corpus
def test_real_items_are_taken_by_the_schema_where_the_reader_takes_them() -> None:
    """The skills, agents and knowledge entries of the corpus, each parsed by its kind's reader."""
    folder = shared("corpus")
    seen = {"skill": 0, "agent": 0, "knowledge": 0, "formula": 0}
    for path in sorted(folder.rglob("*")):
        location = place(path, path.read_text("utf-8", "replace"), None) if path.suffix in (".md", ".toml") else None
        if location is None or location.kind not in seen:
            continue
        text = path.read_text("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")
        reading = KINDS[location.kind].load().read(Source(text, str(path), None, None, ()), ReadOptions())
        found = metadata_of(location.kind, text)
        if found is None or reading.value is None or not reading.ok:
            continue
        errors = [error.message[:200] for error in validator(location.kind).iter_errors(found)]
        assert errors == [], path
        seen[location.kind] += 1
    assert seen["skill"] + seen["agent"] + seen["knowledge"] > 20, seen


def metadata_of(kind: str, text: str) -> Any:
    """The metadata from the kind's reader."""
    if kind == "formula":
        return json.loads(msgspec.json.encode(tomllib.loads(text)))
    try:
        yaml = split(text).yaml
    except FrontmatterError:
        fence = re.match(r"[\s\S]*?```ya?ml\n([\s\S]*?)```", text)
        yaml = fence[1] if fence is not None else ""
    try:
        value = read_yaml(yaml, schema="strings" if kind == "skill" else "core").value
    except YamlError:
        return None
    return json.loads(json.dumps(value, default=str)) if isinstance(value, dict) else None
