"""Each right has one sentence that says no less than it allows (DESIGN §7.3), whatever its author wrote."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.describing.right_words import UNKNOWN_RIGHT, UNKNOWN_TOOL, UNUSUAL_PATTERN, right_words, tool_words
from rye.describing.words import may_use
from rye.items.agent_tools import AgentTools, agent_tools, widened
from rye.items.capabilities import ITEM_TYPES, PRIMARIES, capability, is_path_pattern
from rye.items.directive.reader import as_json, read
from rye.items.kinds import KINDS
from rye.items.location import locate
from rye.items.reading import ReadOptions, Source
from rye.permissions.patterns import glob_matches, has_wildcards
from rye.permissions.risk import ELEVATED_SEGMENTS, Tier, tools_tier
from rye.project.item_file import place
from tests.describing.test_words import skill
from tests.scenes.parsed import parsed
from tests.scenes.shared_data import shared

LONGEST = 440
"""No sentence has more characters."""
PROGRAMS = " (also those that run programs or reach other machines)"


@pytest.mark.parametrize(
    ("right", "words"),
    [
        ("rye.*", "may run, search for, read and sign every item, whoever publishes it: everything that Rye can grant"),
        ("rye.execute.*", f"may run every item, whoever publishes it, now and later{PROGRAMS}"),
        ("rye.search.*", "may search for every item, whoever publishes it, now and later"),
        ("rye.load.*", "may read the text of every item, whoever publishes it, now and later"),
        ("rye.sign.*", "may sign every item, whoever publishes it, now and later"),
        ("rye.execute.tool.*", f"may run every tool, whoever publishes it, now and later{PROGRAMS}"),
        ("rye.execute.tool.acme.pdf", "may run the tool acme/pdf"),
        ("rye.execute.tool.rye.file-system.write", "may run the tool rye/file-system/write (named for work with files)"),
        (
            "rye.execute.tool.rye.file-system.*",
            "may run every tool below rye/file-system/, now and later (named for work with files)",
        ),
        ("rye.execute.tool.rye.shell.docker", "may run the tool rye/shell/docker (named for running programs)"),
        (
            "rye.execute.tool.rye.core.registry.*",
            "may run every tool below rye/core/registry/, now and later (named for publishing)",
        ),
        (
            "rye.execute.tool.acme.ssh.mcp",
            "may run the tool acme/ssh/mcp (named for reaching other machines and calling MCP servers)",
        ),
        ("rye.load.tool.rye.shell.docker", "may read the text of the tool rye/shell/docker"),
        ("rye.load.knowledge.rye.core.*", "may read the text of every knowledge item below rye/core/, now and later"),
        ("rye.search.knowledge", "may search for knowledge items, without naming one"),
        ("rye.sign.directive.acme.x", "may sign the directive acme/x"),
        ("rye.execute.tool.acme.fi*", "may run every tool whose name begins with acme/fi, now and later"),
        (
            "rye.execute.tool.acme*",
            f"may run every tool whose name begins with acme, whoever publishes it, now and later{PROGRAMS}",
        ),
        (
            "rye.execute.tool.sh[e]ll.run",
            f"may run every tool whose name matches sh[e]ll/run, whoever publishes it, now and later{PROGRAMS}",
        ),
        (
            "rye.execute.tool.*.mcp.*",
            ("may run every tool whose name matches */mcp/*, whoever publishes it, now and later "

            "(named for calling MCP servers; also those that run programs or reach other machines)"),
        ),
        ("rye.search.tool.*.read", "may search for every tool whose name matches */read, whoever publishes it, now and later"),
    ],
)  # fmt: skip
def test_a_capability_in_words(right: str, words: str) -> None:
    assert right_words(right) == words


@pytest.mark.parametrize(
    "right",
    [
        "",
        "rye",
        "rye.",
        "rye.load",
        "rye.load.",
        "rye.load.tool",
        "rye.load.spell.acme.x",
        "rye.read.tool.acme.x",
        "RYE.load.tool.acme.x",
        "rye.load.knowledge.ACME.x",
        "rye.load.knowledge.acme..x",
        "rye.load.knowledge.acme.x.",
        "rye.load.knowledge.аcme.x",  # the first letter of the id is Cyrillic
        "rye.lоad.knowledge.acme.x",
        "rye.load.knowledge.acme.x (harmless)",
        "rye.load.knowledge.acme\u202ex",
        "rye.load.knowledge.acme.x\nrye.load.knowledge.y",
        "rye.load.knowledge.acme\0x",
        "<b>rye.load.knowledge.acme</b>",
    ],
)
def test_what_is_not_known_counts_as_everything(right: str) -> None:
    assert right_words(right) == UNKNOWN_RIGHT
    assert "treat it as if it allowed everything" in UNKNOWN_RIGHT


@pytest.mark.parametrize("right", ["*", "rye.**", "rye.?*", "rye.l*", "rye.[l]oad.knowledge.acme", "rye.*.knowledge.x"])
def test_a_pattern_for_the_action_itself_counts_as_everything(right: str) -> None:
    assert right_words(right) == UNUSUAL_PATTERN


@pytest.mark.parametrize("segment", ELEVATED_SEGMENTS)
def test_a_telling_name_is_said_where_the_item_is_run(segment: str) -> None:
    for path in (segment, f"acme.{segment}", f"acme.{segment}.x", f"acme.{segment}.*", f"*.{segment}.*"):
        assert "(named for " in right_words(f"rye.execute.tool.{path}")
        assert "(named for " not in right_words(f"rye.search.tool.{path}")
    assert "(named for " not in right_words(f"rye.execute.tool.acme.{segment}x")


@pytest.mark.parametrize("path", ["[x.mcp.x]*", "[.shell.]*", "*[!.registry.]"])
def test_letters_in_a_class_are_no_name(path: str) -> None:
    assert right_words(f"rye.execute.tool.{path}").endswith(PROGRAMS)


PATHS = st.from_regex(r"(?:[a-z0-9*?_./-]|\[!?[a-z./]{1,3}\]){1,40}", fullmatch=True).filter(is_path_pattern)


@given(st.sampled_from(PRIMARIES), st.sampled_from(ITEM_TYPES), PATHS)
def test_a_pattern_is_never_said_to_be_narrower_than_it_is(primary: str, item_type: str, path: str) -> None:
    right = capability(primary, item_type, path)
    words = right_words(right)
    if words == UNKNOWN_RIGHT:
        return
    assert (" every " in words) is has_wildcards(path)
    if has_wildcards(path):
        assert ", now and later" in words
        for other in ("zz.a", "zz.shell.a", "zz"):
            if glob_matches(f"rye.{primary}.{item_type}.{other}", right) and not path.startswith("zz"):
                assert "whoever publishes it" in words
    else:
        assert words.startswith(("may run the", "may search for the", "may read the text of the", "may sign the"))


@given(st.text(max_size=2_000) | st.builds("rye.execute.tool.{}".format, PATHS.map(lambda path: path * 40)))
def test_any_text_has_a_short_sentence_of_printable_letters(text: str) -> None:
    for words in (
        right_words(text),
        tool_words(text, agent_tools([text])),
        tool_words(f"Bash({text})", agent_tools([])),
    ):
        assert 0 < len(words) <= LONGEST
        assert re.fullmatch(r"[ -~…]+", words)


def tool(name: str, **limits: list[str]) -> str:
    return tool_words(name, agent_tools(None if name == "*" else [name], **limits))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Bash", "may run any shell command"),
        ("Bash(*)", "may run any shell command"),
        ("Bash(*:*)", "may run any shell command"),
        ("Bash()", "may run any shell command"),
        ("Bash(***)", "may run any shell command"),
        ("Bash(* *)", "may run any shell command"),
        ("Bash(git:*)", "may run every shell command that begins with `git`"),
        ("Bash(npm run *)", "may run every shell command that matches `npm run *`"),
        ("Bash(git status)", "may run the shell command `git status`"),
        ("Read", "may read every file that your agent can read"),
        ("Read(src/**)", "may read files that match `src/**`"),
        ("Read(**)", "may read every file that your agent can read"),
        ("Write", "may create and overwrite every file that your agent can write"),
        ("WebFetch", "may fetch any address, and send it what it knows"),
        (
            "WebFetch(domain:x.example)",
            "may fetch addresses that match `domain:x.example`, and send them what it knows",
        ),
        ("WebFetch(domain:*)", "may fetch any address, and send it what it knows"),
        ("Grep", "may search and read files"),
        ("Edit", "may create and change every file that your agent can write"),
        ("Task", "may start other agents, with the tools that these have"),
        ("mcp__linear__create_issue", "may call the tool create_issue of the MCP server linear"),
        ("mcp__linear", "may call every tool of the MCP server linear"),
        ("mcp__linear__*", "may call every tool of the MCP server linear"),
        ("*", "may use every tool of the agent program, and so run any shell command"),
        ("Frobnicate", UNKNOWN_TOOL),
        ("bash", UNKNOWN_TOOL),
        ("Rеad", UNKNOWN_TOOL),  # a Cyrillic letter
        ("Read\n", UNKNOWN_TOOL),
        ("Read) harmless", UNKNOWN_TOOL),
        ("Read(a), Bash(*)", UNKNOWN_TOOL),
        ("mcp____x", UNKNOWN_TOOL),
    ],
)
def test_a_tool_of_the_agent_program_in_words(name: str, words: str) -> None:
    assert tool(name) == words


def test_what_limits_tools_is_said() -> None:
    assert tool("Bash", commands=["git"]) == "may run shell commands, as far as its filter lets them through"
    assert tool("Bash(*)", commands=["git"]) == "may run any shell command"  # so no filter holds, as AgentTools says
    assert tool("*", blocked=["Bash"]) == "may use every tool of the agent program, within the limits that it names"
    assert tool("*", blocked=["Write"]).endswith(", within the limits that it names, and so run any shell command")


@pytest.mark.parametrize("argument", ["a\nb", "a`, which is harmless `", "a\u202eb", "ａ", "a\x1b[2J"])
def test_an_argument_that_could_mislead_is_not_repeated(argument: str) -> None:
    for name, does in (("Bash", "run any shell command"), ("Read", "read every file that your agent can read")):
        assert tool(f"{name}({argument})") == f"may {does}, within a limit that cannot be shown here"


def test_a_list_that_names_every_tool_is_said_as_no_list() -> None:
    tools = agent_tools(["*", "Read"])
    assert tool_words("*", tools) == tool("*")
    assert tools_tier(tools) is Tier.UNRESTRICTED


def test_a_name_of_two_tools_is_not_the_first_of_them() -> None:
    both = agent_tools(["Read(a), Bash(*)"])
    assert tools_tier(both) is Tier.ELEVATED
    assert widened(agent_tools(["Read"]), both) == ("Read(a), Bash(*)",)


def test_long_arguments_are_cut_visibly() -> None:
    assert tool(f"Read({'a' * 500})") == f"may read files that match `{'a' * 100}…`"
    assert right_words(f"rye.execute.tool.{'a' * 500}*").count("a" * 100 + "…") == 1


def test_the_first_screen_says_the_riskiest_rights_in_words() -> None:
    rights = ["rye.load.tool.a", "rye.execute.tool.b", "rye.execute.tool.sh.x", "rye.search.*"]
    assert may_use(skill(agent_tools([]), capabilities=rights)).words == (
        "tools of the agent program: none; 4 rights, at most elevated: may run the tool sh/x (named for running programs); "
        "may run the tool b; may read the text of the tool a and 1 more"
    )


@pytest.mark.corpus
def test_the_rights_of_real_directives_and_of_the_format_document_are_known() -> None:
    document = shared("spec/003_9b92539be3ce5591.txt").read_text("utf-8")
    blocks = re.findall(r"<permissions>.*?</permissions>", document, re.DOTALL)
    written = {
        f"rye.{primary}.{item_type}.{path.replace('/', '.')}"
        for block in blocks
        for primary, inside in re.findall(r"<(execute|search|load|sign)>(.*?)</\1>", block, re.DOTALL)
        for item_type, path in re.findall(r"<(tool|directive|knowledge)>([^<]+)</\1>", inside)
    }
    assert len(written) > 8
    for path in sorted(shared("corpus/ryeos/core_ai/directives").rglob("*.md")):
        location = locate(path)
        assert location is not None
        source = Source(path.read_text("utf-8"), str(path), location.name, location.category)
        written.update(as_json(parsed(read(source, ReadOptions())))["permissions"])
    for right in written:
        assert right_words(right) not in (UNKNOWN_RIGHT, UNUSUAL_PATTERN), right


@pytest.mark.corpus
def test_the_tools_of_real_skills_and_agents_are_known() -> None:
    seen: dict[str, str] = {}
    for path in sorted(shared("corpus/skills").rglob("*.md")):
        text = path.read_text("utf-8", "replace").replace("\r\n", "\n")
        location = place(path, text, None)
        if location is None or location.kind not in ("skill", "agent"):
            continue
        reading = KINDS[location.kind].load().read(Source(text, str(path), None, None, ()), ReadOptions())
        tools = reading.metadata.agent_tools if reading.metadata is not None else None
        if isinstance(tools, AgentTools):
            seen |= {name: tool_words(name, tools) for name in tools.names}
    assert {"Read", "Write", "Edit", "Bash"} <= seen.keys()
    assert [name for name, words in seen.items() if words == UNKNOWN_TOOL] == []
