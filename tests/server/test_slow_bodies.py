"""What was taken from somebody while the body of their request arrived is gone (docs/how-to/registry-access.md: "at once")."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from registry_server.accounts import members, roles, tokens
from registry_server.accounts.rate_limits import RateLimit
from registry_server.accounts.times import now_text
from registry_server.accounts.tokens import Account
from registry_server.api import requests
from registry_server.storage import database
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.server.test_account_pages import proof
from tests.server.test_pages_shop_front import skill

SLOW = requests._AT_ONCE_SECONDS * 1.5
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("slow") / "data") as made:
        made.service.sign_in_rate = made.service.form_rate = RateLimit(100_000)
        yield made


def slow(content: bytes, meanwhile: Callable[[], object]) -> AsyncIterator[bytes]:
    """A body in two parts; something happens between them."""

    async def parts() -> AsyncIterator[bytes]:
        yield content[:9]
        await asyncio.sleep(SLOW)
        meanwhile()
        yield content[9:]

    return parts()


def signed_in(local: LocalRegistry, account: str) -> dict[str, str]:
    with database.change(local.service.engine) as connection:
        return {"Cookie": f"rye_session={members.open_session(connection, account, now_text())}"}


class TestTokens:
    def revoked(self, local: LocalRegistry, token: str) -> Callable[[], object]:
        def revoke() -> None:
            with database.change(local.service.engine) as connection:
                tokens.revoke(connection, token, now_text())

        return revoke

    def send(self, local: LocalRegistry, path: str, token: str, document: object) -> httpx.Response:
        body = slow(json.dumps(document).encode(), self.revoked(local, token))
        answer: httpx.Response = local.post(path, token, content=body)
        return answer

    def test_one_that_is_revoked_publishes_stages_and_uploads_nothing(
        self, local: LocalRegistry, acme: Publisher
    ) -> None:
        data = acme.file("slow/item")
        release = acme.release("slow/item", data)
        assert local.blob(data, local.token()).status_code in (200, 201)
        size = local.get("/readyz").json()["size"]
        for path, document in (
            ("/api/v1/statements", {"notes": [acme.note(release)]}),
            ("/api/v1/stages", {"drafts": [release.text()]}),
            (f"/api/v1/blobs/{'ab' * 32}", "any bytes"),
        ):
            answer = self.send(local, path, local.token("acme"), document)
            assert (answer.status_code, error_code(answer)) == (401, "unauthorized"), path
        assert local.get("/readyz").json()["size"] == size

    def test_one_that_is_revoked_decides_about_no_stage(self, local: LocalRegistry, acme: Publisher) -> None:
        data = acme.file("slow/staged")
        release = acme.release("slow/staged", data)
        assert local.blob(data, local.token()).status_code in (200, 201)
        made = local.post("/api/v1/stages", local.token(), json={"drafts": [release.text()]}).json()["stages"][0]
        for word, document in (("approvals", {"note": acme.note(release)}), ("rejection", {"reason": "No"})):
            answer = self.send(local, f"/api/v1/stages/{made['id']}/{word}", local.token("acme"), document)
            assert answer.status_code == 401, word
        assert local.get(f"/api/v1/stages/{made['id']}", local.token()).json()["stage"]["state"] == "staged"

    def test_a_role_that_is_taken_allows_nothing_more(self, local: LocalRegistry, acme: Publisher) -> None:
        account = local.member("demoted", acme="publisher")
        data = acme.file("slow/demoted")
        assert local.blob(data, local.token()).status_code in (200, 201)

        def take() -> None:
            with database.change(local.service.engine) as connection:
                roles.take(connection, "acme", account=account)

        body = slow(json.dumps({"notes": [acme.note(acme.release("slow/demoted", data))]}).encode(), take)
        answer = local.post("/api/v1/statements", local.token(account=account), content=body)
        assert (answer.status_code, error_code(answer)) == (403, "wrong-namespace")

    @pytest.mark.parametrize("what", ["revoked", "demoted"])
    def test_one_that_is_revoked_while_its_statements_are_examined_publishes_nothing(
        self, local: LocalRegistry, acme: Publisher, monkeypatch: pytest.MonkeyPatch, what: str
    ) -> None:
        """The place of an owner proof may take seconds to answer, and its owner may be who was fired."""
        account = local.member(f"examined-{what}", acme="publisher")
        token = local.token(account=account)
        data = acme.file(f"slow/{what}")
        assert local.blob(data, token).status_code in (200, 201)
        examine = local.service.examiners.examine

        async def slowly(*words: Any, **more: Any) -> Any:
            found = await examine(*words, **more)
            await asyncio.sleep(1.1)
            if what == "revoked":
                self.revoked(local, token)()
            else:
                with database.change(local.service.engine) as connection:
                    roles.take(connection, "acme", account=account)
            return found

        size = local.get("/readyz").json()["size"]
        note = acme.note(acme.release(f"slow/{what}", data))
        with monkeypatch.context() as slow_place:
            slow_place.setattr(local.service.examiners, "examine", slowly)
            answer = local.statements(token, note)
        expected = (401, "unauthorized") if what == "revoked" else (503, "busy")
        assert (answer.status_code, error_code(answer)) == expected
        assert local.get("/readyz").json()["size"] == size
        if what == "demoted":
            again = local.statements(token, note)
            assert (again.status_code, error_code(again)) == (403, "wrong-namespace")

    def test_a_body_that_arrives_at_once_costs_no_second_look(
        self, local: LocalRegistry, acme: Publisher, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked: list[str] = []
        check = local.service.token_lookup.check

        def counted(token: str, now: str | None = None) -> Account | None:
            looked.append(token)
            return check(token, now)

        monkeypatch.setattr(local.service.token_lookup, "check", counted)
        assert local.statements(local.token("acme"), acme.yank("not/there")).status_code >= 400
        assert len(looked) == 1


class TestForms:
    @pytest.mark.parametrize(
        ("path", "form"),
        [
            ("/-/account/namespaces/acme/give", {"account": "accomplice", "role": "owner"}),
            ("/-/account/namespaces/acme/take", {"account": "accomplice"}),
            ("/-/account/tokens", {"name": "kept", "scope": "read"}),
            ("/-/account/device", {"decision": "approve"}),
        ],
    )
    def test_an_account_that_is_disabled_changes_nothing(
        self, local: LocalRegistry, path: str, form: dict[str, str]
    ) -> None:
        number = path.rpartition("/")[2]
        fired = local.member(f"fired-{number}", acme="owner")
        accomplice = local.member(f"accomplice-{number}", acme="reader")
        browser = signed_in(local, fired)
        sent = {**form, "proof": proof(local, browser)}
        if "account" in form:
            sent["account"] = accomplice
        if "decision" in form:
            sent["code"] = local.post("/api/v1/device/authorize", data={"name": "mine"}).json()["user_code"]

        def disable() -> None:
            with database.change(local.service.engine) as connection:
                members.disable(connection, fired, now_text())

        answer = local.post(path, headers={**browser, **FORM}, content=slow(urlencode(sent).encode(), disable))
        assert answer.status_code == 401
        with database.reader(local.service.engine) as connection:
            assert roles.of_account(connection, accomplice) == (("acme", "reader"),)
            assert tokens.listing(connection, fired) == []


def test_git_gets_nothing_for_a_token_that_is_revoked(tmp_path: Path) -> None:
    with LocalRegistry(tmp_path / "data", 'read = "members"\n') as club:
        skill(club, club.owner("acme"), name="hidden")
        headers = {"Content-Type": "application/x-git-upload-pack-request", "Git-Protocol": "version=2"}
        asked = b"0014command=ls-refs\n00010009peel\n0000"
        token = club.token(scopes=["read"])

        def revoke() -> None:
            with database.change(club.service.engine) as connection:
                tokens.revoke(connection, token, now_text())

        for meanwhile, status in ((lambda: None, 200), (revoke, 401)):
            body = slow(asked, meanwhile)
            assert (
                club.post("/git/acme.git/git-upload-pack", token, headers=headers, content=body).status_code == status
            )
