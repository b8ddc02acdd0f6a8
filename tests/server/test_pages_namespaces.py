"""A namespace's page (design/server.md 5): which keys can publish and since when, owners, items, pending recoveries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from registry_server.accounts import registry_keys as server_keys
from registry_server.accounts import roles
from registry_server.pages.limits import PAGES, RECORDS
from registry_server.pages.name_ranges import names_in, stretches
from registry_server.pages.namespace import is_item_name, keyset_rows, namespace_view
from registry_server.pages.owners import behind_view
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from rye.items.identity import Identity
from rye.registry.protocol import notes
from rye.registry.protocol.notes import Signer, VerifierKey
from rye.registry.protocol.statements import Keyset, Require, Revocation, Yank, namespace_key_name
from rye.registry.trust.keysets import KeysetChain, Link
from rye.registry.trust.namespace_proofs import NamespaceOwners
from rye.signing.keys import PrivateKey
from tests.scenes.effort import rest_thorough
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, now
from tests.scenes.registry_process import ORIGIN
from tests.scenes.security_keys import SecurityKey
from tests.server.unexamined import append, put

HTML, JSON = {"Accept": "text/html"}, {"Accept": "application/json"}
PAGE = "/-/namespaces/acme"

NOBODY = behind_view(NamespaceOwners("acme", None), {}, datetime(2026, 1, 1, tzinfo=UTC))


def document(local: LocalRegistry, path: str = PAGE, token: str = "") -> dict[str, Any]:
    answer = local.get(path, token, headers=JSON)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def page(local: LocalRegistry, path: str = PAGE, token: str = "") -> str:
    answer = local.get(path, token, headers=HTML)
    assert answer.status_code == 200
    assert len(answer.content) <= PAGES.html_bytes
    main = html.fromstring(answer.content).find(".//main")
    assert main is not None
    return " ".join("".join(map(str, main.itertext())).split())


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path / "data") as made:
        yield made


def claim(local: LocalRegistry, publisher: Publisher) -> None:
    assert local.statements(local.token(), publisher.claim()).status_code == 200


class TestKeys:
    def test_each_key_is_there_since_the_keyset_that_brought_it(self, local: LocalRegistry) -> None:
        one, two, three = (PrivateKey.generate() for _ in range(3))
        acme = Publisher("acme", one)
        begun = now() - timedelta(days=30)
        first = Keyset(ORIGIN, "acme", 1, None, begun, 1, (one.public.raw,))
        assert local.statements(local.token(), acme.note(first)).status_code == 200
        both = (one.public.raw, two.public.raw)
        second = Keyset(ORIGIN, "acme", 2, sha256(first), begun + timedelta(days=10), 1, both, release_threshold=2)
        assert local.statements(local.token(), acme.note(second)).status_code == 200
        revoked = (Revocation(one.public.raw, 3),)
        last = Keyset(
            ORIGIN, "acme", 3, sha256(second), begun + timedelta(days=20), 1,
            (two.public.raw, three.public.raw), revoked,
        )  # fmt: skip
        assert local.statements(local.token(), acme.note(last, Publisher("acme", two).signer)).status_code == 200
        found = document(local)
        since = {key["fingerprint"]: (key["keyset"], key["since"]) for key in found["keys"]}
        assert since == {
            two.public.fingerprint: (2, f"{begun + timedelta(days=10):%Y-%m-%dT%H:%M:%SZ}"),
            three.public.fingerprint: (3, f"{begun + timedelta(days=20):%Y-%m-%dT%H:%M:%SZ}"),
        }
        assert [(row["number"], row["state"], row["release_threshold"]) for row in found["keysets"]] == [
            (3, "in-force", 1), (2, "past", 2), (1, "past", 1)
        ]  # fmt: skip
        newest = found["keysets"][0]
        assert newest["removed"] == [one.public.fingerprint]
        assert newest["revoked"] == [{"fingerprint": one.public.fingerprint, "from_position": 3}]
        assert found["keysets"][1]["revoked"] == []
        assert [local.get(row["path"], headers=JSON).json()["told"]["type"] for row in found["keysets"]] == [
            "keyset"
        ] * 3
        shown = page(local)
        assert "2 of 2 keys must sign a release" in shown
        assert "revoked from log entry 3 on" in shown

    def test_a_recovery_that_waits_is_told_before_anything_else(self, local: LocalRegistry) -> None:
        acme, rescue = Publisher("acme"), PrivateKey.generate()
        claim(local, acme)
        (link,) = chain(local).links
        effect = now() + timedelta(hours=80)
        keyset = Keyset(ORIGIN, "acme", 2, link.sha256, now(), 1, (rescue.public.raw,), recovery=effect)
        owners = [owner.signer for owner in server_keys.in_folder(local.service.settings.keys, "root")]
        signed = notes.sign(keyset.text(), [Publisher("acme", rescue).signer, *owners])
        answer = local.statements(local.token(), signed.encode())
        assert answer.status_code == 200, answer.text
        found = document(local)
        assert [(row["number"], row["state"]) for row in found["pending"]] == [(2, "pending")]
        assert [key["fingerprint"] for key in found["keys"]] == [acme.key.public.fingerprint]
        shown = page(local)
        assert shown.index("A recovery is pending") < shown.index("Keys that may publish")
        assert f"{effect:%Y-%m-%dT%H:%M:%SZ}" in shown

    def test_a_recovery_in_effect_is_the_keyset_in_force(self) -> None:
        old, rescue = PrivateKey.generate().public.raw, PrivateKey.generate().public.raw
        begun = now() - timedelta(days=30)
        effect = begun + timedelta(days=10)
        first = Keyset(ORIGIN, "acme", 1, None, begun, 1, (old,))
        second = Keyset(ORIGIN, "acme", 2, "0" * 64, begun, 1, (rescue,), recovery=effect)
        links = KeysetChain(ORIGIN, "acme", (Link(1, first, "1" * 64), Link(5, second, "2" * 64)))
        assert [row.state for row in keyset_rows(links, now())] == ["past", "in-force"]
        assert [row.state for row in keyset_rows(links, effect - timedelta(seconds=1))] == ["in-force", "pending"]
        view = namespace_view(links, now(), (), (), NOBODY)
        assert [(key.keyset, key.since) for key in view.keys] == [(2, effect)]
        assert view.pending == ()

    def test_a_long_history_is_cut_and_says_where_the_rest_is(self) -> None:
        begun = now() - timedelta(days=300)
        keys = [PrivateKey.generate().public.raw for _ in range(16)]
        links = tuple(
            Link(number * 2, Keyset(ORIGIN, "acme", number, None if number == 1 else "0" * 64, begun, 1, tuple(keys)), "0" * 64)
            for number in range(1, 301)
        )  # fmt: skip
        view = namespace_view(KeysetChain(ORIGIN, "acme", links), now(), (), (), NOBODY)
        numbers = [row.number for row in view.keysets]
        assert numbers == list(range(300, 300 - len(numbers), -1))
        assert 1 <= len(numbers) <= RECORDS.keysets
        assert view.earlier[0] == (300 - len(numbers)) * 2
        assert len(view.earlier) == RECORDS.earlier
        assert {key.keyset for key in view.keys} == {1}


class TestSecurityKeys:
    """Which keys are security keys, and whether a namespace requires them, as their owner demands in the keyset."""

    @pytest.mark.parametrize(
        ("require", "words"),
        [
            ("hardware", "The namespace requires a security key: other"),
            ("hardware-verified", "The namespace requires a security key with verification (a PIN or a finger): other"),
            (None, ""),
        ],
    )
    def test_what_is_required_is_said(self, local: LocalRegistry, require: Require | None, words: str) -> None:
        stick, plain = SecurityKey(PrivateKey.generate(), flags=5), PrivateKey.generate()
        keys = (stick.public.raw, plain.public.raw)
        first = Keyset(ORIGIN, "acme", 1, None, now() - timedelta(days=30), 1, keys, require=require)
        signer = Signer(VerifierKey(namespace_key_name(ORIGIN, "acme"), stick.public.raw), stick.sign)
        answer = local.statements(local.token(), notes.sign(first.text(), [signer]).encode())
        assert answer.status_code == 200, answer.text
        found = document(local)
        assert {key["fingerprint"]: key["hardware"] for key in found["keys"]} == {
            stick.public.fingerprint: True,
            plain.public.fingerprint: False,
        }
        assert [found["require"], *(row["require"] for row in found["keysets"])] == [require, require]
        shown = page(local)
        assert f"{stick.public.fingerprint} security key" in shown
        assert f"{plain.public.fingerprint} security key" not in shown
        assert words in shown
        assert ("requires" in shown) is (require is not None)
        told = local.get(found["keysets"][0]["path"], headers=JSON).json()["told"]["words"]
        assert ("only security keys" in told) is (require is not None)
        assert ("with verification" in told) is (require == "hardware-verified")


class TestOwnersAndItems:
    def test_owners_are_named_and_a_change_of_roles_is_seen_at_once(self, local: LocalRegistry) -> None:
        claim(local, Publisher("acme"))
        local.member("<b>ann</b>", acme="owner")
        local.member("bob", acme="reader")
        first = local.get(PAGE, headers=HTML)
        assert [owner["name"] for owner in document(local)["owners"]] == ["<b>ann</b>"]
        assert "<b>ann" not in first.text
        with database.change(local.service.engine) as connection:
            roles.create_team(connection, "core", f"{now():%Y-%m-%dT%H:%M:%SZ}")
            roles.give(connection, "acme", "owner", team="core")
        again = local.get(PAGE, headers={**HTML, "If-None-Match": first.headers["etag"]})
        assert again.status_code == 200
        assert "Team core" in again.text
        assert document(local)["owners"][1] == {"name": "core", "is_team": True}

    def test_items_of_all_kinds_are_listed_with_what_is_offered(self, local: LocalRegistry) -> None:
        acme, other = Publisher("acme"), Publisher("acme-two")
        for publisher in (acme, other):
            claim(local, publisher)
        for kind, name in (("skill", "acme/zz"), ("directive", "acme/a/item"), ("directive", "acme/b/item")):
            put(local, acme, Identity(kind, name), "1.0.0", b"x", description="Says <i>this</i>")
        put(local, other, Identity("directive", "acme-two/a/item"), "1.0.0", b"x")
        gone = Identity("directive", "acme/b/item")
        append(local, acme, Yank(ORIGIN, gone, "1.0.0", True, 1, now(), "No"))
        items = document(local)["items"]
        assert [(item["kind"], item["id"], item["version"]) for item in items] == [
            ("directive", "acme/a/item", "1.0.0"),
            ("directive", "acme/b/item", None),
            ("skill", "acme/zz", "1.0.0"),
        ]
        shown = local.get(PAGE, headers=HTML).text
        assert "all versions withdrawn" in shown
        assert "Says &lt;i&gt;this&lt;/i&gt;" in shown

    def test_many_items_are_paged_by_name_without_gaps(
        self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        acme = Publisher("acme")
        claim(local, acme)
        wanted = [f"acme/a/n{number:03d}" for number in range(7)]
        for name in wanted:
            put(local, acme, Identity("directive", name), "1.0.0", name.encode())
        with database.reader(local.service.engine) as connection:
            names: list[str] = []
            after = ""
            while rows := names_in(connection, stretches(["acme"]), after, 3):
                names += [row[0] for row in rows]
                after = names[-1]
        assert names == [f"directive:{name}" for name in wanted]
        later = document(local, f"{PAGE}?after=directive:acme/a/n004")
        assert [item["id"] for item in later["items"]] == wanted[5:]

    @pytest.mark.thorough
    @pytest.mark.slow
    def test_a_page_with_everything_stays_small(self, local: LocalRegistry) -> None:
        acme = Publisher("acme")
        claim(local, acme)
        for number in range(RECORDS.items + 3):
            name = "/".join(["acme", *["n" * 60] * 5, f"n{number}"])
            put(local, acme, Identity("directive", name), "1.0.0", b"%d" % number, description="&" * 300)
        for number in range(60):
            local.member(f"{'<' * 90}{number}", acme="owner")
        found = document(local)
        assert len(found["owners"]) > 5
        names: list[str] = []
        following: str | None = PAGE
        while following is not None:
            page(local, following)
            part = document(local, following)
            names += [item["id"] for item in part["items"]]
            following = part["next_page"]
        assert len(names) == len(set(names)) == RECORDS.items + 3


class TestAddresses:
    @pytest.mark.parametrize(
        "name",
        rest_thorough(
            3,
            [
                "nope",
                "ACME",
                "acme.",
                "a%2Fb",
                "..%2f..",
                "acme%00",
                "%E2%80%8Bacme",
                "x" * 65,
                "con",
                "root",
                "-",
                "<script>",
                "%22",
            ],
        ),
    )
    def test_a_namespace_that_nobody_has_or_could_have_is_missing(self, local: LocalRegistry, name: str) -> None:
        for path in (f"/-/namespaces/{name}", f"/-/namespaces/{name}/feed.atom"):
            for accept in (HTML, JSON):
                answer = local.get(path, headers=accept)
                assert answer.status_code == 404, path
                assert "<script>" not in answer.text or accept is JSON

    @pytest.mark.parametrize(
        "after", ["x", "directive:other/a", "directive:acme", ":", "directive:acme/../x", "directive:acme/<b>"]
    )
    def test_a_place_that_is_none_is_an_error(self, local: LocalRegistry, after: str) -> None:
        claim(local, Publisher("acme"))
        assert local.get(PAGE, headers=JSON, params={"after": after}).status_code == 400

    def test_what_is_a_name(self) -> None:
        assert is_item_name("directive:acme/a/b", "acme")
        assert not is_item_name("directive:acme2/a", "acme")
        assert not is_item_name("directive:acme/a\n", "acme")


class TestPrivate:
    def test_refused_and_missing_look_alike_byte_for_byte(self, tmp_path: Path) -> None:
        local = LocalRegistry(tmp_path / "data", 'read = "namespaces"\n')
        acme = Publisher("acme")
        claim(local, acme)
        put(local, acme, Identity("directive", "acme/a/item"), "1.0.0", b"x")
        guest = local.token(account=local.member("guest"), scopes=["read"])
        own = local.token(account=local.member("owner", acme="reader"), scopes=["read"])
        assert document(local, token=own)["namespace"] == "acme"
        for suffix in ("", "/feed.atom", "?after=directive:acme/a"):
            for accept in (HTML, JSON):
                there = local.get(f"{PAGE}{suffix}", guest, headers=accept)
                absent = local.get(f"{PAGE}{suffix}".replace("acme", "acmf"), guest, headers=accept)
                assert (there.status_code, absent.status_code) == (404, 404)
                assert there.text.replace("acme", "acmf") == absent.text
                own_words = {"content-length": "", "x-request-id": ""}
                assert {**there.headers, **own_words} == {**absent.headers, **own_words}
                assert local.get(f"{PAGE}{suffix}", headers=accept).status_code == 401
        local.close()


def sha256(keyset: Keyset) -> str:
    return hashlib.sha256(keyset.text().encode()).hexdigest()


def chain(local: LocalRegistry) -> KeysetChain:
    with database.reader(local.service.engine) as connection:
        return Ledger(connection).chain("acme")
