"""The image of operating/Containerfile, started by a container engine.

It is built outside the test suite, because that takes minutes and fetches the base image. To play these tests, build
it as the Containerfile says, then name it, and the engine if it is not ``podman``::

    RYE_TEST_IMAGE=rye-registry RYE_TEST_ENGINE=docker pytest tests/server/test_image.py -n 0
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from registry_server.settings import Settings
from rye.registry.client import RegistryClient
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from tests.scenes.publisher import Client, Publisher
from tests.scenes.registry_process import ORIGIN

pytestmark = pytest.mark.processes

IMAGE = os.environ.get("RYE_TEST_IMAGE", "")
ENGINE = shlex.split(os.environ.get("RYE_TEST_ENGINE", "podman"))
VOLUME = f"rye-test-{os.getpid()}"
RIGHTS = ("--read-only", "--tmpfs", "/tmp", "--cap-drop=all", "--security-opt=no-new-privileges")
URL = f"http://127.0.0.1:{Settings(data=Path()).port}"

if not IMAGE:
    pytest.skip("RYE_TEST_IMAGE names no image", allow_module_level=True)


def engine(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*ENGINE, *words], capture_output=True, text=True, timeout=120)
    assert not check or done.returncode == 0, done.stderr
    return done


def once(*words: str) -> subprocess.CompletedProcess[str]:
    """Run one command of ``rye-registry`` on the volume."""
    return engine("run", "--rm", *RIGHTS, "-v", f"{VOLUME}:/srv/rye", IMAGE, *words)


def start() -> str:
    """Start the server; return the container's ID once it is ready."""
    made = engine("run", "-d", *RIGHTS, "--network=host", "-v", f"{VOLUME}:/srv/rye", IMAGE).stdout.split()[-1]
    for _ in range(60):
        try:
            if Client(URL, "").get("/readyz").status_code == 200:
                return made
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError(engine("logs", made, check=False).stderr)


def stop(container: str) -> tuple[float, str]:
    """Stop it with SIGTERM; return the seconds that it took and its exit status."""
    began = time.monotonic()
    engine("stop", "-t", "30", container)
    took = time.monotonic() - began
    status = engine("inspect", container, "--format", "{{.State.ExitCode}}").stdout.strip()
    engine("rm", container)
    return took, status


@pytest.fixture
def fingerprint() -> Iterator[str]:
    said = once("init", "--origin", ORIGIN)
    yield re.findall(r"[0-9a-f]{64}", said.stdout)[0]
    engine("volume", "rm", "-f", VOLUME, check=False)


def test_the_image_publishes_stops_and_goes_on_with_the_same_volume(fingerprint: str, tmp_path: Path) -> None:
    acme = Publisher("acme")
    for round_number, name in enumerate(("a/one", "a/two")):
        container = start()
        try:
            token = once("token", "create", "test", "--namespace", "acme").stdout.split()[0]
            client = Client(URL, token)
            if not round_number:
                client.statements(acme.claim()).raise_for_status()
            client.publish(acme, name).raise_for_status()
            store, cache = StateStore(tmp_path / "state"), Cache(tmp_path / "cache")
            with RegistryClient.open(URL, accept_root=fingerprint, store=store, cache=cache) as reader:
                assert reader.state.origin == ORIGIN
            assert engine("exec", container, "id", "-u").stdout.strip() == "10001"
            refused = engine("exec", container, "touch", "/opt/rye/written", check=False)
            assert "Read-only file system" in refused.stderr
            if "podman" in ENGINE[0]:
                assert engine("healthcheck", "run", container, check=False).returncode == 0
        finally:
            took, status = stop(container)
        assert took < Settings(data=tmp_path).stop_seconds + 5
        assert status == "0"
    assert "No problems found" in once("verify").stdout
