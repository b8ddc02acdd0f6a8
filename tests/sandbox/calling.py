"""Calls of tools in tests: a project, a sandbox, one line per call; from here, or as another user."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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

LINUX = ("bubblewrap", "landlock")
NOBODY = 65534
"""The ordinary user that tests become."""
Calls = list[tuple[str, str, str]]
Player = Callable[[Calls], list[list[str]]]
"""Calls a shell tool several times: grants, the folder to start in, and the commands. Returns code and words of each call."""
PROGRAM = """
import json, os, sys
from pathlib import Path
from threading import Event
from rye.errors import RyeError
from rye.items.needs import parse_needs
from rye.runtime.sandboxed_tools import backend
from rye.runtime.sandbox.profile import profile_for
from rye.runtime.sandboxed_tools import value_of
from rye.runtime.sandbox.running import fresh_work
from rye.runtime.sandbox.tool_run import ToolRun

name, project, calls = sys.argv[1], Path(os.path.realpath(sys.argv[2])), json.loads(sys.argv[3])
TOOL = b'exec 3>&1 1>&2\\ncd "$RYE_PARAM_DIR"; eval "$RYE_PARAM_DO" || true; echo true >&3\\n'
said = []
for grant, folder, commands in calls:
    with fresh_work() as work:
        profile = profile_for(project, work, {}, parse_needs({"write": grant.split()}), deny=())
        parameters = json.dumps({"dir": str(project / folder), "do": commands}).encode()
        tool = ToolRun(b"#!/bin/bash\\n" + TOOL, ".sh", parameters, "tool:acme/t/w@1.0.0", profile)
        try:
            outcome = backend({"RYE_SANDBOX": name}).run(tool, Event())
            value_of(outcome, "w")
            said.append(["ok", outcome.stderr.decode()])
        except RyeError as error:
            said.append([error.code, error.message])
print(json.dumps(said))
"""
"""What plays a list of ``Calls``, as any user: sandbox, project and calls as arguments, code and words of each as JSON."""


def demanded(name: str) -> Backend:
    """The sandbox of that name. If it does not work here, check the refusal and skip the test."""
    try:
        return backend({"RYE_SANDBOX": name})
    except SandboxUnavailable as error:
        message = error.message
    assert name in message
    pytest.skip(message)


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
