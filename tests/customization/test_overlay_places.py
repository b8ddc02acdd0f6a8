"""An overlay's error names the file and a line within its entry (DECISIONS "Every kind" 7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_overlay import FORMULA
from tests.scenes.person import Person

GOOD = '# comment\n\n[[step-overrides]]\nstep_id = "a"\nmode = "append"\ndescription = """\n[[step-overrides]]\n"""\n\n'
PATH = ".ai/formula-overlays/flow.toml"


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", "[project]\n")
    made.write(".ai/formulas/flow.formula.toml", FORMULA)
    return made


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ('[[step-overrides]]\nstep_id = "b"\n# x\nmode = "Skip"\n', 13),
        ('[[step-overrides]]\nstep_id = "b"\nmode = "skip"\ntitle = "x"\n', 13),
        ('[[step-overrides]]\nmode = "skip"\n', 10),
        ('[[step-overrides]]\nmode = "append"\nstep_id = "b"\ndescription = ""\n', 13),
        ('[[step-overrides]]\nmode = "skip"\nstep_id = 1\n', 12),
        ("[[step_overrides]]\nx = 1\n", 10),
    ],
)
def test_malformed_entries(rye: Person, entry: str, line: int) -> None:
    rye.customize(PATH, GOOD + entry)
    for words in (("render", "flow"), ("overlay", "show", "flow"), ("overlay", "apply", "flow", PATH)):
        result = rye.run(*words, "--json")
        assert (result.code, result.error["code"]) == (1, "malformed-overlay")
        assert result.error["message"].startswith(f"{PATH}:{line}: "), result.error["message"]
    assert f"{PATH}:{line}: " in rye.run("overlay", "check").stdout


def test_entries_written_inline_have_a_line_too(rye: Person) -> None:
    rye.customize(PATH, '# x\nstep-overrides = [{step_id = "a", mode = "Skip"}]\n')
    assert rye.run("render", "flow", "--json").error["message"].startswith(f"{PATH}:2: ")


def test_an_overlay_that_cannot_be_applied(rye: Person) -> None:
    steps = ["a", "b", "c"]
    ids = [step for step in steps if f'id = "{step}"' in FORMULA]
    rye.customize(PATH, "\n" + "".join(f'[[step-overrides]]\nstep_id = "{each}"\nmode = "skip"\n' for each in ids))
    result = rye.run("render", "flow", "--json")
    assert result.error["code"] == "overlay-leaves-no-step"
    assert result.error["message"].startswith(f"{PATH}:{2 + 3 * (len(ids) - 1)}: ")
