"""Feeds, sitemap and robots.txt (design/server.md 5): valid, bounded, stable, and limited to what the reader may
see."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from lxml import etree

from registry_server.accounts import registry_keys
from registry_server.pages import crawlers, feed
from registry_server.pages.feed import ATOM, tag, xml_text
from registry_server.pages.limits import PAGES, RECORDS
from registry_server.pages.name_ranges import EVERYTHING, offered_names, part_ends, stretches
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.storage.schema import documents
from registry_server.upkeep import takedown
from registry_server.upkeep.founding import found
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.registry.protocol.statements import Advisory, Deprecation, Yank
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, now
from tests.scenes.registry_process import ORIGIN
from tests.server.unexamined import append, put

ITEM = Identity("directive", "acme/a/item")
HOSTILE = "x\uffff\ufffe]]> <b>&amp;&lt;!DOCTYPE <?php \"' {{7*7}} \x7e"
SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"
PARSER = etree.XMLParser(resolve_entities=False, no_network=True)


class Atom:
    """A feed, checked against what RFC 4287 requires."""

    def __init__(self, local: LocalRegistry, path: str = "/feed.atom", token: str = "") -> None:
        self.answer = local.get(path, token)
        assert self.answer.status_code == 200, self.answer.text
        assert self.answer.headers["content-type"] == "application/atom+xml"
        self.root = etree.fromstring(self.answer.content, PARSER)
        assert self.root.tag == f"{{{ATOM}}}feed"
        entries = self.all(self.root, "entry")
        for element in (self.root, *entries):  # RFC 4287 §4.1.1, §4.1.2
            assert urlsplit(self.one(element, "id")).scheme == "tag"
            assert self.one(element, "title")
            datetime.strptime(self.one(element, "updated"), "%Y-%m-%dT%H:%M:%SZ")
            (author,) = self.all(element, "author")
            assert self.one(author, "name")
            alternates = [link for link in self.all(element, "link") if link.get("rel") == "alternate"]
            assert len(alternates) == 1
        assert [link.get("href") for link in self.all(self.root, "link") if link.get("rel") == "self"] == [
            f"http://127.0.0.1:8420{path}"
        ]
        identifiers = [self.one(element, "id") for element in (self.root, *entries)]
        assert len(set(identifiers)) == len(identifiers)
        assert not self.all(self.root, "content")
        for element in self.root.iter():
            assert str(element.tag).startswith(f"{{{ATOM}}}")

    @staticmethod
    def all(element: etree._Element, name: str) -> Sequence[etree._Element]:
        return element.findall(f"{{{ATOM}}}{name}")

    @classmethod
    def one(cls, element: etree._Element, name: str) -> str:
        (found,) = cls.all(element, name)
        return found.text or ""

    def values(self, name: str) -> list[str]:
        return [self.one(entry, name) for entry in self.all(self.root, "entry")]


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path / "data") as made:
        assert made.statements(made.token(), ACME.claim()).status_code == 200
        yield made


PLAIN = {"Accept-Encoding": "identity"}
ACME, OTHER = Publisher("acme"), Publisher("other")


class TestFeed:
    def test_releases_yanks_deprecations_advisories_and_takedowns_are_told_the_newest_first(
        self, local: LocalRegistry
    ) -> None:
        put(local, ACME, ITEM, "1.0.0", b"one")
        put(local, ACME, ITEM, "2.0.0", b"two")
        append(local, ACME, Yank(ORIGIN, ITEM, "1.0.0", True, 1, now(), "It broke"))
        append(local, ACME, Yank(ORIGIN, ITEM, "1.0.0", False, 1, now(), "It works"))
        append(local, ACME, Advisory(ORIGIN, ITEM, "A-1", "<2.0.0", "high", 1, now(), "It leaks"))
        newer = Identity("directive", "acme/a/newer")
        append(local, ACME, Deprecation(ORIGIN, ITEM, True, newer, 1, now(), "Old"))
        append(local, ACME, Deprecation(ORIGIN, ITEM, False, None, 1, now(), "Back"))
        with database.reader(local.service.engine) as connection:
            plan = takedown.plan(Ledger(connection), f"{ITEM}@2.0.0", "The law")
        owners = registry_keys.in_folder(local.service.settings.keys, "root")
        service = local.service
        takedown.publish(service.sequencer, takedown.signed(plan.statements, owners))
        titles = ["Taken down: directive acme/a/item 2.0.0",
                  "Supported again: directive acme/a/item", "Deprecated: directive acme/a/item",
                  "Advisory A-1: directive acme/a/item",
                  "Available again: directive acme/a/item 1.0.0", "Yanked: directive acme/a/item 1.0.0",
                  "directive acme/a/item 2.0.0", "directive acme/a/item 1.0.0"]  # fmt: skip
        for path in ("/feed.atom", "/-/namespaces/acme/feed.atom"):
            feed = Atom(local, path)
            assert feed.values("title") == titles
            assert feed.values("summary") == [
                "The law",
                "The directive acme/a/item is supported again: Back",
                "The directive acme/a/item was deprecated in favour of directive:acme/a/newer: Old",
                "It leaks",
                "It works",
                "It broke",
                "Work",
                "Work",
            ]
        links = [
            str(link.get("href")).removeprefix("http://127.0.0.1:8420")
            for entry in feed.all(feed.root, "entry")
            for link in feed.all(entry, "link")
        ]
        assert "/-/directive/acme/a/item@2.0.0" in links
        statuses = {link: local.get(link, headers={"Accept": "text/html"}).status_code for link in links}
        assert statuses.pop(f"/-/directive/{ITEM.id}@2.0.0") == 451  # its page says why
        assert set(statuses.values()) == {200}

    def test_an_empty_registry_has_a_feed(self, tmp_path: Path) -> None:
        local = LocalRegistry(tmp_path / "empty")
        assert Atom(local).values("title") == []
        local.close()

    def test_text_that_xml_refuses_or_would_read_is_shown_in_brackets(self, local: LocalRegistry) -> None:
        put(local, ACME, ITEM, "1.0.0", b"one", description=HOSTILE)
        append(local, ACME, Yank(ORIGIN, ITEM, "1.0.0", True, 1, now(), f"{HOSTILE} again"))
        feed = Atom(local)
        shown = HOSTILE.replace("\uffff", "[U+FFFF]").replace("\ufffe", "[U+FFFE]")
        assert feed.values("summary") == [f"{shown} again", shown]

    def test_every_character_becomes_one_that_xml_carries(self) -> None:
        for start in range(0, 0x11_0000, 1024):
            text = "".join(map(chr, range(start, start + 1024)))
            root = etree.Element("a")
            root.text = xml_text(text)
            assert etree.fromstring(etree.tostring(root)).text == (root.text or None)
        assert xml_text("a\u202eb\x00c\ud800") == "a[U+202E]b[U+0000]c?"

    def test_times_are_the_registrys_and_not_the_signers(self, local: LocalRegistry) -> None:
        long_ago = now() - timedelta(days=4000)
        put(local, ACME, ITEM, "1.0.0", b"one")
        append(local, ACME, Yank(ORIGIN, ITEM, "1.0.0", True, 1, long_ago, "Old"))
        feed = Atom(local)
        assert feed.values("published")[0] == f"{long_ago:%Y-%m-%dT%H:%M:%SZ}"
        updated = feed.values("updated")[0]
        assert datetime.strptime(f"{updated}+0000", "%Y-%m-%dT%H:%M:%SZ%z") >= now() - timedelta(minutes=5)
        assert feed.one(feed.root, "updated") == updated

    def test_ids_and_times_stay_when_other_things_happen(self, local: LocalRegistry) -> None:
        put(local, ACME, ITEM, "1.0.0", b"one")
        first = Atom(local)
        put(local, ACME, ITEM, "2.0.0", b"two")
        time.sleep(1.5 * PAGES.head_seconds)  # the desk caches a head for this long
        second = Atom(local)
        assert second.values("id")[1:] == first.values("id")
        assert second.values("updated")[1:] == first.values("updated")
        assert second.one(second.root, "id") == first.one(first.root, "id")

    def test_it_is_not_sent_again_while_nothing_happens(self, local: LocalRegistry) -> None:
        put(local, ACME, ITEM, "1.0.0", b"one")
        for path in ("/feed.atom", "/-/namespaces/acme/feed.atom", "/sitemap.xml", "/robots.txt"):
            first = local.get(path, headers=PLAIN)
            again = local.get(path, headers={"If-None-Match": first.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            head = local.ask("HEAD", path, headers=PLAIN)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-length"] == str(len(first.content))

    @pytest.mark.thorough
    def test_it_holds_the_newest_and_no_more(self, local: LocalRegistry) -> None:
        for number in range(RECORDS.feed_entries + 5):
            put(local, ACME, ITEM, f"{number}.0.0", b"%d" % number, description="&" * 300)
        for path in ("/feed.atom", "/-/namespaces/acme/feed.atom"):
            titles = Atom(local, path).values("title")
            assert len(titles) == RECORDS.feed_entries
            assert titles[0].endswith(f" {RECORDS.feed_entries + 4}.0.0")

    def test_a_quiet_namespace_keeps_its_feed_when_others_are_loud(
        self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert local.statements(local.token(), OTHER.claim()).status_code == 200
        monkeypatch.setattr(feed, "RECORDS", type(RECORDS)(feed_entries=10))
        put(local, ACME, ITEM, "1.0.0", b"one")
        for number in range(2 * 10 + 1):
            put(local, OTHER, Identity("directive", "other/a"), f"{number}.0.0", b"%d" % number)
        assert Atom(local, "/-/namespaces/acme/feed.atom").values("title") == ["directive acme/a/item 1.0.0"]

    def test_a_namespace_is_told_from_one_that_begins_alike(self, local: LocalRegistry) -> None:
        longer = Publisher("acme-2")
        assert local.statements(local.token(), longer.claim()).status_code == 200
        put(local, longer, Identity("directive", "acme-2/a"), "1.0.0", b"x")
        assert Atom(local, "/-/namespaces/acme/feed.atom").values("title") == []

    @pytest.mark.parametrize(
        ("origin", "wanted"),
        [
            ("registry.example.org", "tag:registry.example.org,2026-01-02:log/1"),
            ("example.org:8420", "tag:example.org,2026-01-02:8420/log/1"),
            ("example.org:8420/team/a", "tag:example.org,2026-01-02:8420/team/a/log/1"),
        ],
    )
    def test_an_id_is_a_tag_of_the_registrys_host_and_first_day(self, origin: str, wanted: str) -> None:
        assert tag(origin, datetime(2026, 1, 2), "log/1") == wanted


class TestSitemap:
    def addresses(self, local: LocalRegistry, path: str, token: str = "") -> list[str]:
        answer = local.get(path, token)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/xml"
        root = etree.fromstring(answer.content, PARSER)
        assert root.tag == f"{{{SITEMAPS}}}{'urlset' if 'after' in path else 'sitemapindex'}"
        found = [row.findtext(f"{{{SITEMAPS}}}loc") or "" for row in root]
        assert all(address.startswith("http://127.0.0.1:8420/") for address in found)
        return [address.removeprefix("http://127.0.0.1:8420") for address in found]

    def test_all_items_that_are_offered_are_listed_in_parts(
        self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        small = type(RECORDS)(sitemap_names=3)
        monkeypatch.setattr(crawlers, "RECORDS", small)
        wanted = [f"acme/a/n{number}" for number in range(8)]
        for name in wanted:
            put(local, ACME, Identity("directive", name), "1.0.0", name.encode())
        gone = Identity("directive", "acme/a/n3")
        append(local, ACME, Yank(ORIGIN, gone, "1.0.0", True, 1, now(), "No"))
        parts = self.addresses(local, "/sitemap.xml")
        assert len(parts) == 3
        found = [address for part in parts for address in self.addresses(local, part)]
        lists = [f"/-/{folder}" for folder in ("items", "namespaces", *(kind.folder for kind in KINDS.values()))]
        assert found == ["/", *lists, *(f"/-/directive/{name}" for name in wanted if name != "acme/a/n3")]
        assert all(local.get(address, headers={"Accept": "text/html"}).status_code == 200 for address in found)

    def test_an_empty_registry_lists_its_first_page(self, tmp_path: Path) -> None:
        local = LocalRegistry(tmp_path / "empty")
        (part,) = self.addresses(local, "/sitemap.xml")
        assert self.addresses(local, part)[:2] == ["/", "/-/items"]
        local.close()

    @pytest.mark.parametrize("after", ["x", "a:b:c", "directive:acme/<b>", "directive:acme/%00", "'; --", "directive:"])
    def test_a_part_that_begins_nowhere_is_an_error(self, local: LocalRegistry, after: str) -> None:
        assert local.get("/sitemap.xml", params={"after": after}).status_code == 400

    def test_a_part_behind_the_last_name_is_missing(self, local: LocalRegistry) -> None:
        assert local.get("/sitemap.xml?after=tool:zzz/z").status_code == 404

    @pytest.mark.thorough
    def test_many_names_are_cheap(self, local: LocalRegistry) -> None:
        row = {"kind": "directive", "namespace": "acme", "version": "1.0.0", "description": "x" * 100,
               "keywords": "", "deprecated": False, "terms": ""}  # fmt: skip
        names = [f"acme/category/name-{number:06d}" for number in range(30_000)]
        with local.service.engine.begin() as connection:
            connection.execute(
                sa.insert(documents),
                [{**row, "number": n, "name": f"directive:{name}", "id": name} for n, name in enumerate(names, 1)],
            )
        with database.reader(local.service.engine) as connection:
            for where in ([EVERYTHING], stretches(["acme"])):
                begun = time.process_time()
                ends = part_ends(connection, where, RECORDS.sitemap_names, RECORDS.sitemap_parts)
                assert time.process_time() - begun < 0.5
                assert ends == [
                    f"directive:{name}" for name in names[RECORDS.sitemap_names - 1 :: RECORDS.sitemap_names]
                ]
            begun = time.process_time()
            part = offered_names(connection, [EVERYTHING], ends[2], RECORDS.sitemap_names)
            assert time.process_time() - begun < 0.2
            assert part[-1] == ends[3]
        answer = local.get(f"/sitemap.xml?after={ends[2]}")
        assert len(answer.content) < 10_000_000
        assert answer.content.count(b"<loc>") == RECORDS.sitemap_names


@pytest.mark.processes
def test_names_have_the_same_order_on_postgresql(empty: str) -> None:
    """PostgreSQL's own order ignores hyphens and slashes, so parts could overlap."""
    engine = sa.create_engine(empty)
    names = sorted(
        f"directive:{name}" for name in ("a-b/c", "a/b", "ab/a", "a_b/c", "a-b-c/d", "a/z", "ab/c-d", "ab/cd")
    )
    row = {"kind": "directive", "namespace": "x", "version": "1.0.0", "description": "", "keywords": "", "deprecated": False,
           "terms": ""}  # fmt: skip
    with engine.begin() as connection:
        documents.create(connection)
        rows = [{**row, "number": n, "name": name, "id": name} for n, name in enumerate(reversed(names))]
        connection.execute(sa.insert(documents), rows)
        assert offered_names(connection, [EVERYTHING], "", 100) == names
        assert offered_names(connection, [EVERYTHING], names[2], 2) == names[3:5]
        assert offered_names(connection, stretches(["a"]), "", 100) == ["directive:a/b", "directive:a/z"]
        assert part_ends(connection, [EVERYTHING], 3, 100) == [names[2], names[5]]
    engine.dispose()


@pytest.mark.processes
def test_every_page_of_the_log_is_made_from_postgresql_too(empty: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    found(data, ORIGIN, {"database": empty}, None, 365)
    local = LocalRegistry(data, make=False)
    assert local.statements(local.token(), ACME.claim()).status_code == 200
    put(local, ACME, ITEM, "1.0.0", b"one\n")
    put(local, ACME, ITEM, "2.0.0", b"two\n")
    assert local.service.settings.database_url == empty
    item = f"/-/directive/{ITEM.id}"
    for path in ("/-/log", "/-/log/4", "/-/namespaces/acme", "/-/namespaces/acme?after=directive:acme/a", "/robots.txt",
                 "/sitemap.xml", "/sitemap.xml?after=", f"{item}/diff/1.0.0..2.0.0", f"{item}@2.0.0/diff"):  # fmt: skip
        assert local.get(path, headers={"Accept": "text/html"}).status_code == 200, path
    for path in ("/feed.atom", "/-/namespaces/acme/feed.atom"):
        assert Atom(local, path).values("title") == [f"directive {ITEM.id} 2.0.0", f"directive {ITEM.id} 1.0.0"]
    local.close()


class TestRobots:
    def test_crawlers_are_told_where_the_sitemap_is_and_what_to_leave(self, local: LocalRegistry) -> None:
        answer = local.get("/robots.txt")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        lines = answer.text.splitlines()
        assert lines[0] == "User-agent: *"
        assert "Disallow: /-/account" in lines
        assert lines[-1] == "Sitemap: http://127.0.0.1:8420/sitemap.xml"


class TestPrivate:
    PATHS = ("/feed.atom", "/-/namespaces/acme/feed.atom", "/sitemap.xml", "/sitemap.xml?after=", "/robots.txt")

    @pytest.fixture
    def split(self, tmp_path: Path) -> Iterator[LocalRegistry]:
        made = LocalRegistry(tmp_path / "split", 'read = "namespaces"\n')
        for publisher in (ACME, OTHER):
            assert made.statements(made.token(), publisher.claim()).status_code == 200
            put(
                made,
                publisher,
                Identity("directive", f"{publisher.namespace}/a/item"),
                "1.0.0",
                publisher.namespace.encode(),
            )
        yield made
        made.close()

    def test_nobody_else_is_told_anything(self, split: LocalRegistry) -> None:
        for path in self.PATHS:
            for token in ("", "rye_0000000000000000_" + "a" * 43):
                assert split.get(path, token).status_code == 401

    def test_a_reader_is_told_of_the_namespaces_that_they_may_read(self, split: LocalRegistry) -> None:
        reader = split.token(account=split.member("ann", acme="reader"), scopes=["read"])
        feed = Atom(split, "/feed.atom", reader)
        assert feed.values("title") == ["directive acme/a/item 1.0.0"]
        assert feed.answer.headers["cache-control"].startswith("private")
        part = split.get("/sitemap.xml?after=", reader).text
        assert "acme/a/item" in part
        assert "other" not in part
        assert split.get("/-/namespaces/other/feed.atom", reader).status_code == 404
        everything = Atom(split, "/feed.atom", split.token()).values("title")
        assert sorted(everything) == ["directive acme/a/item 1.0.0", "directive other/a/item 1.0.0"]
        nobody = split.token(account=split.member("bob"), scopes=["read"])
        assert Atom(split, "/feed.atom", nobody).values("title") == []
        assert "/a/" not in split.get("/sitemap.xml?after=", nobody).text

    def test_crawlers_are_kept_out(self, split: LocalRegistry) -> None:
        assert split.get("/robots.txt", split.token()).text == "User-agent: *\nDisallow: /\n"
