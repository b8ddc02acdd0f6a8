"""An identity provider of others (npm: oidc-provider) signs people in, and its groups are teams here."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from registry_server.accounts import audit_events, members, roles
from registry_server.storage import database
from tests.outside.installing import ISSUER, node
from tests.scenes.local_registry import ADDRESS, LocalRegistry
from tests.scenes.registry_process import init, run

pytestmark = [pytest.mark.outside, pytest.mark.processes]
CALLBACK = f"{ADDRESS}/-/account/callback"
SECRET = "sesame-open-sesame-open-sesame-open"


class Directory:
    """The issuer's people, with the claims that it adds for each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.people: dict[str, dict[str, Any]] = {}
        self.issuer = ""

    def put(self, name: str, **claims: Any) -> None:
        self.people[name] = claims
        self.path.write_text(json.dumps(self.people), "utf-8")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Directory]:
    folder = ISSUER.where().parent
    made = Directory(tmp_path_factory.mktemp("people") / "people.json")
    words = [str(node()), "issuer.mjs", str(made.path), CALLBACK]
    environment = {"PATH": os.environ["PATH"], "NODE_NO_WARNINGS": "1"}
    with subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        made.issuer = process.stdout.readline().strip()
        assert made.issuer.startswith("http://127.0.0.1:"), made.issuer
        yield made
        process.kill()


@pytest.fixture(scope="module")
def club(directory: Directory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    data = tmp_path_factory.mktemp("club") / "data"
    init(data)
    (data / "oidc.secret").touch(0o600)
    (data / "oidc.secret").write_text(SECRET)
    settings = (
        f'oidc_issuer = "{directory.issuer}"\noidc_client_id = "rye"\noidc_client_secret_file = "oidc.secret"\n'
        'oidc_scope = "openid profile groups"\nsign_in_tries = 10000\n'
    )
    with LocalRegistry(data, settings, make=False) as made:
        run("team", "create", "ops", "--data", str(data))
        run("role", "add", "acme", "--team", "ops", "--role", "publisher", "--data", str(data))
        run("team", "map", "/platform/on call", "ops", "--data", str(data))
        yield made


def sign_in(club: LocalRegistry, name: str) -> httpx.Response:
    """Sign in as a browser does, through the issuer's own pages. Return the registry's answer."""
    club.client.cookies.clear()
    begun = club.get("/-/account/login")
    cookie = begun.headers["set-cookie"].partition(";")[0]
    address = begun.headers["location"]
    with httpx.Client() as browser:
        for _ in range(12):
            if address.startswith(CALLBACK):
                parts = urlsplit(address)
                club.client.cookies.clear()
                return club.get(f"{parts.path}?{parts.query}", headers={"Cookie": cookie})
            page = browser.get(address)
            if page.status_code == 200:  # its form: who one is, or whether this registry may know
                action = re.search(r'<form[^>]* action="([^"]+)"', page.text)
                prompt = re.search(r'name="prompt" value="(\w+)"', page.text)
                assert action is not None
                assert prompt is not None
                fields = {"prompt": prompt[1], **({"login": name, "password": "x"} if prompt[1] == "login" else {})}
                page = browser.post(urljoin(address, html.unescape(action[1])), data=fields)
            assert page.status_code in (302, 303), page.text
            address = urljoin(address, page.headers["location"])
    raise AssertionError("the issuer does not send the browser back")


def teams_of(club: LocalRegistry, name: str) -> list[str]:
    with database.reader(club.service.engine) as connection:
        return roles.teams_of(connection, members.named(connection, name).id)


def test_its_groups_come_and_go_with_each_sign_in(directory: Directory, club: LocalRegistry) -> None:
    for groups, teams in ((["/platform/on call", "all"], ["ops"]), (["all"], []), (["/platform/on call"], ["ops"])):
        directory.put("ada", groups=groups)
        assert sign_in(club, "ada").status_code == 303
        assert teams_of(club, "ada") == teams
    with database.reader(club.service.engine) as connection:
        actions = [event.action for event in audit_events.listing(connection)]
        (ada,) = members.listing(connection)
    assert (ada.issuer, ada.subject) == (directory.issuer, "ada")
    assert actions.count("account.groups") == 3


@pytest.mark.parametrize("claims", [{}, {"groups": "/platform/on call"}, {"groups": {"/platform/on call": 1}}])
def test_no_claim_and_one_that_is_no_list_give_nothing(
    directory: Directory, club: LocalRegistry, claims: dict[str, Any]
) -> None:
    directory.put("bo", groups=["/platform/on call"])
    sign_in(club, "bo")
    assert teams_of(club, "bo") == ["ops"]
    directory.put("bo", **claims)
    assert sign_in(club, "bo").status_code == 303
    assert teams_of(club, "bo") == []


def test_an_identity_token_with_ten_thousand_groups_is_refused_and_says_why(
    directory: Directory, club: LocalRegistry
) -> None:
    directory.put("cleo", groups=[f"group-{number}" for number in range(10_000)])
    answer = sign_in(club, "cleo")
    assert answer.status_code == 403
    assert "larger than" in html.unescape(answer.text)
    directory.put("cleo", groups=[f"g{number}" for number in range(1_000)] + ["/platform/on call"])
    assert sign_in(club, "cleo").status_code == 303
    assert teams_of(club, "cleo") == ["ops"]
