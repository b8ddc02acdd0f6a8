"""Shapes that public collections of skills and agents have: all of it is found, or said (design/sources.md 1)."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rye.items.identity import nearest_segment
from rye.limits import CONTENT
from rye.project.lock import parse_lock
from rye.sources import git_program
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person
from tests.sources.git_server import GitServer
from tests.sources.texts import skill

pytestmark = pytest.mark.processes

Files = dict[str, str | bytes | tuple[str, str]]


def agent(name: str, more: str = "") -> str:
    """An agent in Claude Code's form."""
    return f"---\nname: {name}\ndescription: Does {name} work.\ntools: Read\n{more}---\n\nYou do {name} work.\n"


def add(server: GitServer, person: Person, files: Files, name: str = "team") -> str:
    """Add everything; return what was said. A target in place of a text is that of a link."""
    repository = server.repository(name)
    repository.commit(
        {
            path: ("120000", repository.blob(text[1].encode())) if isinstance(text, tuple) else text
            for path, text in files.items()
        }
    )
    return person.ok("add", f"git+{server.url(name)}", "--all", "-y", "--as", "team").stderr


def places(person: Person) -> dict[str, str]:
    """The place of each locked item in its source."""
    rows = parse_lock(person.path("rye.lock").read_text()).items
    return {f"{row.kind}:{row.identity.local_id}": row.source.place for row in rows if row.source is not None}


def test_a_plugins_own_file_says_where_its_agents_and_skills_are(server: GitServer, person: Person) -> None:
    plugin = {"name": "p", "agents": ["./api.md", "./more/", "../../out.md"], "skills": "./abilities"}
    said = add(
        server,
        person,
        {
            ".claude-plugin/marketplace.json": json.dumps({"plugins": [{"name": "p", "source": "./parts/01-core"}]}),
            "parts/01-core/.claude-plugin/plugin.json": json.dumps(plugin),
            "parts/01-core/api.md": agent("api"),
            "parts/01-core/README.md": "# Core\n",
            "parts/01-core/more/deep/web.md": agent("web"),
            "parts/01-core/abilities/pdf/SKILL.md": skill("pdf"),
            "parts/02/.claude-plugin/plugin.json": json.dumps({"agents": "one.md"}),
            "parts/02/one.md": agent("one"),
            "parts/03/.claude-plugin/plugin.json": "[",
            "out.md": agent("out"),
        },
    )
    assert places(person) == {
        "agent:api": "parts/01-core/api.md",
        "agent:one": "parts/02/one.md",
        "agent:web": "parts/01-core/more/deep/web.md",
        "skill:pdf": "parts/01-core/abilities/pdf/SKILL.md",
    }
    assert "parts/03/.claude-plugin/plugin.json is not a plugin's file" in said
    person.ok("ci")


@pytest.mark.parametrize(("repository", "folder"), rest_thorough(1, [("team", "agents/"), ("agents", "")]))
def test_agents_in_folders_by_subject_are_found_and_the_rest_is_counted(
    server: GitServer, person: Person, repository: str, folder: str
) -> None:
    said = add(
        server,
        person,
        {
            "pdf/SKILL.md": skill("pdf"),
            "pdf/agents/helper.md": agent("helper"),
            f"{folder}data/sql.md": agent("sql"),
            f"{folder}web/next/page.md": agent("page"),
            f"{folder}web/README.md": agent("readme"),
            f"{folder}web/notes.md": "# Notes\n",
            f"{folder}web/rules.md": "---\ndescription: No name.\n---\nText.\n",
            f"{folder}.cache/hidden.md": agent("hidden"),
        },
        repository,
    )
    assert list(places(person)) == ["agent:page", "agent:sql", "skill:pdf"]
    if folder:
        assert "2 Markdown files in folders of agents have no name and description, so they are no agents" in said


def test_a_link_to_a_file_of_the_repository_stands_for_it(server: GitServer, person: Person) -> None:
    def link(target: str) -> tuple[str, str]:
        return "link", target

    add(
        server,
        person,
        {
            "skills/pdf/SKILL.md": skill("pdf"),
            "skills/pdf/AGENTS.md": "Read the pages.\n",
            "skills/pdf/CLAUDE.md": link("AGENTS.md"),
            "skills/pdf/sub/shared.md": link("./../../../shared/text.md"),
            "shared/text.md": "Shared.\n",
            ".gemini/skills/pdf/SKILL.md": link("../../../skills/pdf/SKILL.md"),
            ".gemini/skills/word/SKILL.md": link("../../../shared/word.md"),
            "shared/word.md": skill("word"),
        },
    )
    assert places(person) == {"skill:pdf": "skills/pdf/SKILL.md", "skill:word": ".gemini/skills/word/SKILL.md"}
    installed = person.path(".ai/packages/team/skills/pdf")
    assert not (installed / "CLAUDE.md").is_symlink()
    assert (installed / "CLAUDE.md").read_text() == "Read the pages.\n"
    assert (installed / "sub/shared.md").read_text() == "Shared.\n"
    for command in ("ci", "audit", "check"):
        person.ok(command)


def test_a_link_in_a_folder_is_read_at_the_file_that_it_names(person: Person, tmp_path: Path) -> None:
    person.write("kit/pdf/SKILL.md", skill("pdf"))
    person.write("kit/pdf/AGENTS.md", "Read the pages.\n")
    person.path("kit/pdf/CLAUDE.md").symlink_to("AGENTS.md")
    in_place = person.run("add", "./kit", "pdf", "--editable", "-y", "--json")
    assert "'CLAUDE.md' is a link" in in_place.error["message"]
    person.ok("add", "./kit", "pdf", "-y")
    assert person.path(".ai/packages/kit/skills/pdf/CLAUDE.md").read_text() == "Read the pages.\n"
    secret = tmp_path / "secret"
    secret.write_text("secret")
    os.remove(person.path("kit/pdf/CLAUDE.md"))
    person.path("kit/pdf/CLAUDE.md").symlink_to(secret)
    assert person.run("install", "-y", "--json").code != 0
    assert "secret" not in person.path(".ai/packages/kit/skills/pdf/CLAUDE.md").read_text()


@pytest.mark.parametrize("is_folder", [False, True], ids=["repository", "folder"])
def test_a_link_brings_in_nothing_that_a_skill_s_ignore_file_leaves_out(
    server: GitServer, person: Person, is_folder: bool
) -> None:
    files: Files = {
        "pdf/SKILL.md": skill("pdf"),
        "pdf/.ryeignore": "private/\n*.draft.md\n",
        "pdf/private/notes.md": "Ours alone.\n",
        "pdf/old.draft.md": skill("old"),
        "pdf/notes.md": ("link", "private/notes.md"),
        "pdf/open.md": "For everybody.\n",
        "pdf/again.md": ("link", "open.md"),
        "word/SKILL.md": skill("word"),
        "word/sub/notes.md": ("link", "../../pdf/private/notes.md"),
        "word/open.md": ("link", "../pdf/open.md"),
        "old/SKILL.md": ("link", "../pdf/old.draft.md"),
        "agents/old.md": ("link", "../pdf/old.draft.md"),
    }
    if is_folder:
        for path, text in files.items():
            place = person.path(f"team/{path}")
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, tuple):
                place.symlink_to(text[1])
            else:
                place.write_text(str(text))
        said = person.ok("add", "./team", "--all", "-y").stderr
    else:
        said = add(server, person, files)
    installed = person.path(".ai/packages/team")
    assert {path.relative_to(installed).as_posix() for path in installed.rglob("*") if path.is_file()} == {
        "skills/pdf/SKILL.md",
        "skills/pdf/open.md",
        "skills/pdf/again.md",
        "skills/word/SKILL.md",
        "skills/word/open.md",
    }
    assert "pdf/notes.md is left out, and 1 other link: it is a link to pdf/private/notes.md, which" in said
    assert said.count("its file is a link to pdf/old.draft.md, which the .ryeignore of its skill leaves out") == 2


def test_copies_in_folders_of_backups_and_translations_count_less(server: GitServer, person: Person) -> None:
    said = add(
        server,
        person,
        {
            "backups/p/.claude-plugin/plugin.json": "{}",
            "backups/p/agents/api.md": agent("api", "color: red\n"),
            "plugins/x/p/.claude-plugin/plugin.json": "{}",
            "plugins/x/p/agents/api.md": agent("api"),
            "docs/ja/pdf/SKILL.md": skill("pdf", body="Nihongo."),
            "packages/office/skills/pdf/SKILL.md": skill("pdf"),
            "docs/ja/only/SKILL.md": skill("only"),
        },
    )
    assert places(person) == {
        "agent:api": "plugins/x/p/agents/api.md",
        "skill:only": "docs/ja/only/SKILL.md",
        "skill:pdf": "packages/office/skills/pdf/SKILL.md",
    }
    assert "backups/p/agents/api.md is another agent named api; plugins/x/p/agents/api.md is used instead" in said


def test_of_two_skills_of_a_name_the_usable_one_counts_and_that_in_a_folder_of_the_name(
    server: GitServer, person: Person
) -> None:
    said = add(
        server,
        person,
        {
            "a/mail/SKILL.md": "---\nname: mail\ndescription: Broken: here\n---\n",
            "b/c/mail/SKILL.md": skill("mail"),
            "team/solana-v2/SKILL.md": skill("solana", body="Second."),
            "team/solana/SKILL.md": skill("solana"),
        },
    )
    assert places(person) == {"skill:mail": "b/c/mail/SKILL.md", "skill:solana": "team/solana/SKILL.md"}
    assert "a/mail/SKILL.md is another skill named mail, which cannot be used (" in said
    assert "); b/c/mail/SKILL.md is used instead" in said
    assert "team/solana-v2/SKILL.md is another skill named solana; team/solana/SKILL.md is used instead" in said


TOOL = "#!/bin/sh\n__version__=1.0.0\n__tool_description__='Goes'\n"
TOO_MUCH = b"x" * (CONTENT.attached_bytes + 1)
BROKEN: dict[str, tuple[Files, str, str]] = {
    "an agent that cannot be read": (
        {"agents/api.md": "\ufeff---\nname: api\ndescription: x\n---\n\x07\n", "more/agents/api.md": agent("api")},
        "agent:api",
        "more/agents/api.md",
    ),
    "an agent in another program's form": (
        {".claude/agents/api.md": "Nothing.\n", ".github/agents/api.agent.md": "---\ndescription: Work\n---\n\nDo.\n"},
        "agent:api",
        ".github/agents/api.agent.md",
    ),
    "a skill with too much attached": (
        {"a/pdf/SKILL.md": skill("pdf", body="First."), "a/pdf/big.bin": TOO_MUCH, "b/c/pdf/SKILL.md": skill("pdf")},
        "skill:pdf",
        "b/c/pdf/SKILL.md",
    ),
    "a skill with too much attached, and its copy without": (
        {"a/pdf/SKILL.md": skill("pdf"), "a/pdf/big.bin": TOO_MUCH, "b/c/pdf/SKILL.md": skill("pdf")},
        "skill:pdf",
        "b/c/pdf/SKILL.md",
    ),
    "a skill with a link out, in a folder of the name": (
        {
            "a/pdf/SKILL.md": skill("pdf", body="First."),
            "a/pdf/out": ("link", "../../../secret"),
            "a/pdf-2/SKILL.md": skill("pdf"),
        },
        "skill:pdf",
        "a/pdf-2/SKILL.md",
    ),
    "a tool in another language": (
        {".ai/tools/work/go.py": '__tool_description__ = "\x07"\n', ".ai/tools/work/go.sh": TOOL},
        "tool:work/go",
        ".ai/tools/work/go.sh",
    ),
}


@pytest.mark.parametrize("what", rest_thorough(1, BROKEN))
def test_what_cannot_be_used_takes_no_name_from_what_can(server: GitServer, person: Person, what: str) -> None:
    """Attack or accident: a broken item lies where it would count first."""
    files, identity, place = BROKEN[what]
    said = add(server, person, files)
    assert places(person) == {identity: place}
    first = next(iter(files))
    assert f"{first} is another {identity.replace(':', ' named ')}, which cannot be used (" in said
    assert f"; {place} is used instead" in said


@pytest.mark.thorough
def test_if_none_of_a_name_can_be_used_the_first_says_why(server: GitServer, person: Person) -> None:
    broken = "---\nname: mail\ndescription: Broken: here\n---\n"
    files: Files = {"ok/SKILL.md": skill("ok"), "a/mail/SKILL.md": broken, "b/c/mail/SKILL.md": f"{broken}More\n"}
    said = add(server, person, files)
    assert places(person) == {"skill:ok": "ok/SKILL.md"}
    assert "b/c/mail/SKILL.md is another skill named mail; a/mail/SKILL.md is used instead" in said


@pytest.mark.thorough
def test_a_name_with_letters_that_ids_do_not_have_is_written_as_an_id(server: GitServer, person: Person) -> None:
    names = {"ahrefs-automation": "Ahrefs Automation", "docker_hub": "docker_hub", "chinese": "工具"}
    files: Files = {f"{folder}/SKILL.md": skill(name) for folder, name in names.items()}
    files["risk/SKILL.md"] = skill("-21risk")
    files["quoted/SKILL.md"] = skill("Quoted It").replace("name: Quoted It", 'name: "Quoted: It"  # so')
    files["long/SKILL.md"] = skill("long", f"compatibility: {'x' * 600}")
    files["mapped/SKILL.md"] = skill("mapped", "compatibility:\n  os: linux\n")
    add(server, person, files)
    ids = sorted(places(person))
    assert ids == [
        f"skill:{name}"
        for name in ("21risk", "ahrefs-automation", "chinese", "docker_hub", "long", "mapped", "quoted-it")
    ]
    kept = person.path(".ai/packages/team/skills/ahrefs-automation/SKILL.md").read_text()
    assert kept == files["ahrefs-automation/SKILL.md"]
    for command in ("ci", "audit", "check", "list"):
        person.ok(command)
    person.ok("deploy", "--target", "claude", "-y")
    assert person.path(".claude/skills/ahrefs-automation/SKILL.md").is_file()


@pytest.mark.parametrize(
    ("name", "part"),
    [("pdf", "pdf"), ("A b!C", "a-b-c"), ("--x--", "x"), ("工具", ""), ("x" * 80, "x" * 64), ("../etc", "etc")],
)
def test_the_part_of_an_id_for_a_name_of_others(name: str, part: str) -> None:
    assert nearest_segment(name) == part


@pytest.mark.thorough
def test_many_notes_of_one_sort_are_one_line_with_a_number(server: GitServer, person: Person) -> None:
    files: Files = {}
    for number in range(5):
        files[f"a/folder{number}/SKILL.md"] = skill(f"name{number}")
        files[f"z/y/name{number}/SKILL.md"] = skill(f"name{number}", body="Other.")
    said = add(server, person, files)
    assert "5 skills are called what their SKILL.md says, not what their folders are called: the skill in" in said
    assert "5 files are left out, since another item has their name: " in said
    assert said.count("another skill named") == 1
    listed = person.ok("add", f"git+{server.url('team')}", "--list", "--json").json["notes"]
    assert len(listed) == 10
    assert f"{listed[5]}." in person.ok("add", f"git+{server.url('team')}", "--list").stderr


@pytest.mark.thorough
def test_a_description_of_several_lines_is_read_and_said(server: GitServer, person: Person) -> None:
    """Claude Code's own documentation writes agents like this, though YAML does not allow it."""
    text = agent("mentor").replace(
        "Does mentor work.",
        'Use it to learn: now. Examples:\n\n<example>\nContext: New here\nuser: "How?"\nassistant: "So."\n</example>\n',
    )
    said = add(server, person, {".claude/agents/mentor.md": text})
    assert "agent:team/mentor has frontmatter that is not YAML" in said
    installed = person.path(".ai/packages/team/agents/mentor.md").read_text()
    assert 'tools: {"allowed": ["Read"]}' in installed
    assert 'Context: New here\\nuser: \\"How?\\"' in installed


@pytest.mark.thorough
def test_a_whole_collection_is_removed_by_its_name(server: GitServer, person: Person) -> None:
    add(server, person, {f"{name}/SKILL.md": skill(name) for name in ("a", "b", "c")})
    person.write("kit/d/SKILL.md", skill("d"))
    person.ok("add", "./kit", "d", "-y")
    refused = person.run("remove", "--all", "temas", "--json")
    assert refused.error["code"] == "not-a-dependency"
    assert "kit, team" in refused.error["hint"]
    assert places(person).keys() == {"skill:a", "skill:b", "skill:c", "skill:d"}
    person.ok("remove", "--all", "team", "-y")
    assert places(person).keys() == {"skill:d"}
    assert "team" not in person.path("rye.toml").read_text()
    assert not person.path(".ai/packages/team").exists()
    person.ok("ci")


@pytest.mark.thorough
def test_an_audit_asks_git_as_often_for_many_items_as_for_few(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[object] = []
    starting = git_program.started

    def counted(words: Sequence[str], *others: Any, **options: Any) -> Any:
        starts.append(words)
        return starting(words, *others, **options)

    monkeypatch.setattr(git_program, "started", counted)
    asked = []
    for number in (2, 9):
        person = Person(tmp_path / str(number), "shop")
        add(server, person, {f"skills/s{each}/SKILL.md": skill(f"s{each}") for each in range(number)}, f"of-{number}")
        starts.clear()
        assert len(person.ok("audit", "--json").json["findings"]) == number, "each is unsigned"
        asked.append(len(starts))
    assert asked[0] == asked[1] > 0
    lock = person.path("rye.lock").read_text()
    person.write("rye.lock", re.sub(r'(id = "team/s[37]"\n.*\n.*\nsha256 = ")..', r"\g<1>00", lock))
    found = json.loads(person.run("audit", "--json").stdout)["findings"]
    refused = [Path(one["path"]).parent.name for one in found if one["rule"] == "lock-mismatch"]
    assert refused == ["s3", "s7"], "of those that are read together"
    person.write("rye.lock", lock)
    shutil.rmtree(person.home / "cache")
    shutil.rmtree(server.root / "of-9.git")
    starts.clear()
    found = json.loads(person.run("audit", "--json").stdout)["findings"]
    assert sum(one["rule"] == "not-examined" for one in found) == 9
    assert len(starts) == 1, "a source that is away is tried once"
