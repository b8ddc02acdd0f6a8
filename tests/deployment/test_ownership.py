"""Who a deployed file belongs to: this user, a colleague, another project or another program."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from rye.deployment.plan import make_plan
from rye.deployment.plan_values import OnDisk, Run, Wanted
from rye.deployment.state import FileRow, State, parse_state, state_text
from rye.installation.transaction import Step, Writer
from rye.project.layout import Project
from rye.storage.opened_folder import OpenedFolder
from tests.scenes.installed import install, project_with_targets, tree, uninstall, write_manifest
from tests.scenes.item_texts import agent, bound, knowledge, skill
from tests.scenes.person import Person

TRUSTS = {"RYE_TRUST_LOCK": "1"}


@pytest.fixture
def shop(tmp_path: Path) -> Person:
    return project_with_targets(tmp_path)


def forget(shop: Person) -> None:
    """As if a colleague had deployed and this user had cloned."""
    shutil.rmtree(shop.home / "data/deployed")


def claim(shop: Person, path: str, data: bytes, item: str = "skill:acme/pdf") -> None:
    """A file of the user's own, and a committed row with its hash."""
    shop.write(path, data)
    row = FileRow(
        path=path,
        item=item,
        target="claude",
        sha256=sha256(data).hexdigest(),
        mode="0644",
        version="1.0.0",
        item_sha256="0" * 64,
        customizations_sha256="",
        adapter="claude/1",
    )
    shop.write(".ai/deploy.lock", state_text(State((row,))))


# -- what came with a clone --------------------------------------------------------------------------------------------


def test_a_row_with_the_hash_of_one_s_own_file_takes_nothing_away(shop: Person) -> None:
    claim(shop, ".claude/skills/pdf/LICENSE", b"")
    done = shop.run("deploy", "--json")
    assert (done.code, [row["code"] for row in done.json["refused"]]) == (1, ["deploy-conflict"])
    assert shop.path(".claude/skills/pdf/LICENSE").read_bytes() == b""
    assert shop.ok("undeploy", "--all", "--json").json["kept"] == [".claude/skills/pdf/LICENSE"]
    assert shop.path(".claude/skills/pdf/LICENSE").exists()


def test_what_a_colleague_deployed_of_a_fork_is_undeployed_whoever_signed_it(shop: Person) -> None:
    """Its bytes are those of the project's own item, so that nothing is lost; that nobody here trusts its signer is no edit."""
    shop.write(".ai/skills/forms/SKILL.md", skill("forms"))
    shop.write(".ai/skills/forms/run.sh", "#!/bin/sh\n")
    shop.ok("keys", "generate")
    shop.ok("sign", ".ai/skills/forms")
    shop.ok("deploy")
    forget(shop)
    for key in shop.ok("trust", "list", "--json").json["keys"]:
        shop.ok("trust", "remove", key["fingerprint"])
    mine = shop.write(".claude/skills/forms/run.sh", "#!/bin/sh\necho mine\n")
    done = shop.ok("undeploy", "--all")
    assert not shop.path(".claude/skills/forms/SKILL.md").exists()
    assert "run.sh was edited since Rye wrote it. It stays" in done.stderr
    assert mine.read_text().endswith("echo mine\n")


def test_a_claim_that_stays_is_not_called_changed(shop: Person) -> None:
    claim(shop, ".claude/skills/pdf/LICENSE", b"mine")
    done = shop.ok("undeploy", "--all")
    assert "is in .ai/deploy.lock, but your Rye did not write it here. It stays" in done.stderr
    assert "nothing was removed" in done.stdout


def test_a_row_with_the_hash_of_one_s_own_file_overwrites_nothing(shop: Person) -> None:
    install(shop, "skill", "acme/pdf", skill("pdf"), attached={"LICENSE": b"theirs"})
    claim(shop, ".claude/skills/pdf/LICENSE", b"mine")
    done = shop.run("deploy", "--target", "claude", "--json")
    assert [row["code"] for row in done.json["refused"]] == ["deploy-conflict"]
    assert shop.path(".claude/skills/pdf/LICENSE").read_bytes() == b"mine"
    assert not shop.path(".claude/skills/pdf/SKILL.md").exists()
    shop.ok("deploy", "--target", "claude", "--overwrite-edited", "acme/pdf")
    assert shop.path(".claude/skills/pdf/LICENSE").read_bytes() == b"theirs"


def test_a_claimed_key_and_a_claimed_block_stay(shop: Person) -> None:
    write_manifest(shop, 'targets = ["opencode"]')
    install(shop, "directive", "acme/work/ship", bound())
    install(shop, "knowledge", "acme/notes/style", knowledge("style"))
    shop.ok("deploy")
    before = shop.path("opencode.json").read_bytes(), shop.path("AGENTS.md").read_bytes()
    forget(shop)
    uninstall(shop, "directive:acme/work/ship")
    uninstall(shop, "knowledge:acme/notes/style")
    done = shop.run("deploy", "--json")
    assert {row["code"] for row in done.json["refused"]} == {"deploy-conflict"}
    assert (shop.path("opencode.json").read_bytes(), shop.path("AGENTS.md").read_bytes()) == before
    shop.ok("deploy", env=TRUSTS)
    assert not shop.path("opencode.json").exists()
    assert not shop.path("AGENTS.md").exists()


def test_a_clone_in_which_all_is_as_it_should_be_is_one_s_own_after_a_deploy(shop: Person) -> None:
    install(shop, "agent", "acme/one", agent("one"))
    install(shop, "knowledge", "acme/notes/style", knowledge("style"))
    shop.ok("deploy")
    forget(shop)
    assert shop.ok("deploy", "--json").json["refused"] == []
    install(shop, "agent", "acme/one", agent("one").replace("You are", "You were"), version="1.1.0")
    shop.ok("deploy")
    assert "You were" in shop.path(".claude/agents/one.md").read_text()


def test_an_update_in_a_fresh_clone_is_a_conflict_that_says_the_ways_out(shop: Person) -> None:
    install(shop, "agent", "acme/one", agent("one"))
    shop.ok("deploy")
    forget(shop)
    install(shop, "agent", "acme/one", agent("one").replace("You are", "You were"), version="1.1.0")
    (row, _) = shop.run("deploy", "--json").json["refused"]
    assert row["code"] == "deploy-conflict"
    assert "--overwrite-edited agent:acme/one" in row["hint"]
    assert {one["state"] for one in shop.run("deploy", "--check", "--json").json["files"]} == {"stale"}
    shop.ok("deploy", env=TRUSTS)
    assert "You were" in shop.path(".claude/agents/one.md").read_text()


# -- several projects in one home folder -------------------------------------------------------------------------------


@pytest.fixture
def other(shop: Person, tmp_path: Path) -> Person:
    """Another project of the same user."""
    made = project_with_targets(tmp_path / "other")
    made.home, made.environment = shop.home, shop.environment
    return made


def test_no_project_overwrites_what_another_one_deployed_for_the_user(shop: Person, other: Person) -> None:
    install(shop, "skill", "acme/pdf", skill("pdf"))
    install(other, "skill", "beta/pdf", skill("pdf", body="Otherwise."))
    shop.ok("deploy", "--scope", "user")
    done = other.run("deploy", "--scope", "user", "--json")
    row = done.json["refused"][0]
    assert (done.code, row["code"], row["item"]) == (1, "deploy-conflict", "skill:beta/pdf")
    assert str(shop.folder) in row["message"]
    assert str(other.folder) in row["message"]
    assert "Do it." in (shop.home / ".claude/skills/pdf/SKILL.md").read_text()
    assert other.run("undeploy", "skill:acme/pdf", "--scope", "user", "--json").error["code"] == "deploy-conflict"
    other.ok("undeploy", "--all", "--scope", "user")
    assert (shop.home / ".claude/skills/pdf/SKILL.md").exists()
    other.ok("deploy", "--scope", "user", "--overwrite-edited", "beta/pdf")
    assert "Otherwise." in (shop.home / ".claude/skills/pdf/SKILL.md").read_text()
    assert shop.run("deploy", "--scope", "user").code == 1


def test_what_is_not_asked_for_any_more_leaves_the_home_folder_with_its_last_project(
    shop: Person, other: Person
) -> None:
    for one in (shop, other):
        install(one, "skill", "acme/pdf", skill("pdf"))
        install(one, "knowledge", "acme/notes/style", knowledge("style"))
        one.ok("deploy", "--scope", "user")
    install(shop, "knowledge", "acme/notes/mine", knowledge("mine"))
    shop.ok("deploy", "--scope", "user")
    place = shop.home / ".claude/skills/pdf/SKILL.md"
    uninstall(shop, "skill:acme/pdf")
    uninstall(shop, "knowledge:acme/notes/style")
    shop.ok("deploy", "--scope", "user")
    assert place.exists()
    assert "style.md" in (shop.home / ".claude/CLAUDE.md").read_text()
    uninstall(other, "skill:acme/pdf")
    other.ok("deploy", "--scope", "user")
    assert not place.exists()
    assert "mine.md" in (shop.home / ".claude/CLAUDE.md").read_text()
    shop.ok("undeploy", "--all", "--scope", "user")
    other.ok("undeploy", "--all", "--scope", "user")
    assert not (shop.home / ".claude").exists()


def test_what_a_project_that_is_gone_deployed_can_be_taken_over(shop: Person, other: Person) -> None:
    install(shop, "skill", "acme/pdf", skill("pdf"))
    install(other, "skill", "beta/pdf", skill("pdf", body="Otherwise."))
    shop.ok("deploy", "--scope", "user")
    shutil.rmtree(shop.folder)
    other.ok("deploy", "--scope", "user")
    assert "Otherwise." in (shop.home / ".claude/skills/pdf/SKILL.md").read_text()


# -- the user's own customizations -------------------------------------------------------------------------------------


def test_one_s_own_overrides_stay_out_of_the_files_that_a_team_shares(shop: Person) -> None:
    install(shop, "agent", "acme/one", agent("one"))
    place = shop.home / "ai/overrides/acme/one.overrides.md"
    place.parent.mkdir(parents=True)
    place.write_text(
        '---\nagent: one\nbase-version: "1.0.0"\nlast-reviewed: "2026-11-01"\n---\n\n<!-- DIRECTIVE: append\n'
        "target: ## System Prompt\nreason: mine\n-->\nSpeak like a pirate.\n<!-- END DIRECTIVE -->\n"
    )
    done = shop.ok("deploy", "--json")
    assert "pirate" not in shop.path(".claude/agents/one.md").read_text()
    assert any("--scope user" in note["message"] for note in done.json["notes"])
    shop.ok("deploy", "--scope", "user")
    assert "pirate" in (shop.home / ".claude/agents/one.md").read_text()


# -- at the same time --------------------------------------------------------------------------------------------------


def stepping(monkeypatch: pytest.MonkeyPatch, step: Step) -> None:
    """Report each step of a transaction before it happens."""
    start = Writer.__init__

    def begin(self: Writer, project: Project, root: OpenedFolder, records: OpenedFolder, _: Step) -> None:
        start(self, project, root, records, step)

    monkeypatch.setattr(Writer, "__init__", begin)


def write_at_begin(shop: Person, texts: list[str]) -> Callable[[str], None]:
    """Another program that writes AGENTS.md after Rye has read it."""

    def step(name: str) -> None:
        if name == "begin" and texts:
            shop.write("AGENTS.md", texts.pop(0))

    return step


def test_what_another_program_writes_meanwhile_is_not_lost(shop: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    install(shop, "knowledge", "acme/notes/style", knowledge("style"))
    shop.write("AGENTS.md", "old\n")
    stepping(monkeypatch, write_at_begin(shop, ["new\n"]))
    shop.ok("deploy")
    text = shop.path("AGENTS.md").read_text()
    assert text.startswith("new\n")
    assert "style.md" in text


def test_a_file_that_never_stops_changing_is_named(shop: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    install(shop, "knowledge", "acme/notes/style", knowledge("style"))
    texts = [f"{number}\n" for number in range(9)]
    stepping(monkeypatch, write_at_begin(shop, texts))
    error = shop.run("deploy", "--json").error
    assert error["code"] == "file-changed"
    assert "AGENTS.md" in error["message"]
    assert shop.path("AGENTS.md").read_text() == "2\n"
    assert not shop.path(".ai/deploy.lock").exists()
    assert not shop.path(".claude").exists()


@pytest.mark.thorough
@pytest.mark.processes
@pytest.mark.slow
def test_killed_at_each_step_the_next_command_repairs(shop: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    install(shop, "skill", "acme/old", skill("old"))
    shop.ok("deploy")
    uninstall(shop, "skill:acme/old")
    install(shop, "agent", "acme/new", agent("new"))
    install(shop, "knowledge", "acme/notes/style", knowledge("style"))
    shop.write("AGENTS.md", "mine")
    before, after = tree(shop), dict[str, tuple[str, int]]()
    for number in range(200):
        ended = killed_at(shop, monkeypatch, number)
        assert shop.run("deploy", "no-such-item", "--json").error["code"] == "not-installed"  # the next command
        if tree(shop) != before:
            after = tree(shop)
            break
        assert not ended, "it ended and wrote nothing"
    assert number > 10
    assert after[".claude/agents/new.md"]
    assert ".claude/skills/old" not in after
    shop.ok("deploy", "--check")
    assert shop.ok("deploy", "--json").json["refused"] == []
    assert tree(shop) == after


def killed_at(shop: Person, monkeypatch: pytest.MonkeyPatch, number: int) -> bool:
    """Deploy in a process that is killed at that step; return whether it finished."""
    child = os.fork()
    if child == 0:
        left = iter(range(number))

        def step(_: str) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        stepping(monkeypatch, step)
        try:
            shop.run("deploy")
        finally:
            os._exit(0)
    return not os.WIFSIGNALED(os.waitpid(child, 0)[1])


# -- file systems ------------------------------------------------------------------------------------------------------


def test_a_name_that_changes_in_case_only_is_one_file_where_the_file_system_says_so() -> None:
    def row(path: str) -> FileRow:
        digest = sha256(b"old").hexdigest()
        return FileRow(
            path=path,
            item="skill:acme/pdf",
            target="claude",
            sha256=digest,
            mode="0644",
            version="1.0.0",
            item_sha256="0" * 64,
            customizations_sha256="",
            adapter="claude/1",
        )

    def disk(path: str) -> OnDisk:
        return OnDisk("file", b"old", place=(1, 2)) if path.lower() == ".claude/skills/pdf/a.md" else OnDisk("missing")

    new = Wanted(
        path=".claude/skills/pdf/a.md",
        data=b"new",
        executable=False,
        item="skill:acme/pdf",
        version="2.0.0",
        item_sha256="0" * 64,
        customizations_sha256="",
        owners=(("claude", "claude/1"),),
    )
    plan = make_plan([new], State((row(".claude/skills/pdf/A.md"),)), disk, Run())
    assert plan.refused == ()
    assert [(one.path, one.data) for one in plan.writes] == [(".claude/skills/pdf/a.md", b"new")]
    assert [one.path for one in plan.state.files] == [".claude/skills/pdf/a.md"]


def test_the_projects_of_a_row_are_kept_as_they_are() -> None:
    row = FileRow(
        path="x",
        item="skill:a/b",
        target="claude",
        sha256="0" * 64,
        mode="0644",
        version="1",
        item_sha256="0" * 64,
        customizations_sha256="",
        adapter="claude/1",
        projects=("/a", '/b"'),
    )
    assert parse_state(state_text(State((row,))).encode()).files == (row,)
