"""Messages about an unusable lock, or an item that could not be checked: the reason and the next command."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from rye.project.lock import lock_text
from tests.attacks.hostile_repository.attacks import CloneAttackRunner
from tests.attacks.hostile_repository.clones import Clone
from tests.attacks.hostile_repository.upstream import SKILL
from tests.attacks.simulation import difference, now, tree
from tests.registry.simulated_registry import SimulatedRegistry

pytestmark = pytest.mark.slow


def another_registry(clone: Clone) -> str:
    """Another owner's registry, pinned by the reader; returns its address."""
    folder = clone.folder.parent / "other"
    registry = SimulatedRegistry(origin="other.example", now=now() - timedelta(hours=2))
    registry.publish()
    registry.write_to(folder)
    clone.ok("registry", "add", folder.as_uri(), "--fingerprint", registry.fingerprint)
    return folder.as_uri()


def own_copy(clone: Clone) -> Path:
    """A copy of upstream's registry at its own address, whose files a test may damage; rye.toml names it."""
    folder = clone.folder.parent / "copy"
    shutil.copytree(clone.upstream.served, folder)
    clone.ok("registry", "remove", clone.upstream.url, "--yes")
    clone.ok("registry", "add", folder.as_uri(), "--fingerprint", clone.upstream.fingerprint)
    clone.manifest(lambda text: text.replace(clone.upstream.url, folder.as_uri()))
    return folder


def test_a_lock_from_another_registry_names_both_registries_and_the_next_command(runner: CloneAttackRunner) -> None:
    clone = runner.clone("member")
    assert clone.ok("lock", "--check", "--json").json["problems"] == []
    address = another_registry(clone)
    clone.manifest(lambda text: text.replace(clone.upstream.url, address))
    checked = clone.run("lock", "--check", "--json")
    assert checked.code == 1
    assert {problem["rule"] for problem in checked.json["problems"]} == {"other-registry"}
    spoken = clone.run("lock", "--check")
    for word in (clone.upstream.registry.origin, address, "other.example"):
        assert word in spoken.stdout
    assert "`rye lock`" in spoken.stderr


@pytest.mark.parametrize(
    "verb", [("ci",), ("install", "--yes"), ("install", "--locked"), ("ci", "--trust-lock")], ids=" ".join
)
def test_offline_a_row_that_nobody_verified_is_unverified(runner: CloneAttackRunner, verb: tuple[str, ...]) -> None:
    runner.clone("offline").ok(*verb, "--offline")
    clone = runner.clone("cold")
    before = tree(clone.folder)
    error = clone.run(*verb, "--offline", "--json").error
    assert (error["code"], error["cause"]) == ("unverified-item", "fetch-offline")
    assert "is not cached" in error["message"]
    assert f"`rye {verb[0]}" in error["hint"]
    assert "without --offline" in error["hint"]
    assert difference(before, tree(clone.folder)) == []


def test_an_edited_hash_is_laid_to_whoever_edited_the_lock_first(runner: CloneAttackRunner) -> None:
    clone = runner.clone("given")
    clone.edit_row(SKILL, sha256="0" * 64)
    clone.without_files()
    error = clone.run("ci", "--json").error
    assert error["code"] == "release-changed"
    assert error["hint"].index("edited rye.lock") < error["hint"].index("operator")
    assert "`git log -p rye.lock`" in error["hint"]


@pytest.mark.parametrize("way", ["leads elsewhere", "is not there"])
def test_an_item_that_audit_cannot_examine_is_listed_and_fails(runner: CloneAttackRunner, way: str) -> None:
    clone = runner.clone("pinned")
    copy = own_copy(clone)
    blob = next(
        path for path in copy.rglob("*") if path.is_file() and clone.row(SKILL).sha256 in str(path).replace("/", "")
    )
    kept = blob.read_bytes()
    blob.unlink()
    if way == "leads elsewhere":
        blob.symlink_to("/etc/hostname")
    audited = clone.run("audit", "--json")
    assert audited.code == 1
    [finding, absent] = audited.json["findings"]
    assert (absent["rule"], absent["severity"]) == ("absent-item", "warning")
    assert (finding["rule"], finding["severity"], finding["item"]) == ("not-examined", "error", str(SKILL))
    blob.unlink(missing_ok=True)
    blob.write_bytes(kept)
    clone.ok("audit")


@pytest.mark.parametrize("manifest", [None, ""], ids=["missing", "empty"])
@pytest.mark.parametrize("verb", [("install", "--yes"), ("lock",), ("add", str(SKILL), "--yes")], ids=" ".join)
def test_a_conflicted_lock_without_a_manifest_removes_nothing(
    runner: CloneAttackRunner, manifest: str | None, verb: tuple[str, ...]
) -> None:
    clone = runner.clone("member")
    text = lock_text(clone.lock)
    head, _, rest = text.partition("[[item]]")
    clone.write("rye.lock", f"{head}<<<<<<< a\n[[item]]{rest}=======\n>>>>>>> b\n")
    honest = runner.clone("member")
    shutil.copy(clone.path("rye.lock"), honest.path("rye.lock"))
    honest.ok("lock")
    clone.path("rye.toml").unlink()
    if manifest is not None:
        clone.write("rye.toml", manifest)
    before = tree(clone.folder)
    error = clone.run(*verb, "--json").error
    assert error["code"] == "no-manifest"
    assert "`git checkout" in error["hint"]
    assert difference(before, tree(clone.folder)) == []
