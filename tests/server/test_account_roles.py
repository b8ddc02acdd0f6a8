"""Roles, teams and forms below /-/account: who may change what, and what every page and form must have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry_server.accounts import roles
from registry_server.accounts.rate_limits import RateLimit
from registry_server.api.account_pages import ACCOUNT_ROUTES
from registry_server.api.role_pages import ROLE_ROUTES
from registry_server.api.stage_pages import STAGE_PAGES
from registry_server.storage import database
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.registry_process import run
from tests.server.test_account_pages import proof, sign_in, tree

ROUTES: Any = (*ACCOUNT_ROUTES, *ROLE_ROUTES, *STAGE_PAGES)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("roles") / "data") as made:
        made.service.sign_in_rate = made.service.form_rate = RateLimit(100_000)
        operator(made, "team", "create", "crew")
        yield made


def operator(local: LocalRegistry, *words: str) -> str:
    return run(*words, "--data", str(local.data)).stdout


def held(local: LocalRegistry, namespace: str) -> dict[str, str]:
    """Return the roles by holder."""
    with database.reader(local.service.engine) as connection:
        return {one.account or f"team {one.team}": one.role for one in roles.listing(connection, namespace)}


def send(local: LocalRegistry, browser: dict[str, str], path: str, **fields: str) -> Any:
    return local.post(path, headers=browser, data={"proof": proof(local, browser), **fields})


class TestOwners:
    def test_an_owner_gives_and_takes_roles_in_their_namespace(self, local: LocalRegistry) -> None:
        owner = sign_in(local, "olga", "--namespace", "alpha", "--role", "owner")
        friend = local.member("friend")
        page = "/-/account/namespaces/alpha"
        assert send(local, owner, f"{page}/give", account=friend, role="publisher").status_code == 303
        assert send(local, owner, f"{page}/give", team="crew", role="reader").status_code == 303
        assert held(local, "alpha") == {"olga": "owner", "friend": "publisher", "team crew": "reader"}
        text = local.get(page, headers=owner).text
        assert friend in text
        assert "team crew" in text
        assert send(local, owner, f"{page}/take", account=friend).status_code == 303
        assert "friend" not in held(local, "alpha")
        events = json.loads(operator(local, "audit-events", "list", "--json"))["events"]
        assert [event["action"] for event in events[-3:]] == ["role.add", "role.add", "role.remove"]
        assert all(event["actor"].startswith("account:") for event in events[-3:])

    @pytest.mark.parametrize("role", ["publisher", "reader"])
    def test_nobody_else_makes_themselves_more(self, local: LocalRegistry, role: str) -> None:
        sign_in(local, "bea-owner", "--namespace", "beta", "--role", "owner")
        climber = sign_in(local, f"climber-{role}", "--namespace", "beta", "--role", role)
        before = held(local, "beta")
        for page in ("beta", "gamma", "nobody-has-this", "BAD", "..%2fbeta"):
            for verb, fields in (("give", {"role": "owner"}), ("take", {})):
                sent = {"account": f"climber-{role}", **fields}
                answer = send(local, climber, f"/-/account/namespaces/{page}/{verb}", **sent)
                assert answer.status_code == 404
            assert local.get(f"/-/account/namespaces/{page}", headers=climber).status_code == 404
        assert held(local, "beta") == before

    def test_what_is_not_one_s_own_looks_like_what_is_not_there(self, local: LocalRegistry) -> None:
        sign_in(local, "hidden-owner", "--namespace", "hidden", "--role", "owner")
        curious = sign_in(local, "curious")
        one, two = (local.get(f"/-/account/namespaces/{name}", headers=curious) for name in ("hidden", "missing"))
        assert one.text == two.text
        assert one.status_code == two.status_code == 404

    def test_an_owner_s_hand_ends_at_their_namespace(self, local: LocalRegistry) -> None:
        sign_in(local, "their-owner", "--namespace", "theirs", "--role", "owner")
        owner = sign_in(local, "own-owner", "--namespace", "own", "--role", "owner")
        assert (
            send(local, owner, "/-/account/namespaces/theirs/give", account="own-owner", role="owner").status_code
            == 404
        )
        assert "own-owner" not in held(local, "theirs")

    def test_somebody_always_owns_it(self, local: LocalRegistry) -> None:
        owner = sign_in(local, "last", "--namespace", "lonely", "--role", "owner")
        page = "/-/account/namespaces/lonely"
        assert send(local, owner, f"{page}/take", account="last").status_code == 409
        assert send(local, owner, f"{page}/give", account="last", role="reader", former="owner").status_code == 409
        assert send(local, owner, f"{page}/give", team="crew", role="owner").status_code == 303
        assert send(local, owner, f"{page}/take", account="last").status_code == 409  # that team has no members
        operator(local, "team", "add", "crew", "last")
        answer = send(local, owner, f"{page}/take", account="last")
        assert (answer.status_code, answer.headers["location"]) == (303, page)
        assert held(local, "lonely") == {"team crew": "owner"}

    def test_the_role_of_the_last_owner_is_not_offered_for_removal(self, local: LocalRegistry) -> None:
        owner = sign_in(local, "sole", "--namespace", "single", "--role", "owner")
        page, why = (
            "/-/account/namespaces/single",
            "without it, nobody would own single. Make someone else an owner first.",
        )

        def offered() -> dict[str, bool]:
            """Return whether each holder's removal is offered, and see that the others say why not."""
            found = {}
            for row in tree(local.get(page, headers=owner)).xpath("//tbody/tr"):
                who = row.xpath("string(td[1]/text()[1])")
                found[who] = bool(row.xpath(".//a[contains(@href, '/take?')]"))
                assert (why in row.text_content()) is not found[who]
            return found

        assert offered() == {"sole": False}
        ask = f"{page}/take?account=sole"
        assert (local.get(ask, headers=owner).status_code, local.get(ask, headers=owner).headers["location"]) == (
            303,
            page,
        )
        assert (
            send(local, owner, f"{page}/give", account="sole", role="reader").status_code == 409
        )  # without a question
        operator(local, "team", "create", "pair")
        send(local, owner, f"{page}/give", team="pair", role="owner")
        assert offered() == {"sole": False, "team pair": True}, "a team without members owns nothing"
        operator(local, "team", "add", "pair", "sole")
        assert offered() == {"sole": True, "team pair": True}
        send(local, owner, f"{page}/take", account="sole")
        assert offered() == {"team pair": False}

    def test_a_role_is_taken_after_a_question_that_changes_nothing(self, local: LocalRegistry) -> None:
        owner = sign_in(local, "asks", "--namespace", "asked", "--role", "owner")
        friend = local.member("<b>wide</b>" + "W" * 80)
        page = "/-/account/namespaces/asked"
        for who in ({"account": friend}, {"team": "crew"}):
            send(local, owner, f"{page}/give", role="publisher", **who)
        links = tree(local.get(page, headers=owner)).xpath("//a[contains(@href, '/take?')]/@href")
        assert len(links) == 2
        for link in links:
            before = held(local, "asked")
            asked = local.get(link, headers=owner)
            (form,) = (each for each in tree(asked).forms if each.action == f"{page}/take")
            assert form.method == "POST"
            assert "loses what the role publisher allows here" in asked.text
            assert "<b>wide" not in asked.text
            assert asked.headers["cache-control"] == "private, no-store"
            assert held(local, "asked") == before
            assert local.post(f"{page}/take", headers=owner, data=dict(form.fields)).status_code == 303
        assert held(local, "asked") == {"asks": "owner"}
        gone = local.get(links[0], headers=owner)
        assert (gone.status_code, gone.headers["location"]) == (303, page)
        stranger = sign_in(local, "asks-not")
        assert local.get(links[0], headers=stranger).status_code == 404
        assert "asks" not in local.get(links[0]).text

    def test_a_role_is_lowered_after_a_question_and_raised_without_one(self, local: LocalRegistry) -> None:
        owner = sign_in(local, "lifts", "--namespace", "lifted", "--role", "owner")
        friend = local.member("lifted-friend")
        page = "/-/account/namespaces/lifted/give"
        for role in ("reader", "publisher", "owner", "owner"):
            assert send(local, owner, page, account=friend, role=role).status_code == 303
        asked = send(local, owner, page, account=friend, role="reader")
        assert asked.status_code == 200
        assert "Make lifted-friend reader in place of owner?" in asked.text
        assert held(local, "lifted")["lifted-friend"] == "owner"
        (form,) = (each for each in tree(asked).forms if each.action == page)
        # Agreeing to it counts only for the role that was shown.
        send(local, owner, page, account=friend, role="publisher", former="owner")
        asked_again = local.post(page, headers=owner, data=dict(form.fields))
        assert "Make lifted-friend reader in place of publisher?" in asked_again.text
        assert held(local, "lifted")["lifted-friend"] == "publisher"
        (form,) = (each for each in tree(asked_again).forms if each.action == page)
        assert local.post(page, headers=owner, data=dict(form.fields)).status_code == 303
        assert held(local, "lifted")["lifted-friend"] == "reader"

    @pytest.mark.parametrize(
        "fields",
        [{}, {"account": "x", "team": "crew"}, {"account": "nobody-at-all"}, {"team": "none"}, {"account": "'; --"}],
    )
    def test_a_form_that_means_nobody_changes_nothing(self, local: LocalRegistry, fields: dict[str, str]) -> None:
        owner = sign_in(local, "olaf", "--namespace", "omega", "--role", "owner")
        answer = send(local, owner, "/-/account/namespaces/omega/give", role="reader", **fields)
        assert answer.status_code in (400, 404)
        answer = send(local, owner, "/-/account/namespaces/omega/give", role="emperor", account="olaf")
        assert answer.status_code == 422
        assert held(local, "omega") == {"olaf": "owner"}


def test_the_first_page_that_a_server_shows_names_the_registry(tmp_path: Path) -> None:
    fresh = LocalRegistry(tmp_path / "data")
    for path in ("/-/account", "/-/account/nothing"):
        assert 'class="name" href="/">registry.example.org<' in fresh.get(path, headers={"Accept": "text/html"}).text
    fresh.close()


class TestTeams:
    def test_one_sees_the_teams_that_one_is_in(self, local: LocalRegistry) -> None:
        member, other = sign_in(local, "in-team"), sign_in(local, "not-in-team")
        operator(local, "team", "create", "inner")
        operator(local, "team", "add", "inner", "in-team")
        assert "inner" in local.get("/-/account/teams", headers=member).text
        assert "inner" not in local.get("/-/account/teams", headers=other).text


PAGES = ("/-/account", "/-/account/tokens", "/-/account/teams", "/-/account/device", "/-/account/stages")


class TestEveryPage:
    @pytest.mark.parametrize("path", PAGES)
    def test_is_kept_nowhere_and_runs_nothing(self, local: LocalRegistry, path: str) -> None:
        browser = sign_in(local, "everywhere")
        for headers in ({}, browser):
            page = local.get(path, headers=headers)
            assert page.status_code == 200
            assert page.headers["cache-control"] == "private, no-store"
            assert page.headers["content-security-policy"].startswith(
                "default-src 'none'; style-src 'self'; img-src 'self'"
            )
            assert page.headers["x-frame-options"] == "DENY"
            assert "etag" not in page.headers
            assert len(page.content) < 50_000
            assert not re.search(r"<script|<style|javascript:|\son\w+=|style=", page.text)
            head = local.ask("HEAD", path, headers=headers)
            assert (head.content, head.headers["content-length"]) == (b"", str(len(page.content)))
        assert "everywhere" not in local.get(path).text

    def test_every_form_needs_a_session_its_proof_and_this_host(self, local: LocalRegistry) -> None:
        browser = sign_in(local, "sender", "--namespace", "sent", "--role", "owner")
        good = proof(local, browser)
        found = {path for handler in ROUTES if "POST" in handler.http_methods for path in handler.paths}
        assert len(found) >= 8
        for path in found - {"/-/account/link/{secret:str}"}:
            address = (
                path.replace("{token:str}", "0" * 16).replace("{namespace:str}", "sent").replace("{stage:str}", "0")
            )
            for headers, sent, status in (
                ({}, good, 401),
                (browser, "", 403),
                (browser, "0" * 64, 403),
                ({**browser, "Origin": "https://evil.example"}, good, 403),
                ({**browser, "Sec-Fetch-Site": "same-site"}, good, 403),
            ):
                assert local.post(address, headers=headers, data={"proof": sent}).status_code == status, (path, headers)
        assert "sender" in local.get("/-/account", headers=browser).text

    def test_no_page_publishes(self, local: LocalRegistry) -> None:
        """Approving needs a key, so there is no form for it."""
        for handler in ROUTES:
            assert not any("approv" in path or "publish" in path for path in handler.paths)
