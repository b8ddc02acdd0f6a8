"""``rye namespace prove`` and ``describe``, and where it shows who is behind a name: a real registry, website and repository on
this machine (shopfront 3)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rye.registry.ownership.documents import WELL_KNOWN
from tests.scenes.person import Person
from tests.scenes.proof_places import Website, website
from tests.scenes.registry import Registry
from tests.sources.git_server import GitServer, serving

pytestmark = pytest.mark.processes
FIRST_CAME = "by whoever came first; nobody checked the name"


@pytest.fixture
def site() -> Iterator[Website]:
    with website() as made:
        yield made


@pytest.fixture
def git(tmp_path: Path) -> Iterator[GitServer]:
    with serving(tmp_path / "git") as server:
        yield server


def owner_of(person: Person, item: str, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = person.ok("info", item, "--json", *options).json["owner"]
    return found


def show_file(owner: Person, site: Website, namespace: str) -> None:
    """The website shows what the command wrote."""
    name = f"{namespace}-{site.server_port}.json"
    owner.ok("namespace", "prove", namespace, "--domain", site.domain, "-o", name)
    site.shows(owner.path(name).read_bytes())


def test_a_name_is_whoever_came_first_until_a_domain_is_proved(registry: Registry, site: Website) -> None:
    acme = registry.owner("first")
    acme.release("work/one")
    before = owner_of(acme, "first/work/one")
    assert before["words"].endswith(FIRST_CAME)
    assert before["proofs"] == []
    assert FIRST_CAME in acme.ok("info", "first/work/one").stdout
    error = acme.fails("namespace", "prove", "first", "--domain", site.domain, code="proof-not-found")
    assert WELL_KNOWN in error["hint"]
    assert '{"namespaces": [{"namespace": "first", "keyset": "' in error["hint"]
    assert site.asked == [WELL_KNOWN]
    show_file(acme, site, "first")
    proved = acme.ok("namespace", "prove", "first", "--domain", site.domain, "--json").json
    assert (proved["method"], proved["place"], proved["proved"]) == ("file", site.domain, True)
    assert site.asked == [WELL_KNOWN] * 3  # the owner's machine, and the registry itself
    after = owner_of(acme, "first/work/one")
    assert after["words"].endswith(f"its owners proved that {site.domain} is theirs")
    assert [(row["place"], row["method"], row["current"], row["found"]) for row in after["proofs"]] == [
        (site.domain, "file", True, None)
    ]
    checked = owner_of(acme, "first/work/one", "--check-owner")
    assert [row["found"] for row in checked["proofs"]] == ["found"]
    assert site.domain in acme.ok("namespace", "show", "first").stdout


def test_where_nothing_answers_it_is_said_what_to_publish_and_where(registry: Registry) -> None:
    acme = registry.owner("quiet")
    error = acme.fails("namespace", "prove", "quiet", "--domain", "127.0.0.1:1", code="proof-unreachable")
    assert "[Errno" not in error["message"]
    assert f'http://127.0.0.1:1{WELL_KNOWN}: {{"namespaces": [{{"namespace": "quiet", "keyset": "' in error["hint"]
    assert error["hint"].endswith("rye namespace prove quiet --domain 127.0.0.1:1")
    said = acme.ok("namespace", "prove", "quiet", "--domain", "127.0.0.1:1", "-o", "quiet.json").stderr
    assert f"Publish it as http://127.0.0.1:1{WELL_KNOWN}." in said


def test_a_proof_that_was_taken_away_is_shown_as_gone_and_can_be_withdrawn(registry: Registry, site: Website) -> None:
    owner = registry.owner("leaving")
    owner.release("work/one")
    show_file(owner, site, "leaving")
    owner.ok("namespace", "prove", "leaving", "--domain", site.domain)
    site.answer = (404, {}, b"")
    checked = owner_of(owner, "leaving/work/one", "--check-owner")
    assert [row["found"] for row in checked["proofs"]] == ["gone"]
    assert "no longer there" in owner.ok("info", "leaving/work/one", "--check-owner").stdout
    owner.ok("namespace", "prove", "leaving", "--domain", site.domain, "--withdraw")
    assert owner_of(owner, "leaving/work/one")["words"].endswith(FIRST_CAME)
    owner.fails("namespace", "prove", "leaving", "--domain", site.domain, "--withdraw", code="nothing-to-do")


def test_a_proof_does_not_outlive_the_keys_that_it_names(registry: Registry, site: Website) -> None:
    owner = registry.owner("changing")
    owner.release("work/one")
    show_file(owner, site, "changing")
    owner.ok("namespace", "prove", "changing", "--domain", site.domain)
    owner.ok("keys", "generate", "--name", "second")
    owner.write("second.pem", owner.ok("keys", "export", "second").stdout)
    owner.ok("namespace", "keys", "add", "changing", "second.pem")
    stale = owner_of(owner, "changing/work/one", "--check-owner")
    assert [(row["current"], row["found"]) for row in stale["proofs"]] == [(False, None)]
    assert "its keys changed since" in stale["words"]
    error = owner.fails("namespace", "prove", "changing", "--domain", site.domain, code="proof-not-found")
    assert "other keys" in error["message"]
    owner.path(f"changing-{site.server_port}.json").unlink()
    show_file(owner, site, "changing")
    owner.ok("namespace", "prove", "changing", "--domain", site.domain)
    assert [row["current"] for row in owner_of(owner, "changing/work/one")["proofs"]] == [True]


def test_a_repository_proves_it_with_a_signed_file(registry: Registry, git: GitServer) -> None:
    owner = registry.owner("coder")
    owner.release("work/one")
    repository = git.repository("skills")
    repository.git("config", "uploadpack.allowFilter", "true")
    repository.commit({"README.md": "Skills", "deep/er/file.txt": "x" * 5000})
    url = git.url("skills")
    error = owner.fails("namespace", "prove", "coder", "--repository", url, code="proof-not-found")
    assert f"rye namespace prove coder --repository {url} -o .rye-namespace" in error["hint"]
    owner.ok("namespace", "prove", "coder", "--repository", url, "-o", ".rye-namespace")
    signed = owner.path(".rye-namespace").read_bytes()
    repository.commit({"README.md": "Skills", "deep/er/file.txt": "x" * 5000, ".rye-namespace": signed})
    proved = owner.ok("namespace", "prove", "coder", "--repository", url, "--json").json
    assert proved["method"] == "repository"
    assert [row["found"] for row in owner_of(owner, "coder/work/one", "--check-owner")["proofs"]] == ["found"]
    # A fork has the same file, for another address.
    fork = git.repository("fork")
    fork.git("config", "uploadpack.allowFilter", "true")
    fork.commit({".rye-namespace": signed})
    error = owner.fails("namespace", "prove", "coder", "--repository", git.url("fork"), code="proof-not-found")
    assert "a copy proves nothing" in error["message"]


def test_owners_describe_their_namespace(registry: Registry) -> None:
    owner = registry.owner("speaking")
    owner.release("work/one")
    owner.ok(
        "namespace", "describe", "speaking", "--text", "Tools for forms", "--link", "https://acme.example/about",
        "--contact", "skills@acme.example",
    )  # fmt: skip
    shown = owner_of(owner, "speaking/work/one")
    assert (shown["description"], shown["links"], shown["contact"]) == (
        "Tools for forms",
        ["https://acme.example/about"],
        "mailto:skills@acme.example",
    )
    owner.ok("namespace", "describe", "speaking", "--text", "Proof: acme.example is ours. rye-namespace=speaking")
    again = owner_of(owner, "speaking/work/one")
    assert again["links"] == []
    assert again["words"].endswith(FIRST_CAME)  # words that sound like a proof are none


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Name one place"),
        (("--domain", "a.example", "--repository", "https://git.example/a"), "Name one place"),
        (("--domain", "аcme.example"), "is not a domain"),
        (("--domain", "10.0.0.1"), "is not a domain"),
        (("--domain", "https://acme.example"), "is not a domain"),
        (("--repository", "git@git.example:acme/skills"), "is not the address of a repository"),
        (("--repository", "http://git.example/acme"), "is not the address of a repository"),
    ],
)
def test_a_place_that_cannot_prove_anything_is_explained(acme: Person, options: tuple[str, ...], said: str) -> None:
    error = acme.fails("namespace", "prove", "acme", *options, code="bad-argument", exit_code=2)
    assert said in error["message"]
    if "аcme.example" in options:
        assert "xn--" in error["hint"]


def test_a_namespace_with_a_well_known_name_says_that_nobody_proved_it(registry: Registry, site: Website) -> None:
    owner = registry.owner("anthropics")
    owner.release("work/one")
    warning = owner_of(owner, "anthropics/work/one")["warning"]
    assert warning.startswith("anthropics is like the name of Anthropic (anthropic.com), but was claimed today")
    show_file(owner, site, "anthropics")
    owner.ok("namespace", "prove", "anthropics", "--domain", site.domain)
    assert owner_of(owner, "anthropics/work/one")["warning"] == warning  # a domain of someone else
    registry.owner("acme-tools").release("work/one")
    other = registry.user()
    assert owner_of(other, "acme-tools/work/one")["warning"] is None


def test_a_mirror_shows_the_same_and_an_audit_reads_it(registry: Registry, site: Website, tmp_path: Path) -> None:
    owner = registry.owner("mirrored")
    owner.release("work/one")
    show_file(owner, site, "mirrored")
    owner.ok("namespace", "prove", "mirrored", "--domain", site.domain)
    owner.ok("log", "verify")
    owner.ok("mirror", str(tmp_path / "copy"))
    listed = (tmp_path / "copy/owners/mirrored").read_bytes()
    assert listed == (registry.public / "owners/mirrored").read_bytes()
    assert json.loads(listed)["note"].startswith("rye.proof/v1\n")
