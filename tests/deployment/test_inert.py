"""Authors' words in the files that several programs read: no program acts on them (design: agents 2)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.deployment import markdown_blocks
from rye.deployment.items import DeployableItem, ItemFile
from rye.deployment.rendering import render
from rye.deployment.targets.active_syntax import active_in, inert, named_files
from rye.deployment.targets.protocol import TargetOptions, all_targets, target
from rye.items.identity import Identity
from rye.items.knowledge import Knowledge
from rye.items.reading import Metadata
from rye.project.agent_programs import program_names
from tests.scenes.effort import rest_thorough
from tests.scenes.installed import install, project_with_targets
from tests.scenes.item_texts import agent, bound, knowledge, skill, wrapped
from tests.scenes.person import Person
from tests.scenes.program_readers import FORMS, IMPORTS, INSTRUCTIONS, opencode_settings

OPTIONS = TargetOptions("project", "x")
SHARED = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
MARKERS = (
    "@",
    "!`",
    "```!",
    "~~~!",
    "$ARGUMENTS",
    "${",
    "{{",
    "!{",
    "@{",
    "{file:",
    "{env:",
    "`",
    "``",
    "*",
    "_",
    "[",
    "](",
    "<",
)
PATHS = (
    ".env",
    "./CLAUDE.local.md",
    "../../x",
    "~/.ssh/config",
    "/etc/passwd",
    "config/prod.json",
    "README.md",
    "HOME}",
)
GLUE = (
    " ",
    "",
    "\t",
    "\n",
    "\u2028",
    "\u00a0",
    "(",
    '"',
    "\\",
    "&",
    "&#64;",
    "&commat;",
    "-->",
    "<b>",
    "</b>",
    ">",
    "# ",
    "- ",
)
hostile = st.lists(st.sampled_from((*MARKERS, *PATHS, *GLUE)) | st.text(max_size=3), max_size=12).map("".join)
BEFORE = ("", "# Rules\n\nUse `x\n\n", "```\nopen\n", "<!-- note\n", "- one\n  `\n", "\ufeffRules\r\n")


def entry(title: str, description: str, identifier: str = "acme/notes/style", name: str = "claude") -> str:
    """The line that a target writes about an item of knowledge."""
    said: dict[str, Any] = {"name": "style", "title": title, "description": description}
    value = Knowledge(
        **said, entry_type=None, category=None, version="1.0.0", author=None, created_at=None, tags=(), references=(), body="x"
    )  # fmt: skip
    item = DeployableItem(
        identity=Identity("knowledge", identifier),
        version="1.0.0",
        sha256="0" * 64,
        customizations="",
        value=value,
        metadata=Metadata(name="style", version="1.0.0", description=description),
        text="x",
        body="x",
        files=(ItemFile("style.md", b"x"),),
    )
    (edit,) = render(target(name), item, OPTIONS).shared_edits
    return edit.text


def imported(text: str) -> set[str]:
    return {path for reader in INSTRUCTIONS.values() for path in reader(text)}


@pytest.mark.parametrize("program", INSTRUCTIONS)
def test_the_readers_import_what_the_programs_import(program: str) -> None:
    """The control: a reader that found nothing would prove nothing."""
    for name, form in FORMS.items():
        found = any(
            "canary.md" in path for path in INSTRUCTIONS[program](f"Rules\n\n{form.format(file='canary.md')}\n")
        )
        assert found == (name in IMPORTS[program]), (program, name)


@pytest.mark.parametrize("name", rest_thorough(1, ["claude", "codex", "copilot", "cursor", "gemini", "opencode"]))
@given(title=hostile, description=hostile, before=st.sampled_from(BEFORE), after=st.sampled_from(("", "`\n\nmore\n")))
def test_nobody_imports_from_a_line_about_knowledge(
    name: str, title: str, description: str, before: str, after: str
) -> None:
    line = entry(title, description, name=name)
    assert "\n" not in line
    assert imported(f"{before}{markdown_blocks.block([line])}\n{after}") == set()
    for one in all_targets():
        for syntax in one.active:
            assert all(active_in(line, [syntax], reading) is None for reading in syntax.reads_as), (syntax, line)


@given(hostile)
def test_the_words_stay_legible(text: str) -> None:
    """Undoing the references and the backslashes gives the author's words, on one line."""
    written = inert(text, [syntax for one in all_targets() for syntax in one.active])
    words = " ".join(text.split())
    assert _unescaped(written) == words.replace("`", "'")


def _unescaped(written: str) -> str:
    named = {"amp": "&", "lt": "<", "gt": ">"}
    undo = re.compile(r"\\(.)|&#(\d+);|&(amp|lt|gt);")
    return undo.sub(lambda found: found[1] or (chr(int(found[2])) if found[2] else named[found[3]]), written)


def test_ordinary_words_are_written_as_they_are() -> None:
    words = "R&D: costs $5, 100 % safe! (v2.0) {x} #1 - see https://example.org/a_b?c=d"
    assert f"**{words}**" in entry(words, "")


@pytest.fixture
def shop(tmp_path: Path) -> Person:
    return project_with_targets(tmp_path, f"targets = {json.dumps(program_names())}")


def test_title_and_description_import_nothing(shop: Person) -> None:
    """Attack A9: the program would read these files into every session."""
    for file in SHARED:
        shop.write(file, "# Rules\n\nAn odd ` and my own @docs/rules.md\n")
    text = knowledge("style", "Style @.env @~/.ssh/config", '"See @./CLAUDE.local.md and @../../x for more"')
    install(shop, "knowledge", "acme/notes/style", text)
    shop.ok("deploy")
    for file in SHARED:
        written = shop.path(file).read_text()
        assert "Style &#64;.env &#64;~/.ssh/config" in written
        assert imported(written) == {"docs/rules.md"}, "the user's own import, and no other"


def test_settings_fill_in_nothing(shop: Person) -> None:
    install(shop, "directive", "acme/work/ship", bound())
    shop.run("deploy", "--target", "opencode")
    assert '"rye-ship"' in shop.path("opencode.json").read_text()
    assert opencode_settings(shop.path("opencode.json").read_text()) == set()
    assert opencode_settings('{"a": "{file:~/.ssh/id} {env:HOME}"}') == {"~/.ssh/id", "HOME"}


@pytest.mark.parametrize("name", ["claude", "agents", "gemini"])
def test_no_file_is_called_like_instructions(shop: Person, name: str) -> None:
    """Where case is ignored, ``.agents/knowledge/acme/notes/claude.md`` is Claude Code's memory of that folder."""
    install(shop, "knowledge", f"acme/notes/{name}", knowledge(name))
    install(shop, "agent", f"acme/{name}", agent(name))
    install(shop, "knowledge", "acme/notes/style", knowledge("style"))
    done = shop.run("deploy", "--json").json
    refused = {(row["item"], row["field"], row["code"]) for row in done["refused"] if row["target"] == "cursor"}
    code = "deploy-inexpressible"
    assert refused == {(f"knowledge:acme/notes/{name}", "name", code), (f"agent:acme/{name}", "name", code)}
    assert not shop.path(f".agents/knowledge/acme/notes/{name}.md").exists()
    assert shop.path(".agents/knowledge/acme/notes/style.md").exists()


def test_gemini_is_not_given_a_text_that_it_fills_in_itself(shop: Person) -> None:
    install(shop, "agent", "acme/one", agent("one").replace("You are one.", "Run ${HOME}/x."))
    done = shop.run("deploy", "--target", "gemini", "--target", "claude", "--json").json
    (refused,) = done["refused"]
    assert (refused["target"], refused["field"], refused["code"]) == ("gemini", "body", "deploy-inexpressible")
    assert "'${HOME}/x.'" in refused["message"]
    assert shop.path(".claude/agents/one.md").exists()
    assert not shop.path(".gemini/agents/one.md").exists()


FILES = [
    "~/.ssh/config",
    "./a",
    "../up.txt",
    "/etc/passwd",
    ".env",
    ".npmrc",
    "config/prod.json",
    "notes.md",
    "id_rsa",
    "a/.env",
]
NO_FILES = [
    "app.function()",
    "qml.qnode(dev)",
    "scope/name",
    "small_task",
    "wp.kernel",
    "acme",
    "article{key",
    "",
    "..",
    "./",
]


@pytest.mark.parametrize("form", ["see @{} now", "- `x @{} y`", "```\n@{}\n```", "(@{})", "@{}.", "**@{}**", '@"{}"'])
def test_a_path_in_a_skill_is_a_file_that_programs_add(form: str) -> None:
    """Also in code, as in Claude Code and OpenCode; not what is written like one for another reason."""
    for path in FILES:
        assert named_files(form.format(path)) == (path,)
    for path in NO_FILES:
        assert named_files(form.format(path)) == ()


def test_addresses_and_handles_are_no_files() -> None:
    assert named_files("me@example.org, git@host:a/b.git, <a@b.io>, `@x.md`, https://x/@y/z.md, name@1.0.0") == (
        "y/z.md",
    )


@pytest.mark.parametrize("kind", ["skill", "directive"])
def test_a_skill_that_names_files_is_asked_about(shop: Person, kind: str) -> None:
    if kind == "skill":
        install(shop, "skill", "acme/probe", skill("probe", body="See @~/.ssh/config first."))
    else:
        install(
            shop,
            "directive",
            "acme/work/probe",
            wrapped("work/probe").replace("Do the work", "See @~/.ssh/config first"),
        )
    install(shop, "skill", "acme/other", skill("other", body="Uses @scope/name and @app.function()."))
    done = shop.run("deploy", "-y", "--json").json
    assert {(row["target"], row["field"], row["code"]) for row in done["refused"]} == {
        (name, "named files", "deploy-widening") for name in program_names()
    }
    assert all("@~/.ssh/config" in row["message"] for row in done["refused"])
    assert not shop.path(".claude/skills/probe/SKILL.md").exists()
    assert shop.path(".claude/skills/other/SKILL.md").exists()
    shop.ok("deploy", "--allow-widening", done["refused"][0]["item"])
    assert "@~/.ssh/config" in shop.path(".agents/skills/probe/SKILL.md").read_text()


def test_each_program_says_what_it_acts_on_once() -> None:
    for one in all_targets():
        assert len({syntax.shown for syntax in one.active}) == len(one.active)
        assert all(syntax.reads_as and syntax.does and syntax.shown for syntax in one.active)
    says = {one.name for one in all_targets() if any("instructions" in syntax.reads_as for syntax in one.active)}
    assert {name for name, forms in IMPORTS.items() if forms} | {"cursor"} == says
