"""The server as clients see it: a real process, real signatures, every refusal with its code."""

from __future__ import annotations

import base64
import hashlib
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from msgspec.structs import replace

from registry_server.embedded import start_embedded, stop_embedded
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.protocol import notes, wire
from rye.registry.protocol.name_map import MapEntry, Place, leaves, node_path
from rye.registry.protocol.notes import Signer, VerifierKey
from rye.registry.protocol.statements import AttachedFile, FileEntry, FormerSnapshot, Hook, Keyset, Relation, Snapshot
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.signing.keys import PrivateKey
from rye.signing.sign_item import sign
from tests.scenes.publisher import Client, Publisher, error_code, now
from tests.scenes.registry_process import ORIGIN, init, run, token
from tests.scenes.security_keys import SecurityKey

pytestmark = pytest.mark.processes


@dataclass
class Server:
    data: Path
    fingerprint: str
    client: Client
    acme: Publisher
    pid: int


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("registry") / "data"
    fingerprint = init(data)
    with (data / "registry.toml").open("a") as settings:
        settings.write("request_seconds = 2\nrequest_statements = 20\n")
    process, url = start_embedded(data)
    try:
        client = Client(url, token(data))
        acme = Publisher("acme")
        assert client.statements(acme.claim()).status_code == 200
        yield Server(data, fingerprint, client, acme, process.pid)
    finally:
        stop_embedded(process)
    assert run("verify", "--data", str(data), check=False).returncode == 0


class TestPublishing:
    def test_a_published_item_is_read_and_verified_by_the_client(self, server: Server, tmp_path: Path) -> None:
        answer = server.client.publish(server.acme, "workflows/first")
        assert answer.status_code == 200, answer.text
        document = wire.decode_json(answer.content, wire.StatementsAnswer)
        assert document.size == document.results[0].log + 2  # the entry, then the snapshot
        identity = Identity("directive", "acme/workflows/first")
        for address in (server.client.url, (server.data / "public").as_uri()):
            store, cache = StateStore(tmp_path / str(len(address))), Cache(tmp_path / f"cache{len(address)}")
            with RegistryClient.open(address, accept_root=server.fingerprint, store=store, cache=cache) as reader:
                (record,) = reader.releases([identity])[identity]
                (files,) = reader.fetch_items([record])
                reader.prove([record])
            assert record.version == "1.0.0"
            assert files.file == server.acme.file("workflows/first") or files.file.startswith(b"<!-- rye:signed:")

    def test_a_claim_and_releases_in_one_request_stand_or_fall_together(self, server: Server) -> None:
        rover = Publisher("rover")
        data = rover.file("tools/one")
        good = rover.note(rover.release("tools/one", data))
        bad = rover.note(rover.release("tools/two", data))
        server.client.blob(data).raise_for_status()
        refused = server.client.statements(rover.claim(), good, bad)
        assert error_code(refused) == "item-invalid"  # the file is named one
        assert "namespace:rover" not in _names(server)
        assert server.client.statements(rover.claim(), good).status_code == 200

    def test_the_same_bytes_again_are_a_duplicate_and_other_bytes_are_refused(self, server: Server) -> None:
        first = server.client.publish(server.acme, "workflows/again").json()["results"][0]
        data = server.acme.file("workflows/again")
        again = server.client.publish(server.acme, "workflows/again", text="Work")
        if again.status_code == 200:  # signed within the same second: the same bytes
            assert again.json()["results"][0] == {"log": first["log"], "duplicate": True}
        other = server.client.publish(server.acme, "workflows/again", text="Other work")
        assert error_code(other) == "version-exists"
        assert other.status_code == 409
        assert data

    def test_small_files_may_come_with_the_statements(self, server: Server) -> None:
        files = [server.acme.file("along/one"), server.acme.file("along/two")]
        found = [
            server.acme.note(server.acme.release(f"along/{n}", d)) for n, d in zip(("one", "two"), files, strict=True)
        ]
        answer = server.client.statements(*found, blobs=[base64.b64encode(data).decode() for data in files])
        assert answer.status_code == 200, answer.text
        for data in files:
            sha256 = hashlib.sha256(data).hexdigest()
            assert server.client.get("/" + wire.blob_path(sha256)).content == data

    def test_a_file_that_came_along_is_served_only_once_a_statement_names_it(self, server: Server) -> None:
        data = server.acme.file("along/missing")
        note = server.acme.note(server.acme.release("along/missing", data))
        other = base64.b64encode(data + b"x").decode()
        refused = server.client.statements(note, blobs=[other])
        assert refused.status_code == 422
        for kept in (data, data + b"x"):
            path = wire.blob_path(hashlib.sha256(kept).hexdigest())
            assert server.client.get("/" + path).status_code == 404
        assert server.client.statements(note, blobs=["no base64"]).status_code == 400

    def test_the_very_same_note_again_changes_nothing(self, server: Server) -> None:
        data = server.acme.file("workflows/replayed")
        note = server.acme.note(server.acme.release("workflows/replayed", data))
        server.client.blob(data).raise_for_status()
        first = server.client.statements(note).json()
        again = server.client.statements(note).json()
        assert again["results"] == [{"log": first["results"][0]["log"], "duplicate": True}]

    def test_an_old_yank_replayed_after_an_unyank_has_no_effect(self, server: Server) -> None:
        server.client.publish(server.acme, "workflows/yanked", text="Zebra counting").raise_for_status()
        yank = server.acme.yank("workflows/yanked")
        server.client.statements(yank).raise_for_status()
        assert server.client.get("/api/v1/search?q=zebra").json()["total"] == 0
        server.client.statements(server.acme.yank("workflows/yanked", yanked=False)).raise_for_status()
        assert server.client.statements(yank).json()["results"][0]["duplicate"] is True
        assert server.client.get("/api/v1/search?q=zebra").json()["total"] == 1

    def test_bytes_are_not_served_before_a_statement_refers_to_them(self, server: Server) -> None:
        data = server.acme.file("workflows/secretly")
        path = "/" + wire.blob_path(hashlib.sha256(data).hexdigest())
        assert server.client.blob(data).status_code == 201
        assert server.client.get(path).status_code == 404
        server.client.statements(server.acme.note(server.acme.release("workflows/secretly", data))).raise_for_status()
        assert server.client.get(path).content == data
        assert server.client.blob(data).status_code == 200

    def test_search_and_whoami_answer_what_the_client_expects(self, server: Server) -> None:
        server.client.publish(server.acme, "search/elephant", text="Count elephants").raise_for_status()
        found = wire.decode_json(server.client.get("/api/v1/search?q=elephant").content, wire.SearchAnswer)
        assert [(hit.id, hit.kind, hit.version) for hit in found.results] == [
            ("acme/search/elephant", "directive", "1.0.0")
        ]
        who = wire.decode_json(server.client.get("/api/v1/whoami").content, wire.WhoamiAnswer)
        assert who.name == "test"


class TestOtherKinds:
    TOOL = """#!/usr/bin/env python3
\"\"\"Count words.\"\"\"
__version__ = "1.2.0"
__category__ = "text"
__tool_description__ = "Count words"

print(len(input().split()))
"""
    SKILL = """---
name: counting
description: Count things in text.
metadata:
  version: 1.0.0
---
# Counting

Run the script.
"""

    def test_a_tool_is_read_in_its_own_language(self, server: Server) -> None:
        data = sign(self.TOOL, "tool", "count.py", server.acme.key, now()).encode()
        identity = Identity("tool", "acme/text/count")
        server.client.blob(data).raise_for_status()
        for suffix, code in ((".js", "item-signature"), (".py", "")):
            entry = FileEntry(suffix, len(data), hashlib.sha256(data).hexdigest())
            note = server.acme.note(
                server.acme.release("x/y", data, "1.2.0", identity=identity, file=entry, capabilities=())
            )
            answer = server.client.statements(note)
            assert (error_code(answer) if answer.status_code != 200 else "") == code

    def test_a_skill_is_published_with_its_files_unless_one_of_them_hides_something(self, server: Server) -> None:
        data = sign(self.SKILL, "skill", "SKILL.md", server.acme.key, now()).encode()
        secret = b"token: gh" + b"p_" + b"aB3" * 12
        for script, path, code in (
            (b"print(1)\n", "scripts/.env", "statement-malformed"),
            (b"print(1)\n", "scripts/server.key", "secret-found"),
            (secret, "scripts/count.py", "secret-found"),
            ("Read\u200b this".encode(), "notes.md", "content-refused"),
            (b"\xff\xfe\x00binary", "scripts/count.py", ""),
        ):
            server.client.blob(data).raise_for_status()
            server.client.blob(script).raise_for_status()
            release = server.acme.release(
                "counting",
                data,
                identity=Identity("skill", "acme/counting"),
                file=FileEntry("SKILL.md", len(data), hashlib.sha256(data).hexdigest()),
                capabilities=(),
            )
            line = f"file {release.file.write()}\n"
            entry = f"attached {path} {len(script)} {hashlib.sha256(script).hexdigest()} x\n"
            note = notes.sign(release.text().replace(line, line + entry), [server.acme.signer]).encode()
            answer = server.client.statements(note)
            assert (error_code(answer) if answer.status_code != 200 else "") == code, answer.text


class TestRefusals:
    """Each refusal says what and why, and leaves nothing behind."""

    def _release(self, server: Server, data: bytes, local_id: str = "bad/item", **changes: object) -> httpx.Response:
        assert server.client.blob(data).status_code in (200, 201)
        return server.client.statements(server.acme.note(server.acme.release(local_id, data, **changes)))  # type: ignore[arg-type]

    def test_a_file_that_is_not_signed(self, server: Server) -> None:
        answer = self._release(server, server.acme.file("bad/item", sign_it=False))
        assert error_code(answer) == "item-signature"
        assert "rye sign" in answer.json()["error"]["hint"]

    def test_a_file_signed_by_somebody_else(self, server: Server) -> None:
        assert error_code(self._release(server, Publisher("acme").file("bad/item"))) == "item-signature"

    def test_a_file_changed_after_it_was_signed(self, server: Server) -> None:
        data = server.acme.file("bad/item").replace(b"What came", b"What went")
        answer = self._release(server, data)
        assert error_code(answer) == "item-signature"
        assert "modified" in answer.json()["error"]["message"]

    def test_what_no_client_could_install_and_its_version_stays_free(self, server: Server) -> None:
        text = 'formula = "bot"\ntype = "workflow"\nversion = 1\ndescription = "Work"\n\n[[steps]]\nid = "a"\ntitle = "Do"\n'
        data = sign(text, "formula", "bot.formula.toml", server.acme.key, now()).encode()
        entry = FileEntry(".formula.toml", len(data), hashlib.sha256(data).hexdigest())
        size = wire.decode_head(server.client.get("/head").content).checkpoint
        nested = Identity("formula", "acme/team/bot")
        answer = self._release(server, data, identity=nested, file=entry, capabilities=())
        assert error_code(answer) == "item-misplaced"
        assert "directly below its namespace" in answer.json()["error"]["message"]
        assert wire.decode_head(server.client.get("/head").content).checkpoint == size
        flat = self._release(server, data, identity=Identity("formula", "acme/bot"), file=entry, capabilities=())
        assert flat.status_code == 200, flat.text

    def test_a_directive_that_breaks_a_rule(self, server: Server) -> None:
        answer = self._release(server, server.acme.file("bad/other_name"))
        assert error_code(answer) == "item-invalid"

    def test_hidden_characters_crlf_and_bom(self, server: Server) -> None:
        for data in (
            server.acme.file("bad/item", text="Wo\u200brk"),
            server.acme.file("bad/item").replace(b"\n", b"\r\n"),
            b"\xef\xbb\xbf" + server.acme.file("bad/item"),
            b"\xff" + server.acme.file("bad/item"),
        ):
            assert error_code(self._release(server, data)) == "content-refused"

    def test_a_file_over_the_limit(self, server: Server) -> None:
        answer = self._release(server, server.acme.file("bad/item") + b"x" * 300_000)
        assert error_code(answer) == "file-too-large"
        assert answer.status_code == 413

    def test_a_secret_is_refused_and_never_served(self, server: Server) -> None:
        data = server.acme.file("bad/item", text="Use gh" + "p_" + "aB3" * 12)
        answer = self._release(server, data)
        assert error_code(answer) == "secret-found"
        assert "aB3aB3" not in answer.text
        assert server.client.get("/" + wire.blob_path(hashlib.sha256(data).hexdigest())).status_code == 404

    def test_a_note_that_claims_other_capabilities_hooks_or_dependencies_than_the_file(self, server: Server) -> None:
        data = server.acme.file("bad/item")
        for changes in (
            {"capabilities": ()},
            {"capabilities": ("rye.execute.*", "rye.search.tool.*")},
            {"hooks": (Hook("tool", "acme/tools/run"),)},
            {"depends_on": (Relation("other", Identity("directive", "acme/bad/other")),)},
            {"version": "1.0.1"},
        ):
            assert error_code(self._release(server, data, **changes)) == "note-contradicts-item", changes

    def test_bytes_that_were_not_uploaded(self, server: Server) -> None:
        release = server.acme.release("bad/item", b"never uploaded")
        assert error_code(server.client.statements(server.acme.note(release))) == "blob-missing"

    def test_a_size_that_is_not_the_blobs(self, server: Server) -> None:
        data = server.acme.file("bad/item")
        entry = FileEntry(".md", len(data) - 1, hashlib.sha256(data).hexdigest())
        assert error_code(self._release(server, data, file=entry)) == "blob-mismatch"

    def test_a_taken_namespace(self, server: Server) -> None:
        answer = server.client.statements(Publisher("acme").claim())
        assert error_code(answer) == "namespace-taken"
        assert answer.status_code == 409

    def test_a_namespace_and_a_name_that_look_like_taken_ones(self, server: Server) -> None:
        assert error_code(server.client.statements(Publisher("a-c-m-e").claim())) == "name-look-alike"
        server.client.publish(server.acme, "looks/oil").raise_for_status()
        answer = server.client.publish(server.acme, "looks/o1l")
        assert error_code(answer) == "name-look-alike"

    def test_an_unclaimed_namespace(self, server: Server) -> None:
        assert error_code(server.client.publish(Publisher("nobody"), "a/b")) in (
            "item-signature",
            "namespace-unclaimed",
        )

    def test_a_statement_signed_by_a_stranger(self, server: Server) -> None:
        server.client.publish(server.acme, "bad/yanked").raise_for_status()
        assert error_code(server.client.statements(Publisher("acme").yank("bad/yanked"))) == "statement-signer"

    def test_a_keyset_that_takes_a_namespace_over(self, server: Server) -> None:
        chain = _keysets(server, "acme")
        thief = Publisher("acme")
        keyset = Keyset(ORIGIN, "acme", 2, chain[-1].sha256(), now(), 1, (thief.key.public.raw,))
        assert error_code(server.client.statements(thief.note(keyset))) == "keyset-takeover"

    def test_a_recovery_without_the_owners_or_too_soon(self, server: Server) -> None:
        last = _keysets(server, "acme")[-1]
        thief = Publisher("acme")
        for when, code in ((now(), "recovery-signatures"), (now() - timedelta(hours=73), "recovery-too-soon")):
            keyset = Keyset(
                ORIGIN, "acme", 2, last.sha256(), when, 1, (thief.key.public.raw,), recovery=when + timedelta(hours=72)
            )
            assert error_code(server.client.statements(thief.note(keyset))) == code

    def test_a_note_that_was_changed_or_is_malformed(self, server: Server) -> None:
        good = server.acme.yank("workflows/first", reason="Honest")
        for text, codes in (
            (good.replace("Honest", "Forged"), {"statement-signer"}),
            (good.replace("\n\n", "\n"), {"note-malformed"}),
            (good.replace("rye.yank/v1", "rye.yank/v2"), {"statement-kind"}),
            (good + good, {"note-malformed", "statement-malformed"}),
            ("", {"note-malformed"}),
            ("\n\n— x \n", {"note-malformed", "note-base64"}),
        ):
            assert error_code(server.client.statements(text)) in codes, text

    def test_what_only_the_registry_may_say(self, server: Server) -> None:
        snapshot = server.acme.note(Snapshot(ORIGIN, now(), 1, "0" * 64))
        former = server.acme.note(FormerSnapshot(ORIGIN, now(), 1, b"\0" * 32))
        root = server.client.get("/root/1").text
        for text in (snapshot, former, root):
            assert error_code(server.client.statements(text)) == "statement-not-accepted"

    def test_another_registrys_statement_and_one_from_the_future(self, server: Server) -> None:
        other = Publisher("acme", server.acme.key, origin="other.example.org")
        assert error_code(server.client.statements(other.yank("workflows/first"))) == "wrong-origin"
        data = server.acme.file("bad/item")
        assert error_code(self._release(server, data, time=now() + timedelta(hours=1))) == "time-ahead"

    def test_a_release_that_is_dated_back_to_look_old(self, server: Server) -> None:
        data = server.acme.file("bad/item")
        assert error_code(self._release(server, data, time=now() - timedelta(days=4))) == "time-behind"

    def test_a_yank_of_nothing(self, server: Server) -> None:
        assert error_code(server.client.statements(server.acme.yank("no/such"))) == "release-unknown"

    def test_attached_files_of_what_is_no_skill(self, server: Server) -> None:
        data = server.acme.file("bad/item")
        release = server.acme.release("bad/item", data)
        entry = AttachedFile("a.txt", 1, "0" * 64)
        lines = release.text().replace(
            f"file {release.file.write()}\n", f"file {release.file.write()}\nattached {entry.write()}\n"
        )
        note = notes.sign(lines, [server.acme.signer]).encode()
        assert error_code(server.client.statements(note)) == "statement-malformed"

    def test_nothing_of_what_was_refused_is_in_the_log(self, server: Server) -> None:
        names = _names(server)
        assert names
        assert not [name for name in names if "bad/item" in name or "no/such" in name]


class TestTokens:
    def test_a_missing_wrong_or_revoked_token(self, server: Server) -> None:
        revoked = token(server.data)
        run("token", "revoke", revoked.split("_")[1], "--data", str(server.data))
        for text in ("", "x", revoked, server.client.token[:-1] + "!", server.client.token + "A" * 300):
            for answer in (
                Client(server.client.url, text).blob(b"x"),
                Client(server.client.url, text).statements("x"),
                Client(server.client.url, text).get("/api/v1/whoami"),
            ):
                assert answer.status_code == 401
                assert error_code(answer) == "unauthorized"
                assert answer.headers["www-authenticate"] == "Bearer"

    def test_a_token_for_another_namespace(self, server: Server) -> None:
        bound = Client(server.client.url, token(server.data, "zebra"))
        answer = bound.statements(server.acme.yank("workflows/first", reason="By the wrong token"))
        assert answer.status_code == 403
        assert error_code(answer) == "wrong-namespace"
        assert bound.statements(Publisher("zebra").claim()).status_code == 200
        assert bound.get("/api/v1/whoami").json()["namespaces"] == ["zebra"]


class TestStaticFiles:
    def test_caching_types_and_validators(self, server: Server) -> None:
        head = server.client.get("/head")
        assert head.headers["cache-control"] == "public, max-age=0, must-revalidate"
        assert head.headers["content-type"] == "application/json"
        assert head.headers["x-content-type-options"] == "nosniff"
        root = server.client.get("/root/1")
        assert "immutable" in root.headers["cache-control"]
        assert root.headers["content-type"] == "text/plain; charset=utf-8"
        same = httpx.get(server.client.url + "/root/1", headers={"If-None-Match": root.headers["etag"]})
        assert (same.status_code, same.content) == (304, b"")
        assert httpx.head(server.client.url + "/root/1").headers["content-length"] == str(len(root.content))

    @pytest.mark.parametrize(
        "path",
        ["/../keys", "/..%2fkeys", "/%2e%2e/registry.db", "/public/head", "/head%00", "/root/9", "/keys/", "/uploads",
         "/blobs/sha256/aa/" + "b" * 64, "/tile/0/000.p/..", "/registry.toml", "/\u212a", "/" + "a" * 5000, "/%ff%fe"],
    )  # fmt: skip
    def test_nothing_but_the_protocols_paths(self, server: Server, path: str) -> None:
        status, body = _raw(server, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert status in (400, 404, 414), body
        assert b"private" not in body.lower()

    def test_errors_of_routing_are_documents_too(self, server: Server) -> None:
        assert error_code(server.client.get("/nothing")) == "not-found"
        assert error_code(httpx.delete(server.client.url + "/head")) == "method-not-allowed"
        assert error_code(httpx.get(server.client.url + "/api/v1/statements")) == "method-not-allowed"
        assert httpx.post(server.client.url + "/head").status_code == 405

    def test_health_and_metrics(self, server: Server) -> None:
        server.client.publish(server.acme, "metrics/counted").raise_for_status()
        assert server.client.get("/readyz").json()["status"] == "ok"
        text = server.client.get("/metrics").text
        assert "rye_log_size " in text
        assert 'rye_statements_total{type="rye.release"}' in text


class TestHostileRequests:
    def test_oversized_bodies_are_refused_whether_declared_or_not(self, server: Server) -> None:
        headers = {"Authorization": f"Bearer {server.client.token}"}
        url = server.client.url + "/api/v1/statements"
        declared = _raw(server, f"POST /api/v1/statements HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.client.token}\r\n"
                                "Content-Length: 99999999999999\r\n\r\n")  # fmt: skip
        assert declared[0] == 413
        streamed = httpx.post(url, content=(b"x" * 65536 for _ in range(100)), headers=headers, timeout=30)
        assert streamed.status_code == 413
        assert error_code(streamed) == "request-too-large"

    def test_a_dripping_sender_is_cut_off(self, server: Server) -> None:
        address = urlsplit(server.client.url)
        with socket.create_connection((address.hostname or "", address.port or 0), timeout=20) as connection:
            connection.sendall(
                f"POST /api/v1/statements HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.client.token}\r\n"
                "Content-Length: 1000\r\n\r\n{".encode()
            )
            answer = connection.recv(65536)
        assert b" 408 " in answer.split(b"\r\n", 1)[0]

    @pytest.mark.parametrize(
        "body",
        [b"", b"[]", b"{}", b'{"notes":[]}', b'{"notes":"x"}', b'{"notes":[1]}', b'{"notes":["x"],"more":1}', b"\xff",
         b'{"notes":["a"],"notes":["b"]}', b"[" * 100_000],
    )  # fmt: skip
    def test_a_body_that_is_no_request(self, server: Server, body: bytes) -> None:
        headers = {"Authorization": f"Bearer {server.client.token}"}
        answer = httpx.post(server.client.url + "/api/v1/statements", content=body, headers=headers)
        assert answer.status_code == 400
        assert error_code(answer) == "bad-request"

    def test_too_many_statements(self, server: Server) -> None:
        answer = server.client.statements(*["x"] * 21)
        assert error_code(answer) == "request-too-large"

    def test_a_blob_under_another_hash_or_a_name_that_is_none(self, server: Server) -> None:
        headers = {"Authorization": f"Bearer {server.client.token}"}
        wrong = httpx.post(f"{server.client.url}/api/v1/blobs/{'0' * 64}", content=b"x", headers=headers)
        assert error_code(wrong) == "blob-mismatch"
        for name in ("x", "..%2f..%2fkeys", "A" * 64):
            answer = httpx.post(f"{server.client.url}/api/v1/blobs/{name}", content=b"x", headers=headers)
            assert answer.status_code in (400, 404)
        assert not list(server.data.glob("**/x"))

    @pytest.mark.parametrize(
        "query",
        ["limit=0", "limit=101", "limit=x", "offset=-1", "kind=virus", "namespace=..", "q=" + "x" * 201],
    )
    def test_search_parameters_out_of_bounds(self, server: Server, query: str) -> None:
        assert error_code(server.client.get(f"/api/v1/search?{query}")) == "bad-request"

    def test_the_server_still_stands(self, server: Server) -> None:
        assert server.client.get("/readyz").status_code == 200


def test_keys_are_added_and_revoked_and_the_old_one_signs_no_more(server: Server) -> None:
    moon = Publisher("moon")
    server.client.statements(moon.claim()).raise_for_status()
    server.client.publish(moon, "a/one").raise_for_status()
    first = _keysets(server, "moon")[-1]
    fresh = Publisher("moon", PrivateKey.generate(), keyset=2)
    second = replace(first, number=2, previous=first.sha256(), time=now(), keys=(fresh.key.public.raw,))
    server.client.statements(moon.note(second, fresh.signer)).raise_for_status()
    server.client.publish(fresh, "a/two").raise_for_status()
    assert error_code(server.client.publish(moon, "a/three")) in ("item-signature", "statement-keyset")


def test_a_keyset_that_demands_hardware_stops_an_ordinary_key_in_its_own_request(server: Server) -> None:
    """A file is judged before the request is logged, under the keyset before as well; it counts only under the new one."""
    plain, stick = Publisher("vault"), SecurityKey(PrivateKey.generate())
    server.client.statements(plain.claim()).raise_for_status()
    first = _keysets(server, "vault")[-1]
    keys = (plain.key.public.raw, stick.public.raw)
    second = replace(first, number=2, previous=first.sha256(), time=now(), keys=keys, require="hardware")
    by_stick = Signer(VerifierKey(plain.signer.verifier.name, stick.public.raw), stick.sign)
    data = plain.file("a/one")
    server.client.blob(data).raise_for_status()
    for number, signer, code in (
        (1, plain.signer, "statement-keyset"),
        (2, plain.signer, "statement-signer"),
        (2, by_stick, "item-signature"),
    ):
        note = notes.sign(plain.release("a/one", data, keyset=number).text(), [signer]).encode()
        assert error_code(server.client.statements(plain.note(second, by_stick), note)) == code
    plain_first = plain.note(plain.release("a/one", data))
    server.client.statements(plain_first, plain.note(second, by_stick)).raise_for_status()


def _names(server: Server) -> dict[str, MapEntry]:
    """All rows of the name map that the server shows."""

    def read(places: Sequence[Place]) -> list[bytes]:
        return [server.client.get(f"/{node_path(place.sha256)}").content for place in places]

    root = wire.decode_head(server.client.get("/head").content).map
    return {name: entry for leaf in leaves(root, read) for name, entry in leaf.entries.items()}


def _keysets(server: Server, namespace: str) -> list[Keyset]:
    entry = _names(server)[wire.namespace_name(namespace)]
    lines = wire.decode_index(server.client.get(f"/index/{entry.sha256}").content)
    return [Keyset.parse(notes.parse(line.note).text) for line in lines]


def _raw(server: Server, request: str) -> tuple[int, bytes]:
    address = urlsplit(server.client.url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=10) as connection:
        connection.sendall(request.encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            part = connection.recv(65536)
            if not part:
                break
            answer += part
    return (int(answer.split(b" ", 2)[1]) if answer else 400), answer
