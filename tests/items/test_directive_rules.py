"""The twelve numbered validation rules, each broken in every way that the documents name (DECISIONS Directives 3 to 6)."""

from __future__ import annotations

import pytest

from rye.text.diagnostics import strict
from tests.items.test_directive_sample import AFTER, FENCE, changed, findings, line_of, only, reading, text, value

PERMISSIONS = FENCE[FENCE.index("    <permissions>") : FENCE.index("    <cost>")]
COST = FENCE[FENCE.index("    <cost>") : FENCE.index("    <context>")]
LIMITS = '    <limits turns="6" max_tokens="4096" spend="0.05" />\n'


@pytest.mark.parametrize("attribute", [' name="deploy_app"', ' version="1.2.3"'])
def test_R01_name_and_version_are_required(attribute: str) -> None:
    found = only(changed(attribute, ""), "R01")
    assert (found.severity, found.line, found.column) == ("error", 6, 1)
    assert attribute.strip().split("=")[0] in found.message


@pytest.mark.parametrize("attribute", ["name", "version"])
def test_R01_empty_counts_as_missing(attribute: str) -> None:
    written = {"name": 'name="deploy_app"', "version": 'version="1.2.3"'}[attribute]
    assert ("error", "R01") in findings(changed(written, f'{attribute}=" "'))


@pytest.mark.parametrize("tag", ["description", "category", "author"])
def test_R02_each_text_field_is_required_and_not_blank(tag: str) -> None:
    start = FENCE.index(f"<{tag}>")
    end = FENCE.index(f"</{tag}>") + len(f"</{tag}>")
    assert findings(text(FENCE[:start] + FENCE[end:])) == [("error", "R02")]
    assert findings(text(FENCE[:start] + f"<{tag}> </{tag}>" + FENCE[end:])) == [("error", "R02")]


def test_R02_model_and_permissions_are_required() -> None:
    model = FENCE[FENCE.index("<model") : FENCE.index("</model>") + 8]
    assert findings(changed(model, "")) == [("error", "R02")]
    assert findings(changed(PERMISSIONS, "")) == [("error", "R02")]


def test_R02_a_missing_cost_is_a_warning_beside_limits_and_an_error_without_or_under_strict() -> None:
    assert findings(changed(COST, "")) == [("warning", "R02")]
    assert [found.severity for found in strict(reading(changed(COST, "")).diagnostics)] == ["error"]
    assert findings(text(FENCE.replace(COST, "").replace(LIMITS, ""))) == [("error", "R02")]


def test_R02_no_metadata_names_every_missing_field() -> None:
    bare = text('<directive name="deploy_app" version="1.2.3"></directive>')
    assert [code for _, code in findings(bare)].count("R02") == 7


@pytest.mark.parametrize(
    "version",
    ["1", "1.0", "v1.0.0", "01.0.0", "1.00.0", "1.0.0-rc.1", "1.0.0+b", "1.0.0 ", "1.0.0.0", "１.0.0", "1.0.x"],
)
def test_R03_versions_are_exactly_three_numbers(version: str) -> None:
    assert findings(changed('version="1.2.3"', f'version="{version}"')) == [("error", "R03")]


@pytest.mark.parametrize("version", ["0.0.0", "1.0.0", "10.20.30"])
def test_R03_lets_plain_versions_pass(version: str) -> None:
    assert findings(changed('version="1.2.3"', f'version="{version}"')) == []


@pytest.mark.parametrize("tier", ["", 'tier=""', 'tier=" "'])
def test_R04_a_model_needs_a_tier(tier: str) -> None:
    content = changed('tier="general"', tier)
    assert findings(content) == [("error", "R04")]
    assert only(content, "R04").line == line_of(content, "<model")
    assert value(content).model is None


def test_R04_any_tier_will_do() -> None:
    assert findings(changed('tier="general"', 'tier="our own"')) == []


def test_R05_the_category_is_the_folder() -> None:
    content = changed("<category>workflows<", "<category>other/place<")
    found = only(content, "R05")
    assert found.line == 9
    assert found.hint is not None
    assert "directives/other/place/" in found.hint
    assert reading(content, category="other/place").ok
    assert reading(content, category=None).ok
    assert not reading(content, category="").ok
    assert not reading(content, category="other").ok


@pytest.mark.parametrize("category", ["../etc", "/workflows", "workflows/", "Work", "a b", "a//b", "con"])
def test_R05_a_category_is_a_folder_path(category: str) -> None:
    assert findings(changed("<category>workflows<", f"<category>{category}<")) == [("error", "R05")]


@pytest.mark.parametrize(
    "inside",
    [
        "",
        "all",
        "**",
        "<acknowledge>I know</acknowledge>",
        "*<execute>*</execute>",
        "<execute>*</execute>*",
        "text<execute>*</execute>",
        "*<acknowledge>x</acknowledge>",
        "<tool>rye.shell.*</tool>",
        "<write>*</write>",
        "<Execute>*</Execute>",
        "<raw>*</raw>",
        "<execute>all</execute>",
        "<execute>*<tool>a</tool></execute>",
        "<execute>x<tool>a</tool></execute>",
        "<execute><tool>a</tool>x</execute>",
        "<execute><agent>a</agent></execute>",
        "<execute><execute><tool>a</tool></execute></execute>",
    ],
)
def test_R06_permissions_are_primaries_with_item_types_or_a_star_alone(inside: str) -> None:
    content = changed(PERMISSIONS, f"<permissions>{inside}</permissions>")
    assert ("error", "R06") in findings(content)
    assert value(content).permissions == ()


def test_R06_a_bare_tool_is_shown_with_a_primary_around_it() -> None:
    hints = [
        found.hint or ""
        for found in reading(changed(PERMISSIONS, "<permissions><tool>a.b</tool></permissions>")).diagnostics
        if found.code == "R06"
    ]
    assert any("<execute><tool>a.b</tool></execute>" in hint for hint in hints)


@pytest.mark.parametrize(
    ("inside", "capabilities"),
    [
        ("*", ("rye.*",)),
        (" \n * \t", ("rye.*",)),
        ("<execute>*</execute>", ("rye.execute.*",)),
        ("<search>*</search><load>*</load>", ("rye.load.*", "rye.search.*")),
        ("<sign><directive>*</directive></sign>", ("rye.sign.directive.*",)),
        ("<load><knowledge>rye/core/*</knowledge></load>", ("rye.load.knowledge.rye.core.*",)),
        ("<execute><tool>&#42;</tool></execute>", ("rye.execute.tool.*",)),
        ("<acknowledge risk='high'>why</acknowledge><execute><tool>a</tool></execute>", ("rye.execute.tool.a",)),
    ],
)
def test_capability_strings(inside: str, capabilities: tuple[str, ...]) -> None:
    result = reading(changed(PERMISSIONS, f"<permissions>{inside}</permissions>"))
    assert result.ok
    assert result.metadata is not None
    assert result.metadata.capabilities == capabilities


def test_permissions_know_their_places() -> None:
    (first, second) = value(text()).permissions
    assert (first.capability, first.line, first.column) == ("rye.execute.tool.rye.shell.*", 14, 16)
    assert (second.capability, second.line, second.column) == ("rye.search.directive.*", 15, 15)


def test_a_doubled_permission_is_an_error_and_two_permissions_grant_nothing() -> None:
    doubled = "<permissions><execute><tool>a.b</tool><tool>a/b</tool></execute></permissions>"
    assert findings(changed(PERMISSIONS, doubled)) == [("error", "D030")]
    two = changed(PERMISSIONS, PERMISSIONS + "<permissions>*</permissions>")
    assert findings(two) == [("error", "D013")]
    assert value(two).permissions == ()


def test_a_repeated_primary_is_the_union() -> None:
    """DECISIONS Directives 19: real files have it, and the format does not forbid it."""
    primary = "<execute><tool>{}</tool></execute>"
    twice = changed(PERMISSIONS, f"<permissions>{primary.format('a')}{primary.format('b')}</permissions>")
    assert [finding for finding in findings(twice) if finding[0] == "error"] == []
    assert [one.capability for one in value(twice).permissions] == ["rye.execute.tool.a", "rye.execute.tool.b"]
    same = changed(PERMISSIONS, f"<permissions>{primary.format('a')}{primary.format('a')}</permissions>")
    assert [finding for finding in findings(same) if finding[0] == "error"] == []
    assert [one.capability for one in value(same).permissions] == ["rye.execute.tool.a"]
    everything = changed(PERMISSIONS, "<permissions><load>*</load><load><tool>a</tool></load></permissions>")
    assert value(everything).capabilities == ("rye.load.*", "rye.load.tool.a")


def test_permissions_outside_the_metadata_are_an_error_and_grant_nothing() -> None:
    content = text(FENCE.replace(PERMISSIONS, "").replace("</metadata>", "</metadata><permissions>*</permissions>"))
    assert set(findings(content)) == {("error", "D011"), ("error", "R02")}
    assert value(content).permissions == ()


def test_an_attribute_in_permissions_is_an_error() -> None:
    assert findings(changed("<tool>rye.shell.*", '<tool id="x">rye.shell.*')) == [("error", "D012")]


def test_an_empty_primary_is_a_warning() -> None:
    assert findings(changed(PERMISSIONS, "<permissions><load/><search>*</search></permissions>")) == [
        ("warning", "D031")
    ]


@pytest.mark.parametrize(
    ("cost", "code"),
    [
        ("<cost/>", "R07"),
        ("<cost><duration>5</duration></cost>", "R07"),
        ("<cost><context/></cost>", "R07"),
        ('<cost><context turns="5"/></cost>', "R07"),
        ('<cost><context estimated_usage="low"/></cost>', "R07"),
        ('<cost><context estimated_usage="" turns="5"/></cost>', "R07"),
        ('<cost><context estimated_usage="huge" turns="5"/></cost>', "R07"),
        ('<cost><context estimated_usage="low" turns="0"/></cost>', "R07"),
        ('<cost><context estimated_usage="low" turns="five"/></cost>', "R07"),
        ('<cost><context estimated_usage="low" turns="5" spawn_threshold="x"/></cost>', "D021"),
        ('<cost><context estimated_usage="low" turns="5">many</context></cost>', "D021"),
        ('<cost><context estimated_usage="low" turns="5"/><duration>1.5</duration></cost>', "D021"),
        ('<cost><context estimated_usage="low" turns="5"/><spend>NaN</spend></cost>', "D021"),
        ('<cost><context estimated_usage="low" turns="5"/><spend>-1</spend></cost>', "D021"),
        ('<cost><context estimated_usage="low" turns="5"/><spend>1</spend><spend>2</spend></cost>', "D013"),
    ],
)
def test_R07_cost_needs_a_context_with_usage_and_turns_and_its_numbers_are_numbers(cost: str, code: str) -> None:
    assert findings(changed(COST, cost)) == [("error", code)]


@pytest.mark.parametrize(
    "path", ["", " ", "a..b", ".a", "a.", "a b", "a[b", "a]", "a{b}", "ä", "a//b", "a,b", "<b/>", "a$", "[]", "a\\b"]
)
def test_R08_malformed_capability_paths(path: str) -> None:
    content = changed("rye.shell.*", path)
    assert findings(content) == [("error", "R08")]
    assert value(content).capabilities == ("rye.search.directive.*",)


@pytest.mark.parametrize("path", ["*", "a", "a.b-c_d", "a/b/*", "rye.agent.*", "a?c", "[ab]x", "A1.*.z"])
def test_R08_lets_patterns_pass(path: str) -> None:
    assert findings(changed("rye.shell.*", path)) == []


@pytest.mark.parametrize("relation", ["requires", "depends_on", "used_by", "suggests", "conflicts_with", "example_of"])
def test_R09_relations_are_direct_children_of_context(relation: str) -> None:
    element = f"<{relation}>a/b</{relation}>"
    direct = value(changed("    </context>\n    <hooks>", f"{element}</context>\n    <hooks>"))
    assert direct.context.relations[-1].relation == relation
    for old, new in [
        ("<author>team", f"{element}<author>team"),
        ("    </context>\n    <hooks>", f"<relations>{element}</relations></context>\n    <hooks>"),
        ("</cost>", f"{element}</cost>"),
        ("  <inputs>\n    <input", f"{element}<inputs>\n    <input"),
        ("<related_files>", f"<related_files>{element}"),
    ]:
        assert ("error", "R09") in findings(changed(old, new)), old


def test_R09_leaves_hook_inputs_outputs_and_opaque_sections_alone() -> None:
    assert findings(changed("<limit>${cost.limit}</limit>", "<requires>x</requires>")) == []
    assert findings(changed("  <outputs>", "<template><requires>x</requires></template><outputs>")) == []
    outputs = FENCE[FENCE.index("  <outputs>") : FENCE.index("</directive>", FENCE.index("</outputs>"))]
    assert findings(changed(outputs, "<outputs><requires>x</requires></outputs>")) == []


@pytest.mark.parametrize("when", ["cost.current &gt;", "f(x)", "a ** b", "1 < 2 < 3".replace("<", "&lt;"), "a b", "'x"])
def test_R10_a_condition_that_does_not_parse(when: str) -> None:
    content = changed("cost.current &gt; cost.limit * 0.9", when)
    found = only(content, "R10")
    assert (found.severity, found.line) == ("error", line_of(content, "<when>"))
    assert value(content).hooks[0].expression is None


def test_R10_the_column_is_the_file_s_even_behind_an_entity() -> None:
    content = changed("<when>cost.current &gt; cost.limit * 0.9</when>", "<when>cost.current &gt; weather.rain</when>")
    found = only(content, "R10")
    assert found.severity == "warning"
    assert found.column is not None
    assert content.split("\n")[(found.line or 0) - 1][found.column - 1 :].startswith("weather.rain")


@pytest.mark.parametrize(
    ("when", "wrong"),
    [
        ("<![CDATA[a < <!-- ]]>", "<!-- "),
        ("<![CDATA[ a & ; )]]>", "& ;"),
        ("<![CDATA[a]]> )", ")"),
        ("<!-- c -->  a )", ")"),
    ],
)
def test_R10_the_column_is_the_file_s_in_and_behind_cdata_and_comments(when: str, wrong: str) -> None:
    content = changed("cost.current &gt; cost.limit * 0.9", when)
    found = only(content, "R10")
    assert found.line is not None
    assert found.column is not None
    assert content.split("\n")[found.line - 1][found.column - 1 :].startswith(wrong)


def test_R10_a_condition_on_its_own_line_is_found_there() -> None:
    content = changed("<when>cost.current &gt; cost.limit * 0.9</when>", "<when>\n          nope == 1\n        </when>")
    found = only(content, "R10")
    assert (found.line, found.column) == (line_of(content, "nope"), 11)


@pytest.mark.parametrize("known", ["cost.current", "loop_count", "error.type", "deviation.message", "directive.name"])
def test_R10_knows_the_context_variables(known: str) -> None:
    assert findings(changed("cost.current &gt; cost.limit * 0.9", f"{known} == 1")) == []


def test_R11_input_names_are_unique_and_the_first_counts() -> None:
    content = changed('<input name="retries" type="integer"', '<input name="environment" type="integer"')
    found = only(content, "R11")
    assert found.line == line_of(content, '<input name="environment" type="integer"')
    assert [(one.name, one.type) for one in value(content).inputs] == [("environment", "string")]


def test_R12_a_process_inside_the_fence() -> None:
    content = changed("\n</directive>", "\n  <process><step name='x'>a</step></process>\n</directive>")
    found = only(content, "R12")
    assert (found.line, found.column) == (line_of(content, "<process><step name='x'"), 3)
    assert found.hint is not None
    assert "after the fence" in found.hint


def test_R12_is_reported_even_where_the_process_breaks_the_xml() -> None:
    content = changed("\n</directive>", "\n  <process>use a & b, then <name></process>\n</directive>")
    assert [code for _, code in findings(content)] == ["R12", "D003"]


def test_R12_a_process_before_the_fence_but_not_one_in_code_or_comments() -> None:
    before = "# T\n\n"
    assert findings(text(before=f"{before}{AFTER}\n", after="")) == [("error", "R12")]
    assert findings(text(before=f"{before}```\n<process>\n</process>\n```\n\n")) == []
    assert findings(text(before=f"{before}Steps stand in `<process>`.\n\n")) == []
    assert findings(text(before=f"{before}<!-- <process> -->\n\n")) == []


@pytest.mark.parametrize("name", ["DeployApp", "deploy-app", "1deploy", "_deploy", "deploy app", "déploy", "a" * 65])
def test_names_are_snake_case(name: str) -> None:
    result = reading(changed('name="deploy_app"', f'name="{name}"'), name=None)
    assert [found.code for found in result.diagnostics] == ["D010"]


def test_the_name_is_the_file_s() -> None:
    assert [found.code for found in reading(text(), name="other").diagnostics] == ["D010"]
    assert reading(text(), name=None).diagnostics == ()


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ('turns="6" tokens="4096"', {"max_turns": 6, "max_tokens": 4096}),
        ('turns="6" max_turns="6"', {"max_turns": 6}),
        ('depth="0" spawns="2" duration_seconds="60"', {"depth": 0, "spawns": 2, "duration_seconds": 60}),
    ],
)
def test_limits_and_their_aliases(limits: str, expected: dict[str, int]) -> None:
    content = changed('turns="6" max_tokens="4096" spend="0.05"', limits)
    assert findings(content) == []
    assert value(content).limits == expected


@pytest.mark.parametrize("limits", ['turns="6" max_turns="7"', 'turns="x"', 'tokens="0"', 'spend="1e5"', 'turns="-1"'])
def test_limits_that_contradict_or_are_no_numbers(limits: str) -> None:
    content = changed('turns="6" max_tokens="4096" spend="0.05"', limits)
    assert findings(content) == [("error", "D020")]
    assert value(content).limits == {}


def test_unknown_elements_and_attributes_come_with_a_did_you_mean() -> None:
    found = only(changed("<author>team</author>", "<author>team</author><limit/>"), "D011")
    assert (found.severity, found.hint) == ("warning", "Did you mean `<limits>`?")
    found = only(changed("max_tokens", "max_token"), "D012")
    assert (found.severity, found.hint) == ("warning", "Did you mean `max_tokens`?")
    assert findings(changed('version="1.2.3"', 'version="1.2.3" extends="x"')) == [("error", "D012")]


@pytest.mark.parametrize("tag", ["metadata", "inputs", "outputs"])
def test_a_doubled_part_is_an_error(tag: str) -> None:
    assert ("error", "D013") in findings(changed("\n</directive>", f"<{tag}/>\n</directive>"))


@pytest.mark.parametrize("tag", ["description", "category", "author", "model", "limits", "cost", "context", "hooks"])
def test_a_doubled_field_is_an_error(tag: str) -> None:
    assert ("error", "D013") in findings(changed("  </metadata>", f"<{tag}/></metadata>"))


def test_a_second_metadata_takes_every_grant_and_hook_away() -> None:
    content = changed("  </metadata>", "  </metadata><metadata/>")
    assert value(content).permissions == ()
    assert value(content).hooks == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<when>cost.current &gt; cost.limit * 0.9</when>", ""),
        ("<when>cost.current &gt; cost.limit * 0.9</when>", "<when/>"),
        ('<execute item_type="directive">warn-cost</execute>', ""),
        ('item_type="directive"', ""),
        ('item_type="directive"', 'item_type="agent"'),
        ("warn-cost", ""),
        ("warn-cost", "../x"),
        ("warn-cost", "${error.type}"),
        ("<limit>${cost.limit}</limit>", "<limit>a</limit><limit>b</limit>"),
        ("<limit>${cost.limit}</limit>", "<limit><b/></limit>"),
    ],
)
def test_incomplete_hooks(old: str, new: str) -> None:
    assert ("error", "D050") in findings(changed(old, new))


def test_a_hook_with_two_actions_executes_none() -> None:
    two = '<execute item_type="directive">warn-cost</execute><execute item_type="tool">rye/shell/run</execute>'
    content = changed('<execute item_type="directive">warn-cost</execute>', two)
    assert findings(content) == [("error", "D013")]
    assert value(content).hooks == ()


@pytest.mark.parametrize(
    "declaration",
    [
        '<input type="string"/>',
        '<input name="1a" type="string"/>',
        '<input name="a-b" type="string"/>',
        '<input name="a"/>',
        '<input name="a" type="number"/>',
        '<input name="a" type="integer" default="x"/>',
        '<input name="a" type="boolean" default="1"/>',
        '<input name="a" type="array" default="{}"/>',
        '<input name="a" type="string" required="yes"/>',
    ],
)
def test_malformed_inputs(declaration: str) -> None:
    assert findings(changed("  </inputs>\n  <outputs>", declaration + "</inputs><outputs>")) == [("error", "D060")]


@pytest.mark.parametrize(
    ("outputs", "code"),
    [
        ("<output>x</output>", "D061"),
        ('<output name="  ">x</output>', "D061"),
        ('<output name="a">x</output><output name="a">y</output>', "D061"),
        ("<success>x</success><output name='a'>y</output>", "D061"),
        ("<success>x</success><success>y</success>", "D013"),
        ("<ouput name='a'>y</ouput>", "D011"),
        ("<output name='a'>y</output><b>z</b>", "D011"),
        ("text", "D014"),
    ],
)
def test_malformed_outputs(outputs: str, code: str) -> None:
    whole = FENCE[FENCE.index("  <outputs>") : FENCE.index("</outputs>") + 10]
    assert findings(changed(whole, f"<outputs>{outputs}</outputs>")) == [("error", code)]


def test_an_outputs_name_that_is_no_plain_word_is_kept_and_warned_of() -> None:
    whole = FENCE[FENCE.index("  <outputs>") : FENCE.index("</outputs>") + 10]
    content = changed(
        whole, '<outputs><output name="a&amp;&quot;b &lt;">x</output><output name="c">y</output></outputs>'
    )
    assert findings(content) == [("warning", "D061")]
    outputs = value(content).outputs
    assert isinstance(outputs, tuple)
    assert [output.name for output in outputs] == ['a&"b <', "c"]


@pytest.mark.parametrize(
    ("element", "code"),
    [
        ("<depends_on>A b</depends_on>", "D040"),
        ("<depends_on/>", "D040"),
        ("<depends_on>../x</depends_on>", "D040"),
        ("<depends_on>widget:a/b</depends_on>", "D040"),
        ('<depends_on version="">a</depends_on>', "D041"),
        ('<depends_on version="latest!">a</depends_on>', "D041"),
        ('<depends_on version="banana">a</depends_on>', "D041"),
        ('<depends_on version="1.2.3.4">a</depends_on>', "D041"),
        ("<depends_on>a@01.2</depends_on>", "D041"),
        ('<depends_on version="^1">a@^2</depends_on>', "D041"),
        ("<depends_on>a<version>^1.2</version></depends_on>", "D011"),
        ("<conflicts_with><id/>a</conflicts_with>", "D011"),
        ('<depends_on versoin="^1">a</depends_on>', "D012"),
    ],
)
def test_malformed_relations(element: str, code: str) -> None:
    """DECISIONS Directives 21."""
    assert findings(changed("<requires>docker-runtime</requires>", element)) == [("error", code)]


@pytest.mark.parametrize("wanted", ["^1.2", "~1.4", "&gt;=1, &lt;3", "1.x || 2.x", "*", "1.0.0-rc.1 - 2"])
def test_ranges_that_the_solver_reads_are_accepted(wanted: str) -> None:
    element = f'<depends_on version="{wanted}">a</depends_on>'
    assert findings(changed("<requires>docker-runtime</requires>", element)) == []


@pytest.mark.parametrize(
    ("place", "part"),
    [
        ("<cost>", "<inputs><input name='z' type='string'/></inputs>"),
        ("<cost>", "<outputs/>"),
        ("<cost>", "<metadata><permissions>*</permissions></metadata>"),
        ("<related_files>", "<permissions>*</permissions>"),
        ("<related_files>", "<limits max_turns='999'/>"),
        ("<related_files>", "<hooks/>"),
    ],
)
def test_what_grants_or_bounds_a_run_is_an_error_anywhere_but_in_its_place(place: str, part: str) -> None:
    assert findings(changed(place, part + place)) == [("error", "D011")]


def test_a_placeholder_for_an_undeclared_input_is_a_warning_with_its_place() -> None:
    content = text(after=AFTER.replace("It runs in {input:environment}", "It runs in {input:enviroment}"))
    found = only(content, "D080")
    assert (found.severity, found.line) == ("warning", line_of(content, "{input:enviroment}"))
    assert content.split("\n")[(found.line or 0) - 1][(found.column or 0) - 1 :].startswith("{input:enviroment}")


def test_placeholders_are_checked_wherever_they_are_rendered() -> None:
    above = only(text(before="# Deploy {input:nope}\n\nDeploys it.\n\n"), "D080")
    assert (above.line, above.column) == (1, 10)
    below = only(text(before="# Deploy\n\nDeploys\n{input:nope?}.\n\n"), "D080")
    assert (below.line, below.column) == (4, 1)
    assert findings(text(before="# Deploy {input:retries}\n\nDeploys {input:environment}.\n\n")) == []
    outputs = FENCE[FENCE.index("  <outputs>") : FENCE.index("</outputs>") + 10]
    legacy = changed(outputs, "<outputs><success>{input:nope}</success></outputs>")
    assert findings(legacy) == [("warning", "D080")]
    described = text(FENCE.replace("Deploy the app<", "Deploy {input:nope}<"), before="# T\n\n")
    assert findings(described) == [("warning", "D080")]
