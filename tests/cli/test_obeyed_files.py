"""Attached files that programs obey: shown when published, asked about when added, and once where an older Rye installed them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rye.consent.ask import approving
from rye.project.lock import lock_text, parse_lock
from tests.cli.test_runs_and_facts import locked, skill
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person

pytestmark = pytest.mark.processes

MEMORY = "read by Claude Code, as standing instructions"


def older(user: Person, identifier: str) -> None:
    """Write the lock as a Rye that counted only scripts."""
    lock = parse_lock(user.path("rye.lock").read_text())
    items = []
    for item in lock.items:
        if item.id == identifier:
            runs = tuple(run for run in item.runs if not run.is_counted_later)
            approved = approving(item.approved.rules, item.approved.signer, run=runs)
            item = replace(item, runs=runs, approved=approved)
        items.append(item)
    user.write("rye.lock", lock_text(replace(lock, items=tuple(items))))


@pytest.mark.parametrize("script", rest_thorough(1, ["", "print(1)\n"]), ids=["no other runs", "a script"])
def test_they_need_consent_and_locks_that_lack_them_ask_once_and_say_why(
    acme: Person, user: Person, script: str
) -> None:
    name = "obeyed-too" if script else "obeyed"
    identifier = f"acme/{name}"
    files = {"CLAUDE_dot_md": "Obey.\n", "data__helper_dot_txt": "print(2)\n", "package_dot_json": "{}\n"}
    skill(acme, name, body="Run `python helper.txt`.", **files, **({"run_dot_py": script} if script else {}))
    refused = user.run("add", f"skill:{identifier}", "--no-input")
    assert refused.code == 1
    assert "CLAUDE.md" in refused.stderr
    user.ok("add", f"skill:{identifier}", "--yes")
    actions = {run.where: run.action for run in locked(user, identifier).runs}
    assert actions == {
        "CLAUDE.md": MEMORY,
        "data/helper.txt": "passed to python",
        **({"run.py": "script"} if script else {}),
    }
    honest = user.path("rye.lock").read_bytes()

    older(user, identifier)
    assert user.path("rye.lock").read_bytes() != honest
    refused = user.run("install", "--no-input")
    assert refused.code == 1
    assert "has files that Rye now counts as able to run (CLAUDE.md, data/helper.txt)" in refused.stderr
    assert user.run("render", f"skill:{identifier}", "--json").error["code"] in (
        "consent-needed",
        "project-not-accepted",
    )
    user.ok("install", "--approve", f"{identifier}@1.0.0")
    assert user.path("rye.lock").read_bytes() == honest
    user.ok("ci")
    user.ok("deploy", "--target", "claude")
    assert user.path(f".claude/skills/{name}/CLAUDE.md").read_text() == "Obey.\n"


def test_the_author_is_told_which_program_obeys_a_file(acme: Person) -> None:
    text = '---\nname: told\ndescription: Tells.\nmetadata:\n  version: "1.0.0"\n---\n\n# It\n'
    acme.write(".ai/skills/told/SKILL.md", text)
    acme.write(".ai/skills/told/CLAUDE.md", "Obey.\n")
    acme.write(".ai/skills/told/notes.md", "Read.\n")
    acme.ok("sign", ".ai/skills/told")
    said = acme.ok("publish", "--dry-run", ".ai/skills/told").stderr
    assert [line.split("bytes")[1].strip() for line in said.splitlines() if "CLAUDE.md" in line] == [MEMORY]
    assert [line.split("bytes")[1].strip() for line in said.splitlines() if "notes.md" in line] == [""]
