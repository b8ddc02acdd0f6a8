"""A real verdaccio on loopback: installed once into ``peers/node_modules``, filled by publishing, without an uplink."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

PEERS = Path(__file__).parents[1] / "peers"
INSTALL_SECONDS = 300
START_SECONDS = 60
PUBLISHERS = 8


class Unavailable(Exception):
    """The reason why verdaccio is not available."""


class Verdaccio:
    """The program. ``npm`` installs it if it is missing or its version differs from the lock."""

    def __init__(self, npm: str, node: str) -> None:
        modules = PEERS / "node_modules"
        self.process: subprocess.Popen[bytes]
        self.command = (node, str(modules / "verdaccio/bin/verdaccio"))
        if _version_in(modules / ".package-lock.json") != _version_in(PEERS / "package-lock.json"):
            print(
                "installing verdaccio into benchmarks/peers/node_modules, once: some 20 seconds with a network",
                flush=True,
            )
            flags = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--fetch-retries=1")
            self._run([npm, "ci", *flags, "--loglevel=error"])
        self.version = self._run([*self.command, "--version"]).removeprefix("v")

    def _run(self, command: list[str]) -> str:
        try:
            done = subprocess.run(
                command,
                cwd=PEERS,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=INSTALL_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(str(error)) from error
        if done.returncode:
            raise Unavailable(" ".join((done.stderr or done.stdout).split())[:160])
        return done.stdout.strip()

    def start(self, folder: Path, stack: ExitStack, *, with_accounts: bool = False) -> str:
        """Return its address once it answers; it stops with the stack. Anyone on this machine can publish, or
        ``with_accounts`` only users who have signed in and send a JSON web token.
        """
        folder.mkdir()
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            port = chosen.getsockname()[1]
        config: dict[str, object] = {
            "storage": str(folder / "storage"),
            "listen": f"127.0.0.1:{port}",
            "uplinks": {},
            "packages": {"**": {"access": "$all", "publish": "$anonymous"}},
            "web": {"enable": False},
            "log": {"type": "stdout", "format": "json", "level": "error"},
        }
        if with_accounts:
            config["packages"] = {"**": {"access": "$all", "publish": "$authenticated"}}
            config["auth"] = {"htpasswd": {"file": str(folder / "htpasswd"), "max_users": 10}}
            config["security"] = {"api": {"legacy": False, "jwt": {"sign": {"expiresIn": "7d"}}}}
        (folder / "config.yaml").write_text(json.dumps(config))
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*self.command, "--config", str(folder / "config.yaml")],
                cwd=folder,
                env={**os.environ, "HOME": str(folder), "NODE_ENV": "production"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.process = process
        stack.callback(_stop, process)
        url = f"http://127.0.0.1:{port}/"
        deadline = time.monotonic() + START_SECONDS
        while not _answers(url):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"verdaccio did not start:\n{(folder / 'log').read_text('utf-8', 'replace')[-2000:]}")
            time.sleep(0.05)
        return url


def publish(url: str, documents: Iterable[dict[str, Any]]) -> None:
    """Send the request of ``npm publish`` for each package."""
    with httpx.Client(base_url=url, trust_env=False, timeout=60) as client, ThreadPoolExecutor(PUBLISHERS) as pool:

        def put(document: dict[str, Any]) -> None:
            client.put(document["name"], json=document).raise_for_status()

        list(pool.map(put, documents))


def _version_in(lock: Path) -> str | None:
    try:
        return str(json.loads(lock.read_text("utf-8"))["packages"]["node_modules/verdaccio"]["version"])
    except (OSError, ValueError, KeyError):
        return None


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}-/ping", trust_env=False, timeout=5).is_success
    except httpx.TransportError:
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
