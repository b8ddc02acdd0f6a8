"""If nothing changed, install answers from file system metadata alone; any change makes it check again."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from rye.cli import unchanged
from rye.consent.ask import Ask
from rye.installation.journal import needs_recovery
from rye.project.context import own_items
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.manifest import Manifest
from rye.project.user_config import read_other_policies, read_settings
from rye.verified.on_disk import scan
from rye.workspace.installing.project_state import bytes_of, manifest_text_of
from rye.workspace.trusting import acceptance
from rye.workspace.trusting.project_changes import project_changes
from tests.scenes.person import Person

pytestmark = pytest.mark.processes

INSTALL = ["install", "-q"]
SAID = "everything is installed\n"
EMPTY = "rye.toml lists no items; `rye add [KIND:]ID` adds one\n"


@pytest.fixture
def user(tmp_path: Path) -> Person:
    """Someone with a project that looks installed; nothing here reads the contents of the files."""
    person = Person(tmp_path)
    for path in ("rye.toml", "rye.lock", ".ai/packages/acme/tools/work/read.py", ".ai/packages/acme/roles/clerk.md"):
        person.write(path, "0123456789\n")
    return person


def recalled(user: Person, *words: str) -> str | None:
    before = Path.cwd()
    with mock.patch.dict(os.environ, user.environment, clear=True):
        os.chdir(user.folder)
        try:
            return unchanged.recall([*INSTALL, *words], user.environment)
        finally:
            os.chdir(before)


_listening: list[unchanged.Watch] = []


@pytest.fixture(scope="module", autouse=True)
def _hook() -> None:
    """An audit hook cannot be removed: all tests here share one, which does nothing between them."""
    sys.addaudithook(lambda event, arguments: _listening[0].note(event, arguments) if _listening else None)


def remember(
    user: Person, *words: str, started: float | None = None, more: Callable[[Project], object] = lambda project: None
) -> None:
    """Remember like a run that began long after the files settled: read what an installation with nothing to do reads."""
    later = time.time() + 3600 if started is None else started
    project, before = Project(user.folder), Path.cwd()
    with mock.patch.dict(os.environ, user.environment, clear=True):
        os.chdir(user.folder)
        _listening.append(unchanged.Watch())
        try:
            needs_recovery(project)
            manifest_text_of(project)
            bytes_of(project.lock_path)
            read_settings(user.folders)
            read_other_policies(user.folders)
            scan(project)
            more(project)
        finally:
            watch = _listening.pop()
        try:
            unchanged.remember([*INSTALL, *words], str(user.folder), user.environment, later, SAID, watch.paths)
        finally:
            os.chdir(before)


def test_the_same_is_answered_the_same(user: Person) -> None:
    assert recalled(user) is None
    remember(user)
    assert recalled(user) == SAID
    assert recalled(user) == SAID


def replaced_by_a_link(path: Path) -> None:
    path.replace(path.parents[4] / "elsewhere")
    path.symlink_to(path.parents[4] / "elsewhere")


def replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def moved_to_a_copy(user: Person) -> None:
    other = user.folder.with_name("other")
    shutil.copytree(user.folder, other)
    user.folder = other


def same_size_same_time(path: Path) -> None:
    """What a careful forger does: other bytes, the old size, the old times."""
    status = path.stat()
    path.write_bytes(b"9876543210\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES: dict[str, Callable[[Person], object]] = {
    "an edited item": lambda user: user.write(".ai/packages/acme/roles/clerk.md", "more\n"),
    "an item with other bytes, its size and its times": lambda user: same_size_same_time(
        user.path(".ai/packages/acme/roles/clerk.md")
    ),
    "an item that was replaced by a copy": lambda user: (
        shutil.copy2(user.path("rye.toml"), user.path("copy")),
        user.path("copy").replace(user.path(".ai/packages/acme/roles/clerk.md")),
    ),
    "an item that became executable": lambda user: user.path(".ai/packages/acme/tools/work/read.py").chmod(0o755),
    "an item that became a link": lambda user: replaced_by_a_link(user.path(".ai/packages/acme/roles/clerk.md")),
    "a new file": lambda user: user.write(".ai/packages/acme/roles/other.md", ""),
    "a new empty folder": lambda user: user.path(".ai/packages/evil").mkdir(),
    "a file that is gone": lambda user: user.path(".ai/packages/acme/roles/clerk.md").unlink(),
    "no packages at all": lambda user: shutil.rmtree(user.path(".ai/packages")),
    "another lock": lambda user: user.write("rye.lock", "9876543210\n"),
    "another manifest": lambda user: user.write("rye.toml", "9876543210\n"),
    "no manifest": lambda user: user.path("rye.toml").unlink(),
    "a manifest that is a folder": lambda user: replaced_by_a_folder(user.path("rye.toml")),
    "an interrupted installation": lambda user: user.write(".ai/.rye/journal", "[]"),
    "new settings": lambda user: user.write("../home/config/config.toml", ""),
    "a policy of the user's": lambda user: user.write("../home/config/policy.toml", ""),
    "a policy of the organization's": lambda user: user.environment.update(RYE_POLICY=str(user.write("p.toml", ""))),
    "another registry": lambda user: user.environment.update(RYE_REGISTRY="https://registry.example.org"),
    "JSON asked for": lambda user: user.environment.update(RYE_JSON="1"),
    "an answer of another project": moved_to_a_copy,
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_changed_is_looked_at(user: Person, name: str) -> None:
    remember(user)
    CHANGES[name](user)
    assert recalled(user) is None


def test_what_an_install_comes_to_read_is_part_of_it_without_being_listed_anywhere(user: Person) -> None:
    """A dependency that was never declared: a file, a missing file, and a folder's listing."""

    def reads(project: Project) -> None:
        for name in ("facts.toml", "absent.toml"):
            with contextlib.suppress(FileNotFoundError):
                (project.root / name).read_text()
        os.listdir(project.root / "plugins")

    def written() -> None:
        user.write("facts.toml", "a = 1\n")
        user.write("plugins/one", "")

    written()
    for path, text in (("facts.toml", "a = 2\n"), ("absent.toml", ""), ("plugins/two", "")):
        remember(user, more=reads)
        assert recalled(user) == SAID
        user.write(path, text)
        assert recalled(user) is None
        user.path("absent.toml").unlink(missing_ok=True)


@pytest.mark.parametrize("folder", ["overrides/acme/work", "overrides/other", "formula-overlays", "role-directives"])
@pytest.mark.parametrize("exists", [False, True])
def test_a_customization_or_an_item_that_a_commit_brings_is_looked_at(user: Person, folder: str, exists: bool) -> None:
    """Whether or not its folder was there before: an installation asks about the first and warns about the second."""
    row = LockedItem(kind="tool", id="acme/work/read", version="1.0.0", size=1, sha256="0" * 64, suffix=".py")

    def looks(project: Project) -> None:
        project_changes(user.folders, project, Manifest(), [row])
        own_items(project.ai)

    for planted in (f".ai/{folder}/planted.md", ".ai/tools/planted.py"):
        if exists:
            user.path(planted).parent.mkdir(parents=True)
        remember(user, more=looks)
        assert recalled(user) == SAID
        user.write(planted, "")
        assert recalled(user) is None


@pytest.mark.parametrize("path", [".ai/overrides/acme/work/read.overrides.md", ".ai/overrides", ".ai/.rye/accepted"])
def test_an_agreed_customization_that_a_commit_takes_away_is_looked_at(user: Person, path: str) -> None:
    """As is what this user agreed to, in a project without one."""
    user.write(".ai/overrides/acme/work/read.overrides.md", "")
    agreed = Ask("tool:acme/work/read", "customization", ".ai/overrides/acme/work/read.overrides.md (sha256 00)")
    acceptance.remember(user.folders, user.project, [agreed])
    row = LockedItem(kind="tool", id="acme/work/read", version="1.0.0", size=1, sha256="0" * 64, suffix=".py")
    remember(user, more=lambda project: project_changes(user.folders, project, Manifest(), [row]))
    assert recalled(user) == SAID
    gone = user.path(path)
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    assert recalled(user) is None


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, os.mkfifo])
def test_the_record_of_a_deploy_is_looked_at_where_there_was_none(user: Person, make: Callable[[Path], None]) -> None:
    """Where rye.toml lists nothing, nothing else reads the folder that it is written to."""
    record = user.path(".ai/deploy.lock")
    remember(user, more=lambda project: project.has_deployed)
    assert recalled(user) == SAID
    assert not Project(user.folder).has_deployed
    make(record)
    assert recalled(user) is None
    assert Project(user.folder).has_deployed


def test_what_is_only_written_is_not_part_of_it(user: Person) -> None:
    remember(user, more=lambda project: user.write("log.txt", "first\n"))
    user.write("log.txt", "second\n")
    assert recalled(user) == SAID


def test_the_source_of_every_loaded_module_is_part_of_it(user: Person) -> None:
    assert {os.path.abspath(unchanged.__file__), os.path.abspath(pytest.__file__)} <= unchanged._sources()


@pytest.mark.parametrize(
    "words", [("--frozen",), ("--locked",), ("--json",), ("-C", "."), ("acme/work/read",), ("--dry-run",), ("--help",)]
)
def test_only_plain_installs_are_remembered(user: Person, words: tuple[str, ...]) -> None:
    remember(user, *words)
    assert recalled(user, *words) is None


def test_other_words_are_another_command(user: Person) -> None:
    remember(user)
    assert recalled(user, "--yes") is None
    assert recalled(user) == SAID


def test_what_was_just_written_is_not_remembered(user: Person) -> None:
    remember(user, started=time.time())
    assert recalled(user) is None


def test_a_damaged_memory_is_none(user: Person) -> None:
    remember(user)
    [file] = (user.home / "data/unchanged").iterdir()
    whole = file.read_bytes()
    for damaged in (b"", b"\0", whole[:-1], whole[: len(whole) // 2], b"\xff" * 10):
        file.write_bytes(damaged)
        assert recalled(user) is None
    file.unlink()
    file.mkdir()
    assert recalled(user) is None
    remember(user)


def test_a_memory_that_others_own_or_can_write_is_none(user: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(user)
    [stored] = (user.home / "data" / "unchanged").iterdir()
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    for mode in (0o620, 0o602):
        stored.chmod(mode)
        assert recalled(user) is None
    stored.chmod(0o600)
    assert recalled(user) == SAID
    monkeypatch.setattr(os, "geteuid", lambda: stored.stat().st_uid + 1)
    assert recalled(user) is None


def test_a_disk_that_cannot_be_written_is_no_error(user: Person) -> None:
    user.write("../home/data", "a file in the folder's place")
    remember(user)
    assert recalled(user) is None


def test_cleaning_the_cache_forgets(user: Person) -> None:
    remember(user)
    user.ok("cache", "clean")
    assert recalled(user) is None


def test_the_program_answers_before_it_imports_its_command_line(user: Person) -> None:
    user.write("rye.toml", '[project]\nname = "empty"\n')
    user.write("rye.lock", "# Made by rye; do not edit. Reviews should look at `approved`.\nversion = 1\n")
    shutil.rmtree(user.path(".ai/packages"))
    user.path(".ai/packages").mkdir()
    code = "import sys\nfrom rye.cli.start import main\nsys.argv[1:] = ['install', '-q']\nmain()\nprint('click' in sys.modules)"

    def started() -> str:
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=user.folder,
            env=user.environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert user.spawn(*INSTALL).stdout == EMPTY
    time.sleep(unchanged._SETTLED_SECONDS + 0.1)
    assert user.spawn(*INSTALL).stdout == EMPTY
    assert started() == f"{EMPTY}False\n"
    user.write(".ai/packages/stray.md", "")
    assert started() == EMPTY, "the command line answers, and ends the program"
