"""Somebody is responsible: contact, terms and reports from the settings, security.txt, a 404 that helps, and the door of a
private registry that returns to the page that was asked for (shopfront 7)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from lxml import html

from registry_server import settings as registry_settings
from registry_server.api.return_paths import return_path
from registry_server.api.sign_in import Attempt
from registry_server.pages import page_layout
from registry_server.pages.limits import PAGES
from registry_server.pages.operator import Operator, security_text, ways
from registry_server.pages.page_context import Head, Site
from registry_server.settings import READERS
from rye.errors import UsageError
from tests.scenes.local_registry import LocalRegistry

HTML = {"Accept": "text/html"}
NAMED = """
contact = "mailto:operator@acme.example"
terms = "https://acme.example/terms"
about = "https://acme.example/about"
docs = "https://acme.example/docs"
report = "https://acme.example/report?from=registry"
"""


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("named") / "data", NAMED) as made:
        made.publish(made.owner("acme"), "work/one", made.token()).raise_for_status()
        yield made


def tree(body: str) -> Any:
    return html.fromstring(body)


def links(body: str) -> dict[str, str]:
    return {" ".join(a.text_content().split()): a.get("href") or "" for a in tree(body).iter("a")}


def test_the_foot_names_who_is_responsible(named: LocalRegistry, local: LocalRegistry) -> None:
    shown = links(named.get("/", headers=HTML).text)
    assert shown["Contact"] == "mailto:operator@acme.example"
    assert shown["Terms"] == "https://acme.example/terms"
    assert shown["Security"] == "/.well-known/security.txt"
    assert "Contact" not in links(local.get("/", headers=HTML).text)  # nothing is set, nothing is invented


def test_security_txt_has_what_rfc_9116_requires(named: LocalRegistry, local: LocalRegistry) -> None:
    answer = named.get("/.well-known/security.txt")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    rows = dict(row.split(": ", 1) for row in answer.text.strip().split("\n"))
    assert rows["Contact"] == "mailto:operator@acme.example"
    assert datetime.now(UTC) < datetime.fromisoformat(rows["Expires"])
    assert local.get("/.well-known/security.txt").status_code == 404
    both = Operator(security="https://acme.example/s", contact="mailto:a@b.example")
    text = security_text(both, "https://r.example", datetime.now(UTC))
    assert text is not None
    assert "Canonical: https://r.example/.well-known/security.txt\n" in text
    assert text.startswith("Contact: https://acme.example/s\nContact: mailto:a@b.example\n")


def test_an_item_is_reported_with_its_name_filled_in(named: LocalRegistry) -> None:
    shown = links(named.get("/-/directive/acme/work/one", headers=HTML).text)
    assert (
        shown["Report this item"]
        == "https://acme.example/report?from=registry&item=directive%3Aacme%2Fwork%2Fone%401.0.0"
    )
    mail = Operator(contact="mailto:a@b.example").report_of("skill:x/y@1.0.0", "https://r.example/-/skill/x/y")
    assert unquote(mail) == "mailto:a@b.example?subject=Report: skill:x/y@1.0.0&body=https://r.example/-/skill/x/y"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("contact", "javascript:alert(1)"),
        ("contact", "operator@acme.example"),
        ("terms", "mailto:a@b.example"),
        ("about", 'https://a.example/" onclick="x'),
        ("docs", "https://a.example/ b"),
        ("security", "https://a.example/" + "x" * 300),
        ("report", "http://a.example"),
    ],
)
def test_a_setting_that_is_no_address_stops_the_start(tmp_path: Path, name: str, value: str) -> None:
    (tmp_path / "registry.toml").write_text(f"{name} = '{value}'\n", "utf-8")
    with pytest.raises(UsageError) as caught:
        registry_settings.load(tmp_path, {}, {})
    assert caught.value.code == "bad-setting"


def test_the_foot_has_room_for_the_longest_links() -> None:
    long = "https://a.example/" + "x" * 280
    operator = Operator(contact=long, terms=long, about=long, report=long, docs=long, security=long)
    site = Site("o" * 128, "f" * 64, "https://a.example", Head(10**15, datetime.now(UTC), "x"), operator)
    assert len(page_layout.foot(site)) <= PAGES.foot_bytes


def test_a_404_offers_a_search_and_the_namespace(local: LocalRegistry) -> None:
    answer = local.get("/-/skill/anthropics/pdf-toolz@1.0.0", headers=HTML)
    assert answer.status_code == 404
    shown = links(answer.text)
    assert shown["Search for “pdf toolz”"] == "/-/search?q=pdf%20toolz"
    assert shown["Items of anthropics"] == "/-/namespaces/anthropics"
    hostile = local.get("/-/skill/%22%3E%3Cscript%3E/%3Cimg%20src=x%3E", headers=HTML)
    assert hostile.status_code == 404
    assert "<script" not in hostile.text
    assert "<img" not in hostile.text


@pytest.mark.parametrize("path", ["/", "/-/skill/acme/pdf", "/-/skill/acme/pdf@1.0.0", "/-/search?q=a+b&kind=skill"])
def test_a_page_of_this_registry_is_returned_to(path: str) -> None:
    assert return_path(path) == path
    kept = Attempt("s", "n", "v", "", path)
    assert Attempt.decode(kept.encode()) == kept


@pytest.mark.parametrize(
    "path",
    [
        "", "https://evil.example", "//evil.example", "/\\evil.example", "/-//evil.example", "/-/../..//evil.example",
        "javascript:alert(1)", "/-/x\r\nSet-Cookie: a=b", "/-/x\nLocation: y", "/evil", "/-/account/logout",
        "/-/ACCOUNT/link/x", "/-/%61ccount/device?code=BCDF-GHJK", "/-/./account", "/-/x/%2e%2e/account", "/-/x%2f..%2faccount",
        "/-/%2F%2Fevil.example",
        "/-/a/../account/logout", "/-/x#y", "/-/x?next=https://evil.example", "/-/" + "x" * 600,
        "/-/x y", "/-/ä", "/api/v1/whoami", "\t/-/x", " /-/x",
    ],
)  # fmt: skip
def test_nothing_else_is_returned_to(path: str) -> None:
    """An open redirect would lend this registry's name to another site (CWE-601)."""
    assert return_path(path) == ""
    decoded = Attempt.decode(Attempt("s", "n", "v", "", path).encode())
    assert decoded is None or decoded.back == ""


def test_the_door_of_a_private_registry_says_what_to_do(tmp_path: Path) -> None:
    with LocalRegistry(tmp_path / "data", 'read = "members"\n' + NAMED) as private:
        answer = private.get("/-/skill/acme/pdf?x=1", headers=HTML)
        assert answer.status_code == 401
        shown = links(answer.text)
        assert shown["Sign in"] == "/-/account?next=%2F-%2Fskill%2Facme%2Fpdf%3Fx%3D1"
        assert "rye login http" in answer.text
        assert "`" not in tree(answer.text).text_content()
        door = private.get(shown["Sign in"], headers=HTML)
        assert door.status_code == 200
        assert private.get("/.well-known/security.txt").status_code == 200
        assert "evil" not in private.get("/-/account?next=https://evil.example", headers=HTML).text


def test_a_page_says_how_to_install_from_here(named: LocalRegistry) -> None:
    """shopfront 5."""
    origin = named.get("/", headers={"Accept": "text/html"}).text
    fingerprint = tree(origin).find_class("long")[-1].text_content()
    page = tree(named.get("/-/directive/acme/work/one", headers=HTML).text)
    folded = [" ".join(each.text_content().split()) for each in page.find_class("ways")]
    assert len(folded) == 1  # a directive means nothing to other programs
    assert "--fingerprint" in folded[0]
    assert fingerprint in folded[0]
    assert "rye add directive:acme/work/one" in folded[0]


def test_the_lines_for_other_programs_are_those_of_the_documentation() -> None:
    named = ways("https://registry.example.org", "registry.example.org", READERS, "skill", "acme/pdf", "1.0.0")
    page = (Path(__file__).parents[2] / "docs/how-to/integrations.md").read_text("utf-8")
    assert [way.program for way in named] == ["Claude Code", "Codex", "Copilot", "OpenCode", "npx skills", "apm"]
    for way in named:
        for line in way.text.split("\n"):
            assert line.strip().removeprefix("{ ").removesuffix(" }").strip() in page, line
        assert way.unchecked.startswith("Not checked: author, log, revocation")
    assert ways("https://r.example", "r.example", (), "skill", "acme/pdf", "1.0.0") == ()
    assert ways("https://r.example", "r.example", READERS, "directive", "acme/work/one", "1.0.0") == ()
