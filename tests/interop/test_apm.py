"""apm's registry API, version 1, according to its description: ``/apm``."""

from __future__ import annotations

import io
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from registry_server.interop.paths import ApmArchive, ApmUnknown, ApmVersions, wanted
from tests.interop.unchecked_registry import UncheckedRegistry

BASE = "/apm/v1/packages/acme/pdf/versions"


def versions(local: UncheckedRegistry, path: str = BASE) -> list[dict[str, Any]]:
    answer = local.get(path)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert set(document) == {"package", "versions"}
    found: list[dict[str, Any]] = document["versions"]
    return found


def problem(answer: httpx.Response, status: int) -> str:
    """Check a problem document against RFC 7807 and apm, and return its code."""
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    return str(document["extensions"]["code"])


def test_versions_and_their_archives_fit(local: UncheckedRegistry) -> None:
    local.release("acme/tools/pdf", "1.0.0")
    local.release("acme/tools/pdf", "1.1.0-b.2", {"scripts/run.sh": b"#!/bin/sh\n"})
    assert local.get(BASE).json()["package"] == "acme/pdf"
    rows = versions(local)
    assert [row["version"] for row in rows] == ["1.1.0-b.2", "1.0.0"]
    for row in rows:
        assert set(row) == {"version", "digest", "published_at", "size_bytes"}
        archive = local.get(f"{BASE}/{row['version']}/download")
        assert archive.headers["content-type"] == "application/gzip"
        assert row["digest"] == f"sha256:{sha256(archive.content).hexdigest()}"
        assert row["size_bytes"] == len(archive.content)
        tag = archive.headers["etag"]
        assert local.get(f"{BASE}/{row['version']}/download", headers={"If-None-Match": tag}).status_code == 304
    with tarfile.open(fileobj=io.BytesIO(archive.content)) as tar:
        assert tar.getnames() == ["SKILL.md"]


def test_withdrawn_versions_leave_and_are_gone(local: UncheckedRegistry) -> None:
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        local.release("acme/pdf", version, {"a.md": version.encode()})
    local.yank("acme/pdf", "1.1.0")
    local.take_down("skill:acme/pdf@1.2.0")
    assert [row["version"] for row in versions(local)] == ["1.0.0"]
    for version in ("1.1.0", "1.2.0"):
        assert problem(local.get(f"{BASE}/{version}/download"), 410) == "withdrawn"
    local.revoke("acme")
    assert versions(local) == []
    assert problem(local.get(f"{BASE}/1.0.0/download"), 410) == "withdrawn"


ERRORS = (
    ("GET", "/apm/v1/packages/acme/other/versions", 404, "not-found"),
    ("GET", "/apm/v1/packages/nobody/pdf/versions", 404, "not-found"),
    ("GET", f"{BASE}/9.9.9/download", 404, "not-found"),
    ("GET", f"{BASE}/main/download", 404, "not-found"),
    ("GET", f"{BASE}/1.0.0", 404, "not-found"),
    ("GET", "/apm/v1/search?q=pdf", 404, "not-found"),
    ("GET", "/apm/v2/packages/acme/pdf/versions", 404, "not-found"),
    ("GET", "/apm/v1/packages/..%2F..%2Facme/pdf/versions", 404, "not-found"),
    ("PUT", f"{BASE}/1.0.0", 405, "method-not-allowed"),
    ("POST", BASE, 405, "method-not-allowed"),
    ("DELETE", "/apm/", 405, "method-not-allowed"),
)


def test_every_error_is_a_problem_document(local: UncheckedRegistry) -> None:
    local.release("acme/pdf")
    for method, path, status, code in ERRORS:
        assert problem(local.ask(method, path), status) == code


def test_a_name_that_two_skills_have_is_no_package(local: UncheckedRegistry) -> None:
    local.release("acme/a/pdf")
    assert len(versions(local)) == 1
    local.release("acme/b/pdf", "2.0.0")
    assert problem(local.get(BASE), 404) == "not-found"
    local.yank("acme/a/pdf")
    assert [row["version"] for row in versions(local)] == ["2.0.0"]


def test_names_that_a_pattern_would_take_for_each_other_are_two(local: UncheckedRegistry) -> None:
    """``_`` matches any character in SQL patterns."""
    local.release("acme/a_b")
    assert versions(local, BASE.replace("pdf", "a_b"))
    assert problem(local.get(BASE.replace("pdf", "axb")), 404) == "not-found"
    assert problem(local.get(BASE.replace("pdf", "b")), 404) == "not-found"


def test_a_private_registry_asks_for_a_token_and_hides_namespaces(tmp_path: Path) -> None:
    local = UncheckedRegistry(tmp_path / "data", 'read = "namespaces"\nreader_versions = 1\n')
    try:
        local.release("acme/pdf", "1.0.0")
        local.release("acme/pdf", "1.1.0")
        local.release("beta/notes")
        refused = local.get(BASE)
        assert problem(refused, 401) == "unauthorized"
        assert refused.headers["www-authenticate"] == "Bearer"
        token = local.token(account=local.member("ann", acme="reader"))
        assert [row["version"] for row in local.get(BASE, token).json()["versions"]] == ["1.1.0"]  # of one at most
        assert problem(local.get("/apm/v1/packages/beta/notes/versions", token), 404) == "not-found"
        assert problem(local.get("/apm/v1/packages/beta/notes/versions/1.0.0/download", token), 404) == "not-found"
    finally:
        local.close()


def test_it_can_be_off(tmp_path: Path) -> None:
    local = UncheckedRegistry(tmp_path / "data", 'interoperate = ["git"]\n')
    try:
        local.release("acme/pdf")
        assert local.get(BASE).status_code == 404
    finally:
        local.close()


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (BASE, ApmVersions("acme", "pdf")),
        (f"{BASE}/1.0.0/download", ApmArchive("acme", "pdf", "1.0.0")),
        (f"{BASE}/1.0.0\n/download", ApmUnknown()),
        (f"{BASE}//download", ApmUnknown()),
        ("/apm/v1/packages/ACME/pdf/versions", ApmUnknown()),
        ("/apm/v1/packages/gitlab.com/acme/pdf/versions", ApmUnknown()),
        ("/apm", None),
    ],
)
def test_paths(path: str, found: object) -> None:
    assert wanted(path) == found
