"""Attacks on the server's outermost layer: headers, characters and paths that no program of ours sends. Each once worked."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from registry_server.accounts.rate_limits import RateLimit
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
