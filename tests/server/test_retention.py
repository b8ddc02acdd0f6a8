"""Files of old releases may go (``rye-registry takedown --older-than``), and never one that a kept release may need."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_server.upkeep.retention import RetentionRule, not_kept
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.protocol import wire
from rye.registry.protocol.statements import FileEntry, Release
from rye.registry.protocol.statements.release import Relation
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.trust.records import check_installable
from rye.resolution.ranges import Range
from rye.resolution.versions import Version
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import init, run

OLD, NEW = datetime(2024, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
BEFORE = datetime(2025, 1, 1, tzinfo=UTC)


def release(name: str, version: str, *needs: tuple[str, str], time: datetime = OLD) -> Release:
    relations = tuple(Relation(other, Identity("directive", other), wanted) for other, wanted in needs)
    identity = Identity("directive", name)
    file = FileEntry(".md", 1, f"{abs(hash((name, version))):064x}"[-64:])
    return Release("registry.example", identity, version, 1, time, "Work", file, depends_on=relations)


def versions(some: frozenset[Release]) -> list[str]:
    return sorted(f"{each.identity.id}@{each.version}" for each in some)


def rule(keep: int = 1, namespace: str | None = None) -> RetentionRule:
    return RetentionRule(keep=keep, before=BEFORE, namespace=namespace)


class TestRule:
    def test_the_newest_by_version_and_all_young_ones_are_kept(self) -> None:
        some = [release("a/x", version) for version in ("1.0.0", "1.10.0", "1.9.0")]
        young = release("a/x", "0.1.0", time=NEW)
        assert versions(not_kept([*some, young], rule())) == ["a/x@1.0.0", "a/x@1.9.0"]
        assert versions(not_kept([*some, young], rule(2))) == ["a/x@1.0.0"]

    def test_prereleases_do_not_push_the_last_stable_one_out(self) -> None:
        some = [release("a/x", version) for version in ("1.0.0", "1.1.0", "2.0.0-beta.1", "2.0.0-beta.2")]
        assert versions(not_kept(some, rule())) == ["a/x@1.0.0", "a/x@2.0.0-beta.1"]

    def test_what_a_kept_release_may_need_is_kept_and_what_that_needs(self) -> None:
        some = [
            release("a/x", "2.0.0", ("b/y", "^1.0.0")),
            *(release("b/y", version) for version in ("0.9.0", "3.0.0")),
            release("b/y", "1.4.0", ("c/z", "1.0.0")),
            release("b/y", "1.5.0"),
            *(release("c/z", version) for version in ("1.0.0", "1.1.0", "2.0.0")),
        ]
        assert versions(not_kept(some, rule())) == ["b/y@0.9.0", "c/z@1.1.0"]

    def test_other_namespaces_stay_whole_with_what_they_need(self) -> None:
        some = [
            *(release("a/x", version) for version in ("1.0.0", "2.0.0", "3.0.0")),
            release("b/y", "1.0.0", ("a/x", "1.0.0")),
            release("b/y", "2.0.0"),
        ]
        assert versions(not_kept(some, rule(namespace="a"))) == ["a/x@2.0.0"]
        assert versions(not_kept(some, rule())) == ["a/x@1.0.0", "a/x@2.0.0", "b/y@1.0.0"]

    @given(st.data())
    def test_whatever_a_lock_of_a_kept_release_holds_is_kept(self, data: st.DataObject) -> None:
        names = ("a/p", "a/q", "b/r")
        numbers = st.sampled_from(["1.0.0", "1.1.0", "2.0.0", "2.1.0-rc.1"])
        ranges = st.sampled_from(["*", "^1.0.0", ">=1.1.0", "2.0.0", "<2.0.0", "^1.0.0 || ^2.0.0"])
        needs = st.lists(st.tuples(st.sampled_from(names), ranges), max_size=2, unique_by=lambda need: need[0])
        pairs = data.draw(st.lists(st.tuples(st.sampled_from(names), numbers), min_size=1, max_size=10, unique=True))
        some = [release(name, version, *data.draw(needs)) for name, version in pairs]
        gone = not_kept(some, rule(data.draw(st.integers(1, 2))))
        for kept in set(some) - gone:
            for relation in kept.depends_on:
                for other in gone:
                    assert other.identity != relation.identity or Version.parse(other.version) not in Range.parse(
                        relation.range
                    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A registry with four versions of one item, published just now."""
    folder = tmp_path / "data"
    (tmp_path / "fingerprint").write_text(init(folder))
    with LocalRegistry(folder, make=False) as local:
        acme, token = Publisher("acme"), local.token()
        assert local.statements(token, acme.claim()).status_code == 200
        for version in ("1.0.0", "1.1.0", "1.2.0", "2.0.0"):
            assert local.publish(acme, "work/x", token, version).status_code == 200
    return folder


def removed(data: Path, *words: str) -> dict[str, list[str]]:
    done = run("takedown", *words, "--data", str(data), "--json")
    document: dict[str, list[str]] = json.loads(done.stdout)
    return document


@pytest.mark.processes
def test_the_log_stays_and_what_is_gone_says_why(data: Path, tmp_path: Path) -> None:
    time.sleep(2.1)  # times are whole seconds
    assert removed(data, "--older-than", "1d", "--keep", "1")["releases"] == []  # they are young
    rules = ("--older-than", "1s", "--keep", "2")
    shown = removed(data, *rules, "--dry-run")
    assert shown["releases"] == ["directive:acme/work/x@1.0.0", "directive:acme/work/x@1.1.0"]
    assert "No problems" in run("verify", "--data", str(data)).stdout
    done = removed(data, *rules)
    assert (done["releases"], done["files"]) == (shown["releases"], shown["files"])
    assert removed(data, *rules)["releases"] == []  # and nothing the second time
    assert "No problems" in run("verify", "--data", str(data)).stdout
    with LocalRegistry(data, make=False) as local:
        gone = local.get(f"/{wire.blob_path(done['files'][0])}")
        assert (gone.status_code, error_code(gone)) == (451, "taken-down")
        assert "Retention: older than 1s" in gone.json()["error"]["message"]
    fingerprint, store = (tmp_path / "fingerprint").read_text(), StateStore(tmp_path / "state")
    address, copy = (data / "public").as_uri(), tmp_path / "mirror"
    with RegistryClient.open(address, accept_root=fingerprint, store=store, cache=Cache(tmp_path / "c")) as reader:
        identity = Identity("directive", "acme/work/x")
        records = {each.version: each for each in reader.releases([identity])[identity]}
        for version in ("1.2.0", "2.0.0"):
            check_installable(records[version])
        with pytest.raises(RyeError, match=r"no longer keeps .* 1\.0\.0: Retention: older than 1s"):
            check_installable(records["1.0.0"])
    run("backup", str(tmp_path / "backup"), "--data", str(data))
    restored = run("restore", "--from", str(tmp_path / "backup"), "--data", str(copy))
    assert "log entries" in restored.stdout


def test_it_takes_a_span_and_no_target(data: Path) -> None:
    for words in (("--keep", "2"), ("x:a/b@1", "--older-than", "1d"), ("--dry-run",), ("--older-than", "long")):
        assert run("takedown", *words, "--data", str(data), check=False).returncode != 0
