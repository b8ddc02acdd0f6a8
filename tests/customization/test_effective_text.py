"""Overrides applied to items: all or nothing per file, never wider, hidden or renamed (DESIGN §7; DECISIONS Overrides 5, 16)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rye.customization.effective_diff import effective_diff
from rye.customization.effective_text import Effective, effective, more_to_use, reader, widenings
from rye.customization.item_overrides import OverrideSource
from rye.items.agent.model import Agent
from rye.items.agent_tools import AgentTools, agent_tools
from rye.items.consented import HookAction, Run
from rye.items.directive.reader import read as read_directive
from rye.items.location import Location
from rye.items.reading import Metadata, ReadOptions, Source
from tests.customization.override_text import directive

HEAD = '---\nagent: sage\nbase-version: "1.0.0"\nlast-reviewed: "2026-01-01"\n---\n\n'
KNOWLEDGE = (
    "---\nname: sage\ntitle: Sage\nentry_type: reference\ncategory: facts\nversion: 1.0.0\nauthor: acme\n"
    "created_at: 2026-01-01T00:00:00Z\ntags: [a, b, c]\n---\n\n# Sage\n\n## Rules\n\nOld.\n\n## Output\n\nText.\n"
)


def source(text: str, level: str = "project") -> OverrideSource:
    path = Path(f"{level}.overrides.md")
    return OverrideSource(level, path, str(path), text)  # type: ignore[arg-type]


def apply(*files: OverrideSource, base: str = KNOWLEDGE, allowed: bool = False) -> Effective:
    read = reader(Location("knowledge", "sage", "facts"), "sage.md", ReadOptions())
    return effective(base, files, read, name="sage", widening_allowed=allowed)


def test_files_are_merged_one_into_the_other() -> None:
    result = apply(
        source(HEAD + directive("replace", "## Rules", "## Rules\n\n### Sub\n\nMine."), "user"),
        source(HEAD + directive("append", "### Sub", "Theirs.")),
    )
    assert "Mine.\n\nTheirs.\n\n## Output" in result.text
    assert [file.refused for file in result.files] == [False, False]


def test_a_refused_file_changes_nothing_and_the_others_still_apply() -> None:
    broken = HEAD + directive("append", "## Rules", "GOOD") + "<!-- DIRECTIVE: append\ntarget: ## Output\n-->\n"
    result = apply(source(broken, "user"), source(HEAD + directive("append", "## Output", "Mine.")))
    assert "GOOD" not in result.text
    assert "Mine." in result.text
    assert [file.source.level for file in result.refused] == ["user"]
    assert effective_diff(result, "facts/sage").as_json()["refused"] == ["user.overrides.md"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("no frontmatter", "no-frontmatter"),
        (HEAD.replace("sage", "other") + directive("append", "## Rules", "x"), "wrong-agent"),
        (HEAD + directive("frontmatter-set", content="other", key="name"), None),
        (HEAD + directive("append", "## Rules", "\u202eevil"), "C05"),
        (HEAD + directive("append", "## Rules", "see\u200bme"), "C06"),
        (HEAD + directive("frontmatter-set", content="maybe", key="version"), None),
    ],
)
def test_what_is_refused(text: str, code: str | None) -> None:
    result = apply(source(text))
    assert result.text == KNOWLEDGE
    (file,) = result.refused
    assert code is None or code in [finding.code for finding in file.diagnostics]


def test_errors_that_the_item_had_before_are_not_the_override_s() -> None:
    base = KNOWLEDGE.replace("Old.", "O\u200bld.")
    result = apply(source(HEAD + directive("append", "## Output", "Mine.")), base=base)
    assert not result.refused
    assert "Mine." in result.text


def test_the_difference_is_empty_where_nothing_changes() -> None:
    assert effective_diff(apply(), "x").diff == ""
    changed = effective_diff(apply(source(HEAD + directive("append", "## Rules", "New."))), "facts/sage")
    assert changed.diff.startswith("--- facts/sage (published)\n+++ facts/sage (effective)\n")
    assert "+New.\n" in changed.diff
    assert changed.files == ("project.overrides.md",)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["## Rules", "## Output", "## Gone"]), max_size=6), st.text(alphabet="ab #\n", max_size=30)
)
def test_the_same_files_give_the_same_text_and_the_frontmatter_stays(targets: list[str], content: str) -> None:
    text = HEAD + "".join(directive("append", target, content) for target in targets)
    first, again = apply(source(text)), apply(source(text))
    assert first == again
    assert first.text.startswith(KNOWLEDGE[: KNOWLEDGE.index("# Sage")])


# Widening.


def metadata(*capabilities: str, hooks: tuple[HookAction, ...] = ()) -> Metadata:
    return Metadata(name="x", version="1.0.0", description="x", capabilities=capabilities, hooks=hooks)


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        (("rye.load.*",), ("rye.load.tool.a",), []),
        (("rye.load.tool.[ab]*",), ("rye.load.tool.a*", "rye.load.tool.b*"), []),
        (("rye.load.tool.a*", "rye.load.tool.b*"), ("rye.load.tool.[ab]*",), []),
        (("rye.load.tool.a",), ("rye.load.tool.?",), ["override-widens"]),
        ((), ("rye.*",), ["override-widens"]),
        (("rye.execute.tool.a",), ("rye.execute.tool.A",), ["override-widens"]),
    ],
)
def test_capabilities_are_compared_exactly(old: tuple[str, ...], new: tuple[str, ...], codes: list[str]) -> None:
    assert [finding.code for finding in widenings(metadata(*old), metadata(*new))] == codes


def test_the_witness_is_named() -> None:
    (finding,) = widenings(metadata("rye.execute.tool.a"), metadata("rye.execute.tool.a*"))
    assert "rye.execute.tool.a" in finding.message
    assert "allow-override-widening" in (finding.hint or "")


def test_too_complex_to_compare_counts_as_wider() -> None:
    old = tuple(f"*{letter}{'?' * 40}" for letter in "abcdefgh")
    assert widenings(metadata(*old), metadata("*" + "?*" * 30))


def test_a_hook_is_its_whole_action() -> None:
    hook = HookAction("x > 1", "tool", "acme/a", (("k", "v"),))
    assert widenings(metadata(hooks=(hook,)), metadata()) == ()
    assert widenings(metadata(hooks=(hook,)), metadata(hooks=(hook,))) == ()
    for other in (
        HookAction("true", "tool", "acme/a", (("k", "v"),)),
        HookAction("x > 1", "tool", "acme/b", (("k", "v"),)),
        HookAction("x > 1", "directive", "acme/a", (("k", "v"),)),
        HookAction("x > 1", "tool", "acme/a", (("k", "w"),)),
    ):
        assert [f.code for f in widenings(metadata(hooks=(hook,)), metadata(hooks=(other,)))] == ["override-adds-hook"]
    assert widenings(metadata(hooks=(hook,)), metadata(hooks=(hook, hook)))


@pytest.mark.parametrize(
    ("new", "wider"),
    [
        (agent_tools(["Read"], ["Write"], ["git"], ["push"]), False),
        (agent_tools(["Bash"], ["Web", "Write"], ["git"], ["push", "rm"]), False),
        (agent_tools(["Bash", "Edit", "Read"], ["Write"], ["git"], ["push"]), True),
        (agent_tools(None, ["Write"], ["git"], ["push"]), True),
        (agent_tools(["Bash", "Read"], [], ["git"], ["push"]), True),
        (agent_tools(["Bash", "Read"], ["Write"], ["git", "sh"], ["push"]), True),
        (agent_tools(["Bash", "Read"], ["Write"], ["git"], []), True),
    ],
)
def test_tools_of_the_agent_program_and_their_restrictions_are_rights(new: AgentTools, wider: bool) -> None:
    old = replace(metadata(), agent_tools=agent_tools(["Bash", "Read"], ["Write"], ["git"], ["push"]))
    codes = {finding.code for finding in widenings(old, replace(metadata(), agent_tools=new))}
    assert codes == ({"override-widens"} if wider else set())


def test_what_an_agent_program_would_start_is_a_right() -> None:
    server = replace(metadata(), runs=(Run("mcp-server", "mcpServers.db", "db", "a" * 64),))
    assert [finding.code for finding in widenings(metadata(), server)] == ["override-widens"]
    assert widenings(server, server) == ()
    assert widenings(server, metadata()) == ()


def test_something_that_did_not_parse_granted_nothing() -> None:
    assert widenings(None, metadata("rye.load.tool.a"))
    assert widenings(metadata("rye.load.tool.a"), None) == ()


LIMITED = """# Ship

```xml
<directive name="ship" version="1.0.0">
  <metadata>
    <description>Ship</description>
    <category>work</category>
    <author>acme</author>
    <model tier="general" />
    <limits turns="6" tokens="4096" spend="2" depth="1" />
  </metadata>
  <outputs><output name="url">Where</output></outputs>
</directive>
```

<process>
  <step name="ship"><description>Ship it.</description></step>
</process>
"""


def value_of(text: str) -> object:
    value = read_directive(Source(text, name="ship", category="work"), ReadOptions()).value
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("6", "6"), ""),
        (('turns="6"', 'turns="5"'), ""),
        (("4096", "1"), ""),
        (('turns="6"', 'turns="9000"'), "raise the limit on turns from 6 to 9000"),
        (("4096", "99999999"), "raise the limit on tokens from 4096 to 99999999"),
        (('spend="2"', 'spend="2.01"'), "raise the limit on spend from 2 to 2.01"),
        ((' depth="1"', ""), "take the limit on depth of 1 away"),
        (('depth="1"', 'depth="2"'), "raise the limit on depth from 1 to 2"),
        (('tier="general"', 'tier="reasoning"'), "change the model's tier from general to reasoning"),
        (('tier="general"', 'tier="fast"'), "change the model's tier from general to fast"),
        (
            ('tier="general"', 'tier="general" fallback="reasoning"'),
            "change the model's fallback from none to reasoning",
        ),
    ],
)
def test_a_limit_and_a_model_are_rights(change: tuple[str, str], said: str) -> None:
    """Of limits the least counts; another tier and an added fallback are wider whichever they are."""
    base = LIMITED
    changed = base.replace(*change)
    assert changed != base or change[0] == change[1]
    found = more_to_use(value_of(base), value_of(changed))
    assert [one.message for one in found] == ([f"It would {said}."] if said else [])
    assert {one.code for one in found} <= {"override-widens"}
    assert all("allow-override-widening" in (one.hint or "") for one in found)


def test_a_fallback_that_is_gone_is_narrower_and_a_limit_that_is_new_too() -> None:
    base = value_of(LIMITED.replace('tier="general"', 'tier="general" fallback="fast"'))
    assert more_to_use(base, value_of(LIMITED.replace('turns="6"', 'turns="6" calls="3"'))) == ()


def test_the_least_of_limits_and_cost_counts() -> None:
    """Raising the one that did not count changes nothing."""
    cost = '<cost><context estimated_usage="low" turns="5" spawn_threshold="1">1000</context></cost>'
    base = LIMITED.replace("</metadata>", f"{cost}</metadata>")
    assert more_to_use(value_of(base), value_of(base.replace('turns="6"', 'turns="60"'))) == ()
    assert more_to_use(value_of(base), value_of(base.replace('turns="5"', 'turns="6"')))
    assert more_to_use(value_of(base), value_of(LIMITED))


OBEYED = "---\nname: sage\ndescription: Says what is wise.\n{}---\n\n# Sage\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", ""),
        ("model: small", "model: small", ""),
        ("", "model: large", "change the model's id from none to large"),
        ("model: small", "", "change the model's id from small to none"),
        ("effort: low", "effort: max", "change the model's effort from low to max"),
        ("disable-model-invocation: true", "", "lift the restriction disable-model-invocation"),
        (
            "disable-model-invocation: true",
            "disable-model-invocation: false",
            "lift the restriction disable-model-invocation",
        ),
        ("disable-model-invocation: false", "", ""),
        ("", "disable-model-invocation: true", ""),
        ("disallowed-tools: Bash", "disallowed-tools: Read", "lift the restriction disallowed-tools"),
        ("disallowed-tools: Bash", "disallowed-tools: Read Bash(git:*) Bash", ""),
        ("disallowed-tools: Bash, Read", "disallowed-tools: [Read, Bash]", ""),
        ("disallowed-tools: [Bash, Read]", "disallowed-tools: Read", "lift the restriction disallowed-tools"),
        ("context: fork", "", "lift the restriction context"),
        ("context: fork\nagent: Explore", "context: fork\nagent: general-purpose", "lift the restriction agent"),
        ("", "argument-hint: a file", ""),
    ],
)
def test_what_agent_programs_obey_in_a_skill_is_a_right(old: str, new: str, said: str) -> None:
    """The format of skills has no such keys. Programs obey them all the same, and a deployed skill keeps them."""
    read = reader(Location("skill", "sage", ""), "SKILL.md", ReadOptions())
    base, changed = (read(OBEYED.format(f"{field}\n" if field else "")).value for field in (old, new))
    assert base is not None
    assert changed is not None
    assert [one.message for one in more_to_use(base, changed)] == ([f"It would {said}."] if said else [])


def test_the_second_file_takes_back_nothing_that_the_first_took_away() -> None:
    """A colleague's change of the project gives an agent nothing that its user withheld, though its author signed that."""
    fields = "name: sage\nwhenToUse: Always\ntools:\n  allowed: [Read, Bash]\ntransitions:\n  onSuccess: complete"
    base = f"---\n{fields}\n---\n\n# Sage\n\n## System Prompt\n\nYou judge.\n"
    read = reader(Location("agent", "sage", ""), "sage.md", ReadOptions())
    narrow = source(HEAD + directive("frontmatter-set", None, "\n  allowed: [Read]", key="tools"), "user")
    wide = source(HEAD + directive("frontmatter-set", None, "\n  allowed: [Read, Bash]", key="tools"))
    result = effective(base, (narrow, wide), read, name="sage")
    (refused,) = result.refused
    assert refused.source == wide
    (error,) = (finding for finding in refused.diagnostics if finding.severity == "error")
    assert error.message.startswith("It would undo what user.overrides.md says. It would widen which tools")
    assert "Bash" not in result.text
    assert effective(base, (wide,), read, name="sage").refused == ()
    assert effective(base, (narrow, wide), read, name="sage", widening_allowed=True).refused == ()


def test_an_agent_s_limits_and_model_are_rights() -> None:
    def agent(limits: dict[str, int], provider: dict[str, str]) -> Agent:
        return Agent(
            name="a",
            display_name="A",
            when_to_use="",
            transitions={},
            system_prompt="",
            limits=limits,
            provider=provider,
        )

    base = agent({"maxIterations": 5}, {"name": "claude", "model": "small"})
    assert more_to_use(base, agent({"maxIterations": 4}, {"name": "claude", "model": "small"})) == ()
    for limits, provider in (
        ({"maxIterations": 6}, {"name": "claude", "model": "small"}),
        ({}, {"name": "claude", "model": "small"}),
        ({"maxIterations": 5}, {"name": "claude", "model": "large"}),
        ({"maxIterations": 5}, {"name": "claude"}),
    ):
        assert more_to_use(base, agent(limits, provider)), (limits, provider)
