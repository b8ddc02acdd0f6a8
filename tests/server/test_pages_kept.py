"""The page cache (design/server.md 5): a page is valid as long as all of its inputs are unchanged."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from registry_server.accounts import registry_keys as server_keys
from registry_server.accounts import roles
from registry_server.pages import page_layout
from registry_server.pages.home import HomeView
from registry_server.pages.limits import PAGES
from registry_server.pages.page_cache import PageRequest
from registry_server.pages.page_context import Head, Now, Reader, Site
from registry_server.pages.page_drafts import Draft, Maker, for_each_head
from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database, schema
from registry_server.storage.prepared import Prepared
from registry_server.storage.schema import names
from registry_server.upkeep import takedown
from registry_server.upkeep.founding import found
from rye.items.identity import Identity
from rye.registry.protocol import notes
from rye.registry.protocol.statements import Advisory, Deprecation, Keyset, Relation, Revocation, Yank
from rye.registry.protocol.wire import blob_path
from rye.signing.keys import PrivateKey
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, now
from tests.scenes.registry_process import ORIGIN
from tests.server.unexamined import append, put

HTML, JSON = {"Accept": "text/html"}, {"Accept": "application/json"}
_LOG_TABLES = {
    *("documents", "head", "keysets", "log_entries", "map_nodes", "name_entries", "names", "registry", "releases"),
    *("roots", "takedowns", "tree_edge", "dependents", "listings", "owner_statements"),
}
"""``listings`` is derived from them; a page that finds it incomplete is not kept."""


class Counted:
    """A registry that counts how often pages are built."""

    def __init__(self, data: Path, patch: pytest.MonkeyPatch, settings: str = "", *, make: bool = True) -> None:
        self.local = LocalRegistry(data, settings, make=make)
        self.acme = self.local.owner("acme")
        self.made: list[str] = []
        render = page_layout.render

        def counted(page: Page, form: Any, site: Site, now: Now, fields: Any = None) -> page_layout.Rendered:
            self.made.append(page.path)
            return render(page, form, site, now, fields)

        patch.setattr(page_layout, "render", counted)

    def put(self, name: str = "item", version: str = "1.0.0", data: bytes | None = None, **changes: Any) -> Identity:
        identity = Identity("directive", f"acme/a/{name}")
        put(self.local, self.acme, identity, version, data or f"{name} {version}\n".encode(), **changes)
        self.local.service.pages.forget_head()
        return identity

    def sign(self, statement: Any, publisher: Publisher | None = None) -> None:
        append(self.local, publisher or self.acme, statement)
        self.local.service.pages.forget_head()

    def get(self, path: str, token: str = "", **headers: str) -> str:
        """Return the page's text and restart the count."""
        self.made.clear()
        return self.local.get(path, token, headers={**HTML, **headers}).text

    def seen(self, path: str, token: str = "") -> tuple[str, bool]:
        """Return the page's text, and whether it was built for this request."""
        text = self.get(path, token)
        return text, bool(self.made)

    def answer(self, path: str, make: Maker) -> bytes:
        """Return the answer for a page that the test builds."""
        pages = self.local.service.pages
        self.made.clear()
        return self.local.loop.run_until_complete(pages.answer(PageRequest(path, Reader()), make)).body


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    made = Counted(tmp_path / "data", monkeypatch)
    yield made
    made.local.close()


ITEM = "/-/directive/acme/a/item"


def chain_end(registry: Counted) -> str:
    with database.reader(registry.local.service.engine) as connection:
        return Ledger(connection).chain("acme").links[-1].sha256


class TestWhatStays:
    def test_another_head_makes_no_page_again_and_gives_each_its_own_foot_and_tag(self, registry: Counted) -> None:
        registry.put()
        before = registry.local.get(ITEM, headers=HTML)
        for name in ("b", "c", "d"):
            registry.put(name)
            text, was_made = registry.seen(ITEM)
            assert not was_made
            with database.reader(registry.local.service.engine) as connection:
                size = Ledger(connection).size
            assert f"{size} entries, last signed" in text
        after = registry.local.get(ITEM, headers={**HTML, "If-None-Match": before.headers["etag"]})
        assert after.status_code == 200
        assert after.headers["etag"] != before.headers["etag"]
        assert after.text.partition("<footer")[0] == before.text.partition("<footer")[0]

    def test_a_kept_page_is_what_would_be_made_now(self, registry: Counted) -> None:
        registry.put()
        paths = [ITEM, f"{ITEM}@1.0.0", f"{ITEM}@1.0.0/source", "/-/namespaces/acme", "/sitemap.xml?after="]
        for path in paths:
            registry.get(path)
        registry.put("item2")
        kept = {path: registry.get(path) for path in paths}
        registry.local.service.pages._kept.clear()
        assert {path: registry.get(path) for path in paths} == kept

    def test_sources_and_comparisons_stay_too(self, registry: Counted) -> None:
        registry.put()
        registry.put(version="1.1.0")
        paths = [f"{ITEM}@1.0.0/source", f"{ITEM}/diff/1.0.0..1.1.0"]
        for path in paths:
            assert registry.seen(path)[1]
        registry.put("other")
        for path in paths:
            assert not registry.seen(path)[1], path

    def test_json_says_how_much_of_the_log_this_head_has(self, registry: Counted) -> None:
        registry.put()
        entries = []
        for name in ("b", "c"):
            registry.put(name)
            entries.append(registry.local.get(ITEM, headers=JSON).json()["dependents_entries"])
            assert entries[-1] == registry.local.get("/-/log", headers=JSON).json()["size"]
        assert entries[0] < entries[1]

    def test_another_hour_makes_the_page_again(self, registry: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
        registry.put()
        at = now()
        for hours, is_made, words in ((0, True, "today"), (0, False, "today"), (73, True, "3 days ago")):
            monkeypatch.setattr(registry.local.service.pages, "_clock", lambda hours=hours: at + timedelta(hours=hours))
            text, was_made = registry.seen(ITEM)
            assert (was_made, words in text) == (is_made, True), hours

    def test_a_page_beside_publishing_is_kept_although_the_head_moves_on(self, registry: Counted) -> None:
        registry.put()
        registry.get(ITEM)
        pages = registry.local.service.pages
        put(registry.local, registry.acme, Identity("directive", "acme/a/b"), "1.0.0", b"b")  # the cache keeps its head
        registry.get(f"{ITEM}@1.0.0")  # its transaction sees the newer one
        assert pages.site().head is not None
        tag = registry.local.get(ITEM, headers=HTML).headers["etag"]
        assert registry.local.get(ITEM, headers={**HTML, "If-None-Match": tag}).status_code == 304


class TestWhatChanges:
    """Each change must invalidate the cached page."""

    @pytest.fixture
    def page(self, registry: Counted) -> Callable[[], str]:
        registry.put()
        registry.put("other")
        assert registry.seen(ITEM)[1]
        assert registry.seen(f"{ITEM}@1.0.0")[1]

        def again() -> str:
            text, was_made = registry.seen(ITEM)
            assert was_made
            assert registry.seen(f"{ITEM}@1.0.0")[1]
            return " ".join(text.split())

        return again

    def test_a_version(self, registry: Counted, page: Callable[[], str]) -> None:
        registry.put(version="1.2.0")
        assert '<span class="version">1.2.0</span></h1>' in page()

    def test_a_yank_and_its_end(self, registry: Counted, page: Callable[[], str]) -> None:
        item = Identity("directive", "acme/a/item")
        registry.sign(Yank(ORIGIN, item, "1.0.0", True, 1, now(), "It was wrong"))
        assert "It was wrong" in page()
        registry.sign(Yank(ORIGIN, item, "1.0.0", False, 1, now(), "It was right"))
        assert "It was wrong" not in page()

    def test_a_deprecation(self, registry: Counted, page: Callable[[], str]) -> None:
        item, other = Identity("directive", "acme/a/item"), Identity("directive", "acme/a/other")
        registry.sign(Deprecation(ORIGIN, item, True, other, 1, now(), "Use the other"))
        assert "Use the other" in page()

    def test_an_advisory_of_the_namespace_and_one_of_the_owners(
        self, registry: Counted, page: Callable[[], str]
    ) -> None:
        item = Identity("directive", "acme/a/item")
        registry.sign(Advisory(ORIGIN, item, "ACME-1", "<2", "high", 1, now(), "It leaks"))
        assert "It leaks" in page()
        owners = [owner.signer for owner in server_keys.in_folder(registry.local.service.settings.keys, "root")]
        theirs = Advisory(ORIGIN, item, "REG-1", "*", "critical", None, now(), "It lies")
        answer = registry.local.statements(registry.local.token(), notes.sign(theirs.text(), owners).encode())
        assert answer.status_code == 200, answer.text
        registry.local.service.pages.forget_head()
        assert "It lies" in page()

    def test_a_key_and_its_revocation(self, registry: Counted, page: Callable[[], str]) -> None:
        second = PrivateKey.generate()
        first = registry.acme.key.public.raw
        registry.sign(Keyset(ORIGIN, "acme", 2, chain_end(registry), now(), 1, (first, second.public.raw)))
        assert second.public.fingerprint in page()
        revoked = (Revocation(first, 0),)
        keyset = Keyset(ORIGIN, "acme", 3, chain_end(registry), now(), 1, (second.public.raw,), revoked)
        note = registry.acme.note(keyset, Publisher("acme", second).signer)
        answer = registry.local.statements(registry.local.token(), note)
        assert answer.status_code == 200, answer.text
        registry.local.service.pages.forget_head()
        assert "Signed with a key that was revoked" in page()

    def test_a_recovery_that_is_announced_and_that_takes_effect(
        self, registry: Counted, page: Callable[[], str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rescue = PrivateKey.generate()
        effect = now() + timedelta(hours=80)
        keyset = Keyset(ORIGIN, "acme", 2, chain_end(registry), now(), 1, (rescue.public.raw,), recovery=effect)
        owners = [owner.signer for owner in server_keys.in_folder(registry.local.service.settings.keys, "root")]
        signed = notes.sign(keyset.text(), [Publisher("acme", rescue).signer, *owners])
        assert registry.local.statements(registry.local.token(), signed.encode()).status_code == 200
        registry.local.service.pages.forget_head()
        assert "is about to move to other keys" in page()
        # Nothing more is written about the item or its namespace; only the time of the head advances.
        with registry.local.service.engine.begin() as connection:
            later = f"{effect + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
            connection.execute(schema.head.update().values(time=later, map="0" * 64))
        registry.local.service.pages.forget_head()
        text = page()
        assert "is about to move to other keys" not in text
        assert rescue.public.fingerprint in text

    def test_a_dependent_and_its_yank(self, registry: Counted, page: Callable[[], str]) -> None:
        needs = Relation("directive:acme/a/item", Identity("directive", "acme/a/item"), "*")
        user = registry.put("user", depends_on=(needs,))
        assert "acme/a/user" in page()
        registry.sign(Yank(ORIGIN, user, "1.0.0", True, 1, now(), "No"))
        assert "acme/a/user" not in page()

    def test_bytes_that_are_missing_and_come_back(self, registry: Counted) -> None:
        """Also when the statements about the item stay the same. They were never analysed while the files existed."""
        service = registry.local.service
        data = b"Sometimes there\n"
        registry.put(data=data)
        path = blob_path(hashlib.sha256(data).hexdigest())
        service.public.delete(path)
        assert "no longer has its bytes" in registry.get(ITEM)
        service.public.put(path, data)
        registry.put("anything")
        assert "Sometimes there" in registry.get(ITEM)


class TestTakedown:
    def take_down(self, registry: Counted, what: str) -> None:
        service = registry.local.service
        with database.reader(service.engine) as connection:
            plan = takedown.plan(Ledger(connection), what, "A court said so")
        owners = server_keys.in_folder(service.settings.keys, "root")
        takedown.publish(service.sequencer, takedown.signed(plan.statements, owners))
        service.pages.forget_head()

    def test_a_text_that_is_taken_down_is_gone_from_every_page_that_was_kept(self, registry: Counted) -> None:
        secret = b"# Title\n\nThe word xyzzy\n"
        item = registry.put(data=secret)
        registry.put(version="1.1.0", data=b"Clean\n")
        paths = [f"{ITEM}@1.0.0", f"{ITEM}@1.0.0/source", f"{ITEM}/diff/1.0.0..1.1.0", f"{ITEM}@1.1.0/diff"]
        for path in paths:
            assert "xyzzy" in registry.get(path), path
        self.take_down(registry, f"{item}@1.0.0")
        for path in paths:
            assert "xyzzy" not in registry.get(path), path

    def test_the_same_bytes_under_another_name_are_gone_too(self, registry: Counted) -> None:
        secret = b"# Title\n\nThe word xyzzy\n"
        registry.put(data=secret)
        other = registry.put("other", data=secret)
        registry.put("other", version="2.0.0", data=b"Clean\n")
        path = f"/-/directive/{other.id}@1.0.0"
        paths = [path, f"{path}/source", f"/-/directive/{other.id}/diff/1.0.0..2.0.0"]
        for path in paths:
            assert "xyzzy" in registry.get(path), path
        self.take_down(registry, hashlib.sha256(secret).hexdigest())
        for path in paths:
            assert "xyzzy" not in registry.get(path), path


class TestPrivateReading:
    @pytest.fixture
    def split(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
        made = Counted(tmp_path / "data", monkeypatch, 'read = "namespaces"\n')
        yield made
        made.local.close()

    def test_a_dependent_appears_for_those_who_may_see_it_and_leaves_others_their_page(self, split: Counted) -> None:
        local = split.local
        other = local.owner("other")
        target = split.put()
        mine, all_ = local.token("acme", scopes=["read"]), local.token(scopes=["read"])
        assert [split.seen(ITEM, token)[1] for token in (mine, all_)] == [True, True]
        needs = Relation(f"directive:{target.id}", target, "*")
        put(local, other, Identity("directive", "other/a/user"), "1.0.0", b"x", depends_on=(needs,))
        local.service.pages.forget_head()
        text, was_made = split.seen(ITEM, mine)
        assert ("other/" in text, was_made) == (False, False)
        text, was_made = split.seen(ITEM, all_)
        assert ("other/a/user" in text, was_made) == (True, True)
        assert "other/" not in split.get(ITEM, mine)

    def test_who_loses_a_role_loses_the_kept_page_at_once(self, split: Counted) -> None:
        local = split.local
        split.put()
        member = local.member("ann", acme="reader")
        token = local.token(scopes=["read"], account=member)
        answer = local.get(ITEM, token, headers=HTML)
        assert answer.status_code == 200
        with database.change(local.service.engine) as connection:
            roles.take(connection, "acme", account=member)
        for headers in (HTML, {**HTML, "If-None-Match": answer.headers["etag"]}):
            assert local.get(ITEM, token, headers=headers).status_code == 404
        with database.change(local.service.engine) as connection:
            roles.give(connection, "acme", "reader", account=member)
        assert local.get(ITEM, token, headers=HTML).status_code == 200


_COUNT = Prepared(sa.select(sa.func.count()).where(names.c.name.startswith("directive:")))


def _page(title: str, count: int = 0) -> Page:
    return Page(
        template="home.html",
        view=HomeView(origin="x", fingerprint="x", address="x", pin="x", entries=count, releases=()),
        title=title,
        description="",
        path="/count",
    )


def _counting(registry: RegistryView) -> Draft:
    """Draft a page that depends on the number of names."""
    ((count,),) = _COUNT.rows(registry.connection)
    return Draft(count, lambda: _page(f"{count} names", count))


class TestBasis:
    def test_a_page_is_made_again_only_if_what_it_depends_on_changed(self, registry: Counted) -> None:
        registry.put()
        assert b"1 names" in registry.answer("/count", _counting)
        registry.put(version="2.0.0")  # no new name
        registry.answer("/count", _counting)
        assert registry.made == []
        registry.put("b")
        assert b"2 names" in registry.answer("/count", _counting)

    def test_a_page_for_each_head_is_made_once_for_each(self, registry: Counted) -> None:
        make = for_each_head(lambda _registry: _page("each"))
        for name in ("a", "b"):
            registry.put(name)
            registry.answer("/count", make)
            assert registry.made == ["/count"]
            registry.answer("/count", make)
            assert registry.made == []

    def test_the_json_has_fields_of_its_own_and_depends_on_them(self, registry: Counted) -> None:
        def make(registry: RegistryView) -> Draft:
            return Draft((), lambda: _page("fields"), lambda: {"entries": registry.published.size})

        pages, loop = registry.local.service.pages, registry.local.loop
        made = []
        for name in ("a", "b"):
            registry.put(name)
            for accept in HTML, JSON:
                registry.made.clear()
                asked = PageRequest("/fields", Reader(), accept["Accept"])
                body = loop.run_until_complete(pages.answer(asked, make)).body
                made.append((bool(registry.made), b'"entries":0' not in body))
        assert made == [(True, True), (True, True), (False, True), (True, True)]

    def test_what_was_asked_under_an_older_head_is_not_kept_under_a_newer_one(self, registry: Counted) -> None:
        """A search is asked before the page's transaction begins."""
        pages, loop = registry.local.service.pages, registry.local.loop

        async def prepare() -> Maker:
            found = len(answers)
            if not found:  # a release is published between the search and the page
                identity = Identity("directive", "acme/a/between")
                await loop.run_in_executor(None, lambda: put(registry.local, registry.acme, identity, "1.0.0", b"x"))
            return for_each_head(lambda _registry: _page(f"found {found}"))

        answers: list[bytes] = []
        registry.put()
        for _ in range(3):
            asked = PageRequest("/search", Reader())
            answers.append(loop.run_until_complete(pages.answer_after(asked, prepare)).body)
            pages.forget_head()
        assert [b"found 0" in answers[0], b"found 1" in answers[1], b"found 1" in answers[2]] == [True] * 3

    def test_a_search_counts_for_one_head(self, registry: Counted) -> None:
        registry.put()
        registry.get("/-/search?q=work")
        registry.put("zebra", description="Work of zebras")
        assert "zebra" in registry.get("/-/search?q=work")

    def test_makers_read_tables_of_the_log_only(self, registry: Counted) -> None:
        """A cached page is checked again for a new head or hour. Whatever changes in between must be part of the
        key."""
        ran: set[str] = set()
        registry.put()
        registry.put(version="1.1.0")
        engine = registry.local.service.pages._engine
        sa.event.listen(engine, "checkout", lambda driver, *_: driver.set_trace_callback(ran.add))
        paths = [ITEM, f"{ITEM}@1.0.0/source", f"{ITEM}/diff/1.0.0..1.1.0", "/", "/-/log", "/-/log/1", "/feed.atom"]
        paths += ["/-/namespaces/acme", "/-/namespaces/acme/feed.atom", "/-/search?q=work", "/sitemap.xml"]
        for path in [*paths, "/sitemap.xml?after=", "/robots.txt"]:
            assert registry.local.get(path, headers=HTML).status_code == 200, path
        tables = {table for sql in ran for table in re.findall(r"(?:FROM|JOIN)\s+([a-z_]+)", sql)}
        assert {"names", "keysets", "takedowns", "documents"} <= tables
        assert tables - {"json_each", "used"} <= _LOG_TABLES <= set(schema.metadata.tables)

    @pytest.mark.parametrize("path", ["/-/namespaces/acme", "/-/namespaces/acme/feed.atom", f"{ITEM}/feed.atom"])
    def test_many_rows_take_as_many_questions_to_the_database(self, registry: Counted, path: str) -> None:
        ran: list[str] = []
        engine = registry.local.service.pages._engine
        sa.event.listen(engine, "checkout", lambda driver, *_: driver.set_trace_callback(ran.append))
        seen = []
        for numbers in (range(2), range(2, 10)):
            for number in numbers:
                registry.put("item", f"1.{number}.0")
                registry.put(f"other-{number}")
            ran.clear()
            registry.get(path)
            asked = ("FROM takedowns", "FROM names ", "log_entries.position IN", "log_entries.position <")
            seen.append([sum(each in " ".join(sql.split()) for sql in ran) for each in asked])
        assert seen[0] == seen[1]


def test_a_foot_has_the_room_that_pages_leave_for_it() -> None:
    head = Head(10**15, now(), "x")
    assert len(page_layout.foot(Site("o", "f" * 64, "", head))) <= PAGES.foot_bytes


def test_pages_are_kept_over_postgresql_too(empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found(tmp_path / "data", ORIGIN, {"database": empty}, None, 365)
    registry = Counted(tmp_path / "data", monkeypatch, make=False)
    try:
        item = registry.put()
        assert registry.seen(ITEM)[1]
        registry.put("b")
        assert not registry.seen(ITEM)[1]
        registry.sign(Yank(ORIGIN, item, "1.0.0", True, 1, now(), "It was wrong"))
        text, was_made = registry.seen(ITEM)
        assert ("It was wrong" in text, was_made) == (True, True)
    finally:
        registry.local.close()
