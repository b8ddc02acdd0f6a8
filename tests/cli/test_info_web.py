"""``rye info --web``: an item's page in the person's browser, or its address."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path

import httpx
import pytest

from rye.cli.use import browser
from rye.items.identity import Identity
from rye.workspace.registries.item_info import page_address
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

ITEM = Identity("directive", "acme/work/first")


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    user = registry.owner("acme")
    user.release("work/first")
    user.release("work/first", "1.1.0")
    return user


def test_off_a_terminal_the_address_is_printed_and_the_page_is_there(registry: Registry, acme: Person) -> None:
    address = acme.ok("info", "acme/work/first", "--web").stdout.strip()
    assert address == f"{registry.url}/-/directive/acme/work/first"
    answer = httpx.get(address, headers={"Accept": "text/html"})
    assert answer.status_code == 200
    assert "acme/work/first" in answer.text
    document = acme.ok("info", "directive:acme/work/first@1.1.0", "--web", "--json").json
    assert document == {
        "kind": "directive",
        "id": "acme/work/first",
        "page": f"{address}@1.1.0",
        "opened": False,
    }
    assert httpx.get(document["page"], headers={"Accept": "text/html"}).status_code == 200


def test_on_a_terminal_the_browser_gets_the_address_and_nothing_else(
    registry: Registry, acme: Person, tmp_path: Path
) -> None:
    program, told = tmp_path / "browser", tmp_path / "told"
    program.write_text(f'#!{sys.executable}\nimport sys\nopen({str(told)!r}, "w").write("|".join(sys.argv[1:]))\n')
    program.chmod(0o755)
    shown = acme.terminal("info", "acme/work/first", "--web", env={"BROWSER": f"{program} %s"})
    assert told.read_text() == f"{registry.url}/-/directive/acme/work/first"
    assert f"opened {registry.url}/-/directive/acme/work/first" in shown


def test_without_a_browser_the_address_is_printed_on_a_terminal_too(registry: Registry, acme: Person) -> None:
    shown = acme.terminal(
        "info", "acme/work/first", "--web", env={"BROWSER": "/nonexistent/browser %s", "PATH": "/nonexistent"}
    )
    assert f"{registry.url}/-/directive/acme/work/first" in shown
    assert "opened" not in shown


@pytest.mark.parametrize("failure", [webbrowser.Error("none"), OSError("no such file"), False])
def test_a_browser_that_does_not_start_is_no_error(monkeypatch: pytest.MonkeyPatch, failure: object) -> None:
    def opening(_address: str) -> bool:
        if isinstance(failure, Exception):
            raise failure
        return bool(failure)

    monkeypatch.setattr(webbrowser, "open_new_tab", opening)
    assert browser.open_page("https://example.org/", {"DISPLAY": ":0"}) is False


def test_without_a_display_no_program_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser of the terminal would take it away, and one that fails writes over what the command shows."""
    opened: list[str] = []

    def opening(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open_new_tab", opening)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not browser.open_page("https://example.org/", {})
    assert browser.open_page("https://example.org/", {"WAYLAND_DISPLAY": "wayland-0"})
    assert opened == ["https://example.org/"]


def test_what_is_not_published_has_no_page(acme: Person) -> None:
    acme.fails("info", "acme/work/none", "--web", code="no-such-item")
    acme.fails("info", "acme/work/first@9.9.9", "--web", code="no-such-version")


def test_a_folder_has_no_pages(registry: Registry, acme: Person) -> None:
    folder = f"file://{registry.data / 'public'}"
    error = acme.fails("info", "acme/work/first", "--web", "--registry", folder, code="no-page")
    assert "--registry https://" in error["hint"]
    shown = acme.ok("info", "acme/work/first", "--registry", folder, "--json").json
    assert shown["page"] is None


def test_the_ordinary_output_names_the_page_of_the_version(registry: Registry, acme: Person) -> None:
    page = f"{registry.url}/-/directive/acme/work/first@1.1.0"
    assert page in acme.ok("info", "acme/work/first").stdout
    assert acme.ok("info", "acme/work/first", "--json").json["page"] == page


@pytest.mark.parametrize(
    ("registry_address", "address"),
    [
        ("https://example.org", "https://example.org/-/directive/acme/work/first"),
        ("https://example.org/", "https://example.org/-/directive/acme/work/first"),
        ("http://127.0.0.1:8420", "http://127.0.0.1:8420/-/directive/acme/work/first"),
        ("file:///srv/mirror", None),
        ("javascript:alert(1)", None),
        ("", None),
    ],
)
def test_an_address_is_for_browsers_or_none(registry_address: str, address: str | None) -> None:
    assert page_address(registry_address, ITEM) == address
