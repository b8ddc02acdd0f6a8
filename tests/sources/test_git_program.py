"""How git is started: always with resource limits, and not at all when its answer is already known."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rye.limits import SOURCES
from rye.project.declared_sources import GitSource
from rye.sources import git_program
from rye.sources.git_cache import GitCache, Objects
from rye.sources.item import Keys
from rye.sources.opening import Opener
from rye.sources.source_error import SourceError
from tests.sources.git_server import Repository
from tests.sources.texts import skill

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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words of git with which objects were read."""
    said: list[str] = []
    start = git_program._start

    def noted(arguments: Sequence[str], *more: object, **options: object) -> subprocess.Popen[bytes]:
        said.extend(word for word in arguments if word.startswith("--batch"))
        return start(arguments, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(git_program, "_start", noted)
    return said


def test_a_source_with_folders_in_folders_is_opened_with_two_gits(
    repository: Repository, tmp_path: Path, asked: list[str]
) -> None:
    """One for each level of folders and two for each sort of file took longer than all that they answered."""
    texts = {f"skills/{'deep/' * depth}s{depth}/SKILL.md": skill(f"s{depth}") for depth in range(4)}
    repository.commit(texts)
    cache = GitCache(tmp_path / "cache", ENVIRONMENT, offline=False)
    source = GitSource("kit", f"file://{repository.path}", None)
    opened = Opener(tmp_path, cache, Keys()).open(source, None)
    assert sorted(name for _, name in opened.items) == ["s0", "s1", "s2", "s3"]
    assert sorted(asked) == ["--batch", "--batch-check"]
    judged = opened.judge(opened.items.values())
    assert not [why for why in judged.values() if isinstance(why, str)]


def test_a_git_whose_answer_was_refused_is_asked_no_more(repository: Repository, asked: list[str]) -> None:
    """Its next answer would be taken for that of another object."""
    commit = repository.git("rev-parse", "main")
    tree, blob = repository.git("rev-parse", "main^{tree}"), repository.git("rev-parse", "main:README.md")
    objects = Objects(repository.path, ENVIRONMENT, commit)
    with objects.together():
        for refused, kind, most in (
            ([blob, tree], "blob", 3),
            ([tree, blob], "blob", 1 << 20),
            (["0" * 40], "tree", 9),
        ):
            with pytest.raises(SourceError):
                objects.read(refused, kind, most)
            assert objects.read([blob], "blob", 1 << 20) == {blob: b"# Kit\n"}
        assert objects.sizes([blob, tree, "0" * 40]) == {blob: 6}
        assert objects.sizes([blob]) == {blob: 6}
    assert (asked.count("--batch"), asked.count("--batch-check")) == (4, 1)
    assert objects.read([blob], "blob", 1 << 20) == {blob: b"# Kit\n"}


def test_no_time_passes_for_a_git_that_is_asked_nothing(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One git answers for a whole source; what Rye does between two questions may take longer than an answer."""
    running: list[object] = []

    class Noted(git_program.Deadline):
        def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
            super().__init__(process, seconds)
            running.append(self)

        def cancel(self) -> None:
            super().cancel()
            running.remove(self)

    monkeypatch.setattr(git_program, "Deadline", Noted)
    repository.commit({"README.md": "# Kit\n"})
    blob = repository.git("rev-parse", "main:README.md")
    objects = Objects(repository.path, ENVIRONMENT, repository.git("rev-parse", "main"))
    with objects.together():
        for _ in range(2):
            assert objects.read([blob], "blob", 1 << 20) == {blob: b"# Kit\n"}
            assert not running
