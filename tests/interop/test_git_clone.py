"""``/git/NAMESPACE.git`` with the real git."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from registry_server.embedded import start_embedded, stop_embedded
from tests.interop.unchecked_registry import UncheckedRegistry

pytestmark = [pytest.mark.processes, pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")]
PROTOCOLS = pytest.mark.parametrize("version", [0, 1, 2])


class Git:
    """git in a folder, without anyone's settings."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        folder.mkdir(exist_ok=True)

    def run(self, *words: str, version: int = 2, ok: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["git", "-c", f"protocol.version={version}", "-c", "http.proxy=", *words],
            cwd=self.folder, capture_output=True, text=True, timeout=60,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1",
                 "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        )  # fmt: skip
        assert not ok or done.returncode == 0, done.stderr
        return done

    def clone(self, name: str, *words: str, version: int = 2) -> Path:
        self.run("clone", "-q", *words, f"{self.url}/git/acme.git", name, version=version)
        self.run("-C", name, "fsck", "--strict")
        return self.folder / name

    def head(self, name: str) -> str:
        return self.run("-C", name, "rev-parse", "HEAD").stdout.strip()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[UncheckedRegistry, str]]:
    """A running registry that the test also writes to."""
    local = UncheckedRegistry(tmp_path_factory.mktemp("registry") / "data")
    local.release("acme/tools/pdf", "1.0.0", {"scripts/run.sh": b"#!/bin/sh\n", "big.txt": bytes(range(256)) * 4000})
    local.release("acme/notes", "0.1.0")
    process, url = start_embedded(local.data)
    yield local, url
    stop_embedded(process)
    local.close()


@pytest.fixture
def git(served: tuple[UncheckedRegistry, str], tmp_path: Path) -> Git:
    return Git(tmp_path / "work", served[1])


@PROTOCOLS
def test_a_clone_is_a_marketplace(git: Git, version: int) -> None:
    place = git.clone("whole", version=version)
    files = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    assert {path for path in files if not path.startswith(".git/")} == {
        ".claude-plugin/marketplace.json",
        ".agents/plugins/marketplace.json",
        "plugins/acme/.claude-plugin/plugin.json",
        "plugins/acme/.codex-plugin/plugin.json",
        "plugins/acme/skills/notes/SKILL.md",
        "plugins/acme/skills/pdf/SKILL.md",
        "plugins/acme/skills/pdf/big.txt",
        "plugins/acme/skills/pdf/scripts/run.sh",
    }
    assert os.access(place / "plugins/acme/skills/pdf/scripts/run.sh", os.X_OK)
    assert not os.access(place / "plugins/acme/skills/pdf/SKILL.md", os.X_OK)
    assert (place / "plugins/acme/skills/pdf/big.txt").read_bytes() == bytes(range(256)) * 4000
    assert git.run("-C", "whole", "branch", "--show-current").stdout == "main\n"
    assert git.run("-C", "whole", "log", "--format=%an|%P").stdout == "registry.example.org|\n"


@PROTOCOLS
def test_the_whole_history_is_one_commit_whatever_depth_is_asked(git: Git, version: int) -> None:
    whole = git.clone("whole", version=version)
    for name, words in (("one", ["--depth", "1"]), ("many", ["--depth", "50"]), ("bare", ["--bare"])):
        git.clone(name, *words, version=version)
        assert git.head(name) == git.head(whole.name)
        assert not (git.folder / name / ".git/shallow").exists()
    git.run("clone", "-q", "--shallow-since=2000-01-01", f"{git.url}/git/acme.git", "since", version=version)
    tomorrow = f"--shallow-since={datetime.now(UTC) + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"
    late = git.run("clone", "-q", tomorrow, f"{git.url}/git/acme.git", "late", version=version, ok=False)
    assert late.returncode != 0
    assert "no commits selected" in late.stderr


@PROTOCOLS
def test_remote_branches_are_listed_and_filtered(git: Git, version: int) -> None:
    url = f"{git.url}/git/acme.git"
    lines = [line.split("\t") for line in git.run("ls-remote", "--symref", url, version=version).stdout.splitlines()]
    commit = lines[-1][0]
    assert lines == [["ref: refs/heads/main", "HEAD"], [commit, "HEAD"], [commit, "refs/heads/main"]]
    assert git.run("ls-remote", url, "refs/heads/main", version=version).stdout == f"{commit}\trefs/heads/main\n"
    assert git.run("ls-remote", "--tags", url, version=version).stdout == ""


@pytest.mark.thorough
@PROTOCOLS
def test_a_fetch_brings_a_new_release_and_takes_a_withdrawn_one_away(
    git: Git, served: tuple[UncheckedRegistry, str], version: int
) -> None:
    local, _ = served
    place = git.clone("whole", version=version)
    skill = place / f"plugins/acme/skills/new{version}"
    local.release(f"acme/new{version}", "1.0.0", {f"a{version}.md": b"new"})
    git.run("-C", "whole", "fetch", "-q", version=version)
    git.run("-C", "whole", "reset", "-q", "--hard", "origin/main")
    assert (skill / f"a{version}.md").read_bytes() == b"new"
    git.run("-C", "whole", "fsck", "--strict")
    assert git.run("-C", "whole", "fetch", version=version).stderr == ""
    local.yank(f"acme/new{version}")
    git.run("-C", "whole", "fetch", "-q", "--depth", "1", version=version)
    git.run("-C", "whole", "reset", "-q", "--hard", "origin/main")
    assert not skill.exists()
    assert git.head("whole") == git.head(git.clone("fresh", version=version).name)


def test_the_same_releases_are_the_same_commit_on_another_server(
    git: Git, served: tuple[UncheckedRegistry, str]
) -> None:
    other, url = start_embedded(served[0].data)
    try:
        git.clone("whole")
        again = Git(git.folder / "again", url)
        again.clone("whole")
        assert git.head("whole") == again.head("whole")
    finally:
        stop_embedded(other)


def test_many_haves_come_packed_and_lead_to_the_whole(git: Git) -> None:
    """A clone with hundreds of its own commits sends a request that git compresses with gzip."""
    git.run("init", "-q", "mine")
    stream = "".join(
        f"commit refs/heads/mine\ncommitter A <a@b> {1_700_000_000 + number} +0000\ndata 2\nx\n\n"
        for number in range(300)
    )
    done = subprocess.run(
        ["git", "-C", str(git.folder / "mine"), "fast-import", "--quiet"],
        input=stream.encode(), env={"PATH": os.environ["PATH"], "HOME": str(git.folder)}, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    for version in (0, 2):
        git.run("-C", "mine", "fetch", "-q", f"{git.url}/git/acme.git", f"main:got{version}", version=version)
        git.run("-C", "mine", "fsck", "--strict")


def test_nothing_can_be_pushed(git: Git) -> None:
    git.clone("whole")
    refused = git.run("-C", "whole", "push", "origin", "HEAD:other", ok=False)
    assert refused.returncode != 0
    assert "403" in refused.stderr


def test_a_namespace_without_skills_has_no_repository(git: Git) -> None:
    for name in ("beta", "nobody"):
        refused = git.run("ls-remote", f"{git.url}/git/{name}.git", ok=False)
        assert "not found" in refused.stderr
