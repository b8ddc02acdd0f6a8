"""Runs the commands in ``docs/how-to/integrations.md``: the check against a real author, and a private registry."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from registry_server.embedded import start_embedded, stop_embedded
from tests.interop.test_page import EXAMPLES, HOST, PAGE
from tests.interop.unchecked_registry import UncheckedRegistry
from tests.scenes.item_texts import skill
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.write(".ai/skills/pdf/SKILL.md", skill("pdf"))
    author.ok("sign", ".ai/skills/pdf/SKILL.md")
    author.publish(".ai/skills/pdf")
    return author


def test_one_command_checks_what_the_others_do_not(registry: Registry, user: Person) -> None:
    """What it installs also has the bytes that other programs get."""
    (words,) = [shlex.split(line) for line in EXAMPLES["check"].splitlines()]
    user.ok(*words[1:], "--yes")
    user.ok("audit")
    (installed,) = user.folder.joinpath(".ai/packages").rglob("SKILL.md")
    if shutil.which("curl") is None:
        pytest.skip("there is no curl here")
    address = f"{registry.url}/acme/.well-known/agent-skills/pdf/SKILL.md"
    served = subprocess.run(["curl", "-sS", "--noproxy", "*", address], capture_output=True, timeout=30, check=True)
    assert served.stdout == installed.read_bytes()


def test_advisories_are_fetched_as_the_page_says(registry: Registry, acme: Person, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl here")
    (words,) = [shlex.split(line.replace(HOST, registry.url)) for line in EXAMPLES["osv"].splitlines()]
    subprocess.run([*words, "--noproxy", "*", "-sS"], cwd=tmp_path, timeout=30, check=True)
    assert (tmp_path / "all.zip").read_bytes()[:2] == b"PK"


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
def test_git_reads_a_private_registry_with_a_token(tmp_path: Path) -> None:
    local = UncheckedRegistry(tmp_path / "data", 'read = "members"\n')
    process, url = start_embedded(local.data)
    try:
        local.release("acme/tools/pdf")
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}

        def git(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                ["git", *words], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
            )

        address = f"{url}/git/acme.git"
        assert git("clone", "-q", address, "refused").returncode != 0
        (line,) = re.findall(r"^git config .*$", PAGE, re.MULTILINE)
        words = shlex.split(line.replace(HOST, url).replace("TOKEN", local.token()))
        assert git(*words[1:]).returncode == 0
        done = git("clone", "-q", address, "mine")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "mine/plugins/acme/skills/pdf/SKILL.md").is_file()
    finally:
        stop_embedded(process)
        local.close()
