"""A tool cannot blind the survey of the next call, or the sweep of its own, by modes, renames and names (as an ordinary user, and
as this one)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.calling import Player, new_project, owned, tree

pytestmark = pytest.mark.processes


@pytest.fixture
def project(user: str) -> Iterator[Path]:
    files = {".env": "hunter2", ".git/config": "[core]\n", ".git/HEAD": "x", "build/old/x.json": "{}"}
    with new_project(user, files) as root:
        yield root


def test_a_folder_made_unlistable_shows_nothing_to_the_next_call(play: Player, project: Path) -> None:
    before = tree(project)
    mode = (project).stat().st_mode
    write = "cat .env; mkdir .claude; echo evil > .claude/settings.json; echo x >> .git/config; echo x > .git/hooks"
    answers = play([("./", "", "cat .env; echo x > .git/hooks"), ("./", "", "chmod 0311 ."), ("./", "", write)])
    assert "hunter2" not in json.dumps(answers)
    assert project.stat().st_mode == mode
    after = tree(project)
    assert {name: after[name] for name in before} == before
    assert not [name for name in after if ".claude" in name or name.startswith(".git/hooks")]


@pytest.mark.parametrize(
    "commands",
    [
        "mkdir -m 0311 x; mkdir x/.claude; echo '{}' > x/.claude/settings.json",
        "mkdir .claude; echo 1 > .claude/settings.json; chmod 0311 .",
        "mkdir .claude; echo 1 > .claude/settings.json; chmod 0000 .claude",
        "mv old .cursor; mv .cursor/x.json .cursor/mcp.json",
        "mv old/x.json .mcp.json",
        "ln old/x.json opencode.json",
        "mkdir objects refs; echo 'ref: refs/heads/x' > HEAD; printf '[core]\\n fsmonitor=./x\\n' > config",
        "for name in CLAUDE.md agents.md GEMINI.md .envrc rye.toml Rye.lock; do echo x > $name; done",
        "mkdir -p x/.claude; echo 1 > x/.claude/settings.json; chmod 0500 x; mkdir .Vscode",
        "mkdir x; mkdir x/.claude; echo 1 > x/.claude/settings.json; chmod 0400 x; mkdir .vscode",
        "chmod 0755 closed; mkdir closed/.claude .vscode",
        "mkdir .vscode .husky .devcontainer .Idea; echo x > Makefile; echo x > evil.pth; echo x > sub.py",
    ],
)
def test_what_programs_obey_is_renamed_whatever_was_done_to_hide_it(play: Player, project: Path, commands: str) -> None:
    (project / "build/closed").mkdir(0o555)
    os.chown(project / "build/closed", project.stat().st_uid, project.stat().st_gid)
    [answer] = play([("build/", "build", commands)])
    assert answer[0] == "tool-failed", answer
    assert (project / "build/closed").stat().st_mode & 0o777 == 0o555
    assert "refused-by-rye" in answer[1]
    assert len(answer[1]) < 1000
    left = {path.name.casefold() for path in (project / "build").rglob("*") if path.parent.name[:7] != "refused"}
    obeyed = {
        ".claude",
        ".cursor",
        ".mcp.json",
        "opencode.json",
        "head",
        "claude.md",
        "agents.md",
        "gemini.md",
        ".envrc",
        "rye.toml",
        "rye.lock",
    }
    assert not left & (obeyed | {".vscode", ".husky", ".devcontainer", ".idea", "makefile", "evil.pth"})


def test_what_cannot_be_listed_stays_so(play: Player, project: Path, user: str) -> None:
    """The sweep opens no folder that was hidden: the next survey would show it."""
    if user != "nobody":
        pytest.skip("root lists every folder")
    private, names = project / "build/private", project / "build/names"
    for folder, mode in ((private, 0o300), (names, 0o644)):
        folder.mkdir()
        (folder / "note.txt").write_text("hunter2", "utf-8")
        owned(project, folder / "note.txt", folder)
        folder.chmod(mode)
    look = "cat private/note.txt; chmod 0755 names; cat names/note.txt"
    answers = play([("build/", "build", look), ("build/", "build", look), ("build/old/", "", "cat build/*/note.txt")])
    assert [answer[0] for answer in answers] == ["ok"] * 3, answers
    assert "hunter2" not in json.dumps(answers)
    assert [folder.stat().st_mode & 0o777 for folder in (private, names)] == [0o300, 0o644]


def test_a_file_that_a_grant_names_has_no_other_name(play: Player, project: Path) -> None:
    makefile = project / "build/Makefile"
    makefile.write_text("all:", "utf-8")
    owned(project, makefile)
    play([("build/ build/Makefile", "build", "ln Makefile .mcp.json; mv Makefile AGENTS.md || echo x > Makefile")])
    assert not {"AGENTS.md", ".mcp.json"} & {path.name for path in (project / "build").iterdir()}
    assert not makefile.exists() or makefile.read_text("utf-8") == "x\n"


def test_a_folder_with_obeyed_names_cannot_be_moved(play: Player, project: Path) -> None:
    settings = project / "build/old/.vscode/tasks.json"
    settings.parent.mkdir()
    settings.write_text("{}", "utf-8")
    owned(project, settings.parent, settings)
    [answer] = play([("build/", "build", "mv old new || mv old/x.json y.json; mkdir .vscode")])
    assert answer[0] == "tool-failed" or settings.exists()
    assert not (project / "build/new/.vscode").exists()


def test_links_and_secrets_that_programs_obey_are_left_as_they_are(play: Player, project: Path) -> None:
    """They were there before; what they lead to is protected, and one that a tool deletes is put back."""
    for name in ("build/guide.md", "build/more/skill.md", "build/.npmrc"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("good", "utf-8")
    links = [("CLAUDE.md", "build/guide.md"), ("build/AGENTS.md", "guide.md"), (".claude/skills", "../build/more")]
    (project / ".claude").mkdir()
    for name, target in links:
        (project / name).symlink_to(target)
    owned(project, *project.rglob("*"))
    change = "echo evil > guide.md; echo evil > more/skill.md; echo evil > more/x.md; rm -f AGENTS.md"
    answers = play([("build/", "build", "echo x > old/new.txt"), ("build/", "build", change), ("./", "", "cat .npmrc")])
    assert [answer[0] for answer in answers] == ["ok"] * 3, answers
    assert [os.readlink(project / name) for name, _ in links] == [target for _, target in links]
    for name in ("build/guide.md", "build/more/skill.md", "build/.npmrc"):
        assert (project / name).read_text("utf-8") == "good"
    assert not (project / "build/more/x.md").exists()
    assert (project / "build/old/new.txt").exists()


def test_a_grant_in_what_programs_obey_by_its_shape_is_refused(play: Player, project: Path) -> None:
    for name in ("bare/HEAD", "bare/objects/x", "bare/hooks/x", "plugin/.claude-plugin/plugin.json", "plugin/hooks/x"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x", "utf-8")
    owned(project, *project.rglob("*"))
    answers = play([("bare/hooks/", "", "true"), ("plugin/hooks/", "", "true"), ("plugin/docs/", "", "true")])
    assert [answer[0] for answer in answers] == ["sandbox-unavailable", "sandbox-unavailable", "ok"], answers
    assert "is obeyed by git" in answers[0][1]


def test_a_link_with_a_secret_name_does_not_hide_the_project(play: Player, project: Path) -> None:
    answers = play(
        [("build/", "build", "ln -s .. .env || ln -s ../.. old/.env"), ("build/", "", "cat build/old/x.json .env")]
    )
    assert answers[1][0] == "ok"
    assert "{}" in answers[1][1]
    assert "hunter2" not in answers[1][1]


def test_a_tool_that_obeys_keeps_what_it_wrote(
    play: Player, project: Path, user: str, request: pytest.FixtureRequest
) -> None:
    """The control: folders and files with plain names, modes of its own, and a build's file that the grant itself names."""
    package = project / "build/pkg/package.json"
    package.parent.mkdir()
    package.write_text("{}", "utf-8")
    for path in (package.parent, package):
        os.chown(path, project.stat().st_uid, project.stat().st_gid)
    answers = play(
        [
            ("build/old/", "build/old", "mkdir -p a/b; echo x > a/b/c.txt; chmod 0700 a; mv x.json y.json"),
            ("build/pkg/package.json", "build", "echo '{1}' > pkg/package.json"),
            ("build/", "build", "echo x > pkg/package.json; mkdir new; echo x > pkg/other.js"),
        ]
    )
    assert [answer[0] for answer in answers] == ["ok", "ok", "ok"], answers
    assert (project / "build/old/a/b/c.txt").read_text("utf-8") == "x\n"
    assert (project / "build/old/y.json").exists()
    assert package.read_text("utf-8") == "{1}\n"
    is_landlock = (
        "landlock" in request.node.name
    )  # it cannot allow new files in a folder and refuse a change of one in it
    assert [(project / name).exists() for name in ("build/new", "build/pkg/other.js")] == [not is_landlock] * 2


PRIVILEGED = 0o7000
PYTHON = "python3 -c 'import os; os.umask(0); %s'"


@pytest.mark.parametrize(
    "commands",
    [
        "cp /bin/true x; chmod 4755 x",
        "cp /bin/true x; chmod 2755 x",
        "mkdir -m 1777 x; mkdir -m 2755 y; chmod 1755 old",
        PYTHON % """os.close(os.open("x", os.O_CREAT, 0o6755)); os.mkdir("y", 0o7755)""",
        PYTHON % """os.mkdir("y", 0o1700); os.close(os.open("y/x", os.O_CREAT, 0o4000)); os.mkfifo("f", 0o4755)""",
    ],
)
def test_nothing_that_a_tool_leaves_has_rights_of_its_owner(
    play: Player, project: Path, commands: str, request: pytest.FixtureRequest
) -> None:
    before = (project / "build/old").stat().st_mode
    [answer] = play([("build/", "build", commands)])
    privileged = [path for path in (project / "build").rglob("*") if path.lstat().st_mode & PRIVILEGED]
    assert privileged == []
    assert (project / "build/old").stat().st_mode == before
    assert list((project / "build").iterdir()) != [project / "build/old"]
    if "chmod" not in commands or "landlock" not in request.node.name:  # where it has no effect
        assert answer[0] == "tool-failed"
        assert "they were cleared from" in answer[1]


def test_what_had_such_bits_before_keeps_them(play: Player, project: Path) -> None:
    """The control: a program that is set-user-id, moved or not, and a folder that gives its group to what is made in it."""
    program, shared = project / "build/old/program", project / "build/shared"
    program.write_text("", "utf-8")
    shared.mkdir()
    owned(project, program, shared)
    program.chmod(0o4755)
    shared.chmod(0o2755)
    answers = play([("build/", "build", "touch old/y; mkdir shared/new"), ("build/", "build", "mv old/program moved")])
    assert [answer[0] for answer in answers] == ["ok", "ok"], answers
    play([("build/", "build", "chmod 6755 moved")])
    assert (project / "build/moved").stat().st_mode & 0o7777 == 0o4755
    assert [folder.stat().st_mode & PRIVILEGED for folder in (shared, shared / "new")] == [0o2000, 0o2000]
