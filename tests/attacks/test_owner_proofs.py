"""Attacks on proofs of who owns a namespace: a name that looks like another's, and a question sent where it must not go.

Each has a control: the undisturbed proof counts. Real keys, notes, HTTP, DNS and git; fakes only where the internet would be.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.registry.ownership import documents, git_messages
from rye.registry.ownership.asking import FILE_BYTES, RECORDS, NoRecords, PlaceAsking, check, txt_records
from rye.registry.ownership.git_messages import GitMessageError
from rye.registry.ownership.words import claim_words, impersonated
from rye.registry.protocol import notes
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.notes import Signer, VerifierKey
from rye.registry.protocol.statements import Description, Keyset, OwnerProof, Statement, namespace_key_name
from rye.registry.protocol.wire import IndexLine
from rye.registry.transport import guarded
from rye.registry.transport.guarded import GuardedAnswer
from rye.registry.trust.keysets import KeysetChain, Link, extend
from rye.registry.trust.namespace_proofs import NamespaceOwners, judge_owners
from rye.registry.trust.owners import Owners
from rye.registry.trust.trust_error import TrustError
from rye.signing.keys import PrivateKey
from rye.workspace.publishing import owner_statements, ownership
from tests.registry import simulated_registry
from tests.scenes.proof_places import NameServer, Website, website

ORIGIN = "registry.example"
T = datetime(2026, 1, 2, tzinfo=UTC)
OURS, THEIRS, NEXT = (simulated_registry.key(f"proofs {number}") for number in range(3))


def signed(statement: Statement, *keys: PrivateKey, namespace: str = "acme") -> str:
    name = namespace_key_name(ORIGIN, namespace)
    signers = [Signer(VerifierKey(name, key.public.raw), key.sign) for key in keys]
    return notes.sign(statement.text(), signers).encode()


def chain_of(namespace: str, *holders: PrivateKey) -> KeysetChain:
    """One keyset for each holder, one after the other."""
    chain = KeysetChain(ORIGIN, namespace)
    for number, key in enumerate(holders, 1):
        before = chain.links[-1].sha256 if chain.links else None
        keyset = Keyset(ORIGIN, namespace, number, before, T + timedelta(hours=number), 1, (key.public.raw,))
        note = notes.parse(signed(keyset, *{key, holders[max(number - 2, 0)]}, namespace=namespace))
        chain = extend(chain, number * 10, note, keyset, Owners(()))
    return chain


CHAIN = chain_of("acme", OURS)
LINK = CHAIN.links[0]


def proof_of(link: Link = LINK, **changes: Any) -> OwnerProof:
    keyset = link.keyset
    made = OwnerProof(
        origin=ORIGIN,
        namespace=keyset.namespace,
        proved=True,
        method="file",
        place="acme.example",
        keyset=keyset.number,
        fingerprint=link.sha256,
        time=T + timedelta(days=1),
    )
    return replace(made, **changes)


def judged(*lines: str, chain: KeysetChain = CHAIN) -> NamespaceOwners:
    entries = [IndexLine(100 + at, line) for at, line in enumerate(lines)]
    return judge_owners(chain, entries, T + timedelta(days=3))


def well_known(link: Link = LINK) -> bytes:
    return documents.well_known_file(link.keyset.namespace, link).encode()


@pytest.fixture
def site() -> Iterator[Website]:
    with website() as made:
        yield made


class TestStatements:
    def test_the_owners_own_proof_counts(self) -> None:
        owners = judged(signed(proof_of(), OURS))
        assert [stated.proof.place for stated in owners.current] == ["acme.example"]
        assert claim_words(owners).endswith("its owners proved that acme.example is theirs")

    @pytest.mark.parametrize(
        ("change", "by", "code"),
        [
            ({}, THEIRS, "statement-signer"),
            ({"origin": "other.example"}, OURS, "index-foreign"),
            ({"namespace": "other"}, OURS, "index-foreign"),
            ({"fingerprint": "0" * 64}, OURS, "statement-keyset"),
            ({"keyset": 2}, OURS, "statement-keyset"),
        ],
    )
    def test_a_proof_that_others_made_or_moved_is_refused(
        self, change: dict[str, Any], by: PrivateKey, code: str
    ) -> None:
        with pytest.raises(TrustError) as caught:
            judged(signed(proof_of(**change), by))
        assert caught.value.code == code

    def test_a_statement_of_another_type_among_them_is_refused(self) -> None:
        with pytest.raises(TrustError) as caught:
            judged(signed(CHAIN.links[0].keyset, OURS))
        assert caught.value.code == "index-foreign"

    def test_a_proof_of_former_keys_is_out_of_date(self) -> None:
        chain = chain_of("acme", OURS, NEXT)
        old = IndexLine(15, signed(proof_of(chain.links[0]), OURS))
        owners = judge_owners(chain, [old], T + timedelta(days=3))
        assert (len(owners.proofs), owners.current) == (1, ())
        assert "nothing is proved now" in claim_words(owners)
        with pytest.raises(TrustError):  # the former owner's key, after the change
            judge_owners(chain, [IndexLine(25, signed(proof_of(chain.links[0]), OURS))], T + timedelta(days=3))

    def test_a_repeated_proof_does_not_undo_its_withdrawal(self) -> None:
        first = signed(proof_of(), OURS)
        gone = signed(proof_of(proved=False, time=T + timedelta(days=2)), OURS)
        assert judged(first, gone, first).proofs == ()
        again = signed(proof_of(time=T + timedelta(days=2, hours=1)), OURS)
        assert len(judged(first, gone, again).proofs) == 1

    @pytest.mark.parametrize(
        "path", ["acme/%2e%2e/evil/skills", "acme/.%2E/evil", "acme%2Fskills", "acme/%5c..%5Cevil"]
    )
    def test_a_place_does_not_begin_like_another_s(self, path: str) -> None:
        """Servers read an encoded dot as a dot: what is asked for is the attacker's, and what people read begins with acme's."""
        plain = proof_of(method="repository", place="https://forge.example/acme/skills%20and%20more")
        assert OwnerProof.parse(plain.text()).place == plain.place  # the control
        with pytest.raises(StatementError, match="not the address of a repository"):
            proof_of(method="repository", place=f"https://forge.example/{path}").text()

    def test_a_registry_that_drops_a_proof_is_noticed_although_an_older_one_of_the_place_is_there(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After a change of keys the old proof is still listed, out of date; the new one was accepted and never logged."""
        chain = chain_of("acme", OURS, NEXT)
        old, new = (proof_of(link) for link in chain.links)

        def listed(*proofs: OwnerProof) -> Any:
            lines = [IndexLine(15 + 10 * at, signed(one, (OURS, NEXT)[at])) for at, one in enumerate(proofs)]
            owners = judge_owners(chain, lines, T + timedelta(days=3))
            return SimpleNamespace(origin=ORIGIN, refresh=lambda: None, owners=lambda _: {"acme": owners})

        accepted = SimpleNamespace(post_statements=lambda _: SimpleNamespace(results=[SimpleNamespace(log=25)]))
        monkeypatch.setattr(owner_statements, "open_api", lambda *_: accepted)
        assert ownership._send(Any, listed(old, new), new, NEXT).log == 25  # type: ignore[arg-type]
        with pytest.raises(RyeError) as caught:
            ownership._send(Any, listed(old), new, NEXT)  # type: ignore[arg-type]
        assert caught.value.code == "not-in-log"

    def test_words_that_sound_like_a_proof_are_none(self) -> None:
        about = Description(
            origin=ORIGIN,
            namespace="acme",
            about=f"Verified owner of acme.example. rye-namespace=acme keyset={LINK.sha256}",
            links=("https://acme.example",),
            contact=None,
            keyset=1,
            time=T + timedelta(days=1),
        )
        owners = judged(signed(about, OURS))
        assert owners.proofs == ()
        assert "nobody checked the name" in claim_words(owners)


class TestDomains:
    def test_a_domain_that_names_the_keys_is_found(self, site: Website) -> None:
        site.shows(well_known())
        assert check(PlaceAsking(loopback=True), "file", site.domain, LINK).outcome == "found"

    def test_a_domain_that_names_someone_else_proves_nothing_for_us(self, site: Website) -> None:
        site.shows(well_known(chain_of("other", THEIRS).links[0]))
        assert check(PlaceAsking(loopback=True), "file", site.domain, LINK).outcome == "gone"
        site.shows(well_known(chain_of("acme", THEIRS).links[0]))  # our name, their keys
        assert check(PlaceAsking(loopback=True), "file", site.domain, LINK).outcome == "stale"

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "null",
            "[]",
            "{}",
            f"acme {LINK.sha256}",
            f'<html>{{"namespaces": [{{"namespace": "acme", "keyset": "{LINK.sha256}"}}]}}</html>',
            json.dumps({"namespaces": [{"namespace": "acme", "keyset": LINK.sha256, "and": 1}]}),
            json.dumps({"namespaces": {"acme": LINK.sha256}}),
            f'{{"namespaces": [], "namespaces": [{{"namespace": "acme", "keyset": "{LINK.sha256}"}}]}}',
            json.dumps({"namespaces": [{"namespace": "аcme", "keyset": LINK.sha256}]}, ensure_ascii=False),
            "[" * 60_000,
        ],
    )
    def test_text_that_pretends_to_be_the_file_is_none(self, site: Website, text: str) -> None:
        site.shows(text)
        assert check(PlaceAsking(loopback=True), "file", site.domain, LINK).outcome == "gone"

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_a_redirect_proves_nothing_and_is_not_followed(self, site: Website, status: int) -> None:
        with website() as other:
            other.shows(well_known())
            site.answer = (status, {"Location": f"http://{other.domain}{documents.WELL_KNOWN}"}, well_known())
            checked = check(PlaceAsking(loopback=True), "file", site.domain, LINK)
            assert checked.outcome == "unreachable"
            assert "a redirect proves nothing" in checked.detail
            assert other.asked == []

    def test_an_answer_that_is_too_large_is_not_read(self, site: Website) -> None:
        site.shows(well_known() + b" " * (FILE_BYTES - len(well_known())))
        assert check(PlaceAsking(loopback=True), "file", site.domain, LINK).outcome == "found"
        site.shows(well_known() + b" " * (FILE_BYTES + 1 - len(well_known())))
        checked = check(PlaceAsking(loopback=True), "file", site.domain, LINK)
        assert checked.outcome == "unreachable"
        assert "more than is read" in checked.detail

    def test_an_answer_that_drips_is_cut_off(self) -> None:
        ours, theirs = socket.socketpair()

        def drip() -> None:
            theirs.recv(4096)
            theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
            with contextlib.suppress(OSError):
                for _ in range(1_000):
                    theirs.sendall(b" ")
                    time.sleep(0.05)

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        began = time.monotonic()

        def send(method: str, url: str, *rest: Any, **options: Any) -> GuardedAnswer:
            return guarded.request(
                method,
                url,
                *rest,
                **options,
                resolve=lambda *_: ["93.184.216.34"],
                connect=lambda *_: ours,
                seconds=0.3,
            )

        assert check(PlaceAsking(send=send), "file", "acme.example", LINK).outcome != "found"
        assert time.monotonic() - began < 20
        thread.join(5)

    @pytest.mark.parametrize(
        "private", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fd00::1"]
    )
    def test_a_domain_that_leads_into_a_private_network_is_sent_nothing(self, private: str) -> None:
        def never(*_: Any) -> socket.socket:
            raise AssertionError("connected")

        def send(*given: Any, **options: Any) -> GuardedAnswer:
            return guarded.request(*given, **options, resolve=lambda *_: ["93.184.216.34", private], connect=never)

        checked = check(PlaceAsking(send=send), "file", "acme.example", LINK)
        assert (checked.outcome, "not public" in checked.detail) == ("unreachable", True)

    def test_a_name_that_changes_its_address_is_asked_where_it_was_checked(self) -> None:
        looks: list[str] = []
        connected: list[str] = []

        def resolve(host: str, port: int) -> list[str]:
            looks.append(host)
            return ["93.184.216.34"] if len(looks) == 1 else ["127.0.0.1"]

        def connect(address: str, port: int, host: str) -> socket.socket:
            connected.append(address)
            raise OSError("nothing there")

        def send(*given: Any, **options: Any) -> GuardedAnswer:
            return guarded.request(*given, **options, resolve=resolve, connect=connect)

        check(PlaceAsking(send=send), "file", "acme.example", LINK)
        assert (looks, connected) == (["acme.example"], ["93.184.216.34"])

    def test_this_machine_is_asked_only_for_a_registry_on_this_machine(self, site: Website) -> None:
        site.shows(well_known())
        assert check(PlaceAsking(loopback=False), "file", site.domain, LINK).outcome == "unreachable"
        assert (
            check(PlaceAsking(loopback=False), "repository", f"http://{site.domain}/x", LINK).outcome == "unreachable"
        )
        assert site.asked == []


class TestRecords:
    @pytest.fixture
    def names(self) -> Iterator[NameServer]:
        server = NameServer()
        yield server
        server.close()

    def asking(self, names: NameServer) -> PlaceAsking:
        return PlaceAsking(records=lambda name: txt_records(name, names.resolver()))

    def test_a_record_among_others_is_found(self, names: NameServer) -> None:
        text = documents.record("acme", LINK).encode()
        names.texts = [[b"v=spf1 -all"], [text[:40], text[40:]]]
        assert check(self.asking(names), "dns", "acme.example", LINK).outcome == "found"
        assert names.asked[0] == "_rye.acme.example."

    @pytest.mark.parametrize(
        ("text", "outcome"),
        [
            (f"rye-namespace=other keyset={LINK.sha256}", "gone"),
            (f"rye-namespace=acme keyset={'0' * 64}", "stale"),
            (f"x rye-namespace=acme keyset={LINK.sha256}", "gone"),
            (f"rye-namespace=acme keyset={LINK.sha256.upper()}", "gone"),
            (f"rye-namespace=acme keyset={LINK.sha256} ", "gone"),
        ],
    )
    def test_a_record_that_says_something_else_is_none(self, names: NameServer, text: str, outcome: str) -> None:
        names.texts = [[text.encode()]]
        assert check(self.asking(names), "dns", "acme.example", LINK).outcome == outcome

    def test_a_flood_of_records_or_a_huge_one_is_not_read(self, names: NameServer) -> None:
        text = documents.record("acme", LINK).encode()
        others = [[b"%d" % number] for number in range(RECORDS - 1)]
        names.texts = [*others, [text]]
        assert check(self.asking(names), "dns", "acme.example", LINK).outcome == "found"
        names.texts = [*others, [b"one more"], [text]]
        assert check(self.asking(names), "dns", "acme.example", LINK).outcome == "unreachable"
        names.texts = [[b"x" * 255] * 200, [text]]
        assert check(self.asking(names), "dns", "acme.example", LINK).outcome == "unreachable"

    def test_a_server_that_fails_is_not_a_no(self, names: NameServer) -> None:
        names.code = 2  # SERVFAIL
        checked = check(self.asking(names), "dns", "acme.example", LINK)
        assert checked.outcome == "unreachable"
        names.code = 3  # NXDOMAIN: there is none
        assert check(self.asking(names), "dns", "acme.example", LINK).outcome == "gone"

    def test_an_error_while_reading_is_a_no(self) -> None:
        def records(name: str) -> list[str]:
            raise NoRecords("broken")

        assert check(PlaceAsking(records=records), "dns", "acme.example", LINK).outcome == "unreachable"


class TestRepositories:
    URL = "https://git.example/acme/skills"

    def file(self, *keys: PrivateKey, link: Link = LINK, url: str = URL) -> bytes:
        return signed(documents.repository_file(link, url), *keys).encode()

    def judged(self, data: bytes) -> str:
        return documents.judge_repository_file(data, "acme", self.URL, LINK).outcome

    def test_the_signed_file_is_found(self) -> None:
        assert self.judged(self.file(OURS)) == "found"

    def test_a_copy_a_forgery_and_another_namespace_are_not(self) -> None:
        assert self.judged(self.file(OURS, url="https://git.example/evil/skills")) == "gone"
        assert self.judged(self.file(THEIRS)) == "gone"
        assert self.judged(documents.repository_file(LINK, self.URL).text().encode()) == "gone"
        assert self.judged(self.file(OURS, link=chain_of("acme", THEIRS).links[0])) == "stale"
        assert self.judged(self.file(OURS).replace(b"acme/skills", b"acme/Skills")) == "gone"

    @staticmethod
    def pack(*objects: bytes) -> bytes:
        data = b"PACK\0\0\0\2" + len(objects).to_bytes(4, "big") + b"".join(objects) + bytes(20)
        parts = [data[at : at + 60_000] for at in range(0, len(data), 60_000)]
        return (
            b"000dpackfile\n" + b"".join(f"{len(part) + 5:04x}".encode() + b"\x01" + part for part in parts) + b"0000"
        )

    @staticmethod
    def packed(kind: int, size: int, data: bytes) -> bytes:
        header, byte, size = bytearray(), kind << 4 | size & 15, size >> 4
        while size:
            header.append(byte | 0x80)
            byte, size = size & 0x7F, size >> 7
        return bytes([*header, byte]) + zlib.compress(data)

    def test_a_pack_with_honest_sizes_is_read(self) -> None:
        (found,) = git_messages.read_pack(self.pack(self.packed(3, 3, b"abc"))).values()
        assert found == (b"blob", b"abc")

    @pytest.mark.parametrize(
        "objects",
        [
            [(3, 3, b"x" * 5_000_000)],  # a bomb behind a small size
            [(3, 5_000_000, b"x" * 5_000_000)],
            [(3, 4, b"abc")],
            [(5, 3, b"abc")],
            [(6, 3, b"abc")],
        ],
    )
    def test_a_pack_that_lies_is_refused_before_it_is_unpacked(self, objects: list[tuple[int, int, bytes]]) -> None:
        with pytest.raises(GitMessageError):
            git_messages.read_pack(self.pack(*(self.packed(*each) for each in objects)))

    def test_a_pack_of_too_many_objects_or_bytes_is_refused(self) -> None:
        with pytest.raises(GitMessageError, match="objects"):
            git_messages.read_pack(b"000dpackfile\n0011\x01PACK\0\0\0\2\xff\xff\xff\xff" + b"0019\x01" + bytes(20))
        big = self.packed(3, 4_000_000, bytes(4_000_000))
        with pytest.raises(GitMessageError, match="unpacks to more"):
            git_messages.read_pack(self.pack(*[big] * 17))

    def test_an_object_cannot_be_exchanged(self) -> None:
        objects = git_messages.read_pack(self.pack(self.packed(3, 3, b"abc")))
        with pytest.raises(GitMessageError):
            git_messages.blob(objects, "0" * 40)


class TestNames:
    @pytest.mark.parametrize("name", ["anthropics", "openai", "0penai", "open-ai", "anthrop1cs"])
    def test_a_young_name_like_a_well_known_one_says_so(self, name: str) -> None:
        owners = judge_owners(chain_of(name, OURS), [], T + timedelta(days=3))
        assert impersonated(owners, T + timedelta(days=3)) is not None
        assert impersonated(owners, T + timedelta(days=40)) is None

    def test_only_the_organizations_own_domain_ends_it(self) -> None:
        chain = chain_of("anthropics", OURS)

        def proved(place: str, method: str = "file") -> NamespaceOwners:
            proof = proof_of(chain.links[0], place=place, method=method)
            return judge_owners(
                chain, [IndexLine(100, signed(proof, OURS, namespace="anthropics"))], T + timedelta(days=3)
            )

        at = T + timedelta(days=3)
        assert impersonated(proved("anthropic.com"), at) is None
        assert impersonated(proved("docs.anthropic.com", "dns"), at) is None
        for place in ("anthropic.com.evil.example", "evilanthropic.com", "xn--nthropic-2fg.com", "anthr0pic.com"):
            assert impersonated(proved(place), at) is not None
        assert impersonated(proved("https://anthropic.com/x", "repository"), at) is not None

    def test_other_names_say_nothing(self) -> None:
        owners = judge_owners(chain_of("acme", OURS), [], T + timedelta(days=3))
        assert impersonated(owners, T + timedelta(days=3)) is None


class TestOlderClients:
    """The rules that released clients have: a type that they do not know is refused wherever they read it (extending.md)."""

    def test_the_type_is_unknown_to_a_client_without_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from rye.registry.protocol import statements
        from rye.registry.protocol.lines import StatementError

        older = {title: kind for title, kind in statements._BY_TITLE.items() if kind not in (OwnerProof, Description)}
        monkeypatch.setattr(statements, "_BY_TITLE", older)
        with pytest.raises(StatementError) as caught:
            statements.parse(proof_of().text())
        assert caught.value.code == "statement-kind"


@pytest.mark.processes
def test_an_older_client_installs_from_a_registry_with_proofs_and_only_its_audit_stumbles(
    tmp_path: Path, registry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rye.registry.client import RegistryClient
    from rye.registry.protocol import statements

    owner = registry.owner("stated")
    owner.release("work/one")
    owner.ok("namespace", "describe", "stated", "--text", "Before")
    owner.release("work/two")
    older = {title: kind for title, kind in statements._BY_TITLE.items() if kind not in (OwnerProof, Description)}
    monkeypatch.setattr(statements, "_BY_TITLE", older)
    monkeypatch.setattr(
        RegistryClient, "owners", lambda self, names: {name: NamespaceOwners(name, None) for name in names}
    )
    user = registry.user()
    user.ok("add", "stated/work/one", "stated/work/two", "--yes")
    user.ok("audit")
    user.ok("ci")
    error = user.run("log", "verify", "--json")
    assert error.code == 1
    assert "entry-malformed" in error.stdout + error.stderr
    monkeypatch.undo()
    user.ok("log", "verify")
