"""Commands on several pages of ``docs``, typed one after the other over one registry (:mod:`tests.docs.typed_blocks`)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from registry_server.cli.registry_access import sequencer_of
from registry_server.embedded import start_embedded, stop_embedded
from registry_server.sequencer.clock import Clock
from registry_server.settings import load
from rye.errors import RyeError
from tests.docs.typed_blocks import DOCS, typed
from tests.scenes.item_texts import skill
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.registry_process import run, token

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def author(registry: Registry) -> Person:
    """``acme``, with a directive and three skills."""
    made = registry.owner("acme")
    made.release("work/deploy", "1.2.0")
    for name in ("review", "notes", "drafts"):
        made.write(f".ai/skills/{name}/SKILL.md", skill(name).replace("1.0.0", "1.2.0"))
        made.ok("sign", f".ai/skills/{name}/SKILL.md")
        made.publish(f".ai/skills/{name}")
    return made


@pytest.fixture(scope="module")
def team(registry: Registry, author: Person) -> Person:
    """A project with the directive and a skill."""
    user = registry.user()
    user.ok("add", "acme/work/deploy", "skill:acme/review", "--yes")
    return user


def real(registry: Registry, base: Path) -> dict[str, str]:
    return {
        "https://registry.example.org": registry.url,
        "https://rye.example": registry.url,
        "HASH": registry.fingerprint,
        "/srv/": f"{base}/",
        "/media/usb/": f"{base}/",
        "root-2": f"{base}/root-2",
    }


def clone_of(project: Person, base: Path) -> Person:
    """Another person's checkout, on their own machine."""
    person = Person(base)
    for name in ("rye.toml", "rye.lock"):
        shutil.copy(project.path(name), person.path(name))
    return person


def test_a_mirror_is_made_and_read(registry: Registry, author: Person, tmp_path: Path) -> None:
    person = Person(tmp_path)
    for _, words in typed("how-to/mirrors.md", "mirror", real(registry, tmp_path)):
        done = person.ok(*words)
    assert "acme/work/deploy" in done.stdout


def test_a_bundle_carries_a_project_to_a_machine_without_a_network(
    registry: Registry, team: Person, tmp_path: Path
) -> None:
    for _, words in typed("how-to/mirrors.md", "bundle"):
        team.ok(*words)
    alone = clone_of(team, tmp_path)
    shutil.move(team.path("project.rye-bundle"), alone.folder)
    blocks = [("offline", {}), ("as of", {"2026-01-31": date.today().isoformat()})]
    for name, day in blocks:
        for _, words in typed("how-to/mirrors.md", name, real(registry, tmp_path) | day):
            alone.ok(*words, env={"RYE_TRUST_LOCK": "1"})
    assert alone.path(".ai/packages/acme/skills/review/SKILL.md").is_file()


def test_the_log_is_audited_and_a_release_proved(registry: Registry, team: Person) -> None:
    (_, verify), (_, watch) = typed("how-to/mirrors.md", "audit")
    team.ok(*verify)
    team.ok(*watch, "--count", "1")
    (installed,) = team.path(".ai/packages").rglob("deploy.md")
    shutil.copy(installed, team.path("deploy.md"))
    for _, words in typed("how-to/mirrors.md", "proof"):
        team.ok(*words)


def test_a_clone_is_installed_after_one_question(registry: Registry, team: Person, tmp_path: Path) -> None:
    person = clone_of(team, tmp_path)
    (_, add), (_, install) = typed("reference/lock.md", "clone", real(registry, tmp_path))
    person.ok(*add)
    assert person.run(*install, "--json").error["code"] == "project-not-accepted"
    person.terminal(*install, answer=b"y\n")
    assert person.path(".ai/packages/acme/skills/review/SKILL.md").is_file()


def test_facts_of_folders_and_of_what_is_installed(team: Person) -> None:
    for folder in ("skills", "old", "new"):
        team.write(f"{folder}/review/SKILL.md", skill("review"))
    team.write("new/review/SKILL.md", skill("review") + "\nSee https://added.example/x.\n")
    shown = [team.ok(*words).stdout for _, words in typed("reference/facts.md", "facts")]
    assert len(shown) == 4
    assert "added.example" in shown[2]


def test_a_member_logs_in_and_installs(registry: Registry, team: Person, tmp_path: Path) -> None:
    person = clone_of(team, tmp_path)
    (_, login), (_, install) = typed("how-to/registry-access.md", "members", real(registry, tmp_path))
    person.ok(*login, stdin=token(registry.data).encode())
    person.ok(*install, env={"RYE_TRUST_LOCK": "1"})


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_an_operator_calls_the_registry_over_http(registry: Registry) -> None:
    ((_, create),) = typed("how-to/registry-access.md", "admin token")
    secret = run(*create, "--data", str(registry.data)).stdout.split()[-1]
    run("account", "create", "alice", "--data", str(registry.data))
    page = (DOCS / "how-to/registry-access.md").read_text("utf-8")
    (calls,) = re.findall(r"^<!-- typed: admin calls -->\n```\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    calls = calls.replace("https://registry.example.org", registry.url)
    done = subprocess.run(
        ["/bin/sh", "-ec", calls.replace("\n", "\necho\n")],
        env={**os.environ, "ADMIN": secret, "no_proxy": "*"},
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    disabled, team = (json.loads(line) for line in done.stdout.splitlines())
    assert (disabled["name"], team["team"]) == ("alice", "web")
    assert disabled["disabled"]


def test_a_build_stages_and_a_maintainer_approves_or_rejects(registry: Registry, author: Person) -> None:
    ((_, create),) = typed("how-to/registry-access.md", "stage token")
    secret = run(*create, "--data", str(registry.data)).stdout.split()[-1]
    staged = []

    def stage(words: list[str], version: str) -> None:
        author.directive("workflows/deploy", version)
        author.ok(*words, "--allow-uncommitted", "--yes", env={"RYE_TOKEN": secret})
        staged.append(version)

    (_, publish), *others = typed("how-to/registry-access.md", "stage")
    stage(publish, "1.2.0")
    for _, words in others:
        if words[1] == "reject":
            stage(publish, "1.2.1")
        if words[1] == "approve":
            author.approve_stage(words[2])
        else:
            author.ok(*words)
    assert [words[1] for _, words in others] == ["list", "show", "approve", "reject"]
    assert "1.2.1" not in author.ok("info", "acme/workflows/deploy").stdout


def test_a_root_is_shown_renewed_and_made_by_an_owner_elsewhere(registry: Registry, tmp_path: Path) -> None:
    for _, words in typed("how-to/registry-upkeep.md", "root"):
        run(*words, "--data", str(registry.data))
    place = tmp_path / "registry"
    run("init", "--origin", "other.example.org", "--root-key-out", str(tmp_path / "owner.key"), "--data", str(place))
    for _, words in typed("how-to/registry-upkeep.md", "offline root", real(registry, tmp_path)):
        run(*words, *([] if words[1] == "sign" else ["--data", str(place)]))
    assert (place / "public" / "root" / "2").is_file()


def test_a_wrong_clock_is_accepted_and_set_back_as_the_page_says(tmp_path: Path) -> None:
    data = tmp_path / "rye"
    run("init", "--origin", "late.example.org", "--root-key-out", str(tmp_path / "owner.key"), "--data", str(data))
    settings = load(data, {"heartbeat_seconds": 0}, {})
    with sequencer_of(settings) as sequencer:  # as a server did whose clock nothing contradicted
        sequencer.clock = Clock(settings, lambda: datetime.now(UTC) + timedelta(hours=2))
        sequencer.heartbeat()
    with pytest.raises(RyeError, match="after this machine's clock"):
        start_embedded(data)
    ((_, serve),) = typed("how-to/registry-upkeep.md", "accept the clock")
    process, _ = start_embedded(data, arguments=[word for word in serve if word == "--accept-clock"])
    stop_embedded(process)
    assert run("verify", "--data", str(data), check=False).returncode == 1
    places = {"/srv/": f"{tmp_path}/", "/media/usb/": f"{tmp_path}/", "step": f"{tmp_path}/step"}
    for _, words in typed("how-to/registry-upkeep.md", "clock back", places):
        run(*words)
    assert (data / "public" / "clock").is_file()
    stop_embedded(start_embedded(data)[0])


def test_a_release_and_a_file_are_taken_down(registry: Registry, author: Person) -> None:
    digest = hashlib.sha256(author.path(".ai/skills/drafts/SKILL.md").read_bytes()).hexdigest()
    reason = {"SHA256": digest, "TEXT": "'A secret.'"}
    for program, words in typed("how-to/registry-upkeep.md", "take down", reason):
        assert program == "rye-registry"
        run(*words, "--data", str(registry.data))
    assert not (registry.public / "blobs" / "sha256" / digest[:2] / digest).exists()
