"""Other programs can read no more than a Rye client could, and nothing that the operator turned off."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.unchecked_registry import UncheckedRegistry

INDEX = ".well-known/agent-skills/index.json"
PATHS = (
    f"/{INDEX}",
    f"/acme/{INDEX}",
    "/.well-known/agent-skills/pdf/SKILL.md",
    "/acme/.well-known/agent-skills/pdf/SKILL.md",
    "/renovate/skill/acme/pdf.json",
    "/osv/all.zip",
)


def filled(data: Path, settings: str) -> UncheckedRegistry:
    local = UncheckedRegistry(data, settings)
    local.release("acme/pdf")
    local.release("beta/notes")
    local.advise("acme/pdf")
    local.advise("beta/notes")
    return local


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[UncheckedRegistry]:
    made = filled(tmp_path / "data", 'read = "namespaces"\n')
    yield made
    made.close()


@pytest.fixture
def members(tmp_path: Path) -> Iterator[UncheckedRegistry]:
    made = filled(tmp_path / "data", 'read = "members"\n')
    yield made
    made.close()


@pytest.mark.parametrize("off", ["[]", '["git", "apm"]'])
def test_what_is_off_is_not_there(tmp_path: Path, off: str) -> None:
    local = filled(tmp_path / "data", f"interoperate = {off}\n")
    try:
        assert {local.get(path).status_code for path in PATHS} == {404}
    finally:
        local.close()


def test_a_stranger_reads_nothing_of_a_private_registry(members: UncheckedRegistry) -> None:
    token = members.token()
    for path in PATHS:
        refused = members.get(path)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        answer = members.get(path, token)
        assert answer.status_code == 200
        assert "private" in answer.headers["cache-control"]
        assert "public" not in answer.headers["cache-control"]
        assert answer.headers["vary"].startswith("Authorization, Cookie")
        assert "access-control-allow-origin" not in answer.headers


def test_a_namespace_that_is_called_like_an_open_path_is_not_open(members: UncheckedRegistry) -> None:
    """Paths below ``/api/`` pass the gate because the API checks tokens itself."""
    members.claim("api")
    members.release("api/secret")
    path = f"/api/{INDEX}"
    assert members.get(path).status_code == 401
    assert members.get("/api/.well-known/agent-skills/secret/SKILL.md").status_code == 401
    assert members.get(path, members.token()).status_code == 200


def test_a_reader_of_one_namespace_finds_it_alone(limited: UncheckedRegistry) -> None:
    member = limited.member("ann", acme="reader")
    token = limited.token(account=member)
    assert [row["name"] for row in limited.get(f"/{INDEX}", token).json()["skills"]] == ["pdf"]
    for path in (
        f"/beta/{INDEX}",
        "/.well-known/agent-skills/notes/SKILL.md",
        "/beta/.well-known/agent-skills/notes/SKILL.md",
        "/renovate/skill/beta/notes.json",
    ):
        hidden = limited.get(path, token)
        assert hidden.status_code == 404
        assert hidden.json()["error"]["code"] == "not-found"
    assert {limited.get(path, token).status_code for path in PATHS} == {200}
    with zipfile.ZipFile(io.BytesIO(limited.get("/osv/all.zip", token).content)) as archive:
        assert len(archive.namelist()) == 1


def test_a_reader_s_tag_never_answers_for_another_s(limited: UncheckedRegistry) -> None:
    tokens = {name: limited.token(account=limited.member(name, **{name: "reader"})) for name in ("acme", "beta")}
    answers = {name: limited.get(f"/{INDEX}", token) for name, token in tokens.items()}
    assert answers["acme"].headers["etag"] != answers["beta"].headers["etag"]
    crossed = limited.get(f"/{INDEX}", tokens["beta"], headers={"If-None-Match": answers["acme"].headers["etag"]})
    assert crossed.status_code == 200
    assert [row["name"] for row in crossed.json()["skills"]] == ["notes"]


def test_a_name_that_a_hidden_namespace_has_too_is_found(limited: UncheckedRegistry) -> None:
    limited.release("beta/pdf")
    token = limited.token(account=limited.member("ann", acme="reader"))
    assert [row["name"] for row in limited.get(f"/{INDEX}", token).json()["skills"]] == ["pdf"]


def osv(local: UncheckedRegistry, token: str) -> tuple[str, int]:
    answer = local.get("/osv/all.zip", token)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "private, max-age=0, must-revalidate"
    assert answer.headers["vary"].startswith("Authorization, Cookie")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return answer.headers["etag"], len(archive.namelist())


def test_the_tag_of_advisories_says_nothing_about_hidden_ones(limited: UncheckedRegistry) -> None:
    """It changed whenever a namespace that the reader may not read got an advisory."""
    ann, ben = (limited.token(account=limited.member(name, **{name: "reader"})) for name in ("acme", "beta"))
    before = osv(limited, ann)
    other = osv(limited, ben)
    assert (before[1], other[1]) == (1, 1)
    assert before[0] != other[0]
    limited.advise("beta/notes", "2")
    assert osv(limited, ann) == before
    assert osv(limited, ben) not in (before, other)
    crossed = limited.get("/osv/all.zip", ben, headers={"If-None-Match": before[0]})
    assert crossed.status_code == 200
    limited.advise("acme/pdf", "2")
    assert osv(limited, ann) != before


def test_readers_of_the_same_advisories_get_the_same_tag(limited: UncheckedRegistry) -> None:
    limited.claim("empty")
    ann = limited.token(account=limited.member("ann", acme="reader"))
    ben = limited.token(account=limited.member("ben", acme="reader", empty="reader"))
    assert osv(limited, ann) == osv(limited, ben)


def test_limits_count_what_the_reader_may_read(tmp_path: Path) -> None:
    """A hidden namespace took the listings away from everybody, with the number of its skills in the message."""
    local = UncheckedRegistry(tmp_path / "data", 'read = "namespaces"\nreader_skills = 2\nadvisories = 2\n')
    try:
        for identifier in ("acme/pdf", "acme/xml", "beta/one", "beta/two"):
            local.release(identifier)
        local.advise("acme/pdf", "1")
        for number in "123":
            local.advise("beta/one", number)
        tokens = [local.token(account=local.member(name, **{name: "reader"})) for name in ("acme", "beta")]
        both = local.token(account=local.member("both", acme="reader", beta="reader"))
        assert len(local.get(f"/{INDEX}", tokens[0]).json()["skills"]) == 2
        assert len(local.get(f"/{INDEX}", tokens[1]).json()["skills"]) == 2
        refused = local.get(f"/{INDEX}", both)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "listing-too-large")
        assert refused.json()["error"]["message"].startswith("You may read 4 skills")
        assert osv(local, tokens[0])[1] == 1
        assert {local.get("/osv/all.zip", token).status_code for token in (tokens[1], both)} == {422}
    finally:
        local.close()


def test_questions_beyond_what_may_wait_are_refused(tmp_path: Path) -> None:
    local = filled(tmp_path / "data", "reader_threads = 1\nreader_waiting = 0\n")
    try:
        local.service.interop_pool._threads.taken += 1
        busy = local.get(f"/{INDEX}")
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
        local.service.interop_pool._threads.taken -= 1
        assert local.get(f"/{INDEX}").status_code == 200
    finally:
        local.close()
