"""The frame of the registry's pages (design/server.md 5): forms, entity tags, headers, caching and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry_server.pages import page_layout
from registry_server.pages.addresses import ItemAddress, diff_path, read_item_path
from registry_server.pages.negotiation import form_of, wants_html
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code

ACME = Publisher("acme")
PLAIN = {"Accept-Encoding": "identity"}
HTML = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
ITEM = "/-/directive/acme/a/item"
POLICY = {
    "default-src": "'none'",
    "style-src": "'self'",
    "img-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("pages") / "data") as made:
        assert made.statements(made.token(), ACME.claim()).status_code == 200
        assert made.publish(ACME, "a/item", made.token()).status_code == 200
        yield made


class TestForms:
    @pytest.mark.parametrize(
        ("accept", "form", "html"),
        [
            ("", "html", False),
            ("*/*", "html", False),
            ("text/html", "html", True),
            (HTML["Accept"], "html", True),
            ("application/json", "json", False),
            ("application/json, text/html;q=0.5", "json", False),
            ("text/html, application/json;q=0.5", "html", True),
            ("application/json, text/html", "html", True),
            ("application/json, */*;q=0.1", "json", False),
            ("application/json;q=0", "html", False),
            ("TEXT/HTML", "html", True),
            ("text/html;q=0, application/json", "json", False),
            ("text/html;q=x", "html", False),
            ("image/png", "html", False),
            ("application/json;q=nan", "html", False),
        ],
    )
    def test_html_unless_json_is_preferred_by_name(self, accept: str, form: str, html: bool) -> None:
        assert (form_of(accept), wants_html(accept)) == (form, html)

    def test_a_long_accept_header_costs_nothing(self) -> None:
        assert form_of("a/b," * 100_000 + "application/json") == "html"

    def test_an_item_in_both_forms(self, local: LocalRegistry) -> None:
        html = local.get(ITEM, headers=HTML)
        document = local.get(ITEM, headers={"Accept": "application/json"})
        assert html.headers["content-type"] == "text/html; charset=utf-8"
        assert document.headers["content-type"] == "application/json"
        assert json.loads(document.content)["id"] == "acme/a/item"
        assert html.headers["etag"] != document.headers["etag"]

    def test_the_root_is_a_page_for_who_wants_html_alone(self, local: LocalRegistry) -> None:
        assert local.get("/", headers=HTML).headers["content-type"] == "text/html; charset=utf-8"
        for accept in ("*/*", "application/json"):
            answer = local.get("/", headers={"Accept": accept})
            assert (answer.status_code, error_code(answer)) == (404, "not-found")
            assert answer.headers["vary"] == "Accept"


class TestAnswers:
    @pytest.mark.parametrize("path", ["/", ITEM, "/nothing", "/-/nothing"])
    def test_every_page_says_what_browsers_must_not_do(self, local: LocalRegistry, path: str) -> None:
        headers = local.get(path, headers=HTML).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["vary"] == ("Accept" if "nothing" in path else "Accept, Accept-Encoding")

    def test_head_is_get_without_a_body(self, local: LocalRegistry) -> None:
        for path in ("/", ITEM):
            got, asked = local.get(path, headers=HTML), local.ask("HEAD", path, headers=HTML)
            assert asked.content == b""
            assert asked.status_code == got.status_code == 200
            same = {"x-request-id"}
            assert {k: v for k, v in asked.headers.items() if k not in same} == {
                k: v for k, v in got.headers.items() if k not in same
            }

    def test_a_page_that_is_the_same_is_not_sent_again(self, local: LocalRegistry) -> None:
        tag = local.get(ITEM, headers={**HTML, **PLAIN}).headers["etag"]
        for given in (tag, f"W/{tag}", f'"x", {tag}', "*"):
            for encoding, own in (("identity", tag), ("gzip", f"W/{tag}")):
                asked = {**HTML, "Accept-Encoding": encoding, "If-None-Match": given}
                again = local.get(ITEM, headers=asked)
                assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", own)
                assert again.headers["vary"] == "Accept, Accept-Encoding"
                assert "content-encoding" not in again.headers
        assert local.get(ITEM, headers={**HTML, "If-None-Match": '"x"'}).status_code == 200
        assert local.get(ITEM + "@9.9.9", headers={**HTML, "If-None-Match": "*"}).status_code == 404

    @pytest.mark.parametrize("path", ["/opensearch.xml", "/sitemap.xml", "/-/items", ITEM])
    @pytest.mark.parametrize("accepted", ["identity", "gzip"])
    def test_unchanged_has_the_tag_of_the_whole_answer(self, local: LocalRegistry, path: str, accepted: str) -> None:
        """RFC 9110 15.4.5, also of a page that is too short to be compressed."""
        for kind in ("text/html", "application/json"):
            asked = {"Accept": kind, "Accept-Encoding": accepted}
            tag = local.get(path, headers=asked).headers["etag"]
            again = local.get(path, headers={**asked, "If-None-Match": tag})
            assert (again.status_code, again.headers["etag"]) == (304, tag), kind

    @pytest.mark.parametrize(
        ("accepted", "encoding"), [("gzip", "gzip"), ("gzip, zstd", "zstd"), ("br, gzip;q=0", None)]
    )
    def test_who_accepts_it_gets_a_page_compressed(
        self, local: LocalRegistry, accepted: str, encoding: str | None
    ) -> None:
        assert local.publish(ACME, "a/packed", local.token()).status_code in (200, 409)
        for path, accept in (("/", HTML), (ITEM, HTML), (ITEM, {"Accept": "application/json"}), ("/feed.atom", {})):
            plain = local.get(path, headers={**accept, **PLAIN})
            made = local.get(path, headers={**accept, "Accept-Encoding": accepted})
            assert made.headers.get("content-encoding") == encoding, path
            assert made.content == plain.content
            assert made.headers["vary"] == plain.headers["vary"] == "Accept, Accept-Encoding"
            strong = plain.headers["etag"]
            assert made.headers["etag"] == (f"W/{strong}" if encoding else strong)
            head = local.ask("HEAD", path, headers={**accept, "Accept-Encoding": accepted})
            assert head.headers["content-length"] == made.headers["content-length"]
            assert int(made.headers["content-length"]) < len(plain.content) / 2 or encoding is None, path

    def test_it_is_compressed_once_for_each_head(self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = {**HTML, "Accept-Encoding": "gzip"}
        packed = local.get(ITEM, headers=asked)
        monkeypatch.setattr("registry_server.api.reading.gzip.compress", None)
        assert local.get(ITEM, headers=asked).content == packed.content

    @pytest.mark.parametrize("accepted", ["gzip", "zstd"])
    def test_the_style_sheet_is_compressed_and_the_picture_is_not(self, local: LocalRegistry, accepted: str) -> None:
        for path in (page_layout.style_path(), page_layout.icon_path(), page_layout.picture_path()):
            plain = local.get(path, headers=PLAIN)
            made = local.get(path, headers={"Accept-Encoding": accepted})
            assert made.content == plain.content
            assert made.headers.get("content-encoding") == (None if path.endswith(".png") else accepted)
            assert made.headers.get("vary") == (None if path.endswith(".png") else "Accept-Encoding")

    def test_another_head_is_another_page(self, local: LocalRegistry) -> None:
        before = local.get("/", headers=HTML)
        assert local.publish(ACME, "a/later", local.token()).status_code == 200
        local.service.pages.forget_head()
        after = local.get("/", headers=HTML)
        assert after.headers["etag"] != before.headers["etag"]
        assert "acme/a/later" in after.text
        assert "acme/a/later" not in before.text

    def test_the_style_is_kept_for_ever_under_a_name_of_its_bytes(self, local: LocalRegistry) -> None:
        page = local.get("/", headers=HTML).text
        (path,) = re.findall(r'href="(/-/style/[0-9a-f]{16}\.css)"', page)
        answer = local.get(path)
        assert answer.headers["content-type"] == "text/css; charset=utf-8"
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert local.get("/-/style/0000000000000000.css").status_code == 404

    def test_nothing_runs_and_nothing_comes_from_elsewhere(self, local: LocalRegistry) -> None:
        for path in ("/", ITEM, "/nothing"):
            page = local.get(path, headers=HTML).text
            assert page.count("<script") == page.count('<script type="application/ld+json">') == (path == ITEM)
            assert not re.search(r"\son[a-z]+=", page)
            assert "style=" not in page
            assert not re.search(r'(?:src|srcset|data|poster)="', page)


class TestFailures:
    def test_a_browser_gets_a_page_and_a_program_a_document(self, local: LocalRegistry) -> None:
        page = local.get("/-/directive/acme/a/nothing", headers=HTML)
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "Not found" in page.text
        assert error_code(local.get("/-/directive/acme/a/nothing")) == "not-found"

    def test_the_api_never_answers_with_a_page(self, local: LocalRegistry) -> None:
        for method, path in (("GET", "/api/v1/search?q="), ("POST", "/api/v1/statements"), ("GET", "/api/v1/nothing")):
            assert error_code(local.ask(method, path, headers=HTML))

    def test_no_place_left_is_said_at_once(self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
        desk = local.service.pages
        monkeypatch.setattr(desk._threads, "_most", 0)
        desk.forget_head()
        page = local.get(ITEM, headers=HTML)
        assert (page.status_code, page.headers["retry-after"]) == (503, "1")
        assert "<h1>" in page.text
        assert error_code(local.get(ITEM)) == "busy"

    def test_a_path_is_only_text(self, local: LocalRegistry) -> None:
        page = local.get("/-/<script>alert(1)<\u202escript>", headers=HTML)
        assert page.status_code == 404
        assert "<script" not in page.text
        assert "\u202e" not in page.text
        assert "U+202E" in page.text


class TestAddresses:
    def test_what_paths_name(self) -> None:
        item = Identity("skill", "acme/a/x")
        for path, address in {
            "/-/skill/acme/a/x": ItemAddress(item),
            "/-/skill/acme/a/x@1.0.0": ItemAddress(item, "1.0.0"),
            "/-/skill/acme/a/x@1.0.0-rc.1+b.2": ItemAddress(item, "1.0.0-rc.1+b.2"),
            "/-/skill/acme/a/x@1.0.0/source": ItemAddress(item, "1.0.0", "source"),
            "/-/skill/acme/a/x@1.0.0/source/scripts/run.sh": ItemAddress(item, "1.0.0", "source", "scripts/run.sh"),
            "/-/skill/acme/a/x/diff/1.0.0..2.0.0": ItemAddress(item, None, "diff", "1.0.0..2.0.0"),
            "/-/skill/acme/a/x@2.0.0/diff": ItemAddress(item, "2.0.0", "diff"),
        }.items():
            assert read_item_path(path) == address
            assert address.path == path
        assert diff_path(item, "1.0.0", "2.0.0") == "/-/skill/acme/a/x/diff/1.0.0..2.0.0"
        assert read_item_path("/-/skill/acme/diff") == ItemAddress(Identity("skill", "acme/diff"))

    @pytest.mark.parametrize(
        "path",
        [
            *("/-/nothing/acme/x", "/-/skill", "/-/skill/", "/-/skill/acme", "/-/skill/acme/", "/-/skill/ACME/x"),
            *("/-/skill/acme/x@", "/-/skill/acme/x@1", "/-/skill/acme/x@1.0.0/", "/-/skill/acme/x@1.0.0/other"),
            *("/-/skill/acme/x@1.0.0/source/../y", "/-/skill/acme/x@1.0.0/source//etc", "/-/skill/acme/../x"),
            *("/-/skill/acme/x@1.0.0@1.0.0", "/-/skill/acme/con", "/-/skill/acme/x/", "/-/skill//acme/x"),
            *("/-/skill/" + "a/" * 2_000 + "x", "/-/skill/acme/x@1.0.0/item", "/-/skill/acme/x@1.0.0/diff/a..b..c"),
        ],
    )
    def test_what_names_nothing(self, path: str) -> None:
        assert read_item_path(path) is None

    def test_every_kind_has_a_path(self) -> None:
        for kind in KINDS:
            address = ItemAddress(Identity(kind, "acme/a"), "1.0.0")
            assert read_item_path(address.path) == address


def test_a_registry_that_is_not_public(tmp_path: Path) -> None:
    local = LocalRegistry(tmp_path / "data", 'read = "members"\n')
    try:
        assert local.statements(local.token(), ACME.claim()).status_code == 200
        assert local.publish(ACME, "a/item", local.token()).status_code == 200
        refused = local.get("/", headers=HTML)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert 'href="/-/account"' in refused.text
        assert "acme" not in refused.text
        (style,) = re.findall(r'href="(/-/style/[0-9a-f]{16}\.css)"', refused.text)
        assert local.get(style).status_code == 200
        token = local.token(scopes=["read"])
        for path in ("/", ITEM):
            page = local.get(path, token, headers=HTML)
            assert page.status_code == 200
            assert page.headers["cache-control"] == "private, no-cache"
            assert page.headers["vary"] == "Accept, Authorization, Cookie"
            assert "content-encoding" not in page.headers  # what it shows is secret, and others choose words on it
            assert local.get(path, headers={**HTML, "If-None-Match": page.headers["etag"]}).status_code == 401
        assert local.get("/", local.token(scopes=["publish"]), headers=HTML).status_code == 403
    finally:
        local.close()
