"""A company's registry serves allowed namespaces of another one: two real servers, and people who pinned only the company's."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes


def ask(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return int(answer.status), bytes(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def upstream_of(other: Registry, *lines: str, namespaces: str = '["tools"]') -> str:
    """The table for a company's registry.toml."""
    table = f'\n[[upstream]]\naddress = "{other.url}"\nfingerprint = "{other.fingerprint}"\nnamespaces = {namespaces}\n'
    return table + "".join(f"{line}\n" for line in lines)


def serve_with(company: Registry, settings: str) -> None:
    """Serve again with these settings."""
    company.stop()
    before = (
        (company.data / "registry.toml").read_text().partition("\n[[upstream]]")[0].partition("\nupstream_check")[0]
    )
    (company.data / "registry.toml").write_text(f"{before}\nupstream_check_seconds = 0.1\n{settings}")
    company.start()
    wait_for_upstreams(company)


def wait_for_upstreams(company: Registry, count: int = 1) -> list[Any]:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        listed: list[Any] = json.loads(ask(f"{company.url}/upstreams.json")[1])["upstreams"]
        if len(listed) >= count:
            return listed
        time.sleep(0.1)
    raise AssertionError("the company's registry does not serve the other one")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Registry]:
    with Registry(tmp_path / "other", "other.example.org") as made:
        yield made


@pytest.fixture
def company(tmp_path: Path) -> Iterator[Registry]:
    with Registry(tmp_path / "company", "company.example.org") as made:
        yield made


def colleague(company: Registry, other: Registry) -> Person:
    """Someone with an empty project who pinned only the company's address, and agreed to the other registry."""
    person = Person(company._folder())
    given = ("--fingerprint", company.fingerprint, "--upstream", other.fingerprint, "--default")
    person.ok("registry", "add", company.url, *given)
    person.ok("init", "--name", "shop")
    return person


def test_colleagues_install_through_one_address_also_while_the_other_registry_is_down(
    company: Registry, other: Registry
) -> None:
    tools = other.owner("tools")
    tools.release("work/one")
    serve_with(company, upstream_of(other))
    first = colleague(company, other)
    first.ok("add", "tools/work/one", "--yes")
    lock = first.path("rye.lock").read_text()
    assert 'registry = "other.example.org"' in lock
    assert other.url not in lock
    assert other.url not in (first.folders.registries / "addresses.json").read_text()
    first.ok("log", "verify", "--registry", f"{company.url}/upstream/other.example.org")

    other.stop()
    second = colleague(company, other)
    second.ok("add", "tools/work/one", "--yes")
    assert json.loads(ask(f"{company.url}/readyz")[1])["status"] == "ok"
    shown = second.ok("registry", "show", company.url).stdout
    assert "other.example.org (tools)" in shown
    assert "0 hours ago" in shown
