"""Proofs at the server: asked before they are logged and again every day, for owners only; and what pages say (shopfront 3)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from registry_server.api.proving import Proving
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.upkeep.audit import verify
from rye.registry.ownership import documents
from rye.registry.ownership.asking import PlaceAsking
from rye.registry.ownership.documents import ProofCheck
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Description, OwnerProof
from rye.registry.trust.keysets import Link
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.proof_places import Website, website
from tests.scenes.publisher import Publisher, now

HTML = {"Accept": "text/html"}


@pytest.fixture
def site() -> Iterator[Website]:
    with website() as made:
        yield made


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path / "data") as made:
        yield made


def link_of(local: LocalRegistry, namespace: str) -> Link:
    with database.reader(local.service.engine) as connection:
        link = Ledger(connection).chain(namespace).current(now())
    assert link is not None
    return link


def proof_of(link: Link, place: str, **changes: Any) -> OwnerProof:
    values: dict[str, Any] = {
        "origin": link.keyset.origin,
        "namespace": link.keyset.namespace,
        "proved": True,
        "method": "file",
        "place": place,
        "keyset": link.keyset.number,
        "fingerprint": link.sha256,
        "time": now(),
    }
    return OwnerProof(**{**values, **changes})


def proved(local: LocalRegistry, owner: Publisher, site: Website, **changes: Any) -> None:
    link = link_of(local, owner.namespace)
    site.shows(documents.well_known_file(owner.namespace, link))
    answer = local.statements(local.token(), owner.note(proof_of(link, site.domain, **changes)))
    assert answer.status_code == 200, answer.text


def words(local: LocalRegistry, namespace: str) -> str:
    local.service.pages.forget_head()
    body = local.get(f"/-/namespaces/{namespace}", headers=HTML).text
    page: Any = html.fromstring(body)
    return " ".join(page.text_content().split())


def later(days: int) -> str:
    return write_time(now() + timedelta(days=days))


def test_a_proof_is_asked_for_before_it_is_logged(fresh: LocalRegistry, site: Website) -> None:
    owner = fresh.owner("acme")
    assert "nobody checked the name" in words(fresh, "acme")
    link = link_of(fresh, "acme")
    refused = fresh.statements(fresh.token(), owner.note(proof_of(link, site.domain)))
    assert refused.json()["error"]["code"] == "proof-not-found"
    assert not (fresh.service.settings.public / "owners/acme").exists()
    proved(fresh, owner, site)
    assert f"its owners proved that {site.domain} is theirs" in words(fresh, "acme")
    assert (fresh.service.settings.public / "owners/acme").read_bytes().count(b"\n") == 1
    with database.reader(fresh.service.engine) as connection:
        assert verify(Ledger(connection), fresh.service.public) == []


def test_a_repeated_proof_is_a_duplicate_and_asks_nobody(fresh: LocalRegistry, site: Website) -> None:
    owner = fresh.owner("acme")
    link = link_of(fresh, "acme")
    site.shows(documents.well_known_file("acme", link))
    note = owner.note(proof_of(link, site.domain))
    assert fresh.statements(fresh.token(), note).status_code == 200
    asked = len(site.asked)
    again = fresh.statements(fresh.token(), note)
    assert again.json()["results"][0]["duplicate"] is True
    assert len(site.asked) == asked


def test_only_the_owners_key_makes_the_registry_ask(fresh: LocalRegistry, site: Website) -> None:
    """Otherwise every token would send requests of the registry wherever it likes."""
    owner, other = fresh.owner("acme"), fresh.owner("other")
    link = link_of(fresh, "acme")
    site.shows(documents.well_known_file("acme", link))
    for note, code in (
        (other.note(proof_of(link, site.domain)), {"unknown-signer", "statement-signer"}),
        (owner.note(proof_of(link, site.domain, fingerprint="0" * 64)), {"statement-keyset"}),
        (owner.note(proof_of(link, site.domain, keyset=2)), {"statement-keyset"}),
    ):
        refused = fresh.statements(fresh.token(), note)
        assert refused.json()["error"]["code"] in code
    assert site.asked == []
    proved(fresh, owner, site)


def test_a_proof_cannot_be_dated_back(fresh: LocalRegistry, site: Website) -> None:
    owner = fresh.owner("acme")
    link = link_of(fresh, "acme")
    site.shows(documents.well_known_file("acme", link))
    about = Description(owner.origin, "acme", "Old", (), None, 1, now() - timedelta(days=2))
    for statement in (proof_of(link, site.domain, time=now() - timedelta(days=2)), about):
        refused = fresh.statements(fresh.token(), owner.note(statement))
        assert refused.json()["error"]["code"] in ("time-behind", "statement-unclaimed")


def test_a_place_is_checked_again_and_pages_say_when_it_is_gone(fresh: LocalRegistry, site: Website) -> None:
    owner = fresh.owner("acme")
    proved(fresh, owner, site)
    proving = fresh.service.proving
    assert proving.round() == 0  # it was checked just now
    assert proving.round(later(2)) == 1
    assert "still there" in words(fresh, "acme")
    assert proving.round(later(2)) == 0  # once a day
    site.answer = (404, {}, b"")
    assert proving.round(later(4)) == 1
    fresh.publish(owner, "work/one", fresh.token())  # a new head: pages are made again
    gone = words(fresh, "acme")
    assert "no longer there" in gone
    assert "nobody checked the name" in gone
    site.answer = (302, {"Location": "http://127.0.0.1/"}, b"")
    assert proving.round(later(6)) == 1
    # With the same second it would be the same text, which has no effect again.
    proved(fresh, owner, site, time=now() + timedelta(seconds=2))
    last = words(fresh, "acme")
    assert "no longer there" not in last, last[:900]


def test_a_round_that_is_stopped_leaves_the_rest_to_the_next(fresh: LocalRegistry, site: Website) -> None:
    for namespace in ("acme", "other"):
        proved(fresh, fresh.owner(namespace), site)
    asked: list[str] = []

    def stopping(_asking: PlaceAsking, _method: str, _place: str, link: Link) -> ProofCheck:
        asked.append(link.keyset.namespace)
        first.stop()
        return ProofCheck("found", "")

    engine, origin = fresh.service.engine, fresh.service.origin
    first, second = (Proving(engine, origin, lambda: "", is_on=True, ask=stopping) for _ in range(2))
    assert first.round(later(2)) == 1
    assert second.round(later(2)) == 1
    assert asked == ["acme", "other"]


def test_a_registry_can_leave_it(tmp_path: Path, site: Website) -> None:
    with LocalRegistry(tmp_path / "data", "owner_proofs = false\n") as local:
        owner = local.owner("acme")
        link = link_of(local, "acme")
        site.shows(documents.well_known_file("acme", link))
        refused = local.statements(local.token(), owner.note(proof_of(link, site.domain)))
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "proofs-off")
        assert site.asked == []


def test_the_owners_words_are_inert(fresh: LocalRegistry) -> None:
    owner = fresh.owner("acme")
    said = "<script>alert(1)</script> Verified: anthropic.com is ours"
    about = Description(owner.origin, "acme", said, ("https://acme.example/a",), "mailto:a@acme.example", 1, now())
    assert fresh.statements(fresh.token(), owner.note(about)).status_code == 200
    body = fresh.get("/-/namespaces/acme", headers=HTML).text
    assert "<script" not in body
    shown = words(fresh, "acme")
    assert "nobody checked the name" in shown
    assert "The owners’ own words. Nobody checked them." in shown
    links = {a.get("href"): a.get("rel") for a in html.fromstring(body).iter("a")}
    assert "nofollow" in (links["https://acme.example/a"] or "")


def test_a_young_name_like_a_well_known_one_says_so(fresh: LocalRegistry) -> None:
    fresh.owner("openai")
    assert "openai is like the name of OpenAI (openai.com)" in words(fresh, "openai")
    document = fresh.get("/-/namespaces/openai", headers={"Accept": "application/json"}).json()
    assert document["behind"]["warning"].startswith("openai is like")
    assert datetime.fromisoformat(document["claimed"])
