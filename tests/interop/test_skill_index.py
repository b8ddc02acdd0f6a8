"""``/.well-known/agent-skills``: what OpenCode and ``npx skills`` read from a registry (design/sources.md 3)."""

from __future__ import annotations

import io
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from registry_server.interop.paths import wanted
from rye.registry.protocol import wire
from tests.interop.stand import Stand, text
from tests.server.publishing import error_code

INDEX = "/.well-known/agent-skills/index.json"


def rows(stand: Stand, base: str = "", **options: Any) -> dict[str, dict[str, Any]]:
    answer = stand.get(f"{base}{INDEX}", **options)
    assert answer.status_code == 200, answer.text
    return {row["name"]: row for row in answer.json()["skills"]}


def test_an_index_names_the_newest_release_of_each_skill_and_its_files_are_there(stand: Stand) -> None:
    stand.release("acme/tools/pdf", "1.0.0")
    stand.release("acme/tools/pdf", "1.2.0", {"scripts/run.sh": b"echo", "a.md": b"a"})
    stand.release("acme/tools/pdf", "2.0.0-rc.1")
    stand.release("beta/notes")
    found = rows(stand)
    assert list(found) == ["notes", "pdf"]
    pdf, notes = found["pdf"], found["notes"]
    assert (pdf["type"], pdf["files"]) == ("archive", ["SKILL.md", "a.md", "scripts/run.sh"])
    assert pdf["version"] == f"1.2.0+{pdf['digest'][7:19]}"
    for row in (pdf, notes):
        artifact = stand.get(row["url"])
        assert f"sha256:{sha256(artifact.content).hexdigest()}" == row["digest"]
    with tarfile.open(fileobj=io.BytesIO(stand.get(pdf["url"]).content)) as tar:
        assert {one.name: one.mode for one in tar} == {"SKILL.md": 0o644, "a.md": 0o644, "scripts/run.sh": 0o755}
    for path in pdf["files"]:
        assert stand.get(f"/.well-known/agent-skills/pdf/{path}").status_code == 200
    assert stand.get("/.well-known/agent-skills/notes/SKILL.md").content == text("notes")


def test_a_name_that_two_namespaces_have_is_in_their_own_indexes_alone(stand: Stand) -> None:
    stand.release("acme/pdf")
    stand.release("beta/pdf")
    stand.release("beta/notes")
    assert list(rows(stand)) == ["notes"]
    assert list(rows(stand, "/acme")) == ["pdf"]
    assert rows(stand, "/acme")["pdf"]["url"] == "/acme/.well-known/agent-skills/pdf/SKILL.md"
    assert stand.get("/.well-known/agent-skills/pdf/SKILL.md").status_code == 404
    assert stand.get("/acme/.well-known/agent-skills/pdf/SKILL.md").content == text("pdf")


def test_a_name_that_two_skills_of_a_namespace_have_is_nowhere(stand: Stand) -> None:
    stand.release("acme/a/pdf")
    stand.release("acme/b/pdf")
    stand.release("acme/notes")
    assert list(rows(stand, "/acme")) == ["notes"]
    stand.yank("acme/b/pdf")
    assert list(rows(stand, "/acme")) == ["notes", "pdf"]


def test_what_is_withdrawn_leaves_at_once_and_the_release_before_it_comes_back(stand: Stand) -> None:
    stand.release("acme/pdf", "1.0.0")
    stand.release("acme/pdf", "1.1.0", {"a.md": b"secret"})
    assert rows(stand)["pdf"]["version"].startswith("1.1.0+")
    stand.yank("acme/pdf", "1.1.0")
    assert rows(stand)["pdf"]["version"].startswith("1.0.0+")
    assert stand.get("/.well-known/agent-skills/pdf/a.md").status_code == 404
    assert stand.get("/.well-known/agent-skills/pdf.tar.gz").status_code == 404
    stand.yank("acme/pdf", "1.1.0", yanked=False)
    assert rows(stand)["pdf"]["version"].startswith("1.1.0+")
    stand.take_down("skill:acme/pdf@1.1.0")
    assert rows(stand)["pdf"]["version"].startswith("1.0.0+")
    stand.revoke("acme")
    assert rows(stand) == {}
    assert rows(stand, "/acme") == {}


def test_a_file_that_was_taken_down_takes_every_release_with_it_along(stand: Stand) -> None:
    """The takedown is about another item that has the same file."""
    stand.release("acme/pdf", "1.0.0")
    stand.release("acme/pdf", "1.1.0", {"a.md": b"secret"})
    stand.release("beta/notes", "1.0.0", {"b.md": b"secret"})
    assert set(rows(stand)) == {"notes", "pdf"}
    statement = sha256(b"secret").hexdigest()
    stand.take_down(statement)
    assert rows(stand)["pdf"]["version"].startswith("1.0.0+")
    assert set(rows(stand)) == {"pdf"}


def test_a_damaged_or_missing_file_is_never_handed_out(stand: Stand) -> None:
    stand.release("acme/pdf", "1.0.0", {"a.md": b"fine"})
    stand.release("acme/notes")
    place = stand.service.settings.public / wire.blob_path(sha256(b"fine").hexdigest())
    place.write_bytes(b"evil")
    assert list(rows(stand)) == ["notes"]
    assert stand.get("/.well-known/agent-skills/pdf/a.md").status_code == 404
    assert stand.get("/.well-known/agent-skills/pdf.tar.gz").status_code == 404
    place.write_bytes(b"fine")
    assert set(rows(stand)) == {"notes", "pdf"}


def test_an_answer_is_asked_for_again_and_costs_nothing_unchanged(stand: Stand) -> None:
    stand.release("acme/pdf")
    first = stand.get(INDEX)
    assert first.headers["cache-control"] == "public, max-age=0, must-revalidate"
    tag = first.headers["etag"]
    assert stand.get(INDEX, headers={"If-None-Match": tag}).status_code == 304
    stand.release("beta/notes")
    assert stand.get(INDEX, headers={"If-None-Match": tag}).status_code == 200
    head = stand.ask("HEAD", INDEX)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == stand.get(INDEX).headers["etag"]


def test_items_are_never_of_a_type_that_a_browser_runs(stand: Stand) -> None:
    stand.release("acme/pdf", files={"page.html": b"<script>alert(1)</script>"})
    answer = stand.get("/.well-known/agent-skills/pdf/page.html")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_nothing_is_derived_again_for_a_publish_elsewhere(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    stand.release("acme/pdf")
    rows(stand, "/acme")
    asked = []
    catalogue = stand.service.readers.catalogue
    before = catalogue._newest
    monkeypatch.setattr(catalogue, "_newest", lambda *words: asked.append(1) or before(*words))  # type: ignore[func-returns-value]
    stand.release("beta/notes")
    rows(stand, "/acme")
    assert asked == []
    stand.release("acme/notes")
    assert set(rows(stand, "/acme")) == {"notes", "pdf"}
    assert asked == [1]


def test_a_namespace_without_skills_has_no_index(stand: Stand) -> None:
    assert stand.get(f"/acme{INDEX}").status_code == 404
    assert stand.get(f"/nobody{INDEX}").status_code == 404
    assert rows(stand) == {}


def test_too_many_skills_are_refused_and_one_namespace_is_not(tmp_path: Path) -> None:
    stand = Stand(tmp_path / "data", "reader_skills = 2\n")
    try:
        for identifier in ("acme/one", "acme/two", "beta/three"):
            stand.release(identifier)
        refused = stand.get(INDEX)
        assert (refused.status_code, error_code(refused)) == (422, "listing-too-large")
        assert set(rows(stand, "/acme")) == {"one", "two"}
    finally:
        stand.close()


@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/agent-skills/",
        "/.well-known/agent-skills/../../config.json",
        "/.well-known/agent-skills/pdf/../notes/SKILL.md",
        "/.well-known/agent-skills/pdf/.git/config",
        "/.well-known/agent-skills/pdf//SKILL.md",
        "/.well-known/agent-skills/PDF/SKILL.md",
        "/.well-known/agent-skills/pdf/SKILL.md/",
        "/.well-known/agent-skills/.tar.gz",
        "/.well-known/agent-skills/con.tar.gz",
        "/ACME/.well-known/agent-skills/index.json",
        "/a/b/.well-known/agent-skills/index.json",
        "//.well-known/agent-skills/index.json",
        "/.well-known/agent-skills/pdf/a\nb",
        "/.well-known/agent-skills/pdf/" + "a/" * 700,
        "/renovate/skill/acme/pdf",
        "/renovate/skill/acme.json",
        "/renovate/unknown/acme/pdf.json",
        "/renovate/skill/acme/../pdf.json",
        "/renovate/skill/acme//pdf.json",
        "/osv/all.zip/",
        "/osv/x_rye-1-0.json",
        "/osv/../all.zip",
    ],
)
def test_other_paths_are_none_of_ours(path: str) -> None:
    assert wanted(path) is None
