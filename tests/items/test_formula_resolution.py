"""``extends``, ``compose.expand`` and ``{{var}}`` (DECISIONS Role directives and formula overlays 5, 6, 7)."""

from __future__ import annotations

import time

import pytest

from rye.errors import RyeError
from rye.items.formula.model import Formula
from rye.items.formula.reader import read
from rye.items.formula.resolution import resolve, substitute
from rye.items.reading import ReadOptions, Source
from tests.scenes.shared_data import shared


def formula(toml: str) -> Formula:
    reading = read(Source(toml), ReadOptions())
    assert isinstance(reading.value, Formula), reading.diagnostics
    return reading.value


def library(*tomls: str) -> dict[str, Formula]:
    return {value.formula: value for value in map(formula, tomls)}


def steps(*entries: str) -> str:
    """``"b: a, c"`` → a step b that needs a and c."""
    out = ""
    for entry in entries:
        name, _, needs = entry.partition(":")
        listed = ", ".join(f'"{need.strip()}"' for need in needs.split(",") if need.strip())
        out += f'[[steps]]\nid = "{name}"\ntitle = "T {name}"\ndescription = "D {name}"\nneeds = [{listed}]\n'
    return out


def shape(value: Formula) -> list[str]:
    return [f"{step.id}: {', '.join(step.needs)}".rstrip(": ").strip() for step in value.steps]


BASE = 'formula = "base"\ndescription = "Base"\n' + steps("load", "implement: load", "submit: implement, load")
TDD = 'formula = "tdd"\n' + "".join(
    f'[[template]]\nid = "{{target}}.{name}"\ntitle = "{name} {{target.title}}"\n'
    f'description = "{{target.description}} {{target.id}}"\nacceptance = "{{target}} ok"\nneeds = [{needs}]\n'
    for name, needs in (("red", ""), ("green", '"{target}.red"'), ("clean", '"{target}.green"'))
)


def test_a_formula_without_composition_is_itself() -> None:
    value = formula(BASE)
    assert resolve(value, lambda name: None) == value


def test_parents_come_first_and_children_replace_in_place() -> None:
    child = formula(
        'formula = "child"\nextends = ["base", "more"]\n'
        + steps("implement: load", "extra: submit")
        + '[vars]\na = "child"\n'
    )
    parents = library(
        BASE + '[vars]\na = "base"\nb = "base"\n', 'formula = "more"\n' + steps("more") + '[vars]\nb = "more"\n'
    )
    result = resolve(child, parents.get)
    assert shape(result) == ["load", "implement: load", "submit: implement, load", "more", "extra: submit"]
    assert {var.name: var.default for var in result.vars} == {"a": "child", "b": "base"}
    assert (result.formula, result.description, result.extends) == ("child", "Base", ())


def test_the_childs_description_wins() -> None:
    child = formula('formula = "child"\ndescription = "Mine"\nextends = "base"\n')
    assert resolve(child, library(BASE).get).description == "Mine"


def test_expanding_replaces_the_step_and_rewires_both_sides() -> None:
    value = formula(BASE + '[[compose.expand]]\ntarget = "implement"\nwith = "tdd"\n')
    result = resolve(value, library(TDD).get)
    assert shape(result) == [
        "load",
        "implement.red: load",
        "implement.green: implement.red",
        "implement.clean: implement.green",
        "submit: implement.clean, load",
    ]
    red = result.steps[1]
    assert (red.title, red.description, red.acceptance) == ("red T implement", "D implement implement", "implement ok")
    assert result.expand == ()


def test_a_parents_expansion_is_inherited_as_steps() -> None:
    child = formula('formula = "child"\nextends = ["base"]\n' + steps("after: implement.clean"))
    base = BASE + '[[compose.expand]]\ntarget = "implement"\nwith = "tdd"\n'
    assert shape(resolve(child, library(base, TDD).get))[-1] == "after: implement.clean"


def test_a_child_expands_an_inherited_step() -> None:
    child = formula('formula = "child"\nextends = ["base"]\n[[compose.expand]]\ntarget = "load"\nwith = "tdd"\n')
    assert shape(resolve(child, library(BASE, TDD).get))[:4] == [
        "load.red",
        "load.green: load.red",
        "load.clean: load.green",
        "implement: load.clean",
    ]


def test_everyone_waits_for_every_end_of_a_template() -> None:
    fork = 'formula = "fork"\n[[template]]\nid = "{target}.a"\n[[template]]\nid = "{target}.b"\n'
    value = formula(BASE + '[[compose.expand]]\ntarget = "implement"\nwith = "fork"\n')
    assert shape(resolve(value, library(fork).get)) == [
        "load",
        "implement.a: load",
        "implement.b: load",
        "submit: implement.a, implement.b, load",
    ]


def test_a_rules_vars_fill_the_template_in_one_pass() -> None:
    filled = 'title = "{tool} {other} {unknown} {{issue}}"\n[vars]\ntool = "pytest"\nother = "o"\n'
    fork = 'formula = "fork"\n[[template]]\nid = "{target}.a"\n' + filled
    rule = '[[compose.expand]]\ntarget = "implement"\nwith = "fork"\nvars = {tool = "{other}"}\n'
    result = resolve(formula(BASE + rule), library(fork).get)
    assert result.steps[1].title == "{other} o {unknown} {{issue}}"


def test_double_braces_in_a_template_are_the_expansions_variables_or_wait_for_the_formulas() -> None:
    """``{{x}}`` is never read as a ``{x}`` in braces."""
    fork = (
        'formula = "fork"\n[[template]]\nid = "{target}.a"\ntitle = "{{tool}} {tool} {{issue}} {{gone}} {{target}}"\n'
    )
    fork += '[vars]\ntool = "pytest"\nissue = "its own"\n'
    rule = '[[compose.expand]]\ntarget = "implement"\nwith = "fork"\n'
    declared = "[vars.issue]\nrequired = true\n"
    value = formula(BASE + rule + declared)
    resolved = resolve(value, library(fork).get)
    assert resolved.steps[1].title == "pytest pytest {{issue}} {{gone}} {{target}}"
    filled, _ = substitute(resolved, {"issue": "X-1"})
    assert filled.steps[1].title == "pytest pytest X-1 {{gone}} {{target}}"
    undeclared = resolve(formula(BASE + rule), library(fork).get)
    assert undeclared.steps[1].title == "pytest pytest its own {{gone}} {{target}}"


def test_placeholders_in_the_targets_own_text_are_not_filled_in() -> None:
    base = BASE.replace("D implement", "see {target} and {target.title}")
    value = formula(base + '[[compose.expand]]\ntarget = "implement"\nwith = "tdd"\n')
    assert resolve(value, library(TDD).get).steps[1].description == "see {target} and {target.title} implement"


@pytest.mark.parametrize(
    ("toml", "others", "code", "words"),
    [
        (
            'formula = "a"\nextends = ["b"]\n',
            ['formula = "b"\nextends = ["a"]\n'],
            "formula-cycle formulas",
            "a → b → a",
        ),
        ('formula = "a"\nextends = ["a"]\n', [], "formula-cycle formulas", "a → a"),
        ('formula = "a"\nextends = ["gone"]\n', [], "unknown-formula", "a extends 'gone'"),
        (BASE + '[[compose.expand]]\ntarget = "load"\nwith = "gone"\n', [], "unknown-formula", "'gone'"),
        (BASE + '[[compose.expand]]\ntarget = "laod"\nwith = "tdd"\n', [TDD], "unknown-step rule", "'laod'"),
        (
            BASE + '[[compose.expand]]\ntarget = "load"\nwith = "base"\n',
            [BASE],
            "formula-cycle formulas",
            "base → base",
        ),
        (
            BASE + '[[compose.expand]]\ntarget = "load"\nwith = "w"\n',
            ['formula = "w"\n' + steps("x")],
            "wrong-formula-type expansion",
            "workflow",
        ),
        ('formula = "a"\nextends = ["base"]\n' + steps("x: nowhere"), [BASE], "unknown-step need", "steps[3].needs[0]"),
        (
            'formula = "a"\nextends = ["base"]\n' + steps("load: submit"),
            [BASE],
            "formula-cycle steps",
            "load → submit → implement → load",
        ),
        (
            'formula = "a"\nextends = ["base", "c"]\n',
            [BASE, 'formula = "c"\n' + steps("load: x", "x")],
            "duplicate-step",
            "base and c",
        ),
        (
            BASE + steps("load.red") + '[[compose.expand]]\ntarget = "load"\nwith = "tdd"\n',
            [TDD],
            "duplicate-step",
            "'load.red'",
        ),
    ],
)
def test_errors_name_the_path(toml: str, others: list[str], code: str, words: str) -> None:
    value = formula(toml)
    known = {**library(*others), value.formula: value}
    with pytest.raises(RyeError) as caught:
        resolve(value, known.get)
    assert " ".join((caught.value.code, *map(str, caught.value.details.values()))) == code
    assert words in caught.value.message


def test_a_long_chain_and_a_wide_diamond_are_bounded() -> None:
    chain = library(
        *(f'formula = "f{n}"\nextends = ["f{n + 1}"]\n' for n in range(40)), f'formula = "f40"\n{steps("x")}'
    )
    with pytest.raises(RyeError, match="extend each other"):
        resolve(chain["f0"], chain.get)
    diamond = library(
        *(f'formula = "d{n}"\nextends = ["d{n + 1}", "e{n + 1}"]\n' for n in range(12)),
        *(f'formula = "e{n}"\nextends = ["d{n + 1}", "e{n + 1}"]\n' for n in range(1, 12)),
        f'formula = "d12"\n{steps("x")}',
        f'formula = "e12"\n{steps("y")}',
    )
    started = time.thread_time()
    assert shape(resolve(diamond["d0"], diamond.get)) == ["x", "y"]
    assert time.thread_time() - started < 2


def test_growth_by_expansion_is_bounded() -> None:
    double = 'formula = "double"\n[[template]]\nid = "{target}x"\ndescription = "' + "{target.description}" * 10 + '"\n'
    rules = "".join(f'[[compose.expand]]\ntarget = "{"load" + "x" * n}"\nwith = "double"\n' for n in range(30))
    value = formula('formula = "v"\n' + steps("load") + rules)
    started = time.thread_time()
    with pytest.raises(RyeError, match="results in more than"):
        resolve(value, library(double).get)
    assert time.thread_time() - started < 3


# --- variables --------------------------------------------------------------------------------------------------------

VARS = (
    'formula = "v"\ndescription = "For {{issue}}"\n[[steps]]\nid = "{{issue}}"\ntitle = "{{issue}} {{branch}}"\n'
    'description = "{{empty}}|{{unset}}|{{other}}|{{else}}"\nacceptance = "{{issue}}"\n'
    '[vars]\nbranch = "main"\nempty = ""\n[vars.issue]\nrequired = true\n[vars.unset]\ndescription = "no default"\n'
)


def test_values_defaults_and_what_stays() -> None:
    result, warnings = substitute(formula(VARS), {"issue": "X-1 {{branch}}"})
    step = result.steps[0]
    assert (step.id, step.title, step.acceptance) == ("{{issue}}", "X-1 {{branch}} main", "X-1 {{branch}}")
    assert step.description == "|{{unset}}|{{other}}|{{else}}"
    assert result.description == "For X-1 {{branch}}"
    assert [w.message.split(" ")[0] for w in warnings] == ["{{unset}}", "{{other}}"]


def test_a_required_variable_without_a_value_is_an_error_that_says_how_to_give_it() -> None:
    with pytest.raises(RyeError) as caught:
        substitute(formula(VARS), {"branch": "x"})
    assert (caught.value.code, caught.value.hint) == ("missing-variable", "--input issue=…")


def test_an_unknown_variable_is_an_error_with_did_you_mean() -> None:
    with pytest.raises(RyeError) as caught:
        substitute(formula(VARS), {"issue": "1", "brnach": "x"})
    assert caught.value.hint == "Did you mean branch?"


def test_an_empty_value_is_a_value() -> None:
    assert substitute(formula(VARS), {"issue": "", "branch": ""})[0].steps[0].title == " "


def test_substitution_is_bounded() -> None:
    value = formula(
        'formula = "v"\n[[steps]]\nid = "a"\ndescription = "'
        + "{{x}}" * 40_000
        + '"\n[vars]\nx = "'
        + "y" * 50_000
        + '"\n'
    )
    with pytest.raises(RyeError, match="results in more than"):
        substitute(value, {})


@pytest.mark.corpus
def test_the_real_expansion_applies_to_a_base_with_an_implement_step() -> None:
    folder = shared("corpus/gastown/formulas")
    known = library(
        (folder / "tdd-cycle.formula.toml").read_text(encoding="utf-8"),
        (folder / "mol-polecat-work-monorepo-tdd.formula.toml").read_text(encoding="utf-8"),
        BASE.replace('"base"', '"mol-polecat-work-monorepo"'),
    )
    result = resolve(known["mol-polecat-work-monorepo-tdd"], known.get)
    assert [step.id.split(".")[-1] for step in result.steps] == [
        "load", "write-tests", "verify-red", "implement", "verify-green", "refactor", "submit",
    ]  # fmt: skip
    assert result.steps[-1].needs == ("implement.refactor", "load")
