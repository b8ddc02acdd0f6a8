"""``rye overlay`` and overlays in ``rye render`` (DECISIONS Role directives and formula overlays 2–8, 11, 12)."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path

import pytest

from tests.scenes.person import Person
from tests.scenes.shared_data import shared

pytestmark = pytest.mark.processes

FORMULA = """formula = "flow"
description = "Does it"
type = "workflow"
version = 1

[[steps]]
id = "a"
title = "First"
description = "Do {{issue}}."

[[steps]]
id = "b"
title = "Second"
description = "Then this."
needs = ["a"]

[[steps]]
id = "c"
title = "Third"
description = "Last."
needs = ["b"]

[vars.issue]
description = "What"
default = "nothing"
"""


def entry(step: str, mode: str, description: str | None = None) -> str:
    text = f'[[step-overrides]]\nstep_id = "{step}"\nmode = "{mode}"\n'
    return text + (f'description = "{description}"\n' if description is not None else "")


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", "[project]\n")
    made.write(".ai/formulas/flow.formula.toml", FORMULA)
    return made


def user_overlay(person: Person, text: str, name: str = "flow") -> Path:
    path = person.home / "ai" / "formula-overlays" / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# apply


@pytest.mark.parametrize("formula", [".ai/formulas/flow.formula.toml", "flow", "formula:flow"])
def test_apply_gives_the_changed_steps(person: Person, formula: str) -> None:
    person.write(
        "o.toml", entry("a", "append", "And {{issue}} again.") + entry("b", "skip") + entry("c", "replace", "N")
    )
    result = person.ok("overlay", "apply", formula, "o.toml", "--json")
    assert result.json["warnings"] == []
    assert result.json["steps"] == [
        {"id": "a", "title": "First", "description": "Do {{issue}}.\nAnd {{issue}} again.", "needs": []},
        {"id": "c", "title": "Third", "description": "N", "needs": ["a"]},
    ]


def test_a_stale_entry_is_a_warning_and_exits_0(person: Person) -> None:
    person.write("o.toml", entry("gone", "skip"))
    result = person.run("overlay", "apply", "flow", "o.toml", "--json")
    assert result.code == 0
    assert result.json["warnings"] == ['overlay references unknown step "gone" (stale override)']
    assert [step["id"] for step in result.json["steps"]] == ["a", "b", "c"]
    assert "stale override" in person.run("overlay", "apply", "flow", "o.toml").stderr


def test_skips_in_any_order_give_the_same_needs(person: Person) -> None:
    for order in itertools.permutations(["a", "b"]):
        person.write("o.toml", "".join(entry(step, "skip") for step in order))
        steps = person.ok("overlay", "apply", "flow", "o.toml", "--json").json["steps"]
        assert [(step["id"], step["needs"]) for step in steps] == [("c", [])]


@pytest.mark.parametrize(
    ("overlay", "code"),
    [
        ("[[step-overrides]\n", "malformed-overlay"),
        (entry("a", "Replace", "x"), "malformed-overlay"),
        (entry("a", "replace"), "malformed-overlay"),
        (entry("a", "append", ""), "malformed-overlay"),
        (entry("a", "skip").replace("step-overrides", "step_overrides"), "malformed-overlay"),
        (entry("a", "skip").replace("step_id", "step-id"), "malformed-overlay"),
        ("".join(entry(step, "skip") for step in "abc"), "overlay-leaves-no-step"),
    ],
)
def test_what_is_wrong_is_an_error_and_no_steps(person: Person, overlay: str, code: str) -> None:
    person.write("o.toml", overlay)
    result = person.run("overlay", "apply", "flow", "o.toml", "--json")
    assert (result.code, result.error["code"]) == (1, code)
    assert result.error["hint"]


def test_extends_and_expand_come_before_the_overlay(person: Person) -> None:
    person.write(
        ".ai/formulas/child.formula.toml",
        'formula = "child"\nextends = ["flow"]\n[[compose.expand]]\ntarget = "b"\nwith = "twice"\n',
    )
    person.write(
        ".ai/formulas/twice.formula.toml",
        'formula = "twice"\ntype = "expansion"\n[[template]]\nid = "{target}-one"\ntitle = "1"\n'
        '[[template]]\nid = "{target}-two"\ntitle = "2"\nneeds = ["{target}-one"]\n',
    )
    person.write("o.toml", entry("b-one", "skip") + entry("b", "skip"))
    result = person.ok("overlay", "apply", "child", "o.toml", "--json")
    assert [(step["id"], step["needs"]) for step in result.json["steps"]] == [
        ("a", []),
        ("b-two", ["a"]),
        ("c", ["b-two"]),
    ]
    assert len(result.json["warnings"]) == 1
    person.write("o.toml", entry("b-one", "skip"))
    result = person.run("overlay", "apply", "twice", "o.toml", "--json")
    assert (result.code, result.error["code"]) == (1, "overlay-without-steps")


def test_a_formula_that_is_not_there_says_what_was_meant(person: Person) -> None:
    person.write("o.toml", "")
    result = person.run("overlay", "apply", "flwo", "o.toml", "--json")
    assert result.error["code"] == "no-such-item"
    assert "flow" in result.error["hint"]
    person.new("role", "clerk")
    assert person.run("overlay", "apply", ".ai/roles/clerk.md", "o.toml").code == 2


# render


def test_render_applies_the_overlay_before_variables_unless_base(person: Person) -> None:
    person.customize(".ai/formula-overlays/flow.toml", entry("b", "replace", "For {{issue}}."))
    rendered = person.ok("render", "flow", "--input", "issue=X-1")
    assert "For X-1." in rendered.stdout
    assert "Then this." not in rendered.stdout
    assert "Then this." in person.ok("render", "flow", "--base").stdout


def test_the_project_s_file_replaces_the_user_s_entirely(person: Person) -> None:
    user_overlay(person, entry("a", "append", "USER"))
    assert "USER" in person.ok("render", "flow").stdout
    person.customize(".ai/formula-overlays/flow.toml", entry("b", "append", "PROJECT"))
    rendered = person.ok("render", "flow")
    assert "PROJECT" in rendered.stdout
    assert "USER" not in rendered.stdout
    assert "hides-user-overlay" in rendered.stderr


def test_a_project_file_without_overrides_switches_the_user_s_off_and_warns(person: Person) -> None:
    user_overlay(person, entry("a", "append", "USER"))
    person.customize(".ai/formula-overlays/flow.toml", "# nothing\n")
    rendered = person.ok("render", "flow")
    assert "USER" not in rendered.stdout
    assert "disables the user's overlay" in rendered.stderr


def test_a_malformed_project_file_never_falls_back(person: Person) -> None:
    user_overlay(person, entry("a", "append", "USER"))
    person.customize(".ai/formula-overlays/flow.toml", "][")
    result = person.run("render", "flow", "--json")
    assert (result.code, result.error["code"]) == (1, "malformed-overlay")
    assert person.run("render", "flow", "--base").code == 0


def test_a_symlinked_overlay_of_a_project_is_refused(person: Person, tmp_path: Path) -> None:
    outside = tmp_path / "outside.toml"
    outside.write_text(entry("a", "append", "SECRET"))
    person.path(".ai/formula-overlays").mkdir()
    person.path(".ai/formula-overlays/flow.toml").symlink_to(outside)
    result = person.run("render", "flow", "--json")
    assert (result.code, result.error["code"]) == (1, "symlink")


# show, list, check, edit


def test_show_prints_the_overlay_in_force_its_source_and_what_it_hides(person: Person) -> None:
    nothing = person.ok("overlay", "show", "flow", "--json").json
    assert (nothing["source"], nothing["overrides"]) == (None, [])
    assert [place["found"] for place in nothing["looked_at"]] == [False, False]
    user_overlay(person, entry("a", "skip"))
    assert person.ok("overlay", "show", "flow", "--json").json["source"] == "user"
    text = entry("b", "append", "P")
    person.customize(".ai/formula-overlays/flow.toml", text)
    shown = person.ok("overlay", "show", "flow")
    assert shown.stdout == text
    assert "# .ai/formula-overlays/flow.toml (project)" in shown.stderr
    assert "hides the user's" in shown.stderr
    document = person.ok("overlay", "show", "flow", "--json").json
    assert document["overrides"] == [{"step_id": "b", "mode": "append", "description": "P"}]
    assert len(document["warnings"]) == 1


@pytest.mark.parametrize("name", ["../flow", "a/../../b", "..", "FLOW", "flow.toml", "", "x" * 65, "con"])
@pytest.mark.parametrize("command", ["show", "edit"])
def test_names_of_formulas_have_no_path_parts(person: Person, name: str, command: str) -> None:
    result = person.run("overlay", command, name, "--json", env={"EDITOR": "true"})
    assert result.code in (1, 2)
    assert "error" in result.json
    assert not (person.folder / ".ai" / "flow.toml").exists()
    assert not (person.folder / ".ai" / "formula-overlays").exists()


def test_an_unknown_formula_says_what_was_meant(person: Person) -> None:
    result = person.run("overlay", "show", "flwo", "--json")
    assert (result.code, result.error["code"]) == (1, "no-such-item")
    assert "flow" in result.error["hint"]


def test_list_and_check(person: Person) -> None:
    person.customize(".ai/formula-overlays/flow.toml", entry("a", "skip"))
    person.customize(".ai/formula-overlays/other.toml", entry("a", "skip"))
    user_overlay(person, "][", "flow")
    listed = person.ok("overlay", "list", "--json").json["overlays"]
    assert [(one["formula"], one["space"], one["state"]) for one in listed] == [
        ("flow", "user", "error"),
        ("flow", "project", "ok"),
        ("other", "project", "warning"),
    ]
    assert person.run("overlay", "check").code == 1
    (person.home / "ai/formula-overlays/flow.toml").unlink()
    assert person.run("overlay", "check").code == 0
    assert person.run("overlay", "check", "flow", "--json").json["ok"] is True


def test_edit_without_a_change_writes_a_template_that_changes_nothing(person: Person) -> None:
    before = person.ok("render", "flow").stdout
    assert person.ok("overlay", "edit", "flow", env={"EDITOR": "true"}).stdout.startswith("created")
    assert person.ok("render", "flow").stdout == before


def test_the_template_does_not_switch_the_user_s_overlay_off(person: Person) -> None:
    user_overlay(person, entry("a", "append", "USER"))
    before = person.ok("render", "flow").stdout
    person.ok("overlay", "edit", "flow", env={"EDITOR": "true"})
    assert person.ok("render", "flow").stdout == before


def test_edit_validates_on_save(person: Person) -> None:
    good = entry("a", "append", "GOOD")
    path = person.customize(".ai/formula-overlays/flow.toml", good)
    script = person.home / "ed"
    script.write_text('#!/bin/sh\necho "[[step_overrides]]" > "$1"\n')
    script.chmod(0o755)
    result = person.run("overlay", "edit", "flow", "--json", env={"VISUAL": str(script)})
    assert (result.code, result.error["code"]) == (1, "rejected-edit")
    assert path.read_text() == good
    assert path.with_name("flow.toml.rejected").read_text() == "[[step_overrides]]\n"
    assert [one["formula"] for one in person.ok("overlay", "list", "--json").json["overlays"]] == ["flow"]


# That tool's own folders


def test_gastown_folders(person: Person, tmp_path: Path) -> None:
    town = tmp_path / "gt"
    (town / "formula-overlays").mkdir(parents=True)
    (town / "rig" / "formula-overlays").mkdir(parents=True)
    (town / "formula-overlays" / "flow.toml").write_text(entry("a", "skip"))
    words = ["--layout", "gastown", "--town", str(town), "--json"]
    assert person.ok("overlay", "show", "flow", *words).json["path"] == "formula-overlays/flow.toml"
    (town / "rig" / "formula-overlays" / "flow.toml").write_text(entry("b", "skip"))
    shown = person.ok("overlay", "show", "flow", *words, "--rig", "rig").json
    assert (shown["source"], shown["path"]) == ("project", "rig/formula-overlays/flow.toml")
    assert person.run("overlay", "show", "flow", *words, "--rig", "../gt").refusal == "bad-argument rig"
    assert person.run("overlay", "show", "flow", *words, "--rig", "none").code == 1
    assert person.run("overlay", "show", "flow", "--rig", "rig").code == 2
    assert person.run("overlay", "show", "flow", "--layout", "gastown").code == 2


@pytest.mark.corpus
def test_a_real_overlay_on_a_real_formula(person: Person) -> None:
    folder = shared("corpus/gastown")
    formula, overlay = folder / "formulas" / "mol-polecat-work.formula.toml", folder / "overlay-mol-polecat-work.toml"
    result = person.ok("overlay", "apply", str(formula), str(overlay), "--json").json
    published = tomllib.loads(formula.read_text())["steps"]
    (change,) = tomllib.loads(overlay.read_text())["step-overrides"]
    assert result["warnings"] == []
    assert [step["id"] for step in result["steps"]] == [step["id"] for step in published]
    for step, was in zip(result["steps"], published, strict=True):
        added = "\n" + change["description"] if was["id"] == change["step_id"] else ""
        assert step["description"] == was["description"] + added
        assert step["needs"] == was.get("needs", [])
        assert step["title"] == was["title"]
