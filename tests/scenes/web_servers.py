"""nginx and Caddy as people run them before a registry: the samples of ``operating/``, or a configuration of a test's own."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.scenes.registry import Registry

OPERATING = Path(__file__).parents[2] / "operating"
_START_SECONDS = 60.0
_TRIES = 5


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port: int = chosen.getsockname()[1]
        return port


def changed(text: str, changes: dict[str, str]) -> str:
    """The text after every change, each of which must apply. Keys are patterns."""
    for pattern, value in changes.items():
        text, count = re.subn(pattern, value, text, flags=re.MULTILINE)
        assert count, pattern
    return text


def nginx_sample(registry: Registry) -> str:
    """The sample's http block on ``PORT`` of this machine, without TLS and the redirect to it."""
    return changed(
        (OPERATING / "nginx.conf").read_text("utf-8"),
        {
            r"server \{\n    listen 80;(?:.*\n)*?\}\n": "",
            r"listen 443 ssl http2;": "listen 127.0.0.1:PORT;",
            r" *ssl_certificate\S* .*;\n": "",
            r"/srv/rye/public": str(registry.public),
            r"127\.0\.0\.1:8420": registry.url.removeprefix("http://"),
        },
    )


def caddy_sample(registry: Registry) -> str:
    """The sample on ``PORT`` of this machine, without TLS."""
    return changed(
        (OPERATING / "Caddyfile").read_text("utf-8"),
        {
            r"^registry\.example\.org \{": "http://127.0.0.1:PORT {",
            r"/srv/rye/public": str(registry.public),
            r"127\.0\.0\.1:8420": registry.url.removeprefix("http://"),
        },
    )


@contextmanager
def nginx(folder: Path, http_block: str) -> Iterator[str]:
    """Run nginx with this http block, where ``PORT`` is a free port; its address. Skips the test without nginx."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    folder.mkdir(exist_ok=True)
    places = "".join(
        f"{name}_temp_path {folder / name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root; " if os.geteuid() == 0 else ""  # the files are in a folder of this user
    frame = (
        f"{user}daemon off; pid {folder / 'pid'}; error_log {folder / 'error.log'};\n"
        f"events {{ worker_connections 64; }}\nhttp {{ access_log off;\n{places}%s}}\n"
    )
    configuration = folder / "nginx.conf"

    def command(port: int) -> list[str]:
        configuration.write_text(frame % http_block.replace("PORT", str(port)))
        return [program, "-c", str(configuration)]

    with _running(command) as address:
        yield address


@contextmanager
def caddy(folder: Path, text: str) -> Iterator[str]:
    """Run Caddy with this Caddyfile, where ``PORT`` is a free port; its address. Skips the test without Caddy."""
    program = shutil.which("caddy")
    if program is None:
        pytest.skip("Caddy is not installed")
    folder.mkdir(exist_ok=True)
    configuration = folder / "Caddyfile"

    def command(port: int) -> list[str]:
        configuration.write_text("{\n\tadmin off\n\tauto_https off\n}\n" + text.replace("PORT", str(port)))
        return [program, "run", "--config", str(configuration), "--adapter", "caddyfile"]

    with _running(command, {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}) as address:
        yield address


@contextmanager
def _running(command: Callable[[int], list[str]], environment: dict[str, str] | None = None) -> Iterator[str]:
    for attempt in range(_TRIES):  # another program may take the port in the meantime
        port = free_port()
        process = subprocess.Popen(command(port), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        if _answers(port, process):
            break
        said = (process.communicate()[1] or b"").decode()
        assert "in use" in said, said
        assert attempt < _TRIES - 1, said
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.communicate(timeout=10)


def _answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None:
        try:
            httpx.get(f"http://127.0.0.1:{port}/config.json")
            return True
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    return False
