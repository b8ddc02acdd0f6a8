"""The sandboxes also work for an unprivileged user: the system's Python runs the probes as ``nobody``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.sandbox.calling import LINUX, demanded

pytestmark = pytest.mark.processes
PYTHON = "/usr/bin/python3"
NOBODY = 65534
CODE = """
from rye.runtime.sandboxed_tools import backend
print(backend({"RYE_SANDBOX": NAME}).name)
"""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become nobody")
@pytest.mark.parametrize("name", LINUX)
def test_a_sandbox_works_for_nobody(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    demanded(name)
    paths = [str(Path(__file__).parents[2]), str(Path(msgspec.__file__).parents[1])]
    environment = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nonexistent"}

    def run(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PYTHON, "-c", code],
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )

    try:
        known = run("import sys, rye.limits; print(sys.version_info[:2])")
    except OSError as error:
        pytest.skip(f"{PYTHON} cannot be run as nobody: {error}")
    if known.stdout.strip() != str(sys.version_info[:2]):
        pytest.skip(f"nobody has no Python here that can import rye: {known.stdout}{known.stderr[-200:]}")
    result = run(CODE.replace("NAME", repr(name)))
    assert result.stdout.strip() == name, result.stderr
