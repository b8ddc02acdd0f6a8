"""``rye doctor [--fix]`` (DECISIONS Role directives and formula overlays 9)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_overlay import FORMULA, entry, user_overlay
from tests.cli.test_override import AGENT, override
from tests.scenes.person import Person, Result


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", "[project]\n")
    made.write(".ai/formulas/flow.formula.toml", FORMULA)
    return made


def check(result: Result, name: str) -> dict[str, Any]:
    (found,) = [one for one in result.json["checks"] if one["name"] == name]
    assert isinstance(found, dict)
    return found


def overlay(person: Person, text: str | bytes, name: str = "flow") -> Path:
    return person.write(f".ai/formula-overlays/{name}.toml", text)


def test_no_overlays(person: Person) -> None:
    result = person.run("doctor", "--json")
    assert result.code == 0
    found = check(result, "overlay-health")
    assert (found["status"], found["message"]) == ("ok", "no overlay files found")
    assert "✓ overlay-health: no overlay files found\n" in person.ok("doctor", "-v").stdout
    together = "✓ nothing to check: overlay-health, override-health, role-directives\n"
    assert together in person.ok("doctor").stdout
    assert together not in person.ok("doctor", "-v").stdout


def test_healthy_overlays_are_counted(person: Person) -> None:
    overlay(person, entry("a", "skip"))
    user_overlay(person, entry("b", "skip"))
    assert "✓ overlay-health: 2 overlay(s) healthy\n" in person.ok("doctor").stdout


def test_stale_steps_are_a_fixable_warning(person: Person) -> None:
    overlay(person, entry("gone", "skip") + entry("a", "skip"))
    result = person.run("doctor", "--json")
    assert result.code == 1  # it is part of the repository
    found = check(result, "overlay-health")
    assert (found["status"], found["fixable"]) == ("warning", True)
    assert found["message"] == (
        'stale step IDs in .ai/formula-overlays/flow.toml:\n- step_id "gone" not found in formula flow'
    )
    assert "⚠ overlay-health: stale step IDs in .ai/formula-overlays/flow.toml:\n" in person.run("doctor").stdout


@pytest.mark.parametrize("text", ["][", entry("a", "Skip"), entry("a", "replace"), b"\xff", "step-overrides = 1\n"])
def test_a_malformed_overlay_is_an_error_and_never_touched(person: Person, text: str | bytes) -> None:
    path = overlay(person, text)
    before = path.read_bytes()
    result = person.run("doctor", "--fix", "--json")
    assert result.code == 1
    found = check(result, "overlay-health")
    assert (found["status"], found["fixable"]) == ("error", False)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["flow.toml"]


def test_an_overlay_of_an_unknown_formula_is_reported_and_never_deleted(person: Person) -> None:
    path = overlay(person, entry("gone", "skip"), "flwo")
    result = person.run("doctor", "--fix", "--json")
    assert result.code == 1
    found = check(result, "overlay-health")
    assert found["status"] == "warning"
    assert "unknown formula flwo" in found["message"]
    assert "did you mean flow?" in found["message"]
    assert path.exists()
    assert result.json["fixed"] == []


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_the_fix_takes_out_stale_entries_and_no_other_byte(person: Person, newline: str, bom: bytes) -> None:
    kept = (
        "# About this file.\n\n",
        "# Kept comment.\n" + entry("a", "append", "Keep [[step-overrides]] # this") + "\n\n",
    )
    stale = entry("gone", "replace", "x")
    text = (kept[0] + stale + kept[1]).replace("\n", newline).encode()
    path = overlay(person, bom + text)
    path.chmod(0o640)
    result = person.ok("doctor", "--fix", "--json")
    assert path.read_bytes() == bom + "".join(kept).replace("\n", newline).encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.with_name("flow.toml.bak").read_bytes() == bom + text
    assert result.json["fixed"] == [
        {
            "path": ".ai/formula-overlays/flow.toml",
            "removed": ["gone"],
            "deleted": False,
            "backup": ".ai/formula-overlays/flow.toml.bak",
        }
    ]
    assert check(result, "overlay-health")["message"] == "1 overlay(s) healthy"


def test_fix_after_fix_does_nothing(person: Person) -> None:
    path = overlay(person, entry("gone", "skip") + entry("a", "skip"))
    person.ok("doctor", "--fix")
    before = {name: path.with_name(name).read_bytes() for name in os.listdir(path.parent)}
    assert person.ok("doctor", "--fix", "--json").json["fixed"] == []
    assert {name: path.with_name(name).read_bytes() for name in os.listdir(path.parent)} == before


def test_a_file_goes_when_all_of_it_is_stale_and_its_backup_stays(person: Person) -> None:
    path = overlay(person, entry("gone", "skip") + entry("lost", "skip"))
    path.with_name("flow.toml.bak").write_text("an older backup")
    result = person.ok("doctor", "--fix", "--json")
    assert not path.exists()
    (fixed,) = result.json["fixed"]
    assert fixed["deleted"]
    assert path.with_name("flow.toml.bak").read_text() == "an older backup"
    assert path.with_name("flow.toml.bak.1").read_text() == entry("gone", "skip") + entry("lost", "skip")
    assert check(result, "overlay-health")["message"] == "no overlay files found"


def test_without_fix_nothing_is_written(person: Person) -> None:
    path = overlay(person, entry("gone", "skip"))
    assert person.run("doctor").code == 1
    assert os.listdir(path.parent) == ["flow.toml"]


def test_entries_that_cannot_be_taken_out_are_left_with_an_error(person: Person) -> None:
    text = 'step-overrides = [{step_id = "gone", mode = "skip"}, {step_id = "a", mode = "skip"}]\n'
    path = overlay(person, text)
    result = person.run("doctor", "--fix", "--json")
    assert result.code == 1
    assert result.json["problems"][0]["code"] == "overlay-fix-by-hand"
    assert path.read_text() == text
    assert os.listdir(path.parent) == ["flow.toml"]


def test_a_user_s_overlay_is_not_fixed_for_the_sake_of_one_project(person: Person) -> None:
    path = user_overlay(person, entry("gone", "skip"))
    result = person.ok("doctor", "--fix", "--json")
    found = check(result, "overlay-health")
    assert (found["status"], found["fixable"]) == ("warning", False)
    assert "other projects" in found["message"]
    assert path.exists()
    formulas = person.home / "ai" / "formulas"
    formulas.mkdir()
    person.path(".ai/formulas/flow.formula.toml").rename(formulas / "flow.formula.toml")
    person.ok("doctor", "--fix")
    assert not path.exists()


def test_steps_that_expansion_brings_are_not_stale(person: Person) -> None:
    person.write(
        ".ai/formulas/child.formula.toml",
        'formula = "child"\nextends = ["flow"]\n[[compose.expand]]\ntarget = "b"\nwith = "twice"\n',
    )
    person.write(
        ".ai/formulas/twice.formula.toml",
        'formula = "twice"\ntype = "expansion"\n[[template]]\nid = "{target}-one"\ntitle = "1"\n',
    )
    path = overlay(person, entry("b-one", "append", "x") + entry("b", "skip"), "child")
    person.ok("doctor", "--fix")
    assert path.read_text() == entry("b-one", "append", "x")


def test_a_formula_that_does_not_resolve_proves_nothing(person: Person) -> None:
    person.write(".ai/formulas/child.formula.toml", 'formula = "child"\nextends = ["missing"]\n')
    path = overlay(person, entry("gone", "skip"), "child")
    result = person.run("doctor", "--fix", "--json")
    assert path.exists()
    assert check(result, "overlay-health")["status"] == "warning"
    formulas = check(result, "formulas")
    assert formulas["status"] == "warning"
    assert "missing" in formulas["message"]


@pytest.mark.parametrize(
    "text", [entry("a", "skip") + entry("b", "skip") + entry("c", "skip"), entry("one", "skip") + "# convoy\n"]
)
def test_an_overlay_that_cannot_be_applied_is_an_error(person: Person, text: str) -> None:
    name = "flow"
    if "convoy" in text:
        name = "legs"
        person.write(".ai/formulas/legs.formula.toml", 'formula = "legs"\ntype = "convoy"\n[[legs]]\nid = "one"\n')
    overlay(person, text, name)
    result = person.run("doctor", "--json")
    assert (result.code, check(result, "overlay-health")["status"]) == (1, "error")


def test_a_formula_that_another_hides_is_unreachable(person: Person) -> None:
    formulas = person.home / "ai" / "formulas"
    formulas.mkdir(parents=True)
    (formulas / "flow.formula.toml").write_text(FORMULA)
    found = check(person.run("doctor", "--json"), "formulas")
    assert found["status"] == "warning"
    assert f"{formulas}/flow.formula.toml: unreachable" in found["message"]


def test_role_directives_of_unknown_roles(person: Person) -> None:
    person.new("role", "clerk")
    person.write(".ai/role-directives/clerk.md", "x")
    assert check(person.run("doctor", "--json"), "role-directives")["message"] == "1 role directive(s)"
    person.write(".ai/role-directives/clrek.md", "x")
    found = check(person.run("doctor", "--json"), "role-directives")
    assert found["status"] == "warning"
    assert "unknown role clrek" in found["message"]
    assert "did you mean clerk?" in found["message"]


def test_override_health(person: Person) -> None:
    person.write(".ai/agents/sage.md", AGENT)
    assert check(person.run("doctor", "--json"), "override-health")["message"] == "no override files found"
    person.write(".ai/overrides/sage.overrides.md", override("other", "append", "### Rules", "x"))
    result = person.run("doctor", "--fix", "--json")
    assert (result.code, check(result, "override-health")["status"]) == (1, "error")
    assert person.path(".ai/overrides/sage.overrides.md").exists()


def test_set_up(person: Person) -> None:
    result = person.run("doctor", "--json")
    for name in ("python", "keys", "trust", "registry", "clock"):
        assert check(result, name)["status"] == "ok"
    person.ok("keys", "generate", "--no-input")
    (key,) = (person.home / "config" / "keys").glob("*.key")
    key.chmod(0o644)
    (person.home / "config" / "config.toml").write_text('registry = "file:///nowhere/at/all"\n')
    result = person.run("doctor", "--json")
    assert result.code == 1
    assert check(result, "keys")["status"] == "error"
    assert check(result, "registry")["status"] == "error"
    assert check(person.run("doctor", "--offline", "--json"), "registry")["status"] == "warning"


def test_an_unreadable_trust_store_is_an_error(person: Person) -> None:
    person.ok("keys", "generate", "--no-input")
    (store,) = [path for path in (person.home / "config").glob("*.toml") if "trust" in path.name]
    store.write_text("][")
    assert check(person.run("doctor", "--json"), "trust")["status"] == "error"


def test_gastown_overlays_are_named_as_that_tool_names_them(person: Person, tmp_path: Path) -> None:
    town = tmp_path / "gt"
    folder = town / "gastown" / "formula-overlays"
    folder.mkdir(parents=True)
    (folder / "flow.toml").write_text(entry("submit-review", "skip"))
    result = person.ok("doctor", "--layout", "gastown", "--town", str(town), "--rig", "gastown")
    assert (
        "⚠ overlay-health: stale step IDs in gastown/formula-overlays/flow.toml:\n"
        '    - step_id "submit-review" not found in formula flow\n'
    ) in result.stdout


def test_it_runs_outside_a_project(person: Person) -> None:
    assert person.run("doctor", "-C", str(person.home)).code == 0


def test_a_missing_default_key_is_an_error_with_the_next_command(person: Person) -> None:
    person.ok("keys", "generate", "--name", "work")
    assert check(person.run("doctor", "--json"), "keys")["status"] == "ok"
    key = person.home / "config/keys/work.key"
    kept = key.read_bytes()
    key.unlink()
    alone = check(person.run("doctor", "--json"), "keys")
    assert (alone["status"], "the default key 'work' is missing" in alone["message"]) == ("error", True)
    assert "`rye keys generate`" in alone["hint"]
    assert "`rye namespace recover NAMESPACE`" in alone["hint"]
    person.ok("keys", "generate", "--name", "spare")
    assert check(person.run("doctor", "--json"), "keys")["status"] == "ok"  # a new key replaces a lost one
    key.write_bytes(kept)
    person.ok("keys", "default", "work")
    key.unlink()
    assert "`rye keys default spare`" in check(person.run("doctor", "--json"), "keys")["hint"]
