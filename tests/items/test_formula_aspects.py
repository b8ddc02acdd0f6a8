"""``compose.aspects`` of a formula is applied (DECISIONS "Every kind" 6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenes.person import Person
from tests.scenes.shared_data import shared

WORKFLOW = """formula = "shiny"
description = "d"
type = "workflow"
version = 1

[[steps]]
id = "design"
title = "Design"

[[steps]]
id = "implement"
title = "Implement"
description = "Build."
needs = ["design"]

[[steps]]
id = "submit"
title = "Submit"
needs = ["implement", "design"]
"""
SECURE = """formula = "secure"
description = "d"
type = "workflow"
version = 1
extends = ["shiny"]

[compose]
aspects = ["audit"]
"""
ASPECT = """formula = "audit"
description = "d"
type = "aspect"
version = 1

[[advice]]
target = "implement"
[advice.around]
[[advice.around.before]]
id = "{step.id}-pre"
title = "Before {step.title}"
description = "{step.description} {step.id}"
[[advice.around.before]]
id = "{step.id}-pre2"
[[advice.around.after]]
id = "{step.id}-post"
[[advice.around.after]]
id = "{step.id}-post2"
"""


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", "[project]\n")
    put(made, shiny=WORKFLOW, secure=SECURE, audit=ASPECT)
    return made


def put(rye: Person, **formulas: str) -> None:
    for name, text in formulas.items():
        rye.write(f".ai/formulas/{name}.formula.toml", text)


def steps(rye: Person, name: str = "secure") -> list[tuple[str, list[str]]]:
    rye.write("none.toml", "")
    document = rye.ok("overlay", "apply", name, "none.toml", "--json").json
    return [(step["id"], step["needs"]) for step in document["steps"]]


def test_steps_before_and_after_stand_in_the_chain(rye: Person) -> None:
    assert steps(rye) == [
        ("design", []),
        ("implement-pre", ["design"]),
        ("implement-pre2", ["implement-pre"]),
        ("implement", ["implement-pre2"]),
        ("implement-post", ["implement"]),
        ("implement-post2", ["implement-post"]),
        ("submit", ["implement-post2", "design"]),
    ]
    prompt = rye.ok("render", "secure").stdout
    assert prompt.index("Before Implement") < prompt.index("Build.\n") < prompt.index("implement-post")
    assert "Build. implement" in prompt
    assert rye.ok("validate", ".ai/formulas").code == 0


def test_a_pattern_a_pointcut_and_a_single_table(rye: Person) -> None:
    aspect = 'formula = "audit"\ndescription = "d"\ntype = "aspect"\nversion = 1\n\n[[advice]]\ntarget = "*"\n'
    aspect += '[advice.after]\nid = "{step.id}-x"\n\n[[pointcuts]]\nglob = "s*"\n'
    put(rye, audit=aspect)
    assert [name for name, _ in steps(rye)] == ["design", "implement", "submit", "submit-x"]


def test_a_step_s_text_is_never_filled_in_again(rye: Person) -> None:
    put(rye, shiny=WORKFLOW.replace('"Build."', '"{step.title} {{x}}"'))
    assert "{step.title} {{x}} implement" in rye.ok("render", "secure").stdout


def test_overlays_come_after_aspects(rye: Person) -> None:
    rye.customize(".ai/formula-overlays/secure.toml", '[[step-overrides]]\nstep_id = "implement-post"\nmode = "skip"\n')
    prompt = rye.ok("render", "secure").stdout
    assert "implement-post2" in prompt
    assert "(implement-post)" not in prompt


@pytest.mark.parametrize(
    ("aspect", "code"),
    [
        (ASPECT.replace('target = "implement"', "target = 1"), "bad-advice"),
        (ASPECT.replace('id = "{step.id}-pre"', "x = 1"), "bad-advice"),
        (ASPECT.replace('{step.id}-post"', 'design"'), "duplicate-step"),
        (WORKFLOW.replace('"shiny"', '"audit"'), "wrong-formula-type"),
        (ASPECT + "\n[[pointcuts]]\nregex = '.*'\n", "bad-advice"),
        (ASPECT.replace("[advice.around]", "[advice.instead]\nx = 1\n[advice.around]"), "bad-advice"),
    ],
)
def test_an_aspect_that_cannot_be_applied_is_an_error(rye: Person, aspect: str, code: str) -> None:
    put(rye, audit=aspect)
    result = rye.run("render", "secure", "--json")
    assert (result.code, result.error["code"]) == (1, code)


def test_an_aspect_that_is_not_there_is_an_error(rye: Person) -> None:
    rye.path(".ai/formulas/audit.formula.toml").unlink()
    assert rye.run("render", "secure", "--json").error["code"] == "unknown-formula"


def test_the_formulas_of_gas_town(rye: Person) -> None:
    folder = shared("corpus/gastown/formulas")
    for name in ("security-audit", "shiny-secure"):
        put(rye, **{name: (folder / f"{name}.formula.toml").read_text()})
    found = [name for name, _ in steps(rye, "shiny-secure")]
    assert found == [
        "design",
        "implement-security-prescan",
        "implement",
        "implement-security-postscan",
        "submit-security-prescan",
        "submit",
        "submit-security-postscan",
    ]
