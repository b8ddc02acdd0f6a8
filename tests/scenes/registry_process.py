"""A real registry on this machine, as its operator creates, serves and administers it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

from registry_server.accounts import tokens
from registry_server.cli import main as program
from registry_server.migrations import opening
from registry_server.settings import load
from registry_server.storage import database
from registry_server.upkeep.founding import found
from tests.scenes.nursery import can_fork, fork_registry

ORIGIN = "registry.example.org"


def init(data: Path, origin: str = ORIGIN) -> str:
    """Create a registry; return its fingerprint."""
    return found(data, origin, {}, None, 365).sha256()


def token(data: Path, *namespaces: str) -> str:
    """Return a new token for the registry in ``data``, for every namespace if none is named."""
    engine = opening.connect(load(data, {}, {}).database_url)
    try:
        with database.writer(engine) as connection:
            return tokens.create(connection, "test", namespaces, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    finally:
        engine.dispose()


def run(*arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``rye-registry`` in this process, ten times faster than starting it; ``serve`` runs in a separate process, which is
    forked.

    ``check``: raise CalledProcessError where it fails.
    """
    if "serve" in arguments:
        done = (
            _forked(arguments, environment)
            if can_fork(os.environ | environment)
            else spawn(*arguments, check=False, **environment)
        )
        if check:
            done.check_returncode()
        return done
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(sys, "argv", ["rye-registry", *arguments]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            program()
        except SystemExit as ended:
            code = int(ended.code or 0)
    done = subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
    if check:
        done.check_returncode()
    return done


def _forked(arguments: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with mock.patch.dict(os.environ, environment):
            process = fork_registry([sys.executable, "-m", "registry_server.cli", *arguments], out, err)
        try:
            code = process.wait(60)
        finally:
            process.kill()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read().decode(), err.read().decode())


def spawn(*arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    """Start ``rye-registry`` as a program."""
    return subprocess.run(
        [sys.executable, "-m", "registry_server.cli", *arguments],
        capture_output=True,
        text=True,
        check=check,
        timeout=60,
        env={**os.environ, **environment},
    )


def operator(*arguments: str) -> str:
    """Run ``rye-registry``, which must succeed; return its output."""
    return run(*arguments).stdout
