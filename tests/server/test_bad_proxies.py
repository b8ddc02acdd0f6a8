"""``rye registry check`` against the real nginx: the sample has no problem, and what people write by themselves has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person
from tests.scenes.publisher import Client, Publisher
from tests.scenes.registry import Registry
from tests.scenes.web_servers import nginx, nginx_sample

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def owner(registry: Registry) -> Publisher:
    """Who has released something, so that there is a file to check."""
    acme, client = Publisher("acme"), Client(registry.url, registry.token)
    assert client.statements(acme.claim()).status_code == 200
    assert client.publish(acme, "a/one").status_code == 200
    return acme


def folder_as_it_is(registry: Registry, _folder: Path) -> str:
    return f"server {{ listen 127.0.0.1:PORT; root {registry.public}; }}"


def cached(registry: Registry, folder: Path) -> str:
    return f"""
    proxy_cache_path {folder / "cache"} keys_zone=all:1m;
    server {{
        listen 127.0.0.1:PORT;
        location / {{
            proxy_pass {registry.url};
            proxy_cache all;
            proxy_cache_valid any 1h;
            proxy_ignore_headers Cache-Control Expires;
        }}
    }}"""


def rewritten(registry: Registry, _folder: Path) -> str:
    return f"""
    server {{
        listen 127.0.0.1:PORT;
        location /blobs/ {{
            proxy_pass {registry.url};
            sub_filter_types *;
            sub_filter "#" "##";
            add_header Cache-Control "public, max-age=31536000, immutable";
        }}
        location / {{ proxy_pass {registry.url}; error_page 404 =200 /head; proxy_intercept_errors on; }}
    }}"""


def check(person: Person, address: str) -> tuple[int, dict[str, set[str]]]:
    done = person.run("registry", "check", address, "--json")
    findings: dict[str, set[str]] = {}
    for finding in done.json["findings"]:
        if finding["level"] == "problem":
            findings.setdefault(finding["code"], set()).add(finding["path"].partition("/")[0])
            assert finding["change"]
    assert done.json["ok"] == (not findings)
    return done.code, findings


@pytest.mark.parametrize(
    ("block", "expected"),
    rest_thorough(1, [
        (folder_as_it_is, {"head-kept": {"head", "checkpoint", "config.json"}, "error-kept": {"index"},
                           "tag-of-time": {"head", "checkpoint", "config.json"}}),
        (cached, {"head-stale": {"head", "checkpoint"}, "head-kept": {"head", "checkpoint", "config.json"},
                  "error-kept": {"index"}}),
        (rewritten, {"bytes-changed": {"blobs"}, "absent-status": {"index"}}),
    ]),
)  # fmt: skip
def test_each_is_found_with_what_to_change(
    registry: Registry,
    owner: Publisher,
    tmp_path: Path,
    block: Callable[[Registry, Path], str],
    expected: dict[str, set[str]],
) -> None:
    for opened in (registry.data, registry.data.parent, registry.data.parent.parent):
        opened.chmod(0o755)
    person = Person(tmp_path)
    with nginx(tmp_path / "nginx", block(registry, tmp_path)) as address:
        for path in ("head", "checkpoint"):  # what a reader does
            httpx.get(f"{address}/{path}", headers={"Accept-Encoding": "identity"})
        client = Client(registry.url, registry.token)
        assert client.statements(owner.yank("a/one", reason=f"For {block.__name__}.")).status_code == 200
        assert check(person, address) == (1, expected)
        said = person.run("registry", "check", address)
        assert said.code == 1
        for code in expected:
            assert f"({code})" in said.stdout
    with nginx(tmp_path / "sample", nginx_sample(registry)) as address:
        assert check(person, address) == (0, {})
        assert check(person, registry.url) == (0, {})
        assert "no problems found" in person.ok("registry", "check", registry.url).stdout


def test_it_waits_for_a_publish_and_says_so_in_the_help(registry: Registry, owner: Publisher, tmp_path: Path) -> None:
    del owner
    person = Person(tmp_path)
    assert person.ok("registry", "check", registry.url, "--wait", "0.2", "--json").json["ok"]
    assert "--wait SECONDS" in person.ok("registry", "check", "--help").stdout


@pytest.mark.parametrize(
    ("address", "code"),
    [("http://registry.example.org", "bad-argument"), ("file:///srv/registry", "bad-argument"), ("nothing", "bad-argument"),
     ("http://127.0.0.1:9", "fetch-unreachable")],
)  # fmt: skip
def test_an_address_that_cannot_be_checked_is_refused(tmp_path: Path, address: str, code: str) -> None:
    done = Person(tmp_path).run("registry", "check", address, "--json")
    assert done.error["code"] == code
    assert done.code in (1, 2, 4, 5, 6)
