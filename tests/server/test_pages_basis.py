"""No page is served stale (design/server.md 5): after every change of what pages show, each kept page is byte for byte the
page that is made fresh, for every reader."""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from registry_server.accounts import registry_keys, roles
from registry_server.pages import dependents, diff, examined, item, listings, page_layout, registry_view
from registry_server.pages.limits import LISTS
from registry_server.pages.lru_cache import LruCache
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.clock import Clock
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt
from registry_server.storage import database
from registry_server.upkeep import founding, takedown
from rye.items.identity import Identity
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import Advisory, Deprecation, Keyset, Relation, Revocation, Yank
from rye.registry.protocol.wire import blob_path
from rye.signing.keys import PrivateKey
from tests.scenes.directive_text import directive
from tests.scenes.effort import rest_thorough
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import ORIGIN
from tests.server.unexamined import append, put

ITEM, GONE = Identity("directive", "acme/a/item"), Identity("skill", "acme/a/gone")
SECRETS = 4
"""Versions that can be taken down."""
PAGES = (
    *("/", "/-/log", "/-/log?before=5", "/-/log/3", "/-/log/3/proof", "/-/search?q=work", "/-/search?q=zebra"),
    *("/-/directive/acme/a/item", "/-/directive/acme/a/item@1.0.0", "/-/skill/acme/a/gone"),
    *(f"/-/skill/acme/a/gone@{number}.0.0" for number in range(1, SECRETS + 1)),
    *("/-/directive/acme/a/item@1.0.0/source", "/-/skill/acme/a/gone@2.0.0/source"),
    *("/-/skill/acme/a/gone@2.0.0/source/notes.txt", "/-/directive/acme/a/item/diff/1.0.0..1.1.0"),
    *("/-/directive/acme/a/item@1.1.0/diff", "/-/skill/acme/a/gone/diff/1.0.0..2.0.0"),
    *("/-/directive/other/a/user", "/-/namespaces/acme", "/-/namespaces/acme?after=directive:acme/a/item"),
    *("/-/namespaces/other", "/-/namespaces/nobody", "/feed.atom", "/-/namespaces/acme/feed.atom"),
    *("/sitemap.xml", "/sitemap.xml?after=", "/robots.txt"),
)
HTML, JSON = {"Accept": "text/html"}, {"Accept": "application/json"}


class World:
    """A registry in which everything happens that pages show. Each method with a name like ``a_…`` is one change."""

    def __init__(self, data: Path, patch: pytest.MonkeyPatch, settings: str = "") -> None:
        self.local = LocalRegistry(data, settings)
        self.began = datetime.now(UTC).replace(microsecond=0)
        self.later = timedelta()
        service = self.local.service
        patch.setattr(service.pages, "_clock", self.now)
        patch.setattr(service.sequencer, "clock", Clock(service.settings, self.now))
        # on a busy machine, the first page would lack what there was no time to describe
        patch.setattr(listings, "LISTS", replace(LISTS, describing_seconds=60.0))
        self.acme, self.other = self.local.owner("acme"), self.local.owner("other")
        self.count = 0
        self.extra: PrivateKey | None = None
        self.yanked = self.deprecated = self.is_owner = False
        self.secrets = list(range(1, SECRETS + 1))
        self.member = self.local.member("ann")
        for version in ("1.0.0", "1.1.0"):
            self.put(ITEM, version)
        for number in self.secrets:
            put(self.local, self.acme, GONE, f"{number}.0.0", f"Secret {number}\n".encode(), {"notes.txt": b"Notes\n"})
        self.put(Identity("directive", "other/a/user"), "1.0.0")

    def now(self) -> datetime:
        return self.began + self.later

    def put(self, identity: Identity, version: str, **changes: Any) -> None:
        """Release a directive that says something new."""
        self.count += 1
        publisher = self.acme if identity.namespace == "acme" else self.other
        data = directive(identity.local_id, version, text=f"Work {self.count}").encode()
        put(self.local, publisher, identity, version, data, **{"time": self.now(), **changes})

    def sign(self, statement: Any) -> None:
        append(self.local, self.acme, statement)

    def append_note(self, text: str) -> None:
        note = notes.parse(text)
        service = self.local.service
        (outcome,) = service.sequencer.append([[Candidate(note, statements.parse(note.text))]])
        assert isinstance(outcome, Receipt), outcome

    @property
    def owners(self) -> list[registry_keys.PrivateKey]:
        return registry_keys.in_folder(self.local.service.settings.keys, "root")

    def rotate(self, *keys: PrivateKey, revoked: tuple[Revocation, ...] = ()) -> None:
        """Publish the next keyset of acme."""
        with database.reader(self.local.service.engine) as connection:
            last = Ledger(connection).chain("acme").links[-1]
        number, raw = last.keyset.number + 1, tuple(key.public.raw for key in keys)
        self.sign(Keyset(ORIGIN, "acme", number, last.sha256, self.now(), 1, raw, revoked))
        self.acme.keyset = number

    # -- changes ---------------------------------------------------------------------------------------------------------

    def a_version(self) -> None:
        self.put(ITEM, f"1.{self.count + 10}.0", description=f"Work number {self.count}", capabilities=("rye.*",))

    def a_new_item(self) -> None:
        self.put(
            Identity("directive", f"acme/z/zebra_{chr(97 + self.count % 26)}{chr(97 + self.count // 26)}"), "1.0.0"
        )

    def a_dependent(self) -> None:
        needs = (Relation(str(ITEM), ITEM, "*"),)
        self.put(Identity("directive", "other/a/user"), f"2.{self.count}.0", depends_on=needs)

    def a_yank_or_its_end(self) -> None:
        self.yanked = not self.yanked
        self.sign(Yank(ORIGIN, ITEM, "1.1.0", self.yanked, self.acme.keyset, self.now(), "A wrong turn"))

    def a_dependents_yank_or_its_end(self) -> None:
        self.yanked = not self.yanked
        user = Identity("directive", "other/a/user")
        append(self.local, self.other, Yank(ORIGIN, user, "1.0.0", self.yanked, 1, self.now(), "No"))

    def a_deprecation_or_its_end(self) -> None:
        self.deprecated = not self.deprecated
        self.sign(Deprecation(ORIGIN, ITEM, self.deprecated, GONE, self.acme.keyset, self.now(), "Use the other"))

    def an_advisory(self) -> None:
        self.count += 1
        number = f"ACME-{self.count}"
        self.sign(Advisory(ORIGIN, ITEM, number, "<2", "high", self.acme.keyset, self.now(), f"It leaks {number}"))

    def an_advisory_of_the_owners(self) -> None:
        self.count += 1
        theirs = Advisory(ORIGIN, GONE, f"REG-{self.count}", "*", "critical", None, self.now(), f"It lies {self.count}")
        self.append_note(notes.sign(theirs.text(), [owner.signer for owner in self.owners]).encode())

    def a_takedown(self) -> None:
        if not self.secrets:
            return
        service = self.local.service
        with database.reader(service.engine) as connection:
            plan = takedown.plan(Ledger(connection), f"{GONE}@{self.secrets.pop()}.0.0", "A court said so", self.now())
        takedown.publish(service.sequencer, takedown.signed(plan.statements, self.owners))

    def a_keyset(self) -> None:
        self.extra = PrivateKey.generate()
        self.rotate(self.acme.key, self.extra)
        own, self.acme.key = self.acme.key, self.extra
        self.a_version()
        self.acme.key = own

    def a_revocation(self) -> None:
        if self.extra is not None:
            self.rotate(self.acme.key, revoked=(Revocation(self.extra.public.raw, 0),))
            self.extra = None

    def a_recovery(self) -> None:
        """The owners announce it; days later it takes effect with a head that says nothing else."""
        rescue, effect = PrivateKey.generate(), self.now() + timedelta(hours=80)
        with database.reader(self.local.service.engine) as connection:
            last = Ledger(connection).chain("acme").links[-1]
        number = last.keyset.number + 1
        keys = (rescue.public.raw,)
        keyset = Keyset(ORIGIN, "acme", number, last.sha256, self.now(), 1, keys, recovery=effect)
        signers = [Publisher("acme", rescue).signer, *(owner.signer for owner in self.owners)]
        self.append_note(notes.sign(keyset.text(), signers).encode())
        self.check("a_recovery that is announced")
        self.later += timedelta(hours=81)
        self.a_heartbeat()
        self.acme.key, self.acme.keyset, self.extra = rescue, number, None

    def a_heartbeat(self) -> None:
        self.later += timedelta(seconds=self.local.service.settings.heartbeat_seconds + 1)
        assert self.local.service.sequencer.heartbeat()

    def a_root(self) -> None:
        with database.reader(self.local.service.engine) as connection:
            root = founding.draft(Ledger(connection), days=365)
        founding.publish(self.local.service.sequencer, founding.add_signature(root.text(), self.owners[0]).encode())

    def a_role_or_its_end(self) -> None:
        self.is_owner = not self.is_owner
        with database.change(self.local.service.engine) as connection:
            if self.is_owner:
                roles.give(connection, "acme", "owner", account=self.member)
            else:
                roles.take(connection, "acme", account=self.member)

    def an_hour(self) -> None:
        self.later += timedelta(hours=1)

    def three_days(self) -> None:
        self.later += timedelta(days=3)

    # -- what is compared ------------------------------------------------------------------------------------------------

    def readers(self) -> dict[str, str]:
        """Tokens by what they may read."""
        if self.local.service.settings.read == "public":
            return {"anyone": ""}
        scopes = ["read"]
        names = {"acme": ("acme",), "other": ("other",), "all": ()}
        tokens = {reader: self.local.token(*namespaces, scopes=scopes) for reader, namespaces in names.items()}
        return {**tokens, "ann": self.local.token(scopes=scopes, account=self.member)}

    def pages(self) -> dict[tuple[str, str, str], tuple[int, bytes, str]]:
        """Status, body and tag of every page for every reader, in both forms."""
        pages = {}
        self.local.service.pages.forget_head()
        for reader, token in self.readers().items():
            for path in PAGES:
                for form in (HTML, JSON):
                    answer = self.local.get(path, token, headers=form)
                    key = (reader, path, form["Accept"])
                    pages[key] = answer.status_code, answer.content, answer.headers.get("etag", "")
        return pages

    def forget(self) -> None:
        """Make every page fresh, from bytes."""
        self.local.service.pages._kept.clear()
        for module in (dependents, diff, item, page_layout, registry_view):
            for value in vars(module).values():
                if isinstance(value, LruCache):
                    value.clear()
        examined._facts_in.cache_clear()
        analyses = self.local.service.pages._analyses
        assert analyses is not None
        analyses._recent.clear()
        shutil.rmtree(self.local.service.settings.analyses, ignore_errors=True)

    def check(self, change: str) -> dict[tuple[str, str, str], tuple[int, bytes, str]]:
        """Compare the pages that are served with fresh ones, and return these."""
        served = self.pages()
        self.forget()
        fresh = self.pages()
        stale = [key for key in fresh if served[key] != fresh[key]]
        assert stale == [], (change, [(served[key], fresh[key]) for key in stale[:1]])
        return fresh


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


CHANGES = [name for name in vars(World) if name.startswith(("a_", "an_", "three_"))]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World(tmp_path / "data", monkeypatch)
    yield made
    made.local.close()


SHOWN = {
    "a_takedown": {"/-/skill/acme/a/gone", f"/-/skill/acme/a/gone@{SECRETS}.0.0"},
    "a_recovery": {"/-/directive/acme/a/item", "/-/skill/acme/a/gone", "/-/namespaces/acme"},
    "a_role_or_its_end": {"/-/namespaces/acme"},
    "a_version": {"/-/directive/acme/a/item", "/-/directive/acme/a/item@1.0.0", "/-/namespaces/acme"},
    "a_new_item": {"/", "/feed.atom", "/-/namespaces/acme", "/sitemap.xml?after=", "/-/search?q=zebra"},
    "a_dependent": {"/-/directive/acme/a/item", "/-/directive/other/a/user"},
    "a_yank_or_its_end": {"/-/directive/acme/a/item", "/-/directive/acme/a/item@1.0.0", "/feed.atom"},
    "a_dependents_yank_or_its_end": {"/-/directive/other/a/user", "/-/namespaces/other"},
    "a_deprecation_or_its_end": {"/-/directive/acme/a/item@1.0.0", "/-/namespaces/acme"},
    "an_advisory": {"/-/directive/acme/a/item@1.0.0"},
    "an_advisory_of_the_owners": {"/-/skill/acme/a/gone@1.0.0"},
    "a_keyset": {"/-/directive/acme/a/item", "/-/skill/acme/a/gone", "/-/namespaces/acme"},
    "a_heartbeat": {"/-/log"},
    "a_root": {"/-/log"},
    "an_hour": set(),
    "three_days": {"/-/directive/acme/a/item@1.0.0", "/"},
}
"""Pages that must not be the same after a change, so that this test sees changes."""


@pytest.mark.parametrize("change", rest_thorough(1, SHOWN))
def test_a_change_shows_on_the_pages_that_have_it_and_nothing_stale_is_served(world: World, change: str) -> None:
    before = world.check("nothing")
    getattr(world, change)()
    after = world.check(change)
    changed = {
        path
        for (_, path, form), page in after.items()
        if form == HTML["Accept"] and _top(page) != _top(before[_, path, form])
    }
    assert SHOWN[change] <= changed


def _top(page: tuple[int, bytes, str]) -> bytes:
    """A page without its foot, which is new for every head."""
    return page[1].partition(b"<footer")[0]


@pytest.mark.thorough
def test_a_key_s_revocation_shows(world: World) -> None:
    world.a_keyset()
    before = world.check("a_keyset")
    world.a_revocation()
    key = ("anyone", "/-/directive/acme/a/item@1.0.0", HTML["Accept"])
    assert _top(world.check("a_revocation")[key]) != _top(before[key])


@pytest.mark.thorough
def test_bytes_that_come_back_show_with_the_next_head(world: World) -> None:
    key = ("anyone", "/-/skill/acme/a/gone@2.0.0/source/notes.txt", HTML["Accept"])
    public, path = world.local.service.public, blob_path(_sha256(b"Notes\n"))
    public.delete(path)
    assert b"no longer has these bytes" in world.check("lost")[key][1]
    public.put(path, b"Notes\n")
    world.a_new_item()
    assert b"no longer has these bytes" not in world.check("back")[key][1]


@pytest.mark.thorough
@pytest.mark.parametrize("settings", ["", 'read = "namespaces"\n'], ids=["public", "private"])
def test_in_any_order_nothing_stale_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str) -> None:
    world = World(tmp_path / "data", monkeypatch, settings)
    order = [*CHANGES, *(name for name in CHANGES if name.endswith("_its_end"))]
    random.Random(settings).shuffle(order)
    world.check("nothing")
    for change in order:
        work: Callable[[], None] = getattr(world, change)
        work()
        world.check(change)
    world.local.close()


@pytest.mark.thorough
def test_no_reader_is_served_the_page_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may read one namespace sees nothing of another, whoever asked for the page before."""
    world = World(tmp_path / "data", monkeypatch, 'read = "namespaces"\n')
    world.a_dependent()
    for change in ("a_role_or_its_end", "a_version", "a_role_or_its_end", "an_hour"):
        getattr(world, change)()
        pages = world.check(change)
        for (reader, path, _), (status, body, _tag) in pages.items():
            names = {"acme": ("acme",), "other": ("other",), "all": ("acme", "other")}
            readable = names.get(reader, ("acme",) if world.is_owner else ())
            if any(f"/{name}" in path and name not in readable for name in ("acme", "other")):
                assert status == 404, (change, reader, path)
            elif "other" not in readable and "/-/log" not in path:  # who sees the log sees all names
                assert b"other/a" not in body, (change, reader, path)
    world.local.close()
