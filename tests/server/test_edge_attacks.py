"""Attacks on the server's outermost layer: headers, characters and paths that no program of ours sends. Each once worked."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry_server.accounts.rate_limits import RateLimit
from registry_server.api.failure_words import FailureWords
from rye.errors import RyeError
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import error_code
from tests.server.test_account_pages import link, proof, sign_in


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("edge") / "data") as made:
        made.service.sign_in_rate = made.service.form_rate = made.service.poll_rate = RateLimit(100_000)
        yield made


@pytest.fixture(scope="module")
def browser(local: LocalRegistry) -> dict[str, str]:
    return sign_in(local, "owner-of-acme", "--namespace", "acme", "--role", "owner")


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "http://]x[", "http://[::1]x:y"])
def test_an_origin_that_is_no_address_is_another_site_and_no_failure(
    local: LocalRegistry, origin: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Anyone could fill the log with tracebacks."""
    with caplog.at_level(logging.ERROR, "rye.registry"):
        for path in ("/-/account/logout", link(local, "of-a-malformed-origin")):
            assert local.post(path, headers={"Origin": origin}).status_code == 403
    assert not caplog.records


@pytest.mark.parametrize(
    "path",
    [
        "/-/items?licence=%00", "/-/search?q=pdf%00", "/api/v1/search?q=a%00b", "/-/log?namespace=%00", "/sitemap.xml?after=%00",
        "/-/account/stages/%00", "/-/account/stages/%00/reject", "/-/account/tokens/%00/revoke", "/-/account/link/%00",
        "/-/account/namespaces/acme/take?account=%00", "/-/account/namespaces/acme/take?team=a%00", "/nothing/%00",
    ],
)  # fmt: skip
def test_a_nul_character_in_an_address_is_the_fault_of_the_request(
    local: LocalRegistry, browser: dict[str, str], path: str
) -> None:
    """PostgreSQL refuses to compare it, so these were 503 `database-unavailable`, for anyone who asked."""
    is_path = "%00" in path.partition("?")[0]
    assert local.get(path, headers=browser).status_code == (404 if is_path else 400)


def test_a_nul_character_in_a_form_or_in_the_api_s_path_is_one_too(
    local: LocalRegistry, browser: dict[str, str]
) -> None:
    known = proof(local, browser)
    for path in ("/-/account/namespaces/acme/give", "/-/account/namespaces/acme/take", "/-/account/tokens"):
        for field in ("account", "team", "name"):
            sent = {"proof": known, field: "a\0b", "role": "reader", "scope": "read"}
            assert local.post(path, headers=browser, data=sent).status_code == 400, (path, field)
    answer = local.get("/api/v1/stages/%00", local.token())
    assert (answer.status_code, error_code(answer)) == (400, "bad-request")


STRANGER = {"X-Forwarded-For": "203.0.113.9"}


@pytest.mark.parametrize("mode", ["public", "members"])
def test_strangers_do_not_read_what_a_database_says_of_itself(
    mode: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """PostgreSQL's message names its host, database and user; a bucket's the key that it refused."""
    with LocalRegistry(tmp_path / "data", f'read = "{mode}"\n') as broken:
        token, own = f"rye_{'0' * 16}_{'A' * 43}", "unable to open database file"
        paths = (
            f"/-/account/link/{'A' * 43}",
            "/api/v1/whoami",
            "/-/items",
            "/osv/all.zip",
            "/apm/v1/packages/a/b/versions",
        )
        (broken.data / "registry.db").rename(broken.data / "gone.db")
        with caplog.at_level(logging.WARNING, "rye.registry"):
            for path in paths:
                for accept in ("application/json", "text/html"):
                    answer = broken.get(path, token, headers={**STRANGER, "Accept": accept})
                    assert answer.status_code == 503, path
                    assert "The database failed." in answer.text, path
                    assert own not in answer.text, path
                assert own in broken.get(path, token, headers={"Accept": "application/json"}).text, path
        assert len([record for record in caplog.records if own in record.getMessage()]) == 1
        (broken.data / "gone.db").rename(broken.data / "registry.db")


def test_a_bucket_s_words_are_the_operator_s_and_the_code_is_everybody_s() -> None:
    refused = RyeError(
        "store-credentials", "The bucket refused the registry's credentials: <Error>AKIA0</Error>", "Ask."
    )
    words = FailureWords("")
    scope = {"client": ("192.0.2.1", 1), "headers": []}
    told = words.told(refused, scope)
    assert (told.code, told.message) == ("store-credentials", "The bucket refused the registry's credentials.")
    assert words.told(refused, {"client": ("127.0.0.1", 1), "headers": []}) is refused
    other = RyeError("not-found", "There is nothing at /a: b.", None)
    assert words.told(other, scope) is other


def test_a_private_registry_s_warnings_are_for_its_members(tmp_path: Path) -> None:
    """They name other registries, and the namespaces that are served of them."""
    with LocalRegistry(tmp_path / "data", 'read = "members"\n') as club:
        club.service.readiness._others = lambda: ["The upstream http://10.0.0.5 is refused."]
        warnings = ["The upstream http://10.0.0.5 is refused."]
        token = club.token(scopes=["read"])
        assert club.get("/readyz").json()["warnings"] == warnings
        assert club.get("/readyz", token, headers=STRANGER).json()["warnings"] == warnings
        for headers in (STRANGER, {**STRANGER, "Authorization": f"Bearer {club.token(scopes=['publish'])}"}):
            answer = club.get("/readyz", headers=headers)
            assert (answer.status_code, answer.json()["status"]) == (200, "ok")
            assert "10.0.0.5" not in answer.text
