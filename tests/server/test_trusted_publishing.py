"""Trusted publishing (design/server.md 4): which identity tokens are exchanged for registry tokens, and which are refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey
from msgspec.structs import replace

from registry_server.accounts import publishers
from registry_server.accounts.issuers import Issuer, check_issuer
from registry_server.accounts.publishers import Identity, Publisher, identity_of, is_meant
from registry_server.accounts.times import after, now_text
from registry_server.storage import database
from rye.errors import RyeError
from tests.scenes.local_registry import ADDRESS, LocalRegistry
from tests.scenes.publisher import error_code
from tests.scenes.registry_process import run

ISSUER = "https://token.actions.githubusercontent.com"
EC = ECKey.generate_key("P-256", {"kid": "ec"})


@cache
def rsa(owner: str = "issuer") -> RSAKey:
    """The issuer's key, or a stranger's with the same name."""
    return RSAKey.generate_key(2048, {"kid": "rsa"})


class Issuers:
    """The known issuers, and how often they were queried."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.keys: list[Any] = [rsa(), EC]
        self.document: dict[str, Any] = {"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"}

    def fetch(self, address: str) -> bytes:
        self.asked.append(address)
        if address.endswith("/keys"):
            secret = {"kty": "oct", "kid": "hmac", "k": "c2VjcmV0"}
            return json.dumps({"keys": [*(key.as_dict(private=False) for key in self.keys), secret]}).encode()
        return json.dumps(self.document).encode()


def claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    found = {
        "iss": ISSUER,
        "aud": ADDRESS,
        "sub": "repo:acme/site:ref:refs/heads/main",
        "iat": now,
        "nbf": now,
        "exp": now + 300,
        "jti": hashlib.sha256(
            json.dumps(changes, default=str).encode() + str(time.monotonic_ns()).encode()
        ).hexdigest(),
        "repository": "acme/site",
        "workflow": "Release",
        "workflow_ref": "acme/site/.github/workflows/release.yml@refs/heads/main",
        "job_workflow_ref": "acme/site/.github/workflows/release.yml@refs/heads/main",
        **changes,
    }
    return {name: value for name, value in found.items() if value is not None}


def signed(key: Any = None, algorithm: str = "RS256", **changes: Any) -> str:
    key = key or rsa()
    return jwt.encode({"alg": algorithm, "kid": key.kid}, claims(**changes), key, algorithms=[algorithm])


@pytest.fixture(scope="module")
def issuers() -> Issuers:
    return Issuers()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, issuers: Issuers) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("trusted") / "data") as made:
        made.service.issuers._fetch = issuers.fetch
        with database.change(made.service.engine) as connection:
            for namespace, environment in (("acme", ""), ("site", ""), ("live", "production")):
                publishers.add(
                    connection, namespace, ISSUER, "Acme/site", "release.yml", environment, ("stage",), now_text()
                )
        yield made


def exchange(local: LocalRegistry, token: str) -> Any:
    return local.post("/api/oidc/exchange", json={"token": token})


def refused(answer: Any) -> str:
    assert (answer.status_code, error_code(answer)) == (403, "oidc-refused"), answer.text
    return str(answer.json()["error"]["message"])


class TestExchange:
    @pytest.mark.parametrize(("key", "algorithm"), [(None, "RS256"), (EC, "ES256")], ids=["RSA", "EC"])
    def test_a_token_of_fifteen_minutes_that_stages_for_the_namespaces_that_trust_the_workflow(
        self, local: LocalRegistry, key: Any, algorithm: str
    ) -> None:
        before = now_text()
        answer = exchange(local, signed(key, algorithm)).json()
        assert set(answer) == {"token", "expires"}
        who = local.get("/api/v1/whoami", answer["token"]).json()
        assert (who["scopes"], who["namespaces"]) == (["stage"], ["acme", "site"])
        assert who["expires"] == answer["expires"]
        assert after(before, 890) <= answer["expires"] <= after(now_text(), 900)

    def test_a_publisher_that_is_removed_while_its_build_asks_gives_no_token(
        self, local: LocalRegistry, issuers: Issuers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The issuer can take ten seconds to answer. Whoever is trusted is decided afterwards."""
        with database.change(local.service.engine) as connection:
            added = publishers.add(connection, "gone", ISSUER, "acme/gone", "release.yml", "", ("stage",), now_text())

        def while_asking(self: object, token: str, *_: object) -> dict[str, Any]:
            with database.change(local.service.engine) as connection:
                publishers.remove(connection, added.id)
            return claims(
                repository="acme/gone",
                workflow_ref="acme/gone/.github/workflows/release.yml@refs/heads/main",
                job_workflow_ref="acme/gone/.github/workflows/release.yml@refs/heads/main",
            )

        monkeypatch.setattr("registry_server.accounts.issuers.Issuer.verify", while_asking)
        assert "no namespace trusts acme/gone" in refused(exchange(local, signed()))

    def test_it_publishes_nothing(self, local: LocalRegistry) -> None:
        author = local.owner("acme")
        token = exchange(local, signed()).json()["token"]
        answer = local.publish(author, "a/item", token)
        assert (answer.status_code, error_code(answer)) == (403, "insufficient-scope")

    @pytest.mark.parametrize("name", ["produ\u0441tion", "production ", "productions"])
    def test_another_environment_opens_nothing_of_it(self, local: LocalRegistry, name: str) -> None:
        token = exchange(local, signed(environment=name)).json()["token"]
        assert "live" not in local.get("/api/v1/whoami", token).json()["namespaces"]

    def test_a_letter_that_is_another_one_in_lower_case_is_another_letter(self) -> None:
        """Whoever may push can run the workflow in an environment that has no reviewers."""
        meant = Publisher(
            id="1",
            namespace="acme",
            issuer=ISSUER,
            repository="acme/site",
            workflow="release.yml",
            environment="packages",
            scopes=("stage",),
            created="",
        )
        build = Identity("Acme/Site", ".github/workflows/release.yml", "Packages")
        assert is_meant(meant, build)
        assert not is_meant(meant, replace(build, environment="pac\u212aages"))
        assert not is_meant(replace(meant, repository="acme/kit"), replace(build, repository="acme/\u212ait"))

    @pytest.mark.parametrize("ref", ["heads/x\u200b", "heads/" + "x" * 1000])
    def test_a_called_workflow_that_cannot_be_read_is_not_taken_for_none(self, local: LocalRegistry, ref: str) -> None:
        """Or else the workflow that calls it would count, which is in the repository."""
        called = f"evil/kit/.github/workflows/steal.yml@refs/{ref}"
        assert "job_workflow_ref cannot be read" in refused(exchange(local, signed(job_workflow_ref=called)))
        assert "job_workflow_ref cannot be read" in refused(exchange(local, signed(job_workflow_ref=[called])))
        gitlab = signed(job_workflow_ref=None, workflow_ref=None, ci_config_ref_uri=f"gitlab.com/{called}")
        assert "ci_config_ref_uri cannot be read" in refused(exchange(local, gitlab))

    def test_an_environment_opens_what_needs_it(self, local: LocalRegistry) -> None:
        token = exchange(local, signed(environment="Production")).json()["token"]
        assert local.get("/api/v1/whoami", token).json()["namespaces"] == ["acme", "live", "site"]

    def test_the_exchange_is_an_event_that_names_the_build(self, local: LocalRegistry) -> None:
        exchange(local, signed())
        events = json.loads(run("audit-events", "list", "--data", str(local.data), "--json").stdout)["events"]
        assert events[-1]["action"] == "token.exchange"
        assert events[-1]["detail"]["repository"] == "acme/site"

    def test_the_issuer_is_asked_seldom(self, local: LocalRegistry, issuers: Issuers) -> None:
        exchange(local, signed())
        before = len(issuers.asked)
        for _ in range(5):
            exchange(local, signed())
            refused(exchange(local, jwt.encode({"alg": "RS256", "kid": "new"}, claims(), rsa("stranger"))))
        assert len(issuers.asked) - before <= 2


class TestForgeries:
    def test_a_token_is_exchanged_once(self, local: LocalRegistry) -> None:
        for token in (signed(), signed(jti=None)):
            assert exchange(local, token).status_code == 200
            assert "already" in refused(exchange(local, token))

    def test_the_algorithm_none(self, local: LocalRegistry) -> None:
        def part(value: dict[str, Any]) -> str:
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

        for algorithm in ("none", "None", "nOnE", ""):
            for signature in ("", "x"):
                refused(exchange(local, f"{part({'alg': algorithm})}.{part(claims())}.{signature}"))

    def test_an_hmac_with_the_public_key_or_with_a_secret_from_the_key_set(self, local: LocalRegistry) -> None:
        for secret, kid in ((rsa().as_pem(private=False), "rsa"), (b"secret", "hmac")):
            head = {"alg": "HS256", "kid": kid, "typ": "JWT"}
            parts = [
                base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=") for value in (head, claims())
            ]
            made = hmac.new(secret, ".".join(parts).encode(), hashlib.sha256).digest()
            token = ".".join([*parts, base64.urlsafe_b64encode(made).decode().rstrip("=")])
            assert "HS256" in refused(exchange(local, token))

    def test_another_s_key_under_the_same_name(self, local: LocalRegistry) -> None:
        refused(exchange(local, signed(rsa("stranger"))))

    def test_a_key_that_the_token_brings_along(self, local: LocalRegistry) -> None:
        header = {"alg": "RS256", "kid": "rsa", "jwk": rsa("stranger").as_dict(private=False)}
        refused(exchange(local, jwt.encode(header, claims(), rsa("stranger"))))

    @pytest.mark.parametrize(
        "changes",
        [
            {"aud": "https://registry.evil"},
            {"aud": None},
            {"aud": ["https://one.example", "https://two.example"]},
            {"aud": ADDRESS + ".evil.example"},
            {"iss": "https://evil.example"},
            {"exp": timedelta(minutes=-2)},
            {"exp": None},
            {"iat": None},
            {"exp": "never"},
            {"exp": True},
            {"iat": timedelta(minutes=10), "exp": timedelta(minutes=12)},
            {"nbf": timedelta(minutes=10)},
            {"exp": timedelta(days=10)},
            {"repository": "evil/site"},
            {"repository": None},
            {"workflow_ref": None, "job_workflow_ref": None, "workflow": "release.yml"},
            {"job_workflow_ref": "acme/site/.github/workflows/other.yml@refs/heads/main"},
            {"job_workflow_ref": "evil/site/.github/workflows/release.yml@refs/heads/main"},
            {"job_workflow_ref": "acme/site-evil/.github/workflows/release.yml@refs/heads/main"},
        ],
    )
    def test_a_claim_that_is_wrong(self, local: LocalRegistry, changes: dict[str, Any]) -> None:
        """Times are relative to now, since tests may be collected long before they run."""
        now = time.time()
        made: dict[str, Any] = {
            name: int(now + value.total_seconds()) if isinstance(value, timedelta) else value
            for name, value in changes.items()
        }
        refused(exchange(local, signed(**made)))

    @pytest.mark.parametrize(
        "token", ["", "x", "a.b", "a.b.c", "....", "é.é.é", "e30.e30.e30", "W10.W10.W10", "x" * 16_000]
    )
    def test_what_is_no_token(self, local: LocalRegistry, token: str) -> None:
        assert exchange(local, token).status_code in (400, 403)

    def test_an_issuer_that_nobody_named_is_never_asked(self, local: LocalRegistry, issuers: Issuers) -> None:
        before = len(issuers.asked)
        refused(exchange(local, signed(iss="http://169.254.169.254/latest")))
        assert len(issuers.asked) == before

    def test_a_discovery_document_of_another_issuer_is_not_believed(self) -> None:
        issuers = Issuers()
        issuers.document = {"issuer": "https://evil.example", "jwks_uri": f"{ISSUER}/keys"}
        with pytest.raises(RyeError, match="another issuer"):
            Issuer(address=ISSUER, fetch=issuers.fetch).verify(signed(), ADDRESS, time.time())

    @pytest.mark.parametrize(
        "address", ["http://169.254.169.254/keys", "http://127.0.0.1/keys", "file:///etc/passwd", 7]
    )
    def test_keys_are_not_fetched_from_an_address_that_is_not_https(self, address: Any) -> None:
        issuers = Issuers()
        issuers.document = {"issuer": ISSUER, "jwks_uri": address}
        with pytest.raises(RyeError, match="jwks_uri"):
            Issuer(address=ISSUER, fetch=issuers.fetch).verify(signed(), ADDRESS, time.time())
        assert issuers.asked == [f"{ISSUER}/.well-known/openid-configuration"]

    def test_new_keys_of_the_issuer_are_found_after_a_while(self) -> None:
        issuers, moment = Issuers(), [0.0]
        issuer = Issuer(address=ISSUER, fetch=issuers.fetch, clock=lambda: moment[0])
        issuer.verify(signed(), ADDRESS, time.time())
        fresh = OKPKey.generate_key("Ed25519", {"kid": "fresh"})
        issuers.keys.append(fresh)
        with pytest.raises(RyeError):
            issuer.verify(signed(fresh, "EdDSA"), ADDRESS, time.time())
        moment[0] += 20
        assert issuer.verify(signed(fresh, "EdDSA"), ADDRESS, time.time())["iss"] == ISSUER


class TestMatching:
    def test_gitlab_names_the_project_and_the_file(self) -> None:
        found = identity_of(
            {
                "iss": "https://gitlab.com",
                "project_path": "group/sub/project",
                "ci_config_ref_uri": "gitlab.com/group/sub/project//ci/release.yml@refs/heads/main",
                "environment": "live",
            }
        )
        assert found == Identity("group/sub/project", "ci/release.yml", "live")

    def test_a_workflow_file_of_another_project_is_refused(self) -> None:
        for uri in (
            "gitlab.com/evil/project//.gitlab-ci.yml@refs/heads/main",
            "gitlab.com/group//project//x@refs/heads/y",
        ):
            with pytest.raises(RyeError, match="another repository"):
                identity_of({"iss": "https://gitlab.com", "project_path": "group/project", "ci_config_ref_uri": uri})

    @pytest.mark.parametrize(
        ("written", "file", "meant"),
        [
            ("release.yml", ".github/workflows/release.yml", True),
            (".github/workflows/release.yml", ".github/workflows/release.yml", True),
            ("release.yml", ".github/workflows/not-release.yml", False),
            ("other/release.yml", ".github/workflows/release.yml", False),
            ("Release.yml", ".github/workflows/release.yml", False),
        ],
    )
    def test_the_file_is_compared_as_it_is_written(self, written: str, file: str, meant: bool) -> None:
        publisher = Publisher(
            id="0",
            namespace="acme",
            issuer=ISSUER,
            repository="acme/site",
            workflow=written,
            environment="",
            scopes=("stage",),
            created="",
        )
        assert is_meant(publisher, Identity("ACME/Site", file, "")) is meant

    @pytest.mark.parametrize(
        "issuer", ["http://id.example", "https://", "ftp://x", "https://u:p@x", "https://x?y", "x"]
    )
    def test_an_issuer_is_https_or_this_machine(self, issuer: str) -> None:
        with pytest.raises(RyeError, match="issuer"):
            check_issuer(issuer)
        assert check_issuer("http://127.0.0.1:9/x")


def test_publishers_are_added_listed_and_removed(local: LocalRegistry) -> None:
    data = ("--data", str(local.data), "--json")
    words = ("--repository", "acme/tools", "--workflow", "release.yml", "--environment", "live")
    made = json.loads(run("publisher", "add", "tools", "--issuer", ISSUER, *words, *data).stdout)
    assert (made["scopes"], made["environment"]) == (["stage"], "live")
    again = run("publisher", "add", "tools", "--issuer", ISSUER, *words, *data, check=False)
    assert json.loads(again.stdout)["error"]["code"] == "already-exists"
    assert [row["id"] for row in json.loads(run("publisher", "list", "tools", *data).stdout)["publishers"]] == [
        made["id"]
    ]
    run("publisher", "remove", made["id"], *data)
    assert json.loads(run("publisher", "list", "tools", *data).stdout)["publishers"] == []
    for wrong in (("--issuer", "http://id.example"), ("--scope", "admin"), ("--repository", "no")):
        assert run("publisher", "add", "tools", *words, *wrong, *data, check=False).returncode == 1
