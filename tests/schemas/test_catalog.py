"""The stored schemas match the types, are valid JSON Schema, and accept real documents."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from rye.project.manifest import BYTE_ORDER_MARK
from rye.schemas.catalog import CATALOG, as_text, schema
from rye.schemas.documents import DOCUMENTS
from tests.customization.override_text import BASE, directive, overrides
from tests.scenes.item_texts import skill
from tests.scenes.person import Person
from tests.scenes.registry import Registry

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "docs" / "schemas"


@pytest.mark.parametrize("name", list(CATALOG))
def test_the_stored_schema_is_current_and_a_schema(name: str) -> None:
    made = schema(name)
    assert (STORED / f"{name}.json").read_text("utf-8") == as_text(made), "run `make schemas`"
    jsonschema.Draft7Validator.check_schema(made)
    words = json.dumps(made)
    for newer in ("prefixItems", "unevaluated", "dependentRequired", "$anchor", "minContains"):
        assert newer not in words, "editors of TOML know draft 7"


def test_no_schema_is_left_over() -> None:
    assert {path.stem for path in STORED.glob("*.json")} == set(CATALOG)


def test_the_command_prints_one_lists_all_and_knows_spelling_errors(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    assert rye.ok("schema", "rye-toml").stdout == (STORED / "rye-toml.json").read_text("utf-8")
    assert [row["name"] for row in rye.ok("schema", "--json").json["schemas"]] == list(CATALOG)
    failed = rye.run("schema", "rye-tmol", "--json")
    assert (failed.code, failed.error["code"], failed.error["hint"]) == (
        2,
        "unknown-name",
        "Did you mean 'rye-toml'?",
    )


def closed(made: Any) -> Any:
    """The schema with unknown fields forbidden: it must cover everything that the program prints."""
    if isinstance(made, list):
        return [closed(part) for part in made]
    if not isinstance(made, dict):
        return made
    parts = {key: closed(part) for key, part in made.items()}
    if "properties" in parts and parts.get("type") == "object":
        parts.setdefault("additionalProperties", False)
    return parts


def check(name: str, document: Any, *, open_: bool = False) -> None:
    """Check that ``document`` is valid and has no field that the schema does not know."""
    made = schema(name)
    errors = list(jsonschema.Draft7Validator(made if open_ else closed(made)).iter_errors(document))
    assert errors == [], [f"{list(error.absolute_path)}: {error.message[:300]}" for error in errors]


def plain(value: Any) -> Any:
    """TOML values converted to JSON values."""
    return json.loads(msgspec.json.encode(value))


def test_the_stored_files_of_this_project_are_valid() -> None:
    check("rye-toml", plain(tomllib.loads((ROOT / "rye.toml").read_text("utf-8"))))
    text = (ROOT / "docs/reference/projects.md").read_text("utf-8")
    manifest = text.split("<!-- manifest -->\n```toml\n")[1].split("```")[0]
    check("rye-toml", plain(tomllib.loads(manifest)))


def test_what_commands_without_a_registry_print_is_as_their_schemas_say(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.write("rye.toml", '[project]\nnamespace = "me"\n')
    check("json-version", rye.ok("--version", "--json").json)
    for words in ((), ("no-such-item",), ("sources",), ("D702",)):
        check("json-explain", rye.ok("explain", *words, "--json").json)
    path = ".ai/directives/work/ship.md"
    rye.ok("new", "directive", "work/ship")
    rye.ok("new", "formula", "flow")
    check("json-validate", rye.run("validate", "--json").json)
    check("json-validate", rye.run("validate", "--fix", "--yes", "--json").json)
    rye.write(".ai/directives/work/bad.md", "# no fence")
    check("json-validate", rye.run("validate", "--json").json)
    rye.path(".ai/directives/work/bad.md").unlink()
    check("json-error", rye.run("show", "no/such", "--json").json, open_=True)
    rye.ok("keys", "generate")
    check("json-verify", rye.run("verify", "--json").json)
    rye.ok("sign", path)
    check("json-verify", rye.run("verify", path, "--json").json)
    for item in (path, "flow"):
        check("json-show", rye.ok("show", item, "--json").json, open_=True)
    check("json-render", rye.ok("render", path, "--input", "subject=x", "--json").json)
    check("json-facts", rye.ok("facts", path, "--json").json)
    check("json-facts", rye.ok("facts", path, "--against", path, "--json").json)
    check("json-permissions-check", rye.run("permissions", "check", path, "execute", "tool", "a/b", "--json").json)
    rye.write("wide.md", rye.path(path).read_text("utf-8").replace("<knowledge>*", "<tool>*</tool><knowledge>*"))
    check("json-permissions-diff", rye.run("permissions", "diff", path, "wide.md", "--json").json)
    rye.write("context.json", "{}")
    check("json-hooks-eval", rye.ok("hooks", "eval", path, "--context", "context.json", "--json").json)
    rye.write(
        "overlay.toml",
        '[[step-overrides]]\nstep_id = "prepare"\nmode = "append"\ndescription = "More."\n',
    )
    check("json-overlay-apply", rye.ok("overlay", "apply", "flow", "overlay.toml", "--json").json)
    check("json-list", rye.ok("list", "--json").json)
    rye.write("sage.md", BASE)
    rye.write("sage.overrides.md", overrides(directive("replace", "## Rules", "New.")))
    check("json-merge", rye.run("merge", "sage.md", "sage.overrides.md", "--json").json)
    merged = rye.run("merge", "sage.md", "sage.overrides.md", "-o", "merged.md", "--json").json
    check("json-merge", merged)


@pytest.mark.processes
def test_what_commands_with_a_registry_print_is_as_their_schemas_say(registry: Registry) -> None:
    owner = registry.owner("shop")
    owner.release("work/top")
    reader = registry.reader()
    reader.ok("init")
    added = reader.ok("add", "shop/work/top", "--yes", "--approve", "directive:shop/work/top@1.0.0", "--json").json
    check("json-install", added)
    lock = reader.path("rye.lock").read_text("utf-8")
    check("rye-lock", plain(tomllib.loads(lock)))
    check("rye-toml", plain(tomllib.loads(reader.path("rye.toml").read_text("utf-8").removeprefix(BYTE_ORDER_MARK))))
    check("json-install", reader.ok("install", "--json").json)
    check("json-lock-check", reader.ok("lock", "--check", "--json").json)
    check("json-lock-check", reader.ok("lock", "--json").json)
    owner.release("work/top", "1.1.0")
    check("json-outdated", reader.ok("outdated", "--json").json)
    check("json-list", reader.ok("list", "--json").json)
    check("json-audit", reader.run("audit", "--json").json)
    check("json-search", reader.ok("search", "top", "--json").json)
    check("json-deploy", reader.ok("deploy", "--target", "claude", "--json").json)
    check("deploy-lock", plain(tomllib.loads(reader.path(".ai/deploy.lock").read_text("utf-8"))))
    check("json-deploy-status", reader.ok("deploy", "status", "--json").json)
    reader.path("rye.lock").write_text(lock.replace("1.0.0", "0.9.0"))
    check("json-lock-check", reader.run("lock", "--check", "--json").json)
    check("json-error", reader.run("ci", "--json").json, open_=True)


def test_what_commands_about_changed_skills_print_is_as_their_schemas_say(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.write("rye.toml", "[project]\n")
    rye.write("shared/pdf/SKILL.md", skill("pdf", body="## Rules\n\nBe quick."))
    rye.write("shared/pdf/notes.md", "Notes.\n")
    rye.write("shared/pdf/old.md", "Old.\n")
    rye.ok("add", "./shared", "pdf", "--yes")
    check("json-fork", rye.ok("fork", "skill:shared/pdf", "forms", "--json").json)
    check("json-override-new", rye.ok("override", "new", "skill:shared/pdf", "## Rules", "--json").json)
    for do in (("notes.md", "--leave-out"), ("old.md", "--replace"), ("more.md", "--add", "--content", "rye.toml")):
        check("json-override-new", rye.ok("override", "new", "skill:shared/pdf", "--file", *do, "--json").json)
    rye.write("shared/pdf/SKILL.md", skill("pdf", body="## Rules\n\nBe exact."))
    check("json-diff-origin", rye.ok("diff", "--origin", "--json").json)
    check("json-update-origin", rye.ok("update", "--origin", "--json").json)


def test_each_document_of_the_design_has_a_schema() -> None:
    design = {"verify", "validate", "show", "render", "permissions-check", "permissions-diff", "hooks-eval", "merge"}
    assert design | {"overlay-apply", "search", "deploy", "facts", "lock-check", "explain"} <= set(DOCUMENTS)
