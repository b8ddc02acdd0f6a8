"""Registries that are not public (design/server.md 4, Private reading): who gets an answer, and what caches may do with it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry_server.accounts import members, tokens
from registry_server.accounts.times import now_text
from registry_server.api.private_reading import is_open
from registry_server.settings import load
from registry_server.storage import database
from rye.errors import RyeError
from rye.registry.protocol.wire import blob_path
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import init

ACME, OTHER = Publisher("acme"), Publisher("other")


def made(data: Path, mode: str) -> LocalRegistry:
    local = LocalRegistry(data, f'read = "{mode}"\n')
    for publisher in (ACME, OTHER):
        assert local.statements(local.token(), publisher.claim()).status_code == 200
        assert local.publish(publisher, "a/item", local.token()).status_code == 200
    return local


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    local = made(tmp_path_factory.mktemp("club") / "data", "members")
    yield local
    local.close()


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    local = made(tmp_path_factory.mktemp("split") / "data", "namespaces")
    yield local
    local.close()


def file_of(local: LocalRegistry, publisher: Publisher) -> str:
    """The blob path of a publisher's item."""
    for path in (local.data / "public" / "blobs").rglob("*"):
        if path.is_file() and b"<!-- rye:signed" in path.read_bytes()[:40]:
            key = hashlib.sha256(publisher.key.public.pem.encode()).hexdigest()[:16]
            if key.encode() in path.read_bytes():
                return "/" + blob_path(path.name)
    raise AssertionError("no blob")


class TestMembers:
    @pytest.mark.parametrize(
        "path",
        ["/head", "/checkpoint", "/root/1", "/tile/0/000.p/1", "/metrics", "/openapi.json", "/", "/nothing", "/-/log"],
    )
    def test_nothing_but_a_few_paths_is_answered_without_a_token(self, club: LocalRegistry, path: str) -> None:
        for method in ("GET", "HEAD", "OPTIONS", "POST"):
            answer = club.ask(method, path)
            assert answer.status_code == 401, (method, path)
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.headers["cache-control"] == "private, no-store"
        assert error_code(club.get(path)) == "unauthorized"

    def test_several_files_at_once_are_as_closed_as_one(self, club: LocalRegistry) -> None:
        names = sorted(path.name for path in (club.data / "public" / "map").iterdir())[:2]
        path = f"/map/{'-'.join(names)}"
        assert club.get(path).status_code == 401
        answer = club.get(path, club.token(scopes=["read"]))
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "private, no-store")

    def test_what_says_how_to_reach_it_stays_open(self, club: LocalRegistry) -> None:
        assert club.get("/config.json").json()["origin"] == "registry.example.org"
        assert [is_open(path) for path in ("/config.json", "/livez", "/readyz", "/-/account", "/-/account/link/x")] == [
            True
        ] * 5

    @pytest.mark.parametrize("path", ["/-/accounts", "/apiary", "/config.json/", "/livez2", "//config.json", "/-/"])
    def test_what_only_looks_like_an_open_path_is_closed(self, path: str) -> None:
        assert not is_open(path)

    def test_a_member_reads_and_no_shared_cache_keeps_it(self, club: LocalRegistry) -> None:
        token = club.token(scopes=["read"])
        for path in ("/head", file_of(club, ACME), "/api/v1/search?q=item", "/api/v1/similar?name=namespace:acne"):
            answer = club.get(path, token)
            assert answer.status_code == 200, path
            assert answer.headers["cache-control"].startswith("private")
            assert "access-control-allow-origin" not in answer.headers
        assert club.get("/head", token).headers["vary"].startswith("Authorization, Cookie")

    def test_no_other_site_reads_any_answer(self, club: LocalRegistry) -> None:
        """Not only those for files: the API's document was for every site, and search for all of one domain."""
        token = club.token(scopes=["read"])
        paths = (
            "/openapi.json",
            "/metrics",
            "/api/v1/search?q=item",
            "/api/v1/nothing",
            "/root/99",
            "/nothing",
            "/-/items",
        )
        for path in (*paths, "/readyz", "/config.json", "/osv/all.zip", file_of(club, ACME)):
            headers = club.get(path, token).headers
            assert not [name for name in headers if name.startswith("access-control-")], path
            assert headers["cross-origin-resource-policy"] == "same-origin", path
            assert {"Authorization", "Cookie"} <= set(headers["vary"].split(", ")), path
            assert headers["cache-control"].split(", ")[0] == "private", path

    def test_a_token_that_may_not_read_is_told_so(self, club: LocalRegistry) -> None:
        for path in ("/head", "/api/v1/search?q=item", "/api/v1/similar?name=namespace:acne"):
            answer = club.get(path, club.token(scopes=["publish"]))
            assert (answer.status_code, error_code(answer)) == (403, "insufficient-scope")

    @pytest.mark.parametrize("path", ["/api/v1/search?q=item", "/api/v1/similar?name=namespace:acne"])
    def test_search_needs_a_token(self, club: LocalRegistry, path: str) -> None:
        answer = club.get(path)
        assert (answer.status_code, error_code(answer)) == (401, "unauthorized")

    def test_an_expired_or_revoked_token_reads_nothing(self, club: LocalRegistry) -> None:
        revoked = club.token()
        with database.change(club.service.engine) as connection:
            tokens.revoke(connection, revoked, now_text())
        for token in (club.token(seconds=-1), revoked, "x"):
            assert club.get("/head", token).status_code == 401

    def test_someone_who_is_signed_in_reads_with_their_session(self, club: LocalRegistry) -> None:
        member = club.member("alice")
        with database.change(club.service.engine) as connection:
            secret = members.open_session(connection, member, now_text())
        assert club.get("/head", headers={"Cookie": f"rye_session={secret}"}).status_code == 200
        assert club.get("/head", headers={"Cookie": f"x=1; rye_session={secret}"}).status_code == 200
        assert club.get("/head", headers={"Cookie": f"rye_session={'A' * 43}"}).status_code == 401
        with database.change(club.service.engine) as connection:
            members.disable(connection, member, now_text())
        assert club.get("/head", headers={"Cookie": f"rye_session={secret}"}).status_code == 401


class TestNamespaces:
    def test_bytes_are_for_who_may_read_their_namespace(self, split: LocalRegistry) -> None:
        acme, other = file_of(split, ACME), file_of(split, OTHER)
        bound = split.token("acme", scopes=["read"])
        reader = split.token(account=split.member("reader", other="reader"), scopes=["read"])
        free = split.token(scopes=["read"])
        table = [
            (token, path, split.get(path, token).status_code)
            for token in (bound, reader, free)
            for path in (acme, other)
        ]
        assert [status for _, _, status in table] == [200, 404, 404, 200, 200, 200]

    def test_a_refused_blob_looks_like_a_missing_one(self, split: LocalRegistry) -> None:
        token = split.token("acme", scopes=["read"])
        refused, missing = (split.get(path, token) for path in (file_of(split, OTHER), "/" + blob_path("ab" * 32)))
        assert refused.status_code == missing.status_code == 404
        assert refused.headers.pop("X-Request-Id") != missing.headers.pop("X-Request-Id")
        assert refused.headers == missing.headers
        one, two = (answer.json()["error"] for answer in (refused, missing))
        assert {**one, "message": ""} == {**two, "message": ""}

    def test_head_log_and_map_are_the_same_for_all_members(self, split: LocalRegistry) -> None:
        seen = [split.get("/head", split.token(name, scopes=["read"])).content for name in ("acme", "other")]
        assert seen[0] == seen[1]

    def test_search_shows_only_what_the_reader_may_have(self, split: LocalRegistry) -> None:
        def found(token: str, words: str = "q=item") -> list[str]:
            return [row["id"] for row in split.get(f"/api/v1/search?{words}", token).json()["results"]]

        bound = split.token("acme", scopes=["read"])
        assert found(bound) == ["acme/a/item"]
        assert found(bound, "q=item&namespace=other") == []
        assert found(split.token(account=split.member("newcomer"), scopes=["read"])) == []
        assert sorted(found(split.token())) == ["acme/a/item", "other/a/item"]

    def test_what_is_published_later_is_known_at_once(self, split: LocalRegistry) -> None:
        file_before = {path for path in (split.data / "public" / "blobs").rglob("*") if path.is_file()}
        assert split.publish(ACME, "a/later", split.token()).status_code == 200
        (new,) = {path for path in (split.data / "public" / "blobs").rglob("*") if path.is_file()} - file_before
        path = "/" + blob_path(new.name)
        assert split.get(path, split.token("acme", scopes=["read"])).status_code == 200
        assert split.get(path, split.token("other", scopes=["read"])).status_code == 404


def test_any_other_word_is_refused(tmp_path: Path) -> None:
    init(tmp_path / "data")
    with (tmp_path / "data" / "registry.toml").open("a") as file:
        file.write('read = "private"\n')
    with pytest.raises(RyeError, match=r"read in .* is 'private'"):
        load(tmp_path / "data", {}, {})


def test_no_release_hands_out_bytes_that_its_publisher_may_not_read(split: LocalRegistry) -> None:
    """All members see names and hashes, so naming someone else's blob in one's own release must not open it."""
    examination = split.service.staging._examination
    sha256 = file_of(split, ACME).rpartition("/")[2]
    for namespaces, is_found in ((("other",), False), (("acme",), True), ((), True)):
        with database.reader(split.service.engine) as connection:
            account = tokens.check(connection, split.token(*namespaces))
        assert account is not None
        assert (examination._readable_blob(account, {}, sha256) is not None) is is_found
