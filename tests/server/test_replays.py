"""A statement that is already logged changes nothing, whatever signature lines are added to it (DESIGN §5, admission rule 1)."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from registry_server.embedded import start_embedded, stop_embedded
from rye.registry.protocol import notes
from rye.registry.protocol.notes import NoteSignature, SignedNote
from rye.registry.protocol.statements import Keyset, Release, Yank, namespace_key_name
from rye.signing.keys import PrivateKey
from tests.scenes.effort import rest_thorough
from tests.scenes.publisher import Client, Publisher, error_code, now
from tests.scenes.registry_process import ORIGIN, init, run, token

pytestmark = pytest.mark.processes


@dataclass
class Server:
    data: Path
    client: Client
    acme: Publisher

    def size(self) -> int:
        return int(self.client.get("/checkpoint").text.split("\n")[1])

    def found(self, words: str) -> int:
        return int(self.client.get(f"/api/v1/search?q={words}").json()["total"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("registry") / "data"
    init(data)
    process, url = start_embedded(data)
    try:
        client, acme = Client(url, token(data)), Publisher("acme")
        client.statements(acme.claim()).raise_for_status()
        yield Server(data, client, acme)
    finally:
        stop_embedded(process)
    assert run("verify", "--data", str(data), check=False).returncode == 0


def with_line(
    note: str, name: str, key_id: bytes = b"\1\2\3\4", signature: bytes = b"x" * 64, alone: bool = False
) -> str:
    """The public note with a signature line that its author never wrote."""
    parsed = notes.parse(note)
    line = NoteSignature(name, key_id, signature)
    return SignedNote(parsed.text, (line,) if alone else (*parsed.signatures, line)).encode()


def test_a_public_yank_with_a_bogus_line_does_not_count_again(server: Server) -> None:
    """Otherwise anyone with a token, and without a key, could hide a release that was made available again."""
    server.client.publish(server.acme, "work/hidden", text="Quagga census").raise_for_status()
    yank = server.acme.yank("work/hidden")
    server.client.statements(yank).raise_for_status()
    server.client.statements(server.acme.yank("work/hidden", yanked=False)).raise_for_status()
    assert server.found("quagga") == 1
    before = server.size()
    mallory = PrivateKey.generate()
    name = namespace_key_name(ORIGIN, "acme")
    for bogus in (
        with_line(yank, name),
        with_line(yank, name, alone=True),
        with_line(yank, f"{ORIGIN}/root"),
        with_line(yank, "mallory.example.org", mallory.public.raw[:4], mallory.sign(notes.parse(yank).text.encode())),
    ):
        refused = server.client.statements(bogus)
        assert (refused.status_code, error_code(refused)) == (422, "unknown-signer")
    own = notes.parse(yank).signatures[0]
    forged = server.client.statements(with_line(yank, own.name, own.key_id))
    assert (forged.status_code, error_code(forged)) == (422, "note-signature-wrong")
    assert server.found("quagga") == 1
    assert server.size() == before


def test_a_new_statement_with_a_line_of_an_unknown_key_is_refused(server: Server) -> None:
    data = server.acme.file("work/fresh")
    server.client.blob(data).raise_for_status()
    release = server.acme.note(server.acme.release("work/fresh", data))
    before = server.size()
    refused = server.client.statements(with_line(release, "someone.example.org"))
    assert (refused.status_code, error_code(refused)) == (422, "unknown-signer")
    assert (
        error_code(server.client.statements(with_line(Publisher("zebra").claim(), "x.example.org"))) == "unknown-signer"
    )
    assert server.size() == before
    assert server.client.statements(release).status_code == 200


def test_a_second_good_signature_under_a_logged_text_is_a_duplicate(server: Server) -> None:
    """Both keys belong to the keyset; the log has the text under one of them."""
    one, two = Publisher("pair"), Publisher("pair")
    keyset = Keyset(ORIGIN, "pair", 1, None, now(), 1, (one.key.public.raw, two.key.public.raw))
    server.client.statements(one.note(keyset)).raise_for_status()
    data = one.file("a/item")
    server.client.blob(data).raise_for_status()
    release: Release = one.release("a/item", data)
    first = server.client.statements(one.note(release)).json()["results"][0]
    before = server.size()
    for note in (two.note(release), one.note(release, two.signer), two.note(release, one.signer)):
        assert server.client.statements(note).json()["results"] == [{"log": first["log"], "duplicate": True}]
    claimed = server.client.statements(two.note(keyset)).json()["results"][0]
    assert claimed["duplicate"] is True
    assert server.size() == before


def test_a_yank_replayed_by_another_key_of_the_namespace_stays_without_effect(server: Server) -> None:
    one, two = Publisher("duo"), Publisher("duo")
    keyset = Keyset(ORIGIN, "duo", 1, None, now(), 1, (one.key.public.raw, two.key.public.raw))
    server.client.statements(one.note(keyset)).raise_for_status()
    server.client.publish(one, "a/item", text="Okapi stripes").raise_for_status()
    yank = one.yank("a/item")
    server.client.statements(yank).raise_for_status()
    server.client.statements(one.yank("a/item", yanked=False)).raise_for_status()
    statement = Yank.parse(notes.parse(yank).text)
    assert server.client.statements(two.note(statement)).json()["results"][0]["duplicate"] is True
    assert server.found("okapi") == 1


def problems_of(data: Path) -> list[str]:
    """The problems that ``rye-registry verify`` finds."""
    done = run("verify", "--data", str(data), "--json", check=False)
    document = json.loads(done.stdout)
    assert document["ok"] == (done.returncode == 0) == (not document["problems"])
    problems: list[str] = document["problems"]
    return problems


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a registry with one ordinary and one yanked release."""
    data = tmp_path_factory.mktemp("original") / "data"
    init(data)
    process, url = start_embedded(data)
    try:
        client, acme = Client(url, token(data)), Publisher("acme")
        client.statements(acme.claim()).raise_for_status()
        client.publish(acme, "a/kept", text="Kept item").raise_for_status()
        client.publish(acme, "a/gone", text="Gone item").raise_for_status()
        client.statements(acme.yank("a/gone")).raise_for_status()
    finally:
        stop_embedded(process)
    assert problems_of(data) == []
    return data


class TestTables:
    """The documents that verify recomputes in addition to the files."""

    @pytest.fixture
    def data(self, original: Path, tmp_path: Path) -> Path:
        return Path(shutil.copytree(original, tmp_path / "data"))

    @pytest.mark.parametrize(
        ("change", "said", "mended"),
        rest_thorough(
            4,
            [
                ("UPDATE releases SET yanked = 1 WHERE name LIKE '%kept'", "releases has a wrong row", True),
                ("UPDATE releases SET yanked = 0 WHERE name LIKE '%gone'", "releases has a wrong row", True),
                ("DELETE FROM documents", "documents has no row", True),
                ("UPDATE documents SET description = 'Click here'", "documents has a wrong row", True),
                ("UPDATE releases SET content = 'x'", "releases has a wrong row", False),
                ("UPDATE names SET fold = name || 'x'", "names has a wrong row", False),
                ("UPDATE name_entries SET text_sha256 = x'00'", "name_entries has a wrong row", False),
                ("UPDATE keysets SET recovery = '2020-01-01T00:00:00Z'", "keysets has a wrong row", False),
                ("DELETE FROM map_nodes", "map_nodes has no row", True),
                ("UPDATE map_nodes SET data = x'00'", "map_nodes has a wrong row", True),
                ("DELETE FROM tree_edge", "tree_edge has no row", True),
            ],
        ),
    )
    def test_a_row_that_does_not_follow_from_the_log_is_found(
        self, data: Path, change: str, said: str, mended: bool
    ) -> None:
        with sqlite3.connect(data / "registry.db") as connection:
            connection.execute(change)
        connection.close()
        assert any(said in problem for problem in problems_of(data))
        run("rebuild", "--data", str(data))
        assert (problems_of(data) == []) is mended
