"""Calls of tools in tests: a project, a sandbox, one line per call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
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
