"""Formulas: the TOML schema, types, ids and needs (DECISIONS Role directives and formula overlays 7, 8, 11)."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.items.formula.graph import as_mermaid, as_text, cycle, in_work_order
from rye.items.formula.model import Formula, Step
from rye.items.formula.reader import as_json, read, template
from rye.items.reading import Reading, ReadOptions, Source
from rye.text.toml_reading import TomlError, read_toml
from tests.scenes.effort import rest_thorough, tries
from tests.scenes.parsed import parsed
from tests.scenes.shared_data import shared

EXAMPLES = tries(60, 1_000)
STEP = '[[steps]]\nid = "a"\n'


def parse(toml: str, stem: str | None = "x", publishing: bool = False) -> Reading[Formula]:
    return read(Source(toml, "x.formula.toml", stem, ""), ReadOptions(publishing=publishing))


def formula(toml: str) -> Formula:
    reading = parse(toml)
    assert isinstance(reading.value, Formula), reading.diagnostics
    return reading.value


def found(reading: Reading[Formula], severity: str = "error") -> list[tuple[str, int | None]]:
    return [(d.code, d.line) for d in reading.diagnostics if d.severity == severity]


def test_a_whole_workflow() -> None:
    value = formula(
        'formula = "x"\ndescription = "d"\nversion = 3\n\n'
        '[[steps]]\nid = "a"\ntitle = "A"\ndescription = "do"\n\n'
        '[[steps]]\nid = "b"\nneeds = ["a"]\nparallel = true\ninteractive = true\nacceptance = "done"\nowner = "me"\n\n'
        '[vars]\nplain = "text"\n[vars.full]\ndescription = "v"\nrequired = true\n'
    )
    assert (value.formula, value.type, value.version) == ("x", "workflow", "3.0.0")
    assert value.steps[1] == Step(
        id="b",
        title="",
        description="",
        needs=("a",),
        parallel=True,
        interactive=True,
        acceptance="done",
        extra={"owner": "me"},
    )
    assert [(v.name, v.description, v.required, v.default) for v in value.vars] == [
        ("plain", "", False, "text"),
        ("full", "v", True, None),
    ]


# --- types ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (STEP, "workflow"),
        ('[[legs]]\nid = "l"\n', "convoy"),
        ('[[template]]\nid = "{target}.t"\n', "expansion"),
        ('[[aspects]]\nid = "s"\n', "aspect"),
        ('[[advice]]\ntarget = "x"\n', "aspect"),
        ('extends = ["base"]\n', "workflow"),
        ('[[legs]]\nid = "l"\n' + STEP, "workflow"),
    ],
)
def test_the_type_is_inferred_from_the_content(content: str, kind: str) -> None:
    assert formula('formula = "x"\n' + content).type == kind


def test_a_type_that_is_given_wins() -> None:
    assert formula('formula = "x"\ntype = "expansion"\n[[template]]\nid = "t"\n' + STEP).type == "expansion"


@pytest.mark.parametrize(
    ("toml", "codes"),
    [
        ('formula = "x"\n', ["F03"]),
        ('formula = "x"\ntype = "wrkflow"\n' + STEP, ["F03"]),
        ('formula = "x"\ntype = "Workflow"\n' + STEP, ["F03"]),
        ('formula = "x"\ntype = 5\n' + STEP, ["F02"]),
        ('formula = "x"\ntype = "workflow"\n', ["F02"]),
        ('formula = "x"\ntype = "convoy"\n' + STEP, ["F02"]),
        ('formula = "x"\ntype = "aspect"\n', ["F02"]),
        ('formula = "x"\nsteps = []\n', ["F03"]),
        (STEP, ["F02"]),
        ('formula = ""\n' + STEP, ["F05"]),
        ("formula = 5\n" + STEP, ["F02"]),
    ],
)
def test_formulas_without_a_usable_name_or_type(toml: str, codes: list[str]) -> None:
    reading = parse(toml)
    assert reading.value is None
    assert [code for code, _ in found(reading)] == codes


@pytest.mark.parametrize("name", ["../x", "a/b", "a.b", "A", "/etc/passwd", "x y", "con", "a" * 65])
def test_names_are_item_names_never_paths(name: str) -> None:
    assert ("F05", 1) in found(parse(f'formula = "{name}"\n{STEP}'))
    assert ("F05", 2) in found(parse(f'formula = "x"\nextends = ["{name}"]\n'))
    assert ("F05", 6) in found(parse(f'formula = "x"\n{STEP}[[compose.expand]]\ntarget = "a"\nwith = "{name}"\n'))


def test_the_files_name_is_a_warning_and_an_error_to_publish() -> None:
    assert found(parse(f'formula = "y"\n{STEP}'), "warning") == [("F05", 1)]
    assert found(parse(f'formula = "y"\n{STEP}', publishing=True)) == [("F05", 1)]


# --- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "line", "code"),
    [
        ("[[steps]]\ntitle = 'no id'\n", 2, "F02"),
        ("[[steps]]\nid = ''\n", 2, "F02"),
        ("[[steps]]\nid = 5\n", 3, "F02"),
        ("[[steps]]\nid = 'a'\ntitle = 5\n", 4, "F02"),
        ("[[steps]]\nid = 'a'\ndescription = ['x']\n", 4, "F02"),
        ("[[steps]]\nid = 'a'\nneeds = 'b'\n", 4, "F02"),
        ("[[steps]]\nid = 'a'\nneeds = [1]\n", 4, "F02"),
        ("[[steps]]\nid = 'a'\nparallel = 'yes'\n", 4, "F02"),
        ("[[steps]]\nid = 'a'\ninteractive = 1\n", 4, "F02"),
        ("[[steps]]\nid = 'a'\nacceptance = 1\n", 4, "F02"),
        ("[[steps]]\nid = 'a'\n[[steps]]\nid = 'a'\n", 5, "F04"),
        ("[[steps]]\nid = 'a'\n[[steps]]\nid = 'b'\n[[steps.children]]\nid = 'a'\n", 5, "F04"),
        ("[[steps]]\nid = 'a'\nneeds = ['b']\n", 4, "F04"),
        ("[[steps]]\nid = 'a'\nneeds = ['a']\n", 4, "F04"),
        ("steps = 'x'\n", 2, "F02"),
        ("steps = ['x']\n", 2, "F02"),
        ("[steps]\nid = 'a'\n", 2, "F02"),
    ],
)
def test_steps_that_are_wrong_at_their_line(steps: str, line: int, code: str) -> None:
    reading = parse('formula = "x"\n' + steps)
    assert reading.value is None
    assert (code, line) in found(reading)


def test_unknown_needs_name_the_path_and_what_was_meant() -> None:
    reading = parse('formula = "x"\n[[steps]]\nid = "build"\n[[steps]]\nid = "test"\nneeds = ["build", "biuld"]\n')
    (error,) = reading.diagnostics
    assert "steps[1].needs[1]" in error.message
    assert (error.hint, error.line) == ("Did you mean build?", 6)


def test_a_cycle_is_named_as_a_path() -> None:
    reading = parse(
        'formula = "x"\n' + "".join(f'[[steps]]\nid = "{a}"\nneeds = ["{b}"]\n' for a, b in ("ab", "bc", "ca"))
    )
    (error,) = reading.diagnostics
    assert "a → b → c → a" in error.message


def test_a_step_may_need_a_child_of_another() -> None:
    assert parse(
        'formula = "x"\n[[steps]]\nid = "a"\n[[steps.children]]\nid = "c"\n[[steps]]\nid = "b"\nneeds = ["c"]\n'
    ).ok


def test_headers_inside_texts_do_not_move_the_lines() -> None:
    fake = 'description = """\n[[steps]]\nid = "fake"\n# \'\'\' "\n"""\n'
    text = f'formula = "x"\n[[steps]]\nid = "a"\n{fake}[[steps]]\nid = "b"\nneeds = ["q"]\n'
    assert found(parse(text)) == [("F04", 11)]


def test_needs_that_extends_may_fulfil_are_not_judged_alone() -> None:
    assert parse('formula = "x"\nextends = "base"\n[[steps]]\nid = "b"\nneeds = ["from_base"]\n').ok


def test_unknown_keys_are_kept_and_near_misses_warned_about() -> None:
    reading = parse('formula = "x"\nfoo = 1\n[[steps]]\nid = "a"\nneed = ["b"]\nfocus = "f"\n[custom]\nk = "v"\n')
    assert found(reading) == []
    assert found(reading, "warning") == [("F07", 5)]
    assert (parsed(reading).extra, parsed(reading).steps[0].extra) == (
        {"foo": 1, "custom": {"k": "v"}},
        {"need": ["b"], "focus": "f"},
    )


# --- vars, convoys, composition ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toml", "default"),
    [
        ("v = 'text'", "text"),
        ("v = ''", ""),
        ("v = {default = 5}", "5"),
        ("v = {default = true}", "true"),
        ("v = {}", None),
    ],
)
def test_defaults_of_variables(toml: str, default: str | None) -> None:
    assert formula(f'formula = "x"\n{STEP}[vars]\n{toml}\n').vars[0].default == default


@pytest.mark.parametrize(
    "toml", ["v = 5", "v = ['a']", "v = {default = ['a']}", "v = {required = 'yes'}", "v = {description = 1}"]
)
def test_variables_of_other_types(toml: str) -> None:
    assert found(parse(f'formula = "x"\n{STEP}[vars]\n{toml}\n')) == [("F02", 5)]


def test_undeclared_placeholders_warn_once_and_template_words_never() -> None:
    reading = parse(
        'formula = "x"\n[[steps]]\nid = "a"\ndescription = "{{isue}} {{isue}} {{else}} {{#if x}} {{.leg}}"\n[vars]\nissue = ""\n'
    )
    (warning,) = reading.diagnostics
    assert (warning.severity, warning.code, warning.line, warning.hint) == ("warning", "F06", 2, "Did you mean issue?")


def test_a_convoys_synthesis_waits_for_known_legs() -> None:
    toml = 'formula = "x"\n[[legs]]\nid = "api"\n[[legs]]\nid = "data"\n[synthesis]\ntitle = "S"\ndepends_on = ["api", "data"]\n'
    value = formula(toml)
    assert value.synthesis is not None
    assert value.synthesis.needs == ("api", "data")
    assert as_text(value).splitlines()[-1] == "   needs api, data"
    assert found(parse(toml.replace('"data"]', '"dta"]'))) == [("F04", 8)]
    assert found(parse(toml.replace('id = "data"', 'id = "api"')))[0] == ("F04", 5)


@pytest.mark.parametrize(
    "compose",
    ["[[compose.expand]]\ntarget = 'a'\n", "[[compose.expand]]\nwith = 'e'\n", "[compose]\nexpand = 'e'\n",
     "[[compose.expand]]\ntarget = 'a'\nwith = 'e'\nvars = {a = 1}\n"],
)  # fmt: skip
def test_expand_rules_that_are_incomplete(compose: str) -> None:
    assert [code for code, _ in found(parse(f'formula = "x"\n{STEP}{compose}'))] == ["F02"]


def test_what_composition_does_not_apply_is_told() -> None:
    assert found(parse(f'formula = "x"\n{STEP}[compose]\nmap = ["audit"]\n'), "notice") == [("F07", 5)]
    assert found(parse(f'formula = "x"\n{STEP}[compose]\naspects = ["audit"]\n'), "notice") == []


def test_version_and_dependencies() -> None:
    reading = parse(f'formula = "x"\nversion = "1.2.3-rc.1"\ndependencies = ["tool:a/b@^1", "c/d"]\n{STEP}')
    assert reading.metadata is not None
    assert reading.metadata.version == "1.2.3-rc.1"
    assert [(d.reference, d.range, d.line) for d in reading.metadata.dependencies] == [
        ("tool:a/b", "^1", 3),
        ("c/d", None, 3),
    ]
    assert found(parse(f'formula = "x"\nversion = "x"\ndependencies = "y"\n{STEP}')) == [("F08", 2), ("F08", 3)]
    assert found(parse(f'formula = "x"\nversion = true\n{STEP}')) == [("F08", 2)]
    assert found(parse(f'formula = "x"\nversion = 1.5\n{STEP}')) == [("F08", 2)]


# --- graph and JSON ---------------------------------------------------------------------------------------------------


def test_the_graph_as_text_and_mermaid() -> None:
    first = '[[steps]]\nid = "b"\nneeds = ["a"]\ntitle = "B \\"]; click"\n'
    value = formula(f'formula = "x"\n{first}[[steps]]\nid = "a"\nparallel = true\n')
    assert as_text(value).startswith("1. a  [parallel]\n2. b  ")
    assert 's0["B #34;#93;#59; click"]' in as_mermaid(value)
    assert "s1 --> s0" in as_mermaid(value)


def test_show_is_json_with_the_fields_of_the_design() -> None:
    shown = json.loads(
        json.dumps(as_json(formula(f'formula = "x"\nwhen = 2026-01-01T00:00:00Z\n{STEP}day = 2026-01-01\n')))
    )
    assert {"formula", "type", "steps", "graph"} <= set(shown)
    assert shown["steps"][0]["day"] == "2026-01-01"
    assert shown["extra"] == {"when": "2026-01-01T00:00:00+00:00"}


def test_an_extra_key_cannot_pose_as_a_known_one_in_json() -> None:
    assert as_json(formula(f'formula = "x"\n{STEP}'))["steps"][0]["id"] == "a"  # type: ignore[index]


def test_the_template_is_valid_and_publishable() -> None:
    assert parse(template("x"), publishing=True).diagnostics == ()


@pytest.mark.corpus
def test_all_real_formulas_parse() -> None:
    paths = sorted(shared("corpus/gastown/formulas").glob("*.formula.toml"))
    assert len(paths) == 21
    kinds: dict[str, str] = {}
    for path in paths:
        stem = path.name.removesuffix(".formula.toml")
        reading = parse(path.read_text(encoding="utf-8"), stem)
        assert found(reading) == [], stem
        kinds[stem] = parsed(reading).type
    assert sum(kind == "workflow" for kind in kinds.values()) == 17
    assert (kinds["design"], kinds["tdd-cycle"], kinds["security-audit"]) == ("convoy", "expansion", "aspect")


# --- hostile input ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "toml",
    rest_thorough(4, [
        "a" + ".a" * 120_000 + " = 1",
        "[" + "a." * 100_000 + "a]",
        "x = {a" + ".a" * 100_000 + " = 1}",
        "a = " + "[" * 100_000,
        "a = " + "{b = " * 5_000,
        'a = "' + "\\" * 100_000,
        'a = """' + '"' * 100_000,
        "a = " + "9" * 20_000,
        "a" + " " * 200_000 + "= 1",
        "[" * 100_000,
        "[[steps]]\n" * 5_000,
        "".join(f'[[steps]]\nid = "s{n}"\nneeds = ["s{n - 1}"]\n' for n in range(1, 1_500)) + '[[steps]]\nid = "s0"\n',
        "".join(f'[[steps]]\nid = "s{n}"\nneeds = ["s{(n + 1) % 1_500}"]\n' for n in range(1_500)),
        '[[steps]]\nid = "a"\nneeds = [' + ", ".join(f'"n{n}"' for n in range(20_000)) + "]\n",
        '[[steps]]\nid = "a"\nchildren = ' + "[{children = " * 15 + "[]" + "}]" * 15,
    ]),
)  # fmt: skip
def test_hostile_toml_takes_bounded_time(toml: str) -> None:
    started = time.thread_time()
    parse(toml)
    parse('formula = "x"\n' + toml)
    assert time.thread_time() - started < 4


def test_depth_is_capped() -> None:
    with pytest.raises(TomlError, match="nested more than"):
        read_toml("a = " + "[" * 40 + "]" * 40)
    read_toml("a = " + "[" * 31 + "]" * 31)


@pytest.mark.parametrize("escape", ["\\u200b", "\\u0000", "\\u202E", "\\U000E0041", "\\b"])
def test_escapes_cannot_write_what_the_file_may_not_hold(escape: str) -> None:
    assert found(parse(f'formula = "x"\n[[steps]]\nid = "a"\ndescription = "do{escape} it"\n'))[0][0] == "F01"


def test_toml_errors_have_their_place() -> None:
    (error,) = parse('formula = "x"\n[[steps]\n').diagnostics
    assert (error.code, error.line) == ("F01", 2)


_PARTS = st.sampled_from(
    [
        'formula = "x"', "[[steps]]", 'id = "a"', 'id = "b"', 'needs = ["a", "b"]', "[vars]", 'v = "{{v}}"', "[compose]",
        "[[compose.expand]]", 'target = "a"', 'with = "e"', 'description = """', '"""', "[[steps.children]]", "[[template]]",
        "x = {a = 1}", 'extends = ["x"]', "# c",
    ]
)  # fmt: skip


@given(st.lists(_PARTS, max_size=20).map("\n".join) | st.text(max_size=100))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_text_crashes_the_reader(text: str) -> None:
    reading = parse(text)
    if reading.value is not None:
        json.dumps(as_json(reading.value))
    else:
        assert found(reading)


_GRAPHS = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3), max_size=6)


@given(_GRAPHS)
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_cycle_is_found_exactly_where_no_order_exists(needs: dict[str, list[str]]) -> None:
    steps = [Step(id=name, needs=tuple(n for n in targets if n in needs)) for name, targets in needs.items()]
    path = cycle(steps)
    order = in_work_order(steps)
    assert sorted(step.id for step in order) == sorted(needs)
    if path is None:
        place = {step.id: index for index, step in enumerate(order)}
        assert all(place[need] < place[step.id] for step in steps for need in step.needs)
    else:
        assert path[0] == path[-1]
        assert all(b in needs[a] for a, b in pairwise(path))
