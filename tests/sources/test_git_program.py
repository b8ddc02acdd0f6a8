"""How git is started: always with resource limits, and not at all when its answer is already known."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.limits import SOURCES
from rye.sources import git_program
from rye.sources.git_cache import Objects
from tests.sources.git_server import Repository

pytestmark = pytest.mark.processes

ENVIRONMENT = git_program.environment({"PATH": "/usr/local/bin:/usr/bin:/bin"}, git_program.Asking(), [])


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "kit.git")
    made.commit({"README.md": "# Kit\n"})
    return made


def bounds_of(process: subprocess.Popen[bytes]) -> Iterator[int]:
    for which in (resource.RLIMIT_FSIZE, resource.RLIMIT_AS, resource.RLIMIT_CORE):
        yield resource.prlimit(process.pid, which)[0]


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="this system cannot tell the bounds of another process")
@pytest.mark.parametrize("refuses", [False, True], ids=["from outside", "before git, where that is refused"])
def test_a_git_that_waits_for_names_is_bounded_before_it_gets_one(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, refuses: bool
) -> None:
    ask = resource.prlimit

    def prlimit(pid: int, which: int, *most: tuple[int, int]) -> tuple[int, int]:
        if most and refuses:
            raise PermissionError("not here")
        return ask(pid, which, *most)

    monkeypatch.setattr(resource, "prlimit", prlimit)
    words = [f"--git-dir={repository.path}", "cat-file", "--batch"]
    with git_program.started(words, ENVIRONMENT, None, stdin=True) as process:
        assert list(bounds_of(process)) == [SOURCES.fetch_bytes, SOURCES.memory_bytes, 0]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"main\n")
        process.stdin.close()
        assert b" commit " in process.stdout.readline()


def test_a_user_without_configuration_is_not_asked_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"HOME": str(tmp_path), "PATH": ENVIRONMENT["PATH"]}
    with monkeypatch.context() as without:
        without.setattr(subprocess, "run", lambda *words, **more: pytest.fail("git was started"))
        assert git_program.user_settings(given) == ()
    (tmp_path / ".config" / "git").mkdir(parents=True)
    (tmp_path / ".config" / "git" / "config").write_text("[http]\n\tsslCAInfo = /ca.pem\n")
    assert git_program.user_settings(given) == (("http.sslcainfo", "/ca.pem"),)
    (tmp_path / "else" / "git").mkdir(parents=True)
    (tmp_path / "else" / "git" / "config").write_text("[http]\n\tsslCAInfo = /other.pem\n")
    more = {**given, "XDG_CONFIG_HOME": str(tmp_path / "else")}
    assert git_program.user_settings(more) == (("http.sslcainfo", "/other.pem"),)
    (tmp_path / ".gitconfig").write_text("[http]\n\tsslCAInfo = /mine.pem\n")
    assert ("http.sslcainfo", "/mine.pem") in git_program.user_settings(more)


def test_trees_that_were_read_are_not_read_again_and_files_are(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.git("rev-parse", "main")
    tree, blob = repository.git("rev-parse", "main^{tree}"), repository.git("rev-parse", "main:README.md")
    objects = Objects(repository.path, ENVIRONMENT, commit)
    first = objects.read([tree], "tree", 1 << 20)
    assert objects.read([blob], "blob", 1 << 20) == {blob: b"# Kit\n"}
    monkeypatch.setattr(git_program, "started", lambda *words, **more: pytest.fail("git was started"))
    assert objects.read([tree], "tree", 1 << 20) == first
    with pytest.raises(BaseException, match="git was started"):
        objects.read([blob], "blob", 1 << 20)
