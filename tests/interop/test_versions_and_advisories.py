"""Renovate's custom data source, and advisories in the OSV format."""

from __future__ import annotations

import io
import json
import re
import zipfile
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from registry_server.interop import osv
from rye.items.identity import Identity
from rye.registry.protocol.statements import Advisory
from rye.registry.trust.records import ItemHistory
from tests.interop.unchecked_registry import UncheckedRegistry
from tests.scenes.publisher import now
from tests.scenes.registry_process import ORIGIN

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def releases(local: UncheckedRegistry, path: str) -> list[dict[str, Any]]:
    answer = local.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    document = answer.json()
    assert set(document) == {"releases"}
    found: list[dict[str, Any]] = document["releases"]
    return found


class TestRenovate:
    PATH = "/renovate/skill/acme/tools/pdf.json"

    def test_versions_have_what_renovate_reads(self, local: UncheckedRegistry) -> None:
        local.release("acme/tools/pdf", "1.0.0")
        local.release("acme/tools/pdf", "2.0.0-rc.1")
        first, second = releases(local, self.PATH)
        assert (first["version"], second["version"]) == ("1.0.0", "2.0.0-rc.1")
        assert set(first) == {"version", "releaseTimestamp", "isDeprecated", "digest", "changelogUrl"}
        assert first["isDeprecated"] is False
        assert TIME.fullmatch(first["releaseTimestamp"])
        assert re.fullmatch("[0-9a-f]{64}", first["digest"])
        assert local.get(first["changelogUrl"]).status_code == 200

    def test_any_kind_has_versions(self, local: UncheckedRegistry) -> None:
        token = local.token()
        assert local.publish(local.publishers["acme"], "work/ship", token).status_code == 200
        assert [row["version"] for row in releases(local, "/renovate/directive/acme/work/ship.json")] == ["1.0.0"]
        assert local.get("/renovate/skill/acme/work/ship.json").status_code == 404

    def test_a_line_without_a_kind_means_the_only_item_with_its_id(self, local: UncheckedRegistry) -> None:
        local.release("acme/work/ship", "1.0.0")
        assert [row["version"] for row in releases(local, "/renovate/any/acme/work/ship.json")] == ["1.0.0"]
        assert local.get("/renovate/any/acme/nothing.json").status_code == 404
        assert local.publish(local.publishers["acme"], "work/ship", local.token()).status_code == 200
        assert local.get("/renovate/any/acme/work/ship.json").status_code == 404
        assert local.get("/renovate/skill/acme/work/ship.json").status_code == 200

    def test_withdrawn_versions_leave_and_a_deprecation_is_said(self, local: UncheckedRegistry) -> None:
        for version in ("1.0.0", "1.1.0", "1.2.0"):
            local.release("acme/tools/pdf", version, {"a.md": version.encode()})
        local.yank("acme/tools/pdf", "1.1.0")
        local.take_down("skill:acme/tools/pdf@1.2.0")
        assert [row["version"] for row in releases(local, self.PATH)] == ["1.0.0"]
        local.deprecate("acme/tools/pdf")
        assert [row["isDeprecated"] for row in releases(local, self.PATH)] == [True]
        local.revoke("acme")
        assert releases(local, self.PATH) == []


class TestOsv:
    @staticmethod
    def all(local: UncheckedRegistry) -> dict[str, Any]:
        answer = local.get("/osv/all.zip")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            assert archive.testzip() is None
            return {name: json.loads(archive.read(name)) for name in archive.namelist()}

    @staticmethod
    def check(document: dict[str, Any]) -> None:
        """Check our fields against the OSV schema 1.7, and that there are no others."""
        assert set(document) == {
            "schema_version", "id", "modified", "summary", "affected", "references", "database_specific"
        }  # fmt: skip
        assert re.fullmatch(r"x_rye-[A-Z0-9-]{1,64}-[0-9a-f]{32}", document["id"])
        assert re.fullmatch(r"\d+\.\d+\.\d+", document["schema_version"])
        assert TIME.fullmatch(document["modified"])
        datetime.fromisoformat(document["modified"])
        assert isinstance(document["summary"], str)
        assert "\n" not in document["summary"]
        (affected,) = document["affected"]
        assert set(affected) == {
            "versions",
            "ecosystem_specific",
        }  # no package: the schema knows no such ecosystem
        assert all(isinstance(version, str) for version in affected["versions"])
        assert isinstance(affected["ecosystem_specific"], dict)
        assert [row["type"] for row in document["references"]] == ["ADVISORY"]
        assert all(set(row) == {"type", "url"} and row["url"].startswith("http") for row in document["references"])
        assert isinstance(document["database_specific"], dict)

    def test_an_advisory_names_the_item_and_every_release_that_it_is_about(self, local: UncheckedRegistry) -> None:
        assert self.all(local) == {}
        for version in ("1.0.0", "1.5.0", "2.0.0"):
            local.release("acme/pdf", version)
        local.advise("acme/pdf", "2026-7")
        local.yank("acme/pdf", "1.5.0")  # someone may have it
        ((name, document),) = self.all(local).items()
        self.check(document)
        assert name == f"{document['id']}.json"
        assert document["affected"] == [
            {
                "versions": ["1.0.0", "1.5.0"],
                "ecosystem_specific": {
                    "registry": ORIGIN, "item": "skill:acme/pdf", "range": "<2", "severity": "high"
                },
            }
        ]  # fmt: skip
        one = local.get(document["references"][0]["url"])
        assert one.json() == document

    def test_many_advisories_take_as_many_questions_to_the_database(self, local: UncheckedRegistry) -> None:
        asked: list[str] = []
        engine = local.service.interop_pool._engine
        sa.event.listen(engine, "checkout", lambda driver, *_: driver.set_trace_callback(asked.append))
        seen = []
        for first, number in ((0, 3), (3, 9)):
            for each in range(first, first + number):
                local.release(f"acme/pdf{each}")
                local.advise(f"acme/pdf{each}", f"2026-{each}")
            asked.clear()
            assert len(self.all(local)) == first + number
            seen.append(sum("name_entries.name IN" in " ".join(sql.split()) for sql in asked))
        assert seen == [1, 1]

    def test_a_later_advisory_replaces_an_earlier_one_and_new_releases_count(self, local: UncheckedRegistry) -> None:
        local.release("acme/pdf")
        local.advise("acme/pdf")
        (before,) = self.all(local).values()
        local.advise("acme/pdf", severity="critical", range="*", title="It is worse.")
        local.release("acme/pdf", "3.0.0")
        (after,) = self.all(local).values()
        assert before["id"] == after["id"]
        assert after["summary"] == "It is worse."
        assert after["affected"][0]["versions"] == ["1.0.0", "3.0.0"]

    def test_an_advisory_that_a_revoked_key_signed_counts_no_more(self, local: UncheckedRegistry) -> None:
        local.release("acme/pdf")
        local.advise("acme/pdf")
        assert len(self.all(local)) == 1
        local.revoke("acme")
        assert self.all(local) == {}

    @pytest.mark.parametrize("nothing", ["<0.0.0-0", ">2 <1"])
    def test_an_advisory_that_was_withdrawn_is_not_in_force(self, local: UncheckedRegistry, nothing: str) -> None:
        local.release("acme/pdf")
        local.advise("acme/pdf")
        (name,) = self.all(local)
        local.advise("acme/pdf", range=nothing)
        assert self.all(local) == {}
        assert local.get(f"/osv/{name}").status_code == 404
        local.advise("acme/pdf", range=">=7")
        assert len(self.all(local)) == 1, "about versions that are not there yet"

    def test_two_items_may_have_the_same_number(self, local: UncheckedRegistry) -> None:
        local.release("acme/pdf")
        local.release("beta/pdf")
        local.advise("acme/pdf")
        local.advise("beta/pdf")
        assert len(self.all(local)) == 2

    def test_the_archive_s_bytes_follow_from_what_is_in_it(self, local: UncheckedRegistry) -> None:
        files = {"b": b"2", "a": b"1"}
        assert osv.archive(files) == osv.archive(dict(reversed(files.items())))
        with zipfile.ZipFile(io.BytesIO(osv.archive(files))) as archive:
            assert [(one.filename, one.date_time[0]) for one in archive.infolist()] == [
                ("a.json", 1980),
                ("b.json", 1980),
            ]

    @pytest.mark.parametrize(
        "title", ["</script><script>alert(1)</script>", '“quotes” \\ and "more"', "../../etc/passwd"]
    )
    def test_a_hostile_title_stays_text(self, title: str) -> None:
        statement = Advisory(ORIGIN, Identity("skill", "acme/pdf"), "1", "*", "low", 1, now(), title)
        assert json.loads(osv.entry(statement, ["1.0.0"], "http://localhost"))["summary"] == title

    def test_of_one_number_the_registry_s_owners_are_heard_unless_they_withdrew_it(self) -> None:
        item = Identity("skill", "acme/pdf")
        released: Any = SimpleNamespace(version="1.0.0")
        ours = Advisory(ORIGIN, item, "R-1", "*", "critical", None, now(), "Exfiltrates")
        theirs = Advisory(ORIGIN, item, "R-1", "*", "low", 1, now(), "All fine")
        for first, title in ((ours, "Exfiltrates"), (replace(ours, range="<0.0.0-0"), "All fine")):
            history = ItemHistory(item, (released,), None, (first, theirs))
            (document,) = osv.entries(history, "http://localhost").values()
            assert json.loads(document)["summary"] == title

    def test_versions_that_cannot_be_compared_are_affected(self) -> None:
        statement = Advisory(ORIGIN, Identity("skill", "acme/pdf"), "1", "<2", "low", 1, now(), "x")
        document = json.loads(osv.entry(statement, ["9.0.0", "not a version"], "http://localhost"))
        assert document["affected"][0]["versions"] == ["not a version"]


def test_more_advisories_than_the_setting_are_refused(tmp_path: Path) -> None:
    local = UncheckedRegistry(tmp_path / "data", "advisories = 1\n")
    try:
        local.release("acme/pdf")
        local.advise("acme/pdf", "1")
        assert local.get("/osv/all.zip").status_code == 200
        local.advise("acme/pdf", "2")
        assert local.get("/osv/all.zip").status_code == 422
    finally:
        local.close()
