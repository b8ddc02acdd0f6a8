"""What is mounted is what was surveyed: a granted path, a protected file or a project that is replaced between the two (house 3;
docs/how-to/tools.md). No race is tried: the replacement happens exactly between decision and use."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event, Thread
from typing import Any

import msgspec
import pytest

from rye.errors import RyeError
from rye.items.needs import parse_needs
from rye.runtime.sandbox import running
from rye.runtime.sandbox.bubblewrap import Bubblewrap
from rye.runtime.sandbox.landlock import Landlock
from rye.runtime.sandbox.profile import profile_for
from rye.runtime.sandbox.running import Scene, Walls, fresh_work
from rye.runtime.sandbox.tool_run import Backend, Outcome, ToolRun
from tests.sandbox.calling import call

pytestmark = pytest.mark.processes

LOOK = """
def execute(params):
    seen = {}
    for path in params["read"]:
        try:
            seen[path] = open(path).read()
        except OSError as error:
            seen[path] = type(error).__name__
    for path in params["write"]:
        try:
            open(path, "a").write("taken")
            seen[path] = "written"
        except OSError as error:
            seen[path] = type(error).__name__
    return seen
"""


def call_with(
    sandbox: Backend, project: Path, grants: list[str], between: Callable[[], object], **paths: list[Path]
) -> Outcome:
    """Call a tool, and do something after the survey and before the sandbox is built."""
    assert isinstance(sandbox, Bubblewrap | Landlock)

    def build(scene: Scene) -> Walls:
        walls = sandbox._walls(scene)
        between()
        return walls

    parameters = {key: [str(path) for path in paths.get(key, [])] for key in ("read", "write")}
    with fresh_work() as work:
        profile = profile_for(project, work, {}, parse_needs({"write": grants}), deny=())
        tool = ToolRun(LOOK.encode(), ".py", msgspec.json.encode(parameters), "tool:acme/test/tool@1.0.0", profile)
        return running.run(tool, Event(), sandbox.environ, build)


def seen(outcome: Outcome) -> Mapping[str, str]:
    return msgspec.json.decode(outcome.output, type=dict[str, str])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "project"
    for name in ("build/cache/x.txt", "build/.env", "build/sub/.claude/settings.json", "shown/a.txt", "shown/.env"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("ours", "utf-8")
    outside = root.parent / "outside"
    (outside / "cache").mkdir(parents=True)
    for name in ("default.key.txt", "cache/x.txt", "a.txt"):
        (outside / name).write_text("secret", "utf-8")
    return root


def refused(
    sandbox: Backend, project: Path, grants: list[str], between: Callable[[], object], **paths: list[Path]
) -> bool:
    """Whether the call did not start, or could do nothing: Landlock allows nothing that was not surveyed."""
    try:
        outcome = call_with(sandbox, project, grants, between, **paths)
    except RyeError as error:
        return error.code == "grant-changed"
    return all(word.endswith("Error") for word in seen(outcome).values())


def aside(path: Path) -> None:
    path.rename(path.with_name(path.name + "-aside"))


def link(path: Path, target: Path) -> Callable[[], None]:
    def replace() -> None:
        aside(path)
        path.symlink_to(target)

    return replace


def another(path: Path) -> Callable[[], None]:
    def replace() -> None:
        aside(path)
        path.mkdir() if path.with_name(path.name + "-aside").is_dir() else path.write_text("another", "utf-8")

    return replace


def test_a_granted_folder_is_the_one_that_was_surveyed(sandbox: Backend, project: Path) -> None:
    """The attack on the signing key: the folder becomes a link to another one when the survey is over."""
    outside = project.parent / "outside"
    secret = outside / "default.key.txt"
    cases = [
        (["build/cache/"], link(project / "build/cache", outside)),
        (["build/cache/"], link(project / "build", outside)),
        (["build/cache/"], another(project / "build/cache")),
        (["build/cache/x.txt"], link(project / "build/cache/x.txt", secret)),
        (["build/cache/x.txt"], another(project / "build/cache/x.txt")),
    ]
    written = [project / "build/cache/new", project / "build/cache/x.txt"]
    for number, (grants, between) in enumerate(cases):
        with pytest.raises(RyeError) as error:
            call_with(sandbox, project, grants, between, read=[secret], write=written)
        assert error.value.code == "grant-changed", number
        for path in project.rglob("*-aside"):  # put it back
            original = path.with_name(path.name.removesuffix("-aside"))
            original.unlink() if original.is_symlink() or original.is_file() else original.rmdir()
            path.rename(original)
    assert {path.name for path in outside.rglob("*")} == {"cache", "x.txt", "default.key.txt", "a.txt"}
    assert secret.read_text("utf-8") == "secret"
    control = call_with(sandbox, project, ["build/cache/"], lambda: None, write=written)
    assert set(seen(control).values()) == {"written"}


def test_a_protected_file_is_the_one_that_was_surveyed(sandbox: Backend, project: Path) -> None:
    """A folder above it is replaced: the name leads to one that was never looked at."""
    (project / "build/other/.claude").mkdir(parents=True)
    settings = project / "build/sub/.claude/settings.json"

    def between() -> None:
        aside(project / "build/sub")
        (project / "build/other").rename(project / "build/sub")

    assert refused(sandbox, project, ["build/"], between, write=[settings])
    assert not settings.exists()


def test_what_may_be_read_is_what_was_surveyed(sandbox: Backend, project: Path) -> None:
    """A file that was shown becomes a link to a secret, or another file takes its name."""
    outside, shown = project.parent / "outside", project / "shown/a.txt"
    control = call_with(sandbox, project, [], lambda: None, read=[shown, project / "shown/.env"])
    assert seen(control)[str(shown)] == "ours"
    assert seen(control)[str(project / "shown/.env")] in ("", "PermissionError")
    replaced = call_with(sandbox, project, [], link(shown, outside / "a.txt"), read=[shown])
    assert seen(replaced)[str(shown)].endswith("Error")


def test_a_project_is_the_one_that_was_surveyed(sandbox: Backend, project: Path) -> None:
    outside = project.parent / "outside"
    assert refused(sandbox, project, [], link(project, outside), read=[project / "a.txt"])


def test_two_tools_that_may_change_the_same_folder_run_one_after_the_other(sandbox: Backend, project: Path) -> None:
    """Each writes a line when it starts and one when it ends: the lines never mix."""
    code = b"""
import time
def execute(params):
    for word in ("begin", "end"):
        with open(params["file"], "a") as log:
            log.write(word + "\\n")
        time.sleep(0.2)
    return True
"""

    def run(grant: str, file: Path) -> None:
        with fresh_work() as work:
            profile = profile_for(project, work, {}, parse_needs({"write": [grant]}), deny=())
            parameters = msgspec.json.encode({"file": str(file)})
            outcome = sandbox.run(ToolRun(code, ".py", parameters, "tool:acme/test/tool@1.0.0", profile), Event())
            assert outcome.output == b"true", outcome

    log = project / "build/cache/log.txt"
    threads = [Thread(target=run, args=(grant, log)) for grant in ("build/cache/", "build/", "build/cache/")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.read_text("utf-8").split() == ["begin", "end"] * 3


def test_caches_of_rye_in_a_granted_folder_are_covered(sandbox: Backend, project: Path) -> None:
    """As where the project is the user's home: a tool could change what Rye takes from there."""
    cached = project / "build/rye/release.txt"
    cached.parent.mkdir()
    cached.write_text("verified", "utf-8")
    attempt = f"cat {cached}; echo evil > {cached}; mv {cached.parent} {cached.parent}-aside; echo true"
    own: dict[str, Any] = {"deny": (cached.parent,), "caches": (cached.parent,)}
    outcome = call(
        sandbox, project, f"#!/bin/bash\n({attempt}) >&2; echo true\n", ".sh", grants={"write": ["build/"]}, **own
    )
    assert outcome.exit == 0
    assert b"verified" not in outcome.output + outcome.stderr
    assert cached.read_text("utf-8") == "verified"


def test_temporary_files_of_calls_do_not_lie_where_a_tool_may_write(
    sandbox: Backend, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another call's program would lie there before it starts."""
    (project / "build/tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(project / "build/tmp"))
    with pytest.raises(RyeError, match="temporary files"):
        call(sandbox, project, "def execute(params):\n    return True\n", grants={"write": ["build/"]})
    assert call(sandbox, project, "def execute(params):\n    return True\n", grants={"write": ["dist/"]}).exit == 0
