"""What lies in a folder of git, known by its name or its shape, is neither changed, moved nor made by a tool that may write the
whole project: git runs commands from there. As an ordinary user, and as this one."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import pytest

from tests.sandbox.calling import Player, new_project, owned, tree

pytestmark = pytest.mark.processes
FILES = {
    ".git/config": "[core] token",
    ".git/HEAD": "ref: refs/heads/main",
    ".git/objects/x": "",
    ".git/refs/x": "",
    ".git/hooks/post-commit": "true",
    ".git/modules/part/config": "[core] token",
    "lib/store/config": "[core] token",
    "lib/store/HEAD": "ref: refs/heads/main",
    "lib/store/objects/x": "",
    "lib/store/refs/x": "",
    "lib/store/hooks/update": "true",
    "part/.git": "gitdir: ../.git/modules/part",
    "src/a": "a",
}
FOLDERS = (".git/", "lib/", "part/")


@pytest.fixture
def project(user: str) -> Iterator[Path]:
    with new_project(user, FILES) as root:
        yield root


@pytest.mark.parametrize(
    "commands",
    [
        "echo evil >> .git/config; echo evil > .git/hooks/pre-commit; echo evil > .git/config.worktree; rm .git/HEAD",
        "mv .git/config .git/c; mv .git old; rm -r .git; mkdir .git; echo evil > .git/config",
        "ln .git/config c; echo evil >> c; ln -s .git g; echo evil >> g/config; ln -sf ../src .git/hooks",
        "echo evil >> lib/store/config; echo evil > lib/store/hooks/pre-commit; mv lib/store lib/s; mv lib other; rm -r lib",
        "echo evil > part/.git; rm part/.git; mv part other; mkdir part; echo 'gitdir: ../src' > part/.git",
        "git config core.fsmonitor evil; git -C lib/store config core.fsmonitor evil; git worktree add w",
    ],
)
def test_a_folder_of_git_stays_as_it_is(play: Player, project: Path, commands: str) -> None:
    play([("./", "", commands)])
    after = tree(project)
    assert {name: text for name, text in after.items() if name.startswith(FOLDERS)} == {
        name: text for name, text in FILES.items() if name.startswith(FOLDERS)
    }


@pytest.mark.parametrize(
    "commands",
    [
        "mkdir .git; echo '[core] fsmonitor=touch PWNED' > .git/config; mkdir .git/objects",
        "GIT_CONFIG_NOSYSTEM=1 git init .; git config core.fsmonitor 'touch PWNED; false'; mkdir .git",
        "GIT_CONFIG_NOSYSTEM=1 git init --bare .; git config core.fsmonitor 'touch PWNED; false'; mkdir objects; touch HEAD",
        "cp -r ../lib/store/* .; printf '[core]\\nbare=false\\nworktree=.\\nfsmonitor=\"touch PWNED; false\"\\n' > config",
        "mkdir objects refs; echo 'ref: refs/heads/x' > HEAD; echo '[core] fsmonitor=touch PWNED' > config",
        "echo 'gitdir: ../src' > .GIT",
        "mkdir objects refs; echo 'ref: refs/heads/x' > hEaD",
        "echo 'gitdir: ../src' > .git.; echo 'gitdir: ../src' > GIT~1; mkdir .g$'\\u200c'it '.git::$INDEX_ALLOCATION'",
    ],
)
def test_a_folder_of_git_that_a_tool_makes_is_none_any_more(play: Player, project: Path, commands: str) -> None:
    new = project / "new"
    new.mkdir()
    owned(project, new)
    [answer] = play([("new/", "new", commands)])
    assert answer[0] == "tool-failed", answer
    assert "refused-by-rye" in answer[1]
    subprocess.run(["git", "-c", "safe.directory=*", "-C", str(new), "status"], check=False, capture_output=True)
    assert not list(project.rglob("PWNED"))
    left = {path.name.casefold() for path in new.iterdir()}
    assert not left & {".git", "head", ".git.", "git~1", ".g\u200cit", ".git::$index_allocation"}


def test_a_file_of_git_is_protected_under_its_other_names(play: Player, project: Path) -> None:
    """Hard links: what is secret is not read, and what git obeys is not written, in a grant of the folder and of the file."""
    for name, other in ((".git/config", "src/notes.txt"), ("lib/store/hooks/update", "src/hook.txt")):
        os.link(project / name, project / "src" / Path(other).name)
    attempt = (
        "cat src/notes.txt .git/config; echo evil >> src/notes.txt; echo evil >> src/hook.txt; mv src/hook.txt src/h"
    )
    answers = play([("./", "", attempt), ("src/", "", attempt), ("src/hook.txt", "", attempt), ("src/a", "", attempt)])
    assert "token" not in json.dumps(answers)
    assert [answer[0] for answer in answers] == ["ok", "ok", "sandbox-unavailable", "ok"], answers
    assert "under another name" in answers[2][1]
    assert tree(project) == {**FILES, "src/notes.txt": FILES[".git/config"], "src/hook.txt": "true"}


def test_a_secret_is_hidden_under_its_other_names(play: Player, project: Path) -> None:
    """A hard link in a granted folder, and what a hidden link leads to there."""
    for name in (".env", "src/production", "src/other"):
        (project / name).write_text("hunter2" if name != "src/other" else "shown", "utf-8")
    os.link(project / ".env", project / "src/notes.txt")
    (project / "id_rsa").symlink_to("src/production")
    owned(project, *project.glob("src/*"), project / ".env")
    answers = play(
        [("src/", "", "cat src/notes.txt src/production src/other"), ("src/a", "", "cat src/*; cat src/other")]
    )
    assert "hunter2" not in json.dumps(answers)
    assert all("shown" in answer[1] for answer in answers)


def test_what_a_link_that_programs_obey_leads_to_is_not_granted(play: Player, project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude/skills").symlink_to("../src")
    (project / "src/sub").mkdir()
    owned(project, project / ".claude", project / "src/sub")
    answers = play([("src/", "", "echo x > src/b"), ("src/sub/", "", "echo x > src/sub/b"), ("part/docs/", "", "true")])
    assert [answer[0] for answer in answers] == ["sandbox-unavailable", "sandbox-unavailable", "ok"], answers
    assert not (project / "src/b").exists()
    assert not (project / "src/sub/b").exists()


def test_what_another_program_replaces_meanwhile_is_not_the_tools(play: Player, project: Path) -> None:
    """``git config`` during the call, as git does it; then the whole folder, as ``git init`` of another program. The tool
    writes as soon as it can."""

    def replace() -> None:
        until = monotonic() + 20
        while not (project / "new/started").exists() and monotonic() < until:
            sleep(0.01)
        (project / ".git/config.lock").write_text("[core] token two", "utf-8")
        os.rename(project / ".git/config.lock", project / ".git/config")
        sleep(0.2)
        (project / ".git").rename(project / ".git-was")
        (project / ".git").mkdir(mode=0o777)
        (project / ".git").chmod(0o777)
        (project / "new/ended").touch()

    (project / "new").mkdir(mode=0o777)
    owned(project, project / "new")
    thread = Thread(target=replace)
    thread.start()
    attempt = "cat .git/config; echo evil >> .git/config; echo evil > .git/hooks/pre-commit"
    play(
        [("./", "", f"touch new/started; {{ until [ -e new/ended ]; do {attempt}; done; {attempt}; }} > new/said 2>&1")]
    )
    thread.join()
    assert "token" not in (project / "new/said").read_text("utf-8")
    assert (project / ".git-was/config").read_text("utf-8") == "[core] token two"
    assert not (project / ".git-was/hooks/pre-commit").exists()
    left = project / ".git/config"
    assert not left.exists() or "evil" not in left.read_text("utf-8")


def test_other_folders_can_still_be_changed(play: Player, project: Path, request: pytest.FixtureRequest) -> None:
    """The control. Landlock alone cannot allow new files in a folder and refuse a change of one in it."""
    (project / "src/deep").mkdir()
    owned(project, project / "src/deep")
    commands = (
        "echo b > src/a; mv src/deep src/deeper; echo x > src/deeper/x; git -C src status >/dev/null; echo x > lib/x"
    )
    [answer] = play([("./", "", commands)])
    assert answer[0] == "ok", answer
    assert (project / "src/a").read_text("utf-8") == "b\n"
    assert (project / "src/deeper/x").read_text("utf-8") == "x\n"
    assert (project / "lib/x").exists() == ("landlock" not in request.node.name)
