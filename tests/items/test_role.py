"""Roles: every section rule and the rules of the set (DEC-0010; DECISIONS Roles 1 to 5)."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.items.reading import Reading, ReadOptions, Source
from rye.items.role.closed_set import check_set
from rye.items.role.model import Role
from rye.items.role.reader import as_json, read, template
from rye.items.role.sections import slug
from rye.text.diagnostics import Diagnostic, strict
from tests.scenes.effort import tries
from tests.scenes.parsed import parsed
from tests.scenes.shared_data import shared

EXAMPLES = tries(60, 1000)
SECTIONS = {
    "Identity": "You are the Builder.",
    "Flow": "```mermaid\nflowchart LR\n```",
    "Responsibilities": "- build",
    "You Must Not": "- plan",
    "Input Contract": "- **From the Nexus:** the task",
    "Output Contract": "### Output Format — Note\n\n```markdown\n# Note\n## Inside the template\n```",
    "Tool Permissions": (
        "**Declared access level:** Tier 3 — Read and Write\n\n- You MAY: read\n- You MAY NOT: push\n"
        "- You MUST ASK the Nexus before: deploying"
    ),
    "Handoff Protocol": "**You receive work from:** Nexus\n**You hand off to:** Nexus",
    "Escalation Triggers": "- If it breaks, ask\n- When in doubt, ask",
    "Behavioral Principles": "1. **One.** a\n2. **Two.** b\n3. **Three.** c",
    "Profile Variants": "| Profile | What |\n|---|---|\n| Casual | a |\n| **Commercial** | b |\n| Critical | c |\n| Vital | d |",
}


def role_text(
    sections: Mapping[str, str | None] | None = None,
    order: list[str] | None = None,
    name: str = "Builder",
    head: str = "",
) -> str:
    content = {**SECTIONS, **(sections or {})}
    names = order or list(content)
    body = "".join(f"## {key}\n\n{content[key]}\n\n" for key in names if content[key] is not None)
    return f"{head}# {name} — Nexus SDLC Agent\n\n> It builds.\n\n{body}"


def parse(text: str, stem: str | None = "builder", publishing: bool = False) -> Reading[Role]:
    return read(Source(text, "builder.md", stem, ""), ReadOptions(publishing=publishing))


def change(**sections: str | None) -> Reading[Role]:
    return parse(role_text({key.replace("_", " "): value for key, value in sections.items()}))


def only(reading: Reading[Role]) -> Diagnostic:
    (diagnostic,) = reading.diagnostics
    return diagnostic


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_a_role_that_keeps_every_rule() -> None:
    reading = parse(role_text(), publishing=True)
    assert reading.diagnostics == ()
    value: Role = parsed(reading)
    assert (value.name, value.slug, value.tagline, value.tier, value.tier_name) == (
        "Builder",
        "builder",
        "It builds.",
        3,
        "Read and Write",
    )
    assert reading.metadata is not None
    assert (reading.metadata.name, reading.metadata.version, reading.metadata.capabilities) == ("builder", None, ())


# --- 1, 5: title and tagline ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "title",
    [
        "# Builder - Nexus SDLC Agent",
        "# Builder – Nexus SDLC Agent",
        "# Builder — Nexus SDLC agent",
        "# Builder — Nexus",
        "# — Nexus SDLC Agent",
        "# Builder—Nexus SDLC Agent",
        "# Builder",
    ],
)
def test_titles_of_another_form_are_errors(title: str) -> None:
    reading = parse(role_text().replace("# Builder — Nexus SDLC Agent", title))
    assert reading.value is None
    assert (only(reading).severity, only(reading).code, only(reading).line) == ("error", "N01", 1)


def test_a_missing_title() -> None:
    reading = parse("## Identity\n\nx\n")
    assert reading.value is None
    assert {d.code for d in reading.diagnostics} == {"N01", "N03"}


def test_html_comments_may_stand_above_the_title_and_nothing_else() -> None:
    assert parse(role_text(head="<!-- rye:signed:x -->\n\n<!-- two\nlines -->\n\n")).diagnostics == ()
    for head in ("text\n\n", "---\nname: x\n---\n", "- list\n\n", "## Identity\n\n"):
        reading = parse(role_text(head=head))
        assert ("error", "N03", 1) in [(d.severity, d.code, d.line) for d in reading.diagnostics]


@pytest.mark.parametrize(
    ("name", "stem"),
    [("Release Manager", "release-manager"), ("QA", "qa"), ("C++ Reviewer", "c-reviewer"), ("Two  Words", "two-words")],
)
def test_the_slug_of_the_name_is_the_stem(name: str, stem: str) -> None:
    assert slug(name) == stem
    assert parse(role_text(name=name), stem).diagnostics == ()
    assert (only(parse(role_text(name=name), "other")).severity, only(parse(role_text(name=name), "other")).code) == (
        "error",
        "N02",
    )


def test_a_missing_tagline_is_a_warning() -> None:
    reading = parse(role_text().replace("> It builds.\n", "It builds.\n"))
    assert (only(reading).severity, only(reading).code) == ("warning", "N05")


def test_a_quote_in_a_section_is_no_tagline() -> None:
    text = role_text({"Identity": "> quoted"}).replace("> It builds.\n", "")
    assert "tagline" in only(parse(text)).message


# --- 2: errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "Identity", "Responsibilities", "You Must Not", "Input Contract", "Tool Permissions", "Handoff Protocol",
        "Escalation Triggers", "Behavioral Principles",
    ],
)  # fmt: skip
def test_a_missing_required_section_is_an_error(name: str) -> None:
    reading = parse(role_text({name: None}))
    assert (only(reading).severity, only(reading).code) == ("error", "N10")
    assert name in only(reading).message


@pytest.mark.parametrize("name", ["Flow", "Output Contract", "Profile Variants"])
def test_a_missing_advisable_section_is_a_warning_and_an_error_when_strict(name: str) -> None:
    reading = parse(role_text({name: None}))
    assert (only(reading).severity, only(reading).code) == ("warning", "N12")
    assert {d.severity for d in strict(reading.diagnostics)} == {"error"}


@pytest.mark.parametrize("written", ["identity", "IDENTITY", "Identity:", "The Identity"])
def test_section_names_match_exactly(written: str) -> None:
    reading = parse(role_text().replace("## Identity", f"## {written}"))
    assert [(d.severity, d.code) for d in reading.diagnostics] == [("error", "N10"), ("info", "N14")]


def test_headings_inside_templates_are_no_sections() -> None:
    assert "Inside the template" not in as_json(parsed(parse(role_text())))["sections"]  # type: ignore[operator]


def test_a_repeated_section_is_an_error_at_the_second() -> None:
    text = role_text() + "## Flow\n\nagain\n"
    reading = parse(text)
    assert (only(reading).severity, only(reading).line) == ("error", line_of(text, "## Flow\n\nagain"))


@pytest.mark.parametrize(
    "line",
    [
        "**Declared access level:** Tier 5 — Root",
        "**Declared access level:** Tier -1 — Root",
        "**Declared access level:** Tier 3 - Read",
        "**Declared access level:** Tier 3",
        "**Declared access level:** Tier 3 — ",
        "**Declared access level:** tier 3 — Read",
        "**Declared Access Level:** Tier 3 — Read",
        "Declared access level: Tier 3 — Read",
        "**Declared access level**: Tier 3 — Read",
        "- **Declared access level:** Tier 3 — Read",
        "",
    ],
)
def test_the_tier_line_has_one_form(line: str) -> None:
    text = role_text().replace("**Declared access level:** Tier 3 — Read and Write", line)
    reading = parse(text)
    assert (only(reading).severity, only(reading).code) == ("error", "N20")
    assert parsed(reading).tier is None


@pytest.mark.parametrize("number", range(5))
def test_tiers_0_to_4(number: int) -> None:
    text = role_text().replace("Tier 3 — Read and Write", f"Tier {number} — Anything (really)  ")
    assert (parsed(parse(text)).tier, parsed(parse(text)).tier_name) == (number, "Anything (really)")


def test_a_second_tier_line_is_an_error() -> None:
    twice = SECTIONS["Tool Permissions"] + "\n\n**Declared access level:** Tier 4 — Root\n"
    reading = change(Tool_Permissions=twice)
    assert (only(reading).severity, parsed(reading).tier) == ("error", 3)


def test_a_tier_line_in_a_fence_is_no_tier_line() -> None:
    rest = "- You MAY: a\n- You MAY NOT: b\n- You MUST ASK the Nexus before: c"
    fenced = f"```\n**Declared access level:** Tier 3 — Read\n```\n\n{rest}"
    assert "tier line" in only(change(Tool_Permissions=fenced)).message


@pytest.mark.parametrize(
    ("drop", "severity", "code"),
    [("- You MAY: read\n", "error", "N21"), ("- You MAY NOT: push\n", "error", "N22"),
     ("- You MUST ASK the Nexus before: deploying", "warning", "N23")],
)  # fmt: skip
def test_may_may_not_and_must_ask(drop: str, severity: str, code: str) -> None:
    reading = parse(role_text().replace(drop, ""))
    assert (only(reading).severity, only(reading).code) == (severity, code)


@pytest.mark.parametrize(
    "may", ["- **You MAY:** read", "You MAY: read", "**You MAY:**\n- read", "### You MAY\n\n- read", "1. You MAY read"]
)
def test_what_a_role_may_stands_in_a_bullet_or_above_a_list(may: str) -> None:
    assert parse(role_text().replace("- You MAY: read", may)).diagnostics == ()


@pytest.mark.parametrize("may", ["- You may: read", "- You MAYBE read", "- What You MAY: read", "- You MAY NOT: read"])
def test_other_words_do_not_say_what_a_role_may(may: str) -> None:
    assert only(parse(role_text().replace("- You MAY: read", may))).code == "N21"


@pytest.mark.parametrize(
    "path", ["agents/verifier.md", "`.ai/agents/x.md`", "see agents/[role-name].md", "agents/*.md", "agents/sub/x.md"]
)
def test_a_path_of_an_agents_file_is_an_error_anywhere(path: str) -> None:
    text = role_text({"Responsibilities": f"- read {path}"})
    assert (only(parse(text)).code, only(parse(text)).line) == ("N60", line_of(text, path))
    fenced = role_text({"Responsibilities": f"```\n{path}\n```"})
    assert only(parse(fenced)).code == "N60"


@pytest.mark.parametrize("text", ["subagents/x.md", "agents/readme.txt", "the agents", "agents/ x.md"])
def test_what_is_no_path_of_an_agents_file(text: str) -> None:
    assert change(Responsibilities=f"- {text}").diagnostics == ()


GOOD_TABLES = [
    "| Profile | a |\n|---|---|\n| Casual | x |\n| Commercial | x |\n| Critical | x |\n| Vital | x |",
    "| a | **Casual** | **Commercial** | **Critical** | **Vital** |\n|---|---|---|---|---|\n| x | 1 | 2 | 3 | 4 |",
    "Casual | Commercial | Critical | Vital\n:-: | --- | -: | :-\n1 | 2 | 3 | 4",
    "text\n\n| x |\n|---|\n| y |\n\n| P | a |\n|---|---|\n| Casual | |\n| Commercial | |\n| Critical | |\n| Vital | |",
]
BAD_TABLES = [
    "| Profile | a |\n|---|---|\n| Casual | x |\n| Commercial | x |\n| Critical | x |",
    "| Profile | a |\n|---|---|\n| Casual | x |\n| Commercial | x |\n| Vital | x |\n| Critical | x |",
    "| Profile | a |\n|---|---|\n| Casual | x |\n| Commercial | x |\n| Critical | x |\n| Vital | x |\n| Extreme | x |",
    "| Profile | a |\n|---|---|\n| casual | x |\n| commercial | x |\n| critical | x |\n| vital | x |",
    "no table",
    "| Casual | Commercial | Critical | Vital |",
    "```\n| P | a |\n|---|---|\n| Casual | |\n| Commercial | |\n| Critical | |\n| Vital | |\n```",
]


@pytest.mark.parametrize("table", GOOD_TABLES)
def test_profile_tables(table: str) -> None:
    assert change(Profile_Variants=table).diagnostics == ()


@pytest.mark.parametrize("table", BAD_TABLES)
def test_profile_tables_without_exactly_the_four_in_order(table: str) -> None:
    assert (only(change(Profile_Variants=table)).severity, only(change(Profile_Variants=table)).code) == (
        "error",
        "N50",
    )


# --- 3: warnings ------------------------------------------------------------------------------------------------------


def test_the_canonical_order_and_its_two_swaps() -> None:
    names = list(SECTIONS)
    with_when = [*names[:2], "When This Agent Is Invoked", *names[2:]]
    when = {"When This Agent Is Invoked": "When asked."}
    assert parse(role_text(when, with_when)).diagnostics == ()
    assert parse(role_text(when, ["Identity", "When This Agent Is Invoked", "Flow", *names[2:]])).diagnostics == ()
    assert parse(role_text(None, [*names[:-2], "Profile Variants", "Behavioral Principles"])).diagnostics == ()
    reading = parse(role_text(None, ["Identity", "Responsibilities", "Flow", *names[3:]]))
    assert (only(reading).severity, "'Flow' comes after" in only(reading).message) == ("warning", True)


def test_extra_sections_are_information() -> None:
    assert only(parse(role_text({"The Two Laws": "x"}))).severity == "info"


@pytest.mark.parametrize(
    "contract", ["Nothing.", "### Output Format", "### Output Format - Note", "#### Output Format — Note"]
)
def test_no_titled_output_format(contract: str) -> None:
    assert (only(change(Output_Contract=contract)).severity, only(change(Output_Contract=contract)).code) == (
        "warning",
        "N40",
    )


@pytest.mark.parametrize(("count", "fine"), [(0, False), (2, False), (3, True), (7, True), (8, False)])
@pytest.mark.parametrize("marker", ["-", "1."])
def test_three_to_seven_principles(count: int, fine: bool, marker: str) -> None:
    text = "".join(f"{marker} p{n}\n   - nested\n" for n in range(count)) or "none"
    assert (change(Behavioral_Principles=text).diagnostics == ()) is fine


@pytest.mark.parametrize("trigger", ["If x", "when x", "**If** x", "IF: x", "`When` x"])
def test_triggers_that_start_with_if_or_when(trigger: str) -> None:
    assert change(Escalation_Triggers=f"- {trigger}").diagnostics == ()


@pytest.mark.parametrize("trigger", ["Iffy x", "Whenever x", "Ask if x", "Should x", ""])
def test_triggers_that_do_not(trigger: str) -> None:
    reading = change(Escalation_Triggers=f"- If a\n- {trigger}")
    assert (only(reading).severity, only(reading).code) == ("warning", "N42")


def test_relative_links_warn_and_are_errors_to_publish() -> None:
    text = role_text({"Responsibilities": "- see [x](docs/x.md) and [y](#identity) and [z](https://e.org/z.md)"})
    assert only(parse(text)).severity == "warning"
    assert only(parse(text, publishing=True)).severity == "error"


# --- sets -------------------------------------------------------------------------------------------------------------


def _role(name: str, receives: str, hands: str, inputs: str = "") -> Reading[Role]:
    protocol = f"**You receive work from:** {receives}\n**You hand off to:** {hands}"
    text = role_text({"Handoff Protocol": protocol, "Input Contract": inputs or "- anything"}, name=name)
    reading = parse(text, None)
    assert reading.value is not None
    return reading


def _problems(**readings: Reading[Role]) -> list[tuple[str, str, str]]:
    return [(path, d.severity, d.code) for path, ds in check_set(readings, ReadOptions()).items() for d in ds]


def test_mutual_hand_offs_are_fine() -> None:
    assert (
        _problems(
            a=_role("Planner", "Nexus", "Builder (tasks, notes), Nexus"), b=_role("Builder", "the Planner", "Nexus")
        )
        == []
    )


def test_a_hand_off_to_an_unknown_role_is_an_error_with_its_line() -> None:
    readings = {"a": _role("Planner", "Nexus", "Scaffolder")}
    ((diagnostic,),) = check_set(readings).values()
    assert (diagnostic.severity, diagnostic.code) == ("error", "N31")
    assert diagnostic.line == parsed(readings["a"]).hands_off_to[0].line


def test_a_hand_off_that_the_other_side_does_not_mention_warns() -> None:
    assert _problems(a=_role("Planner", "Nexus", "Builder"), b=_role("Builder", "Nexus", "Nexus")) == [
        ("a", "warning", "N32")
    ]
    assert _problems(a=_role("Planner", "Builder", "Nexus"), b=_role("Builder", "Nexus", "Nexus")) == [
        ("a", "warning", "N32")
    ]


def test_all_agents_answers_for_everyone() -> None:
    hub = _role("Orchestrator", "All agents (completions)", "All agents, Nexus")
    assert _problems(a=hub, b=_role("Builder", "Orchestrator", "Orchestrator")) == []


def test_an_input_from_nobody_warns_and_documents_are_no_roles() -> None:
    inputs = (
        "- **From the Scaffolder:** x\n- **From prior cycles:** x\n- **From the Methodology Manifest:** x\n"
        "- **From Builder outputs:** x\n- **From the Nexus:** x\n- **From agents:** x\n"
    )
    readings = {"a": _role("Planner", "Nexus", "Nexus", inputs), "b": _role("Builder", "Nexus", "Nexus")}
    ((diagnostic,),) = check_set(readings).values()
    assert (diagnostic.severity, "'Scaffolder'" in diagnostic.message) == ("warning", True)


def test_one_role_in_two_files_is_an_error_in_both() -> None:
    found = check_set({"a": _role("Planner", "Nexus", "Nexus"), "b": _role("planner", "Nexus", "Nexus")})
    assert [d.message for ds in found.values() for d in ds] == ["The role 'planner' is defined in a and in b."] * 2


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (
            "Analyst (issues, or notes) or Nexus (questions) or Orchestrator (PASS)",
            ["Analyst", "Nexus", "Orchestrator"],
        ),
        ("the Planner — with the plan", ["Planner"]),
        ("Builder and Verifier; Nexus", ["Builder", "Verifier", "Nexus"]),
        ("None", []),
        ("**Release Manager**.", ["Release Manager"]),
    ],
)
def test_names_on_a_hand_off_line(line: str, names: list[str]) -> None:
    reading = change(Handoff_Protocol=f"**You receive work from:** Nexus\n**You hand off to:** {line}")
    assert [mention.name for mention in parsed(reading).hands_off_to] == names


def test_show_has_the_fields_of_the_design() -> None:
    shown = json.loads(json.dumps(as_json(parsed(parse(role_text())))))
    assert {"name", "tagline", "sections", "tier", "handoff"} <= set(shown)
    assert list(shown["sections"]) == list(SECTIONS)
    assert shown["handoff"] == {"receives_from": ["Nexus"], "hands_off_to": ["Nexus"]}


@pytest.mark.parametrize("name", ["builder", "release-manager"])
def test_the_template_is_valid_alone_and_as_a_set(name: str) -> None:
    reading = parse(template(name), name, publishing=True)
    assert reading.diagnostics == ()
    assert check_set({name: reading}) == {}


@pytest.mark.corpus
def test_the_nine_real_roles_are_read_and_their_findings_make_sense() -> None:
    readings = {
        path.stem: read(Source(path.read_text(encoding="utf-8"), path.name, path.stem, ""), ReadOptions())
        for path in sorted(shared("corpus/nexus/roles").glob("*.md"))
    }
    assert len(readings) == 9
    assert all(reading.value is not None for reading in readings.values())
    errors = {stem: [d.message for d in r.diagnostics if d.severity == "error"] for stem, r in readings.items()}
    assert {stem: found for stem, found in errors.items() if found} == {
        "architect": ["The section 'Input Contract' is missing."]
    }
    assert check_set(readings) == {}
    assert {stem: parsed(r).tier for stem, r in readings.items()}["methodologist"] == 0
    planner = [d.message for d in readings["planner"].diagnostics if d.severity == "warning"]
    assert any("8 behavioral principles" in message for message in planner)
    assert any("MUST ASK" in message for message in planner)


_LINES = st.sampled_from(
    [
        "# A — Nexus SDLC Agent", "## Identity", "## Tool Permissions", "**Declared access level:** Tier 9 — x",
        "- You MAY: x", "| a | b |", "|---|---|", "## Handoff Protocol", "**You hand off to:** (((",
        "**You receive work from:** a, b)", "```", "> q", "- If", "<!--", "-->", "",
    ]
)  # fmt: skip


@given(st.lists(_LINES, max_size=30).map("\n".join) | st.text(max_size=120))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_text_crashes_the_reader(text: str) -> None:
    reading = read(Source(text, "x.md", "x", ""), ReadOptions(publishing=True))
    check_set({"x": reading, "y": reading})
    if reading.value is not None:
        json.dumps(as_json(reading.value))


@pytest.mark.slow
@pytest.mark.parametrize("line", ["a," * 100_000, "(" * 200_000, "a or " * 50_000, ")" * 200_000, " — " * 60_000])
def test_hostile_hand_off_lines_take_bounded_time(line: str) -> None:
    text = role_text({"Handoff Protocol": f"**You receive work from:** {line}\n**You hand off to:** {line}"})
    check_set({"a": parse(text)})


# --- codes that nothing above names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "severity", "code"),
    [
        (role_text() + "# Another\n", "warning", "N04"),
        (role_text() + "> " * 40 + "x\n", "error", "N06"),
        (role_text() + "## Identity\n\nagain\n", "error", "N11"),
        (
            role_text(order=[*list(SECTIONS)[:-4], "Escalation Triggers", "Handoff Protocol", *list(SECTIONS)[-2:]]),
            "warning",
            "N13",
        ),
        (role_text({"Handoff Protocol": "**You hand off to:** Nexus"}), "warning", "N30"),
        (role_text({"Behavioral Principles": "1. **One.** a\n2. **Two.** b"}), "warning", "N41"),
        (role_text({"Identity": "See [this](other.md)."}), "warning", "N61"),
    ],
    ids=lambda value: value if len(value) == 3 else "",
)
def test_a_broken_rule_is_told_by_its_code_alone(text: str, severity: str, code: str) -> None:
    assert [(d.severity, d.code) for d in parse(text).diagnostics] == [(severity, code)]


def test_a_relative_link_is_an_error_to_publish() -> None:
    text = role_text({"Identity": "See [this](other.md)."})
    assert [(d.severity, d.code) for d in parse(text, publishing=True).diagnostics] == [("error", "N61")]


def test_a_set_tells_an_input_from_nobody_and_two_files_of_one_role() -> None:
    assert _problems(a=_role("Planner", "Scaffolder", "Nexus")) == [("a", "warning", "N33")]
    twice = _problems(a=_role("Planner", "Nexus", "Nexus"), b=_role("Planner", "Nexus", "Nexus"))
    assert twice == [("a", "error", "N34"), ("b", "error", "N34")]
