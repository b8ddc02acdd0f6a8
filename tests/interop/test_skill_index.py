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
from tests.interop.unchecked_registry import UncheckedRegistry, text
from tests.scenes.publisher import error_code

INDEX = "/.well-known/agent-skills/index.json"


def rows(local: UncheckedRegistry, base: str = "", **options: Any) -> dict[str, dict[str, Any]]:
    answer = local.get(f"{base}{INDEX}", **options)
    assert answer.status_code == 200, answer.text
    return {row["name"]: row for row in answer.json()["skills"]}


def test_an_index_names_the_newest_release_of_each_skill_and_its_files_are_there(local: UncheckedRegistry) -> None:
    local.release("acme/tools/pdf", "1.0.0")
    local.release("acme/tools/pdf", "1.2.0", {"scripts/run.sh": b"echo", "a.md": b"a"})
    local.release("acme/tools/pdf", "2.0.0-rc.1")
    local.release("beta/notes")
    found = rows(local)
    assert list(found) == ["notes", "pdf"]
    pdf, notes = found["pdf"], found["notes"]
    assert (pdf["type"], pdf["files"]) == ("archive", ["SKILL.md", "a.md", "scripts/run.sh"])
    assert pdf["version"] == f"1.2.0+{pdf['digest'][7:19]}"
    for row in (pdf, notes):
        artifact = local.get(row["url"])
        assert f"sha256:{sha256(artifact.content).hexdigest()}" == row["digest"]
    with tarfile.open(fileobj=io.BytesIO(local.get(pdf["url"]).content)) as tar:
        assert {one.name: one.mode for one in tar} == {"SKILL.md": 0o644, "a.md": 0o644, "scripts/run.sh": 0o755}
    for path in pdf["files"]:
        assert local.get(f"/.well-known/agent-skills/pdf/{path}").status_code == 200
    assert local.get("/.well-known/agent-skills/notes/SKILL.md").content == text("notes")


def test_a_name_that_two_namespaces_have_is_in_their_own_indexes_alone(local: UncheckedRegistry) -> None:
    local.release("acme/pdf")
    local.release("beta/pdf")
    local.release("beta/notes")
    assert list(rows(local)) == ["notes"]
    assert list(rows(local, "/acme")) == ["pdf"]
    assert rows(local, "/acme")["pdf"]["url"] == "/acme/.well-known/agent-skills/pdf/SKILL.md"
    assert local.get("/.well-known/agent-skills/pdf/SKILL.md").status_code == 404
    assert local.get("/acme/.well-known/agent-skills/pdf/SKILL.md").content == text("pdf")


def test_a_name_that_two_skills_of_a_namespace_have_is_nowhere(local: UncheckedRegistry) -> None:
    local.release("acme/a/pdf")
    local.release("acme/b/pdf")
    local.release("acme/notes")
    assert list(rows(local, "/acme")) == ["notes"]
    local.yank("acme/b/pdf")
    assert list(rows(local, "/acme")) == ["notes", "pdf"]


def test_what_is_withdrawn_leaves_at_once_and_the_release_before_it_comes_back(local: UncheckedRegistry) -> None:
    local.release("acme/pdf", "1.0.0")
    local.release("acme/pdf", "1.1.0", {"a.md": b"secret"})
    assert rows(local)["pdf"]["version"].startswith("1.1.0+")
    local.yank("acme/pdf", "1.1.0")
    assert rows(local)["pdf"]["version"].startswith("1.0.0+")
    assert local.get("/.well-known/agent-skills/pdf/a.md").status_code == 404
    assert local.get("/.well-known/agent-skills/pdf.tar.gz").status_code == 404
    local.yank("acme/pdf", "1.1.0", yanked=False)
    assert rows(local)["pdf"]["version"].startswith("1.1.0+")
    local.take_down("skill:acme/pdf@1.1.0")
    assert rows(local)["pdf"]["version"].startswith("1.0.0+")
    local.revoke("acme")
    assert rows(local) == {}
    assert rows(local, "/acme") == {}


def test_a_file_that_was_taken_down_takes_every_release_with_it_along(local: UncheckedRegistry) -> None:
    """The takedown is about another item that has the same file."""
    local.release("acme/pdf", "1.0.0")
    local.release("acme/pdf", "1.1.0", {"a.md": b"secret"})
    local.release("beta/notes", "1.0.0", {"b.md": b"secret"})
    assert set(rows(local)) == {"notes", "pdf"}
    statement = sha256(b"secret").hexdigest()
    local.take_down(statement)
    assert rows(local)["pdf"]["version"].startswith("1.0.0+")
    assert set(rows(local)) == {"pdf"}


def test_a_damaged_or_missing_file_is_never_handed_out(local: UncheckedRegistry) -> None:
    local.release("acme/pdf", "1.0.0", {"a.md": b"fine"})
    local.release("acme/notes")
    place = local.service.settings.public / wire.blob_path(sha256(b"fine").hexdigest())
    place.write_bytes(b"evil")
    assert list(rows(local)) == ["notes"]
    assert local.get("/.well-known/agent-skills/pdf/a.md").status_code == 404
    assert local.get("/.well-known/agent-skills/pdf.tar.gz").status_code == 404
    place.write_bytes(b"fine")
    assert set(rows(local)) == {"notes", "pdf"}


def test_an_answer_is_asked_for_again_and_costs_nothing_unchanged(local: UncheckedRegistry) -> None:
    local.release("acme/pdf")
    first = local.get(INDEX)
    assert first.headers["cache-control"] == "public, max-age=0, must-revalidate"
    tag = first.headers["etag"]
    assert local.get(INDEX, headers={"If-None-Match": tag}).status_code == 304
    local.release("beta/notes")
    assert local.get(INDEX, headers={"If-None-Match": tag}).status_code == 200
    head = local.ask("HEAD", INDEX)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == local.get(INDEX).headers["etag"]


def test_items_are_never_of_a_type_that_a_browser_runs(local: UncheckedRegistry) -> None:
    local.release("acme/pdf", files={"page.html": b"<script>alert(1)</script>"})
    answer = local.get("/.well-known/agent-skills/pdf/page.html")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_nothing_is_derived_again_for_a_publish_elsewhere(
    local: UncheckedRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.release("acme/pdf")
    rows(local, "/acme")
    asked = []
    catalogue = local.service.interop_pool.catalogue
    before = catalogue._newest
    monkeypatch.setattr(catalogue, "_newest", lambda *words: asked.append(1) or before(*words))  # type: ignore[func-returns-value]
    local.release("beta/notes")
    rows(local, "/acme")
    assert asked == []
    local.release("acme/notes")
    assert set(rows(local, "/acme")) == {"notes", "pdf"}
    assert asked == [1]


def test_a_namespace_without_skills_has_no_index(local: UncheckedRegistry) -> None:
    assert local.get(f"/acme{INDEX}").status_code == 404
    assert local.get(f"/nobody{INDEX}").status_code == 404
    assert rows(local) == {}


def test_too_many_skills_are_refused_and_one_namespace_is_not(tmp_path: Path) -> None:
    local = UncheckedRegistry(tmp_path / "data", "reader_skills = 2\n")
    try:
        for identifier in ("acme/one", "acme/two", "beta/three"):
            local.release(identifier)
        refused = local.get(INDEX)
        assert (refused.status_code, error_code(refused)) == (422, "listing-too-large")
        assert set(rows(local, "/acme")) == {"one", "two"}
    finally:
        local.close()


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
