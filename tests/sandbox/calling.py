"""Calls of tools in tests: a project, a sandbox, one line per call; from here, or as another user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Event
from typing import Any

import msgspec
import pytest

from rye.items.needs import parse_needs
from rye.runtime.sandbox.profile import profile_for
from rye.runtime.sandbox.running import fresh_work
from rye.runtime.sandbox.tool_run import Backend, Outcome, SandboxUnavailable, Suffix, ToolRun
from rye.runtime.sandboxed_tools import backend
from tests.sandbox.playing import Answer, Calls

LINUX = ("bubblewrap", "landlock")
NOBODY = 65534
"""The ordinary user that tests become."""
Player = Callable[[Calls], list[Answer]]
"""Calls a shell tool several times."""


def demanded(name: str) -> Backend:
    """The sandbox of that name. If it does not work here, check the refusal and skip the test."""
    try:
        return backend({"RYE_SANDBOX": name})
    except SandboxUnavailable as error:
        message = error.message
    assert name in message
    pytest.skip(message)


def start_as(user: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a Python that can import rye, as ``this user`` or as ``nobody``, who has the system's."""
    where = [str(Path(__file__).parents[2]), str(Path(msgspec.__file__).parents[1])]
    nobody = {} if user == "this user" else {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
    process: subprocess.Popen[str] = subprocess.Popen(
        [sys.executable if user == "this user" else "/usr/bin/python3", *arguments],
        env={"PYTHONPATH": os.pathsep.join(where), "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nonexistent"},
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **nobody,  # type: ignore[call-overload]
    )
    return process


@cache
def _why_not(user: str) -> str | None:
    """Why this user cannot call tools here."""
    if user == "this user":
        return None
    if os.geteuid() != 0:
        return "only root can become nobody"
    version = start_as(user, "-c", "import sys, rye.limits; print(sys.version_info[:2])").communicate()[0].strip()
    return None if version == str(sys.version_info[:2]) else f"nobody has no Python here that can import rye: {version}"


def demand_user(user: str) -> None:
    """Skip the test if this user cannot call tools here."""
    why = _why_not(user)
    if why is not None:
        pytest.skip(why)


def ask(process: subprocess.Popen[str], sandbox: str, project: Path, calls: Calls, data: Path | None = None) -> None:
    """Send a request to a program of ``playing.py``."""
    assert process.stdin is not None
    process.stdin.write(json.dumps([sandbox, str(project), calls, str(data) if data is not None else None]) + "\n")
    process.stdin.flush()


def answer(process: subprocess.Popen[str]) -> list[Answer]:
    """Its answer to the oldest request that has none."""
    assert process.stdout is not None
    return [Answer(*each) for each in json.loads(process.stdout.readline())]


def answered(
    process: subprocess.Popen[str], sandbox: str, project: Path, calls: Calls, data: Path | None = None
) -> list[Answer]:
    ask(process, sandbox, project, calls, data)
    return answer(process)


def call(
    sandbox: Backend,
    project: Path,
    code: str | bytes,
    suffix: Suffix = ".py",
    parameters: Mapping[str, Any] | None = None,
    *,
    grants: Mapping[str, Sequence[str]] | None = None,
    environ: Mapping[str, str] | None = None,
    cancel: Event | None = None,
    **limits: Any,
) -> Outcome:
    """Run a tool in an existing project. ``limits`` are fields of the profile."""
    with fresh_work() as work:
        project = Path(os.path.realpath(project))
        profile = profile_for(project, work, environ or {}, parse_needs(grants or {}), deny=())
        profile = msgspec.structs.replace(profile, **limits)
        content = code.encode() if isinstance(code, str) else code
        tool = ToolRun(content, suffix, msgspec.json.encode(parameters or {}), "tool:acme/test/tool@1.0.0", profile)
        return sandbox.run(tool, cancel or Event())


@contextmanager
def new_project(user: str, files: Mapping[str, str]) -> Iterator[Path]:
    """A project with these files that belongs to a user, in a folder that everybody can reach."""
    base = Path(mkdtemp(prefix="rye-test-"))
    root = base / "project"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    base.chmod(0o755)
    if user == "nobody" and os.geteuid() == 0:
        for path in (base, *base.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    yield root
    for folder, names, _ in os.walk(base):
        for name in names:
            if not Path(folder, name).is_symlink():
                Path(folder, name).chmod(0o755)
    rmtree(base)


def tree(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text("utf-8") for path in sorted(root.rglob("*")) if path.is_file()}


def owned(project: Path, *paths: Path) -> None:
    """Give what a test made to the owner of the project."""
    for path in paths:
        os.chown(path, project.stat().st_uid, project.stat().st_gid, follow_symlinks=False)
