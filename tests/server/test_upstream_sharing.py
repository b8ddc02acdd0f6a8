"""Two servers of one registry, with PostgreSQL and a bucket, share what they know of another registry."""

from __future__ import annotations

import hashlib
import json
import time
import urllib.request
from pathlib import Path

import pytest

from registry_server.embedded import start_embedded, stop_embedded
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.registry_process import run
from tests.server.fake_bucket import FakeBucket, serving

pytestmark = pytest.mark.processes


@pytest.mark.thorough
def test_one_server_fetched_it_and_another_serves_it_while_the_other_registry_is_down(
    empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with Registry(tmp_path / "other", "other.example.org") as other, serving(FakeBucket()) as endpoint:
        tools = other.owner("tools")
        tools.release("work/one")
        data = tmp_path / "company"
        place = ("--database", empty, "--objects", "s3://rye/company", "--s3-endpoint", endpoint)
        said = run("init", "--origin", "company.example.org", "--data", str(data), *place).stdout
        assert said
        with (data / "registry.toml").open("a") as file:
            file.write(f'\nupstream_check_seconds = 0.1\n[[upstream]]\naddress = "{other.url}"\n')
            file.write(f'fingerprint = "{other.fingerprint}"\nnamespaces = ["tools"]\n')
        second = tmp_path / "second"  # another machine: only the keys and the settings are the same
        second.mkdir()
        second.joinpath("registry.toml").write_bytes((data / "registry.toml").read_bytes())
        second.joinpath("keys").symlink_to(data / "keys")
        processes = [start_embedded(folder) for folder in (data, second)]
        try:
            first_url, second_url = (url for _, url in processes)
            until = time.monotonic() + 20
            while time.monotonic() < until and not json.loads(get(f"{first_url}/upstreams.json"))["upstreams"]:
                time.sleep(0.1)
            fingerprint = hashlib.sha256(
                get(f"{first_url}/root/1").decode().partition("\n\n")[0].encode() + b"\n"
            ).hexdigest()
            mira = person(tmp_path / "mira", first_url, fingerprint, other)
            mira.ok("add", "tools/work/one", "--yes")
            tools.release("work/one", "1.1.0")
            mira.ok("update", "--yes")
            assert 'version = "1.1.0"' in mira.path("rye.lock").read_text()
            assert get(f"{first_url}/upstream/other.example.org/head") == get(
                f"{second_url}/upstream/other.example.org/head"
            )
            other.stop()
            noor = person(tmp_path / "noor", second_url, fingerprint, other)
            noor.ok("add", "tools/work/one", "--yes")
            assert 'version = "1.1.0"' in noor.path("rye.lock").read_text()
        finally:
            for process, _ in processes:
                stop_embedded(process)


def person(folder: Path, url: str, fingerprint: str, other: Registry) -> Person:
    made = Person(folder)
    made.ok("registry", "add", url, "--fingerprint", fingerprint, "--upstream", other.fingerprint, "--default")
    made.ok("init", "--name", "shop")
    return made


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return bytes(answer.read())
